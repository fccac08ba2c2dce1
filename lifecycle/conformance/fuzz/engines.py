"""This library's own engine as a subject: on a store in this process, with a place between every two steps of it.

The store is what outlives a restart; every client has an engine, and so a memory, of its own.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lifecycle.conformance.fuzz.sayings import LIMITS
from lifecycle.conformance.fuzz.subject import NOON, Answer, Turn, told
from lifecycle.engine import Engine
from lifecycle.law.acts import Act
from lifecycle.law.errors import JobNotFound, Refused
from lifecycle.law.limits import Limits
from lifecycle.law.log import Store
from lifecycle.law.table import LAW, Law
from lifecycle.stores.memory import MemoryStore
from lifecycle.stores.relay import Relay


class Clock:
    """A clock that moves only when it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


_READS = {"read", "feed", "find", "get", "shelf"}
_WRITES = {"append", "mark", "put", "reindex", "purge"}


class Stepping(Relay):
    """A store that calls a turn before every step that others could come before, and once a write is kept.

    Nothing reads what a refusal writes, so that nobody need come between.
    """

    def __init__(self, store: Store, turn: Turn) -> None:
        super().__init__(store)
        self._turn = turn

    def asked(self, what: str) -> None:
        """A step is about to come."""
        if what in _READS:
            self._turn("read")
        elif what in _WRITES:
            self._turn("write")

    def answered(self, what: str) -> None:
        """What was written is kept."""
        if what == "append":
            self._turn("written")


class Caller:
    """One client: an engine of its own on the shared store."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine, self._clock = engine, clock

    def submit(self, job: str, act: Act, *, by: str, id: str) -> Answer:
        """Make an act."""
        try:
            self.engine.submit(job, act, by=by, id=id)
        except (Refused, JobNotFound) as refused:
            return refused.reason
        return None

    def advance(self, delta: timedelta) -> None:
        """Let time pass, and everything lapse that is due."""
        self._clock.now += delta
        while self.engine.sweep():
            pass


class EngineSubject:
    """The engine on a store: what `lifecycle fuzz memory:` tries."""

    def __init__(self, law: Law = LAW, limits: Limits = LIMITS) -> None:
        self.law, self.limits = law, limits
        self.reset()

    def reset(self) -> None:
        """Begin anew, on an empty store."""
        self._clock = Clock()
        self.store: Store = self.opened(self._clock)
        self._caller = self._new_caller(self.store)

    def opened(self, clock: Clock) -> Store:
        """A store with nothing in it."""
        return MemoryStore(clock)

    def submit(self, job: str, act: Act, *, by: str, id: str) -> Answer:
        """Make an act."""
        return self._caller.submit(job, act, by=by, id=id)

    def stage(self, job: str) -> str | None:
        """The stage that the job is in."""
        try:
            return self._caller.engine.job(job).stage.value
        except JobNotFound:
            return None

    def facts(self, job: str) -> Mapping[str, object]:
        """All that is known of a job."""
        try:
            return told(self._caller.engine.job(job), self._caller.engine.log(job))
        except JobNotFound:
            return {}

    def restart(self) -> None:
        """Begin again with what the store holds."""
        self._caller = self._new_caller(self.store)

    def advance(self, delta: timedelta) -> None:
        """Let time pass, and everything lapse that is due."""
        self._caller.advance(delta)

    def clients(self, turns: Sequence[Turn]) -> Sequence[Caller]:
        """Engines of their own on the store."""
        return [self._new_caller(Stepping(self.store, turn)) for turn in turns]

    def _new_caller(self, store: Store) -> Caller:
        return Caller(Engine(store, limits=self.limits, law=self.law), self._clock)
