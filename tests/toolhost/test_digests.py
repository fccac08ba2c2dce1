"""Digests that other languages compute too, and JSON read without guessing."""

import hashlib
import json
import struct

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from lifecycle.law.tools import ProposedCall
from lifecycle.toolhost import Call, ProposalError, digest
from lifecycle.toolhost.calls import KEPT, TURN, Result, Slot, Turn

from .stage import House, call, working

# RFC 8785, appendix B: the bits of a double, and how it is written
NUMBERS = [
    ("0000000000000000", "0"), ("8000000000000000", "0"), ("0000000000000001", "5e-324"), ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"), ("4340000000000000", "9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"), ("44b52d02c7e14af6", "1e+23"), ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"), ("444b1ae4d6e2ef50", "1e+21"), ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"), ("41b3de4355555553", "333333333.3333332"), ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"), ("43143ff3c1cb0959", "1424953923781206.2"),
]  # fmt: skip


@pytest.mark.parametrize(("bits", "written"), NUMBERS)
def test_numbers_are_written_as_the_rfc_says(bits: str, written: str) -> None:
    """The vectors of RFC 8785, appendix B."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert rfc8785.dumps(number).decode() == written
    assert digest(number) == f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"


def test_keys_are_sorted_as_the_rfc_says() -> None:
    """The vector of section 3.2.3: by UTF-16 units, where a plain sort by code point differs."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    expected = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    held = json.loads(rfc8785.dumps(dict.fromkeys(keys, 1)))
    assert [*held] == expected != sorted(keys)


@pytest.mark.parametrize("value", [2**53, -(2**53), [2**60], float("nan"), float("inf"), {"a": "\ud800"}, "\x00"], ids=repr)
def test_what_readers_disagree_on_is_refused(house: House, value: JsonValue) -> None:
    """Integers of 2**53 and more, NaN, infinity, lone surrogates, NUL: no digest, and no proposal."""
    with pytest.raises(ValueError):
        digest(value)
    working(house.jobs)
    host = house.host()
    with pytest.raises(ProposalError) as error:
        host.turn("job", [call("c0"), Call("c1", "gate", {"text": value})])
    assert (error.value.reason, error.value.calls, host.pending()) == ("arguments", ("c1",), [])


@pytest.mark.parametrize(
    "text",
    [
        '{"id":"c1","tool":"gate","arguments":{"text":"a","text":"b"}}',
        '{"id":"c1","id":"c2","tool":"gate","arguments":{}}',
        '{"id":"c1","tool":"gate","arguments":{"text":NaN}}',
        '{"id":"c1","tool":"gate","arguments":{"n":9007199254740992}}',
        '{"id":"c1","tool":"gate"}',
        '{"id":1,"tool":"gate","arguments":{}}',
        '{"id":"c1","tool":"gate","arguments":{},"approved":true}',
        "[]",
        "",
    ],
)
def test_a_call_that_a_model_wrote_is_read_strictly(text: str) -> None:
    """A key that stands twice, NaN, a large integer, a field too few or too many: refused."""
    with pytest.raises(ValueError):
        Call.read(text)
    assert Call.read('{"id":"c1","tool":"gate","arguments":{"text":"a"}}') == call("c1", text="a")


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab\u20ac\U0001f600", max_size=3), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(values, st.randoms(use_true_random=False))
def test_a_digest_is_of_the_value_and_not_of_its_writing(value: JsonValue, random: object) -> None:
    """Read back from any writing of it, the digest is the same; the order of keys does not count."""
    assert digest(json.loads(json.dumps(value))) == digest(json.loads(json.dumps(value, indent=1, sort_keys=True))) == digest(value)


@given(st.dictionaries(st.text("ab", max_size=3), values, max_size=4))
def test_what_is_kept_is_read_back_to_the_byte(value: dict[str, JsonValue]) -> None:
    """Turns and results: the compare-and-set of the store works on their bytes."""
    record = ProposedCall("c1", "gate", "sha256:01", "sha256:02", value, "shown")
    turn = Turn("t1", "job", 3, (Slot(record, value, "op"),))
    result = Result("c1", "executed", output=value, operation="op", attempts=1)
    assert TURN.dump_json(TURN.validate_json(TURN.dump_json(turn))) == TURN.dump_json(turn)
    assert KEPT.dump_json(KEPT.validate_json(KEPT.dump_json(result))) == KEPT.dump_json(result)
