"""Processes that use a store and come to harm: what each does, and how it tells.

They are forked from a server that has never opened a store, as a process must be.
"""

import multiprocessing
import os
import resource
import signal
import sqlite3
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from lifecycle.conformance.stores.logs import begun, then
from lifecycle.law.errors import Conflict, StoreError
from lifecycle.law.log import Change
from lifecycle.stores.sqlite import SqliteStore

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", "tests.stores.processes"])

JOBS = "left", "right"
"""Two jobs that are changed in one commit each time, so that a half would show."""


def next_changes(store: SqliteStore) -> list[Change]:
    """The next commit to both jobs."""
    changes = []
    for job in JOBS:
        found = store.read(job)
        if found is None:
            changes.append(begun(job))
        else:
            head, entries = found
            changes.append(then(Change(None, (entries[-1],), begun(job).row), ids=(f"{job}-{head.seq + 1}",)))
    return changes


def running(work: Callable[..., None], *arguments: object) -> tuple[multiprocessing.Process, Connection]:
    """A process that does this work, and the end of the pipe on which it tells."""
    mine, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=work, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    return process, mine  # type: ignore[return-value]


def told(pipe: Connection) -> list[object]:
    """Whatever else was told before the process ended."""
    heard: list[object] = []
    try:
        while True:
            heard.append(pipe.recv())
    except EOFError:
        return heard


def at_statement(act: Callable[[str], None]) -> None:
    """From now on, call this before each statement of any connection that is opened."""

    class Heard(sqlite3.Connection):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.set_trace_callback(act)

    sqlite3.connect = partial(sqlite3.connect, factory=Heard)


def die() -> None:
    """End at once, as by `kill -9`."""
    os.kill(os.getpid(), signal.SIGKILL)


def append_for_ever(pipe: Connection, path: Path) -> None:
    """Append until killed; tell each seq once it is acknowledged."""
    store = SqliteStore(path)
    while True:
        changes = next_changes(store)
        store.append(changes)
        pipe.send(changes[0].entries[-1].seq)


def append_and_die(pipe: Connection, path: Path, count: int) -> None:
    """Append so often, then die with the store open: what was written is still in the write-ahead log."""
    store = SqliteStore(path)
    for _ in range(count):
        store.append(next_changes(store))
    die()


def append_dying_at(pipe: Connection, path: Path, at: int | None) -> None:
    """Append once, dying before the statement of this number, or after the last; None: live, and tell them all."""
    said: list[str] = []
    writing = False

    def before(statement: str) -> None:
        if writing:
            if len(said) == at:
                die()
            said.append(statement.partition(" ")[0])

    at_statement(before)
    store = SqliteStore(path)
    changes = next_changes(store)
    writing = True
    store.append(changes)
    if at is not None:
        die()
    pipe.send(said)
    store.close()


def stop_in_a_commit(pipe: Connection, path: Path) -> None:
    """Stop, as by `kill -STOP`, while holding the lock; once continued, finish the act and tell."""
    armed = False

    def before(statement: str) -> None:
        if armed and statement == "COMMIT":
            pipe.send("holding")
            os.kill(os.getpid(), signal.SIGSTOP)

    at_statement(before)
    store = SqliteStore(path)
    changes = next_changes(store)
    armed = True
    store.append(changes)
    armed = False
    pipe.send("done")
    store.close()


def write_past_a_limit(pipe: Connection, path: Path, limit: int) -> None:
    """Append until no file may grow any more; read; append again once it may. Tell how it went."""
    store = SqliteStore(path)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    written, words = append_until_full(store)
    again = append_until_full(store)
    found = store.read("left")
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    store.append(next_changes(store))
    pipe.send((written, words, again[0], found and found[0].seq))
    store.close()


def append_until_full(store: SqliteStore) -> tuple[int, str]:
    """Append until the store says that it cannot: how many commits it took, and its words."""
    for written in range(10_000):
        try:
            store.append(next_changes(store))
        except StoreError as error:
            return written, str(error)
    raise AssertionError("it never got full")


def use_after_a_fork(pipe: Connection, path: Path) -> None:
    """Fork with the store open: tell what the child is told when it uses the store, or opens it anew; then act on, as parent."""
    store = SqliteStore(path)
    store.append(next_changes(store))
    child = os.fork()
    if not child:
        for use in (lambda: store.read("left"), lambda: store.append([begun("lost")]), lambda: SqliteStore(path)):
            try:
                use()
            except StoreError as error:
                pipe.send(str(error))
            else:
                pipe.send("it was let")
        store.close()
        os._exit(0)
    os.waitpid(child, 0)
    store.append(next_changes(store))
    store.close()


def hammer(path: Path, number: int, acts: int) -> list[str]:
    """Append to a job of one's own and to one that all share, beside seven others; the ids of what was acknowledged."""
    assert start is not None
    start.wait()
    store = SqliteStore(path)
    own = begun(f"own{number}")
    store.append([own])
    acknowledged = []
    for n in range(acts):
        own = then(own)
        store.append([own])
        while True:
            try:
                found = store.read("shared")
                id = f"{number}-{n}"
                shared = begun("shared") if found is None else then(Change(None, (found[1][-1],), begun("shared").row), ids=(id,))
                store.append([shared])
            except Conflict:
                continue
            if found is not None:
                acknowledged.append(id)
                break
    store.close()
    return acknowledged


start: Barrier | None = None


def wait_for_all(barrier: Barrier) -> None:
    """What each process of a pool is given when it starts."""
    global start  # noqa: PLW0603 - a pool has no other way to hand a process something
    start = barrier
