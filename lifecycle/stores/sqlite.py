"""A store in one SQLite file: WAL, `synchronous=FULL`, any number of threads and of processes on one machine.

`log` is the truth; `jobs` shows where each log stands and can be made anew from it. Few pages are touched per act: the end of the
log, the job's place in the index of act ids, its row, and an index only where the row moves in it. No rule of the lifecycle lives
here.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from json import dumps
from typing import Any

from lifecycle.law.errors import Conflict, CorruptLog, KeptRefusal, StoreError
from lifecycle.law.log import Change, Entry, Head, Query, Row, unseal
from lifecycle.law.states import OPEN, Stage
from lifecycle.stores import heads
from lifecycle.stores.file import File
from lifecycle.stores.queries import select
from lifecycle.stores.refusals import from_text, to_text
from lifecycle.stores.times import Clock, machine_clock, micros, moment, told

BUSY_TIMEOUT = 10.0
"""Seconds a write waits for other threads and processes before it is StoreBusy."""

_STAGES = {stage.value: stage for stage in Stage}
_STAND = "job, first, seq, hash, children, renewed_at, due, stage"
_STAND_OF = f"SELECT {_STAND} FROM jobs WHERE job = ?"
_STAND_OF_ALL = f"SELECT {_STAND} FROM jobs WHERE job IN (SELECT value FROM json_each(?))"
_ADD_JOB = (
    "INSERT INTO jobs "
    "(first, job, seq, hash, children, requested_at, updated_at, due, stage, open, requester, worker, parent, goal) "
    "VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_MOVE_JOB = "UPDATE jobs SET seq = ?, hash = ?, updated_at = ?, goal = ?{more} WHERE first = ?"
_ADD_ENTRY = "INSERT INTO log (position, job, seq, id, prev, hash, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
_ENTRY = "seq, prev, hash, CAST(body AS BLOB)"
_LAST_OF_JOB = (  # the positions come from the index of act ids alone, so that only the rows asked for are read
    f"SELECT {_ENTRY} FROM log WHERE seq > ? AND position IN "
    "(SELECT position FROM log WHERE job = ? ORDER BY position DESC LIMIT ?) ORDER BY position"
)
_ALL_OF_JOB = f"SELECT {_ENTRY} FROM log WHERE position IN (SELECT position FROM log WHERE job = ?) ORDER BY position"
_FEED = f"SELECT position, job, {_ENTRY} FROM log WHERE position > ? ORDER BY position LIMIT ?"

_Stand = tuple[Any, ...]
"""One row of `jobs`, as `_STAND` asks for it."""


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
        self._file.write(lambda connection: _append(connection, changes, reads))

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

        def look(connection: sqlite3.Connection) -> list[_Stand]:
            last = connection.execute("SELECT first FROM jobs WHERE job = ?", (query.after,)).fetchone() if query.after else (0,)
            return connection.execute(*select(query, last[0])).fetchall() if last else []

        return [self._row(*found) for found in self._file.read(look)]

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """Keep a renewal and a due time; a Conflict if the head is another."""

        def work(connection: sqlite3.Connection) -> None:
            stand = connection.execute(_STAND_OF, (job,)).fetchone()
            heads.still(job, head, _head(stand))
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

    def shelf(self, shelf: str) -> dict[str, str]:
        """All texts of a shelf by key."""
        asked = "SELECT key, text FROM shelves WHERE shelf = ?"
        return dict(self._file.read(lambda connection: connection.execute(asked, (shelf,)).fetchall()))

    def renewals_since(self) -> datetime:
        """Since when renewals were kept without a loss. A mark that is not there was lost with them: it is made anew, now."""
        found = self._file.read(_since)
        if found is None:
            now = micros(self.now())
            found = self._file.write(lambda connection: _since(connection) or _begin_renewals(connection, now))
        return moment(found)

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """Throw all rows away and make them anew from the log, in one commit; renewals are lost with them."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM jobs")
            for (first,) in connection.execute("SELECT DISTINCT job FROM log ORDER BY job").fetchall():
                entries = [_entry(str(first), *found) for found in connection.execute(_ALL_OF_JOB, (first,))]
                connection.execute(_ADD_JOB, _made(row(entries), first, entries[-1]))
            connection.execute(
                "UPDATE jobs SET children = (SELECT count(*) FROM jobs AS child WHERE child.parent = jobs.job) "
                "WHERE job IN (SELECT parent FROM jobs WHERE parent IS NOT NULL)"
            )
            _begin_renewals(connection, micros(self.now()))

        self._file.write(work)

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
        if stage not in _STAGES:
            raise StoreError(f"store `{self._file.path}` lists job `{job}` in `{stage}`, no stage; to mend it, run reindex")
        falls = moment(due) if due is not None else None
        return Row(job, _STAGES[stage], requester, worker, goal, parent, moment(requested_at), moment(updated_at), falls)


# What is done within one transaction


def _append(connection: sqlite3.Connection, changes: Sequence[Change], reads: Sequence[tuple[str, Head]]) -> None:
    stands = _stands(connection, [change.row.job for change in changes] + [job for job, _ in reads])
    for job, head in reads:
        heads.still(job, head, _head(stands.get(job)))
    for change in changes:
        heads.still(change.row.job, change.head, _head(stands.get(change.row.job)))
    new = [change for change in changes if change.head is None]
    position = connection.execute("SELECT max(position) FROM log").fetchone()[0] or 0 if new else None
    entries: list[tuple[Any, ...]] = []
    made: list[tuple[Any, ...]] = []
    moved: dict[str, list[list[Any]]] = {}
    for change in changes:
        stand = stands.get(change.row.job)
        if stand is None:
            assert position is not None
            first = position + 1
            made.append(_made(change.row, first, change.entries[-1]))
        else:
            first = stand[1]
            statement, values = _moved(stand, change.row, change.entries[-1])
            moved.setdefault(statement, []).append(values)
        for entry in change.entries:
            position = position + 1 if position is not None else None
            prev, hash = bytes.fromhex(entry.prev), bytes.fromhex(entry.hash)
            entries.append((position, first, entry.seq, entry.id, prev, hash, entry.body.decode()))
    try:
        connection.executemany(_ADD_ENTRY, entries)
    except sqlite3.IntegrityError:
        raise _taken(connection, changes) from None
    if made:
        connection.executemany(_ADD_JOB, made)
    for statement, rows in moved.items():
        connection.executemany(statement, rows)
    if parents := [(change.row.parent,) for change in new if change.row.parent is not None]:
        connection.executemany("UPDATE jobs SET children = children + 1 WHERE job = ?", parents)


def _read(connection: sqlite3.Connection, job: str, after: int) -> tuple[Head, list[tuple[Any, ...]]] | None:
    connection.execute("BEGIN")
    stand = connection.execute("SELECT first, seq, hash, children, renewed_at FROM jobs WHERE job = ?", (job,)).fetchone()
    rows = []
    if stand is not None and after < 0:
        rows = connection.execute(_ALL_OF_JOB, (stand[0],)).fetchall()
    elif stand is not None and after < stand[1]:
        rows = connection.execute(_LAST_OF_JOB, (after, stand[0], stand[1] - after)).fetchall()
    connection.execute("COMMIT")
    head = _head((job, *stand) if stand is not None else None)
    return (head, rows) if head is not None else None


def _stands(connection: sqlite3.Connection, jobs: list[str]) -> dict[str, _Stand]:
    """Where each of these jobs stands, of those that there are."""
    asked: tuple[str, Sequence[str]] = (_STAND_OF, jobs) if len(jobs) == 1 else (_STAND_OF_ALL, (dumps(jobs),))
    return {stand[0]: stand for stand in connection.execute(*asked).fetchall()}


def _moved(stand: _Stand, row: Row, last: Entry) -> tuple[str, list[Any]]:
    """The statement that brings a row up to date, and its values: it names only what is to be found in another place of an index.

    What the request fixed stays. A due time that is earlier than the true one is let stand while it has not come: whoever acts on
    it judges the job anew.
    """
    updated_at, due = micros(row.updated_at), micros(row.due) if row.due is not None else None
    kept, stage, more = stand[6], row.stage.value, ""
    values = [last.seq, bytes.fromhex(last.hash), updated_at, row.goal]
    if kept != due and (kept is None or due is None or due < kept or kept <= updated_at):
        more = ", due = ?"
        values.append(due)
    if stage != stand[7]:
        more += ", stage = ?"
        values.append(stage)
        is_open = row.stage in OPEN
        if is_open is not (_STAGES.get(stand[7]) in OPEN):
            more += ", open = ?"
            values.append(is_open)
    values.append(stand[1])
    return _move(more), values


@lru_cache(maxsize=16)
def _move(more: str) -> str:
    return _MOVE_JOB.format(more=more)


def _made(row: Row, first: int, last: Entry) -> tuple[Any, ...]:
    due = micros(row.due) if row.due is not None else None
    return (
        first, row.job, last.seq, bytes.fromhex(last.hash), micros(row.requested_at), micros(row.updated_at), due, row.stage.value,
        row.stage in OPEN, row.requester, row.worker, row.parent, row.goal,
    )  # fmt: skip


def _taken(connection: sqlite3.Connection, changes: Sequence[Change]) -> Conflict:
    """The Conflict of the first job in which an act id is taken."""
    for change in changes:
        seen: set[str] = set()
        for entry in change.entries:
            asked = "SELECT 1 FROM log JOIN jobs ON log.job = first WHERE jobs.job = ? AND id = ? AND log.seq < ?"
            if entry.id in seen or connection.execute(asked, (entry.job, entry.id, change.entries[0].seq)).fetchone():
                return Conflict(entry.job, entry.seq - 1, change.head.seq if change.head else None)
            seen.add(entry.id)
    return Conflict(changes[0].row.job, None, None)


def _since(connection: sqlite3.Connection) -> int | None:
    found = connection.execute("SELECT since FROM renewals").fetchone()
    return found[0] if found else None


def _begin_renewals(connection: sqlite3.Connection, now: int) -> int:
    connection.execute("DELETE FROM renewals")
    connection.execute("INSERT INTO renewals (since) VALUES (?)", (now,))
    return now


def _head(stand: _Stand | None) -> Head | None:
    if stand is None:
        return None
    renewed_at = stand[5]
    return Head(stand[2], stand[3].hex(), stand[4], moment(renewed_at) if renewed_at is not None else None)


def _entry(job: str, seq: int, prev: bytes, hash: bytes, body: bytes) -> Entry:
    return unseal(job, seq, _hex(prev), _hex(hash), body)


def _hex(stored: bytes | str) -> str:
    return stored.hex() if isinstance(stored, bytes) else str(stored)
