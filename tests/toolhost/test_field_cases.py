"""The cases that users of other systems reported (20, 24 to 50), with the right values.

Each runs in one process, and again with everything dropped between its steps and read back from the file.
"""

from collections.abc import Callable
from datetime import timedelta
from itertools import count

import pytest
from pydantic import JsonValue

from lifecycle import Reason, Refused, Stage, State
from lifecycle.toolhost import (
    Call,
    Host,
    NotStarted,
    Operation,
    Policy,
    Profile,
    ProposalError,
    RegistrationError,
    Registry,
    Ungranted,
)
from tests.engine.stories import DAY, NOON, SECOND, refused

from .stage import OPEN_WRITES, SCHEMA, Effects, House, call, contract, does, ids, told, tools, words, working


def asked(house: House, *calls: Call, **fields: object) -> tuple[Host, str]:
    """A job at work whose worker has asked for these calls; the host, after a restart if there is one, and the set."""
    working(house.jobs)
    host = house.host()
    answer = host.turn("job", calls, **fields)  # type: ignore[arg-type]
    return house.again(host), answer.set


def test_case_20_a_worker_that_was_denied_gives_up_with_an_error(house: House) -> None:
    """Approval denied, the worker gives up: error(approval_denied), and the call was never run."""
    host, set_id = asked(house, call("c1"))
    host.decide("job", set_id, words(host, verdict="denied"), by="app")
    job = house.jobs.handle("job")
    job.seat("wes").fail("not without it", reason="approval_denied")
    host = house.again(host)
    host.settle("job")
    job = house.jobs.handle("job")
    assert (job.state, str(job.termination)) == (State.ERROR, "approval_denied / none")
    assert (told(host.results("job", set_id)), house.effects.all) == ({"c1": "rejected denied"}, [])


def test_case_24_three_calls_of_one_tool_are_three(house: House) -> None:
    """Three calls of one tool in a turn: three ids, three records, three results."""
    host, set_id = asked(house, call("c1", text="same"), call("c2", text="same"), call("c3", text="same"))
    (pending,) = host.pending()
    assert (ids(pending.calls), len({one.digest for one in pending.calls})) == (["c1", "c2", "c3"], 3)
    results = host.decide("job", set_id, words(host), by="app")
    assert told(results) == dict.fromkeys(("c1", "c2", "c3"), "executed")
    assert len({one.operation for one in results.values()}) == 3
    assert house.effects.all == ["gate same"] * 3


def test_case_25_decisions_are_bound_by_id_and_digest(house: House) -> None:
    """Decisions in another order than the calls: c1 denied and c2 approved, so c2 alone runs."""
    host, set_id = asked(house, call("c1"), call("c2"))
    bundle = words(host, c1="denied")
    assert isinstance(bundle["decisions"], list)
    bundle["decisions"].reverse()
    assert told(host.decide("job", set_id, bundle, by="app")) == {"c1": "rejected denied", "c2": "executed"}
    assert house.effects.all == ["gate c2"]


def test_case_26_an_ungated_write_beside_gates_happens_once(house: House) -> None:
    """Write, gate, gate, gate in one turn: the write waits for the bundle, three answers come, it happened once."""
    host, set_id = asked(house, call("w", "write"), call("g1"), call("g2"), call("g3"))
    assert house.effects.all == []
    results = host.decide("job", set_id, words(host), by="app")
    host = house.again(host)
    host.settle("job")
    assert list(results) == ["w", "g1", "g2", "g3"] and set(told(results).values()) == {"executed"}
    assert house.effects.all == ["write w", "gate g1", "gate g2", "gate g3"]


def test_case_27_a_decided_set_is_immutable(house: House) -> None:
    """Deny all, then approve all: already_decided, and nothing ran."""
    host, set_id = asked(house, call("c1"), call("c2"))
    approved = words(host)
    denied = host.decide("job", set_id, words(host, verdict="denied"), by="app")
    host = house.again(host)
    assert refused(host.decide, "job", set_id, approved, by="app").reason is Reason.ALREADY_DECIDED
    assert (host.results("job", set_id), house.effects.all) == (denied, [])


def test_case_28_an_approval_word_that_is_none_is_never_ungated(house: House) -> None:
    """`approval="befor_execute"`: a registration error that names the field, and the tool is not there."""
    registry = Registry()
    with pytest.raises(RegistrationError, match="approval") as error:
        registry.register({"name": "drop", "input_schema": SCHEMA, "approval": "befor_execute"}, does(house.effects, "drop"))
    assert (error.value.reason, error.value.tool, registry.get("drop")) == ("malformed_contract", "drop", None)


def test_case_29_decisions_for_ungated_siblings_are_unknown(house: House) -> None:
    """A decision for an ungated sibling too: unknown call, all gated calls rejected."""
    host, set_id = asked(house, call("c1"), call("w", "write"), call("r", "look"))
    (pending,) = host.pending()
    bundle = pending.bundle({"c1": "approved", "w": "approved"})
    results = host.decide("job", set_id, bundle, by="app")
    assert told(results) == {"c1": "rejected malformed", "w": "executed", "r": "executed"}
    assert "w" in results["c1"].detail and "gate c1" not in house.effects.all


def test_case_30_each_call_has_one_result(house: House) -> None:
    """Approve c1 and c2: results for c1, c2 and the ungated c3, one each."""
    host, set_id = asked(house, call("c1"), call("c2"), call("c3", "look"))
    results = host.decide("job", set_id, words(host), by="app")
    assert told(results) == dict.fromkeys(("c1", "c2", "c3"), "executed")
    assert sorted(house.effects.all) == ["gate c1", "gate c2", "look c3"]


def test_case_31_a_restart_asks_no_second_question(house: House) -> None:
    """A restart with another context object: the same set, the same decisions, no second question."""
    host, set_id = asked(house, call("c1"))
    before = host.pending()
    host = house.restart()
    assert host.pending() == before
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "executed"}
    host = house.restart()
    assert (host.pending(), told(host.results("job", set_id)), host.settle("job")) == ([], {"c1": "executed"}, {})


def test_case_32_what_was_rejected_stays_rejected(house: House) -> None:
    """Rejected, and the policy now says that no approval is needed: not run."""
    registry = Registry()
    registry.register(contract("gate", approval="policy"), does(house.effects, "gate"))
    working(house.jobs)
    host = house.host(registry, Policy(write="consent", owners=("ann",)))
    set_id = host.turn("job", [call("c1")]).set
    host.decide("job", set_id, words(host, verdict="denied"), by="app")
    host.change_policy(OPEN_WRITES, by="ann")
    host = house.again(host, registry)
    host.settle("job")
    assert (told(host.results("job", set_id)), house.effects.all) == ({"c1": "rejected denied"}, [])


def test_case_33_two_calls_with_one_id_are_no_set(house: House) -> None:
    """Two calls with one id: a proposal error that names it, no set, nothing kept, nothing run."""
    working(house.jobs)
    host = house.host()
    with pytest.raises(ProposalError) as error:
        host.turn("job", [call("c1"), call("r", "look"), call("c1", text="other")])
    assert (error.value.reason, error.value.calls) == ("call_id_twice", ("c1",))
    assert (house.jobs.job("job").stage, host.pending(), host.settle("job"), house.effects.all) == (Stage.WORKING, [], {}, [])


@pytest.mark.parametrize("verdict", ["no", 1, "true", None, True, "Approved", "approved ", ["approved"]], ids=repr)
def test_case_34_a_verdict_is_one_of_two_words(house: House, verdict: JsonValue) -> None:
    """A verdict "no", 1, "true", null: malformed, nothing runs."""
    host, set_id = asked(house, call("c1"))
    (pending,) = host.pending()
    bundle = pending.bundle({"c1": verdict})  # type: ignore[dict-item]
    assert told(host.decide("job", set_id, bundle, by="app")) == {"c1": "rejected malformed"}
    assert house.effects.all == []


@pytest.mark.parametrize("approved_first", [True, False])
@pytest.mark.parametrize(
    "changed",
    [{"approval": "none"}, {"input_schema": {**SCHEMA, "description": "quite harmless"}}, {"effect": "read"}, {"timeout": 61.0}],
    ids=lambda fields: next(iter(fields)),
)
def test_case_35_a_tool_that_was_changed_is_not_what_was_approved(
    house: House, changed: dict[str, object], approved_first: bool
) -> None:
    """The tool is reloaded without its approval flag, or only its description is edited, before it runs: mismatch, refused."""
    host, set_id = asked(house, call("c1"))
    bundle = words(host)
    if approved_first:
        house.jobs.handle("job").seat("app").decide(bundle)
    host = house.restart(tools(house.effects, **changed))
    if not approved_first:
        host.decide("job", set_id, bundle, by="app")
    host.settle("job")
    assert (told(host.results("job", set_id)), house.effects.all) == ({"c1": "rejected mismatch"}, [])


def test_case_35_a_schema_that_is_changed_in_place_is_another_contract(house: House) -> None:
    """The same tool object, its schema's words edited under it: mismatch."""
    working(house.jobs)
    schema: dict[str, JsonValue] = {"type": "object", "description": "one"}
    registry = tools(house.effects, input_schema=schema)
    host = house.host(registry)
    set_id = host.turn("job", [call("c1")]).set
    schema["description"] = "another"
    tool = registry.get("gate")
    assert tool is not None and isinstance(tool.contract.input_schema, dict)
    tool.contract.input_schema["description"] = "another"
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "rejected mismatch"}


def test_case_36_sets_of_two_jobs_do_not_touch(house: House) -> None:
    """Sets A and B open, A answered after B exists: A resolved, B pending. A second proposal on one job is refused."""
    working(house.jobs, "a")
    working(house.jobs, "b")
    host = house.host()
    a, b = (host.turn(job, [call("c1", text=job)]).set for job in ("a", "b"))
    host = house.again(host)
    with pytest.raises(ProposalError) as error:
        host.turn("a", [call("c2")])
    assert error.value.reason == "not_working"
    assert refused(host.decide, "b", a, words(host, "a"), by="app").reason is Reason.UNKNOWN_SET
    assert told(host.decide("a", a, words(host, "a"), by="app")) == {"c1": "executed"}
    assert ([(one.job, one.set) for one in host.pending()], house.effects.all) == ([("b", b)], ["gate a"])


def test_case_37_a_part_of_an_answer_is_none(house: House) -> None:
    """One of two calls answered: malformed, both rejected, the set closed; the other gets no invented result."""
    host, set_id = asked(house, call("c1"), call("c2"))
    (pending,) = host.pending()
    results = host.decide("job", set_id, pending.bundle({"c1": "approved"}), by="app")
    assert told(results) == dict.fromkeys(("c1", "c2"), "rejected malformed")
    host = house.again(host)
    assert refused(host.decide, "job", set_id, pending.bundle({"c1": "approved", "c2": "denied"}), by="app").reason
    assert (host.pending(), house.effects.all) == ([], [])


def test_case_38_other_arguments_than_the_stored_record_are_a_mismatch(house: House) -> None:
    """The response carries the digest of other arguments: rejected, nothing runs; an edit is a new proposal."""
    host, set_id = asked(house, call("c1"))
    bundle = words(host)
    edited = [{**word, "digest": "sha256:" + "0" * 64} for word in bundle["decisions"]]  # type: ignore[dict-item,union-attr]
    results = host.decide("job", set_id, {**bundle, "decisions": edited}, by="app")  # type: ignore[dict-item]
    assert (told(results), house.effects.all) == ({"c1": "rejected mismatch"}, [])
    assert "digest" in results["c1"].detail


def test_case_39_a_set_that_was_never_issued_is_unknown(house: House) -> None:
    """A bundle for a set that the host never issued: unknown set; the open one is left alone."""
    host, set_id = asked(house, call("c1"))
    bundle = {**words(host), "set": "never"}
    assert refused(host.decide, "job", "never", bundle, by="app").reason is Reason.UNKNOWN_SET
    assert (host.standing("job", set_id), house.effects.all) == ({"c1": "pending"}, [])


def test_case_39_a_proposal_past_the_host_runs_nothing(house: House) -> None:
    """A worker proposes by its own seat a write that it calls ungated: decided or not, the host runs nothing of it."""
    host, set_id = asked(house, call("c1"))
    job = house.jobs.handle("job")
    calls = job.job.standing.calls  # type: ignore[union-attr]
    host.decide("job", set_id, words(host, verdict="denied"), by="app")
    forged = job.seat("wes").propose(calls)
    job.seat("app").decide({"set": forged.id, "decisions": [{"call": "c1", "digest": calls[0].digest, "verdict": "approved"}]})
    host = house.again(host)
    assert (host.settle("job"), house.effects.all) == ({}, [])


def test_case_40_an_executor_is_reached_by_a_grant_only_and_once(house: House) -> None:
    """The executor called directly: refused. A grant used twice: refused. Another tool's grant: refused."""
    registry = Registry()
    tool = registry.register(contract("gate"), does(house.effects, "gate"))
    other = registry.register(contract("other"), does(house.effects, "other"))
    for attempt in (lambda: tool({"text": "a"}), lambda: tool(text="a"), tool):
        with pytest.raises(Ungranted):
            attempt()
    grant = tool.grant({"text": "a"}, Operation("op", "job", "c1"))
    with pytest.raises(Ungranted):
        other.run(grant)
    assert tool.run(grant) == {"did": "a"}
    with pytest.raises(Ungranted):
        tool.run(grant)
    assert house.effects.all == ["gate a"]


def test_case_41_placeholders_that_resolve_otherwise_are_a_mismatch(house: House) -> None:
    """Placeholder arguments resolve differently after a restart: mismatch; the same again: run with what was approved."""
    home = ["ann"]

    def registry() -> Registry:
        held = Registry()
        fill = {"resolve": lambda arguments: {"text": arguments["text"].replace("$HOME", home[0])}}
        held.register(contract("gate"), does(house.effects, "gate"), **fill)
        return held

    working(house.jobs)
    host = house.host(registry())
    set_id = host.turn("job", [call("c1", text="$HOME/a"), call("c2", text="plain")]).set
    (pending,) = host.pending()
    assert [one.arguments for one in pending.calls] == [{"text": "ann/a"}, {"text": "plain"}]
    home[0] = "root"
    host = house.restart(registry())
    results = host.decide("job", set_id, words(host), by="app")
    assert told(results) == {"c1": "rejected mismatch", "c2": "executed"}
    home[0] = "ann"
    set_id = host.turn("job", [call("c1", text="$HOME/a")]).set
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "executed"}
    assert house.effects.all == ["gate plain", "gate ann/a"]


def test_case_42_nobody_answers(house: House) -> None:
    """At 15 s still pending, at expiry expired, and not denied. Approved exactly at expiry: expired."""
    host, set_id = asked(house, call("c1"), expires_at=NOON + DAY)
    bundle = words(host)
    house.clock.ticks(15 * SECOND)
    house.jobs.sweep()
    assert host.standing("job", set_id) == {"c1": "pending"}
    house.clock.time = NOON + DAY
    assert host.pending() == []
    host = house.again(host)
    assert refused(host.decide, "job", set_id, bundle, by="app").reason is Reason.EXPIRED
    assert told(host.results("job", set_id)) == {"c1": "rejected expired"}
    host.settle("job")
    assert (house.jobs.job("job").stage, house.effects.all) == (Stage.WORKING, [])


def test_case_42_a_moment_before_expiry_is_in_time(house: House) -> None:
    """Approved a microsecond before expiry: executed."""
    host, set_id = asked(house, call("c1"), expires_at=NOON + DAY)
    house.clock.time = NOON + DAY - timedelta(microseconds=1)
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "executed"}


def test_case_43_approved_and_not_started_is_a_state(house: House) -> None:
    """Approve, and the executor fails to start: approved, not started; a retry runs it once."""
    tries = count()

    def registry() -> Registry:
        held = Registry()

        def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
            if next(tries) == 0:
                raise NotStarted("no sandbox is free")
            house.effects.add(operation.id)
            return None

        held.register(contract("gate"), execute)
        return held

    working(house.jobs)
    host = house.host(registry())
    set_id = host.turn("job", [call("c1")]).set
    assert host.decide("job", set_id, words(host), by="app") == {}
    assert host.standing("job", set_id) == {"c1": "approved"}
    host = house.again(host, registry())
    host.settle("job")
    host.settle("job")
    assert (told(host.results("job", set_id)), len(house.effects.all)) == ({"c1": "executed"}, 1)


def test_case_43_a_tool_that_is_not_here_waits_for_a_process_that_has_it(house: House) -> None:
    """Approved where the tool is not registered: not started, until a host that has it settles."""
    host, set_id = asked(house, call("c1"))
    bundle = words(host)
    host = house.restart(Registry())
    assert (host.decide("job", set_id, bundle, by="app"), host.standing("job", set_id)) == ({}, {"c1": "approved"})
    host = house.restart()
    assert told(host.settle("job")[set_id]) == {"c1": "executed"}


def test_case_43_what_was_not_started_when_the_job_ends_is_rejected(house: House) -> None:
    """Approved, not started, and the job is cancelled: rejected, also for a process that comes later."""
    host, set_id = asked(house, call("c1"), call("w", "write"))
    house.jobs.handle("job").seat("app").decide(words(host))
    house.jobs.handle("job").seat("ann").cancel()
    host = house.again(host)
    host.settle("job")
    assert told(host.results("job", set_id)) == dict.fromkeys(("c1", "w"), "rejected ended")
    assert house.effects.all == []


@pytest.mark.parametrize("where", ["preview", "resolve", "asks", "question"])
def test_case_45_a_gate_that_raises_rejects(house: House, where: str) -> None:
    """The gate's preview or policy raises: that call is not run, gate_error; its sibling is asked for as ever."""

    def breaks(*_: object) -> bool:
        raise RuntimeError("no such template")

    registry = Registry()
    parts: dict[str, Callable[..., object]] = {} if where == "question" else {where: breaks}
    registry.register(contract("bad", approval="policy", preview="x"), does(house.effects, "bad"), **parts)  # type: ignore[arg-type]
    registry.register(contract("gate"), does(house.effects, "gate"))
    working(house.jobs)
    host = house.host(registry, question=breaks if where == "question" else None)
    answer = host.turn("job", [call("b1", "bad"), call("c1")])
    assert (told(answer.results), answer.pending) == ({"b1": "rejected gate_error"}, ("c1",))
    host = house.again(host, registry)
    results = host.decide("job", answer.set, words(host), by="app")
    assert told(results) == {"b1": "rejected gate_error", "c1": "executed"}
    assert "no such template" in results["b1"].detail and house.effects.all == ["gate c1"]


def test_case_45_a_gate_that_raises_right_before_the_run_rejects(house: House) -> None:
    """The placeholders cannot be resolved any more when the approved call would run: gate_error."""

    def breaks(arguments: JsonValue) -> JsonValue:
        raise OSError("the vault is sealed")

    working(house.jobs)
    host = house.host()
    set_id = host.turn("job", [call("c1")]).set
    registry = Registry()
    registry.register(contract("gate"), does(house.effects, "gate"), resolve=breaks)
    host = house.restart(registry)
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "rejected gate_error"}
    assert house.effects.all == []


def test_case_46_a_child_only_tightens(house: House) -> None:
    """A child declares no approval, the parent's profile says writes need it: asks. Also a grandchild, also after a restart."""
    working(house.jobs, "parent")
    host = house.host()
    host.restrict("parent", Profile(write="consent"))
    for id, parent, requester, worker in (("child", "parent", "wes", "kim"), ("grandchild", "child", "kim", "lou")):
        job = house.jobs.request("part", requester=requester, worker=worker, approver="app", parent=parent, id=id)
        job.seat(worker).accept()
        job.seat(worker).progress("begun", "a.py")
        host = house.again(host)
        host.restrict(id, Profile())
        assert host.turn(id, [call("w", "write")]).pending == ("w",)
    working(house.jobs, "alone")
    assert host.turn("alone", [call("w", "write")]).pending == ()
    assert house.effects.all == ["write w"]


def test_case_47_approval_of_one_call_is_of_that_call(house: House) -> None:
    """Approval of one call does not approve the next call of that tool, with the same arguments or others."""
    host, set_id = asked(house, call("c1", text="a"))
    host.decide("job", set_id, words(host), by="app")
    host = house.again(host)
    for again in (call("c1", text="a"), call("c2", text="a")):
        answer = host.turn("job", [again])
        assert (answer.pending, house.effects.all) == ((again.id,), ["gate a"])
        host.decide("job", answer.set, words(host, verdict="denied"), by="app")


def test_case_48_the_proposer_does_not_approve(house: House) -> None:
    """The proposer of a call approves it: refused and kept among the refusals, the set untouched. So for any other party."""
    host, set_id = asked(house, call("c1"))
    for party in ("wes", "ann"):
        assert refused(host.decide, "job", set_id, words(host), by=party).reason is Reason.NOT_AUTHORISED
    host = house.again(host)
    assert (host.standing("job", set_id), house.effects.all) == ({"c1": "pending"}, [])
    assert [kept.refusal.by for kept in house.jobs.refusals("job")] == ["wes", "ann"]
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "executed"}


@pytest.mark.parametrize("order", [0, 1])
def test_case_49_one_name_has_one_contract(effects: Effects, order: int) -> None:
    """The same tool name with another schema, in both orders: a registration error; the first one stays."""
    contracts = [contract("gate"), contract("gate", input_schema={"type": "object"})]
    first, second = contracts[order], contracts[1 - order]
    registry = Registry()
    registry.register(first, does(effects, "gate"))
    with pytest.raises(RegistrationError) as error:
        registry.register(second, does(effects, "gate"))
    held = registry.get("gate")
    assert (error.value.reason, held and held.contract) == ("name_taken", first)


def test_case_50_a_time_out_and_three_retries_are_one_effect(house: House) -> None:
    """Time-out and three retries: one operation id, one effect; the effect's own key keeps it to one."""
    seen: list[tuple[str, int]] = []

    def registry() -> Registry:
        held = Registry()

        def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
            seen.append((operation.id, operation.attempt))
            if operation.id not in house.effects.all:
                house.effects.add(operation.id)
            if operation.attempt < 4:
                raise TimeoutError("the other side did not answer")
            return None

        held.register(contract("gate", idempotency_key=True), execute)
        return held

    working(house.jobs)
    host = house.host(registry())
    set_id = host.turn("job", [call("c1")]).set
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "unknown error"}
    for _ in range(5):
        host = house.again(host, registry())
        host.settle("job")
    assert told(host.results("job", set_id)) == {"c1": "executed"}
    assert ([attempt for _, attempt in seen], len({id for id, _ in seen}), len(house.effects.all)) == ([1, 2, 3, 4], 1, 1)


def test_case_50_a_retry_that_never_succeeds_ends(house: House) -> None:
    """The other side never answers: four attempts, then it stays unknown and is not tried again."""
    tries = count(1)

    def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
        house.effects.add(str(next(tries)))
        raise TimeoutError

    registry = Registry()
    registry.register(contract("gate", retry_safe=True), execute)
    working(house.jobs)
    host = house.host(registry)
    set_id = host.turn("job", [call("c1")]).set
    host.decide("job", set_id, words(host), by="app")
    for _ in range(6):
        host.settle("job")
    assert (told(host.results("job", set_id)), house.effects.all) == ({"c1": "unknown error"}, ["1", "2", "3", "4"])


def test_the_same_bundle_again_gives_the_recorded_results(house: House) -> None:
    """Sent twice, also in another order and after a restart: the same results, one effect. From another party: refused."""
    host, set_id = asked(house, call("c1"), call("c2"))
    bundle = words(host)
    first = host.decide("job", set_id, bundle, by="app")
    host = house.again(host)
    assert isinstance(bundle["decisions"], list)
    turned = {**bundle, "decisions": bundle["decisions"][::-1]}
    assert host.decide("job", set_id, bundle, by="app") == host.decide("job", set_id, turned, by="app") == first
    with pytest.raises(Refused):
        host.decide("job", set_id, bundle, by="ann")
    assert house.effects.all == ["gate c1", "gate c2"]
