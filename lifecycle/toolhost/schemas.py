"""JSON Schema, with nothing ever fetched: which schemas a tool may have, and what in a value does not fit one.

A reference that leaves its own document is refused when the tool is registered, and the validator's registry is empty, so that
nothing could be fetched if one came through.
"""

from collections.abc import Iterator

from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from pydantic import JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, specification_with

from lifecycle.law.door import shown

DIALECTS = {kind.META_SCHEMA["$schema"] for kind in (Draft202012Validator, Draft201909Validator, Draft7Validator)}
"""The dialects that a schema may name; one that names none is of 2020-12."""

FAULTS = 3
"""How many faults of one value are told; the first ones are what a person mends."""

_DATA = {"const", "enum", "default", "examples"}
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def unfit(schema: JsonValue) -> str:
    """Why this is no schema that a tool may have; empty if it is one."""
    if not isinstance(schema, dict):
        return "a schema is a JSON object"
    dialect = schema.get("$schema")
    if dialect is not None and dialect not in DIALECTS:
        return f"the dialect `{shown(str(dialect))}` is not known here"
    try:
        _kind(schema).check_schema(schema)
    except SchemaError as error:
        return f"at `{_path(error)}`: {shown(error.message)}"
    resource = specification_with(str(dialect), default=DRAFT202012).create_resource(schema)
    resolver = Registry().with_resource("", resource).resolver()
    for reference in _referred(schema):
        if not reference.startswith("#"):
            return f"the reference `{shown(reference)}` leaves the document, and nothing is ever fetched"
        try:
            resolver.lookup(reference)
        except Unresolvable:
            return f"the reference `{shown(reference)}` leads nowhere"
    return ""


def faults(schema: JsonValue, value: JsonValue) -> list[str]:
    """What in the value does not fit the schema, in words; empty if it fits."""
    assert isinstance(schema, dict)
    found = _kind(schema)(schema, registry=Registry()).iter_errors(value)
    return [f"`{_path(error)}`: {shown(error.message)}" for error, _ in zip(found, range(FAULTS), strict=False)]


def _kind(schema: JsonValue) -> type[Validator]:
    assert isinstance(schema, dict)
    return validator_for(schema, default=Draft202012Validator)


def _referred(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _referred(item)
    elif isinstance(schema, dict):
        for key, item in schema.items():
            if key in _REFERENCES and isinstance(item, str):
                yield item
            elif key not in _DATA:
                yield from _referred(item)


def _path(error: ValidationError | SchemaError) -> str:
    return shown(".".join(map(str, error.absolute_path))) or "it"
