"""A store in PostgreSQL 15 or newer: any number of processes on any number of machines.

`lifecycle.log` is the truth; `lifecycle.jobs` shows where each log stands. An entry's position is made of the id of its
transaction, and the feed shows only what is older than every transaction still at work: so nothing ever appears behind a position
that was given out, and no writer waits for another job's. Every key begins with the job's id. Text is kept escaped, as PostgreSQL
refuses NUL and lone surrogates. No rule of the lifecycle lives here.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from psycopg import errors

from lifecycle.law.errors import Conflict, KeptRefusal, StoreVersion
from lifecycle.law.log import GONE, Change, Entry, Head, Query, Row
from lifecycle.law.states import OPEN, Stage
from lifecycle.stores import heads
from lifecycle.stores.postgres import rows as form
from lifecycle.stores.postgres.bell import Bell
from lifecycle.stores.postgres.clock import Counted
from lifecycle.stores.postgres.link import Connection, Link
from lifecycle.stores.postgres.schema import VERSION, migrated
from lifecycle.stores.postgres.writing import SHIFT, append_all, append_one, held, make_row
from lifecycle.stores.refusals import from_text, to_text
from lifecycle.stores.times import Clock, micros, moment, told

SETTLES = 1.0
"""Seconds for which the feed waits for transactions that are still at work before what is younger."""

_ENTRY = "job, seq, prev, hash, body"
_ROW = "job, stage, requester, worker, goal, parent, requested_at, updated_at, due"
_READ = (
    "SELECT j.seq, j.hash, j.children, j.renewed_at, l.job, l.seq, l.prev, l.hash, l.body FROM lifecycle.jobs j "
    "LEFT JOIN lifecycle.log l ON l.job = j.job AND l.seq > %s WHERE j.job = %s ORDER BY l.seq"
)
_FEED = (
    f"SELECT position, position >> {SHIFT} < pg_snapshot_xmin(pg_current_snapshot())::text::bigint, {_ENTRY} "
    "FROM lifecycle.log WHERE position > %s ORDER BY position LIMIT %s"
)


class PostgresStore:
    """Jobs in one database; see `Store` for what it guarantees. A process that was forked while it was open must open its own."""

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        """`clock` gives the time, aware; by default the database's own does. The schema is made if there is none."""
        self._link, self._bell = Link(url), Bell(url)
        self._clock = clock or Counted(self._asked)
        self.version = self._link.together(migrated)
        if self.version != VERSION:
            self.close()
            mend = "use the build that wrote it"
            raise StoreVersion(f"the schema has version {self.version}, this build writes {VERSION}; to mend it, {mend}")
        self.renewals_since()

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """Append all changes in one commit, if every head, also of the jobs merely read, is still as given."""
        for change in changes:
            heads.follows(change)
        heads.once_each(changes)
        try:
            if len(changes) != 1 or reads or (changes[0].head is None and changes[0].row.parent is not None):
                self._link.together(lambda connection: append_all(connection, changes, reads), lambda: self._holds(changes))
            elif not self._link.alone(lambda connection: append_one(connection, changes[0]), lambda: self._holds(changes)):
                raise self._taken(changes)
        except errors.UniqueViolation:
            raise self._taken(changes) from None
        self._bell.ring()

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        """The job's head and its entries after a seq, from one moment; None if there is no such job."""
        rows = self._rows(_READ, after, form.kept(job))
        return (form.head(rows[0][:4]), [form.entry(*row[4:]) for row in rows if row[4] is not None]) if rows else None

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        """Entries of all jobs after a position, each with its own, in the order of their transactions."""
        until = time.monotonic() + SETTLES
        while True:
            rows = self._rows(_FEED, after, max(0, limit))
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
            *_of_stages(query.stages),
            ("requester = %s", query.requester and form.kept(query.requester)),
            ("worker = %s", query.worker and form.kept(query.worker)),
            ("parent = %s", query.parent and form.kept(query.parent)),
            ("due <= %s", micros(query.due_by) if query.due_by is not None else None),
        ]
        asked = [(sql, value) for sql, value in wanted if value is not None]
        where = f"WHERE {' AND '.join(sql for sql, _ in asked)} " if asked else ""
        order = "due, first" if query.due_by is not None else "first"
        sql = f"SELECT {_ROW} FROM lifecycle.jobs {where}ORDER BY {order} LIMIT %s"
        return [form.row(*found) for found in self._rows(sql, *(value for _, value in asked), max(0, query.limit))]

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """Keep a renewal and a due time; a Conflict if the head is another."""

        def work(connection: Connection) -> None:
            heads.still(job, head, held(connection, [job]).get(job))
            times = renewed_at and micros(renewed_at), due and micros(due)
            connection.execute("UPDATE lifecycle.jobs SET renewed_at = %s, due = %s WHERE job = %s", (*times, form.kept(job)))

        self._link.together(work)

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """Keep a refusal, unless the job has `cap` of them already (None: keep it always)."""
        job = form.kept(kept.refusal.job)

        def work(connection: Connection) -> None:
            if cap is not None:
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (job,))
            connection.execute(
                "INSERT INTO lifecycle.refusals (job, said) SELECT %s, %s "
                "WHERE %s::bigint IS NULL OR (SELECT count(*) FROM lifecycle.refusals WHERE job = %s) < %s::bigint",
                (job, to_text(kept), cap, job, cap),
            )

        self._link.together(work)

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        """The refusals kept for a job, oldest first."""
        asked = "SELECT said FROM lifecycle.refusals WHERE job = %s ORDER BY number"
        return [from_text(said) for (said,) in self._rows(asked, form.kept(job))]

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        """Set a text beside the log (None: remove it) if it still is `was` (None: absent); say whether it was."""
        place, old = (form.kept(shelf), form.kept(key)), was if was is None else form.kept(was)

        def work(connection: Connection) -> bool:
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

        return self._link.alone(work)

    def get(self, shelf: str, key: str) -> str | None:
        """One text of a shelf; None if it is absent."""
        found = self._rows("SELECT text FROM lifecycle.shelves WHERE shelf = %s AND key = %s", form.kept(shelf), form.kept(key))
        return form.said(found[0][0]) if found else None

    def shelf(self, shelf: str) -> dict[str, str]:
        """All texts of a shelf by key."""
        found = self._rows("SELECT key, text FROM lifecycle.shelves WHERE shelf = %s", form.kept(shelf))
        return {form.said(key): form.said(text) for key, text in found}

    def shelves(self) -> Sequence[str]:
        """The names of all shelves that hold something."""
        return sorted(form.said(name) for (name,) in self._rows("SELECT DISTINCT shelf FROM lifecycle.shelves"))

    def renewals_since(self) -> datetime:
        """Since when renewals were kept without a loss."""
        now = micros(self.now())

        def work(connection: Connection) -> int:
            found = connection.execute("SELECT max(since) FROM lifecycle.renewals").fetchone()
            if found is None or found[0] is None:
                connection.execute("INSERT INTO lifecycle.renewals VALUES (%s)", (now,))
                return now
            return int(found[0])

        return moment(self._link.together(work))

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """Throw all rows away and make them anew from the log, in one commit; renewals are lost with them."""
        now = micros(self.now())

        def work(connection: Connection) -> None:
            connection.execute("LOCK TABLE lifecycle.log, lifecycle.jobs IN ACCESS EXCLUSIVE MODE")
            connection.execute("DELETE FROM lifecycle.jobs")
            whole = f"SELECT min(position) OVER (PARTITION BY job), {_ENTRY} FROM lifecycle.log ORDER BY job, seq"
            logs: dict[str, tuple[int, list[Entry]]] = {}
            for first, *entry in connection.execute(whole).fetchall():
                logs.setdefault(entry[0], (first, []))[1].append(form.entry(*entry))
            for first, entries in logs.values():
                make_row(connection, row(entries), first, entries[-1].seq, entries[-1].hash)
            connection.execute(
                "UPDATE lifecycle.jobs SET children = kids.count FROM "
                "(SELECT parent, count(*) FROM lifecycle.jobs WHERE parent IS NOT NULL GROUP BY parent) AS kids "
                "WHERE lifecycle.jobs.job = kids.parent"
            )
            connection.execute("DELETE FROM lifecycle.renewals")
            connection.execute("INSERT INTO lifecycle.renewals VALUES (%s)", (now,))

        self._link.together(work)

    def purge(self, jobs: Sequence[tuple[str, Head, str]]) -> None:
        """Take jobs away whole, in one commit, if each head is still as given; of each the text given is left."""
        names = [form.kept(job) for job, _, _ in jobs]

        def work(connection: Connection) -> None:
            stands = held(connection, [job for job, _, _ in jobs])
            for job, head, _ in jobs:
                heads.still(job, head, stands.get(job))
            for table in ("log", "jobs", "refusals"):
                connection.execute(f"DELETE FROM lifecycle.{table} WHERE job = ANY(%s)", (names,))
            connection.execute(
                "DELETE FROM lifecycle.shelves WHERE split_part(shelf, '/', 2) = ANY(%s) OR key = ANY(%s)", (names, names)
            )
            with connection.cursor() as cursor:
                left = [(form.kept(GONE), form.kept(job), form.kept(text)) for job, _, text in jobs]
                cursor.executemany("INSERT INTO lifecycle.shelves VALUES (%s, %s, %s)", left)

        self._link.together(work)

    def listen(self, wake: Callable[[], None]) -> bool:
        """Call `wake` whenever another process has written."""
        self._bell.listen(wake)
        return True

    def now(self) -> datetime:
        """The time, by the database's clock, or the one that the store was given."""
        return told(self._clock)

    def close(self) -> None:
        """Let go of the connections; twice is once."""
        self._bell.close()
        self._link.close()

    # ---- parts

    def _rows(self, asked: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._link.alone(lambda connection: connection.execute(asked, values).fetchall())

    def _asked(self) -> datetime:
        time: datetime = self._rows("SELECT clock_timestamp()")[0][0]
        return time.astimezone(UTC)

    def _holds(self, changes: Sequence[Change]) -> bool | None:
        """True if the log holds exactly these entries: what was lost in the middle of its commit has been committed."""
        last = [(form.kept(change.row.job), change.entries[-1]) for change in changes]
        asked = "SELECT hash FROM lifecycle.log WHERE job = %s AND seq = %s"
        found = [self._rows(asked, job, entry.seq) for job, entry in last]
        return all(rows and rows[0][0].hex() == entry.hash for rows, (_, entry) in zip(found, last, strict=True)) or None

    def _taken(self, changes: Sequence[Change]) -> Conflict:
        """The Conflict of the first job that is made already, has moved on, or in which an act id is taken."""
        for change in changes:
            job, given = change.row.job, change.head.seq if change.head else None
            found = self.read(job)
            kept, entries = found if found is not None else (None, ())
            if kept != change.head:
                return Conflict(job, given, kept.seq if kept else None)
            seen = {entry.id for entry in entries}
            for entry in change.entries:
                if entry.id in seen:
                    return Conflict(job, entry.seq - 1, given)
                seen.add(entry.id)
        return Conflict(changes[0].row.job, None, None)


def _of_stages(stages: frozenset[Stage] | None) -> list[tuple[str, Any]]:
    """What rows of these stages are found by: the open ones are few, the others are listed by how they ended."""
    if stages is None:
        return []
    names = sorted(stage.value for stage in stages)
    if stages <= OPEN:
        return [("open AND stage = ANY(%s)", names)] if stages < OPEN else [("open = %s", True)]
    return [("ended = ANY(%s)" if not stages & OPEN else "stage = ANY(%s)", names)]
