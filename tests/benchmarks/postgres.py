"""The engine on PostgreSQL beside raw psycopg that writes the same bytes, one statement a change; with 1 and with 8 processes.

Raw: autocommit, one prepared insert of a body, a hash and two keys for each change. Ours does all of it: validation, the law,
idempotency, the hash chain, the row that lists the job.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

import psycopg

from lifecycle import Submission
from lifecycle.engine import Engine
from lifecycle.stores.postgres import PostgresStore
from tests.benchmarks.measure import Figure, race
from tests.benchmarks.places import database, server
from tests.benchmarks.sqlite import bodies, script

JOBS = 150
PROCESSES = 8
FORK = multiprocessing.get_context("spawn")
Row = tuple[str, int, str, bytes]


def ours(at: str, per_commit: int = 1) -> Callable[[], int]:
    """Six changes for each job, so many in a commit."""

    def run() -> int:
        with Engine(PostgresStore(database(at))) as engine:
            return act(engine, "j", per_commit)

    return run


def act(engine: Engine, prefix: str, per_commit: int = 1) -> int:
    """Six changes for each of the jobs of this prefix."""
    items = [Submission(f"{prefix}{n}", one, by) for n in range(JOBS) for by, one in script(f"{prefix}{n}")]
    for at in range(0, len(items), per_commit):
        engine.submit_all(items[at : at + per_commit])
    return len(items)


def raw(at: str, rows: list[Row], per_commit: int = 1) -> Callable[[], int]:
    """The same bytes by psycopg alone: a statement a change, or so many pipelined in a commit."""

    def run() -> int:
        with psycopg.connect(_table(database(at)), autocommit=True) as connection:
            return write(connection, "j", rows, per_commit)

    return run


def write(connection: "psycopg.Connection[tuple[object, ...]]", prefix: str, rows: list[Row], per_commit: int = 1) -> int:
    """The rows, under ids of this prefix."""
    asked = "INSERT INTO entries VALUES (%s, %s, %s, %s)"
    named = [(f"{prefix}{job}", *rest) for job, *rest in rows]
    for at in range(0, len(named), per_commit):
        if per_commit == 1:
            connection.execute(asked, named[at])
        else:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(asked, named[at : at + per_commit])
    return len(named)


def _table(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE entries (job text, seq bigint, hash text, body bytea, PRIMARY KEY (job, seq))")
    return url


class Crew:
    """Processes that stand ready, and work all at once when they are told to: what starting them costs is not measured."""

    def __init__(self, kind: str, at: str, rows: list[Row], count: int = PROCESSES) -> None:
        self.url = database(at)
        if kind == "ours":
            PostgresStore(self.url).close()
        else:
            _table(self.url)
        self._round = 0
        self._pipes = []
        for n in range(count):
            mine, theirs = FORK.Pipe()
            FORK.Process(target=_member, args=(theirs, kind, self.url, n, rows), daemon=True).start()
            self._pipes.append(mine)
        for pipe in self._pipes:
            pipe.recv()

    def __call__(self) -> int:
        """One round."""
        self._round += 1
        for pipe in self._pipes:
            pipe.send(self._round)
        return sum(pipe.recv() for pipe in self._pipes)


def _member(pipe: Connection, kind: str, url: str, n: int, rows: list[Row]) -> None:
    engine = Engine(PostgresStore(url)) if kind == "ours" else None
    connection = None if engine is not None else psycopg.connect(url, autocommit=True)
    pipe.send("ready")
    while (turn := _told(pipe)) is not None:
        prefix = f"p{n}-{turn}-"
        if engine is not None:
            pipe.send(act(engine, prefix))
        else:
            assert connection is not None
            pipe.send(write(connection, prefix, rows))


def _told(pipe: Connection) -> object:
    try:
        return pipe.recv()
    except EOFError:  # whoever measured has ended
        return None


def figures() -> Iterator[Figure]:
    """Every figure of PostgreSQL."""
    rows = bodies(JOBS)
    with server() as at:
        yield race("PostgreSQL, one act a commit", ours(at), "raw psycopg, one statement a row", raw(at, rows), 0.6)
        yield race("PostgreSQL, 100 acts a commit", ours(at, 100), "raw psycopg, 100 rows pipelined", raw(at, rows, 100), None)
        many = f"PostgreSQL, {PROCESSES} processes, one act a commit"
        yield race(many, Crew("ours", at, rows), f"raw psycopg, {PROCESSES} processes", Crew("raw", at, rows), 0.6)
