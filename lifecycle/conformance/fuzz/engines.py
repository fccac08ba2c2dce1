"""This library's own engine as a subject: on a store in this process, with a place between every two steps of it.

The store is what outlives a restart; every client has an engine, and so a memory, of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from lifecycle.conformance.fuzz.sayings import LIMITS
from lifecycle.conformance.fuzz.subject import NOON, Answer, Turn, told
from lifecycle.engine import Engine
from lifecycle.law.acts import Act
from lifecycle.law.errors import JobNotFound, KeptRefusal, Refused
from lifecycle.law.limits import Limits
from lifecycle.law.log import Change, Entry, Head, Query, Row, Store
from lifecycle.law.table import LAW, Law
from lifecycle.stores.memory import MemoryStore


class Clock:
    """A clock that moves only when it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


class Stepping:
    """A store that calls a turn before every step that others could come before, and once a write is kept."""

    def __init__(self, store: Store, turn: Turn) -> None:
        self._store, self._turn = store, turn

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """See `Store`."""
        self._turn("write")
        self._store.append(changes, reads)
        self._turn("written")

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        """See `Store`."""
        self._turn("read")
        return self._store.read(job, after)

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        """See `Store`."""
        self._turn("read")
        return self._store.feed(after, limit)

    def find(self, query: Query) -> Sequence[Row]:
        """See `Store`."""
        self._turn("read")
        return self._store.find(query)

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """See `Store`."""
        self._turn("write")
        self._store.mark(job, head, renewed_at, due)

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """See `Store`. Nothing reads what it writes, so that nobody need come between."""
        self._store.keep_refusal(kept, cap)

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        """See `Store`."""
        return self._store.refusals(job)

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        """See `Store`."""
        self._turn("write")
        return self._store.put(shelf, key, text, was)

    def get(self, shelf: str, key: str) -> str | None:
        """See `Store`."""
        self._turn("read")
        return self._store.get(shelf, key)

    def shelves(self) -> Sequence[str]:
        """See `Store`."""
        return self._store.shelves()

    def purge(self, jobs: Sequence[tuple[str, Head, str]]) -> None:
        """See `Store`."""
        self._turn("write")
        self._store.purge(jobs)

    def listen(self, wake: Callable[[], None]) -> bool:
        """See `Store`."""
        return self._store.listen(wake)

    def shelf(self, shelf: str) -> dict[str, str]:
        """See `Store`."""
        self._turn("read")
        return self._store.shelf(shelf)

    def renewals_since(self) -> datetime:
        """See `Store`."""
        return self._store.renewals_since()

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """See `Store`."""
        self._turn("write")
        self._store.reindex(row)

    def now(self) -> datetime:
        """See `Store`."""
        return self._store.now()

    def close(self) -> None:
        """See `Store`."""
        self._store.close()


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
