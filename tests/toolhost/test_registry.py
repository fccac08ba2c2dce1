"""What may be registered, and what a schema may ask for: nothing is ever fetched."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic import JsonValue

from lifecycle.toolhost import Call, ProposalError, RegistrationError, Registry, ToolContract

from .stage import SCHEMA, Effects, House, call, contract, does, told, working

UNFIT: list[tuple[str, dict[str, object], str]] = [
    ("an unknown approval word", {"approval": "befor_execute"}, "malformed_contract"),
    ("an unknown effect", {"effect": "readonly"}, "malformed_contract"),
    ("an unknown field", {"aproval": "none"}, "malformed_contract"),
    ("consent without a preview", {"approval": "consent", "preview": " "}, "no_preview"),
    ("nothing said, and so consent", {}, "no_preview"),
    ("a schema that is none", {"approval": "none", "input_schema": {"type": "objekt"}}, "invalid_schema"),
    ("no schema", {"approval": "none", "input_schema": None}, "invalid_schema"),
    ("an output schema that is none", {"approval": "none", "output_schema": {"minimum": "1"}}, "invalid_schema"),
    ("a remote reference", {"approval": "none", "input_schema": {"$ref": "http://example.org/schema"}}, "invalid_schema"),
    ("a file's reference", {"approval": "none", "input_schema": {"items": {"$ref": "other.json#/a"}}}, "invalid_schema"),
    ("a reference to nothing", {"approval": "none", "input_schema": {"$ref": "#/$defs/a"}}, "invalid_schema"),
    ("an unknown dialect", {"approval": "none", "input_schema": {"$schema": "http://example.org/s"}}, "invalid_schema"),
    ("a destroyer that is run again blindly", {"approval": "none", "retry_safe": True}, "idempotency"),
    ("a read with a key", {"approval": "none", "effect": "read", "idempotency_key": True}, "idempotency"),
    ("no time to run in", {"approval": "none", "timeout": 0}, "no_time"),
    ("a postcondition that nobody checks", {"approval": "none", "postcondition": "it is there"}, "unchecked"),
]


@pytest.mark.parametrize(("what", "fields", "reason"), UNFIT, ids=[what for what, _, _ in UNFIT])
def test_a_contract_that_could_not_be_kept_is_not_registered(
    effects: Effects, what: str, fields: dict[str, JsonValue], reason: str
) -> None:
    """Refused with a typed reason, in one line that says what would mend it; the name stays free."""
    registry = Registry()
    with pytest.raises(RegistrationError) as error:
        registry.register({"name": "drop", "input_schema": SCHEMA, **fields}, does(effects, "drop"))
    assert (error.value.reason, error.value.tool, registry.get("drop")) == (reason, "drop", None)
    assert "\n" not in str(error.value) and "to mend it" in str(error.value)


def test_what_is_not_said_is_the_worst(effects: Effects) -> None:
    """An unannotated tool destroys, is not idempotent, and asks for consent."""
    tool = Registry().register({"name": "drop", "input_schema": SCHEMA}, does(effects, "drop"), preview=str)
    held = tool.contract
    assert (held.effect, held.approval, held.retry_safe, held.idempotency_key) == ("destructive", "consent", False, False)


def test_the_same_tool_twice_is_refused_too(effects: Effects) -> None:
    """The same contract with another executor: which one runs must not hang on the order of imports."""
    registry = Registry()
    first = registry.register(contract("gate"), does(effects, "gate"))
    with pytest.raises(RegistrationError, match="registered already"):
        registry.register(contract("gate"), does(effects, "other"))
    assert registry.get("gate") is first


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """A server that counts who asks, and its address."""
    hits: list[str] = []

    class Counts(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "object"}')

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Counts) as held:
        thread = threading.Thread(target=held.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{held.server_port}", hits
        held.shutdown()
        thread.join()


def test_no_remote_reference_is_ever_fetched(server: tuple[str, list[str]], house: House) -> None:
    """A reference, an id, a dialect or a dynamic reference that leads to a server: it is never asked."""
    address, hits = server
    registry = Registry()
    for schema in (
        {"$ref": f"{address}/a"},
        {"properties": {"text": {"$ref": f"{address}/b#/type"}}},
        {"$dynamicRef": f"{address}/c"},
        {"$schema": f"{address}/d"},
        {"$id": f"{address}/e/", "$ref": "f"},
        {"$id": f"{address}/g", "allOf": [{"$ref": f"{address}/h"}]},
    ):
        with pytest.raises(RegistrationError, match=r"nothing is ever fetched|dialect"):
            registry.register(contract("gate", input_schema=schema), does(house.effects, "gate"))
    data = {"type": "object", "properties": {"text": {"const": "a", "default": {"$ref": f"{address}/i"}}}}
    registry.register(contract("gate", input_schema=data, approval="none"), does(house.effects, "gate"))
    working(house.jobs)
    assert told(house.host(registry).turn("job", [call("c1", text="a")]).results) == {"c1": "executed"}
    assert hits == []


def test_a_reference_inside_the_schema_is_followed(house: House) -> None:
    """`$defs` and a recursive schema work as ever."""
    schema: JsonValue = {
        "type": "object",
        "properties": {"text": {"$ref": "#/$defs/word"}, "more": {"$ref": "#"}},
        "$defs": {"word": {"type": "string", "maxLength": 3}},
    }
    registry = Registry()
    registry.register(contract("gate", input_schema=schema, approval="none"), does(house.effects, "gate"))
    working(house.jobs)
    host = house.host(registry)
    assert told(host.turn("job", [Call("c1", "gate", {"text": "abc", "more": {"text": "a"}})]).results) == {"c1": "executed"}
    with pytest.raises(ProposalError, match=r"more\.text"):
        host.turn("job", [Call("c1", "gate", {"text": "abc", "more": {"text": "long"}})])


def test_what_a_person_is_shown(effects: Effects) -> None:
    """The tool's own preview, else the contract's template, else the arguments; a `$` in an argument is shown as it is."""
    registry, plain = Registry(), {"input_schema": SCHEMA, "approval": "none"}
    own = registry.register(ToolContract("own", **plain, preview="no"), does(effects, "own"), preview=lambda a: f"<{a['text']}>")  # type: ignore[arg-type]
    template = registry.register(ToolContract("template", **plain, preview="rm $text"), does(effects, "template"))  # type: ignore[arg-type]
    bare = registry.register(ToolContract("bare", **plain), does(effects, "bare"))  # type: ignore[arg-type]
    shown = [tool.preview({"text": "$text"}) for tool in (own, template, bare)]
    assert shown == ["<$text>", "rm $text", 'bare {"text":"$text"}']
