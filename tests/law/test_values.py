"""What may be stored at all: decided once, at the door, and not by whichever store the job happens to live in."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from lifecycle.law import acts, door
from lifecycle.law.errors import Reason
from lifecycle.law.guards.move import Fault
from lifecycle.law.limits import JSON_DEPTH, Limits
from lifecycle.law.log import written
from lifecycle.law.terms import Condition
from tests.law.script import NOON

Fields = dict[str, object]


def text(name: str, **fields: object) -> str:
    """An act as JSON; what Python's JSON would write as NaN or as a lone surrogate is written so."""
    return json.dumps({"act": name, **fields})


def nested(depth: int) -> list[object]:
    """A list in a list, so deep."""
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def malformed(told: acts.Act | Fault) -> bool:
    return isinstance(told, Fault) and told.reason is Reason.MALFORMED and bool(told.detail and told.mend)


REQUEST: Fields = {"goal": "build it", "worker": "wes"}

WRONG: list[tuple[str, str, Fields]] = [
    *((f"NUL in {name}.{field}", name, {**fields, field: "a\x00b"}) for name, field, fields in (
        ("decline", "reason", {}), ("decline", "mend", {"reason": "no"}), ("progress", "line", {"nothing_new": True}),
        ("request", "goal", {"worker": "wes"}), ("deliver", "value", {}), ("fail", "words", {}), ("resolve", "answer", {}),
    )),
    *((f"a lone surrogate in {name}.{field}", name, {**fields, field: "a\ud800b"}) for name, field, fields in (
        ("decline", "reason", {}), ("progress", "line", {"nothing_new": True}), ("request", "goal", {"worker": "wes"}),
        ("deliver", "value", {}), ("resolve", "answer", {}),
    )),
    ("NUL in a key", "deliver", {"value": {"a\x00": 1}}),
    ("a lone surrogate in a key", "deliver", {"value": {"\udfff": 1}}),
    *((f"the number {number!r}", "deliver", {"value": [number]}) for number in (
        float("nan"), float("inf"), -float("inf"), 2**53, -(2**53), 10**300,
    )),
    *((f"{depth} levels", "deliver", {"value": nested(depth)}) for depth in (JSON_DEPTH + 1, 900)),
    *((f"the id {id!r}", "accept", {"answers": id}) for id in (
        "", " ", "a b", "a/b", "a\n", "\na", "ä", "a.b", "x" * 129, 1, ["a"], "a\x00",
    )),
    *((f"`clock` as {field}", "request", {**REQUEST, field: value}) for field, value in (
        ("worker", "clock"), ("reviewer", "clock"), ("verifier", "clock"), ("approver", "clock"), ("authorities", ["clock"]),
    )),
    ("`clock` as whom a need asks", "block", {"need": {"what": "a key", "whom": "clock"}}),
    ("`clock` as an authority", "confirm", {"waivers": [{"id": "a", "authority": "clock", "why": "so"}]}),
    *((f"the time {time!r}", "request", {**REQUEST, "complete_by": time}) for time in (
        "2026-12-01T12:00:00", "2026-12-01", "1899-12-31T23:59:59Z", "9000-01-01T00:00:00Z", "noon", "2026-13-01T00:00:00Z",
    )),
    *((f"the interval {length!r}", "request", {**REQUEST, "intervals": {"lease": length}}) for length in (0, -1, "PT0S", 1e99)),
    *((f"{field} {value!r}", "progress", {"line": "so", "nothing_new": True, "spent": {field: value}}) for field, value in (
        ("tokens", -1), ("tokens", 2**53), ("tokens", 1.5), ("money", "-1"), ("money", "NaN"), ("money", "1e99"),
        ("seconds", -1), ("seconds", "NaN"), ("seconds", "Infinity"), ("seconds", 1e10),
    )),
    ("no reason at all", "decline", {}),
    *((f"the reason {words!r}", "decline", {"reason": words}) for words in ("", " ", "\t\n", 7, None)),
    *((f"the line {line!r}", "progress", {"line": line, "nothing_new": True}) for line in ("", " ", "two\nlines", "two\rlines")),
    ("a field nobody knows", "cancel", {"why": "so"}),
    ("a kind nobody knows", "decline", {"reason": "no", "kind": "lazy"}),
    ("a check nobody knows", "request", {**REQUEST, "conditions": [{"id": "a", "text": "a", "check": {"kind": "magic"}}]}),
    ("an empty list of what offends", "veto", {"offending": [], "mend": "less"}),
    ("an empty list of what to mend", "rework", {"reason": "no", "mend": []}),
    *((f"{field} twice", name, {**fields, field: [item, item]}) for name, field, item, fields in (
        ("request", "conditions", {"id": "a", "text": "a"}, REQUEST),
        ("request", "exclusions", {"id": "a", "text": "a"}, REQUEST),
        ("request", "requirements", {"id": "a", "invariant": "ordering", "value": "total"}, REQUEST),
        ("propose", "calls", {"id": "a", "tool": "t", "contract": "sha256:0", "policy": "sha256:0", "arguments": {}}, {}),
        ("confirm", "checks", {"id": "a", "status": "passed"}, {}),
        ("confirm", "waivers", {"id": "a", "authority": "ann", "why": "so"}, {}),
    )),
    ("one condition reported twice", "deliver", {"report": {"conditions": [{"id": "a", "status": "met"}] * 2}}),
    ("a contract and conditions", "request", {
        **REQUEST, "contract": {"id": "c", "version": "1", "goal": "g"}, "conditions": [{"id": "a", "text": "a"}],
    }),
    ("a contract's exclusion and the request's of one id", "request", {
        **REQUEST, "contract": {"id": "c", "version": "1", "goal": "g", "write_scope": ["src"]},
        "exclusions": [{"id": "c-write-scope", "text": "a"}],
    }),
    ("a contract's exclusion with the id of its write scope", "request", {**REQUEST, "contract": {
        "id": "c", "version": "1", "goal": "g", "write_scope": ["src"], "non_goals": [{"id": "c-write-scope", "text": "a"}],
    }}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_what_no_store_could_keep_is_malformed(name: str, fields: Fields) -> None:
    assert malformed(door.read(text(name, **fields)))


@pytest.mark.parametrize(("name", "fields"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_and_so_it_is_for_a_caller_in_the_process(name: str, fields: Fields) -> None:
    with pytest.raises(ValidationError):
        acts.ACTS[name].model_validate(fields)


RIGHT: list[tuple[str, str, Fields]] = [
    ("the largest integers", "deliver", {"value": [2**53 - 1, -(2**53) + 1]}),
    ("as deep as may be", "deliver", {"value": nested(JSON_DEPTH)}),
    ("a character beyond the plane", "decline", {"reason": "no 🙂 \U0010ffff"}),
    ("control characters but NUL", "decline", {"reason": "\x01\x1f\x7f\u2028"}),
    ("lines in a text", "decline", {"reason": "no\nand no"}),
    ("the longest id", "accept", {"answers": "x" * 128}),
    ("a party that is almost the clock", "request", {"goal": "g", "worker": "Clock"}),
    ("the year 1900", "request", {**REQUEST, "complete_by": "1900-01-01T00:00:00Z"}),
    ("the year 8999", "request", {**REQUEST, "complete_by": "8999-12-31T23:59:59.999999Z"}),
    ("any zone", "request", {**REQUEST, "complete_by": "2026-12-01T12:00:00+14:00"}),
    ("money to nine places", "progress", {"line": "so", "nothing_new": True, "spent": {"money": "0.000000001"}}),
    ("nothing but null", "deliver", {"value": None}),
    ("what looks like an act", "deliver", {"value": {"act": "__class__", "__proto__": {}, "": ""}}),
]


@pytest.mark.parametrize(("name", "fields"), [row[1:] for row in RIGHT], ids=[row[0] for row in RIGHT])
def test_what_may_be_kept_is_kept_and_read_back_the_same(name: str, fields: Fields) -> None:
    told = door.read(text(name, **fields))
    assert isinstance(told, acts.Act)
    assert written(told).isascii()
    assert door.read(written(told)) == told == acts.ACTS[name].model_validate(fields)


@pytest.mark.parametrize(
    "sent",
    [
        "", " ", "null", "[]", "7", '"accept"', "{", '{"act": "accept"', '{"act": "accept"} {}', "{'act': 'accept'}",
        '{"act": "decline", "reason": "no", "reason": "no"}',
        '{"act": "deliver", "value": {"a": 1, "a": 2}}',
        '{"act": "deliver", "value": NaN}', '{"act": "deliver", "value": -Infinity}', '{"act": "deliver", "value": 1e400}',
        '{"act": "deliver", "value": ' + "9" * 5000 + "}",
        '{"act": "deliver", "value": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"act": null}', '{"act": ["accept"]}', '{"reason": "no"}',
        b"\xff\xfe", b'{"act": "decline", "reason": "\xff"}', b'{"act": "decline", "reason": "\xed\xa0\x80"}',
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_not_one_json_object_is_malformed(sent: str | bytes) -> None:
    assert malformed(door.read(sent))


def test_a_result_that_is_too_large_is_refused_by_size_before_anything_is_read() -> None:
    told = door.read("[" * (1 << 20) + "]")
    assert isinstance(told, Fault) and told.reason is Reason.PAYLOAD_TOO_LARGE


def test_the_size_is_that_of_the_bytes_that_are_stored() -> None:
    act = acts.Decline(reason="é" * 100)
    size = len(written(act))
    assert door.weigh(written(act), act, Limits(payload_bytes=size)) is None
    told = door.weigh(written(act), act, Limits(payload_bytes=size - 1))
    assert told is not None and told.reason is Reason.PAYLOAD_TOO_LARGE


def test_a_text_is_bounded_wherever_it_stands() -> None:
    for act in (acts.Decline(reason="x" * 11), acts.Deliver(value={"k": ["x" * 11]}), acts.Deliver(value={"x" * 11: 1})):
        told = door.weigh(written(act), act, Limits(text_chars=10))
        assert told is not None and told.reason is Reason.TEXT_TOO_LONG
        assert door.weigh(written(act), act, Limits(text_chars=11)) is None


def test_every_time_is_kept_as_the_same_instant_in_utc() -> None:
    act = acts.Request.model_validate({**REQUEST, "complete_by": "2026-12-01T14:00:00+02:00"})
    assert act.complete_by == NOON
    assert act.complete_by is not None and act.complete_by.tzinfo is UTC


def test_a_naive_time_is_refused_in_every_act_that_has_one() -> None:
    naive = datetime(2026, 12, 1, 12)
    with pytest.raises(ValidationError):
        acts.Defer(until=naive, looking_into="it")
    with pytest.raises(ValidationError):
        acts.Propose(expires_at=naive)
    with pytest.raises(ValidationError):
        acts.Accept(at=naive)
    with pytest.raises(ValidationError):
        acts.Lapse(cause="stop", due=naive)


def test_nothing_in_an_act_can_be_changed_afterwards() -> None:
    act = acts.Accept(conditions=(Condition("a", "a"),))
    with pytest.raises(ValidationError):
        act.id = "other"
    with pytest.raises(AttributeError):
        act.conditions[0].text = "other"  # type: ignore[index,misc]


def test_the_claimed_time_and_the_id_are_no_part_of_what_an_act_says() -> None:
    assert (
        written(acts.Cancel(id="a", at=NOON)) == written(acts.Cancel(id="b", at=NOON + timedelta(days=1))) == written(acts.Cancel())
    )
