"""A store that passes everything on to another, so that something may happen between: a rival's turn, a fault, a death."""

import os
import signal
from collections.abc import Callable, Sequence
from datetime import datetime

from lifecycle.law.errors import KeptRefusal, StoreError
from lifecycle.law.log import Change, Entry, Head, Query, Row, Store


class Relay:
    """The port, whole; `asked` is called before each thing that is asked of the store, `answered` after it."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    def asked(self, what: str) -> None:
        """Something is about to be asked of the store."""

    def answered(self, what: str) -> None:
        """The store has done what it was asked."""

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        self.asked("append")
        self.inner.append(changes, reads)
        self.answered("append")

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        self.asked("read")
        found = self.inner.read(job, after)
        self.answered("read")
        return found

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        self.asked("feed")
        found = self.inner.feed(after, limit)
        self.answered("feed")
        return found

    def find(self, query: Query) -> Sequence[Row]:
        self.asked("find")
        found = self.inner.find(query)
        self.answered("find")
        return found

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        self.asked("mark")
        self.inner.mark(job, head, renewed_at, due)
        self.answered("mark")

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        self.asked("keep_refusal")
        self.inner.keep_refusal(kept, cap)
        self.answered("keep_refusal")

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        return self.inner.refusals(job)

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        self.asked("put")
        done = self.inner.put(shelf, key, text, was)
        self.answered("put")
        return done

    def get(self, shelf: str, key: str) -> str | None:
        return self.inner.get(shelf, key)

    def shelves(self) -> Sequence[str]:
        return self.inner.shelves()

    def purge(self, jobs: Sequence[tuple[str, Head, str]]) -> None:
        self.asked("purge")
        self.inner.purge(jobs)
        self.answered("purge")

    def listen(self, wake: Callable[[], None]) -> bool:
        return self.inner.listen(wake)

    def shelf(self, shelf: str) -> dict[str, str]:
        return self.inner.shelf(shelf)

    def renewals_since(self) -> datetime:
        return self.inner.renewals_since()

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        self.inner.reindex(row)

    def now(self) -> datetime:
        return self.inner.now()

    def close(self) -> None:
        self.inner.close()


class Between(Relay):
    """Somebody else's turn comes just before the n-th thing that is asked of the store, and once only."""

    def __init__(self, inner: Store, n: int, turn: Callable[[], object]) -> None:
        super().__init__(inner)
        self.left, self.turn = n, turn
        self.taken = False

    def asked(self, what: str) -> None:
        if not self.taken and self.left == 0:
            self.taken = True
            self.turn()
        self.left -= 1


class Failing(Relay):
    """A store that fails at what is told, as often as is told: before it does it or after, and not the first `spares` times."""

    def __init__(self, inner: Store, what: str, times: int = 1, *, after: bool = False, spares: int = 0) -> None:
        super().__init__(inner)
        self.what, self.times, self.after, self.spares = what, times, after, spares

    def asked(self, what: str) -> None:
        self._fail(what, False)

    def answered(self, what: str) -> None:
        self._fail(what, True)

    def _fail(self, what: str, after: bool) -> None:
        if what == self.what and after is self.after and self.times > 0:
            self.spares -= 1
            if self.spares < 0:
                self.times -= 1
                raise StoreError("the store is down; to mend it, wait")


class Watched(Relay):
    """A store that tells what was asked of it."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.told: list[str] = []

    def asked(self, what: str) -> None:
        self.told.append(what)


class Deadly(Relay):
    """A store under which the process dies, with kill -9, at the n-th moment: before what is asked of it, and after writes."""

    def __init__(self, inner: Store, n: int) -> None:
        super().__init__(inner)
        self.left = n

    def asked(self, what: str) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def answered(self, what: str) -> None:
        if what == "append":
            self.asked(what)
