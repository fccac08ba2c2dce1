"""The whole run: one check after the other, until one finds a fault; then the fault made short, and a report.

The order of the checks is from the quick to the slow. Nothing here knows what a check does.
"""

import time
from collections.abc import Callable, Collection
from importlib import import_module

from attrs import frozen
from pydantic import JsonValue

from lifecycle.conformance.fuzz import crashing, probing
from lifecycle.conformance.fuzz.engines import EngineSubject
from lifecycle.conformance.fuzz.processes import ProcessSubject
from lifecycle.conformance.fuzz.session import Check, Covered, Session
from lifecycle.conformance.fuzz.shrinking import shortest
from lifecycle.conformance.fuzz.subject import Subject
from lifecycle.conformance.fuzz.trial import Fault
from lifecycle.law.errors import LifecycleError


class TargetError(LifecycleError):
    """What is to be fuzzed, or by which check, cannot be found, or is no subject. Remedy: what the message says."""


class ExtraMissing(LifecycleError):
    """What the fuzz kit needs is not installed. Remedy: install the extra."""


def _of_extra(room: str, name: str) -> Check:
    """A check of a room that needs what only the extra installs: imported when it is run."""

    def check(session: Session) -> Covered:
        try:
            found: Check = getattr(import_module(f"lifecycle.conformance.fuzz.{room}"), name)
        except ImportError as error:
            raise ExtraMissing(f"no package `{error.name}`; to mend it, pip install 'lifecycle[fuzz]'") from error
        return found(session)

    return check


CHECKS: dict[str, Check] = {
    "edges": probing.edges_taken,
    "illegal pairs": probing.illegal_acts,
    "wrong parties": probing.wrong_parties,
    "demands": probing.demands,
    "identity": probing.identity,
    "deadlines": probing.deadlines,
    "families": probing.families,
    "edge pairs": probing.pairs_taken,
    "crashes": crashing.crashes,
    "races of two": _of_extra("racing", "races_of_two"),
    "triples": probing.triples_taken,
    "random walks": _of_extra("walking", "random_walks"),
    "races of three": _of_extra("racing", "races_of_three"),
}
"""Every check by its name, in the order in which they run."""


@frozen
class Outcome:
    """What a run came to: how much was tried, the first fault found if there is one, and what it took."""

    target: str
    seed: int
    covered: tuple[Covered, ...]
    found: Fault | None
    steps: int
    seconds: float

    @property
    def passed(self) -> bool:
        """Nothing was found, and all that is feasible was tried."""
        return self.found is None and not any(one.missing for one in self.covered)

    @property
    def ending(self) -> tuple[str, ...]:
        """What was found in the end, in lines for a person: the sentence that does not hold, the steps, what was seen."""
        took = f"{self.steps} steps in {self.seconds:.1f} s"
        if (fault := self.found) is not None:
            return f"found by {fault.check}: {fault.law}", ", ".join(map(str, fault.steps)), fault.seen, f"one fault, {took}"
        missing = ", but not all was tried" if not self.passed else ""
        return (f"nothing wrong was found{missing}, {took}",)

    def plain(self) -> dict[str, JsonValue]:
        """The outcome as JSON."""
        checks: list[JsonValue] = [_plain(one) for one in self.covered]
        found: JsonValue = None
        if self.found is not None:
            found = {
                "check": self.found.check,
                "law": self.found.law,
                "seen": self.found.seen,
                "counterexample": [str(step) for step in self.found.steps],
            }
        return {
            "target": self.target, "seed": self.seed, "passed": self.passed, "checks": checks, "found": found,
            "steps": self.steps, "seconds": round(self.seconds, 2),
        }  # fmt: skip


def _plain(one: Covered) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"check": one.check, "done": one.done, "of": one.of, "percent": round(one.percent, 2)}
    if one.missing:
        told["missing"] = list(one.missing)
    if one.infeasible:
        told["infeasible"] = [{"what": what, "why": why} for what, why in one.infeasible]
    if one.unchecked:
        told["not_checked"] = one.unchecked
    return told


def fuzz(
    subject: Subject,
    *,
    target: str = "",
    seed: int = 0,
    only: Collection[str] = (),
    progress: Callable[[str, int, int], None] = lambda check, done, of: None,
    finished: Callable[[Covered], None] = lambda covered: None,
) -> Outcome:
    """Try a subject by every check, or by those named in `only`, until one finds a fault; which is then made short."""
    if unknown := sorted(set(only) - CHECKS.keys()):
        raise TargetError(f"no check `{unknown[0]}`; to mend it, name one of: {', '.join(CHECKS)}")
    session = Session(subject, seed, progress)
    began = time.perf_counter()
    done: list[Covered] = []
    found: Fault | None = None
    for name, check in CHECKS.items():
        if only and name not in only:
            continue
        try:
            done.append(check(session))
        except Fault as fault:
            fault.check = name
            found = shortest(subject, fault)
            break
        finished(done[-1])
    return Outcome(target or type(subject).__name__, seed, tuple(done), found, session.taken, time.perf_counter() - began)


def subject_at(target: str) -> Subject:
    """The subject that a target names: `memory:`, `sqlite:`, or `package.module:name` of a class or a function that makes one."""
    if target == "memory:":
        return EngineSubject()
    if target == "sqlite:":
        return ProcessSubject()
    module, _, name = target.partition(":")
    if target.startswith(("sqlite:", "postgresql:")) or not module or not name:
        raise TargetError(f"nothing to fuzz at `{target}`; to mend it, give `memory:`, `sqlite:`, or `package.module:name`")
    try:
        made = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        mend = "give a module on the path and a name in it"
        raise TargetError(f"`{target}` cannot be loaded: {error}; to mend it, {mend}") from error
    subject = made() if callable(made) else made
    if not isinstance(subject, Subject):
        missing = ", ".join(m for m in ("reset", "submit", "stage", "restart", "advance") if not hasattr(subject, m))
        raise TargetError(f"`{target}` is no subject, it has no {missing}; to mend it, give it the five methods of `Subject`")
    return subject


def suite(make: Callable[[], Subject]) -> type:
    """A test class for pytest, with one test for each check: `TestMine = suite(MyMachine)`."""

    def test_of(name: str) -> Callable[[object], None]:
        def test(self: object) -> None:
            outcome = fuzz(make(), only=[name])
            if outcome.found is not None:
                raise outcome.found
            (covered,) = outcome.covered
            assert not covered.missing, f"{covered}: {', '.join(covered.missing)} were not tried"

        test.__doc__ = f"{name}: nothing wrong is found, and all that is feasible was tried."
        return test

    return type("Fuzzed", (), {f"test_{name.replace(' ', '_')}": test_of(name) for name in CHECKS})
