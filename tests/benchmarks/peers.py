"""The engine beside what others use to keep the state of jobs: the same jobs, the same number of changes of about as many bytes.

Each peer makes every change durable before it goes on, as its own documentation has it. None of them does all of what ours does:
none judges a change by a law, chains hashes, or refuses a change with a reason. A peer that is not installed is named as such.
"""

import asyncio
import math
import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tests.benchmarks import postgres
from tests.benchmarks.measure import Figure, race, rate
from tests.benchmarks.places import database, server
from tests.benchmarks.sqlite import CHANGES, LINE, Files, ours

JOBS = 60
"""Of a peer's round: the slowest makes some 300 changes a second."""
BODY = LINE[:600].ljust(600, ".")

Round = Callable[[], int]


def eventsourcing(files: Files, at: str | None) -> Round:
    """An aggregate, saved after each event."""
    from eventsourcing.application import Application

    job_class = _aggregate()
    if at is None:
        where = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(files.new())}
    else:
        name = database(at).partition("?")[0].rpartition("/")[2]
        folder = at.partition("host=")[2]
        where = {
            "PERSISTENCE_MODULE": "eventsourcing.postgres", "POSTGRES_DBNAME": name, "POSTGRES_HOST": folder,
            "POSTGRES_USER": "postgres", "POSTGRES_PASSWORD": "none",
        }  # fmt: skip
    application: Any = Application(env=where)

    def run() -> int:
        for _ in range(JOBS):
            job = job_class(BODY)
            application.save(job)
            for _ in range(CHANGES - 1):
                job.move(BODY)
                application.save(job)
        return JOBS * CHANGES

    return run


@cache
def _aggregate() -> Any:
    """The class, which may be registered once."""
    from eventsourcing.domain import Aggregate, event

    class Job(Aggregate):
        @event("Began")
        def __init__(self, line: str) -> None:
            self.line = line

        @event("Moved")
        def move(self, line: str) -> None:
            self.line = line

    return Job


def langgraph(files: Files, at: str | None) -> Round:
    """A step of a graph for each change: its checkpoint, and what its task writes."""
    from langgraph.checkpoint.base import empty_checkpoint

    def run() -> int:
        if at is None:
            from langgraph.checkpoint.sqlite import SqliteSaver as Saver

            place = str(files.new())
        else:
            from langgraph.checkpoint.postgres import PostgresSaver as Saver  # type: ignore[assignment]

            place = database(at)
        with Saver.from_conn_string(place) as saver:
            saver.setup()
            for n in range(JOBS):
                config: Any = {"configurable": {"thread_id": str(n), "checkpoint_ns": ""}}
                for step in range(CHANGES):
                    checkpoint = {**empty_checkpoint(), "channel_values": {"line": BODY}, "channel_versions": {"line": step + 1}}
                    config = saver.put(config, checkpoint, {"step": step}, {"line": step + 1})  # type: ignore[arg-type, typeddict-item]
                    saver.put_writes(config, [("line", BODY)], "task")
        return JOBS * CHANGES

    return run


def a2a(files: Files, at: str | None) -> Round:
    """A task, saved after each change of its state."""
    from a2a.server.context import ServerCallContext
    from a2a.server.tasks.database_task_store import DatabaseTaskStore
    from a2a.types import Message, Part, Role, Task, TaskState, TaskStatus
    from sqlalchemy.ext.asyncio import create_async_engine

    states = ["SUBMITTED", "WORKING", "WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"]

    async def main() -> int:
        there = database(at) if at is not None else f"sqlite:///{files.new()}"
        url = there.replace("postgresql://", "postgresql+asyncpg://").replace("sqlite://", "sqlite+aiosqlite://")
        engine = create_async_engine(url)
        store, context = DatabaseTaskStore(engine), ServerCallContext()
        for n in range(JOBS):
            for state in states:
                words = Message(message_id="m", role=Role.ROLE_AGENT, parts=[Part(text=BODY)])
                status = TaskStatus(state=getattr(TaskState, f"TASK_STATE_{state}"), message=words)
                await store.save(Task(id=str(n), context_id=str(n), status=status), context)
        await engine.dispose()
        return JOBS * CHANGES

    return lambda: asyncio.run(main())


def dbos(files: Files, at: str | None) -> Round:
    """A workflow a job, a step a change."""
    from dbos import DBOS

    where = f"sqlite:///{files.new()}" if at is None else database(at)
    DBOS.destroy(destroy_registry=True)
    DBOS(config={"name": "bench", "system_database_url": where, "log_level": "ERROR"})

    @DBOS.step()
    def change(line: str) -> str:
        return line

    @DBOS.workflow()
    def job() -> int:
        for _ in range(CHANGES):
            change(BODY)
        return CHANGES

    DBOS.launch()

    def run() -> int:
        return sum(job() for _ in range(JOBS))

    return run


def procrastinate(files: Files, at: str | None) -> Round:
    """A job deferred for each change."""
    from procrastinate import App, SyncPsycopgConnector

    assert at is not None
    app = App(connector=SyncPsycopgConnector(conninfo=database(at)))
    app.open()
    app.schema_manager.apply_schema()

    @app.task(name="change")
    def change(line: str) -> None:
        """Never run."""

    def run() -> int:
        for _ in range(JOBS * CHANGES):
            change.defer(line=BODY)
        return JOBS * CHANGES

    return run


def pgqueuer(files: Files, at: str | None) -> Round:
    """A job enqueued for each change."""
    import asyncpg
    from pgqueuer.queries import Queries

    assert at is not None

    async def main() -> int:
        connection = await asyncpg.connect(database(at))
        queries = Queries.from_asyncpg_connection(connection)
        await queries.install()
        for _ in range(JOBS * CHANGES):
            await queries.enqueue("change", BODY.encode())
        await connection.close()
        return JOBS * CHANGES

    return lambda: asyncio.run(main())


PEERS: dict[str, tuple[Callable[[Files, str | None], Round], tuple[str, ...]]] = {
    "eventsourcing": (eventsourcing, ("SQLite", "PostgreSQL")),
    "LangGraph checkpoints": (langgraph, ("SQLite", "PostgreSQL")),
    "a2a-sdk DatabaseTaskStore": (a2a, ("SQLite", "PostgreSQL")),
    "DBOS steps": (dbos, ("SQLite", "PostgreSQL")),
    "procrastinate": (procrastinate, ("PostgreSQL",)),
    "pgqueuer": (pgqueuer, ("PostgreSQL",)),
}
"""Each peer, and the databases that it works on."""


def figures() -> Iterator[Figure]:
    """Every peer, on every database that both work on."""
    os.environ.setdefault("DBOS__VMID", "bench")
    files = Files()
    with server() as at:
        mine = {"SQLite": ours(files, 1), "PostgreSQL": postgres.ours(at)}
        for name, (begin, places) in PEERS.items():
            for place in places:
                what = f"{place}, one act a commit"
                try:
                    theirs = begin(files, None if place == "SQLite" else at)
                    theirs()
                except ImportError:
                    yield Figure(what, rate(mine[place]), math.nan, f"{name}: not installed, skipped", math.nan, None)
                    continue
                yield race(what, mine[place], f"{name}, one change", theirs, 1.0)
    files.close()
