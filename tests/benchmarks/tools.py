"""What a gated call costs: proposed, decided, run and recorded, on a file; beside the commits alone, and beside a peer's interrupt.

The peer is LangGraph's human-in-the-loop interrupt over its own SQLite checkpointer, which keeps less: no claim before the effect,
no digest of what was shown. It is optional, and its line says so where it is not installed.
"""

import math
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import lifecycle
from lifecycle.toolhost import Call, Host, Registry, ToolContract
from tests.benchmarks.measure import Figure, race, rate
from tests.benchmarks.sqlite import Files

CALLS = 60
COMMITS = 7
"""What a gated call writes, each on the disk before the next: turn, proposal, decision, claim, result, and its putting away (2)."""
BYTES = 500
"""What a commit of it holds, about."""

GATE = ToolContract("gate", {"type": "object", "properties": {"path": {"type": "string"}}}, effect="write", preview="write $path")


def ours(files: Files) -> Callable[[], int]:
    """One gated call a turn: asked, approved, run."""

    def run() -> int:
        with lifecycle.open(f"sqlite:///{files.new()}", sweep_every=None) as jobs:
            job = jobs.request("build it", requester="ann", worker="wes", approver="app", id="job")
            job.seat("wes").accept()
            job.seat("wes").progress("begun", "a.py")
            registry, done = Registry(), list[str]()
            registry.register(GATE, lambda arguments, operation: done.append(operation.id))
            host = Host(jobs, registry)
            for _ in range(CALLS):
                asked = host.turn("job", [Call("c1", "gate", {"path": "a.py"})])
                (pending,) = host.pending("job")
                host.decide("job", asked.set, pending.bundle({"c1": "approved"}), by="app")
            assert len(done) == CALLS
            return CALLS

    return run


def commits(files: Files) -> Callable[[], int]:
    """As many commits of as many bytes, by sqlite3 alone."""

    def run() -> int:
        held = sqlite3.connect(files.new(), isolation_level=None)
        held.execute("PRAGMA journal_mode=WAL")
        held.execute("PRAGMA synchronous=FULL")
        held.execute("CREATE TABLE entries (n INTEGER PRIMARY KEY, body TEXT)")
        for _ in range(CALLS * COMMITS):
            held.execute("BEGIN IMMEDIATE")
            held.execute("INSERT INTO entries (body) VALUES (?)", ("x" * BYTES,))
            held.execute("COMMIT")
        held.close()
        return CALLS

    return run


def peer(files: Files) -> Callable[[], int] | None:
    """The same by LangGraph: a node that interrupts, is resumed with a word, and runs the tool. None if it is not installed."""
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import END, START, StateGraph
        from langgraph.types import Command, interrupt
    except ImportError:
        return None

    def run() -> int:
        done: list[str] = []

        def gate(state: dict[str, Any]) -> dict[str, Any]:
            if interrupt({"tool": "gate", "arguments": state["arguments"]}) == "approved":
                done.append(state["arguments"]["path"])
            return {"arguments": state["arguments"]}

        graph: Any = StateGraph(dict)
        graph.add_node("gate", gate)
        graph.add_edge(START, "gate")
        graph.add_edge("gate", END)
        with SqliteSaver.from_conn_string(str(files.new())) as saver:
            app = graph.compile(checkpointer=saver)
            for n in range(CALLS):
                thread = {"configurable": {"thread_id": str(n)}}
                app.invoke({"arguments": {"path": "a.py"}}, thread, durability="sync")
                app.invoke(Command(resume="approved"), thread, durability="sync")
        assert len(done) == CALLS
        return CALLS

    return run


def figures() -> Iterator[Figure]:
    """Every figure of the tool host."""
    files = Files()
    what = "a gated call: asked, approved, run, recorded"
    yield race(what, ours(files), f"raw sqlite3, {COMMITS} commits", commits(files), 0.3)
    other = peer(files)
    if other is None:
        yield Figure(what, rate(ours(files)), math.nan, "LangGraph's interrupt: not installed, skipped", math.nan, None)
    else:
        yield race(what, ours(files), "LangGraph's interrupt and resume", other, 1.0)
