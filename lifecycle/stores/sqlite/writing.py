"""What is written to the file within one transaction: entries, rows, and what a purged job leaves.

Few pages are touched per act: the end of the log, the job's place in the index of act ids, its row, and an index only where the
row moves in it.
"""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from json import dumps
from typing import Any

from lifecycle.law.errors import Conflict
from lifecycle.law.log import GONE, Change, Entry, Head, Row, owner
from lifecycle.law.states import OPEN, Stage
from lifecycle.stores import heads
from lifecycle.stores.times import micros, moment

STAGES = {stage.value: stage for stage in Stage}
_STAND = "job, first, seq, hash, children, renewed_at, due, stage"
STAND_OF = f"SELECT {_STAND} FROM jobs WHERE job = ?"
_STAND_OF_ALL = f"SELECT {_STAND} FROM jobs WHERE job IN (SELECT value FROM json_each(?))"
ADD_JOB = (
    "INSERT INTO jobs "
    "(first, job, seq, hash, children, requested_at, updated_at, due, stage, open, requester, worker, parent, goal) "
    "VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_MOVE_JOB = "UPDATE jobs SET seq = ?, hash = ?, updated_at = ?, goal = ?{more} WHERE first = ?"
_ADD_ENTRY = "INSERT INTO log (position, job, seq, id, prev, hash, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
Stand = tuple[Any, ...]
"""One row of `jobs`, as `_STAND` asks for it."""


def append(connection: sqlite3.Connection, changes: Sequence[Change], reads: Sequence[tuple[str, Head]]) -> None:
    """Append all changes, if every head, also of the jobs merely read, is still as given; else a Conflict."""
    stands = _stands(connection, [change.row.job for change in changes] + [job for job, _ in reads])
    for job, head in reads:
        heads.still(job, head, head_of(stands.get(job)))
    for change in changes:
        heads.still(change.row.job, change.head, head_of(stands.get(change.row.job)))
    new = [change for change in changes if change.head is None]
    for change in new:
        if connection.execute("SELECT 1 FROM shelves WHERE shelf = ? AND key = ?", (GONE, change.row.job)).fetchone():
            raise Conflict(change.row.job, None, None)
    position = connection.execute("SELECT max(position) FROM log").fetchone()[0] or 0 if new else None
    entries: list[tuple[Any, ...]] = []
    made: list[tuple[Any, ...]] = []
    moved: dict[str, list[list[Any]]] = {}
    for change in changes:
        stand = stands.get(change.row.job)
        if stand is None:
            assert position is not None
            first = position + 1
            made.append(listed(change.row, first, change.entries[-1]))
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
        connection.executemany(ADD_JOB, made)
    for statement, rows in moved.items():
        connection.executemany(statement, rows)
    if parents := [(change.row.parent,) for change in new if change.row.parent is not None]:
        connection.executemany("UPDATE jobs SET children = children + 1 WHERE job = ?", parents)


def purge(connection: sqlite3.Connection, jobs: Sequence[tuple[str, Head, str]]) -> None:
    """Take jobs away whole, if each head is still as given; of each the text given is left, and its last place stays taken."""
    names = [job for job, _, _ in jobs]
    stands = _stands(connection, names)
    for job, head, _ in jobs:
        heads.still(job, head, head_of(stands.get(job)))
    firsts = [(stands[job][1],) for job in names]
    (last,) = connection.execute("SELECT max(position) FROM log").fetchone()
    connection.executemany("DELETE FROM log WHERE job = ?", firsts)
    if connection.execute("SELECT max(position) FROM log").fetchone() != (last,):
        connection.execute("DELETE FROM log WHERE job = 0")  # the last place stays taken, by an entry of no job
        connection.execute(_ADD_ENTRY, (last, 0, 0, "", b"", b"", ""))
    (since,) = connection.execute("SELECT since FROM renewals").fetchone()
    connection.executemany("DELETE FROM jobs WHERE first = ?", firsts)
    begin_renewals(connection, since)  # only the renewals of ended jobs went
    connection.executemany("DELETE FROM refusals WHERE job = ?", [(job,) for job in names])
    belong = [(name,) for name in shelves(connection) if owner(name) in names]
    connection.executemany("DELETE FROM shelves WHERE shelf = ?", belong)
    connection.executemany("DELETE FROM shelves WHERE key = ?", [(job,) for job in names])
    connection.executemany("INSERT INTO shelves (shelf, key, text) VALUES (?, ?, ?)", [(GONE, job, left) for job, _, left in jobs])


def _stands(connection: sqlite3.Connection, jobs: list[str]) -> dict[str, Stand]:
    """Where each of these jobs stands, of those that there are."""
    asked: tuple[str, Sequence[str]] = (STAND_OF, jobs) if len(jobs) == 1 else (_STAND_OF_ALL, (dumps(jobs),))
    return {stand[0]: stand for stand in connection.execute(*asked).fetchall()}


def _moved(stand: Stand, row: Row, last: Entry) -> tuple[str, list[Any]]:
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
        if is_open is not (STAGES.get(stand[7]) in OPEN):
            more += ", open = ?"
            values.append(is_open)
    values.append(stand[1])
    return _move(more), values


@lru_cache(maxsize=16)
def _move(more: str) -> str:
    return _MOVE_JOB.format(more=more)


def listed(row: Row, first: int, last: Entry) -> tuple[Any, ...]:
    """The values of a new row."""
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


def shelves(connection: sqlite3.Connection) -> list[str]:
    """The names of all shelves that hold something."""
    return [name for (name,) in connection.execute("SELECT DISTINCT shelf FROM shelves ORDER BY shelf")]


def since(connection: sqlite3.Connection) -> int | None:
    """Since when renewals were kept without a loss; None if the mark went with a row."""
    found = connection.execute("SELECT since FROM renewals").fetchone()
    return found[0] if found else None


def begin_renewals(connection: sqlite3.Connection, now: int) -> int:
    """Renewals are kept without a loss since then; that time again."""
    connection.execute("DELETE FROM renewals")
    connection.execute("INSERT INTO renewals (since) VALUES (?)", (now,))
    return now


def head_of(stand: Stand | None) -> Head | None:
    """The head that a row tells; None of none."""
    if stand is None:
        return None
    renewed_at = stand[5]
    return Head(stand[2], stand[3].hex(), stand[4], moment(renewed_at) if renewed_at is not None else None)
