"""A job as plain data, so that a long log need not be read from its beginning.

A snapshot is a copy of what the log tells, never a truth of its own: thrown away at will, made again by `replay`. JSON, never a
pickle; one job has one byte string, and one changed byte is found. Which facts a job has is read off its attrs classes, so a fact
that is added there is kept here. Nothing here knows what a fact means.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from types import NoneType
from typing import cast, get_args, get_type_hints

from attrs import AttrsInstance, fields_dict, has
from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json

from lifecycle.law.errors import CorruptSnapshot, UnknownLaw
from lifecycle.law.job import Job
from lifecycle.law.table import LAWS
from lifecycle.law.values import canonical, instant, sha256

FORMAT = "lifecycle/job/1"
"""How the facts are laid out. What they mean is the law's, whose version stands beside it."""

_MICROSECOND = timedelta(microseconds=1)
_KIND = "is"
"""Where an attrs object says which class it is of: several may stand in one place, as what stands in `Job.standing`."""


def dump(job: Job) -> bytes:
    """The job as canonical JSON: the same job, the same bytes."""
    told: dict[str, JsonValue] = {"snapshot": FORMAT, "law": job.law, "job": _told(Job, job)}
    return canonical({**told, "digest": _digest(told)})


def load(data: bytes) -> Job:
    """The job that `dump` was given: UnknownLaw under a law this build does not know, CorruptSnapshot if it is not what it was."""
    try:
        told = cast(dict[str, JsonValue], from_json(data))
        if told.pop("digest") != _digest(told):
            raise CorruptSnapshot("its digest is not that of its content")
        if told["snapshot"] != FORMAT:
            raise CorruptSnapshot(f"it is a `{told['snapshot']}`, this build reads `{FORMAT}`")
        facts, law = cast(dict[str, JsonValue], told["job"]), cast(int, told["law"])
        if law not in LAWS:
            raise UnknownLaw(str(facts["id"]), law, sorted(LAWS))
        return cast(Job, _read(Job, facts))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptSnapshot(f"it holds no job ({type(error).__name__})") from error


def _told(hint: object, value: object) -> JsonValue:
    """A fact as JSON; `hint` is the type it is declared with."""
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    if has(type(value)):
        facts = {name: _told(fact, getattr(value, name)) for name, fact in _facts(type(value)).items()}
        return {_KIND: type(value).__name__, **facts}
    told = cast(JsonValue, _adapter(hint).dump_python(value, mode="json"))
    return sorted(told, key=canonical) if isinstance(value, frozenset) and isinstance(told, list) else told


def _read(hint: object, told: JsonValue) -> object:
    """The fact of that type that `_told` told."""
    if told is None and NoneType in get_args(hint):
        return None
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    if kinds == [datetime]:
        return datetime.fromisoformat(cast(str, told))
    if kinds == [timedelta]:
        return timedelta(microseconds=cast(int, told))
    named = {kind.__name__: kind for kind in kinds if isinstance(kind, type) and has(kind)}
    if not named:
        return _adapter(hint).validate_python(told)
    facts = dict(cast(Mapping[str, JsonValue], told))
    kind = named[cast(str, facts.pop(_KIND))]
    hints = _facts(kind)
    if facts.keys() != hints.keys():
        raise ValueError(f"other facts than those of `{kind.__name__}`")
    return kind(**{name: _read(fact, facts[name]) for name, fact in hints.items()})


def _digest(told: Mapping[str, JsonValue]) -> str:
    return sha256(canonical(dict(told)))


@cache
def _facts(kind: type[AttrsInstance]) -> Mapping[str, object]:
    """The facts an attrs class holds, in its order, each with the type it is declared with."""
    hints = get_type_hints(kind)
    return {name: hints[name] for name in fields_dict(kind)}


@cache
def _adapter(hint: object) -> TypeAdapter[object]:
    """What writes and reads whatever is no attrs class: pydantic's dataclasses, texts, numbers, enums, tuples of them."""
    return TypeAdapter(hint)
