"""A store in memory, for tests and examples: it keeps what a file would keep, for as long as somebody holds it.

Everything stands in dictionaries behind one lock. There is no rule of the lifecycle here.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import islice

from attrs import define, evolve, field

from lifecycle.law.errors import Conflict, KeptRefusal
from lifecycle.law.log import GONE, Change, Entry, Head, Query, Row, owner
from lifecycle.stores import heads
from lifecycle.stores.times import Clock, machine_clock, micros, told


@define
class _Kept:
    """One job: how many were made before it, where it stands, how it is listed, its entries and their ids."""

    number: int
    head: Head
    row: Row
    entries: list[Entry] = field(factory=list)
    ids: set[str] = field(factory=set)


class MemoryStore:
    """Jobs in dictionaries; see `Store` for what it guarantees. Durable as long as the object is, in one process."""

    def __init__(self, clock: Clock | None = None) -> None:
        """`clock` gives the time, aware; by default the machine's."""
        self._clock = clock or machine_clock
        self._lock = threading.Lock()
        self._jobs: dict[str, _Kept] = {}
        self._feed: list[Entry | None] = []
        """Every entry in the order of commits; None where one was purged."""
        self._made = 0
        self._refusals: dict[str, list[KeptRefusal]] = {}
        self._shelves: dict[str, dict[str, str]] = {}
        self._since = self.now()

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """Append all changes at once, if every head, also of the jobs merely read, is still as given."""
        for change in changes:
            heads.follows(change)
        heads.once_each(changes)
        with self._lock:
            for job, head in reads:
                heads.still(job, head, self._head(job))
            for change in changes:
                heads.still(change.row.job, change.head, self._head(change.row.job))
                if change.head is None and change.row.job in self._shelves.get(GONE, {}):
                    raise Conflict(change.row.job, None, None)
            for change in changes:
                self._ids_free(change)
            for change in changes:
                self._keep(change)
            for change in changes:
                if change.head is None and change.row.parent in self._jobs:
                    parent = self._jobs[change.row.parent]
                    head = parent.head
                    parent.head = Head(head.seq, head.hash, head.children + 1, head.renewed_at)

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        """The job's head and its entries after a seq, from one moment; None if there is no such job."""
        with self._lock:
            kept = self._jobs.get(job)
            return (kept.head, kept.entries[max(0, after + 1) :]) if kept is not None else None

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        """Entries of all jobs after a position, each with its own, in the order of their commits."""
        after = max(0, after)
        with self._lock:
            entries = ((n, self._feed[n - 1]) for n in range(after + 1, len(self._feed) + 1))
            return list(islice(((n, entry) for n, entry in entries if entry is not None), max(0, limit)))

    def find(self, query: Query) -> Sequence[Row]:
        """The rows that the query asks for, oldest job first, or by due time."""
        with self._lock:
            last = self._jobs.get(query.after)
            if query.after and last is None:
                return []
            kept = [kept for kept in self._jobs.values() if last is None or kept.number > last.number]
            rows = [one.row for one in kept if _fits(query, one.row)]
        if query.due_by is not None:
            rows.sort(key=lambda row: micros(row.due) if row.due is not None else 0)
        return rows[: max(0, query.limit)]

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """Keep a renewal and a due time; a Conflict if the head is another."""
        with self._lock:
            heads.still(job, head, self._head(job))
            kept = self._jobs[job]
            kept.head, kept.row = Head(head.seq, head.hash, head.children, renewed_at), evolve(kept.row, due=due)

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """Keep a refusal, unless the job has `cap` of them already (None: keep it always)."""
        with self._lock:
            refusals = self._refusals.setdefault(kept.refusal.job, [])
            if cap is None or len(refusals) < cap:
                refusals.append(kept)

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        """The refusals kept for a job, oldest first."""
        with self._lock:
            return list(self._refusals.get(job, ()))

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        """Set a text beside the log (None: remove it) if it still is `was` (None: absent); say whether it was."""
        with self._lock:
            held = self._shelves.setdefault(shelf, {})
            if held.get(key) != was:
                return False
            if text is None:
                held.pop(key, None)
            else:
                held[key] = text
            return True

    def get(self, shelf: str, key: str) -> str | None:
        """One text of a shelf; None if it is absent."""
        with self._lock:
            return self._shelves.get(shelf, {}).get(key)

    def shelf(self, shelf: str) -> dict[str, str]:
        """All texts of a shelf by key."""
        with self._lock:
            return dict(self._shelves.get(shelf, {}))

    def shelves(self) -> Sequence[str]:
        """The names of all shelves that hold something."""
        with self._lock:
            return sorted(name for name, texts in self._shelves.items() if texts)

    def renewals_since(self) -> datetime:
        """Since when renewals were kept without a loss."""
        return self._since

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """Throw all rows away and make them anew from the log; renewals are lost with them."""
        with self._lock:
            rows = {job: row(kept.entries) for job, kept in self._jobs.items()}
            children = Counter(made.parent for made in rows.values())
            for job, kept in self._jobs.items():
                kept.row, kept.head = rows[job], Head(kept.entries[-1].seq, kept.entries[-1].hash, children[job])
            self._since = self.now()

    def purge(self, jobs: Sequence[tuple[str, Head, str]]) -> None:
        """Take jobs away whole, if each head is still as given; of each the text given is left."""
        names = frozenset(job for job, _, _ in jobs)
        with self._lock:
            for job, head, _ in jobs:
                heads.still(job, head, self._head(job))
            self._feed = [entry if entry is not None and entry.job not in names else None for entry in self._feed]
            self._shelves = {name: texts for name, texts in self._shelves.items() if owner(name) not in names}
            for texts in self._shelves.values():
                for job in names & texts.keys():
                    del texts[job]
            for job, _, text in jobs:
                del self._jobs[job]
                self._refusals.pop(job, None)
                self._shelves.setdefault(GONE, {})[job] = text

    def listen(self, wake: Callable[[], None]) -> bool:
        """There is no other process."""
        return False

    def now(self) -> datetime:
        """The time, by the clock that the store was given."""
        return told(self._clock)

    def close(self) -> None:
        """Nothing is held open."""

    def _head(self, job: str) -> Head | None:
        kept = self._jobs.get(job)
        return kept.head if kept is not None else None

    def _ids_free(self, change: Change) -> None:
        kept = self._jobs.get(change.row.job)
        taken = set(kept.ids) if kept is not None else set()
        for entry in change.entries:
            if entry.id in taken:
                raise Conflict(entry.job, entry.seq - 1, change.head.seq if change.head else None)
            taken.add(entry.id)

    def _keep(self, change: Change) -> None:
        row, last = change.row, change.entries[-1]
        kept = self._jobs.get(row.job)
        if kept is None:
            self._made += 1
            kept = self._jobs[row.job] = _Kept(self._made, Head(last.seq, last.hash), row)
        kept.head, kept.row = Head(last.seq, last.hash, kept.head.children, kept.head.renewed_at), row
        kept.entries += change.entries
        kept.ids.update(entry.id for entry in change.entries)
        self._feed += change.entries


def _fits(query: Query, row: Row) -> bool:
    return (
        (query.stages is None or row.stage in query.stages)
        and query.requester in (None, row.requester)
        and query.worker in (None, row.worker)
        and query.parent in (None, row.parent)
        and (query.due_by is None or (row.due is not None and row.due <= query.due_by))
    )
