"""What the tool host's tests play on: a store, jobs at work, tools that count their effects in a file, and restarts."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

import lifecycle
from lifecycle import Handle, Jobs
from lifecycle.law.tools import ToolContract
from lifecycle.toolhost import Call, Host, Operation, Policy, Registry
from tests.engine.stories import Clock

OPEN_WRITES = Policy(write="none", owners=("ann",))
"""Writes are not asked for, by policy; the tools themselves say which are."""

SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


class Effects:
    """The world: a file that executors append to. It outlives every process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, line: str) -> None:
        """One effect."""
        with self.path.open("a") as file:
            file.write(line + "\n")

    @property
    def all(self) -> list[str]:
        """Every effect so far, in order."""
        return self.path.read_text().splitlines() if self.path.exists() else []


def contract(name: str, **fields: Any) -> ToolContract:
    """A tool that takes one text; by default it writes, and asks for consent."""
    shown = {"preview": f"{name} $text"} if fields.get("approval", "consent") == "consent" else {}
    return ToolContract(**{"name": name, "input_schema": SCHEMA, "effect": "write", **shown, **fields})


def does(effects: Effects, name: str) -> Callable[[dict[str, JsonValue], Operation], JsonValue]:
    """An executor that has one effect, its name and its text, and says so."""

    def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
        effects.add(f"{name} {arguments['text']}")
        return {"did": arguments["text"]}

    return execute


def tools(effects: Effects, **changed: Any) -> Registry:
    """`gate` asks, `write` and `look` do not; more fields of `gate`'s contract may be given."""
    registry = Registry()
    registry.register(contract("gate", **changed), does(effects, "gate"))
    registry.register(contract("write", approval="none"), does(effects, "write"))
    registry.register(contract("look", effect="read", approval="none"), does(effects, "look"))
    return registry


def call(id: str, tool: str = "gate", text: str | None = None) -> Call:
    """A call; its text is its id, if none is given."""
    return Call(id, tool, {"text": id if text is None else text})


def working(jobs: Jobs, id: str = "job", **fields: Any) -> Handle:
    """A job of ann's that wes is at; app approves."""
    job = jobs.request("build it", **{"requester": "ann", "worker": "wes", "approver": "app", "id": id, **fields})
    job.seat("wes").accept()
    job.seat("wes").progress("begun", "a.py")
    return job


class House:
    """A store, and the hosts over it. A restart keeps nothing but what the store and the world keep."""

    def __init__(self, url: str, clock: Clock, effects: Effects) -> None:
        self.url, self.clock, self.effects = url, clock, effects
        self.jobs = lifecycle.open(url, clock=clock)

    def host(self, registry: Registry | None = None, policy: Policy | None = OPEN_WRITES, **fields: Any) -> Host:
        """A host over the store, with the tools above if no others are given."""
        return Host(self.jobs, registry if registry is not None else tools(self.effects), policy, **fields)

    def restart(self, registry: Registry | None = None, **fields: Any) -> Host:
        """Everything is dropped and opened anew."""
        if self.url != "memory:":
            self.jobs.close()
            self.jobs = lifecycle.open(self.url, clock=self.clock)
        return self.host(registry, **fields)

    def again(self, host: Host, registry: Registry | None = None, **fields: Any) -> Host:
        """Go on: in memory with the same host if nothing is changed, on a file with everything dropped and opened anew."""
        same = self.url == "memory:" and registry is None and not fields
        return host if same else self.restart(registry, **fields)


def words(host: Host, job: str = "job", verdict: str = "approved", **other: str) -> dict[str, JsonValue]:
    """A well-formed bundle on what is pending: one verdict on every gated call, but for those named."""
    (pending,) = host.pending(job)
    gated = [one.id for one in pending.calls if one.gated]
    return pending.bundle({id: other.get(id, verdict) for id in gated})  # type: ignore[misc]


def told(results: Mapping[str, Any]) -> dict[str, str]:
    """Results in short: `executed`, `rejected denied`."""
    return {id: f"{one.status} {one.reason}".strip() for id, one in results.items()}


def ids(calls: Iterable[Any]) -> list[str]:
    """The ids of calls."""
    return [one.id for one in calls]
