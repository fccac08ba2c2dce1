"""What the kit drives: the small port behind which any implementation of the machine may stand.

Five methods, and three things that an implementation may have besides: facts to be held against the law's (`Telling`), steps that
the kit may come between (`Stepped`), and a `scope`, which says what it does not claim to do. Nothing here knows how a job goes.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeAlias, runtime_checkable

from attrs import frozen

from lifecycle.law.acts import ACTS, Act
from lifecycle.law.job import Job
from lifecycle.law.log import Entry
from lifecycle.law.states import Role

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
"""What the clock shows after a `reset`."""

Answer: TypeAlias = str | None
"""None for an act that was accepted; for a refused one the reason, a member of `Reason` if the implementation has typed ones."""

Turn: TypeAlias = Callable[[str], None]
"""Called with `read`, `write` or `written` before each step that touches what clients share; the last tells that it is kept."""


@runtime_checkable
class Subject(Protocol):
    """An implementation of the machine, as the kit drives it. Whatever raises counts as a fault found."""

    def reset(self) -> None:
        """Begin anew: no jobs, and a clock that shows `NOON` and moves only by `advance`."""

    def submit(self, job: str, act: Act, *, by: str, id: str) -> Answer:
        """Make an act of a party. The same id again, with the same content, is the same act: accepted, and nothing changes."""

    def stage(self, job: str) -> str | None:
        """The stage that the job is in, as the law names it; None if there is no such job."""

    def restart(self) -> None:
        """Kill the process and start it again: what was acknowledged is still there, nothing else is."""

    def advance(self, delta: timedelta) -> None:
        """Let time pass, and let everything lapse that is due then."""


@runtime_checkable
class Telling(Subject, Protocol):
    """A subject that tells more of a job than its stage."""

    def facts(self, job: str) -> Mapping[str, object]:
        """Some or all of what `told` tells; empty if there is no such job. What is missing is not checked."""


class Client(Protocol):
    """One of several callers at once, each with a memory of its own."""

    def submit(self, job: str, act: Act, *, by: str, id: str) -> Answer:
        """As the subject's."""

    def advance(self, delta: timedelta) -> None:
        """As the subject's."""


@runtime_checkable
class Stepped(Subject, Protocol):
    """A subject whose acts are made of steps: its clients can be interleaved, and killed in the middle."""

    def clients(self, turns: Sequence[Turn]) -> Sequence[Client]:
        """One client for each turn. Each calls its turn before every step; a turn that raises has killed its client there."""


class Killed(BaseException):
    """Raised by a turn: the client is dead from here on. No `except Exception` may catch it."""


@frozen
class Scope:
    """What a subject claims to do. What it does not is left out, and the report says so.

    `acts`: the acts it knows. `parties`: it tells who may act. `demands`: it asks what an act carries. `time`: deadlines lapse.
    `identity`: act ids and answers are checked. `restarts`: it survives one.
    """

    acts: frozenset[str] = frozenset(ACTS)
    parties: bool = True
    demands: bool = True
    time: bool = True
    identity: bool = True
    restarts: bool = True


WHOLE = Scope()


def scope_of(subject: Subject) -> Scope:
    """What the subject claims to do; everything, unless it says otherwise."""
    found = getattr(subject, "scope", WHOLE)
    assert isinstance(found, Scope)
    return found


def told(job: Job, log: Sequence[Entry]) -> Mapping[str, object]:
    """All facts that can be held against the law's: of a job of this library, and its log.

    `log` has a line for each entry: act, party, stage, and the act's id, which is empty for the clock's.
    """
    ended, waits, spent = job.termination, job.pause, job.spent
    return {
        "seq": job.seq,
        "reason": ended.reason.value if ended else None,
        "status": ended.status.value if ended else None,
        "cause": ended.cause.value if ended and ended.cause else None,
        "owed_by": ended.owed_by if ended else None,
        "decision": waits.decision if waits else None,
        "waits_for": waits.owed_by if waits else None,
        "spent": (spent.tokens, spent.money, spent.seconds) if spent else None,
        "log": tuple([(e.act.act, e.by, e.stage.value, "" if e.by == Role.CLOCK else e.id) for e in log]),
        "job": job,
    }
