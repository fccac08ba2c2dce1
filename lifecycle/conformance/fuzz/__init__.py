"""The fuzz kit: what breaks machines, for this library's own and for anyone's.

    from lifecycle.conformance.fuzz import suite

    class MyMachine:                      # five methods: see `Subject`
        def reset(self): ...
        def submit(self, job, act, *, by, id): ...    # None, or the reason why not
        def stage(self, job): ...
        def restart(self): ...
        def advance(self, delta): ...

    TestMyMachine = suite(MyMachine)      # one test for each check

Or from a shell: `lifecycle fuzz my_package.my_module:MyMachine`. The law itself is the reference, in lockstep; coverage is counted
in what is feasible; a fault comes with the fewest steps that show it, and with the sentence that does not hold.
"""

from lifecycle.conformance.fuzz.engines import EngineSubject
from lifecycle.conformance.fuzz.run import CHECKS, Outcome, TargetError, fuzz, subject_at, suite
from lifecycle.conformance.fuzz.session import Covered
from lifecycle.conformance.fuzz.subject import NOON, Answer, Client, Killed, Scope, Stepped, Subject, Telling, Turn, told
from lifecycle.conformance.fuzz.trial import Fault, Step

__all__ = [
    "CHECKS",
    "NOON",
    "Answer",
    "Client",
    "Covered",
    "EngineSubject",
    "Fault",
    "Killed",
    "Outcome",
    "Scope",
    "Step",
    "Stepped",
    "Subject",
    "TargetError",
    "Telling",
    "Turn",
    "fuzz",
    "subject_at",
    "suite",
    "told",
]
