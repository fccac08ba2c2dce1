"""A store in PostgreSQL 15 or newer: any number of processes on any number of machines.

`lifecycle.log` is the truth; `lifecycle.jobs` shows where each log stands. An entry's position is made of the id of its
transaction, and the feed shows only what is older than every transaction still at work: so nothing ever appears behind a position
that was given out, and no writer waits for another job's. Every key begins with the job's id. Text is kept escaped, as PostgreSQL
refuses NUL and lone surrogates. No rule of the lifecycle lives here.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from lifecycle.law.errors import Conflict, KeptRefusal, StoreBusy, StoreError, StoreVersion
from lifecycle.law.log import Change, Entry, Head, Query, Row
from lifecycle.law.states import OPEN
from lifecycle.stores import heads
from lifecycle.stores import postgres_rows as form
from lifecycle.stores.postgres_schema import VERSION, migrated
from lifecycle.stores.refusals import from_text, to_text
from lifecycle.stores.times import Clock, micros, moment, told

TIMEOUT = 10.0
"""Seconds a call waits for a connection, or for other writers of the same job."""
ATTEMPTS = 4
"""How often a transaction is tried that the database has undone, or whose connection was lost."""
CONNECTIONS = 8
"""Connections that one store opens at most."""
SETTLES = 1.0
"""Seconds for which the feed waits for transactions that are still at work before what is younger."""
_SHIFT = 20
"""Bits of a position that number the entries of one transaction."""

_STAND = "job, first, seq, hash, children, renewed_at"
_ENTRY = "job, seq, prev, hash, body"
_ROW = "job, stage, requester, worker, goal, parent, requested_at, updated_at, due"
_JOB_COLUMNS = (
    "job, first, seq, hash, children, renewed_at, requested_at, updated_at, due, stage, open, requester, worker, parent, goal"
)

T = TypeVar("T")
_Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresStore:
    """Jobs in one database; see `Store` for what it guarantees. A process that was forked while it was open must open its own."""

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        """`clock` gives the time, aware; by default the database's own does. The schema is made if there is none."""
        self._clock = clock
        options = {"autocommit": True, "options": f"-c lock_timeout={int(TIMEOUT * 1000)} -c timezone=UTC"}
        try:
            self._pool = ConnectionPool(
                url, kwargs=options, min_size=1, max_size=CONNECTIONS, timeout=TIMEOUT, open=True,
                check=ConnectionPool.check_connection,
            )  # fmt: skip
            self._pool.wait(TIMEOUT)
        except (psycopg.Error, PoolTimeout) as error:
            with suppress(AttributeError):
                self._pool.close()
            mend = "see that it runs, and that the URL is right"
            raise StoreError(f"no PostgreSQL answers: {_line(error)}; to mend it, {mend}") from error
        found = self._do(migrated)
        if found != VERSION:
            self.close()
            mend = "use the build that wrote it"
            raise StoreVersion(f"the schema has version {found}, this build writes {VERSION}; to mend it, {mend}")
        self.renewals_since()

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """Append all changes in one commit, if every head, also of the jobs merely read, is still as given."""
        for change in changes:
            heads.follows(change)
        heads.once_each(changes)
        try:
            self._do(lambda connection: _append(connection, changes, reads), done=lambda: self._holds(changes))
        except errors.UniqueViolation:
            raise self._taken(changes) from None

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        """The job's head and its entries after a seq, from one moment; None if there is no such job."""

        def work(connection: _Connection) -> tuple[Head | None, list[tuple[Any, ...]]]:
            asked = (
                "SELECT j.seq, j.hash, j.children, j.renewed_at, l.job, l.seq, l.prev, l.hash, l.body FROM lifecycle.jobs j "
                "LEFT JOIN lifecycle.log l ON l.job = j.job AND l.seq > %s WHERE j.job = %s ORDER BY l.seq"
            )
            rows = connection.execute(asked, (after, form.kept(job))).fetchall()
            return (form.head(rows[0][:4]) if rows else None), [row[4:] for row in rows if row[4] is not None]

        head, rows = self._do(work)
        return (head, [form.entry(*row) for row in rows]) if head is not None else None

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        """Entries of all jobs after a position, each with its own, in the order of their transactions."""
        asked = (
            f"SELECT position, position >> {_SHIFT} < pg_snapshot_xmin(pg_current_snapshot())::text::bigint, {_ENTRY} "
            "FROM lifecycle.log WHERE position > %s ORDER BY position LIMIT %s"
        )
        until = time.monotonic() + SETTLES
        while True:
            rows = self._do(lambda connection: connection.execute(asked, (after, max(0, limit))).fetchall())
            settled = [row for row in rows if row[1]]
            if settled or not rows or time.monotonic() > until:
                return [(position, form.entry(*entry)) for position, _, *entry in settled]
            time.sleep(0.005)

    def find(self, query: Query) -> Sequence[Row]:
        """The rows that the query asks for, oldest job first, or by due time."""
        if query.stages is not None and not query.stages:
            return []
        after = query.after and form.kept(query.after)
        wanted: list[tuple[str, Any]] = [
            ("first > (SELECT first FROM lifecycle.jobs WHERE job = %s)", after or None),
            ("stage = ANY(%s)", sorted(stage.value for stage in query.stages) if query.stages is not None else None),
            ("requester = %s", query.requester and form.kept(query.requester)),
            ("worker = %s", query.worker and form.kept(query.worker)),
            ("parent = %s", query.parent and form.kept(query.parent)),
            ("due <= %s", micros(query.due_by) if query.due_by is not None else None),
        ]
        held = [(sql, value) for sql, value in wanted if value is not None]
        where = f"WHERE {' AND '.join(sql for sql, _ in held)} " if held else ""
        order = "due, first" if query.due_by is not None else "first"
        asked = f"SELECT {_ROW} FROM lifecycle.jobs {where}ORDER BY {order} LIMIT %s"
        values = [*(value for _, value in held), max(0, query.limit)]
        return [form.row(*found) for found in self._do(lambda connection: connection.execute(asked, values).fetchall())]

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """Keep a renewal and a due time; a Conflict if the head is another."""

        def work(connection: _Connection) -> None:
            heads.still(job, head, _stands(connection, [job]).get(job))
            times = renewed_at and micros(renewed_at), due and micros(due)
            connection.execute("UPDATE lifecycle.jobs SET renewed_at = %s, due = %s WHERE job = %s", (*times, form.kept(job)))

        self._do(work)

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """Keep a refusal, unless the job has `cap` of them already (None: keep it always)."""
        job = form.kept(kept.refusal.job)

        def work(connection: _Connection) -> None:
            if cap is not None:
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (job,))
            connection.execute(
                "INSERT INTO lifecycle.refusals (job, said) SELECT %s, %s "
                "WHERE %s::bigint IS NULL OR (SELECT count(*) FROM lifecycle.refusals WHERE job = %s) < %s::bigint",
                (job, to_text(kept), cap, job, cap),
            )

        self._do(work)

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        """The refusals kept for a job, oldest first."""
        asked = "SELECT said FROM lifecycle.refusals WHERE job = %s ORDER BY number", (form.kept(job),)
        return [from_text(said) for (said,) in self._do(lambda connection: connection.execute(*asked).fetchall())]

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        """Set a text beside the log (None: remove it) if it still is `was` (None: absent); say whether it was."""
        place, old = (form.kept(shelf), form.kept(key)), was if was is None else form.kept(was)

        def work(connection: _Connection) -> bool:
            if text is None and old is None:
                return connection.execute("SELECT 1 FROM lifecycle.shelves WHERE shelf = %s AND key = %s", place).fetchone() is None
            if text is None:
                asked = "DELETE FROM lifecycle.shelves WHERE shelf = %s AND key = %s AND text = %s"
                return connection.execute(asked, (*place, old)).rowcount == 1
            if old is None:
                asked = "INSERT INTO lifecycle.shelves VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
                return connection.execute(asked, (*place, form.kept(text))).rowcount == 1
            asked = "UPDATE lifecycle.shelves SET text = %s WHERE shelf = %s AND key = %s AND text = %s"
            return connection.execute(asked, (form.kept(text), *place, old)).rowcount == 1

        return self._do(work)

    def shelf(self, shelf: str) -> dict[str, str]:
        """All texts of a shelf by key."""
        asked = "SELECT key, text FROM lifecycle.shelves WHERE shelf = %s", (form.kept(shelf),)
        return {form.said(key): form.said(text) for key, text in self._do(lambda connection: connection.execute(*asked).fetchall())}

    def renewals_since(self) -> datetime:
        """Since when renewals were kept without a loss."""
        now = micros(self.now())

        def work(connection: _Connection) -> int:
            found = connection.execute("SELECT max(since) FROM lifecycle.renewals").fetchone()
            if found is None or found[0] is None:
                connection.execute("INSERT INTO lifecycle.renewals VALUES (%s)", (now,))
                return now
            return int(found[0])

        return moment(self._do(work))

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """Throw all rows away and make them anew from the log, in one commit; renewals are lost with them."""
        now = micros(self.now())

        def work(connection: _Connection) -> None:
            connection.execute("LOCK TABLE lifecycle.log, lifecycle.jobs IN ACCESS EXCLUSIVE MODE")
            connection.execute("DELETE FROM lifecycle.jobs")
            whole = f"SELECT min(position) OVER (PARTITION BY job), {_ENTRY} FROM lifecycle.log ORDER BY job, seq"
            logs: dict[str, tuple[int, list[Entry]]] = {}
            for first, *entry in connection.execute(whole).fetchall():
                logs.setdefault(entry[0], (first, []))[1].append(form.entry(*entry))
            for first, entries in logs.values():
                _insert_job(connection, row(entries), first, entries[-1])
            connection.execute(
                "UPDATE lifecycle.jobs SET children = kids.count FROM "
                "(SELECT parent, count(*) FROM lifecycle.jobs WHERE parent IS NOT NULL GROUP BY parent) AS kids "
                "WHERE lifecycle.jobs.job = kids.parent"
            )
            connection.execute("DELETE FROM lifecycle.renewals")
            connection.execute("INSERT INTO lifecycle.renewals VALUES (%s)", (now,))

        self._do(work)

    def now(self) -> datetime:
        """The time, by the database's clock, or the one that the store was given."""
        if self._clock is not None:
            return told(self._clock)
        found = self._do(lambda connection: connection.execute("SELECT clock_timestamp()").fetchone())
        assert found is not None
        time: datetime = found[0]
        return time.astimezone(UTC)

    def close(self) -> None:
        """Let go of the connections; twice is once."""
        self._pool.close()

    # ---- transactions

    def _do(self, work: Callable[[_Connection], T], done: Callable[[], bool] = lambda: False) -> T:
        """Do it in one transaction. What the database has undone is done again; after a lost connection, unless it is `done`."""
        for attempt in range(ATTEMPTS):
            try:
                with self._pool.connection() as connection, connection.transaction():
                    return work(connection)
            except (errors.SerializationFailure, errors.DeadlockDetected) as error:
                last: Exception = error
            except PoolClosed as error:
                raise StoreError("this store is closed; to mend it, open it anew") from error
            except (errors.LockNotAvailable, PoolTimeout) as error:
                raise StoreBusy(f"others held it for {TIMEOUT:g} s; to mend it, the same act again") from error
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                last = error
                if self._settled(done):
                    return None  # type: ignore[return-value]  # only `append` has a `done`, and it returns nothing
            except psycopg.IntegrityError:
                raise
            except psycopg.Error as error:
                raise StoreError(f"PostgreSQL refuses it: {_line(error)}; to mend it, see its log") from error
            time.sleep(0.05 * attempt)
        raise StoreError(f"after {ATTEMPTS} attempts: {_line(last)}; to mend it, the same act again") from last

    def _settled(self, done: Callable[[], bool]) -> bool:
        """Whether what was lost in the middle of its commit has been committed."""
        with suppress(StoreError):
            return done()
        return False

    def _holds(self, changes: Sequence[Change]) -> bool:
        """Whether the log holds exactly these entries."""
        last = [(form.kept(change.row.job), change.entries[-1]) for change in changes]
        asked = "SELECT hash FROM lifecycle.log WHERE job = %s AND seq = %s"
        with self._pool.connection() as connection:
            found = [connection.execute(asked, (job, entry.seq)).fetchone() for job, entry in last]
        return all(row is not None and row[0].hex() == entry.hash for row, (_, entry) in zip(found, last, strict=True))

    def _taken(self, changes: Sequence[Change]) -> Conflict:
        """The Conflict of the first job that is made already, or in which an act id is taken."""
        for change in changes:
            job, given = change.row.job, change.head.seq if change.head else None
            found = self.read(job)
            kept, entries = found if found is not None else (None, ())
            if kept is not None and (change.head is None or kept.seq != change.head.seq):
                return Conflict(job, given, kept.seq)
            seen = {entry.id for entry in entries}
            for entry in change.entries:
                if entry.id in seen:
                    return Conflict(job, entry.seq - 1, given)
                seen.add(entry.id)
        return Conflict(changes[0].row.job, None, None)


# What is done within one transaction


def _append(connection: _Connection, changes: Sequence[Change], reads: Sequence[tuple[str, Head]]) -> None:
    parents = {change.row.parent for change in changes if change.head is None and change.row.parent is not None}
    stands = _stands(connection, [*(change.row.job for change in changes), *(job for job, _ in reads), *parents])
    for job, head in (*reads, *((change.row.job, change.head) for change in changes)):
        heads.still(job, head, stands.get(job))
    found = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
    assert found is not None
    position = found[0] << _SHIFT
    entries: list[tuple[Any, ...]] = []
    for change in changes:
        job, last = form.kept(change.row.job), change.entries[-1]
        if change.head is None:
            _insert_job(connection, change.row, position + len(entries), last)
        else:
            due = micros(change.row.due) if change.row.due is not None else None
            connection.execute(
                "UPDATE lifecycle.jobs SET seq = %s, hash = %s, updated_at = %s, due = %s, stage = %s, open = %s, goal = %s "
                "WHERE job = %s",
                (last.seq, bytes.fromhex(last.hash), micros(change.row.updated_at), due, change.row.stage.value,
                 change.row.stage in OPEN, form.kept(change.row.goal), job),
            )  # fmt: skip
        for entry in change.entries:
            hashes = bytes.fromhex(entry.prev), bytes.fromhex(entry.hash)
            entries.append((position + len(entries), job, entry.seq, entry.id, *hashes, entry.body))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO lifecycle.log (position, job, seq, id, prev, hash, body) VALUES (%s, %s, %s, %s, %s, %s, %s)", entries
        )
        counted = [(form.kept(change.row.parent),) for change in changes if change.head is None and change.row.parent is not None]
        if counted:
            cursor.executemany("UPDATE lifecycle.jobs SET children = children + 1 WHERE job = %s", counted)


def _stands(connection: _Connection, jobs: Sequence[str]) -> dict[str, Head]:
    """The heads of these jobs, of those that there are, held until the transaction ends; always in one order: no deadlock."""
    asked = "SELECT seq, hash, children, renewed_at, job FROM lifecycle.jobs WHERE job = ANY(%s) ORDER BY job FOR UPDATE"
    found = connection.execute(asked, ([form.kept(job) for job in jobs],)).fetchall()
    return {form.said(row[4]): form.head(row[:4]) for row in found}


def _insert_job(connection: _Connection, row: Row, first: int, last: Entry) -> None:
    due = micros(row.due) if row.due is not None else None
    times = micros(row.requested_at), micros(row.updated_at), due
    parties = form.kept(row.requester), form.kept(row.worker), form.kept(row.parent) if row.parent is not None else None
    stands = form.kept(row.job), first, last.seq, bytes.fromhex(last.hash), 0, None
    values = *stands, *times, row.stage.value, row.stage in OPEN, *parties, form.kept(row.goal)
    connection.execute(f"INSERT INTO lifecycle.jobs ({_JOB_COLUMNS}) VALUES ({', '.join(['%s'] * len(values))})", values)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
