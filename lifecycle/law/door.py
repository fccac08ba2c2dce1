"""The door: how a text from outside becomes an act, and what is turned away before any other question is asked.

Here lives what is malformed: too large, not JSON, a key twice, a field missing or unknown, text that no store could keep. It
knows nothing of any job.
"""

import json
from collections.abc import Mapping

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from lifecycle.law.acts import ACTS, Act
from lifecycle.law.errors import Reason
from lifecycle.law.guards.move import Fault
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.values import PATTERNS


def read(text: str | bytes, limits: Limits = LIMITS, answers: Mapping[str, str | None] | None = None) -> Act | Fault:
    """The act that a JSON text is, or why it is none. `answers` says what an act of each name answers, if the text does not."""
    if len(text) > limits.payload_bytes:
        return too_large(len(text), limits)
    try:
        held = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return Fault(Reason.MALFORMED, f"no JSON that can be kept: {_first_line(error)}", "send one JSON object")
    if not isinstance(held, dict):
        return Fault(Reason.MALFORMED, f"a JSON {type(held).__name__}, not an object", 'send an object with the key "act"')
    name = held.get("act")
    if not isinstance(name, str):
        return Fault(Reason.MALFORMED, "the key `act` is missing or no text", "name one of the acts")
    model = ACTS.get(name)
    if model is None:
        return Fault(Reason.UNKNOWN_ACT, f"there is no act `{shown(name)}`", f"name one of: {', '.join(ACTS)}")
    if answers and "answers" in model.model_fields and held.get("answers") is None:
        held["answers"] = answers.get(name)
    try:
        return model.model_validate(held)
    except ValidationError as error:
        return malformed(error)


def weigh(content: str, act: Act, limits: Limits = LIMITS) -> Fault | None:
    """Whether an act is small enough to be kept; `content` is the act as `written`."""
    if len(content) > limits.payload_bytes:
        return too_large(len(content), limits)
    if len(content) > limits.text_chars and (longest := _longest(act.model_dump(mode="json"))) > limits.text_chars:
        detail = f"a text of {longest} characters, {limits.text_chars} are the limit"
        return Fault(Reason.TEXT_TOO_LONG, detail, "put it into a file and point at that")
    return None


def malformed(error: ValidationError) -> Fault:
    """What pydantic found, said in one line: which field, what is wrong with it."""
    faults = error.errors(include_url=False, include_input=False)
    told = "; ".join(f"`{shown('.'.join(map(str, f['loc'])) or 'act')}`: {shown(_in_words(f))}" for f in faults[:3])
    more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
    return Fault(Reason.MALFORMED, told + more, "mend these fields; `schema` tells what each act holds")


def too_large(size: int, limits: Limits) -> Fault:
    """The refusal of a payload for its size alone."""
    detail = f"{size} bytes, {limits.payload_bytes} are the limit"
    return Fault(Reason.PAYLOAD_TOO_LARGE, detail, "put it into a file and point at that")


def shown(text: str, most: int = 200) -> str:
    """A text from outside as it may be shown: one line, no control or bidirectional characters, not too long."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut)


def _in_words(fault: ErrorDetails) -> str:
    pattern = fault.get("ctx", {}).get("pattern")
    return PATTERNS.get(pattern, fault["msg"]) if isinstance(pattern, str) else fault["msg"]


def _once_each(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    held: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in held:
            raise ValueError(f"key `{shown(key)}` stands twice")
        held[key] = value
    return held


def _no_constant(name: str) -> JsonValue:
    raise ValueError(f"`{name}` is not JSON")


def _first_line(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else shown(str(error).split("\n")[0])


def _longest(value: JsonValue) -> int:
    match value:
        case str():
            return len(value)
        case list():
            return max(map(_longest, value), default=0)
        case dict():
            return max((max(len(key), _longest(item)) for key, item in value.items()), default=0)
        case _:
            return 0
