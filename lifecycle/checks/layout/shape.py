"""What a contract file says, held against the contract: every fault at its line, with the mend.

The contract itself (`lifecycle.law.contract`) says what each value may be. Here is what a person who writes a file needs beside it:
the nearest known key, times like `10m`, ids that stand once in the whole file, paths that stay inside.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import date, time
from difflib import get_close_matches
from typing import get_args

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from lifecycle.checks.faults import ContractError, ContractFault
from lifecycle.checks.layout.source import Keys, Source
from lifecycle.checks.scope import pattern_fault, plain
from lifecycle.law.contract import Contract, Criterion, Escalation, EvidenceRule, Owners
from lifecycle.law.door import shown
from lifecycle.law.terms import Budget, Check, Condition, Exclusion
from lifecycle.law.values import PATTERNS, canonical, storable

SECTIONS: dict[str, type] = {
    "acceptance": Condition,
    "invariants": Criterion,
    "preconditions": Criterion,
    "non_goals": Exclusion,
    "evidence": EvidenceRule,
    "escalation": Escalation,
    "budget": Budget,
    "owners": Owners,
}
"""What stands in each section that is no plain value."""

KINDS: dict[str, type] = {
    str(field.default): kind for kind in get_args(get_args(Check)[0]) for field in fields(kind) if field.name == "kind"
}
"""Every kind of check by its name."""

CHECKED = ("acceptance", "invariants", "preconditions")
"""The sections whose items carry checks."""

_MISSING = ("missing", "missing_argument")
_TIME = re.compile(r"(?=\S)(?:(\d+(?:\.\d+)?) ?h)? ?(?:(\d+(?:\.\d+)?) ?m(?:in)?)? ?(?:(\d+(?:\.\d+)?) ?s)?", re.ASCII)
_CONTRACT: TypeAdapter[Contract] = TypeAdapter(Contract)


def shaped(source: Source, *, verdict: bool) -> Contract:
    """The contract that a source is; ContractError with every fault found if it cannot stand."""
    data = source.data
    if not isinstance(data, dict):
        raise ContractError(source.file, [source.fault((), "is a list or a value, not a table", "write `goal = ...` and so on")])
    data = _timed(data)
    if faults := list(_faults(source, data, verdict)):
        raise _error(source, faults)
    try:
        return _CONTRACT.validate_json(canonical(data), strict=True)
    except ValidationError as error:
        found = [fault for fault in error.errors(include_url=False, include_input=False) if not _other_branch(fault)]
        raise _error(source, [_told(source, data, fault) for fault in found]) from None


def checks_of(data: JsonValue) -> Iterator[tuple[Keys, dict[str, JsonValue]]]:
    """Every check that is a table, with the way to it."""
    for section in CHECKED:
        for place, item in _items(data, section):
            check = item.get("check")
            if isinstance(check, dict):
                yield (section, place, "check"), check


def _error(source: Source, faults: list[ContractFault]) -> ContractError:
    return ContractError(source.file, sorted(faults, key=lambda fault: (fault.line or 0, fault.column or 0)))


def _items(data: JsonValue, section: str) -> Iterator[tuple[int, dict[str, JsonValue]]]:
    held = data.get(section) if isinstance(data, dict) else None
    if isinstance(held, list):
        yield from ((place, item) for place, item in enumerate(held) if isinstance(item, dict))


def _faults(source: Source, data: dict[str, JsonValue], verdict: bool) -> Iterator[ContractFault]:
    yield from _unstorable(source, data, ())
    yield from _unknown(source, data, (), Contract)
    for section, kind in SECTIONS.items():
        held = data.get(section)
        if isinstance(held, dict):
            yield from _unknown(source, held, (section,), kind)
        for place, item in _items(data, section):
            yield from _unknown(source, item, (section, place), kind)
    for keys, check in checks_of(data):
        yield from _check(source, keys, check)
    for section in CHECKED:
        for place, item in _items(data, section):
            if not isinstance(item.get("check"), dict | str | None):
                yield source.fault((section, place, "check"), "is neither a table nor a text", "write a table with its `kind`")
    yield from _twice(source, data)
    yield from _scopes(source, data, ("write_scope",))
    yield from _escalations(source, data)
    if verdict and data.get("acceptance") in (None, [], {}):
        yield source.fault(("acceptance",), "accepts nothing, and a verdict is asked", "add a condition with its check")


def _unstorable(source: Source, value: JsonValue | date | time, keys: Keys) -> Iterator[ContractFault]:
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            yield from _unstorable(source, item, (*keys, key))
    elif isinstance(value, date | time):  # TOML has such values
        yield source.fault(keys, "is a date or a time", "write it as a text, in quotes")
    elif isinstance(value, float) and not math.isfinite(value):
        yield source.fault(keys, "is no finite number", "write a finite number")
    else:
        try:
            storable(value)
        except ValueError as error:
            what, _, mend = str(error).partition("; ")
            yield source.fault(keys, what, mend)


def _unknown(source: Source, held: dict[str, JsonValue], keys: Keys, kind: type) -> Iterator[ContractFault]:
    known = [field.name for field in fields(kind)]
    for key in held:
        if key not in known:
            near = get_close_matches(key, known, 1, 0.5)
            mend = f"write `{near[0]}`" if near else f"write one of: {', '.join(known)}"
            yield source.fault((*keys, key), "is no key that is known here", mend)


def _check(source: Source, keys: Keys, check: dict[str, JsonValue]) -> Iterator[ContractFault]:
    kind = check.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        near = get_close_matches(kind, KINDS, 1, 0.5) if isinstance(kind, str) else []
        what = f"`{shown(str(kind), 40)}` is no kind of check" if "kind" in check else "has no `kind`"
        yield source.fault((*keys, "kind"), what, f"write `{near[0]}`" if near else f"write one of: {', '.join(KINDS)}")
        return
    yield from _unknown(source, check, keys, KINDS[kind])
    yield from _scopes(source, check, (*keys, "scope"))
    for name in ("path", "cwd", "junit"):
        path = check.get(name)
        if isinstance(path, str) and path and plain(path) is None:
            yield source.fault((*keys, name), f"`{shown(path, 80)}` leads outside the workspace", "write it from the top")


def _scopes(source: Source, held: dict[str, JsonValue], keys: Keys) -> Iterator[ContractFault]:
    patterns = held.get(str(keys[-1]))
    for place, pattern in enumerate(patterns if isinstance(patterns, list) else []):
        if isinstance(pattern, str) and (fault := pattern_fault(pattern)):
            yield source.fault((*keys, place), f"`{shown(pattern, 80)}` {fault[0]}", fault[1])


def _twice(source: Source, data: dict[str, JsonValue]) -> Iterator[ContractFault]:
    """A record names what it decides by its id alone, so an id stands once in the whole file."""
    for sections in ((*CHECKED, "non_goals"), ("evidence",)):
        yield from _repeated(source, data, sections)


def _repeated(source: Source, data: dict[str, JsonValue], sections: tuple[str, ...]) -> Iterator[ContractFault]:
    seen: dict[str, Keys] = {}
    for section in sections:
        for place, item in _items(data, section):
            id, keys = item.get("id"), (section, place, "id")
            if not isinstance(id, str):
                continue
            if id in seen:
                first = source.fault(seen[id], "", "").line
                where = f" (first at line {first})" if first else ""
                yield source.fault(keys, f"`{shown(id, 80)}` stands twice{where}", "give each its own id")
            seen.setdefault(id, keys)


def _escalations(source: Source, data: dict[str, JsonValue]) -> Iterator[ContractFault]:
    for place, item in _items(data, "escalation"):
        if not item.get("owner"):
            yield source.fault(("escalation", place, "owner"), "is missing", "name who owns this choice")


def _timed(data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The same data, its times in seconds: `10m`, `1h 30m`, `45s`. What is no time is left for the contract to refuse."""

    def seconds(held: JsonValue, name: str) -> JsonValue:
        if not isinstance(held, dict) or not isinstance(text := held.get(name), str) or not (parts := _TIME.fullmatch(text)):
            return held
        hours, minutes, rest = (float(part or 0) for part in parts.groups())
        return {**held, name: hours * 3600 + minutes * 60 + rest}

    timed = {**data}
    if "budget" in timed:
        timed["budget"] = seconds(timed["budget"], "seconds")
    for section in CHECKED:
        items = timed.get(section)
        if isinstance(items, list):
            timed[section] = [
                {**item, "check": seconds(item["check"], "timeout")} if isinstance(item, dict) and "check" in item else item
                for item in items
            ]
    return timed


def _other_branch(fault: ErrorDetails) -> bool:
    """Whether pydantic only says that a check, which is a table, is no text; or that a text is no table."""
    if "check" not in fault["loc"]:
        return False
    branch = str(fault["loc"][-1])
    return (fault["type"] == "string_type" and branch.startswith("constrained-str")) or (
        fault["type"] == "dict_type" and branch.startswith("tagged-union")
    )


def _told(source: Source, data: JsonValue, fault: ErrorDetails) -> ContractFault:
    """What pydantic found, at the key it is of."""
    keys: Keys = ()
    held = data
    for place, step in enumerate(fault["loc"], 1):
        if isinstance(held, dict) and step in held:
            held = held[str(step)]
        elif isinstance(held, list) and isinstance(step, int):
            held = held[step]
        elif place < len(fault["loc"]) or fault["type"] not in _MISSING:
            continue  # the name of a branch of the type
        keys = (*keys, step)
    if fault["type"] in _MISSING:
        return source.fault(keys, "is missing", "add it")
    what, mend = _words(fault)
    return source.fault(keys, what, mend)


def _words(fault: ErrorDetails) -> tuple[str, str]:
    context = fault.get("ctx", {})
    if fault["type"] == "value_error":
        what, _, mend = str(context.get("error", fault["msg"])).partition("; ")
        return what, mend or "mend it"
    pattern = context.get("pattern")
    if isinstance(pattern, str) and pattern in PATTERNS:
        return "cannot stand", f"write what is asked: {PATTERNS[pattern]}"
    message = fault["msg"]
    if fault["type"] == "string_type":
        return "is no text", "write it as a text, in quotes"
    return f"cannot stand: {message[:1].lower()}{message[1:]}", "write what is asked"
