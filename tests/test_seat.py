"""A seat: one party's chair at one job, for a person's code and for a model's replies."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import lifecycle
from lifecycle import Handle, Jobs, Reason, Refused, acts
from lifecycle.law.acts import ACTS
from lifecycle.law.states import Stage


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    with lifecycle.open("memory:", sweep_every=None) as held:
        yield held


@pytest.fixture
def job(jobs: Jobs) -> Handle:
    return jobs.request("total 2024", requester="planner", worker="coder", conditions={"c1": "report.csv totals 2024"}, id="j")


def names(schema: dict[str, Any]) -> list[str]:
    return [kind["properties"]["act"]["const"] for kind in schema["anyOf"]]


def test_it_offers_only_what_its_party_may_do(job: Handle) -> None:
    coder, planner = job.seat("coder"), job.seat("planner")
    assert coder.may() == ("accept", "decline", "counter", "defer")
    assert planner.may() == ("cancel",)
    assert names(coder.schema()) == list(coder.may())
    coder.accept()
    assert coder.may() == ("counter", "progress", "block", "deliver", "fail")


def test_its_schema_asks_for_nothing_that_it_fills_in(job: Handle) -> None:
    for kind in job.seat("coder").schema()["anyOf"]:  # type: ignore[union-attr]
        assert isinstance(kind, dict)
        assert not {"id", "at", "answers"} & set(kind["properties"])  # type: ignore[arg-type]
        assert "act" in kind["required"]  # type: ignore[operator]


def test_a_models_reply_is_an_act(job: Handle) -> None:
    coder = job.seat("coder")
    coder.schema()
    assert coder.submit_json('{"act": "accept", "alongside": true}').stage is Stage.READY
    assert coder.submit_json(b'{"act": "deliver", "artifacts": [{"name": "report.csv"}]}').stage is Stage.DELIVERED


def test_an_answer_to_what_was_replaced_since_is_stale(jobs: Jobs, job: Handle) -> None:
    slow, coder, planner = job.seat("coder"), job.seat("coder"), job.seat("planner")
    slow.look()
    coder.counter("no data for December", lifecycle.terms.Terms())
    planner.revise(goal="total January to November 2024")
    with pytest.raises(Refused) as refused:
        slow.accept()
    assert refused.value.reason is Reason.STALE_OFFER
    assert slow.look().brief.goal == "total January to November 2024"
    assert slow.accept().stage is Stage.READY


@pytest.mark.parametrize(
    ("text", "reason", "said"),
    [
        ("", Reason.MALFORMED, "JSON"),
        ("[1]", Reason.MALFORMED, "not an object"),
        ('{"act": 1}', Reason.MALFORMED, "`act`"),
        ('{"act": "dance"}', Reason.UNKNOWN_ACT, "dance"),
        ('{"act": "to_result"}', Reason.UNKNOWN_ACT, "to_result"),
        ('{"act": "__class__"}', Reason.UNKNOWN_ACT, "__class__"),
        ('{"act": "decline", "reason": " "}', Reason.MALFORMED, "says something"),
        ('{"act": "decline", "reason": "no", "price": 3}', Reason.MALFORMED, "price"),
        ('{"act": "decline", "reason": "a\\u0000b"}', Reason.MALFORMED, "NUL"),
        ('{"act": "decline", "reason": "\\ud800"}', Reason.MALFORMED, "`reason`"),
        ('{"act": "decline", "act": "accept"}', Reason.MALFORMED, "stands twice"),
        ('{"act": "deliver", "value": NaN}', Reason.MALFORMED, "NaN"),
        ('{"act": "deliver", "value": %s}' % ("9" * 40), Reason.MALFORMED, "2**53"),
        ('{"act": "deliver", "value": %s}' % ("[" * 1_000 + "]" * 1_000), Reason.MALFORMED, "nested"),
        ('{"act": "defer", "until": "2026-12-24T12:00:00", "looking_into": "it"}', Reason.MALFORMED, "timezone"),
        (json.dumps({"act": "decline", "reason": "x" * 10_000_000}), Reason.PAYLOAD_TOO_LARGE, "bytes"),
        (json.dumps({"act": "decline", "reason": "x" * 100_000}), Reason.TEXT_TOO_LONG, "characters"),
        ('{"act": "deliver"}', Reason.ILLEGAL, "requested"),
    ],
)
def test_a_bad_reply_is_refused_and_says_why(job: Handle, text: str, reason: Reason, said: str) -> None:
    with pytest.raises(Refused) as refused:
        job.seat("coder").submit_json(text)
    assert refused.value.reason is reason
    assert said in str(refused.value) and "to mend it" in str(refused.value) and "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1_000
    assert job.job.seq == 0


def test_a_bad_argument_is_refused_as_a_bad_reply_is(job: Handle) -> None:
    with pytest.raises(Refused) as refused:
        job.seat("coder").decline("")
    assert refused.value.reason is Reason.MALFORMED


def test_a_stranger_has_no_seat(job: Handle) -> None:
    for look in ("may", "schema", "look", "accept"):
        with pytest.raises(lifecycle.JobNotFound):
            getattr(job.seat("stranger"), look)()


def test_a_retry_with_its_id_gives_the_first_receipt(job: Handle) -> None:
    coder = job.seat("coder")
    first = coder.accept(id="a1")
    coder.progress("half of it", "report.csv")
    assert coder.submit(acts.Accept(answers="j"), id="a1") == first


def test_every_act_of_a_party_has_its_method() -> None:
    mine = set(ACTS) - {"request", "lapse"}
    assert all(callable(getattr(lifecycle.Seat, name)) for name in mine)


# One call


def test_a_trivial_job_is_one_call(jobs: Jobs) -> None:
    handle = jobs.ask(lambda goal: {"length": len(goal)}, "measure")
    assert [entry.act.act for entry in handle.log] == ["request", "accept", "deliver"]
    assert str(handle.termination) == "delivered / unresolved"


def test_asked_again_under_its_id_it_is_not_done_again(jobs: Jobs) -> None:
    done: list[str] = []
    for _ in range(2):
        jobs.ask(done.append, "once", id="once")
    assert done == ["once"]


@pytest.mark.parametrize(
    ("answer", "stage"),
    [
        (acts.Decline(reason="no data"), Stage.DECLINED),
        (acts.Accept(), Stage.READY),
        (acts.Counter(concern="by month", terms=lifecycle.terms.Terms()), Stage.COUNTERED),
        (acts.Deliver(artifacts=(acts.Artifact("report.csv"),)), Stage.UNVERIFIED),
        (acts.Fail(words="the disk is full"), Stage.ERROR),
        (acts.Block(need=lifecycle.terms.Need("the data", "requester")), Stage.BLOCKED),
        (object(), Stage.ERROR),
        (float("nan"), Stage.ERROR),
    ],
)
def test_what_the_function_returns_is_its_answer(jobs: Jobs, answer: object, stage: Stage) -> None:
    assert jobs.ask(lambda goal: answer, "total 2024").stage is stage


def test_a_function_that_raises_ends_its_job_in_error_and_says_so(jobs: Jobs) -> None:
    handle = jobs.ask(lambda goal: 1 / 0, "divide")
    assert handle.stage is Stage.ERROR
    last = handle.log[-1].act
    assert isinstance(last, acts.Fail) and "ZeroDivisionError" in last.words


def test_with_conditions_it_waits_for_its_verdict(jobs: Jobs) -> None:
    handle = jobs.ask(lambda goal: 42, "multiply", conditions={"c1": "6 * 7"})
    assert handle.stage is Stage.DELIVERED and handle.pause is not None and handle.pause.owed_by == "requester"
