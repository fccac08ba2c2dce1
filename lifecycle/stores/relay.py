"""A store that passes everything on to another, so that something may happen before and after: a measurement, a turn, a fault."""

from collections.abc import Callable, Sequence
from datetime import datetime

from lifecycle.law.errors import KeptRefusal
from lifecycle.law.log import Change, Entry, Head, Query, Row, Store


class Relay:
    """The port, whole. `asked` is called before what reads or writes jobs and shelves, `answered` once it was done."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    def asked(self, what: str) -> None:
        """This method of the store is about to be called."""

    def answered(self, what: str) -> None:
        """This method of the store has returned."""

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """See `Store`."""
        self.asked("append")
        self.inner.append(changes, reads)
        self.answered("append")

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        """See `Store`."""
        self.asked("read")
        found = self.inner.read(job, after)
        self.answered("read")
        return found

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        """See `Store`."""
        self.asked("feed")
        found = self.inner.feed(after, limit)
        self.answered("feed")
        return found

    def find(self, query: Query) -> Sequence[Row]:
        """See `Store`."""
        self.asked("find")
        found = self.inner.find(query)
        self.answered("find")
        return found

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """See `Store`."""
        self.asked("mark")
        self.inner.mark(job, head, renewed_at, due)
        self.answered("mark")

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """See `Store`."""
        self.asked("keep_refusal")
        self.inner.keep_refusal(kept, cap)
        self.answered("keep_refusal")

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        """See `Store`."""
        return self.inner.refusals(job)

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        """See `Store`."""
        self.asked("put")
        done = self.inner.put(shelf, key, text, was)
        self.answered("put")
        return done

    def get(self, shelf: str, key: str) -> str | None:
        """See `Store`."""
        self.asked("get")
        found = self.inner.get(shelf, key)
        self.answered("get")
        return found

    def shelf(self, shelf: str) -> dict[str, str]:
        """See `Store`."""
        self.asked("shelf")
        found = self.inner.shelf(shelf)
        self.answered("shelf")
        return found

    def shelves(self) -> Sequence[str]:
        """See `Store`."""
        return self.inner.shelves()

    def renewals_since(self) -> datetime:
        """See `Store`."""
        return self.inner.renewals_since()

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """See `Store`."""
        self.asked("reindex")
        self.inner.reindex(row)
        self.answered("reindex")

    def purge(self, jobs: Sequence[tuple[str, Head, str]]) -> None:
        """See `Store`."""
        self.asked("purge")
        self.inner.purge(jobs)
        self.answered("purge")

    def listen(self, wake: Callable[[], None]) -> bool:
        """See `Store`."""
        return self.inner.listen(wake)

    def now(self) -> datetime:
        """See `Store`."""
        return self.inner.now()

    def close(self) -> None:
        """See `Store`."""
        self.inner.close()
