"""Processes that host tools and come to harm: each tells one story over a file, and may be killed at any point of it.

They are forked from a server that has never opened a store, as a process must be.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import frozen
from pydantic import JsonValue

from lifecycle import Jobs
from lifecycle.stores.sqlite import SqliteStore
from lifecycle.toolhost import Call, Host, Operation, Registry
from lifecycle.toolhost.edit import register_edit

from .stage import OPEN_WRITES, Effects, contract, words

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", "tests.toolhost.processes", "tests.stores.processes"])


@frozen
class Place:
    """Where a story is told: the file, the effects, the tree, and the time."""

    folder: Path
    time: datetime

    @property
    def effects(self) -> Effects:
        """What was done, by whichever process."""
        return Effects(self.folder / "effects")

    @property
    def tree(self) -> Path:
        """What may be edited."""
        return self.folder / "tree"

    def jobs(self, store: type[SqliteStore] = SqliteStore) -> Jobs:
        """The jobs, as this process holds them."""
        return Jobs(store(self.folder / "jobs.db", lambda: self.time), sweep_every=None)


def die() -> None:
    """End at once, as by `kill -9`."""
    os.kill(os.getpid(), signal.SIGKILL)


def told(story: Callable[..., None], *arguments: object) -> int:
    """Tell a story in a process of its own; how it ended: 0, or minus the signal that ended it."""
    process = CONTEXT.Process(target=story, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode is not None
    return process.exitcode


def registry(place: Place, kind: str, at: str = "") -> Registry:
    """One tool `gate`, `plain`, `keyed` (may be retried), `traced` (can be reconciled) or a `read`; it may die at its effect."""
    held, effects = Registry(), place.effects

    def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
        if at == "before effect":
            die()
        if kind != "keyed" or operation.id not in effects.all:
            effects.add(operation.id)
        if at == "after effect":
            die()
        return {"did": operation.id}

    fields: Mapping[str, Mapping[str, Any]] = {
        "plain": {}, "traced": {}, "keyed": {"idempotency_key": True}, "read": {"effect": "read"},
        "free": {"approval": "none"},
    }  # fmt: skip
    reconcile = {"reconcile": lambda id: {"found": id} if id in effects.all else None} if kind == "traced" else {}
    held.register(contract("gate", **fields[kind]), execute, **reconcile)
    return held


def story(host: Host, calls: list[Call]) -> None:
    """Propose, approve, run: from wherever the story has come to."""
    host.turn("job", calls, id="t1")
    if host.pending("job"):
        host.decide("job", "t1", words(host), by="app")
    host.settle("job")


def at_step(place: Place, kind: str, at: str) -> None:
    """Tell the story, and die at a step of it."""
    with place.jobs() as jobs:
        story(Host(jobs, registry(place, kind, at), OPEN_WRITES, on_step=lambda step: die() if step == at else None), [CALL])


CALL = Call("c1", "gate", {"text": "a"})


def at_write(place: Place, kind: str, count: int) -> None:
    """Tell the story, and die right before so many writes."""
    left = [count]

    class Dying(SqliteStore):
        def put(self, *arguments: Any) -> bool:
            self._one()
            return super().put(*arguments)

        def append(self, *arguments: Any) -> None:
            self._one()
            super().append(*arguments)

        def _one(self) -> None:
            left[0] -= 1
            if left[0] == 0:
                die()

    with place.jobs(Dying) as jobs:
        held, calls = (edits(place, jobs), [edit(place)]) if kind == "edit" else (registry(place, kind), [CALL])
        story(Host(jobs, held, OPEN_WRITES), calls)


def edits(place: Place, jobs: Jobs) -> Registry:
    """The tool `edit`, on the place's tree."""
    held = Registry()
    register_edit(held, place.tree, lambda path: path.startswith("retry/"), jobs.store)
    return held


BEFORE, AFTER = b"one\ntwo\n", b"one\n2\n"
BEFORE_DIGEST = "sha256:c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8"
PATCH = "diff --git a/retry/a.py b/retry/b.py\n--- a/retry/a.py\n+++ b/retry/b.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
"""A patch that also renames: the file is changed in two steps."""


def edit(place: Place) -> Call:
    """The call that makes the patch."""
    return Call("c1", "edit", {"path": "retry/a.py", "digest": BEFORE_DIGEST, "patch": PATCH})


def at_disk(place: Place, event: str, count: int) -> None:
    """Make the edit, and die right before so many events of this name in the tree: `os.rename`, `os.remove`, `open`."""
    left = [count]

    def hear(name: str, arguments: tuple[object, ...]) -> None:
        if name == event and "/tree/" in str(arguments[0]) + "/":
            left[0] -= 1
            if left[0] == 0:
                die()

    with place.jobs() as jobs:
        sys.addaudithook(hear)
        story(Host(jobs, edits(place, jobs), OPEN_WRITES), [edit(place)])


def settle_with_others(place: Place, barrier: Any, pipe: Any) -> None:
    """Settle at the same moment as others do; tell what was seen."""
    with place.jobs() as jobs:
        host = Host(jobs, registry(place, "plain"), OPEN_WRITES)
        barrier.wait()
        host.settle("job")
        pipe.send(sorted(host.results("job", "t1")))


def decide_with_others(place: Place, verdict: str, barrier: Any, pipe: Any) -> None:
    """Decide the set at the same moment as others do; tell whether it was taken."""
    with place.jobs() as jobs:
        host = Host(jobs, registry(place, "plain"), OPEN_WRITES)
        bundle = words(host, verdict=verdict)
        barrier.wait()
        try:
            host.decide("job", "t1", bundle, by="app")
        except Exception as error:
            pipe.send(type(error).__name__)
        else:
            pipe.send(verdict)
