"""What an approver may send, in a matrix and at random: only approved calls ever reach an executor, which counts."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from lifecycle import LifecycleError
from lifecycle.toolhost import Host, Pending
from tests.engine.stories import DAY, NOON, Clock

from .stage import Effects, House, call, told, tools, words, working
from .statement import Said, ends

Bundle = dict[str, JsonValue]
SETTLED = settings(max_examples=100, deadline=None)


def edited(bundle: Bundle, **fields: JsonValue) -> Bundle:
    """The bundle, with other fields in its first decision."""
    first, *rest = bundle["decisions"]  # type: ignore[misc]
    return {**bundle, "decisions": [{**first, **fields}, *rest]}  # type: ignore[dict-item]


# what is sent; who sends it; how long after the proposal; what becomes of c1 (None: it still waits); its effects
MATRIX: dict[str, tuple[Callable[[Bundle], JsonValue], str, timedelta, str | None, int]] = {
    "missing": (lambda b: {**b, "decisions": []}, "app", NOON - NOON, "rejected malformed", 0),
    "denied": (lambda b: edited(b, verdict="denied"), "app", NOON - NOON, "rejected denied", 0),
    "stale": (lambda b: edited(b, digest="sha256:" + "1" * 64), "app", NOON - NOON, "rejected mismatch", 0),
    "mismatched": (lambda b: {**b, "set": "another"}, "app", NOON - NOON, "rejected malformed", 0),
    "expired": (lambda b: b, "app", DAY, "rejected expired", 0),
    "malformed": (lambda b: "approved", "app", NOON - NOON, "rejected malformed", 0),
    "truthy": (lambda b: edited(b, verdict=True), "app", NOON - NOON, "rejected malformed", 0),
    "unknown": (lambda b: edited(b, call="c9"), "app", NOON - NOON, "rejected malformed", 0),
    "duplicate": (lambda b: {**b, "decisions": b["decisions"] * 2}, "app", NOON - NOON, "rejected malformed", 0),  # type: ignore[operator]
    "not entitled": (lambda b: b, "ann", NOON - NOON, None, 0),
    "a stranger": (lambda b: b, "eve", NOON - NOON, None, 0),
    "the proposer": (lambda b: b, "wes", NOON - NOON, None, 0),
    "approved": (lambda b: b, "app", NOON - NOON, "executed", 1),
}


@pytest.mark.parametrize("what", MATRIX)
@pytest.mark.parametrize("replayed", [False, True])
def test_only_what_is_approved_is_run(house: House, what: str, replayed: bool) -> None:
    """Each kind of message, once, and sent twice with a restart between: the executor's own count, and the result."""
    make, by, later, result, effects = MATRIX[what]
    working(house.jobs)
    host = house.host()
    set_id = host.turn("job", [call("c1")], expires_at=NOON + DAY).set
    sent = make(words(host))
    house.clock.ticks(later)
    for _ in range(1 + replayed):
        with suppress(LifecycleError):
            host.decide("job", set_id, sent, by=by)
        host = house.again(host)
        host.settle("job")
    assert told(host.results("job", set_id)) == ({} if result is None else {"c1": result})
    assert len(house.effects.all) == effects
    assert host.standing("job", set_id)["c1"] == (result or "pending").split()[0]


KINDS = {"gate": "gate", "write": "write", "look": "look"}


@st.composite
def bundles(draw: st.DrawFn, pending: Pending) -> JsonValue:
    """Bundles for a set: mostly right, with at most two things wrong."""
    gated = [one.id for one in pending.calls if one.gated]
    bundle: JsonValue = pending.bundle({id: draw(st.sampled_from(["approved", "denied"])) for id in draw(st.permutations(gated))})
    for _ in range(draw(st.integers(0, 2))):
        fault = draw(st.sampled_from(["drop", "twice", "add", "verdict", "digest", "call", "field", "set", "key", "none"]))
        if not isinstance(bundle, dict) or not isinstance(bundle.get("decisions"), list) or not bundle["decisions"]:
            break
        decided: list[JsonValue] = [*bundle["decisions"]]  # type: ignore[misc]
        at = draw(st.integers(0, len(decided) - 1))
        word = dict(decided[at])  # type: ignore[arg-type,call-overload]
        ungated = [one for one in pending.calls if not one.gated]
        match fault:
            case "drop":
                del decided[at]
            case "twice":
                decided.append(decided[at])
            case "add" if ungated:
                decided.append({"call": ungated[0].id, "digest": ungated[0].digest, "verdict": "approved"})
            case "verdict":
                decided[at] = {**word, "verdict": draw(st.sampled_from(["yes", True, 1, None, "", ["approved"], "APPROVED"]))}
            case "digest":
                decided[at] = {**word, "digest": draw(st.sampled_from(["", "sha256:00", *(one.digest for one in pending.calls)]))}
            case "call":
                decided[at] = {**word, "call": draw(st.sampled_from(["c99", "", None, *(one.id for one in pending.calls)]))}
            case "field":
                decided[at] = {**word, "note": "please"}
        bundle = {**bundle, "decisions": decided}
        if fault == "set":
            bundle["set"] = draw(st.sampled_from(["", "other", None]))
        if fault == "key":
            bundle["all"] = True
        if fault == "none":
            bundle = draw(st.sampled_from([None, [], "approved", {}, {"set": pending.set}]))
    return bundle


@SETTLED
@given(st.data())
def test_the_host_agrees_with_the_second_statement(data: st.DataObject) -> None:
    """Any turn, any message, any sender, before or after expiry: results and effects are those of the statement."""
    kinds = data.draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=5).filter(lambda found: "gate" in found))
    with tempfile.TemporaryDirectory() as folder:
        house = House("memory:", Clock(), Effects(Path(folder) / "effects"))
        working(house.jobs)
        host = house.host()
        calls = [call(f"c{n}", kind) for n, kind in enumerate(kinds)]
        set_id = host.turn("job", calls, expires_at=NOON + DAY).set
        (pending,) = host.pending()
        by = data.draw(st.sampled_from(["app", "app", "app", "ann", "wes", "eve"]))
        said = Said(data.draw(bundles(pending)), by, data.draw(st.booleans()))
        if not said.in_time:
            house.clock.time = NOON + DAY
        with suppress(LifecycleError):
            host.decide("job", set_id, said.bundle, by=said.by)
        if not said.in_time:
            house.jobs.sweep()
        host = Host(house.jobs, tools(house.effects), host.policy)
        host.settle("job")
        digests = {one.id: one.digest for one in pending.calls if one.gated}
        of = {kind: [one.id for one in calls if one.tool == kind] for kind in KINDS}
        results, ran = ends(digests, of["write"], of["look"], set_id, said)
        assert {id: result.status for id, result in host.results("job", set_id).items()} == results
        assert sorted(line.split()[1] for line in house.effects.all) == sorted(ran)
