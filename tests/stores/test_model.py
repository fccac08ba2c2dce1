"""Whatever is done to both, SQLite tells what memory tells: the plain store is the model of the other."""

import shutil
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
from attrs import evolve
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lifecycle.conformance.stores.logs import NOON, Clock, begun, head, listed, then
from lifecycle.law.errors import Conflict
from lifecycle.law.log import Change, Head, Query, Row, Store
from lifecycle.law.states import Stage
from lifecycle.stores.memory import MemoryStore
from lifecycle.stores.sqlite import SqliteStore

NAMES = st.sampled_from([f"j{n}" for n in range(6)])
PARTIES = st.sampled_from(["ann", "bob"])
STAGES = st.sampled_from(Stage)
TIMES = st.none() | st.integers(0, 50).map(lambda minutes: NOON + timedelta(minutes=minutes))
QUERIES = st.builds(
    Query,
    stages=st.none() | st.frozensets(STAGES, max_size=4),
    requester=st.none() | PARTIES,
    worker=st.none() | PARTIES,
    parent=st.none() | NAMES,
    after=st.just("") | NAMES,
    limit=st.integers(0, 7),
)


def outcome(work: Callable[[], object]) -> object:
    """What came of it: a value, or a Conflict in words."""
    try:
        return work()
    except Conflict as error:
        return str(error)


class Both(RuleBasedStateMachine):
    """Two stores, the same done to each."""

    @initialize()
    def make(self) -> None:
        self.place = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.memory = MemoryStore(self.clock)
        self.sqlite = self.opened()
        self.logs: dict[str, Change] = {}

    def opened(self) -> SqliteStore:
        return SqliteStore(self.place / "jobs.db", self.clock)

    def teardown(self) -> None:
        if hasattr(self, "sqlite"):
            self.sqlite.close()
            shutil.rmtree(self.place)

    def both(self, work: Callable[[Store], object]) -> object:
        """Do it to both; what came of it, which must be the same."""
        in_memory, in_sqlite = outcome(lambda: work(self.memory)), outcome(lambda: work(self.sqlite))
        assert in_memory == in_sqlite, "what came of it is not the same"
        return in_memory

    def stand(self, job: str) -> Head | None:
        found = self.memory.read(job)
        return found[0] if found else None

    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        """Some changes at once, most on the head as it is; and some heads merely read."""
        changes = []
        for job in data.draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=lambda name: name)):
            last, stands = self.logs.get(job), self.stand(job)
            if last is None or data.draw(st.integers(0, 15)) == 15:
                parent = data.draw(st.none() | NAMES.filter(lambda name, job=job: name != job))
                parties = {"requester": data.draw(PARTIES), "worker": data.draw(PARTIES)}
                changes.append(begun(job, parent=parent, due=data.draw(TIMES), **parties))
                continue
            ids = data.draw(st.none() | st.lists(st.sampled_from("xyz"), min_size=1, max_size=2))
            lines = ["step"] * (len(ids) if ids else data.draw(st.integers(1, 3)))
            at = last.row.updated_at + timedelta(minutes=data.draw(st.integers(0, 9)))
            ids = ids or [f"n{last.entries[-1].seq}-{n}" for n in range(len(lines))]
            more = then(last, *lines, ids=tuple(ids), stage=data.draw(STAGES), due=data.draw(TIMES), at=at)
            given = stands if data.draw(st.integers(0, 9)) else head(last, children=data.draw(st.integers(0, 1)))
            changes.append(Change(given, more.entries, evolve(more.row, goal=data.draw(st.sampled_from(["one goal", "another"])))))
        reads = [(job, stand) for job in data.draw(st.lists(NAMES, max_size=2)) if (stand := self.stand(job)) is not None]
        if self.both(lambda store: store.append(changes, reads)) is None:
            self.logs.update((change.row.job, change) for change in changes)

    @rule(job=NAMES, renewed=TIMES, due=TIMES, stale=st.booleans())
    def mark(self, job: str, renewed: datetime | None, due: datetime | None, stale: bool) -> None:
        stands = self.stand(job)
        if stands is None or stale:
            stands = Head(0, "00" * 32)
        self.both(lambda store: store.mark(job, stands, renewed, due))

    @precondition(lambda self: self.logs)
    @rule()
    def reindex(self) -> None:
        self.clock.forward(minutes=1)
        self.both(lambda store: store.reindex(lambda entries: listed(list(entries))))
        self.logs = {
            job: Change(change.head, change.entries, listed(list(self.memory.read(job)[1])))  # type: ignore[index]
            for job, change in self.logs.items()
        }

    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        self.sqlite = self.opened()

    @rule(query=QUERIES)
    def find(self, query: Query) -> None:
        assert self.shown(self.memory, query) == self.shown(self.sqlite, query)

    @rule(due_by=TIMES, query=QUERIES)
    def find_due(self, due_by: datetime | None, query: Query) -> None:
        """SQLite may show a job as due too early, never too late."""
        wanted = evolve(query, due_by=due_by or NOON, limit=100)
        found = self.sqlite.find(wanted)
        assert {row.job for row in self.memory.find(wanted)} <= {row.job for row in found}
        assert [row.due for row in found] == sorted(row.due for row in found if row.due is not None)

    @staticmethod
    def shown(store: Store, query: Query) -> list[Row]:
        return [evolve(row, due=None) for row in store.find(query)]

    @invariant()
    def the_logs_are_the_same(self) -> None:
        if not hasattr(self, "memory"):
            return
        for job in self.logs:
            mine, other = self.memory.read(job), self.sqlite.read(job)
            assert mine is not None and other is not None
            assert mine[0] == other[0]
            assert [entry.body for entry in mine[1]] == [entry.body for entry in other[1]]
        assert [entry.hash for _, entry in self.memory.feed()] == [entry.hash for _, entry in self.sqlite.feed()]
        assert self.memory.renewals_since() == self.sqlite.renewals_since()
        due = {row.job: row.due for row in self.sqlite.find(Query())}
        for row in self.memory.find(Query()):
            early = due[row.job]
            assert early == row.due or (early is not None and row.due is not None and early < row.due)


TestBoth = Both.TestCase
TestBoth.settings = settings(  # nothing is shrunk: it would take minutes, and the last step tells enough
    max_examples=40, stateful_step_count=30, deadline=None, database=None, report_multiple_bugs=False, phases=(Phase.generate,)
)  # fmt: skip
