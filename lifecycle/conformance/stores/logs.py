"""What the suite of stores writes: logs as an engine would seal them, and a clock that stands still.

A store has no rule of the lifecycle, so these logs need none: any stage may follow any other.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from attrs import define, evolve

from lifecycle.law.acts import Progress, Request
from lifecycle.law.log import Change, Draft, Entry, Head, Lineage, Proof, Row, Store, seal, written
from lifecycle.law.states import Stage

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""When everything here happens, unless it is said otherwise."""

POISON = (
    'quote " backslash \\ slash / end\n',
    "tab\t bell\a escape\x1b[31m delete\x7f",
    "line\u2028paragraph\u2029 nbsp\u00a0 zero\u200bwidth bom\ufeff",
    "right-to-left \u202eoverride\u202c",
    "emoji \U0001f9ea and combining e\u0301",
    "'; DROP TABLE jobs; --",
    "%s {} $1 :name ?",
    "x" * 65_536,
)
"""Texts that are storable and have broken stores."""


@define
class Clock:
    """A clock that shows what it is set to."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> datetime:
        """Set it forward by so many hours, minutes, seconds; the time it shows then."""
        self.now += timedelta(**by)
        return self.now


def begun(
    job: str,
    *,
    requester: str = "ann",
    worker: str = "bob",
    goal: str = "total 2024",
    parent: str | None = None,
    due: datetime | None = None,
    at: datetime = NOON,
) -> Change:
    """A new job: one entry, requested."""
    lineage = Lineage(parent, 1, ("e1",), ("r1",)) if parent is not None else None
    act = Request(id=job, goal=goal, worker=worker, parent=parent, at=at)
    draft = Draft(job, 0, job, act, requester, at, None, Stage.REQUESTED, 1, lineage)
    sealed = seal(draft.close(), "", written(act))
    return Change(None, (sealed,), Row(job, Stage.REQUESTED, requester, worker, goal, parent, at, at, due))


def then(
    change: Change,
    *lines: str,
    ids: tuple[str, ...] = (),
    stage: Stage = Stage.WORKING,
    due: datetime | None = None,
    at: datetime | None = None,
    children: int = 0,
    renewed_at: datetime | None = None,
) -> Change:
    """What follows a change: an entry for each line, decided on the head that the change left behind."""
    entries: list[Entry] = []
    last = change.entries[-1]
    for number, line in enumerate(lines or ("went on",)):
        seq, time = last.seq + 1, at or last.at + timedelta(seconds=1)
        id = ids[number] if ids else f"a{seq}"
        act, proof = Progress(id=id, line=line), Proof("none", "AA==")
        draft = Draft(last.job, seq, id, act, change.row.worker, time, last.stage, stage, 1, None, proof)
        last = seal(draft.close(), last.hash, written(act))
        entries.append(last)
    row = evolve(change.row, stage=stage, updated_at=last.at, due=due)
    return Change(head(change, children, renewed_at), tuple(entries), row)


def head(change: Change, children: int = 0, renewed_at: datetime | None = None) -> Head:
    """The head that a change leaves behind."""
    return Head(change.entries[-1].seq, change.entries[-1].hash, children, renewed_at)


def listed(entries: list[Entry]) -> Row:
    """The row of a log written here, from its entries alone."""
    first, last = entries[0], entries[-1]
    assert isinstance(first.act, Request)
    parent = first.act.parent
    return Row(first.job, last.stage, first.by, first.act.worker, first.act.goal, parent, first.at, last.at, None)


class StoreCase:
    """One test's stores. `open` is the one thing that is yours to write."""

    def open(self, clock: Callable[[], datetime]) -> Store:
        """The test's store, empty at first; called again, as another process would open it that starts now."""
        raise NotImplementedError("a suite needs `open`: return your store, over the place of this test")

    def setup_method(self) -> None:
        """Each test has a clock of its own."""
        self.clock = Clock()
        self._opened: list[Store] = []

    def teardown_method(self) -> None:
        """Whatever was opened is closed."""
        for store in self._opened:
            store.close()

    def another(self) -> Store:
        """The store opened once more."""
        store = self.open(self.clock)
        self._opened.append(store)
        return store

    @property
    def store(self) -> Store:
        """The store, opened when it is first asked for."""
        return self._opened[0] if self._opened else self.another()


def everything(store: Store) -> tuple[object, ...]:
    """All that a store tells of jobs, to be compared with what it tells later."""
    feed = [(position, entry.job, entry.seq, entry.id, entry.hash, entry.body) for position, entry in store.feed(0, 10_000)]
    names = dict.fromkeys(job for _, job, *_ in feed)
    return feed, [found and found[0] for found in map(store.read, names)], [store.refusals(name) for name in names]
