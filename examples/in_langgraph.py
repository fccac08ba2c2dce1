"""A delegated job in a LangGraph graph: the graph keeps the plan, the job keeps its law.

    python examples/in_langgraph.py

The worker counters; the graph interrupts until a person has said a word, and goes on from there. A node that is run again, as
LangGraph runs every interrupted one, makes its acts under the same ids, and they count once. What the graph must decide by is read
from the job, never kept beside it.
"""

from typing import Literal, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

import lifecycle
from lifecycle import Jobs, Stage, acts, terms


class State(TypedDict):
    """All that the graph keeps: which job."""

    job: str


def graph_over(jobs: Jobs) -> "StateGraph[State, None, State, State]":
    """Delegate, let the worker answer, ask a person where the job waits for the requester, judge."""

    def delegate(state: State) -> State:
        jobs.request("total all years", requester="planner", worker="coder", conditions={"c1": "it is the sum"}, id=state["job"])
        return state

    def work(state: State) -> State:
        coder = jobs.seat(state["job"], "coder")
        stands = coder.look()
        if stands.stage is Stage.REQUESTED:
            less = terms.Terms(conditions=stands.terms.conditions, constraints=("2024 only",))
            coder.counter("there are rows of 2024 only", less, binding=True)
        else:
            coder.deliver(value=204.22, met={"c1": "six rows added up"})
        return state

    def ask(state: State) -> State:
        job = state["job"]
        offer = jobs.job(job).offer
        assert offer is not None
        if interrupt({"job": job, "offered": offer.terms.constraints}) == "adopt":
            jobs.submit(job, acts.Adopt(answers=offer.id), by="planner", id="adopt")
        else:
            jobs.submit(job, acts.Cancel(), by="planner", id="cancel")
        return state

    def judge(state: State) -> State:
        jobs.seat(state["job"], "planner").confirm("added up by hand", id="verdict")
        return state

    def leads(state: State) -> Literal["work", "ask", "judge", "__end__"]:
        match jobs.job(state["job"]).stage:
            case Stage.COUNTERED:
                return "ask"
            case Stage.DELIVERED:
                return "judge"
            case Stage.REQUESTED | Stage.READY:
                return "work"
            case _:
                return "__end__"

    graph = StateGraph(State)
    for node in (delegate, work, ask, judge):
        graph.add_node(node)
    graph.add_edge(START, "delegate")
    for name in ("delegate", "work", "ask"):
        graph.add_conditional_edges(name, leads)
    graph.add_edge("judge", END)
    return graph


def main() -> None:
    """One job that is adopted, and one that is called off."""
    with lifecycle.open("memory:") as jobs:
        graph = graph_over(jobs).compile(checkpointer=InMemorySaver())
        for job, word in (("adopted", "adopt"), ("called-off", "cancel")):
            place: dict[str, dict[str, str]] = {"configurable": {"thread_id": job}}
            waits = graph.invoke({"job": job}, place)["__interrupt__"]  # type: ignore[call-overload]
            print(f"{job}: waits for a word on {waits[0].value['offered']}")
            graph.invoke(Command(resume=word), place)  # type: ignore[call-overload]
            stands = jobs.job(job)
            print(f"{job}: {stands.termination}, {' '.join(entry.act.act for entry in jobs.log(job))}")


if __name__ == "__main__":
    main()
