"""One digest for one JSON value: RFC 8785, which other languages compute too; and JSON read without guessing.

`values.canonical` is the form that the law stores and seals: it sorts keys by code point and writes numbers as Python does, so
it is not RFC 8785. Whatever is compared across processes and languages is digested here.
"""

import json

import rfc8785
from pydantic import JsonValue

from lifecycle.law.door import shown
from lifecycle.law.values import sha256, storable


def digest(value: JsonValue) -> str:
    """`sha256:…` of the value's RFC 8785 form; a ValueError for what JSON readers disagree on: integers from 2**53 on, NaN."""
    return sha256(rfc8785.dumps(storable(value)))


def read(text: str | bytes) -> JsonValue:
    """The JSON value that a text is; a ValueError for a key that stands twice, NaN, and what no store could keep."""
    held: JsonValue = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_constant)
    return storable(held)


def _once_each(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    held = dict(pairs)
    if len(held) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key `{shown(next(key for key in keys if keys.count(key) > 1))}` stands twice")
    return held


def _no_constant(name: str) -> JsonValue:
    raise ValueError(f"`{name}` is not JSON")
