"""The gate: whether a call may be proposed, whether it must be asked for, and whether what was approved is still what would run.

Questions only: nothing here runs an executor or keeps anything. Whatever raises in here rejects the call.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Literal

from attrs import frozen
from pydantic import JsonValue, ValidationError

from lifecycle.law import door
from lifecycle.law.tools import ProposedCall
from lifecycle.toolhost import schemas
from lifecycle.toolhost.calls import Call, Slot
from lifecycle.toolhost.digests import digest
from lifecycle.toolhost.errors import Misproposed
from lifecycle.toolhost.policy import InForce, Question
from lifecycle.toolhost.registry import Registry, Tool
from lifecycle.toolhost.running import raised


class Unfit(Exception):
    """A call that cannot be proposed: its turn is refused."""

    def __init__(self, reason: Misproposed, what: str) -> None:
        super().__init__(what)
        self.reason, self.what = reason, what


@frozen
class Gate:
    """The gate of one host."""

    registry: Registry
    in_force: InForce
    question: Question | None
    mint: Callable[[], str]

    def slot(self, call: Call, ancestry: Sequence[str]) -> Slot:
        """The record of a call; Unfit if it cannot be proposed. What the gate's own parts raise is kept as the slot's fault."""
        tool = self.registry.get(call.tool)
        if tool is None:
            known = ", ".join(sorted(tool.contract.name for tool in self.registry)) or "none"
            raise Unfit("unknown_tool", f"call `{door.shown(call.id)}`: no tool `{door.shown(call.tool)}` here, but {known}")
        _digested(call, call.arguments)
        resolved, gated, preview, fault = call.arguments, True, "", ""
        try:
            resolved = _resolved(tool, call.arguments)
        except Exception as error:
            fault = f"resolving raised {raised(error)}"
        else:
            self._fits(call, tool, resolved)
            try:
                gated = self.gated(tool, resolved, ancestry)
                preview = tool.preview(deepcopy(_object(resolved))) if gated else ""
            except Exception as error:
                gated, fault = True, f"the gate raised {raised(error)}"
        try:
            record = ProposedCall(call.id, call.tool, tool.contract.digest, self.in_force.policy().digest, resolved, preview, gated)
            return Slot(record, call.arguments, self.mint(), tool.contract.effect == "read", fault)
        except ValidationError as error:
            raise Unfit("arguments", f"call `{door.shown(call.id)}`: {door.malformed(error).detail}") from None

    def gated(self, tool: Tool, arguments: JsonValue, ancestry: Sequence[str]) -> bool:
        """Whether a call must be asked for: the strictest mode decides, and where it is `policy`, any question not answered no."""
        mode = self.in_force.mode(tool.contract, ancestry)
        if mode != "policy":
            return mode == "consent"
        held = deepcopy(_object(arguments))
        answers = [tool.asks(held)] if tool.asks is not None else []
        if self.question is not None:
            answers.append(self.question(tool.contract, held))
        return not answers or any(answer is not False for answer in answers)

    def changed(self, slot: Slot, tool: Tool, ancestry: Sequence[str]) -> tuple[Literal["", "mismatch", "gate_error"], str]:
        """What is not as it was when the call was proposed: its contract, the policy, its arguments, or that it needs no word."""
        call = slot.call
        try:
            if tool.contract.digest != call.contract:
                return "mismatch", "the tool's contract is another than was proposed"
            if self.in_force.policy().digest != call.policy:
                return "mismatch", "the policy in force is another than was proposed under"
            if digest(_resolved(tool, slot.asked)) != digest(call.arguments):
                return "mismatch", "the arguments resolve to others than were proposed"
            if not call.gated and self.gated(tool, call.arguments, ancestry):
                return "mismatch", "it was proposed as needing no approval, and does need it"
        except Exception as error:
            return "gate_error", f"the gate raised {raised(error)}"
        return "", ""

    def _fits(self, call: Call, tool: Tool, resolved: JsonValue) -> None:
        _digested(call, resolved)
        if not isinstance(resolved, dict):
            raise Unfit("arguments", f"call `{door.shown(call.id)}`: the arguments are no JSON object")
        if found := schemas.faults(tool.contract.input_schema, resolved):
            raise Unfit("arguments", f"call `{door.shown(call.id)}`: {'; '.join(found)}")


def _resolved(tool: Tool, asked: JsonValue) -> JsonValue:
    return tool.resolve(deepcopy(asked)) if tool.resolve is not None else asked


def _object(value: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(value, dict)
    return value


def _digested(call: Call, value: JsonValue) -> None:
    try:
        digest(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise Unfit("arguments", f"call `{door.shown(call.id)}`: {raised(error)}") from None
