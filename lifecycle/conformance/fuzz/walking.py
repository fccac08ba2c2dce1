"""Random walks: a Hypothesis state machine with one rule for each act, so that what it finds it also makes short.

Most steps are acts that the table has an edge for; some are made by anyone, in any manner, to what was replaced, or once more; and
time passes, and the machine is started again. The law goes in lockstep.
"""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from lifecycle.conformance.fuzz.sayings import BY, CAST, JOB, PARENT, SAYINGS
from lifecycle.conformance.fuzz.session import Covered, Session
from lifecycle.conformance.fuzz.subject import Scope, Subject, scope_of
from lifecycle.conformance.fuzz.tours import asked_how
from lifecycle.conformance.fuzz.trial import Step, Trial
from lifecycle.law.states import Stage
from lifecycle.machine import legal

WALKS = 150
STEPS = 25
"""How many walks a run takes, and how many steps at most each has."""

_KEPT = ("again", "parent", "other", "below")
"""Manners that are about another job, or another act's id."""


class Walk(RuleBasedStateMachine):
    """One walk. `machine_of` makes a class of it for a subject, with a rule for each act the subject knows."""

    subject: Callable[[], Subject]
    began: Callable[[int], None] = staticmethod(lambda walks: None)
    steps = walks = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).walks += 1
        type(self).began(type(self).walks)
        self.trial = Trial.of(type(self).subject())

    @initialize(data=st.data())
    def request(self, data: st.DataObject) -> None:
        """A job is asked for, in one of the ways there are."""
        asked = data.draw(st.sampled_from(asked_how(scope_of(type(self).subject()))))
        if "child" in asked:
            self.take(Step("request", "parent", job=PARENT), Step("accept", job=PARENT))
        self.take(Step("request", asked))

    def take(self, *these: Step) -> None:
        """Take these steps in lockstep with the law."""
        type(self).steps += len(these)
        self.trial.take(*these)

    def may(self, name: str) -> bool:
        """Whether the table has an edge for the act, as the job stands."""
        stage = self.trial.reference.stage(JOB)
        return stage is not None and name in legal(Stage(stage))


def machine_of(subject: Callable[[], Subject]) -> type[Walk]:
    """The state machine for a subject: hand its `TestCase` to pytest or unittest, or run it by `random_walks`."""
    scope = scope_of(subject())
    rules: dict[str, object] = {}
    for name in BY:
        if name in scope.acts and name not in ("request", "lapse"):
            rules[name] = _rule(name, scope)
    rules["out_of_turn"] = rule(
        name=st.sampled_from(sorted(scope.acts - {"request"})), by=st.sampled_from(sorted(CAST) if scope.parties else [""])
    )(_out_of_turn)
    if scope.time:
        rules["wait"] = rule(what=st.sampled_from(["wait", "almost", "tick"]))(_wait)
    if scope.restarts:
        rules["restart"] = rule()(_restart)
    if scope.identity:
        rules["once_more"] = precondition(_has_acted)(rule(back=st.integers(1, 3))(_once_more))
    return type("Walk", (Walk,), {**rules, "subject": staticmethod(subject), "steps": 0, "walks": 0})


def _rule(name: str, scope: Scope) -> object:
    """The rule of one act: it is made where it may be, mostly as it is meant."""
    manners = [""] + [manner for manner in SAYINGS[name] if manner and manner not in _KEPT] * scope.demands

    def make(self: Walk, manner: str, stale: bool) -> None:
        self.take(Step(name, manner, stale=stale))

    make.__name__ = name
    stale = st.sampled_from([False, False, False, True]) if scope.identity else st.just(False)
    return precondition(lambda self: self.may(name))(rule(manner=st.sampled_from([""] * 3 + manners), stale=stale)(make))


def _out_of_turn(self: Walk, name: str, by: str) -> None:
    if name != "resolve" or self.may(name):  # whose turn it is to resolve, the need says
        self.take(Step(name, by=by))


def _wait(self: Walk, what: str) -> None:
    self.take(Step(what))


def _restart(self: Walk) -> None:
    self.take(Step("restart"))


def _has_acted(self: Walk) -> bool:
    return bool(self.trial.sent)


def _once_more(self: Walk, back: int) -> None:
    back = min(back, len(self.trial.sent))
    self.take(Step(self.trial.sent[-back].act.act, back=back, job=self.trial.sent[-back].job))


def random_walks(session: Session) -> Covered:
    """So many walks by lot, the same for the same seed; what they find Hypothesis has made short."""
    machine = machine_of(lambda: session.subject)
    machine.began = staticmethod(lambda walks: session.progress("random walks", min(walks, WALKS), WALKS))
    run_state_machine_as_test(seed(session.seed)(machine), settings=quiet(WALKS))
    session.steps += machine.steps
    return Covered("random walks", WALKS, WALKS)


def quiet(examples: int) -> settings:
    """Settings of a run that tells of a fault by its `Fault` alone, and keeps nothing for the next run."""
    return settings(
        max_examples=examples, stateful_step_count=STEPS, deadline=None, database=None, print_blob=False,
        report_multiple_bugs=False, verbosity=Verbosity.quiet, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
