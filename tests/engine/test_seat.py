"""A seat: one party's chair at one job; what a model is shown, what it may reply, and the one call that does it all."""

import json
from collections.abc import Mapping
from datetime import timedelta

import pytest
from pydantic import TypeAdapter, ValidationError

import lifecycle
from lifecycle import JobNotFound, Jobs, Reason, Seat, Stage, State, acts
from lifecycle.law import door
from lifecycle.law.guards.move import Fault
from lifecycle.law.terms import Budget, Condition, Exclusion, Intervals, Need, Spent, Terms

from .conftest import Place
from .stories import ASKED, CALL, DAY, HOUR, NOON, PARTIES, SECOND, STEPS, WAYS, Clock, at, lines, refused, request

Schema = dict[str, object]


# The program


def test_the_program_that_a_user_writes_first(place: Place) -> None:
    """Request, accept, deliver, confirm: five lines, and what they print."""
    with place.open() as jobs:
        job = jobs.request("total 2024", requester="planner", worker="coder", conditions={"c1": "report.csv totals 2024"})
        planner, coder = job.seat("planner"), job.seat("coder")
        coder.accept()
        coder.deliver("report.csv", met={"c1": "report.csv:12"})
        assert job.pause is not None
        assert job.pause.owed_by == "planner"
        planner.confirm("checked by hand")
        assert (f"{job.state}", f"{job.termination}", job.pause) == ("result", "accepted / passed", None)
        assert repr(job) == f"<job {job.id}>"
        assert (jobs.handle(job.id).job, jobs.seat(job.id, "coder").look()) == (job.job, job.job)


def test_every_method_of_a_seat_makes_its_act(jobs: Jobs, clock: Clock) -> None:
    """Each of the acts that parties make has a method of its name, whose fields arrive as they were given."""
    for step in STEPS:
        assert callable(getattr(Seat, step))
    spent = Spent(tokens=5)
    job = request(jobs, exclusions={"x1": "no network"}, **ASKED)
    wes, ann, vic = job.seat("wes"), job.seat("ann"), job.seat("vic")
    wes.defer(NOON + HOUR, "the index", spent=spent)
    terms = Terms((Condition("c1", "it builds"), Condition("c2", "it ships")), (Exclusion("x1", "no network"),))
    wes.counter("more", terms, binding=False)
    more, less = {"c1": "it builds", "c2": "it ships"}, {"x1": "no network"}
    ann.revise(goal="build more", conditions=more, exclusions=less, budget=Budget(tokens=9))
    wes.accept({**more, "c3": "it sings"}, {"x1": Exclusion("x1", "no network")}, alongside=True)
    wes.progress("half", "a.py", acts.Pointer("abc123", "commit"), spent=Spent(tokens=6))
    wes.block("a key", "ann", by=NOON + DAY, choice="which key")
    ann.resolve("this one")
    wes.deliver("a.py", acts.Artifact("b.py", "sha256:00"), value={"n": 1}, met={"c1": "log:1"}, not_met={"c2": "no"},
                unverifiable=["c3"], honoured={"x1": "see log"}, spent=Spent(tokens=7))  # fmt: skip
    vic.rework("not yet", "c2")
    wes.deliver("a.py", met=dict.fromkeys(("c1", "c2"), "log:2"), unverifiable={"c3": "cannot hear"}, broken=["x1"])
    vic.confirm("well", waivers=[acts.Waiver("x1", "ann", "it was once")])
    made = [entry.act for entry in job.log]
    defer, counter, accept, progress, block, deliver = (made[i] for i in (1, 2, 4, 5, 6, 8))
    assert isinstance(defer, acts.Defer) and defer.looking_into == "the index" and defer.spent == spent
    assert isinstance(counter, acts.Counter) and counter.terms == terms and not counter.binding
    assert isinstance(accept, acts.Accept) and [c.id for c in accept.conditions or ()] == ["c1", "c2", "c3"] and accept.alongside
    assert isinstance(progress, acts.Progress) and progress.points_at == (acts.Pointer("a.py"), acts.Pointer("abc123", "commit"))
    assert isinstance(block, acts.Block) and block.need == Need("a key", "ann", NOON + DAY, "which key")
    assert isinstance(deliver, acts.Deliver) and deliver.report and deliver.value == {"n": 1}
    assert [(found.id, found.status, found.evidence) for found in deliver.report.conditions] == [
        ("c1", "met", "log:1"), ("c2", "not_met", "no"), ("c3", "unverifiable", ""),
    ]  # fmt: skip
    assert (job.job.brief.goal, job.job.spent, str(job.termination)) == ("build more", Spent(tokens=7), "accepted / passed")


# What it offers


@pytest.mark.parametrize("stage", Stage)
def test_a_seat_offers_what_its_party_may_do_and_no_more(jobs: Jobs, stage: Stage) -> None:
    """For every party and stage: each act that is offered is no illegal one and nobody else's, each that is not is refused."""
    job = at(jobs, stage)
    wrong = {Reason.ILLEGAL, Reason.CLOSED, Reason.NOT_AUTHORISED, Reason.UNKNOWN_SET}
    for party in PARTIES:
        seat = job.seat(party)
        offered = seat.may()
        assert offered == jobs.may(job.id, by=party)
        for name, model in acts.ACTS.items():
            if name in offered or name == "request":
                continue
            fields = PLAIN.get(name, {})
            refusal = refused(seat.submit, model.model_validate(fields))
            assert refusal.reason in wrong or (name, refusal.reason) in {("adopt", Reason.NOT_BINDING), ("resolve", Reason.NO_NEED)}
            assert refusal.may == offered
        assert not set(offered) & {"request", "lapse"}


PLAIN: Mapping[str, Mapping[str, object]] = {
    "decline": {"reason": "no time"},
    "counter": {"concern": "too much", "terms": {}, "binding": True},
    "defer": {"until": NOON + HOUR, "looking_into": "it"},
    "veto": {"offending": ["all"], "mend": "less"},
    "progress": {"line": "on", "nothing_new": True},
    "block": {"need": {"what": "a key", "whom": "ann"}},
    "resolve": {"answer": "here"},
    "propose": {"calls": [CALL]},
    "reject": {"reason": "not it"},
    "rework": {"reason": "not yet", "mend": ["c1"]},
    "halt": {"work": "partial"},
    "lapse": {"cause": "lease", "due": NOON},
}


def branches(schema: Schema) -> dict[str, Schema]:
    """What a schema offers, by act."""
    kinds = schema["anyOf"]
    assert isinstance(kinds, list)
    return {kind["properties"]["act"]["const"]: kind for kind in kinds}


@pytest.mark.parametrize("stage", Stage)
def test_a_schema_holds_the_acts_that_are_legal_now(jobs: Jobs, stage: Stage) -> None:
    """JSON Schema with one branch per act that the party may take, each told in a sentence, and nothing that the seat fills in."""
    job = at(jobs, stage)
    for party in PARTIES:
        schema = job.seat(party).schema()
        assert json.loads(json.dumps(schema)) == schema
        offered = branches(schema)
        assert tuple(offered) == jobs.may(job.id, by=party)
        for name, kind in offered.items():
            fields = set(acts.ACTS[name].model_fields) - {"id", "at", "answers"}
            assert set(kind["properties"]) == fields
            assert (kind["additionalProperties"], kind["required"][0]) == (False, "act")
            assert kind["description"]


def referred(value: object) -> set[str]:
    """Every definition that a schema refers to."""
    if isinstance(value, dict):
        own = {value["$ref"].removeprefix("#/$defs/")} if "$ref" in value else set()
        return own.union(*map(referred, value.values()), set())
    return set().union(*map(referred, value)) if isinstance(value, list) else set()


def test_a_schema_stands_alone(jobs: Jobs) -> None:
    """Whatever a schema refers to, it holds."""
    for stage in WAYS:
        job = at(jobs, stage, stage.name)
        for party in PARTIES:
            schema = job.seat(party).schema()
            assert referred(schema) <= set(schema["$defs"])  # type: ignore[arg-type]


def test_a_schema_asks_for_what_submit_json_takes(jobs: Jobs) -> None:
    """What a branch requires is what the door requires: a field left out, or one too many, is malformed."""
    for name, model in acts.ACTS.items():
        schema = lifecycle.seat.acts_schema([name])
        (kind,) = branches(schema).values()
        full = {"act": name, **json.loads(TypeAdapter(dict[str, object]).dump_json(dict(PLAIN.get(name, {}))))}
        if name == "request":
            full |= {"goal": "build it", "worker": "wes"}
        assert not isinstance(door.read(json.dumps(full)), Fault)
        required = kind["required"]
        assert isinstance(required, list)
        assert set(required) - {"act"} == {field for field, info in model.model_fields.items() if info.is_required()}
        for field in required:
            assert isinstance(door.read(json.dumps({key: value for key, value in full.items() if key != field})), Fault)
        assert isinstance(door.read(json.dumps({**full, "more": 1})), Fault)


def test_a_model_that_follows_the_schema_does_a_job(place: Place, jobs: Jobs) -> None:
    """Replies of a model, as JSON and as bytes, in the order in which they come: each fills in what it answers."""
    job = request(jobs, **ASKED)
    for party, reply in (
        ("wes", {"act": "counter", "concern": "too vague", "terms": {"conditions": [{"id": "c1", "text": "it builds"}]}}),
        ("ann", {"act": "revise", "goal": "build it well"}),
        ("wes", {"act": "accept", "estimate": {"commitment": False, "tokens": 100}}),
        ("wes", {"act": "progress", "line": "half", "points_at": [{"ref": "a.py", "kind": "file"}], "spent": {"tokens": 10}}),
        ("wes", {"act": "block", "need": {"what": "a key", "whom": "ann", "by": "2026-12-02T12:00:00+01:00"}}),
        ("ann", {"act": "resolve", "answer": "here"}),
        ("wes", {"act": "propose", "calls": [TypeAdapter(type(CALL)).dump_python(CALL, mode="json")]}),
        ("app", {"act": "decide", "decisions": {"set": "?"}}),
        ("wes", {"act": "deliver", "value": 1, "report": {"conditions": [{"id": "c1", "status": "met", "evidence": "log:1"}]}}),
        ("vic", {"act": "confirm", "reason": "seen"}),
    ):
        seat = place.open().seat(job.id, party)
        assert reply["act"] in branches(seat.schema())
        text = json.dumps(reply)
        receipt = seat.submit_json(text if party == "wes" else text.encode())
        assert receipt.act == reply["act"]
    assert str(job.termination) == "accepted / passed"


# What it answers


def test_an_answer_to_what_was_replaced_is_stale(jobs: Jobs) -> None:
    """Decided on one request while another took its place: refused as stale, naming both; a new look makes it good."""
    job = request(jobs)
    early, wes, ann = job.seat("wes"), job.seat("wes"), job.seat("ann")
    seen = early.look()
    wes.counter("too much", Terms(), binding=True)
    ann.revise(goal="build less")
    for reply in (early.accept, lambda: early.submit_json('{"act": "accept"}'), lambda: early.submit(acts.Accept())):
        refusal = refused(reply)
        assert (refusal.reason, seen.brief.id in refusal.detail) == (Reason.STALE_OFFER, True)
        assert job.job.brief.id in refusal.mend
    assert job.stage is Stage.REQUESTED
    assert "accept" in early.may()  # it looks
    assert early.accept().stage is Stage.READY


@pytest.mark.parametrize(("stage", "party", "reply", "again"), [
    (Stage.COUNTERED, "ann", {"act": "adopt"}, "revise counter"),
    (Stage.BLOCKED, "ann", {"act": "resolve", "answer": "here"}, "resolve block"),
    (Stage.AWAITING_APPROVAL, "app", {"act": "decide", "decisions": None}, "decide propose"),
    (Stage.RENEGOTIATING, "ann", {"act": "insist"}, "insist counter"),
    (Stage.UNDER_REVIEW, "rev", {"act": "clear"}, "veto accept"),
    (Stage.DELIVERED, "vic", {"act": "confirm"}, "rework deliver"),
])  # fmt: skip
def test_every_answer_names_what_was_seen(jobs: Jobs, stage: Stage, party: str, reply: object, again: str) -> None:
    """The same stage, but another offer, block, set, acceptance or delivery: a word on the first is none on the second."""
    job = at(jobs, stage)
    seat = job.seat(party)
    seat.schema()
    for step in again.split():
        STEPS[step](job.seat)
    assert job.stage is stage
    reason = refused(seat.submit_json, json.dumps(reply)).reason
    assert reason is (Reason.ALREADY_DECIDED if stage is Stage.AWAITING_APPROVAL else Reason.STALE_OFFER)
    seat.look()
    assert seat.submit_json(json.dumps(reply)).seq == job.job.seq


def test_what_a_text_says_it_answers_stands(jobs: Jobs) -> None:
    """A reply that names what it answers is taken at its word."""
    job = request(jobs)
    assert refused(job.seat("wes").submit_json, '{"act": "accept", "answers": "another"}').reason is Reason.STALE_OFFER
    assert job.seat("wes").submit_json('{"act": "accept", "answers": "job"}').stage is Stage.READY


def test_a_retry_through_another_seat_is_the_same_act(place: Place, jobs: Jobs) -> None:
    """The seat is gone with its process; the same act under the same id, from a new one, gives the first receipt."""
    job = request(jobs)
    first = job.seat("wes").accept(id="a1")
    assert place.reopen().seat("job", "wes").accept(id="a1") == first


def test_a_retry_answers_what_it_answered_first(place: Place, jobs: Jobs) -> None:
    """Another block stands by now: the first answer, sent again under its id, is still the first answer, and gives its receipt."""
    job = at(jobs, Stage.BLOCKED)
    first = job.seat("ann").resolve("here", id="r1")
    job.seat("wes").block("another key", "ann")
    assert place.reopen().seat("job", "ann").resolve("here", id="r1") == first
    assert place.open().job("job").stage is Stage.BLOCKED


def test_a_seat_may_name_the_seq_it_read(jobs: Jobs) -> None:
    """`expect` through a seat is the same as beneath it."""
    job = at(jobs, Stage.READY)
    with pytest.raises(lifecycle.Conflict):
        job.seat("wes").submit(acts.Deliver(value=1), expect=0)
    assert job.seat("wes").submit(acts.Deliver(value=1), expect=1, id="d1").id == "d1"


# What a model may get wrong

GARBAGE: dict[str, tuple[str | bytes, Reason, str]] = {
    "10 MB of text": ('{"act": "deliver", "value": "' + "x" * 10_000_000 + '"}', Reason.PAYLOAD_TOO_LARGE, "bytes"),
    "one text too long": ('{"act": "deliver", "value": "' + "x" * 70_000 + '"}', Reason.TEXT_TOO_LONG, "70000"),
    "a NUL": ('{"act": "progress", "line": "a\\u0000b"}', Reason.MALFORMED, "line"),
    "a lone surrogate": ('{"act": "progress", "line": "\\ud800"}', Reason.MALFORMED, "line"),
    "NaN": ('{"act": "deliver", "value": [NaN]}', Reason.MALFORMED, "NaN"),
    "1,000 levels": ('{"act": "deliver", "value": ' + "[" * 1_000 + "]" * 1_000 + "}", Reason.MALFORMED, "nested"),
    "100 levels": ('{"act": "deliver", "value": ' + "[" * 100 + "]" * 100 + "}", Reason.MALFORMED, "nested"),
    "a key twice": ('{"act": "progress", "line": "a", "line": "b"}', Reason.MALFORMED, "`line` stands twice"),
    "an unknown act": ('{"act": "finish"}', Reason.UNKNOWN_ACT, "`finish`"),
    "no act": ('{"line": "on"}', Reason.MALFORMED, "`act`"),
    "an unknown field": ('{"act": "progress", "line": "on", "mood": "good"}', Reason.MALFORMED, "mood"),
    "a field that is missing": ('{"act": "progress", "nothing_new": true}', Reason.MALFORMED, "line"),
    "a field of another kind": ('{"act": "progress", "line": {"text": "on"}}', Reason.MALFORMED, "line"),
    "two lines": ('{"act": "progress", "line": "a\\nb"}', Reason.MALFORMED, "line"),
    "blanks": ('{"act": "progress", "line": "  "}', Reason.MALFORMED, "line"),
    "a naive time": ('{"act": "fail", "at": "2026-12-01T12:00:00"}', Reason.MALFORMED, "at"),
    "a negative sum": ('{"act": "fail", "spent": {"tokens": -1}}', Reason.MALFORMED, "tokens"),
    "prose": ("Sure! Here is the JSON you asked for:", Reason.MALFORMED, "JSON"),
    "fenced JSON": ('```json\n{"act": "fail"}\n```', Reason.MALFORMED, "JSON"),
    "a list": ('[{"act": "fail"}]', Reason.MALFORMED, "list"),
    "nothing": ("", Reason.MALFORMED, "JSON"),
    "bytes that are no text": (b"\xff\xfe\x00\xd8", Reason.MALFORMED, "JSON"),
    "terminal escapes": ('{"act": "\\u001b[31mred\\u202e"}', Reason.UNKNOWN_ACT, "\\u001b[31mred\\u202e"),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "reason", "says"), GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_answered_in_one_clear_line(jobs: Jobs, reply: str | bytes, reason: Reason, says: str) -> None:
    """Whatever a model replies that is no act: a typed refusal that names the fault and the mend; the job is untouched."""
    job = at(jobs, Stage.WORKING)
    before = job.job
    refusal = refused(job.seat("wes").submit_json, reply)
    assert (refusal.reason, says in refusal.detail) == (reason, True), refusal
    assert refusal.mend and len(str(refusal)) < 1_000 and str(refusal).isprintable()
    assert (job.job, len(job.refusals)) == (before, 1 if reason is Reason.UNKNOWN_ACT else 0)
    assert jobs.turned_away[reason] == (0 if reason is Reason.UNKNOWN_ACT else 1)


@pytest.mark.parametrize(("call", "field"), [
    (lambda wes, ann: wes.progress("on", ""), "ref"),
    (lambda wes, ann: wes.progress("on\x00"), "line"),
    (lambda wes, ann: wes.deliver("a\x00b"), "name"),
    (lambda wes, ann: wes.deliver(value=float("nan")), "value"),
    (lambda wes, ann: wes.deliver(value=object()), "value"),
    (lambda wes, ann: wes.deliver(met={"": "x"}), "id"),
    (lambda wes, ann: wes.deliver(met={"c1": "x"}, not_met={"c1": "y"}), "c1"),
    (lambda wes, ann: wes.halt("partial", ""), "name"),
    (lambda wes, ann: wes.halt("burnt"), "work"),
    (lambda wes, ann: wes.fail(reason="tired"), "reason"),
    (lambda wes, ann: wes.block("", "ann"), "what"),
    (lambda wes, ann: wes.accept({"c 1": "it builds"}), "id"),
    (lambda wes, ann: wes.accept({"c1": ""}), "text"),
    (lambda wes, ann: wes.accept(exclusions={"x1": "\x00"}), "text"),
    (lambda wes, ann: wes.decline(""), "reason"),
    (lambda wes, ann: wes.defer(NOON.replace(tzinfo=None), "it"), "until"),
    (lambda wes, ann: ann.revise(mood="good"), "mood"),
    (lambda wes, ann: ann.revise(conditions={"": ""}), "id"),
    (lambda wes, ann: ann.resolve(" "), "answer"),
])  # fmt: skip
def test_a_method_given_garbage_refuses_it_like_the_door(jobs: Jobs, call: object, field: str) -> None:
    """From Python too: what cannot be an act is Refused as malformed, with the field's name, never another library's error."""
    job = at(jobs, Stage.WORKING)
    assert callable(call)
    refusal = refused(call, job.seat("wes"), job.seat("ann"))
    assert (refusal.reason, field in refusal.detail, refusal.stage) == (Reason.MALFORMED, True, Stage.WORKING), refusal
    assert len(job.log) == 3


@pytest.mark.parametrize(("fields", "field"), [
    ({"conditions": {"c 1": "x"}}, "id"),
    ({"conditions": {"c1": ""}}, "text"),
    ({"conditions": [Condition("c1", "x"), Condition("c1", "y")]}, "c1"),
    ({"worker": ""}, "worker"),
    ({"worker": "clock"}, "clock"),
    ({"respond_by": NOON.replace(tzinfo=None)}, "respond_by"),
    ({"id": "a b"}, "a b"),
    ({"parent": "\x00"}, "parent"),
])  # fmt: skip
def test_a_request_given_garbage_refuses_it_and_makes_no_job(jobs: Jobs, fields: Mapping[str, object], field: str) -> None:
    """A request that cannot be one names its field."""
    refusal = refused(request, jobs, **fields)
    assert (refusal.reason, field in refusal.detail) == (Reason.MALFORMED, True), refusal
    assert jobs.find() == []


def test_a_workers_own_check_is_not_taken(jobs: Jobs) -> None:
    """A condition that the worker adds with a check that decides by itself: refused; as words it is taken, and never run."""
    job = request(jobs, **ASKED)
    own = Condition("c2", "it ships", lifecycle.terms.CommandCheck(("rm", "-rf", "dist")))
    assert refused(job.seat("wes").accept, {"c1": "it builds", "c2": own}).reason is Reason.FOREIGN_CHECK
    job.seat("wes").accept({"c1": "it builds", "c2": Condition("c2", "it ships", "rm -rf dist")})
    assert job.stage is Stage.READY


# One call


def test_asking_a_function_for_a_value(jobs: Jobs) -> None:
    """It gets the goal; any JSON value it returns is accepted and delivered, nothing included."""
    goals: list[str] = []
    for value in ({"total": 12}, [1], "text", 0, False, None):
        job = jobs.ask(lambda goal, value=value: goals.append(goal) or value, "total 2024")
        assert (lines(job), str(job.termination)) == (["request", "accept", "deliver"], "delivered / unresolved")
        act = job.log[-1].act
        assert isinstance(act, acts.Deliver)
        assert act.value == value
    assert goals == ["total 2024"] * 6


def test_asking_with_conditions_waits_for_a_verdict(jobs: Jobs) -> None:
    """Where there are conditions, somebody judges what came back; who asks and who works may be named."""
    job = jobs.ask(lambda goal: 12, "total 2024", requester="planner", worker="coder", conditions={"c1": "it is right"})
    assert (job.stage, job.job.parties.worker) == (Stage.DELIVERED, "coder")
    job.seat("planner").confirm("it is")
    assert str(job.termination) == "accepted / passed"


@pytest.mark.parametrize(("answer", "made", "stage"), [
    (acts.Deliver(artifacts=(acts.Artifact("a.py"),)), ["accept", "deliver"], Stage.UNVERIFIED),
    (acts.Fail(reason="environment_unavailable"), ["accept", "fail"], Stage.ERROR),
    (acts.Progress(line="begun", nothing_new=True), ["accept", "progress"], Stage.WORKING),
    (acts.Block(need=Need("a key", "requester")), ["accept", "block"], Stage.BLOCKED),
    (acts.Accept(), ["accept"], Stage.READY),
    (acts.Decline(reason="not mine"), ["decline"], Stage.DECLINED),
    (acts.Counter(concern="too much", terms=Terms()), ["counter"], Stage.COUNTERED),
])  # fmt: skip
def test_asking_a_function_for_an_act(jobs: Jobs, answer: acts.Act, made: list[str], stage: Stage) -> None:
    """An act that it returns is made as it is; one of somebody at work accepts first."""
    job = jobs.ask(lambda goal: answer, "total 2024")
    assert (lines(job)[1:], job.stage) == (made, stage)


def test_asking_a_function_to_put_it_off(jobs: Jobs) -> None:
    """A deferral is an answer, too."""
    until = jobs.store.now() + timedelta(hours=1)
    assert jobs.ask(lambda goal: acts.Defer(until=until, looking_into="it"), "g").stage is Stage.DEFERRED


def test_asking_for_an_act_that_is_not_the_workers(jobs: Jobs) -> None:
    """What the worker may not do is refused, and the job is as it was."""
    assert refused(jobs.ask, lambda goal: acts.Confirm(), "g", id="job").reason is Reason.ILLEGAL
    assert refused(jobs.ask, lambda goal: acts.Cancel(), "g", id="other").reason is Reason.NOT_AUTHORISED
    assert {row.stage for row in jobs.find()} == {Stage.REQUESTED}


class Model(lifecycle.acts.BaseModel):
    """A user's own model."""

    n: int


def raises(words: str) -> None:
    """A function that fails, with these words."""
    raise RuntimeError(words)


@pytest.mark.parametrize(("fn", "words"), [
    (lambda goal: 1 / 0, "ZeroDivisionError: division by zero"),
    (lambda goal: object(), "the answer is no JSON value"),
    (lambda goal: {1: 2}, "the answer is no JSON value"),
    (lambda goal: float("nan"), "the answer is no JSON value"),
    (lambda goal: "a\x00", "the answer is no JSON value"),
    (lambda goal: Model.model_validate({"n": "no"}), "ValidationError: 1 validation error for Model"),
    (lambda goal: raises("\x00\x1b[31m\ud800" + "x" * 100_000), "RuntimeError: \\u0000\\u001b[31m\\ud800xxx"),
])  # fmt: skip
def test_asking_a_function_that_fails(jobs: Jobs, fn: object, words: str) -> None:
    """It raises, or returns what is no JSON: the job ends in error and says so, in words that can be shown."""
    assert callable(fn)
    job = jobs.ask(fn, "total 2024")
    act = job.log[-1].act
    assert isinstance(act, acts.Fail)
    assert (job.state, str(job.termination), act.words.startswith(words)) == (State.ERROR, "failed / none", True), act.words
    assert len(act.words) < 2_500 and act.words.isprintable()


def test_asking_again_asks_once(place: Place, jobs: Jobs) -> None:
    """Under the same id an ended job is not done again; another goal under it is refused; one that was never answered is done."""
    calls: list[str] = []
    first = jobs.ask(lambda goal: calls.append(goal) or 1, "g", id="job")
    again = place.reopen().ask(lambda goal: calls.append(goal) or 2, "g", id="job")
    assert (calls, again.job) == (["g"], place.open().job("job"))
    assert refused(place.open().ask, lambda goal: 3, "other", id="job").reason is Reason.ACT_ID_REUSED
    assert first.id == "job"
    jobs = place.open()
    jobs.request("g", requester="requester", worker="worker", id="left")  # as by a process that died while it was asking
    assert jobs.ask(lambda goal: 4, "g", id="left").state is State.RESULT


def test_an_answer_that_comes_too_late_is_filed(jobs: Jobs, clock: Clock) -> None:
    """The deadline passes while the function works: the result is refused as late, and kept whole."""

    def slow(goal: str) -> int:
        clock.ticks(2 * DAY)
        return 12

    assert refused(jobs.ask, slow, "g", id="job").reason is Reason.CLOSED
    assert jobs.job("job").stage is Stage.STOPPED
    assert [one.refusal.act for one in jobs.refusals("job")] == ["accept", "deliver"]
    assert acts.Deliver.model_validate_json(jobs.refusals("job")[1].payload).value == 12


def test_nobody_sits_at_a_job_that_is_not_theirs(jobs: Jobs) -> None:
    """A stranger's seat, and a seat at no job: everything is answered as if there were no such job."""
    request(jobs, intervals=Intervals(respond=SECOND))
    for seat in (jobs.seat("job", "eve"), jobs.seat("none", "ann")):
        for call in (seat.look, seat.may, seat.schema, seat.accept, seat.renew, lambda seat=seat: seat.submit_json("{}")):
            with pytest.raises(JobNotFound):
                call()
    with pytest.raises(JobNotFound):
        jobs.handle("none")
    with pytest.raises(ValidationError):
        acts.Progress(line="")


def test_a_retry_answers_what_it_answered_the_first_time(jobs: Jobs) -> None:
    """A block is resolved, another stands: the first answer sent again is the first answer, not one to the second block."""
    job = jobs.request("total 2024", requester="ann", worker="wes")
    ann, wes = job.seat("ann"), job.seat("wes")
    wes.accept()
    wes.block("the rate", "ann")
    first = ann.resolve("0.92", id="r1")
    wes.block("the year", "ann")
    assert ann.resolve("0.92", id="r1") == first
    assert job.pause is not None and job.pause.decision == "the year"


def test_a_verifier_records_a_broken_exclusion(jobs: Jobs) -> None:
    """An exclusion that a check found broken makes a rejected result a failed one, whatever its worker said."""
    job = jobs.request("total 2024", requester="ann", worker="wes", exclusions={"x1": "no other file"}, verdict=True)
    job.seat("wes").accept()
    job.seat("wes").deliver("report.csv", honoured=["x1"])
    job.seat("ann").reject("another file was touched", checks=[lifecycle.acts.CheckRecord("x1", "failed")])
    assert str(job.termination) == "rejected / failed"
