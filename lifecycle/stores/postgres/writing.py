"""How entries are written: one job's in one statement, those of many in four, whatever their number.

Every head is asked for in the same breath as it is moved. Locks are taken in one order, that of the ids: no deadlock.
"""

from collections.abc import Sequence
from typing import Any

from lifecycle.law.errors import Conflict
from lifecycle.law.log import GONE, Change, Head, Row
from lifecycle.law.states import OPEN, Stage
from lifecycle.stores import heads
from lifecycle.stores.postgres import rows as form
from lifecycle.stores.postgres.link import Connection
from lifecycle.stores.times import micros

SHIFT = 20
"""Bits of a position that number the entries of one transaction."""

_POSITION = f"(pg_current_xact_id()::text::bigint << {SHIFT})"
_COLUMNS = "job, seq, hash, children, requested_at, updated_at, due, stage, open, ended, requester, worker, parent, goal, first"
_VALUES = ", ".join(["%s"] * 14)
_FREE = f"NOT EXISTS (SELECT 1 FROM lifecycle.shelves WHERE shelf = '{GONE}' AND key = %s)"
_ENTRIES = (
    "unnest(%s::text[], %s::bigint[], %s::text[], %s::bytea[], %s::bytea[], %s::bytea[]) WITH ORDINALITY "
    "AS e(job, seq, id, prev, hash, body, n)"
)
_LOG = (
    "INSERT INTO lifecycle.log (position, job, seq, id, prev, hash, body) "
    f"SELECT {_POSITION} + e.n, e.job, e.seq, e.id, e.prev, e.hash, e.body"
)
_ONE = "INSERT INTO lifecycle.log (position, job, seq, id, prev, hash, body) "
_ONE += f"SELECT {_POSITION} + 1, %s, %s, %s, %s, %s, %s FROM "
_DUE = (  # one that is earlier than the true one is let stand while it has not come: whoever acts on it judges the job anew
    "CASE WHEN j.due <= {due} AND j.due > {updated_at} THEN j.due ELSE {due} END"
)
_MOVE_ONE = (
    "WITH moved AS (UPDATE lifecycle.jobs j SET seq = %s, hash = %s, updated_at = %s, "
    f"due = {_DUE.format(due='%s::bigint', updated_at='%s::bigint')}, stage = %s, open = %s, ended = %s, goal = %s "
    "WHERE job = %s AND seq = %s AND hash = %s AND children = %s AND renewed_at IS NOT DISTINCT FROM %s::bigint RETURNING job) "
)
_MAKE_ONE = (
    f"WITH made AS (INSERT INTO lifecycle.jobs ({_COLUMNS}) SELECT {_VALUES}, {_POSITION} + 1 WHERE {_FREE} "
    "ON CONFLICT DO NOTHING RETURNING job) "
)
_MOVE_ALL = (
    "UPDATE lifecycle.jobs j SET seq = m.seq, hash = m.hash, updated_at = m.updated_at, "
    f"due = {_DUE.format(due='m.due', updated_at='m.updated_at')}, stage = m.stage, open = m.open, ended = m.ended, "
    "goal = m.goal FROM unnest(%s::bigint[], %s::bytea[], %s::bigint[], %s::bigint[], %s::text[], %s::bool[], %s::text[], "
    "%s::text[], %s::text[]) AS m(seq, hash, updated_at, due, stage, open, ended, goal, job) WHERE j.job = m.job"
)


def append_one(connection: Connection, change: Change) -> bool:
    """Append one job's entries in one statement, whose own transaction it is; False, and nothing, if its head is another."""
    logs, entries = (f"{_LOG} FROM {{}}, {_ENTRIES}", _entries([change]))
    if len(change.entries) == 1:  # the usual case, at two thirds of the cost of lists
        logs, entries = _ONE + "{}", [only for (only,) in entries]
    if change.head is None:
        values = [*_made(change.row, change), form.kept(change.row.job), *entries]
        return connection.execute(_MAKE_ONE + logs.format("made"), values).rowcount == len(change.entries)
    head = change.head
    moved, job = _moved(change), form.kept(change.row.job)
    seq, hash, updated_at, due, *rest = moved
    renewed_at = micros(head.renewed_at) if head.renewed_at is not None else None
    stood = job, head.seq, bytes.fromhex(head.hash), head.children, renewed_at
    values = [seq, hash, updated_at, due, updated_at, due, *rest, *stood, *entries]
    return connection.execute(_MOVE_ONE + logs.format("moved"), values).rowcount == len(change.entries)


def append_all(connection: Connection, changes: Sequence[Change], reads: Sequence[tuple[str, Head]]) -> None:
    """Append all changes, in this transaction; a Conflict if a head, also of the jobs merely read, is not as given."""
    new = [change for change in changes if change.head is None]
    parents = [change.row.parent for change in new if change.row.parent is not None]
    stands = held(connection, [*(change.row.job for change in changes), *(job for job, _ in reads), *parents])
    for job, head in (*reads, *((change.row.job, change.head) for change in changes)):
        heads.still(job, head, stands.get(job))
    if not changes:
        return
    if new:
        asked = f"SELECT key FROM lifecycle.shelves WHERE shelf = '{GONE}' AND key = ANY(%s)"
        for (key,) in connection.execute(asked, ([form.kept(change.row.job) for change in new],)).fetchall():
            raise Conflict(form.said(key), None, None)
    firsts, before = {}, 1
    for change in changes:
        firsts[change.row.job] = before
        before += len(change.entries)
    with connection.cursor() as cursor:
        made = [(*_made(change.row, change), firsts[change.row.job]) for change in new]
        if made:
            asked = f"INSERT INTO lifecycle.jobs ({_COLUMNS}) VALUES ({_VALUES}, {_POSITION} + %s)"
            cursor.executemany(asked, made)
        if moved := [(*_moved(change), form.kept(change.row.job)) for change in changes if change.head is not None]:
            cursor.execute(_MOVE_ALL, [list(column) for column in zip(*moved, strict=True)])
        cursor.execute(f"{_LOG} FROM {_ENTRIES}", _entries(changes))
        if parents:
            asked = "UPDATE lifecycle.jobs SET children = children + 1 WHERE job = %s"
            cursor.executemany(asked, [(form.kept(parent),) for parent in parents])


def held(connection: Connection, jobs: Sequence[str]) -> dict[str, Head]:
    """The heads of these jobs, of those that there are, held until the transaction ends."""
    asked = "SELECT seq, hash, children, renewed_at, job FROM lifecycle.jobs WHERE job = ANY(%s) ORDER BY job FOR UPDATE"
    found = connection.execute(asked, ([form.kept(job) for job in jobs],)).fetchall()
    return {form.said(row[4]): form.head(row[:4]) for row in found}


def make_row(connection: Connection, row: Row, first: int, seq: int, hash: str) -> None:
    """The row of a job that has none, though it has a log."""
    asked = f"INSERT INTO lifecycle.jobs ({_COLUMNS}) VALUES ({_VALUES}, %s)"
    connection.execute(asked, (*_row(row, seq, hash), first))


def _entries(changes: Sequence[Change]) -> list[list[Any]]:
    rows = [
        (form.kept(entry.job), entry.seq, entry.id, bytes.fromhex(entry.prev), bytes.fromhex(entry.hash), entry.body)
        for change in changes
        for entry in change.entries
    ]
    return [list(column) for column in zip(*rows, strict=True)]


def _made(row: Row, change: Change) -> tuple[Any, ...]:
    return _row(row, change.entries[-1].seq, change.entries[-1].hash)


def _row(row: Row, seq: int, hash: str) -> tuple[Any, ...]:
    due = micros(row.due) if row.due is not None else None
    times = micros(row.requested_at), micros(row.updated_at), due
    parties = form.kept(row.requester), form.kept(row.worker), form.kept(row.parent) if row.parent is not None else None
    return form.kept(row.job), seq, bytes.fromhex(hash), 0, *times, *_stands(row.stage), *parties, form.kept(row.goal)


def _stands(stage: Stage) -> tuple[str, bool, str | None]:
    """A stage as three columns: itself, whether it is open, and as what it has ended."""
    return (stage.value, True, None) if stage in OPEN else (stage.value, False, stage.value)


def _moved(change: Change) -> tuple[Any, ...]:
    row, last = change.row, change.entries[-1]
    due = micros(row.due) if row.due is not None else None
    return last.seq, bytes.fromhex(last.hash), micros(row.updated_at), due, *_stands(row.stage), form.kept(row.goal)
