"""A store in one SQLite file: WAL, `synchronous=FULL`, any number of threads and of processes on one machine.

`log` is the truth; `jobs` shows where each log stands and can be made anew from it. No rule of the lifecycle lives here.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from lifecycle.law.errors import CorruptLog, KeptRefusal, StoreError
from lifecycle.law.log import Change, Entry, Head, Query, Row, unseal
from lifecycle.stores import heads
from lifecycle.stores.refusals import from_text, to_text
from lifecycle.stores.sqlite.file import File
from lifecycle.stores.sqlite.queries import select
from lifecycle.stores.sqlite.writing import (
    ADD_JOB,
    STAGES,
    STAND_OF,
    Stand,
    append,
    begin_renewals,
    head_of,
    listed,
    purge,
    shelves,
    since,
)
from lifecycle.stores.times import Clock, machine_clock, micros, moment, told

BUSY_TIMEOUT = 10.0
"""Seconds a write waits for other threads and processes before it is StoreBusy."""

_ENTRY = "seq, prev, hash, CAST(body AS BLOB)"
_LAST_OF_JOB = (  # the positions come from the index of act ids alone, so that only the rows asked for are read
    f"SELECT {_ENTRY} FROM log WHERE seq > ? AND position IN "
    "(SELECT position FROM log WHERE job = ? ORDER BY position DESC LIMIT ?) ORDER BY position"
)
_ALL_OF_JOB = f"SELECT {_ENTRY} FROM log WHERE position IN (SELECT position FROM log WHERE job = ?) ORDER BY position"
_FEED = f"SELECT position, job, {_ENTRY} FROM log WHERE position > ? AND job > 0 ORDER BY position LIMIT ?"


class SqliteStore:
    """Jobs in one file; see `Store` for what it guarantees. A process that was forked while it was open must open its own."""

    def __init__(self, path: str | os.PathLike[str], clock: Clock | None = None, busy_timeout: float = BUSY_TIMEOUT) -> None:
        """`clock` gives the time, aware; by default the machine's. The file is made, mode 0600, if there is none."""
        self._clock = clock or machine_clock
        self._file = File(path, busy_timeout)
        self.renewals_since()

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """Append all changes in one commit, if every head, also of the jobs merely read, is still as given."""
        for change in changes:
            heads.follows(change)
        heads.once_each(changes)
        self._file.write(lambda connection: append(connection, changes, reads))

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        """The job's head and its entries after a seq, from one moment; None if there is no such job."""
        found = self._file.read(lambda connection: _read(connection, job, after))
        if found is None:
            return None
        head, rows = found
        return head, [_entry(job, *row) for row in rows]

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        """Entries of all jobs after a position, each with its own, in the order of their commits."""
        rows = self._file.read(lambda connection: connection.execute(_FEED, (after, max(0, limit))).fetchall())
        try:
            return [(position, _entry(str(first), *entry)) for position, first, *entry in rows]
        except CorruptLog as error:
            asked = "SELECT job FROM jobs WHERE first = ?", (error.job,)
            named = self._file.read(lambda connection: connection.execute(*asked).fetchone())
            raise CorruptLog(named[0] if named else error.job, error.seq, error.what) from error

    def find(self, query: Query) -> Sequence[Row]:
        """The rows that the query asks for, oldest job first, or by due time."""

        if query.stages is not None and not query.stages:
            return []

        def look(connection: sqlite3.Connection) -> list[Stand]:
            last = connection.execute("SELECT first FROM jobs WHERE job = ?", (query.after,)).fetchone() if query.after else (0,)
            return connection.execute(*select(query, last[0])).fetchall() if last else []

        return [self._row(*found) for found in self._file.read(look)]

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """Keep a renewal and a due time; a Conflict if the head is another."""

        def work(connection: sqlite3.Connection) -> None:
            stand = connection.execute(STAND_OF, (job,)).fetchone()
            heads.still(job, head, head_of(stand))
            at, falls = renewed_at and micros(renewed_at), due and micros(due)
            if falls == stand[6]:
                connection.execute("UPDATE jobs SET renewed_at = ? WHERE first = ?", (at, stand[1]))
            else:
                connection.execute("UPDATE jobs SET renewed_at = ?, due = ? WHERE first = ?", (at, falls, stand[1]))

        self._file.write(work)

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """Keep a refusal, unless the job has `cap` of them already (None: keep it always)."""
        job = kept.refusal.job

        def full(connection: sqlite3.Connection) -> bool:
            (count,) = connection.execute("SELECT count(*) FROM refusals WHERE job = ?", (job,)).fetchone()
            return cap is not None and bool(count >= cap)

        def work(connection: sqlite3.Connection) -> None:
            if not full(connection):
                connection.execute("INSERT INTO refusals (job, said) VALUES (?, ?)", (job, to_text(kept)))

        if not self._file.read(full):  # who is refused for ever costs no commits
            self._file.write(work)

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        """The refusals kept for a job, oldest first."""
        asked = "SELECT said FROM refusals WHERE job = ? ORDER BY number"
        return [from_text(said) for (said,) in self._file.read(lambda connection: connection.execute(asked, (job,)).fetchall())]

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        """Set a text beside the log (None: remove it) if it still is `was` (None: absent); say whether it was."""

        def work(connection: sqlite3.Connection) -> bool:
            found = connection.execute("SELECT text FROM shelves WHERE shelf = ? AND key = ?", (shelf, key)).fetchone()
            if (found[0] if found else None) != was:
                return False
            if text is None:
                connection.execute("DELETE FROM shelves WHERE shelf = ? AND key = ?", (shelf, key))
            else:
                connection.execute("INSERT OR REPLACE INTO shelves (shelf, key, text) VALUES (?, ?, ?)", (shelf, key, text))
            return True

        return self._file.write(work)

    def get(self, shelf: str, key: str) -> str | None:
        """One text of a shelf; None if it is absent."""
        asked = "SELECT text FROM shelves WHERE shelf = ? AND key = ?"
        found = self._file.read(lambda connection: connection.execute(asked, (shelf, key)).fetchone())
        return found[0] if found else None

    def shelves(self) -> Sequence[str]:
        """The names of all shelves that hold something."""
        return self._file.read(shelves)

    def shelf(self, shelf: str) -> dict[str, str]:
        """All texts of a shelf by key."""
        asked = "SELECT key, text FROM shelves WHERE shelf = ?"
        return dict(self._file.read(lambda connection: connection.execute(asked, (shelf,)).fetchall()))

    def renewals_since(self) -> datetime:
        """Since when renewals were kept without a loss. A mark that is not there was lost with them: it is made anew, now."""
        found = self._file.read(since)
        if found is None:
            now = micros(self.now())
            found = self._file.write(lambda connection: since(connection) or begin_renewals(connection, now))
        return moment(found)

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """Throw all rows away and make them anew from the log, in one commit; renewals are lost with them."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM jobs")
            for (first,) in connection.execute("SELECT DISTINCT job FROM log WHERE job > 0 ORDER BY job").fetchall():
                entries = [_entry(str(first), *found) for found in connection.execute(_ALL_OF_JOB, (first,))]
                connection.execute(ADD_JOB, listed(row(entries), first, entries[-1]))
            connection.execute(
                "UPDATE jobs SET children = (SELECT count(*) FROM jobs AS child WHERE child.parent = jobs.job) "
                "WHERE job IN (SELECT parent FROM jobs WHERE parent IS NOT NULL)"
            )
            begin_renewals(connection, micros(self.now()))

        self._file.write(work)

    def purge(self, jobs: Sequence[tuple[str, Head, str]]) -> None:
        """Take jobs away whole, in one commit, if each head is still as given; of each the text given is left."""
        self._file.write(lambda connection: purge(connection, jobs))

    def listen(self, wake: Callable[[], None]) -> bool:
        """A file tells nobody."""
        return False

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the store, as it is at one moment, to a file that is not there yet, while others write; the copy is a store."""
        self._file.backup(path)

    def now(self) -> datetime:
        """The time, by the clock that the store was given."""
        return told(self._clock)

    def close(self) -> None:
        """Let go of the file; twice is once."""
        self._file.close()

    def _row(
        self, first: int, job: str, stage: str, requester: str, worker: str, goal: str, parent: str | None, requested_at: int,
        updated_at: int, due: int | None,
    ) -> Row:  # fmt: skip
        if stage not in STAGES:
            raise StoreError(f"store `{self._file.path}` lists job `{job}` in `{stage}`, no stage; to mend it, run reindex")
        falls = moment(due) if due is not None else None
        return Row(job, STAGES[stage], requester, worker, goal, parent, moment(requested_at), moment(updated_at), falls)


def _read(connection: sqlite3.Connection, job: str, after: int) -> tuple[Head, list[tuple[Any, ...]]] | None:
    connection.execute("BEGIN")
    stand = connection.execute("SELECT first, seq, hash, children, renewed_at FROM jobs WHERE job = ?", (job,)).fetchone()
    rows = []
    if stand is not None and after < 0:
        rows = connection.execute(_ALL_OF_JOB, (stand[0],)).fetchall()
    elif stand is not None and after < stand[1]:
        rows = connection.execute(_LAST_OF_JOB, (after, stand[0], stand[1] - after)).fetchall()
    connection.execute("COMMIT")
    head = head_of((job, *stand) if stand is not None else None)
    return (head, rows) if head is not None else None


def _entry(job: str, seq: int, prev: bytes, hash: bytes, body: bytes) -> Entry:
    return unseal(job, seq, _hex(prev), _hex(hash), body)


def _hex(stored: bytes | str) -> str:
    return stored.hex() if isinstance(stored, bytes) else str(stored)
