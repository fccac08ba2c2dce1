"""Reading and writing contract files: TOML and YAML by the suffix, one contract whichever it is written in.

`parse(dumps(contract, format), format) == contract`. Running what a contract asks for lives beside, in `runner`.
"""

import io
from pathlib import Path
from typing import Literal

import tomli_w
from pydantic import JsonValue, TypeAdapter
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from lifecycle.checks.faults import ContractError, ContractFault
from lifecycle.checks.layout.shape import checks_of, shaped
from lifecycle.checks.layout.source import BYTES, Keys, Source, dotted, unreadable
from lifecycle.checks.layout.toml import read_toml
from lifecycle.checks.layout.yaml import read_yaml
from lifecycle.law.contract import Contract

Format = Literal["toml", "yaml"]

SUFFIXES: dict[str, Format] = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
"""Which format a file is in."""

SCHEMA = "https://json-schema.org/draft/2020-12/schema"
_CONTRACT: TypeAdapter[Contract] = TypeAdapter(Contract)


def read(path: str | Path, *, verdict: bool = True) -> Contract:
    """The contract in a file; ContractError tells every fault with its line.

    An empty acceptance list is a fault, as a verdict would be asked on it; `verdict=False` allows one.
    """
    return shaped(load(path), verdict=verdict)


def parse(text: str, format: Format, *, verdict: bool = True, file: str = "contract") -> Contract:
    """The contract that a text is; as `read`. `file` is what errors call it."""
    return shaped(source_of(text, format, file), verdict=verdict)


def load(path: str | Path) -> Source:
    """A contract file as data with its lines, not yet held against anything."""
    path = Path(path)
    format = _format(path)
    try:
        with path.open("rb") as file:
            data = file.read(BYTES + 1)
    except OSError as error:
        raise unreadable(str(path), f"cannot be read: {(error.strerror or 'unreadable').lower()}", "name a file") from None
    try:
        return source_of(data.decode("utf-8-sig"), format, str(path))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise unreadable(str(path), "is no UTF-8", "save it as UTF-8", (line, 1)) from None


def source_of(text: str, format: Format, file: str) -> Source:
    """A text as data with its lines; ContractError if it is larger than `BYTES`, or not of this format."""
    if len(text.encode(errors="replace")) > BYTES:
        raise unreadable(file, f"larger than {BYTES} bytes", "point at files instead of holding them")
    return read_toml(text, file) if format == "toml" else read_yaml(text, file)


def write(contract: Contract, path: str | Path) -> None:
    """Write a contract to a file, in the format of its suffix."""
    path = Path(path)
    path.write_text(dumps(contract, _format(path)), encoding="utf-8")


def dumps(contract: Contract, format: Format) -> str:
    """A contract as a text. ContractError for what TOML cannot say: a null in a callable's arguments."""
    held = _CONTRACT.dump_python(contract, mode="json", exclude_defaults=True)
    data: dict[str, JsonValue] = {"schema": contract.schema, **held}
    for keys, check in checks_of(data):
        section, place, _ = keys
        source = getattr(contract, str(section))[place].check
        check["kind"] = source.kind  # a default, and yet what a reader looks for first
    if format == "toml":
        _no_null(data, ())
        text: str = tomli_w.dumps(data)
        return text
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = 1 << 20
    yaml.dump(_quoted(data), stream)
    made: str = stream.getvalue()
    return made


def schema() -> dict[str, JsonValue]:
    """JSON Schema of a contract file, for editors: times may be texts such as `10m`."""
    made: dict[str, JsonValue] = _CONTRACT.json_schema(mode="validation")
    time: JsonValue = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": "^[0-9][0-9.hmins ]*$"}]}
    for name, key in (("CommandCheck", "timeout"), ("MetricCheck", "timeout"), ("CallableCheck", "timeout"), ("Budget", "seconds")):
        _at(made, "$defs", name, "properties")[key] = time
    return {"$schema": SCHEMA, "$id": "lifecycle/contract/1", **made}


def new(id: str, goal: str) -> str:
    """A contract to begin with, in TOML, with comments. It can be read; `lint` names what is still to be said."""
    contract = Contract(id, "1", goal)
    head = tomli_w.dumps({"schema": contract.schema, "id": contract.id, "version": contract.version, "goal": contract.goal})
    return head + _TEMPLATE


def _at(value: JsonValue, *keys: str) -> dict[str, JsonValue]:
    for key in keys:
        assert isinstance(value, dict)
        value = value[key]
    assert isinstance(value, dict)
    return value


def _format(path: Path) -> Format:
    if (format := SUFFIXES.get(path.suffix.lower())) is None:
        raise unreadable(str(path), f"has the suffix `{path.suffix}`", f"name it with one of: {', '.join(SUFFIXES)}")
    return format


def _no_null(value: JsonValue, keys: Keys) -> None:
    if value is None:
        raise ContractError("contract", [ContractFault(dotted(keys), "is null, which TOML cannot say", "write it as YAML")])
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _no_null(item, (*keys, key))


def _quoted(value: JsonValue) -> JsonValue:
    """Texts in quotes, so that no reader of another YAML takes one for a number, a date or a truth value."""
    match value:
        case str():
            text: str = DoubleQuotedScalarString(value)
            return text
        case dict():
            return {_quoted_key(key): _quoted(item) for key, item in value.items()}
        case list():
            return [_quoted(item) for item in value]
    return value


def _quoted_key(key: str) -> str:
    return key if key.isidentifier() and key.isascii() and key.lower() not in _WORDS else DoubleQuotedScalarString(key)


_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

_TEMPLATE = """
# Where the work may write: paths and patterns from the top of the repository.
write_scope = []  # ["src/retry/", "tests/test_retry.py"]

# What is accepted, and the check that decides it. Without a check the verifier decides by its own word.
[[acceptance]]
id = "c1"
text = "say what must be true when the work is done"
# check = { kind = "command", argv = ["pytest", "-q"], timeout = "10m", cases = ["tests/test_retry.py::test_gives_up"] }
# Other kinds:
# check = { kind = "file", path = "report.csv" }
# check = { kind = "diff" }
# check = { kind = "metric", metric = "p95", argv = ["./measure"], op = "<", threshold = 200, unit = "ms", setup = "4 cores, idle" }
# check = { kind = "callable", entry_point = "acceptance.records:complete", arguments = { expected = 58 } }
# check = { kind = "person", party = "owner", question = "does the page read well?" }

# What counts as evidence for it, and who may skip its check.
# [[evidence]]
# id = "c1"
# evidence = "the JUnit file of the run"
# skip = ["owner"]

# What must stay true: held before and after the work. `[[preconditions]]` are held before it only.
# [[invariants]]
# id = "tests-pass"
# text = "every test passes"
# check = { kind = "command", argv = ["pytest", "-q"], min_cases = 1 }

# What the work must leave alone.
# [[non_goals]]
# id = "no-api-change"
# text = "the public functions keep their names"

# Choices that the worker may point at but not settle, and who owns them.
# [[escalation]]
# choice = "a new dependency"
# owner = "owner"

# [budget]
# seconds = "1h"

# [owners]
# user = "owner"
# verifier = "checker"
"""
