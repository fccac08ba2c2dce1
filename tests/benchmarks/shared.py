"""Sixty-four callers of asyncio who share commits, beside one commit an act; each receipt is given only after its own commit."""

import asyncio
from collections.abc import Callable, Iterator

import lifecycle
from lifecycle.engine import Engine
from lifecycle.stores.sqlite import SqliteStore
from tests.benchmarks.measure import Figure, race
from tests.benchmarks.sqlite import Files, script

CALLERS = 64
EACH = 6


def shared(files: Files) -> Callable[[], int]:
    """Every caller does its jobs, an act after the other."""

    async def main() -> int:
        async with lifecycle.open_async(f"sqlite:///{files.new()}", sweep_every=None) as jobs:

            async def caller(n: int) -> None:
                for k in range(EACH):
                    for by, act in script(f"j{n}-{k}"):
                        await jobs.submit(f"j{n}-{k}", act, by=by)

            await asyncio.gather(*(caller(n) for n in range(CALLERS)))
        return CALLERS * EACH * 6

    return lambda: asyncio.run(main())


def singly(files: Files) -> Callable[[], int]:
    """The same acts, one after the other."""

    def run() -> int:
        with Engine(SqliteStore(files.new())) as engine:
            for n in range(CALLERS):
                for k in range(EACH):
                    for by, act in script(f"j{n}-{k}"):
                        engine.submit(f"j{n}-{k}", act, by=by)
        return CALLERS * EACH * 6

    return run


def figures() -> Iterator[Figure]:
    """The one figure."""
    files = Files()
    yield race(f"SQLite, {CALLERS} async callers who share commits", shared(files), "one act a commit", singly(files), 2.0)
    files.close()
