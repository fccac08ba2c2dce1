"""The smallest honest orchestrator: a model answers by schema, a retry is one act, a stale answer is refused, silence has an end.

    python examples/embed.py

The model is a script, in the place of a call that takes a JSON Schema. The clock is injected, so that an hour passes at once; then
nothing sweeps by itself, and the orchestrator says when.
"""

import json
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue

from pydantic import JsonValue

import lifecycle
from lifecycle import Entry, Jobs, Refused, terms

REPLIES: list[JsonValue] = [
    {"act": "accept"},
    {"act": "deliver", "value": 204.22, "report": {"conditions": [{"id": "c1", "status": "met", "evidence": "six rows added up"}]}},
]


class Clock:
    """The orchestrator's time: it stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def model(goal: str, schema: dict[str, JsonValue]) -> str:
    """A model's reply to a goal: JSON by the schema of the acts that are legal now."""
    return json.dumps(REPLIES.pop(0))


def done_by_a_model(jobs: Jobs) -> None:
    """A model does a job by schema; the verdict is sent twice, as after a lost connection."""
    job = jobs.request("total 2024", id="total", requester="planner", worker="coder", conditions={"c1": "it is the sum"})
    coder, planner = job.seat("coder"), job.seat("planner")
    while job.state in ("requested", "accepted"):
        may, reply = coder.may(), model(job.job.brief.goal, coder.schema())
        print(f"model   may {', '.join(may)}: it did {coder.submit_json(reply).act}")
    first, again = planner.confirm("added up by hand", id="verdict"), planner.confirm("added up by hand", id="verdict")
    print(f"retry   {'the same receipt' if again == first else 'another act'}, {len(job.log)} entries: {job.termination}")


def answered_too_late(jobs: Jobs) -> None:
    """A worker accepts a request that was revised while it was thinking."""
    job = jobs.request("total all years", id="years", requester="planner", worker="coder")
    slow, quick, planner = job.seat("coder"), job.seat("coder"), job.seat("planner")
    slow.look()
    quick.counter("there are rows of 2024 only", terms.Terms(constraints=("2024 only",)))
    planner.revise(goal="total 2024", constraints=("2024 only",))
    try:
        slow.accept()
    except Refused as refused:
        print(f"stale   {refused}")
    print(f"looked  at `{slow.look().brief.goal}`: {slow.accept().stage}")


def never_answered(jobs: Jobs, clock: Clock) -> None:
    """Two hours pass: a request is not answered by its deadline, and the worker of the job before has not been heard of."""
    jobs.request("total 2023", id="silence", requester="planner", worker="coder", respond_by=clock.now + timedelta(hours=1))
    clock.now += timedelta(hours=2)
    for lapse in jobs.sweep():
        ended = jobs.job(lapse.job).termination
        print(f"lapsed  {lapse.job} {lapse.stage}: {ended}, owed by {ended and ended.owed_by}")


def main() -> None:
    """Three jobs, and a hook that hears of every entry after its commit."""
    clock = Clock()
    board: SimpleQueue[Entry] = SimpleQueue()
    with lifecycle.open("memory:", clock=clock) as jobs:
        jobs.on("board", board.put)
        done_by_a_model(jobs)
        answered_too_late(jobs)
        never_answered(jobs, clock)
        heard = [board.get(timeout=10) for _ in jobs.watch()]
    print("hook   ", ", ".join(f"{entry.job} {entry.stage}" for entry in heard))


if __name__ == "__main__":
    main()
