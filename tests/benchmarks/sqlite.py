"""The engine on SQLite beside raw sqlite3 that writes the same bytes with the same durability; and cost against many jobs.

Raw: WAL, synchronous=FULL, one table, one insert of a body, a hash and two keys for each change. Ours does all of it: validation,
the law, idempotency, the hash chain, the row that lists the job.
"""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import lifecycle
from lifecycle import Submission, acts
from lifecycle.engine import Engine
from lifecycle.law.log import Query
from lifecycle.stores.sqlite import SqliteStore
from tests.benchmarks.measure import Figure, race

T = TypeVar("T")

JOBS = 400
CHANGES = 6
LINE = "wrote the totals of another month into report.csv, checked them against the ledger, nothing else was touched " * 3


def script(job: str) -> list[tuple[str, acts.Act]]:
    """The six changes of a job, some 600 bytes each as they are stored."""
    condition = lifecycle.terms.Condition("c1", "report.csv totals 2024")
    report = acts.Report((acts.Finding("c1", "met", "report.csv:12"),))
    return [
        ("planner", acts.Request(id=job, goal=LINE[:200], worker="coder", conditions=(condition,))),
        ("coder", acts.Accept(id="a1", answers=job)),
        ("coder", acts.Progress(id="a2", line=LINE, points_at=(acts.Pointer("report.csv"),))),
        ("coder", acts.Progress(id="a3", line=LINE, points_at=(acts.Pointer("report.csv"),))),
        ("coder", acts.Deliver(id="a4", artifacts=(acts.Artifact("report.csv"),), report=report)),
        ("planner", acts.Confirm(id="a5", answers="a4", reason="checked by hand")),
    ]


def bodies(jobs: int = JOBS) -> list[tuple[str, int, str, bytes]]:
    """What our store writes for so many jobs: job, seq, hash, body."""
    with lifecycle.open("memory:", sweep_every=None) as held:
        for n in range(jobs):
            held.submit_all([(f"j{n}", act, by) for by, act in script(f"j{n}")])
        return [(n.entry.job, n.entry.seq, n.entry.hash, n.entry.body) for n in held.watch()]


class Files:
    """A new file for every round, all in one directory that goes with the benchmark."""

    def __init__(self) -> None:
        self._held = tempfile.TemporaryDirectory()
        self._count = 0

    def new(self) -> Path:
        """A path where nothing is yet."""
        self._count += 1
        return Path(self._held.name) / f"{self._count}.db"

    def close(self) -> None:
        """Take them all away."""
        self._held.cleanup()


def ours(files: Files, per_commit: int) -> Callable[[], int]:
    """Six changes for each job, so many changes in a commit: jobs side by side, as an orchestrator has them."""

    def run() -> int:
        with Engine(SqliteStore(files.new())) as engine:
            items = [Submission(f"j{n}", act, by) for n in range(JOBS) for by, act in script(f"j{n}")]
            for at in range(0, len(items), per_commit):
                engine.submit_all(items[at : at + per_commit])
            return len(items)

    return run


def raw(files: Files, rows: list[tuple[str, int, str, bytes]], per_commit: int) -> Callable[[], int]:
    """The same bytes by sqlite3 alone."""

    def run() -> int:
        held = sqlite3.connect(files.new(), isolation_level=None)
        held.execute("PRAGMA journal_mode=WAL")
        held.execute("PRAGMA synchronous=FULL")
        held.execute("CREATE TABLE entries (job TEXT, seq INTEGER, hash TEXT, body TEXT, PRIMARY KEY (job, seq)) WITHOUT ROWID")
        for at in range(0, len(rows), per_commit):
            held.execute("BEGIN IMMEDIATE")
            held.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows[at : at + per_commit])
            held.execute("COMMIT")
        held.close()
        return len(rows)

    return run


def figures() -> Iterator[Figure]:
    """Every figure of SQLite."""
    files, rows = Files(), bodies()
    size = sum(len(body) for *_, body in rows) / len(rows)
    singly = f"SQLite, one act a commit ({size:.0f} bytes)"
    yield race(singly, ours(files, 1), "raw sqlite3, one row a commit", raw(files, rows, 1), 0.6)
    yield race("SQLite, 100 acts a commit", ours(files, 100), "raw sqlite3, 100 rows a commit", raw(files, rows, 100), 0.35)


def filled(path: Path, jobs: int) -> None:
    """A store with so many open jobs, each requested."""
    with Engine(SqliteStore(path)) as engine:
        for at in range(0, jobs, 1_000):
            engine.submit_all(
                [(f"job-{n:07}", acts.Request(goal="total 2024", worker="coder"), "planner") for n in range(at, at + 1_000)]
            )


def growth(sizes: tuple[int, ...]) -> Iterator[tuple[int, dict[str, float]]]:
    """Milliseconds to open a store, read a job, list the due ones, list a page, make an act; against the number of jobs."""
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.db"
            filled(path, size)
            taken: dict[str, list[float]] = {}
            for n in range(5):
                store = _timed(taken, "open", lambda path=path: SqliteStore(path))
                engine = Engine(store)
                job = f"job-{(size * (n + 1) // 6):07}"
                _timed(taken, "read one", lambda engine=engine, job=job: engine.job(job))
                _timed(taken, "list due", lambda store=store: store.find(Query(due_by=store.now(), limit=100)))
                _timed(taken, "list a page", lambda engine=engine: engine.find(worker="coder", open=True, limit=100))
                accept = acts.Accept(answers=job)
                _timed(taken, "one act", lambda engine=engine, job=job, accept=accept: engine.submit(job, accept, by="coder"))
                engine.close()
            yield size, {name: sorted(times)[2] for name, times in taken.items()}


def _timed(taken: dict[str, list[float]], name: str, work: Callable[[], T]) -> T:
    begun = time.perf_counter()
    result = work()
    taken.setdefault(name, []).append((time.perf_counter() - begun) * 1_000)
    return result
