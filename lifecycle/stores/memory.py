"""A store in memory, for tests and examples: it keeps what a file would keep, until it is closed."""

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from attrs import define, field

from lifecycle.law.errors import Conflict, KeptRefusal
from lifecycle.law.log import Change, Entry, Head, Query, Row


@define
class _Kept:
    head: Head
    row: Row
    entries: list[Entry]
    ids: set[str]
    refusals: list[KeptRefusal] = field(factory=list)


class MemoryStore:
    """Everything in dictionaries, one lock; see `Store` for what it guarantees."""

    def __init__(self, clock: Callable[[], datetime] | None = None) -> None:
        """`clock` gives the time, aware; by default the machine's."""
        self.now = clock or _machine_time
        self._lock = threading.RLock()
        self._jobs: dict[str, _Kept] = {}
        self._feed: list[Entry] = []
        self._shelves: dict[str, dict[str, str]] = {}
        self._since = self.now()

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """Append all changes, if every head is still as given."""
        with self._lock:
            for job, head in reads:
                self._check(job, head)
            for change in changes:
                self._check(change.row.job, change.head)
                kept = self._jobs.get(change.row.job)
                taken = kept.ids if kept else set()
                for entry in change.entries:
                    if entry.id in taken:
                        raise Conflict(entry.job, entry.seq - 1, kept.head.seq if kept else None)
            for change in changes:
                self._keep(change)

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        """The job's head and its entries after a seq; None if there is no such job."""
        with self._lock:
            kept = self._jobs.get(job)
            return (kept.head, kept.entries[after + 1 :]) if kept else None

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        """Entries of all jobs after a position, each with its own."""
        with self._lock:
            return list(enumerate(self._feed[after : after + limit], after + 1))

    def find(self, query: Query) -> Sequence[Row]:
        """The rows that the query asks for."""
        with self._lock:
            rows = [kept.row for kept in self._jobs.values() if _fits(query, kept.row)]
        if query.due_by is not None:
            return sorted(rows, key=lambda row: (row.due, row.job))[: query.limit]
        return sorted(rows, key=lambda row: row.job)[: query.limit]

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """Keep a renewal and a due time."""
        with self._lock:
            self._check(job, head)
            kept, row = self._jobs[job], self._jobs[job].row
            kept.head = Head(head.seq, head.hash, head.children, renewed_at)
            kept.row = Row(
                row.job, row.stage, row.requester, row.worker, row.goal, row.parent, row.requested_at, row.updated_at, due
            )

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """Keep a refusal, unless the job has `cap` of them already."""
        with self._lock:
            refusals = self._jobs[kept.refusal.job].refusals
            if cap is None or len(refusals) < cap:
                refusals.append(kept)

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        """The refusals kept for a job, oldest first."""
        with self._lock:
            return list(self._jobs[job].refusals) if job in self._jobs else []

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        """Set a text beside the log if it still is `was`; say whether it was."""
        with self._lock:
            held = self._shelves.setdefault(shelf, {})
            if held.get(key) != was:
                return False
            if text is None:
                held.pop(key, None)
            else:
                held[key] = text
            return True

    def shelf(self, shelf: str) -> dict[str, str]:
        """All texts of a shelf by key."""
        with self._lock:
            return dict(self._shelves.get(shelf, {}))

    def renewals_since(self) -> datetime:
        """Since when renewals were kept without a loss."""
        return self._since

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """Make all rows anew from the log; renewals are lost with them."""
        with self._lock:
            rows = {job: row(kept.entries) for job, kept in self._jobs.items()}
            children: dict[str, int] = {}
            for made in rows.values():
                if made.parent is not None:
                    children[made.parent] = children.get(made.parent, 0) + 1
            for job, kept in self._jobs.items():
                kept.row, kept.head = rows[job], Head(kept.head.seq, kept.head.hash, children.get(job, 0))
            self._since = self.now()

    def close(self) -> None:
        """Nothing is held open."""

    def _check(self, job: str, head: Head | None) -> None:
        kept = self._jobs.get(job)
        if (kept.head if kept else None) != head:
            raise Conflict(job, head.seq if head else None, kept.head.seq if kept else None)

    def _keep(self, change: Change) -> None:
        row, last = change.row, change.entries[-1]
        kept = self._jobs.get(row.job)
        if kept is None:
            kept = self._jobs[row.job] = _Kept(Head(last.seq, last.hash), row, [], set())
            parent = self._jobs.get(row.parent) if row.parent else None
            if parent is not None:
                held = parent.head
                parent.head = Head(held.seq, held.hash, held.children + 1, held.renewed_at)
        kept.head, kept.row = Head(last.seq, last.hash, kept.head.children, kept.head.renewed_at), row
        kept.entries += change.entries
        kept.ids.update(entry.id for entry in change.entries)
        self._feed += change.entries


def _fits(query: Query, row: Row) -> bool:
    return (
        row.job > query.after
        and (query.stages is None or row.stage in query.stages)
        and query.requester in (None, row.requester)
        and query.worker in (None, row.worker)
        and query.parent in (None, row.parent)
        and (query.due_by is None or (row.due is not None and row.due <= query.due_by))
    )


def _machine_time() -> datetime:
    return datetime.now(UTC)
