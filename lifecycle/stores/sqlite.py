"""A store in one SQLite file: WAL, `synchronous=FULL`, many threads and processes on one machine.

One connection writes, behind a lock, in `BEGIN IMMEDIATE` transactions; every thread reads through its own, and never waits for a
writer. `entries` is the log; `jobs` lists it and can be made anew from it. There is no rule of the lifecycle here.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lifecycle.law.errors import Conflict, KeptRefusal, Reason, Refusal, StoreBusy, StoreError, StoreVersion
from lifecycle.law.log import Change, Entry, Head, Query, Row, unseal
from lifecycle.law.states import Stage

APPLICATION = 0x6C696665
"""The mark of our files: `life`."""

BUSY_TIMEOUT = 10.0
"""Seconds to wait for other writers before StoreBusy."""

MIGRATIONS = (
    """
    CREATE TABLE entries (
        position INTEGER PRIMARY KEY, job TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, hash TEXT NOT NULL,
        body BLOB NOT NULL);
    CREATE UNIQUE INDEX entries_by_seq ON entries (job, seq);
    CREATE UNIQUE INDEX entries_by_id ON entries (job, id);
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL, children INTEGER NOT NULL, renewed_at INTEGER,
        stage TEXT NOT NULL, due INTEGER, updated_at INTEGER NOT NULL, requester TEXT NOT NULL, worker TEXT NOT NULL,
        parent TEXT, requested_at INTEGER NOT NULL, goal TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX jobs_by_due ON jobs (due) WHERE due IS NOT NULL;
    CREATE INDEX jobs_by_requester ON jobs (requester, id);
    CREATE INDEX jobs_by_worker ON jobs (worker, id);
    CREATE INDEX jobs_by_parent ON jobs (parent, id) WHERE parent IS NOT NULL;
    CREATE TABLE refusals (
        number INTEGER PRIMARY KEY, job TEXT NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL, act TEXT NOT NULL,
        party TEXT NOT NULL, stage TEXT, may TEXT NOT NULL, detail TEXT NOT NULL, mend TEXT NOT NULL, guard TEXT NOT NULL,
        payload TEXT NOT NULL);
    CREATE INDEX refusals_by_job ON refusals (job, number);
    CREATE TABLE shelves (shelf TEXT, key TEXT, text TEXT NOT NULL, PRIMARY KEY (shelf, key)) WITHOUT ROWID;
    """,
)
"""The layouts of the file, each made from the one before; `user_version` counts them."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ROW = "id, stage, requester, worker, goal, parent, requested_at, updated_at, due"


class SqliteStore:
    """The store at a path, which is made if it is not there; see `Store` for what it guarantees."""

    def __init__(
        self, path: str | Path, clock: Callable[[], datetime] | None = None, busy_timeout: float = BUSY_TIMEOUT
    ) -> None:
        """`clock` gives the time, aware; by default the machine's. StoreError if the file is none of ours."""
        self.path = Path(path)
        self.now = clock or _machine_time
        self._timeout = busy_timeout
        self._lock = threading.Lock()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._pid = os.getpid()
        self._closed = False
        with _named_errors(self.path):
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._writer = self._connect()
            self._prepare()

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """Append all changes in one commit, if every head is still as given."""
        entries = [
            (entry.job, entry.seq, entry.id, entry.hash, entry.body) for change in changes for entry in change.entries
        ]
        with self._writing() as held:
            for job, head in reads:
                if self._head(held, job) != head:
                    raise self._conflict(held, job, head)
            for change in changes:
                self._show(held, change)
            try:
                held.executemany("INSERT INTO entries (job, seq, id, hash, body) VALUES (?, ?, ?, ?, ?)", entries)
            except sqlite3.IntegrityError:
                raise self._conflict(held, changes[0].row.job, changes[0].head) from None

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        """The job's head and its entries after a seq, from one moment; None if there is no such job."""
        with self._reading() as held:
            held.execute("BEGIN")
            try:
                head = self._head(held, job)
                if head is None:
                    return None
                if head.seq <= after:
                    return head, []
                rows = held.execute(
                    "SELECT seq, hash, body FROM entries WHERE job = ? AND seq >= ? ORDER BY seq", (job, max(after, 0))
                ).fetchall()
            finally:
                held.execute("COMMIT")
        prev = ""
        entries = []
        for seq, hash_, body in rows:
            if seq > after:
                entries.append(unseal(job, seq, prev, hash_, body))
            prev = hash_
        return head, entries

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        """Entries of all jobs after a position, each with its own, in the order of their commits."""
        with self._reading() as held:
            rows = held.execute(
                "SELECT position, job, seq, hash, body, (SELECT p.hash FROM entries p WHERE p.job = e.job AND p.seq = e.seq - 1) "
                "FROM entries e WHERE position > ? ORDER BY position LIMIT ?",
                (after, limit),
            ).fetchall()
        return [(position, unseal(job, seq, prev or "", hash_, body)) for position, job, seq, hash_, body, prev in rows]

    def find(self, query: Query) -> Sequence[Row]:
        """The rows that the query asks for."""
        wanted: list[str] = ["id > ?"]
        values: list[str | int] = [query.after]
        if query.stages is not None:
            wanted.append(f"stage IN ({', '.join('?' * len(query.stages))})")
            values += sorted(query.stages)
        for column in ("requester", "worker", "parent"):
            if (value := getattr(query, column)) is not None:
                wanted.append(f"{column} = ?")
                values.append(value)
        order = "id"
        if query.due_by is not None:
            wanted.append("due <= ?")
            values.append(_micros(query.due_by))
            order = "due, id"
        sql = f"SELECT {_ROW} FROM jobs WHERE {' AND '.join(wanted)} ORDER BY {order} LIMIT ?"
        with self._reading() as held:
            return [_row(*found) for found in held.execute(sql, (*values, query.limit))]

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """Keep a renewal and a due time, neither of which is an entry; a Conflict if the head is another."""
        with self._writing() as held:
            if self._head(held, job) != head:
                raise self._conflict(held, job, head)
            held.execute("UPDATE jobs SET renewed_at = ?, due = ? WHERE id = ?", (_maybe(renewed_at), _maybe(due), job))

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """Keep a refusal, unless the job has `cap` of them already (None: keep it always)."""
        told = kept.refusal
        with self._writing() as held:
            if cap is not None:
                (count,) = held.execute("SELECT count(*) FROM refusals WHERE job = ?", (told.job,)).fetchone()
                if count >= cap:
                    return
            held.execute(
                "INSERT INTO refusals (job, at, reason, act, party, stage, may, detail, mend, guard, payload) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    told.job, _micros(kept.at), told.reason, told.act, told.by, told.stage, " ".join(told.may), told.detail,
                    told.mend, told.guard, kept.payload,
                ),
            )  # fmt: skip

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        """The refusals kept for a job, oldest first."""
        with self._reading() as held:
            rows = held.execute(
                "SELECT reason, act, job, party, stage, may, detail, mend, guard, at, payload FROM refusals "
                "WHERE job = ? ORDER BY number",
                (job,),
            ).fetchall()
        return [
            KeptRefusal(
                Refusal(Reason(reason), act, job, party, stage and Stage(stage), tuple(may.split()), detail, mend, guard),
                _time(at),
                payload,
            )
            for reason, act, job, party, stage, may, detail, mend, guard, at, payload in rows
        ]

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        """Set a text beside the log (None: remove it) if it still is `was` (None: absent); say whether it was."""
        with self._writing() as held:
            found = held.execute("SELECT text FROM shelves WHERE shelf = ? AND key = ?", (shelf, key)).fetchone()
            if (found[0] if found else None) != was:
                return False
            if text is None:
                held.execute("DELETE FROM shelves WHERE shelf = ? AND key = ?", (shelf, key))
            else:
                held.execute("INSERT OR REPLACE INTO shelves VALUES (?, ?, ?)", (shelf, key, text))
            return True

    def shelf(self, shelf: str) -> dict[str, str]:
        """All texts of a shelf by key."""
        with self._reading() as held:
            return dict(held.execute("SELECT key, text FROM shelves WHERE shelf = ?", (shelf,)).fetchall())

    def renewals_since(self) -> datetime:
        """Since when renewals were kept without a loss; a lost mark is a loss, and is made again."""
        since = self.shelf("renewals").get("since")
        if since is None:
            self.put("renewals", "since", str(_micros(self.now())), None)
            since = self.shelf("renewals")["since"]
        return _time(int(since))

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """Throw all rows away and make them anew from the log; renewals are lost with them."""
        with self._writing() as held:
            held.execute("DELETE FROM jobs")
            held.execute("DELETE FROM shelves WHERE shelf = 'renewals'")
            held.execute("INSERT INTO shelves VALUES ('renewals', 'since', ?)", (str(_micros(self.now())),))
            names = [name for (name,) in held.execute("SELECT DISTINCT job FROM entries ORDER BY job")]
            for name in names:
                entries: list[Entry] = []
                found = held.execute("SELECT seq, hash, body FROM entries WHERE job = ? ORDER BY seq", (name,)).fetchall()
                for seq, hash_, body in found:
                    entries.append(unseal(name, seq, entries[-1].hash if entries else "", hash_, body))
                self._list(held, Head(entries[-1].seq, entries[-1].hash), row(entries))
            held.execute(
                "UPDATE jobs SET children = n FROM (SELECT parent AS p, count(*) AS n FROM jobs WHERE parent IS NOT NULL "
                "GROUP BY parent) WHERE id = p"
            )

    def close(self) -> None:
        """Let go of the file; twice is once."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for held in (*self._readers, self._writer):
                held.close()

    # ---- connections

    def _connect(self) -> sqlite3.Connection:
        held = sqlite3.connect(
            self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        held.execute("PRAGMA synchronous=FULL")
        return held

    def _prepare(self) -> None:
        """Make the file ours, in today's layout."""
        held = self._writer
        (version,), (mark,) = held.execute("PRAGMA user_version").fetchone(), held.execute("PRAGMA application_id").fetchone()
        (tables,) = held.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and mark != APPLICATION:
            raise StoreError(f"`{self.path}` is another program's database; to mend it, name another file")
        if version > len(MIGRATIONS):
            told = f"`{self.path}` has layout {version}, this build knows up to {len(MIGRATIONS)}"
            raise StoreVersion(f"{told}; to mend it, install a newer build")
        held.execute("PRAGMA journal_mode=WAL")
        if version < len(MIGRATIONS):
            self._migrate()
        for suffix in ("", "-wal", "-shm"):
            if (file := Path(f"{self.path}{suffix}")).exists():
                file.chmod(0o600)

    def _migrate(self) -> None:
        with self._writing() as held:
            (version,) = held.execute("PRAGMA user_version").fetchone()
            for layout in MIGRATIONS[version:]:
                for statement in layout.split(";"):
                    held.execute(statement)
            held.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            held.execute(f"PRAGMA application_id = {APPLICATION}")
            held.execute(
                "INSERT OR IGNORE INTO shelves VALUES ('renewals', 'since', ?)", (str(_micros(self.now())),)
            )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The writing connection, in a transaction that is committed at the end, or undone if anything is raised."""
        with self._lock, _named_errors(self.path):
            self._usable()
            held = self._writer
            held.execute("BEGIN IMMEDIATE")
            try:
                yield held
                held.execute("COMMIT")
            except BaseException:
                if held.in_transaction:
                    held.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's own reading connection."""
        with _named_errors(self.path):
            held: sqlite3.Connection | None = getattr(self._local, "held", None)
            if held is None:
                with self._lock:
                    self._usable()
                    held = self._local.held = self._connect()
                    self._readers.append(held)
            yield held

    def _usable(self) -> None:
        if self._closed:
            raise StoreError(f"the store at `{self.path}` is closed; to mend it, open it again")
        if os.getpid() != self._pid:
            raise StoreError(f"the store at `{self.path}` was opened before a fork; to mend it, open it in each process")

    # ---- rows

    def _head(self, held: sqlite3.Connection, job: str) -> Head | None:
        found = held.execute("SELECT seq, hash, children, renewed_at FROM jobs WHERE id = ?", (job,)).fetchone()
        return Head(found[0], found[1], found[2], None if found[3] is None else _time(found[3])) if found else None

    def _conflict(self, held: sqlite3.Connection, job: str, head: Head | None) -> Conflict:
        actual = self._head(held, job)
        return Conflict(job, head.seq if head else None, actual.seq if actual else None)

    def _show(self, held: sqlite3.Connection, change: Change) -> None:
        """Bring a job's row up to its new entries, if its head is still the one they were decided on."""
        row, last, head = change.row, change.entries[-1], change.head
        if head is None:
            try:
                self._list(held, Head(last.seq, last.hash), row)
            except sqlite3.IntegrityError:
                raise self._conflict(held, row.job, None) from None
            if row.parent is not None:
                held.execute("UPDATE jobs SET children = children + 1 WHERE id = ?", (row.parent,))
            return
        due = _maybe(row.due)
        # `due` may be early: leaving an earlier one spares its index, and whoever finds it judges the job anew
        moved = held.execute(
            "UPDATE jobs SET seq = ?, hash = ?, stage = ?, updated_at = ? WHERE id = ? AND seq = ? AND hash = ? AND children = ? "
            "AND renewed_at IS ? AND due <= ? AND due > ?",
            (
                last.seq, last.hash, row.stage, _micros(row.updated_at), row.job, head.seq, head.hash, head.children,
                _maybe(head.renewed_at), due, _micros(row.updated_at),
            ),
        ).rowcount  # fmt: skip
        if not moved:
            moved = held.execute(
                "UPDATE jobs SET seq = ?, hash = ?, stage = ?, updated_at = ?, due = ? WHERE id = ? AND seq = ? AND hash = ? "
                "AND children = ? AND renewed_at IS ?",
                (
                    last.seq, last.hash, row.stage, _micros(row.updated_at), due, row.job, head.seq, head.hash, head.children,
                    _maybe(head.renewed_at),
                ),
            ).rowcount  # fmt: skip
        if not moved:
            raise self._conflict(held, row.job, head)

    def _list(self, held: sqlite3.Connection, head: Head, row: Row) -> None:
        held.execute(
            "INSERT INTO jobs (id, seq, hash, children, renewed_at, stage, due, updated_at, requester, worker, parent, "
            "requested_at, goal) VALUES (?, ?, ?, 0, NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.job, head.seq, head.hash, row.stage, _maybe(row.due), _micros(row.updated_at), row.requester, row.worker,
                row.parent, _micros(row.requested_at), row.goal,
            ),
        )  # fmt: skip


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as ours: what could not be done, and what would mend it."""
    try:
        yield
    except sqlite3.Error as error:
        told = f"`{path}`: {error}"
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise StoreBusy(f"{told}; to mend it, act again once the other writers are done") from error
        mends = {"SQLITE_FULL": "make room on the disk", "SQLITE_NOTADB": "name another file", "SQLITE_CORRUPT": "restore a copy"}
        mend = next((mend for start, mend in mends.items() if name.startswith(start)), "check the file and its folder")
        raise StoreError(f"{told}; to mend it, {mend}, then act again") from error
    except OSError as error:
        raise StoreError(f"`{path}`: {error.strerror}; to mend it, check the file and its folder") from error


def _row(
    job: str, stage: str, requester: str, worker: str, goal: str, parent: str | None, requested: int, updated: int, due: int | None
) -> Row:
    due_at = None if due is None else _time(due)
    return Row(job, Stage(stage), requester, worker, goal, parent, _time(requested), _time(updated), due_at)


def _micros(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def _maybe(time: datetime | None) -> int | None:
    return None if time is None else _micros(time)


def _time(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _machine_time() -> datetime:
    return datetime.now(UTC)
