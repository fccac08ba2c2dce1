"""A job as plain data, so that a long log need not be read from its beginning.

A snapshot is a copy of what the log tells, never a truth of its own: thrown away at will, made again by `replay`. JSON, never a
pickle; one job has one byte string, and one changed byte is found. Which facts a job has is read off its attrs classes, so a fact
that is added there is kept here. Nothing here knows what a fact means.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Union, cast, get_args, get_origin, get_type_hints

from attrs import AttrsInstance, fields_dict, has
from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json

from lifecycle.law.errors import CorruptSnapshot, UnknownLaw
from lifecycle.law.job import Job
from lifecycle.law.table import LAWS
from lifecycle.law.values import canonical, instant, sha256

FORMAT = "lifecycle/job/1"
"""How the facts are laid out. What they mean is the law's, whose version stands beside it."""

_KIND = "is"  # where an attrs object names its class: several may stand in one place, as in `Job.standing`


def dump(job: Job) -> bytes:
    """The job as canonical JSON: the same job, the same bytes."""
    told: dict[str, JsonValue] = {"snapshot": FORMAT, "law": job.law, "job": _told(job)}
    return canonical({**told, "digest": sha256(canonical(told))})


def load(data: bytes) -> Job:
    """The job that `dump` was given: UnknownLaw under a law this build does not know, CorruptSnapshot if it is not what it was."""
    try:
        told = cast(dict[str, JsonValue], from_json(data))
        if told.pop("digest") != sha256(canonical(told)):
            raise CorruptSnapshot("its digest is not that of its content")
        if told["snapshot"] != FORMAT:
            raise CorruptSnapshot(f"it is a `{told['snapshot']}`, this build reads `{FORMAT}`")
        facts, law = cast(dict[str, JsonValue], told["job"]), cast(int, told["law"])
        if law not in LAWS:
            raise UnknownLaw(str(facts["id"]), law, sorted(LAWS))
        return cast(Job, _read(Job, facts))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptSnapshot(f"it holds no job ({type(error).__name__})") from error


def _told(value: object) -> JsonValue:
    """A fact as JSON."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return str(value)
        case datetime():
            return instant(value)
        case timedelta():
            return value // timedelta(microseconds=1)
        case tuple():
            return [_told(item) for item in value]
        case frozenset():
            return sorted([_told(item) for item in value], key=canonical)
        case _:
            return _told_whole(type(value), value)


def _told_whole(kind: object, value: object) -> JsonValue:
    if isinstance(kind, type) and has(kind):
        facts: dict[str, JsonValue] = {name: _told(getattr(value, name)) for name in _facts(kind)}
        return {_KIND: kind.__name__, **facts}
    return cast(JsonValue, _adapter(kind).dump_python(value, mode="json"))


def _read(hint: object, told: JsonValue) -> object:
    """The fact, declared with that type, that `_told` told."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Union or origin is UnionType:
        return None if told is None and NoneType in parts else _read(_meant(parts, told), told)
    if origin is tuple:
        items = cast(list[JsonValue], told)
        return tuple(map(_read, parts if parts[-1] is not ... else [parts[0]] * len(items), items))
    if origin is frozenset:
        return frozenset(_read(parts[0], item) for item in cast(list[JsonValue], told))
    if hint is datetime:
        return datetime.fromisoformat(cast(str, told))
    if hint is timedelta:
        return timedelta(microseconds=cast(int, told))
    if isinstance(hint, type) and has(hint):
        return _read_facts(hint, cast(dict[str, JsonValue], told))
    return _adapter(hint).validate_python(told)


def _meant(parts: tuple[object, ...], told: JsonValue) -> object:
    """The part of a union that was told: the only one that is not None, or the attrs class it names."""
    first, *others = [part for part in parts if part is not NoneType]
    named = {part.__name__: part for part in parts if isinstance(part, type)}
    return named[cast(dict[str, str], told)[_KIND]] if others else first


def _read_facts(kind: type[AttrsInstance], told: dict[str, JsonValue]) -> AttrsInstance:
    hints = _facts(kind)
    if told.keys() != {_KIND, *hints} or told[_KIND] != kind.__name__:
        raise ValueError(f"not the facts of `{kind.__name__}`")
    return kind(**{name: _read(hint, told[name]) for name, hint in hints.items()})


@cache
def _facts(kind: type[AttrsInstance]) -> Mapping[str, object]:
    """The facts an attrs class holds, in its order, each with the type it is declared with."""
    hints = get_type_hints(kind)
    return {name: hints[name] for name in fields_dict(kind)}


@cache
def _adapter(hint: object) -> TypeAdapter[object]:
    """What writes and reads the rest: pydantic's dataclasses, texts, numbers, enums."""
    return TypeAdapter(cast(type[object], hint))
