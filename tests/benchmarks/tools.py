"""What a gated call costs: proposed, decided, run and recorded, on a file; beside its commits alone and the peers' interrupts.

The peers keep less: none a claim before the effect, none a digest of what was shown; two keep nothing on the disk at all. They are
optional, and their line says so where they are not installed.
"""

import asyncio
import math
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lifecycle
from lifecycle.law.contract import Contract
from lifecycle.run import Away, Order, Tending, begin
from lifecycle.toolhost import Call, Host, Registry, ToolContract
from lifecycle.worker import Local
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


def langgraph(files: Files) -> Callable[[], int]:
    """LangGraph: a node that interrupts, is resumed with a word, and runs the tool; its checkpoints in SQLite."""
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, interrupt

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


def pydantic_ai(files: Files) -> Callable[[], int]:
    """pydantic-ai: a run that ends in deferred requests, and one that goes on with their results; nothing is on the disk."""
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answered = isinstance(messages[-1].parts[-1], ToolReturnPart)
        return ModelResponse(parts=[TextPart("done") if answered else ToolCallPart("gate", {"path": "a.py"}, "c1")])

    agent: Any = Agent(FunctionModel(model), output_type=[str, DeferredToolRequests])
    done: list[str] = []

    @agent.tool_plain(requires_approval=True)  # type: ignore[untyped-decorator]
    def gate(path: str) -> str:
        done.append(path)
        return "ok"

    async def main() -> int:
        for _ in range(CALLS):
            asked = await agent.run("go")
            approved = DeferredToolResults(approvals={"c1": True})
            await agent.run(message_history=asked.all_messages(), deferred_tool_results=approved)
        return CALLS

    return lambda: asyncio.run(main())


def openai_agents(files: Files) -> Callable[[], int]:
    """OpenAI's Agents SDK: a run that is interrupted, and its state approved and run on; nothing is on the disk."""
    import agents
    from agents.models.interface import Model
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    agents.set_tracing_disabled(True)
    done: list[str] = []

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *more: Any, **named: Any) -> Any:
            kinds = [one.get("type") for one in input if isinstance(one, dict)]
            said: Any
            if "function_call_output" in kinds:
                text = ResponseOutputText(text="done", type="output_text", annotations=[])
                said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            else:
                said = ResponseFunctionToolCall(
                    call_id="c1", name="gate", arguments='{"path": "a.py"}', type="function_call", id="f"
                )
            return agents.ModelResponse(output=[said], usage=agents.Usage(), response_id=None)

        def stream_response(self, *more: Any, **named: Any) -> Any:
            raise NotImplementedError

    @agents.function_tool(needs_approval=True)
    def gate(path: str) -> str:
        done.append(path)
        return "ok"

    agent: Any = agents.Agent(name="a", model=Scripted(), tools=[gate])

    async def main() -> int:
        for _ in range(CALLS):
            asked = await agents.Runner.run(agent, "go")
            state = asked.to_state()
            state.approve(asked.interruptions[0])
            await agents.Runner.run(agent, state)
        return CALLS

    return lambda: asyncio.run(main())


def unchecked(files: Files, contract: bool) -> Callable[[], int]:
    """A job from request to result by `Tending`, with a contract that has no checks; or by `ask`, without one."""

    def run() -> int:
        with lifecycle.open(f"sqlite:///{files.new()}", sweep_every=None) as jobs:
            order = Order(("w",), str(Path.cwd()))
            for n in range(CALLS):
                if contract:
                    job = begin(jobs, Contract("bare", "1", "say seven"), ["w"], Path.cwd(), worker="wes", id=f"j{n}")
                    assert Tending(jobs, job, order, Local(lambda desk: 7), Away()).through()
                else:
                    jobs.ask(lambda goal: 7, "say seven", id=f"j{n}")
            return CALLS

    return run


PEERS = {
    "LangGraph's interrupt and resume, in SQLite": langgraph,
    "pydantic-ai's deferred tools, in memory": pydantic_ai,
    "OpenAI Agents' interruptions, in memory": openai_agents,
}


def figures() -> Iterator[Figure]:
    """Every figure of the tool host, and of a run that has nothing to check."""
    files = Files()
    what = "a gated call: asked, approved, run, recorded"
    yield race(what, ours(files), f"raw sqlite3, {COMMITS} commits", commits(files), 0.3)
    for name, begin_peer in PEERS.items():
        try:
            theirs = begin_peer(files)
        except ImportError:
            yield Figure(what, rate(ours(files)), math.nan, f"{name}: not installed, skipped", math.nan, None)
        else:
            yield race(what, ours(files), name, theirs, 1.0 if "SQLite" in name else None)
    yield race("a run of a contract without checks", unchecked(files, True), "`ask`, one call", unchecked(files, False), None)
    files.close()
