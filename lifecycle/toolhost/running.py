"""One run of an executor: within its time, and its result held against what the contract promises.

A thread that hangs cannot be ended; it is left behind, and what it does afterwards is found by the operation id. Nothing here
knows of jobs, sets or claims.
"""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from attrs import frozen
from pydantic import JsonValue

from lifecycle.law.door import shown
from lifecycle.law.tools import ToolContract
from lifecycle.law.values import canonical, storable
from lifecycle.toolhost import schemas
from lifecycle.toolhost.calls import Reason, Status
from lifecycle.toolhost.errors import NotStarted
from lifecycle.toolhost.registry import Grant, Tool

OUTPUT_BYTES = 1 << 20
"""One output as JSON. What is larger belongs in a file that the output points at, as with an act's payload."""

T = TypeVar("T")


class OutOfTime(Exception):
    """What was run did not end in time. It may still be running."""


@frozen
class Outcome:
    """How a run ended."""

    status: Status
    reason: Reason = ""
    detail: str = ""
    output: JsonValue = None


def run(tool: Tool, grant: Grant) -> Outcome:
    """Run a tool on a grant. NotStarted if it could not begin.

    An error that the contract names, and any error of a read, is a failure. Any other error of a tool that writes, or a time-out
    of it, leaves the outcome unknown: it may have had its effect.
    """
    contract = tool.contract
    try:
        return within(contract.timeout, lambda: judged(tool, grant.arguments, tool.run(grant)))
    except NotStarted:
        raise
    except OutOfTime:
        told = f"it did not end within {contract.timeout:g} seconds"
        return Outcome("failed" if contract.effect == "read" else "unknown", "timeout", told)
    except BaseException as error:
        known = contract.effect == "read" or _named(contract, error)
        return Outcome("failed" if known else "unknown", "error", raised(error))


def judged(tool: Tool, arguments: dict[str, JsonValue], output: JsonValue) -> Outcome:
    """What an output comes to: executed, if it fits the schema and the world is as promised."""
    contract = tool.contract
    try:
        size = len(canonical(storable(output)))
    except (TypeError, ValueError, RecursionError) as error:
        return Outcome("failed", "output", f"the output is no JSON that can be kept: {raised(error)}")
    if size > OUTPUT_BYTES:
        return Outcome("failed", "output", f"the output has {size} bytes, {OUTPUT_BYTES} are the limit")
    if contract.output_schema is not None and (found := schemas.faults(contract.output_schema, output)):
        return Outcome("failed", "output", f"the output does not fit its schema: {'; '.join(found)}")
    if tool.postcondition is not None:
        try:
            held = tool.postcondition(arguments, output)
        except Exception as error:
            return Outcome("failed", "postcondition", f"the postcondition raised {raised(error)}")
        if held is not True:
            return Outcome("failed", "postcondition", f"the world is not as promised: {contract.postcondition or 'no words'}")
    return Outcome("executed", output=output)


def within(seconds: float, work: Callable[[], T]) -> T:
    """What the work returns or raises, if it does within so many seconds; else OutOfTime. NotStarted if there is no thread left."""
    box: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def worked() -> None:
        try:
            box.put((work(), None))
        except BaseException as error:
            box.put((None, error))

    try:
        threading.Thread(target=worked, name="executor", daemon=True).start()
    except RuntimeError as error:
        raise NotStarted(str(error)) from error
    try:
        value, fault = box.get(timeout=min(seconds, threading.TIMEOUT_MAX))
    except Empty:
        raise OutOfTime from None
    if fault is not None:
        raise fault
    return value  # type: ignore[return-value]  # there is a value where there is no error


def raised(error: BaseException) -> str:
    """An error in one line, as it may be kept."""
    return f"{type(error).__name__}: {shown(str(error), 500)}".encode("ascii", "backslashreplace").decode()


def _named(contract: ToolContract, error: BaseException) -> bool:
    """Whether the contract names this class of error, or one that it is a kind of."""
    return any(kind.__name__ in contract.errors for kind in type(error).__mro__)
