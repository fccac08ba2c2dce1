"""Every proposed call ends with exactly one result, held against its contract and the world; and what a turn is held to."""

import threading

import pytest
from pydantic import JsonValue

from lifecycle import Handle, JobNotFound, Stage
from lifecycle.law.tools import ProposedCall
from lifecycle.toolhost import (
    Approvals,
    Call,
    Host,
    NotStarted,
    Operation,
    OperationBusy,
    ProposalError,
    Registry,
    SetNotFound,
)
from tests.engine.stories import HOUR, NOON, refused

from .stage import House, call, contract, told, tools, words, working


class Declared(Exception):
    """An error that the contract names."""


class Kind(Declared):
    """A kind of it."""


def outcome(house: House, execute: object, **fields: object) -> tuple[str, str]:
    """What comes of one ungated call with this executor: status and reason, and the detail."""
    parts = {name: fields.pop(name) for name in ("postcondition", "reconcile") if name in fields and callable(fields[name])}
    registry = Registry()
    registry.register(contract("gate", approval="none", **fields), execute, **parts)  # type: ignore[arg-type]
    working(house.jobs)
    result = house.host(registry).turn("job", [call("c1")]).results["c1"]
    return f"{result.status} {result.reason}".strip(), result.detail


def raises(error: BaseException) -> object:
    """An executor that raises."""

    def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
        raise error

    return execute


@pytest.mark.parametrize(
    ("effect", "error", "expected"),
    [
        ("write", Declared("full"), "failed error"),
        ("write", Kind("full"), "failed error"),
        ("write", OSError("broken pipe"), "unknown error"),
        ("write", SystemExit(1), "unknown error"),
        ("read", OSError("broken pipe"), "failed error"),
        ("write", OperationBusy("op"), "unknown error"),
    ],
)
def test_an_executor_that_raises(house: House, effect: str, error: BaseException, expected: str) -> None:
    """What the contract names, and any error of a read, failed; any other error of a write may have come after its effect."""
    status, detail = outcome(house, raises(error), effect=effect, errors=("Declared",))
    assert (status, type(error).__name__ in detail) == (expected, True)


@pytest.mark.parametrize(("effect", "expected"), [("write", "unknown timeout"), ("read", "failed timeout")])
def test_an_executor_that_hangs(house: House, effect: str, expected: str) -> None:
    """It is not waited for beyond its time: a write is unknown, a read failed."""
    hangs = threading.Event()
    status, detail = outcome(house, lambda arguments, operation: hangs.wait(30), effect=effect, timeout=0.05)
    hangs.set()
    assert (status, "0.05 seconds" in detail) == (expected, True)


@pytest.mark.parametrize(
    ("output", "reason"),
    [({"n": 1}, ""), ({"n": "1"}, "output"), (None, "output"), ({"n": 2**53}, "output"), ({"n": 1.5}, "output"),
     (object(), "output"), ({"n": 1, "more": "x" * (1 << 20)}, "output")],
    ids=["fits", "another type", "nothing", "too large an integer", "no integer", "no json", "a megabyte"],
)  # fmt: skip
def test_an_output_is_held_against_its_schema(house: House, output: object, reason: str) -> None:
    """What does not fit, is no JSON or is too large has failed, whatever the tool says."""
    schema: JsonValue = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    status, _ = outcome(house, lambda arguments, operation: output, output_schema=schema)
    assert status == (f"failed {reason}" if reason else "executed")


@pytest.mark.parametrize(
    ("holds", "expected"),
    [(True, "executed"), (False, "failed postcondition"), (1, "failed postcondition"), (None, "failed postcondition")],
)
def test_an_output_is_held_against_the_world(house: House, holds: object, expected: str) -> None:
    """The tool says ok; only a postcondition that is plainly true makes it so."""
    status, _ = outcome(house, lambda arguments, operation: {"ok": True}, postcondition=lambda arguments, output: holds)
    assert status == expected


def test_case_51_a_tool_that_says_ok_over_nothing_has_failed(house: House) -> None:
    """The tool says that it wrote; the postcondition looks, and the file is empty: failed."""
    path = house.effects.path.with_name("artifact")

    def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
        path.write_text("")
        return {"success": True}

    status, _ = outcome(house, execute, postcondition=lambda arguments, output: path.stat().st_size > 0)
    assert status == "failed postcondition"


def test_a_turn_with_nothing_gated_simply_runs(house: House) -> None:
    """No set, no interrupt: the job stays at work, each call has its result; the same turn again gives it again."""
    working(house.jobs)
    host = house.host()
    calls = [call("w", "write"), call("r", "look")]
    answer = host.turn("job", calls, id="t1")
    host = house.again(host)
    assert (host.turn("job", calls, id="t1"), house.jobs.log("job")[-1].act.act) == (answer, "progress")
    assert told(host.results("job", "t1")) == {"w": "executed", "r": "executed"}
    assert (house.effects.all, house.jobs.job("job").stage) == (["write w", "look r"], Stage.WORKING)


def test_a_turn_asked_again_goes_on_where_it_was(house: House) -> None:
    """With the same id and calls: the same set, one proposal. With other calls: refused. Also once it is closed."""
    working(house.jobs)
    host = house.host()
    first = host.turn("job", [call("c1"), call("r", "look")], id="t1", expires_at=NOON + HOUR)
    host = house.again(host)
    assert host.turn("job", [call("c1"), call("r", "look")], id="t1", expires_at=NOON + 2 * HOUR) == first
    host.decide("job", "t1", words(host), by="app")
    host = house.again(host)
    again = host.turn("job", [call("c1"), call("r", "look")], id="t1")
    assert (again.pending, told(again.results)) == ((), {"c1": "executed", "r": "executed"})
    with pytest.raises(ProposalError) as error:
        host.turn("job", [call("c1")], id="t1")
    assert (error.value.reason, house.effects.all) == ("turn_id_reused", ["look r", "gate c1"])


def test_a_set_that_no_host_issued_is_decided_and_not_run(house: House) -> None:
    """Proposed by a worker's own seat: the approver's word is taken, and there is nothing here to run."""
    job = working(house.jobs)
    host = house.host()
    record = ProposedCall("c1", "gate", "sha256:01", "sha256:02", {"text": "a"})
    set_id = job.seat("wes").propose([record]).id
    bundle = words(host)
    host = house.again(host)
    assert (host.decide("job", set_id, bundle, by="app"), host.settle("job"), house.effects.all) == ({}, {}, [])


def test_arguments_are_bounded(house: House) -> None:
    """A turn's arguments of more than an act may hold: refused, gated or not, and nothing is kept."""
    working(house.jobs)
    with pytest.raises(ProposalError) as error:
        house.host().turn("job", [call(f"c{n}", "look", "x" * 600_000) for n in range(2)])
    assert (error.value.reason, house.effects.all) == ("too_large", [])


BAD: list[tuple[str, list[Call], str]] = [
    ("no calls", [], "no_calls"),
    ("an unknown tool", [Call("c1", "drop", {})], "unknown_tool"),
    ("no object", [Call("c1", "gate", ["a"])], "arguments"),
    ("a field missing", [Call("c1", "gate", {})], "arguments"),
    ("a field too many", [Call("c1", "gate", {"text": "a", "force": True})], "arguments"),
    ("a field of another type", [Call("c1", "gate", {"text": 1})], "arguments"),
    ("a call id that is none", [Call("c 1", "gate", {"text": "a"})], "arguments"),
    ("a tuple", [Call("c1", "gate", {"text": ("a",)})], "arguments"),  # type: ignore[dict-item]
]


@pytest.mark.parametrize(("what", "calls", "reason"), BAD, ids=[what for what, _, _ in BAD])
def test_a_turn_is_validated_whole_before_anything_is_kept(house: House, what: str, calls: list[Call], reason: str) -> None:
    """One call that does not fit: nothing is kept, nothing runs, not even a read beside it."""
    job = working(house.jobs)
    host = house.host()
    with pytest.raises(ProposalError) as error:
        host.turn("job", [*calls, *([call("r", "look")] if calls else [])])
    assert (error.value.reason, "\n" in str(error.value)) == (reason, False)
    assert (house.effects.all, host.settle("job"), job.log[-1].act.act) == ([], {}, "progress")


def test_the_laws_own_word_on_a_proposal_stands(house: House) -> None:
    """More calls than a person can read: the law refuses, and nothing is left behind."""
    working(house.jobs)
    host = house.host()
    refusal = refused(host.turn, "job", [call(f"c{n}") for n in range(65)] + [call("r", "look")], id="t1")
    assert refusal.reason == "too_many_calls"
    assert (host.settle("job"), house.effects.all) == ({}, [])
    with pytest.raises(SetNotFound):
        host.results("job", "t1")


@pytest.mark.parametrize("names", ["", "cancel", "propose"])
def test_a_turn_is_for_a_job_at_work(house: House, names: str) -> None:
    """Not for one that was only accepted, has ended, or awaits approval: refused, and nothing is kept."""
    job = house.jobs.request("build it", requester="ann", worker="wes", approver="app", id="job")
    job.seat("wes").accept()
    if names == "propose":
        job.seat("wes").progress("begun", "a.py")
        house.host().turn("job", [call("c1")])
    elif names == "cancel":
        job.seat("ann").cancel()
    with pytest.raises(ProposalError) as error:
        house.host().turn("job", [call("r", "look")])
    assert (error.value.reason, house.effects.all) == ("not_working", [])


def test_the_approvers_side_needs_no_tools(house: House) -> None:
    """Listed, shown and decided from the store alone, in a process that has no tools: nothing runs there."""
    working(house.jobs, "a")
    working(house.jobs, "b", approver="amy")
    host = house.host()
    sets = [host.turn(job, [call("c1"), call("w", "write")]).set for job in ("a", "b")]
    desk = Approvals(house.again(host).jobs)
    assert [(one.job, one.set, one.approver) for one in desk.pending()] == [("a", sets[0], "app"), ("b", sets[1], "amy")]
    (mine,) = desk.pending(by="amy")
    assert [(one.id, one.preview, one.gated) for one in mine.calls] == [("c1", "gate c1", True), ("w", "", False)]
    assert desk.decide("b", mine.set, mine.bundle({"c1": "approved"}), by="amy") == {}
    assert (desk.standing("b", mine.set), house.effects.all) == ({"c1": "approved", "w": "approved"}, [])
    with pytest.raises(SetNotFound):
        desk.results("a", sets[1])
    with pytest.raises(JobNotFound):
        desk.decide("a", sets[0], None, by="eve")
    house.host().settle("b")
    assert told(desk.results("b", mine.set)) == {"c1": "executed", "w": "executed"}


def test_a_word_from_the_approvers_own_seat_counts(house: House) -> None:
    """Decided by an ordinary act, past the host: `settle` runs what it approves, once."""
    job: Handle = working(house.jobs)
    host = house.host()
    set_id = host.turn("job", [call("c1"), call("c2")]).set
    job.seat("app").decide(words(host, c2="denied"))
    host = house.again(host)
    assert told(host.settle("job")[set_id]) == {"c1": "executed", "c2": "rejected denied"}
    assert (host.settle("job"), house.effects.all) == ({}, ["gate c1"])


def test_a_retry_that_could_not_begin_forgets_nothing(house: House) -> None:
    """Unknown, then retried, and the retry does not start: still unknown, and not `approved, not started`."""
    errors: list[BaseException] = [TimeoutError("late"), NotStarted("no room")]

    def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
        raise errors.pop(0)

    registry = Registry()
    registry.register(contract("gate", idempotency_key=True), execute)
    working(house.jobs)
    host = house.host(registry)
    set_id = host.turn("job", [call("c1")]).set
    host.decide("job", set_id, words(host), by="app")
    host = house.again(host, registry)
    host.settle("job")
    assert (told(host.results("job", set_id)), errors) == ({"c1": "unknown error"}, [])


def test_an_executor_that_changes_its_arguments_changes_nothing_else(house: House) -> None:
    """The record stays as it was approved, and the turn is closed."""

    def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
        arguments.clear()
        return None

    registry = Registry()
    registry.register(contract("gate"), execute)
    working(house.jobs)
    host = house.host(registry)
    set_id = host.turn("job", [call("c1")]).set
    host.decide("job", set_id, words(host), by="app")
    assert (told(host.results("job", set_id)), host.settle("job")) == ({"c1": "executed"}, {})
    assert host.turn_of("job", set_id).slots[0].call.arguments == {"text": "c1"}


def test_a_reconciled_receipt_is_held_against_the_contract_too(house: House) -> None:
    """What is found afterwards fits the output schema and the world, or the call has failed."""
    found: list[JsonValue] = [None, {"n": "no number"}]
    registry = Registry()
    schema: JsonValue = {"type": "object", "properties": {"n": {"type": "integer"}}}
    registry.register(contract("gate", output_schema=schema), raises(OSError()), reconcile=lambda id: found.pop(0))  # type: ignore[arg-type]
    working(house.jobs)
    host = house.host(registry)
    set_id = host.turn("job", [call("c1")]).set
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "unknown error"}
    host.settle("job")
    assert told(host.results("job", set_id)) == {"c1": "unknown error"}
    host.settle("job")
    result = host.results("job", set_id)["c1"]
    assert (told({"c1": result}), result.reconciled) == ({"c1": "failed output"}, True)


def test_reads_run_while_the_set_waits(house: House) -> None:
    """A read beside a gated call runs at once, and again if its process died before its record; the write waits."""
    working(house.jobs)
    host = Host(house.jobs, tools(house.effects), house.host().policy)
    answer = host.turn("job", [call("c1"), call("w", "write"), call("r", "look")])
    assert (told(answer.results), answer.pending, house.effects.all) == ({"r": "executed"}, ("c1",), ["look r"])
    assert told(house.again(host).settle("job")[answer.set]) == {"r": "executed"}
    assert house.effects.all == ["look r"]


def test_the_first_page_is_true(house: House) -> None:
    """The use that the room's docstring shows."""
    working(house.jobs)
    registry, dropped = Registry(), list[JsonValue]()
    registry.register(
        {"name": "drop", "input_schema": {"type": "object", "required": ["table"]}, "preview": "drop table $table"},
        lambda arguments, operation: dropped.append(arguments["table"]),
    )
    host = Host(house.jobs, registry)
    asked = host.turn("job", [Call("c1", "drop", {"table": "orders"})])
    (pending,) = host.pending(by="app")
    assert (pending.calls[0].preview, dropped) == ("drop table orders", [])
    assert host.decide("job", asked.set, pending.bundle({"c1": "approved"}), by="app")["c1"].status == "executed"
    assert (host.settle("job"), dropped) == ({}, ["orders"])
