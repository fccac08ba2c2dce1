"""How a bundle of decisions is judged: whole, by id and digest, with two words; and a second statement of just that."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle.law.tools import ProposedCall, ToolContract, judge
from lifecycle.law.values import Json

SET = "s1"


def call(name: str, gated: bool = True, **arguments: Json) -> ProposedCall:
    """A proposed call of this id."""
    return ProposedCall(name, "edit", "sha256:01", "sha256:02", arguments, gated=gated)


C1, C2, FREE = call("c1", path="a"), call("c2", path="b"), call("c3", gated=False)
CALLS = (C1, C2, FREE)


def word(on: ProposedCall, verdict: Json = "approved", **more: Json) -> dict[str, Json]:
    """One decision on a call."""
    return {"call": on.id, "digest": on.digest, "verdict": verdict, **more}


def bundle(*decisions: Json, set_id: Json = SET) -> Json:
    """What an approver sends."""
    return {"set": set_id, "decisions": list(decisions)}


def stated(calls: tuple[ProposedCall, ...], sent: Json) -> dict[str, str]:
    """The second statement: what becomes of each gated call. Whatever is not exactly right rejects them all."""
    gated = {one.id: one.digest for one in calls if one.gated}
    malformed = dict.fromkeys(gated, "malformed")
    if not isinstance(sent, dict) or set(sent) != {"set", "decisions"} or sent["set"] != SET:
        return malformed
    decisions = sent["decisions"]
    if not isinstance(decisions, list) or not all(isinstance(one, dict) for one in decisions):
        return malformed
    if any(set(one) != {"call", "digest", "verdict"} for one in decisions):
        return malformed
    if any(not isinstance(one["call"], str) or one["verdict"] not in ("approved", "denied") for one in decisions):
        return malformed
    if Counter(one["call"] for one in decisions) != Counter([*gated]):
        return malformed
    if any(one["digest"] != gated[one["call"]] for one in decisions):
        return malformed
    return {one["call"]: one["verdict"] for one in decisions}


WELL: list[tuple[str, Json, dict[str, str]]] = [
    ("all approved", bundle(word(C1), word(C2)), {"c1": "approved", "c2": "approved"}),
    ("in another order", bundle(word(C2), word(C1, "denied")), {"c1": "denied", "c2": "approved"}),
    ("all denied", bundle(word(C1, "denied"), word(C2, "denied")), {"c1": "denied", "c2": "denied"}),
]

MALFORMED: list[tuple[str, Json]] = [
    ("nothing", None),
    ("a word", "approved"),
    ("a list", [word(C1), word(C2)]),
    ("no set", {"decisions": [word(C1), word(C2)]}),
    ("another set", bundle(word(C1), word(C2), set_id="s2")),
    ("a set that is no text", bundle(word(C1), word(C2), set_id=1)),
    ("no decisions", {"set": SET}),
    ("an empty list", bundle()),
    ("one of two", bundle(word(C1))),
    ("one twice", bundle(word(C1), word(C1))),
    ("one twice and the other", bundle(word(C1), word(C2), word(C1))),
    ("an ungated sibling too", bundle(word(C1), word(C2), word(FREE))),
    ("a call never proposed", bundle(word(C1), word(C2), word(call("c9")))),
    ("another call's digest", bundle(word(C1), {**word(C2), "digest": C1.digest})),
    ("other arguments than the stored record", bundle(word(C1), word(call("c2", path="elsewhere")))),
    ("no digest", bundle(word(C1), {"call": "c2", "verdict": "approved"})),
    ("a word too many", bundle(word(C1), word(C2, note="please"))),
    ("something beside the decisions", {"set": SET, "decisions": [word(C1), word(C2)], "all": True}),
    *((f"the verdict {verdict!r}", bundle(word(C1), word(C2, verdict))) for verdict in (
        "no", "yes", 1, 0, True, False, None, "true", "null", "Approved", "approved ", "", [], {}, ["approved"],
    )),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "verdicts"), [row[1:] for row in WELL], ids=[row[0] for row in WELL])
def test_a_valid_bundle_decides_each_call_by_its_id(sent: Json, verdicts: dict[str, str]) -> None:
    assert judge(SET, CALLS, sent) == (verdicts, "")
    assert stated(CALLS, sent) == verdicts


@pytest.mark.parametrize("sent", [row[1] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_a_malformed_bundle_rejects_every_gated_call_and_says_why(sent: Json) -> None:
    verdicts, why = judge(SET, CALLS, sent)
    assert verdicts == stated(CALLS, sent) == {"c1": "malformed", "c2": "malformed"}
    assert why


def mangled(dice: Random) -> Json:
    """A bundle with a few things wrong with it, or none."""
    decisions: list[Json] = [word(one, dice.choice(["approved", "denied"])) for one in (C1, C2)]
    dice.shuffle(decisions)
    for _ in range(dice.choice([0, 0, 1, 1, 2])):
        one = dice.choice(decisions) if decisions else {}
        assert isinstance(one, dict)
        match dice.randrange(8):
            case 0:
                one["verdict"] = dice.choice(["no", True, None, 1, "approve"])
            case 1:
                one["digest"] = dice.choice([C1.digest, C2.digest, FREE.digest, "sha256:00", None])
            case 2:
                one["call"] = dice.choice(["c1", "c2", "c3", "c9", 1, None])
            case 3:
                one.pop(dice.choice(["verdict", "digest", "call"]), None)
            case 4:
                decisions.append(word(dice.choice(CALLS)))
            case 5 if decisions:
                decisions.pop()
            case 6:
                one["more"] = 1
            case 7:
                decisions = [*decisions[:1], *decisions]
    return bundle(*decisions, set_id=dice.choice([SET] * 9 + ["s2", None]))


@settings(max_examples=400, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 2**24 - 1))
def test_the_library_and_the_statement_judge_alike(seed: int) -> None:
    sent = mangled(Random(seed))
    verdicts, why = judge(SET, CALLS, sent)
    assert verdicts == stated(CALLS, sent)
    assert bool(why) is ("malformed" in verdicts.values())


def test_a_set_with_nothing_gated_is_decided_by_no_decisions() -> None:
    assert judge(SET, (FREE,), bundle()) == ({}, "")


@pytest.mark.parametrize(
    "other",
    [
        ProposedCall("c2", "edit", "sha256:01", "sha256:02", {"path": "a"}),
        ProposedCall("c1", "test", "sha256:01", "sha256:02", {"path": "a"}),
        ProposedCall("c1", "edit", "sha256:09", "sha256:02", {"path": "a"}),
        ProposedCall("c1", "edit", "sha256:01", "sha256:09", {"path": "a"}),
        ProposedCall("c1", "edit", "sha256:01", "sha256:02", {"path": "b"}),
        ProposedCall("c1", "edit", "sha256:01", "sha256:02", {"path": "a"}, preview="- a"),
        ProposedCall("c1", "edit", "sha256:01", "sha256:02", {"path": "a"}, gated=False),
    ],
)
def test_a_calls_digest_is_of_the_whole_record(other: ProposedCall) -> None:
    assert other.digest != C1.digest
    assert call("c1", path="a").digest == C1.digest


def test_a_tools_digest_is_of_every_word_of_its_contract() -> None:
    tool = ToolContract("edit", {"type": "object"}, preview="- a")
    others = [
        ToolContract("edit", {"type": "object"}, preview="- b"),
        ToolContract("edit", {"type": "object"}, preview="- a", approval="policy"),
        ToolContract("edit", {"type": "array"}, preview="- a"),
        ToolContract("edit", {"type": "object"}, preview="- a", postcondition="it is there"),
    ]
    assert len({tool.digest, *(other.digest for other in others)}) == 5
    assert ToolContract("edit", {"type": "object"}, preview="- a").digest == tool.digest


def test_what_a_tool_does_not_say_is_the_worst() -> None:
    tool = ToolContract("edit", {})
    assert (tool.effect, tool.retry_safe, tool.idempotency_key, tool.approval) == ("destructive", False, False, "consent")
