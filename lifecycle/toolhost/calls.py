"""A turn's calls and what becomes of each: the data, and the questions that the data alone answers.

`Call` is what a worker asks for, `Slot` what the host keeps of it, `Claim` says that an executor was let loose, `Result` how it
ended. Every proposed call ends with exactly one result; only `unknown` may still turn into what is found out later.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from attrs import frozen
from pydantic import Field, JsonValue, TypeAdapter
from pydantic.dataclasses import dataclass

from lifecycle.law.tools import ProposedCall
from lifecycle.law.values import CLOSED, Count, Id, Instant, Json, Text
from lifecycle.toolhost import digests

Status = Literal["executed", "rejected", "failed", "unknown"]
Reason = Literal[
    "",
    "denied", "expired", "malformed", "mismatch", "gate_error", "ended",
    "error", "timeout", "output", "postcondition", "crash",
]  # fmt: skip
"""Why not executed. Rejected: the approver's word, the clock, a bundle that was none, another contract, policy or arguments than
approved, a gate that raised, a job that ended first. Failed or unknown: the executor raised, ran out of time, gave back what it
may not, the world is not as promised, or its process died."""
Standing = Literal["pending", "approved", "started"] | Status
"""Where a call stands: it waits for the approver; it may run and was not started; it was started and has not ended; its result."""


@frozen
class Call:
    """One call that a worker asks for. The id is the worker's, unique within the turn."""

    id: str
    tool: str
    arguments: JsonValue

    @classmethod
    def read(cls, text: str | bytes) -> "Call":
        """The call that a model wrote, `{"id": …, "tool": …, "arguments": {…}}`; a ValueError says what is wrong with it."""
        held = digests.read(text)
        if not isinstance(held, dict) or set(held) != {"id", "tool", "arguments"}:
            raise ValueError("a call is an object with id, tool and arguments, and nothing else")
        id, tool = held["id"], held["tool"]
        if not isinstance(id, str) or not isinstance(tool, str):
            raise ValueError("the id and the tool of a call are texts")
        return cls(id, tool, held["arguments"])


@dataclass(frozen=True, slots=True, config=CLOSED)
class Slot:
    """What the host keeps of one call from its proposal on: the record, the arguments as they were asked for, the operation id."""

    call: ProposedCall
    asked: Json
    operation: Id
    read: bool = False
    """Whether it only reads, and so need not wait for its siblings."""
    fault: Text = ""
    """What the gate raised; then it was rejected there and then, and nobody was asked."""

    @property
    def arguments(self) -> dict[str, JsonValue]:
        """The resolved arguments: an object, as every input schema of ours asks for."""
        assert isinstance(self.call.arguments, dict)
        return self.call.arguments


@dataclass(frozen=True, slots=True, config=CLOSED)
class Turn:
    """One turn's calls, in the order in which they were asked for. Its id is that of the set, if anything in it is gated."""

    id: Id
    job: Id
    after: int
    """The seq of the job's log when the turn was made: its proposal, if any, comes after it."""
    slots: tuple[Slot, ...]

    @property
    def proposed(self) -> tuple[ProposedCall, ...]:
        """The calls that are put before the approver, with the ungated ones that wait beside them; empty if none is gated."""
        kept = tuple(slot.call for slot in self.slots if not slot.fault)
        return kept if any(call.gated for call in kept) else ()


@dataclass(frozen=True, slots=True, config=CLOSED)
class Claim:
    """An executor was let loose, by one process, and is waited for until a time; after that its outcome is unknown."""

    attempt: Annotated[int, Field(ge=1)]
    at: Instant
    until: Instant
    by: Id
    kind: Literal["claim"] = "claim"


@dataclass(frozen=True, slots=True, config=CLOSED)
class Result:
    """How a call ended. `output` is there if it was executed; `reconciled` if that was found out afterwards."""

    call: Id
    status: Status
    reason: Reason = ""
    detail: Text = ""
    output: Json = None
    operation: Id | None = None
    attempts: Count = 0
    started: Instant | None = None
    ended: Instant | None = None
    reconciled: bool = False
    kind: Literal["result"] = "result"

    @property
    def final(self) -> bool:
        """Whether nothing that is found out later can change it."""
        return self.status != "unknown"


Kept = Annotated[Claim | Result, Field(discriminator="kind")]
TURN: TypeAdapter[Turn] = TypeAdapter(Turn)
KEPT: TypeAdapter[Claim | Result] = TypeAdapter(Kept)


@frozen
class Pending:
    """A set that waits for its approver: what a person reads before deciding. Ungated calls in it wait, and are not decided."""

    job: str
    set: str
    approver: str
    expires_at: datetime
    calls: tuple[ProposedCall, ...]

    def bundle(self, verdicts: Mapping[str, Literal["approved", "denied"]]) -> dict[str, JsonValue]:
        """The decisions as the approver sends them: each word on a call, with the digest of what was shown."""
        digests = {call.id: call.digest for call in self.calls}
        words: list[JsonValue] = [{"call": id, "digest": digests.get(id, ""), "verdict": word} for id, word in verdicts.items()]
        return {"set": self.set, "decisions": words}
