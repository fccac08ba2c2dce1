"""Cases from the field: each was reported by users of another system, and here can be only what it should be.

The numbers are those of the list of cases. What needs rooms that stand on the engine (hosts, workers, pages) is tested as far as
the engine goes, and says so.
"""

import gc
import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import wraps

import pytest
from attrs import evolve

import lifecycle
from lifecycle import (
    Conflict,
    Engine,
    Entry,
    Handle,
    Job,
    JobNotFound,
    Jobs,
    Limits,
    Reason,
    Refused,
    Stage,
    State,
    StoreError,
    UnknownLaw,
    acts,
)  # fmt: skip
from lifecycle.engine import records
from lifecycle.law.errors import StoreVersion
from lifecycle.law.fold import replay
from lifecycle.law.guards.move import Fault, Move
from lifecycle.law.guards.working import points_somewhere
from lifecycle.law.log import Query, Row, chained, seal, unseal, written
from lifecycle.law.snapshot import dump
from lifecycle.law.states import ENDED, FINAL
from lifecycle.law.table import LAW, TABLE, Rows, Way, enact
from lifecycle.law.terms import Condition, Intervals, Need, Terms

from .conftest import Place
from .relay import Between, Failing, Relay
from .stories import (
    ASKED,
    CALL,
    DAY,
    HOUR,
    MINUTE,
    NOON,
    PARTIES,
    SECOND,
    STEPS,
    WAYS,
    Clock,
    Outcome,
    at,
    attempt,
    bodies,
    child,
    counted,
    ended,
    lines,
    refused,
    request,
    serial,
    soon,
)  # fmt: skip

Made = Callable[[Job], tuple[str, acts.Act]]

MOVES: dict[str, Made] = {
    "accept": lambda job: ("wes", acts.Accept(answers=job.brief.id)),
    "decline": lambda job: ("wes", acts.Decline(answers=job.brief.id, reason="no time")),
    "progress": lambda job: ("wes", acts.Progress(line="half done", nothing_new=True)),
    "block": lambda job: ("wes", acts.Block(need=Need("a key", "ann"))),
    "deliver": lambda job: ("wes", acts.Deliver(value=1)),
    "fail": lambda job: ("wes", acts.Fail()),
    "halt": lambda job: ("wes", acts.Halt(work="partial")),
    "cancel": lambda job: ("ann", acts.Cancel()),
    "resolve": lambda job: ("ann", acts.Resolve(answers=job.standing.id if job.standing else None, answer="here")),
    "clear": lambda job: ("rev", acts.Clear(answers=job.standing.id if job.standing else None)),
    "veto": lambda job: ("rev", acts.Veto(answers=job.standing.id if job.standing else None, offending=("all",), mend="less")),
}


def interleaved(place: Place, stage: Stage, mine: str, theirs: str, **fields: object) -> list[tuple[Outcome, Outcome]]:
    """What two moves come to, the second made before each thing that the first asks of the store: a serial order, each."""
    rival, inner, found = place.open(), place.open().store, []
    for warm in (False, True):
        for n in counted():
            job = at(rival, stage, f"{mine}-{theirs}-{warm}-{n}", **fields)
            stood, came = job.job, []
            by, act = MOVES[theirs](stood)
            between = Between(inner, n, lambda job=job, came=came, by=by, act=act: came.append(attempt(rival, job.id, by, act)))
            engine = Engine(between)
            if warm:
                between.left = 1_000
                engine.job(job.id)
                between.left = n
            outcome = attempt(engine, job.id, *MOVES[mine](stood))
            if not between.taken:
                break
            moves = [MOVES[mine](stood), MOVES[theirs](stood)]
            assert (outcome, came[0]) in serial(stood, moves, place.clock())
            assert [entry.seq for entry in job.log] == list(range(job.job.seq + 1))
            found.append((outcome, came[0]))
    return found


# Ends and order


def test_case_01_what_comes_after_a_result_is_refused_and_changes_nothing(jobs: Jobs) -> None:
    """Delivered; then progress, then fail: both are refused as closed, the bytes stay, both refusals are kept."""
    job = at(jobs, Stage.UNVERIFIED)
    before = bodies(job), job.job
    for step in ("progress", "fail"):
        refusal = refused(STEPS[step], job.seat)
        assert (refusal.reason, refusal.may) == (Reason.CLOSED, ())
    assert (bodies(job), job.job) == before
    assert [kept.refusal.act for kept in job.refusals] == ["progress", "fail"]


def test_case_02_a_declined_job_answers_everything_with_what_it_was_declined_as(jobs: Jobs) -> None:
    """Declined; then accept, progress and resolve under the same id: each is told that it was declined."""
    job = at(jobs, Stage.DECLINED)
    for step in ("accept", "progress", "resolve"):
        refusal = refused(STEPS[step], job.seat)
        assert refusal.reason is Reason.CLOSED
        assert "declined" in refusal.detail
    assert lines(job) == ["request", "decline"]


@pytest.mark.parametrize("asked", [{}, ASKED], ids=["no verdict", "verdict"])
def test_case_03_a_delivery_and_a_cancel_race_to_exactly_one_end(place: Place, asked: dict[str, object]) -> None:
    """Deliver races cancel, in every interleaving: one of them ends the job, and the loser is told which."""
    outcomes = interleaved(place, Stage.READY, "deliver", "cancel", **asked)
    outcomes += [(b, a) for a, b in interleaved(place, Stage.READY, "cancel", "deliver", **asked)]
    assert len({(a[0], b[0]) for a, b in outcomes}) == 2  # both orders came about
    for delivered, cancelled in outcomes:
        assert {delivered[0], cancelled[0]} == {"made", "refused"}


def test_case_04_a_cancel_after_the_end_is_told_the_end(jobs: Jobs) -> None:
    """Cancelled twice: the second is told what the job ended as. Delivered, then cancelled: told the result; nothing changes."""
    stopped, done = at(jobs, Stage.STOPPED, "a"), at(jobs, Stage.UNVERIFIED, "b")
    for job, how in ((stopped, "cancelled / none"), (done, "delivered / unresolved")):
        before = bodies(job)
        refusal = refused(job.seat("ann").cancel)
        assert (refusal.reason, how in refusal.detail) == (Reason.CLOSED, True)
        assert bodies(job) == before


def test_case_05_a_worker_that_does_nothing_about_a_cancel_is_stopped_by_the_clock(jobs: Jobs, clock: Clock) -> None:
    """Blocked, then cancelled, and the worker's stop handler does nothing: stopped at the stop deadline, condition unknown."""
    job = at(jobs, Stage.BLOCKED, intervals=Intervals(stop=5 * MINUTE))
    job.seat("ann").cancel()
    assert job.stage is Stage.STOPPING
    clock.ticks(5 * MINUTE)
    jobs.sweep()
    assert (job.stage, job.job.work) == (Stage.STOPPED, "unknown")
    assert str(job.termination) == "cancelled / none"  # it was cancelled, not expired: a termination never changes


def test_case_06_a_block_names_its_need_and_leaves_the_job_open(place: Place, jobs: Jobs) -> None:
    """A block with no need is refused. With one, and the caller gone, the job is still open and listed."""
    job = at(jobs, Stage.WORKING)
    refusal = refused(jobs.submit, job.id, acts.Block(), by="wes")
    assert (refusal.reason, job.stage) == (Reason.NO_NEED, Stage.WORKING)
    job.seat("wes").block("a key", "ann")
    anew = place.reopen()
    assert [row.job for row in anew.find(open=True)] == ["job"]
    pause = anew.job("job").pause
    assert pause and (pause.decision, pause.owed_by) == ("a key", "ann")


def test_case_07_an_answer_resumes_only_what_waits_for_it(jobs: Jobs) -> None:
    """Cancelled, then an answer to its need: closed. A job is resumed from the stage that waits, and from no other."""
    job = at(jobs, Stage.BLOCKED, "a")
    answer = job.seat("ann")
    answer.look()
    job.seat("ann").cancel()
    assert refused(answer.resolve, "here").reason is Reason.CLOSED
    assert refused(at(jobs, Stage.WORKING, "b").seat("ann").resolve, "here").reason is Reason.ILLEGAL


def test_case_08_also_do_this_changes_no_terms_until_an_offer_is_adopted(jobs: Jobs) -> None:
    """Progressing, and the requester says "also do X": the terms in force are what they were until an offer is adopted."""
    job = at(jobs, Stage.WORKING, **ASKED)
    terms, more = job.job.terms, {"c1": "it builds", "c2": "it also sings"}
    assert refused(job.seat("ann").revise, conditions=more).reason is Reason.ILLEGAL
    assert job.job.terms == terms
    asked = Terms((Condition("c1", "it builds"), Condition("c2", "it also sings")))
    job.seat("wes").counter("as you said", asked, binding=True)
    assert (job.stage, job.job.terms) == (Stage.RENEGOTIATING, terms)
    job.seat("ann").adopt()
    assert (job.stage, job.job.terms) == (Stage.WORKING, asked)


def test_case_09_a_hold_is_lifted_by_its_owner_only(jobs: Jobs) -> None:
    """Awaiting approval, and the worker reports progress: refused; the approver's word alone goes on."""
    job = at(jobs, Stage.AWAITING_APPROVAL)
    assert refused(STEPS["progress"], job.seat).reason is Reason.ILLEGAL
    bundle = {"set": job.job.standing.id, "decisions": []}
    for party in ("wes", "ann", "rev"):
        assert refused(job.seat(party).decide, bundle).reason is Reason.NOT_AUTHORISED
    assert job.stage is Stage.AWAITING_APPROVAL
    job.seat("app").decide(bundle)
    assert job.stage is Stage.WORKING


def test_case_10_a_deferral_that_is_not_kept_lapses_once(place: Place, jobs: Jobs, clock: Clock) -> None:
    """Deferred until t, and t passes: it lapses exactly once, whoever sweeps. Cancelled while deferred: cancelled."""
    job, other = at(jobs, Stage.DEFERRED, "a"), at(jobs, Stage.DEFERRED, "b")
    other.seat("ann").cancel()
    assert str(other.termination) == "cancelled / none"
    clock.ticks(2 * HOUR - timedelta(microseconds=1))
    assert jobs.sweep() == []
    clock.ticks(timedelta(microseconds=1))
    swept = [receipt for engine in (jobs, place.open(), jobs) for receipt in engine.sweep()]
    assert [(receipt.job, receipt.act) for receipt in swept] == [("a", "lapse")]
    assert lines(job) == ["request", "defer", "lapse"]
    assert job.termination and (job.termination.reason, job.termination.cause) == ("expired", "until")
    assert job.termination.owed_by == "ann"  # the deferral named a need of hers


def test_case_11_the_same_request_twice_is_one_job(place: Place) -> None:
    """The same request again, as after a crash: one job, the first receipt. The same id with other terms: refused."""
    act = acts.Request(goal="build it", worker="wes", conditions=(Condition("c1", "it builds"),))
    first = place.open().submit("job", act, by="ann")
    jobs = place.reopen()
    assert jobs.submit("job", act, by="ann") == first
    assert [row.job for row in jobs.find()] == ["job"]
    other = act.model_copy(update={"conditions": ()})
    assert refused(jobs.submit, "job", other, by="ann").reason is Reason.ACT_ID_REUSED
    assert refused(jobs.submit, "job", act, by="bob").reason is Reason.ACT_ID_REUSED
    assert len(jobs.log("job")) == 1


def test_case_11_a_crash_between_two_requests(shared: Place) -> None:
    """The process that asked is killed before it hears the answer; asking again, the next one asks once."""
    asks = "jobs = lifecycle.open(sys.argv[1], clock=Clock())\nrequest(jobs, worker='wes')\n"
    ended(child(asks + "os.kill(os.getpid(), signal.SIGKILL)", shared.url), -9)
    jobs = shared.open()
    request(jobs)
    assert [entry.act.act for entry in jobs.log("job")] == ["request"]


def test_case_12_a_reader_that_drops_anywhere_misses_nothing(jobs: Jobs) -> None:
    """A reader drops at every position and comes back with `after`: no hole, no duplicate; for one log, at every seq, too."""
    for stage in WAYS:
        at(jobs, stage, stage.name)
    whole = list(jobs.watch())
    for dropped in range(len(whole) + 1):
        seen = [notice for notice, _ in zip(jobs.watch(), range(dropped), strict=False)]
        seen += jobs.watch(after=seen[-1].position if seen else 0)
        assert seen == whole
    log = jobs.log("ACCEPTED")
    assert [[*log[: seq + 1], *jobs.log("ACCEPTED", after=seq)] for seq in range(-1, 4)] == [list(log)] * 5


def test_case_13_a_writer_with_an_older_seq_conflicts(place: Place, jobs: Jobs) -> None:
    """Two handles on one store; B adds, A writes from the older seq: Conflict, and B's entry is not lost."""
    job, other = at(jobs, Stage.READY), place.open()
    read = job.job.seq
    added = other.submit(job.id, acts.Progress(line="B was here", nothing_new=True), by="wes")
    with pytest.raises(Conflict) as conflict:
        jobs.submit(job.id, acts.Progress(line="A was here", nothing_new=True), by="wes", expect=read)
    assert (conflict.value.expected, conflict.value.actual) == (read, read + 1)
    assert job.log[-1].receipt == added


def test_case_14_notices_that_are_lost_doubled_or_disordered_do_no_harm(jobs: Jobs) -> None:
    """Whatever becomes of notices, a reader that asks for what is after its seq converges."""
    job = at(jobs, Stage.ACCEPTED, **ASKED)
    notices = [notice.entry.seq for notice in jobs.watch()]
    for heard in (notices[-1:], notices * 2, notices[::-1], notices[1::2], [notices[2], notices[0], notices[3]]):
        read: list[Entry] = []
        for _ in heard:
            read += jobs.log(job.id, after=read[-1].seq if read else -1)
        assert replay(read) == job.job


def test_case_15_a_killed_worker_is_found_abandoned(shared: Place, clock: Clock) -> None:
    """A worker killed while progressing: once its lease is over the job is abandoned, never running for ever.

    That its capacity is free again is, here, that it has no open job; the host that counts them is a later room's.
    """
    jobs = shared.open()
    job = request(jobs)
    worker = child(
        """
        coder = lifecycle.open(sys.argv[1], clock=Clock()).seat("job", "wes")
        coder.accept()
        coder.progress("begun", "a.py")
        print("at work", flush=True)
        signal.pause()
        """,
        shared.url,
    )
    assert worker.stdout and worker.stdout.readline() == "at work\n"
    worker.kill()
    ended(worker, -9)
    clock.ticks(HOUR)
    jobs.sweep()
    assert str(job.termination) == "abandoned / none"
    assert job.termination and (job.termination.cause, job.termination.owed_by) == ("lease", "wes")
    assert jobs.find(worker="wes", open=True) == []


def test_case_16_a_result_that_was_seen_is_seen_by_every_handle(place: Place, jobs: Jobs) -> None:
    """On seeing a result, a fresh handle is opened: the identical result is there."""
    job = at(jobs, Stage.READY)
    seen: list[tuple[Job, Job]] = []
    jobs.on("look", lambda entry: seen.append((jobs.job("job"), place.open().job("job"))) if entry.stage in FINAL else None)
    job.seat("wes").deliver("a.py", value={"total": 12})
    soon(lambda: seen)
    mine, fresh = seen[0]
    assert mine == fresh == job.job
    assert place.reopen().job("job") == mine


def test_case_17_a_job_that_is_not_there_is_never_said_to_be_cancelled(jobs: Jobs) -> None:
    """A job that is gone is not found; no state is invented. (Purging, and "last known as", is a later room's.)"""
    gone = Handle(jobs, "gone")
    for ask in (lambda: gone.state, lambda: gone.termination, lambda: gone.log, lambda: gone.refusals, gone.seat("ann").may):
        with pytest.raises(JobNotFound) as error:
            ask()
        assert "cancelled" not in str(error.value)


@pytest.mark.parametrize("stage", WAYS)
def test_case_18_the_list_the_job_and_the_log_agree(jobs: Jobs, stage: Stage) -> None:
    """Deliver, then cancel, then read by every view: they agree; and so at every stage, after a refusal too."""
    job = at(jobs, stage)
    for step in ("deliver", "cancel"):
        attempted = pytest.raises(Refused) if stage in FINAL else None
        if attempted:
            with attempted:
                STEPS[step](job.seat)
    (row,) = jobs.find()
    assert (row.stage, row.updated_at) == (job.stage, job.job.at)
    assert replay(job.log) == job.job
    assert [found.job for found in jobs.find(stage=stage)] == [found.job for found in jobs.find(state=stage.state)] == ["job"]


def test_case_19_a_requester_finds_its_own_open_jobs(jobs: Jobs) -> None:
    """A requester that forgot its ids lists its own open jobs: exactly those, also page by page."""
    for stage in WAYS:
        at(jobs, stage, f"ann-{stage.name}")
        request(jobs, f"bob-{stage.name}", requester="bob")
    wanted = [f"ann-{stage.name}" for stage in WAYS if stage not in ENDED]
    assert [row.job for row in jobs.find(requester="ann", open=True)] == wanted
    paged, after = [], ""
    while page := jobs.find(requester="ann", open=True, after=after, limit=2):
        paged, after = [*paged, *(row.job for row in page)], page[-1].job
    assert paged == wanted
    assert jobs.find(requester="ann", open=True, state="error") == []


def test_case_20_a_worker_that_was_denied_gives_up_with_an_error(jobs: Jobs) -> None:
    """Accepted, approval denied, the worker gives up: error(approval_denied), never declined."""
    job = at(jobs, Stage.AWAITING_APPROVAL)
    denied = {"call": "c1", "digest": CALL.digest, "verdict": "denied"}
    job.seat("app").decide({"set": job.job.standing.id, "decisions": [denied]})
    job.seat("wes").fail("not without it", reason="approval_denied")
    assert (job.state, str(job.termination)) == (State.ERROR, "approval_denied / none")
    assert refused(job.seat("wes").decline, "no").reason is Reason.CLOSED


def test_case_21_a_report_names_every_condition(jobs: Jobs) -> None:
    """Three conditions accepted, two reported: refused, naming the third. Unverifiable is legal, and stays visible."""
    job = at(jobs, Stage.WORKING, conditions={"c1": "it builds", "c2": "it sings", "c3": "it ships"})
    refusal = refused(job.seat("wes").deliver, "a.py", met={"c1": "log:1"}, not_met={"c2": "it hums"})
    assert (refusal.reason, "c3" in refusal.detail, "c1" in refusal.detail) == (Reason.REPORT_INCOMPLETE, True, False)
    job.seat("wes").deliver("a.py", met={"c1": "log:1"}, not_met={"c2": "it hums"}, unverifiable=["c3"])
    report = job.job.delivery and job.job.delivery.report
    assert report and [(found.id, found.status) for found in report.conditions][-1] == ("c3", "unverifiable")


@pytest.mark.parametrize("stage", [Stage.READY, Stage.WORKING, Stage.BLOCKED, Stage.AWAITING_APPROVAL, Stage.RENEGOTIATING])
def test_case_22_whatever_a_worker_is_in_it_can_be_stopped(jobs: Jobs, clock: Clock, stage: Stage) -> None:
    """Accepted and stopped before any progress; stopped inside something that blocks: both end, by word or by the clock."""
    told, silent = at(jobs, stage, "a"), at(jobs, stage, "b")
    for job in (told, silent):
        job.seat("ann").cancel()
        assert job.seat("wes").may() == ("halt",)
    told.seat("wes").halt("untouched")
    clock.ticks(10 * MINUTE)
    jobs.sweep()
    assert [(job.stage, job.job.work) for job in (told, silent)] == [(Stage.STOPPED, "untouched"), (Stage.STOPPED, "unknown")]


def test_case_23_a_declined_job_is_no_empty_success(jobs: Jobs) -> None:
    """A declined job, seen by whoever asked for it in one call: declined, with a reason. (Adapters are later rooms'.)"""
    job = jobs.ask(lambda goal: acts.Decline(reason="not mine"), "total 2024")
    assert (job.state, str(job.termination), job.job.delivery) == (State.DECLINED, "declined / none", None)


# The machine itself


@pytest.mark.parametrize(
    ("stage", "mine", "theirs"),
    [
        (Stage.REQUESTED, "accept", "cancel"),
        (Stage.REQUESTED, "decline", "cancel"),
        (Stage.REQUESTED, "accept", "decline"),
        (Stage.DEFERRED, "accept", "resolve"),
        (Stage.UNDER_REVIEW, "clear", "veto"),
        (Stage.UNDER_REVIEW, "clear", "cancel"),
        (Stage.READY, "progress", "cancel"),
        (Stage.WORKING, "block", "cancel"),
        (Stage.WORKING, "fail", "cancel"),
        (Stage.BLOCKED, "resolve", "cancel"),
        (Stage.STOPPING, "halt", "cancel"),
    ],
)
def test_case_55_while_a_store_waits_another_act_arrives(place: Place, stage: Stage, mine: str, theirs: str) -> None:
    """Something waits in the middle of an act while another arrives on the job: the outcome equals some serial order."""
    assert len(interleaved(place, stage, mine, theirs)) > 1
    assert len(interleaved(place, stage, theirs, mine)) > 1


def test_case_56_a_slow_hook_takes_nobodys_receipt_away(jobs: Jobs) -> None:
    """A slow hook on accept, then cancel arrives: accept's caller has its own receipt, cancel's has its own."""
    job, begun, go_on = request(jobs), threading.Event(), threading.Event()
    jobs.on("slow", lambda entry: entry.act.act == "accept" and begun.set() is None and go_on.wait(20))
    accepted = job.seat("wes").accept()
    assert begun.wait(20)
    cancelled = job.seat("ann").cancel()
    assert [(r.act, r.seq, r.stage) for r in (accepted, cancelled)] == [
        ("accept", 1, Stage.READY),
        ("cancel", 2, Stage.STOPPING),
    ]
    go_on.set()


def test_case_57_a_hook_that_raises_changes_nothing_and_is_tried_again(jobs: Jobs, clock: Clock) -> None:
    """A hook raises: the state is the new one, one entry on; the failure is recorded with its type, and can be tried again."""
    job, broken, seen = request(jobs), True, []

    def hook(entry: Entry) -> None:
        if broken:
            raise RuntimeError("the mail is down")
        seen.append(entry)

    hooked = jobs.on("mail", hook)
    receipt = job.seat("wes").accept()
    soon(hooked.failures)
    (failure,) = jobs.hook_failures("mail")
    assert (job.stage, job.job.seq, receipt.seq) == (Stage.READY, 1, 1)
    assert (failure.job, failure.seq, failure.attempts) == ("job", 1, 1)
    assert failure.error == "RuntimeError: the mail is down"
    broken = False
    hooked.retry()
    assert (seen, jobs.hook_failures("mail")) == ([job.log[1]], [])


def test_case_58_a_slow_hook_on_one_job_holds_up_nobody(place: Place, jobs: Jobs) -> None:
    """While a hook on job 1 takes its time, job 2 is accepted at once, and reads never wait."""
    one, two, begun, go_on = request(jobs, "one"), request(jobs, "two"), threading.Event(), threading.Event()
    hooked = jobs.on("slow", lambda entry: entry.job == "one" and begun.set() is None and go_on.wait(20))
    one.seat("wes").accept()
    assert begun.wait(20)
    two.seat("wes").accept()
    place.open().submit("two", acts.Progress(line="on", nothing_new=True), by="wes")
    assert (one.stage, two.stage, len(jobs.find()), len(two.log)) == (Stage.READY, Stage.WORKING, 2, 3)
    assert (jobs.sweep(), jobs.audit(), hooked.failures()) == ([], [], [])
    assert not go_on.is_set()
    go_on.set()


def test_case_59_an_ended_job_is_let_go_at_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is dropped is freed without a gc pass, and an engine remembers a bounded number. (The rate is a benchmark.)"""
    monkeypatch.setattr(records, "REMEMBERED", 5)
    jobs = place.open()

    def alive() -> int:
        return sum(isinstance(thing, Job) for thing in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = alive()
        for n in range(50):
            job = at(jobs, Stage.UNVERIFIED, f"j{n}")
        assert alive() - before <= 5
        held = [jobs.job(f"j{n}") for n in range(50)]
        assert alive() - before >= 50
        del held
        assert alive() - before <= 5
    finally:
        gc.enable()
    assert job.stage is Stage.UNVERIFIED
    assert jobs.job("j0").stage is Stage.UNVERIFIED


@pytest.mark.parametrize("first", ["hook", "outside"])
def test_case_60_a_hooks_act_queues_like_any_other(jobs: Jobs, first: str) -> None:
    """A hook emits progress while a cancel arrives from outside: one order, and the log tells it."""
    job, begun, go_on = request(jobs), threading.Event(), threading.Event()

    def hook(entry: Entry) -> None:
        if entry.act.act == "accept":
            if first == "outside":
                begun.set()
                go_on.wait(20)
            jobs.submit(entry.job, acts.Progress(line="woken", nothing_new=True), by="wes")
            begun.set()

    hooked = jobs.on("worker", hook)
    job.seat("wes").accept()
    assert begun.wait(20)
    job.seat("ann").cancel()
    go_on.set()
    if first == "hook":
        assert lines(job) == ["request", "accept", "progress", "cancel"]
    else:
        soon(hooked.failures)
        assert lines(job) == ["request", "accept", "cancel"]
        assert "closed" in hooked.failures()[0].error
        assert job.refusals[0].refusal.act == "progress"


def test_case_61_a_guard_that_refuses_is_named_and_asked_once(place: Place, jobs: Jobs) -> None:
    """A guard refuses: the refusal names guard, stage and act; the stage is kept; the guard was asked once."""
    asked: list[str] = []

    @wraps(points_somewhere)
    def counting(move: Move[acts.Progress]) -> Fault | None:
        asked.append("asked")
        return points_somewhere(move)

    def counted_in(way: Way) -> Way:
        return evolve(way, demands=tuple(counting if demand is points_somewhere else demand for demand in way.demands))

    job = at(jobs, Stage.WORKING)
    ways = {stage: {name: counted_in(way) for name, way in there.items()} for stage, there in LAW.ways.items()}
    engine = Engine(jobs.store, law=evolve(LAW, ways=ways))
    for times in (1, 2):  # asked by an engine that has not read the job before, then by one that has
        refusal = refused(engine.submit, job.id, acts.Progress(line="much done"), by="wes")
        assert (refusal.reason, refusal.guard) == (Reason.NOTHING_TO_POINT_AT, "points_somewhere")
        assert (refusal.act, refusal.stage, job.stage) == ("progress", Stage.WORKING, Stage.WORKING)
        assert asked == ["asked"] * times


def test_case_62_every_stage_is_the_same_in_a_new_process(shared: Place) -> None:
    """Left at every stage and opened in a new process: the same acts are possible next. Sealed twice anew: identical bytes."""
    jobs = shared.open()
    for stage in WAYS:
        at(jobs, stage, stage.name)
    tells = """
        jobs = lifecycle.open(sys.argv[1], clock=Clock())
        for line in sys.stdin:
            job = load(line.encode())
            assert job == jobs.job(job.id)
            print([may(job, party) for party in PARTIES], [jobs.may(job.id, by=party) for party in PARTIES])
            print(dump(job).decode())
        """
    dumped = [dump(jobs.job(stage.name)) for stage in WAYS]
    told = ended(child(tells, shared.url), says=b"\n".join(dumped).decode()).splitlines()
    next_acts = [[jobs.may(stage.name, by=party) for party in PARTIES] for stage in WAYS]
    assert told[::2] == [f"{there} {there}" for there in next_acts]
    assert [line.encode() for line in told[1::2]] == dumped
    for notice in jobs.watch():
        entry = notice.entry
        for _ in range(2):
            again = unseal(entry.job, entry.seq, entry.prev, entry.hash, entry.body)
            again = seal(again, entry.prev, written(again.act))
            assert (again.body, again.hash) == (notice.entry.body, notice.entry.hash)
            entry = again


def without(stage: Stage) -> tuple[Rows, ...]:
    """The table as it would be, had a stage been dropped."""
    kept = [evolve(rows, origins=tuple(o for o in rows.origins if o is not stage)) for rows in TABLE if rows.to is not stage]
    return tuple(rows for rows in kept if rows.origins)


def test_case_63_a_new_law_leaves_the_jobs_of_the_old_one_on_it(place: Place, jobs: Jobs, clock: Clock) -> None:
    """A new version of the law drops a stage: jobs in flight stay on theirs, new ones are made under the new one."""
    old = at(jobs, Stage.DEFERRED, "old")
    late = at(jobs, Stage.DEFERRED, "late")
    two = Engine(jobs.store, law=enact(2, without(Stage.DEFERRED)))
    two.submit("new", acts.Request(goal="build it", worker="wes"), by="ann")
    assert (two.job("old").law, two.job("new").law) == (1, 2)
    assert ("defer" in two.may("new", by="wes"), two.may("old", by="wes")) == (False, jobs.may("old", by="wes"))
    defer = acts.Defer(answers="new", until=NOON + HOUR, looking_into="it")
    assert refused(two.submit, "new", defer, by="wes").reason is Reason.ILLEGAL
    two.submit("old", acts.Accept(answers="old"), by="wes")
    assert (old.stage, old.log[-1].law) == (Stage.READY, 1)
    clock.ticks(2 * HOUR)
    two.sweep()
    assert (late.stage, late.log[-1].law) == (Stage.STOPPED, 1)
    assert two.audit() == []


def test_case_63_a_log_of_an_unknown_law_is_refused_by_name(place: Place, jobs: Jobs, clock: Clock) -> None:
    """A build that knows law 1 alone finds a job of law 2: a typed error names both, and every other job goes on."""
    two = Engine(jobs.store, law=enact(2, without(Stage.DEFERRED)))
    two.submit("new", acts.Request(goal="build it", worker="wes"), by="ann")
    request(jobs, "other")
    one = place.open()
    for ask in (lambda: one.job("new"), lambda: one.submit("new", acts.Cancel(), by="ann"), lambda: one.may("new", by="ann")):
        with pytest.raises(UnknownLaw) as error:
            ask()
        assert (error.value.version, error.value.known) == (2, (1,))
        assert "law 2" in str(error.value) and "law 1" in str(error.value)
    clock.ticks(DAY)
    with pytest.raises(UnknownLaw):
        one.sweep()
    assert one.job("other").stage is Stage.STOPPED
    assert [(found.job, "law 2" in found.what) for found in one.audit()] == [("new", True)]
    assert len(one.find()) == 2


def test_case_63_seats_follow_the_law_of_their_job(jobs: Jobs) -> None:
    """A seat offers what the law of its job knows, be it a newer one than the library's own."""
    two = Engine(jobs.store, law=enact(2, without(Stage.DEFERRED)))
    two.submit("new", acts.Request(goal="build it", worker="wes"), by="ann")
    seat = lifecycle.Seat(two, "new", "wes")
    assert "defer" not in seat.may()
    assert refused(seat.accept, conditions={"": ""}).reason is Reason.MALFORMED
    seat.accept()
    assert two.job("new").stage is Stage.READY


@pytest.mark.parametrize("stage", Stage)
def test_case_64_every_act_that_a_stage_does_not_have_is_refused(jobs: Jobs, stage: Stage) -> None:
    """Every illegal pair and an unknown act: typed refusals, of different reasons, kept; nothing is ignored in silence."""
    job = at(jobs, stage)
    before = bodies(job)
    unfit = [name for name in STEPS if name not in LAW.ways[stage]]
    wanted = [
        (name, Reason.CLOSED if stage in ENDED else Reason.UNKNOWN_SET if name == "decide" else Reason.ILLEGAL) for name in unfit
    ]
    found = [(name, refused(STEPS[name], job.seat).reason) for name in unfit]
    assert found == wanted
    unknown = refused(jobs.submit_json, job.id, '{"act": "finish"}', by="wes")
    assert (unknown.reason, "finish" in unknown.detail, unknown.stage) == (Reason.UNKNOWN_ACT, True, stage)
    assert [kept.refusal.reason for kept in job.refusals] == [reason for _, reason in wanted] + [Reason.UNKNOWN_ACT]
    assert bodies(job) == before


@pytest.mark.parametrize("name", ["to_result", "__class__", "state", "trigger", "submit", "model_fields", "Accept", ""])
def test_case_65_no_name_is_looked_up_on_an_object(jobs: Jobs, name: str) -> None:
    """Acts named after attributes of things: unknown acts, whichever way they come in."""
    job = at(jobs, Stage.WORKING)
    assert refused(jobs.submit_json, job.id, f'{{"act": "{name}"}}', by="wes").reason is Reason.UNKNOWN_ACT
    assert refused(jobs.submit, job.id, acts.Act(act=name), by="wes").reason is Reason.UNKNOWN_ACT
    assert lines(job) == ["request", "accept", "progress"]


def test_case_65_a_bare_act_is_no_act_of_its_name(jobs: Jobs) -> None:
    """An act that bears a name and is not of its class is unknown: it would be learnt as one thing and stored as another."""
    job = at(jobs, Stage.WORKING)
    assert refused(jobs.submit, job.id, acts.Act(act="cancel"), by="ann").reason is Reason.UNKNOWN_ACT
    assert job.stage is Stage.WORKING


# The log


def test_case_69_every_line_tells_all_and_every_prefix_is_a_job(jobs: Jobs, clock: Clock) -> None:
    """Line 0 is the creation; each line has seq, act, from, to, party, time, law; replaying a prefix gives that prefix's job."""
    job = request(jobs, **ASKED)
    stood = [job.job]
    for step in ("defer", "resolve", "counter", "revise", "accept", "progress", "block", "resolve", "propose", "decide", "deliver"):
        clock.ticks(SECOND)
        STEPS[step](job.seat)
        stood.append(job.job)
    log = job.log
    assert [replay(log[: seq + 1]) for seq in range(len(log))] == stood
    assert (log[0].act.act, log[0].origin, log[0].stage) == ("request", None, Stage.REQUESTED)
    assert [entry.origin for entry in log[1:]] == [entry.stage for entry in log[:-1]]
    for seq, entry in enumerate(log):
        assert (entry.seq, entry.law, entry.at) == (seq, 1, NOON + seq * SECOND)
        assert entry.by in PARTIES
        assert (chained(entry.prev, entry.body), entry.prev) == (entry.hash, log[seq - 1].hash if seq else "")


class Armed(Relay):
    """A store whose list of what is due is the one of an earlier time."""

    rows: tuple[Row, ...] = ()

    def find(self, query: Query) -> tuple[Row, ...]:
        return self.rows if query.due_by is not None else tuple(self.inner.find(query))


def test_case_70_a_timer_is_judged_again_when_it_fires(place: Place, jobs: Jobs, clock: Clock) -> None:
    """A timer armed at seq 2 fires when the job is at seq 4: it is judged against the job as it is."""
    job = at(jobs, Stage.WORKING)
    armed = Armed(jobs.store)
    armed.rows = tuple(evolve(row, due=NOON + HOUR) for row in jobs.find())
    clock.ticks(50 * MINUTE)
    STEPS["progress"](job.seat)
    STEPS["progress"](job.seat)
    clock.ticks(10 * MINUTE)
    late = place.over(armed)
    assert (job.job.seq, late.sweep(), jobs.sweep()) == (4, [], [])
    clock.ticks(50 * MINUTE)
    assert [receipt.seq for receipt in late.sweep()] == [5]
    assert str(job.termination) == "abandoned / none"


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        (Rows("cancel", TABLE[0].by, (Stage.REQUESTED,), Stage.STOPPED), "cancel"),
        (Rows("halt", TABLE[0].by, (Stage.READY,), "nowhere"), "nowhere"),  # type: ignore[arg-type]
        (Rows("halt", TABLE[0].by, (Stage.DECLINED,), Stage.STOPPED), "final"),
    ],
    ids=["duplicate", "unknown target", "out of a final stage"],
)
def test_case_71_a_declaration_that_cannot_stand_is_not_enacted(rows: Rows, named: str) -> None:
    """A duplicate edge, an unknown target, an edge out of a final stage: the declaration fails, and names it."""
    with pytest.raises(ValueError, match=named):
        enact(1, (*TABLE, rows))


@pytest.mark.parametrize("what", ["find", "read", "append"])
def test_case_72_a_store_that_fails_drops_no_job_from_the_sweep(place: Place, jobs: Jobs, clock: Clock, what: str) -> None:
    """The worker is dead and the store down while a sweep runs: once it is back, the job lapses with the next sweep."""
    for n in range(3):
        at(jobs, Stage.WORKING, f"j{n}")
    failing = Failing(jobs.store, what, times=2)
    sweeper = place.over(failing)
    clock.ticks(HOUR)
    while failing.times:
        with pytest.raises(StoreError):
            sweeper.sweep()
    sweeper.sweep()
    assert [str(jobs.job(f"j{n}").termination) for n in range(3)] == ["abandoned / none"] * 3


def test_case_72_one_job_that_fails_holds_up_no_other(place: Place, jobs: Jobs, clock: Clock) -> None:
    """A sweep that fails on one job goes on with the others, tells of the failure, and finds that job the next time."""
    for n in range(3):
        at(jobs, Stage.WORKING, f"j{n}")
    sweeper = place.over(Failing(jobs.store, "append"))
    clock.ticks(HOUR)
    with pytest.raises(StoreError):
        sweeper.sweep()
    assert len(jobs.find(state="error")) == 2
    assert len(sweeper.sweep()) == 1


def test_case_73_with_all_bookkeeping_gone_a_silent_job_is_still_found(jobs: Jobs, clock: Clock) -> None:
    """All bookkeeping about leases is deleted: the job is found by its own lease, after one lease of grace."""
    job = at(jobs, Stage.WORKING)
    clock.ticks(50 * MINUTE)
    jobs.renew("job", by="wes")
    clock.ticks(5 * MINUTE)
    jobs.reindex()
    clock.ticks(HOUR - SECOND)
    assert (jobs.sweep(), job.stage) == ([], Stage.WORKING)
    clock.ticks(SECOND)
    assert [receipt.act for receipt in jobs.sweep()] == ["lapse"]
    lapse = job.log[-1].act
    assert isinstance(lapse, acts.Lapse)
    assert (lapse.cause, lapse.renewed_at) == ("lease", NOON + 55 * MINUTE)
    assert str(job.termination) == "abandoned / none"


def test_case_74_engines_that_share_a_name_are_told_apart(place: Place, jobs: Jobs) -> None:
    """Two engines share a configured name: what they mint differs, and an older claim is refused. (Claims are a later room's.)"""
    one, two = Jobs(jobs.store, sweep_every=None, ids="here-"), Jobs(place.open().store, sweep_every=None, ids="here-")
    minted = [one.request("a", requester="ann", worker="wes").id for one in (one, two) for _ in range(20)]
    assert len(set(minted)) == 40
    assert all(id.startswith("here-") for id in minted)
    assert one.store.put("claims", "here", "the older", None)
    assert two.store.put("claims", "here", "the younger", "the older")
    assert not one.store.put("claims", "here", "the older, renewed", "the older")
    assert one.store.shelf("claims") == {"here": "the younger"}


@pytest.mark.parametrize("stage", [Stage.STOPPED, Stage.STOPPING, Stage.ERROR])
def test_case_75_a_late_result_is_filed_whole(jobs: Jobs, stage: Stage) -> None:
    """Cancelled, then delivered: still cancelled; the late result stands among the refusals, whole, and be it the thousandth."""
    tight = Jobs(jobs.store, sweep_every=None, limits=Limits(refusals=2))
    job = at(tight, stage)
    ended_as = job.termination
    for _ in range(4):
        refused(STEPS["progress"], job.seat)
    value = {"text": "é" * 1_000, "n": [1, 2.5, None]}
    for n in range(3):
        assert refused(job.seat("wes").deliver, f"{n}.py", value=value).reason is Reason.CLOSED
    assert job.termination == ended_as
    kept = job.refusals
    assert [one.refusal.act for one in kept] == ["progress"] * 2 + ["deliver"] * 3
    late = acts.Deliver.model_validate_json(kept[-1].payload)
    assert (late.value, late.artifacts[0].name) == (value, "2.py")


def test_case_76_an_older_build_refuses_a_newer_file(on_file: Place) -> None:
    """A file of a layout that this build does not know: refused, naming both. (Migrating older ones is tested with the store.)"""
    on_file.open().close()
    path = on_file.url.removeprefix("sqlite:///")
    with sqlite3.connect(path) as held:
        (version,) = held.execute("PRAGMA user_version").fetchone()
        held.execute(f"PRAGMA user_version = {version + 7}")
    held.close()
    with pytest.raises(StoreVersion) as error:
        lifecycle.open(on_file.url)
    assert str(version) in str(error.value) and str(version + 7) in str(error.value)


def test_case_77_a_cancel_waits_for_the_worker_to_come_up(shared: Place) -> None:
    """Cancelled while every worker is down and one engine up: durable; the first worker up is told to stop."""
    jobs = shared.open()
    at(jobs, Stage.WORKING).seat("ann").cancel()
    jobs.close()
    worker = """
        coder = lifecycle.open(sys.argv[1], clock=Clock()).seat("job", "wes")
        try:
            coder.progress("on with it", nothing_new=True)
        except lifecycle.Refused as refused:
            print(refused.reason, *refused.may)
            coder.halt("partial", words="a.py is half written")
        """
    assert ended(child(worker, shared.url)) == "closed halt\n"
    job = shared.open().handle("job")
    assert (job.stage, job.job.work) == (Stage.STOPPED, "partial")


class Berlin(tzinfo):
    """Berlin, on the night of 25 October 2026: at three the clocks go back to two."""

    def utcoffset(self, when: datetime | None) -> timedelta:
        assert when is not None
        plain = when.replace(tzinfo=None, fold=0)
        summer = plain < datetime(2026, 10, 25, 2) or (plain < datetime(2026, 10, 25, 3) and when.fold == 0)
        return timedelta(hours=2 if summer else 1)

    def dst(self, when: datetime | None) -> timedelta:
        return self.utcoffset(when) - timedelta(hours=1)

    def tzname(self, when: datetime | None) -> str:
        return "Berlin"


@pytest.mark.parametrize(("fold", "hour"), [(0, 0), (1, 1)], ids=["before", "after"])
def test_case_78_a_deadline_in_the_night_the_clocks_change_is_one_instant(jobs: Jobs, clock: Clock, fold: int, hour: int) -> None:
    """A deadline at 02:30 on that night: the one instant that was meant. A naive one is refused."""
    clock.time = datetime(2026, 10, 24, 12, tzinfo=UTC)
    night = datetime(2026, 10, 25, 2, 30, fold=fold, tzinfo=Berlin())
    job = at(jobs, Stage.BLOCKED, complete_by=night)
    clock.time = datetime(2026, 10, 25, hour, 30, tzinfo=UTC)
    assert job.job.complete_by == clock.time
    clock.ticks(-SECOND)
    assert jobs.sweep() == []
    clock.ticks(SECOND)
    assert [receipt.at for receipt in jobs.sweep()] == [clock.time]
    assert job.termination and job.termination.cause == "completion"
    refusal = refused(request, jobs, "naive", complete_by=datetime(2026, 10, 25, 2, 30))
    assert (refusal.reason, "complete_by" in refusal.detail) == (Reason.MALFORMED, True)


@pytest.mark.parametrize("how", ["cancel", "fail"])
def test_case_79_with_its_parent_a_whole_family_ends(jobs: Jobs, how: str) -> None:
    """The parent is cancelled: the child's progress and a grandchild's request are refused."""
    parent = at(jobs, Stage.WORKING, "parent")
    under = {"requester": "wes", "worker": "kim", "parent": "parent"}
    child_ = request(jobs, "child", **under)
    child_.seat("kim").accept()
    STEPS[how](parent.seat)
    grandchild = {"requester": "kim", "worker": "lee", "parent": "child"}
    assert refused(child_.seat("kim").progress, "on", nothing_new=True).reason is Reason.CLOSED
    assert refused(request, jobs, "grandchild", **grandchild).reason is Reason.PARENT_NOT_ACTIVE
    assert (str(child_.termination), child_.stage) == ("parent_closed / none", Stage.STOPPING)
    assert refused(request, jobs, "second", **under).reason is Reason.PARENT_NOT_ACTIVE


def test_case_80_a_worker_that_never_confirms_a_stop_is_stopped(jobs: Jobs, clock: Clock) -> None:
    """The worker never confirms: stopped at the stop deadline. (That its capacity is free then is a later room's.)"""
    job = at(jobs, Stage.STOPPING)
    clock.ticks(10 * MINUTE - SECOND)
    assert refused(STEPS["progress"], job.seat).reason is Reason.CLOSED
    assert job.stage is Stage.STOPPING
    clock.ticks(SECOND)
    assert refused(STEPS["halt"], job.seat).reason is Reason.CLOSED  # due has lapsed before the act is judged
    assert (job.stage, job.log[-1].act.act) == (Stage.STOPPED, "lapse")


def test_case_81_eight_processes_and_a_sweeper_share_a_file(shared: Place, clock: Clock) -> None:
    """8 processes and a sweeper on one file: no lock error surfaces, no act is lost."""
    jobs = shared.open()
    at(jobs, Stage.WORKING, "shared")
    works = """
        def work(p):
            jobs = lifecycle.open(sys.argv[1], clock=Clock())
            for n in range(8):
                job = request(jobs, f"p{p}-{n}")
                job.seat("wes").accept()
                jobs.submit("shared", lifecycle.acts.Progress(line="on", nothing_new=True), by="wes", id=f"p{p}-{n}")
                job.seat("wes").deliver(value=n)

        print(all(status == 0 for status in forked(work, range(8))))
        """
    processes = child(works, shared.url)
    at(jobs, Stage.WORKING, "silent", intervals=Intervals(lease=SECOND))
    clock.ticks(SECOND)
    soon(lambda: jobs.sweep() is None or processes.poll() is not None, within=60)
    assert ended(processes) == "True\n"
    assert len(jobs.find(state="result")) == 64
    assert sorted(entry.id for entry in jobs.log("shared")[3:]) == sorted(f"p{p}-{n}" for p in range(8) for n in range(8))
    assert jobs.job("silent").state is State.ERROR
    assert jobs.audit() == []


def test_case_82_a_sweep_loses_against_a_result(place: Place, jobs: Jobs, clock: Clock) -> None:
    """A result commits between the sweep's read and its write, by a clock that is a little behind: the sweep loses."""
    wins = []
    for n in counted():
        job = at(jobs, Stage.WORKING, f"j{n}")
        due = clock.time + HOUR

        def delivers(job: Handle = job, due: datetime = due) -> None:
            clock.time = due - SECOND
            job.seat("wes").deliver(value=1)
            clock.time = due

        clock.time = due
        between = Between(jobs.store, n, delivers)
        swept = place.over(between).sweep()
        if not between.taken:
            break
        assert ([receipt.act for receipt in swept], lines(job)[3:]) == ([], ["deliver"])
        wins.append(job.stage)
    assert lines(job)[3:] == ["lapse"]
    assert wins == [Stage.UNVERIFIED] * 3  # before the list, before the read, before the write


def test_case_82_a_sweep_that_lost_looks_again(place: Place, jobs: Jobs, clock: Clock) -> None:
    """What comes between the read and the write does not put the deadline off: the same sweep makes it lapse after all."""
    job = at(jobs, Stage.WORKING, complete_by=NOON + MINUTE)
    clock.ticks(MINUTE)

    def progresses() -> None:
        clock.ticks(-SECOND)
        STEPS["progress"](job.seat)
        clock.ticks(SECOND)

    between = Between(jobs.store, 2, progresses)  # after the list and the read, before the write
    assert [receipt.act for receipt in place.over(between).sweep()] == ["lapse"]
    assert lines(job)[3:] == ["progress", "lapse"]


def test_case_83_a_lease_does_not_run_while_others_owe_a_decision(jobs: Jobs, clock: Clock) -> None:
    """A lease of 60 s and an approval that may take a day: the job waits, and nobody's lease runs."""
    short = Intervals(lease=60 * SECOND, stall=60 * SECOND)
    job = at(jobs, Stage.AWAITING_APPROVAL, intervals=short)
    clock.ticks(DAY - SECOND)
    assert jobs.sweep() == []
    assert refused(jobs.renew, "job", by="wes").reason is Reason.ILLEGAL
    job.seat("app").decide(None)
    clock.ticks(59 * SECOND)
    assert (jobs.sweep(), job.stage) == ([], Stage.WORKING)
    clock.ticks(SECOND)
    jobs.sweep()
    assert job.termination and job.termination.cause == "lease"


def test_case_85_a_result_of_20_megabytes_is_refused_before_any_write(jobs: Jobs) -> None:
    """A result of 20 MB: refused for its size before anything is written; the job still runs."""
    job, huge = at(jobs, Stage.WORKING), "x" * 20_000_000
    before = bodies(job)
    assert refused(job.seat("wes").deliver, value=huge).reason is Reason.PAYLOAD_TOO_LARGE
    assert refused(job.seat("wes").submit_json, f'{{"act": "deliver", "value": "{huge}"}}').reason is Reason.PAYLOAD_TOO_LARGE
    assert (bodies(job), job.refusals, jobs.turned_away[Reason.PAYLOAD_TOO_LARGE]) == (before, [], 2)
    job.seat("wes").deliver("result.bin")
    assert job.stage is Stage.UNVERIFIED


def test_case_86_a_crash_right_after_a_result_leaves_it(shared: Place, clock: Clock) -> None:
    """The worker's process is killed right after its result commits: the sweep leaves it completed."""
    jobs = shared.open()
    job = at(jobs, Stage.WORKING)
    delivers = """
        lifecycle.open(sys.argv[1], clock=Clock()).seat("job", "wes").deliver(value=1)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    ended(child(delivers, shared.url), -9)
    clock.ticks(40 * DAY)
    assert (jobs.sweep(), job.stage) == ([], Stage.UNVERIFIED)
    assert str(job.termination) == "delivered / unresolved"


def test_case_88_a_job_id_is_used_once(jobs: Jobs) -> None:
    """A job id used again for another request: refused; the old log is untouched, whatever has become of it."""
    for stage in WAYS:
        job = at(jobs, stage, stage.name)
        before = bodies(job)
        assert refused(request, jobs, stage.name, constraints=["in haste"]).reason is Reason.ACT_ID_REUSED
        assert refused(request, jobs, stage.name, requester="bob").reason is Reason.ACT_ID_REUSED
        assert bodies(job) == before


def test_case_89_a_batch_that_dies_anywhere_is_all_or_nothing(shared: Place) -> None:
    """A batch is killed at every point between its halves: all of it is there afterwards, or nothing; a retry completes it."""
    jobs = shared.open()
    dies = """
        def batch(job):
            accept = lifecycle.acts.Accept(answers=job, id="a")
            other = lifecycle.acts.Request(goal="check it", worker="kim", id="r")
            return [(job, accept, "wes"), (f"{job}-other", other, "wes"), (job, lifecycle.acts.Deliver(value=1, id="d"), "wes")]

        def dies(n):
            jobs = lifecycle.open(sys.argv[1], clock=Clock())
            request(jobs, f"j{n}")
            lifecycle.Engine(Deadly(jobs.store, n)).submit_all(batch(f"j{n}"))

        for n in range(100):
            job, (status,) = f"j{n}", forked(dies, [n])
            with lifecycle.open(sys.argv[1], clock=Clock()) as jobs:
                stood = len(jobs.log(job))
                again = jobs.submit_all(batch(job))
                print(n, status, stood, [receipt.seq for receipt in again], len(jobs.log(job)), jobs.audit())
            if status == 0:
                break
        """
    told = [line.split(" ", 3) for line in ended(child(dies, shared.url)).splitlines()]
    assert [status for _, status, _, _ in told] == ["9"] * (len(told) - 1) + ["0"]
    assert len(told) > 3
    assert {stood for _, _, stood, _ in told} == {"1", "3"}  # nothing of the batch, or all
    assert {rest for _, _, _, rest in told} == {"[1, 0, 2] 3 []"}
    assert len(jobs.find(open=True)) == len(told)  # the other job of each batch


@pytest.mark.parametrize("what", ["append", "read"])
@pytest.mark.parametrize("after", [False, True])
def test_case_89_a_batch_whose_store_fails_is_all_or_nothing(place: Place, jobs: Jobs, what: str, after: bool) -> None:
    """The same with an error instead of a death: what was committed stands, and the same batch again gives the first receipts."""
    job = request(jobs)
    batch = [
        (job.id, acts.Accept(answers="job", id="a"), "wes"),
        (job.id, acts.Deliver(value=1, id="d"), "wes"),
    ]
    failing = place.over(Failing(jobs.store, what, after=after))
    with pytest.raises(StoreError):
        failing.submit_all(batch)
    assert len(job.log) in (1, 3)
    stood = job.log[1:]
    receipts = failing.submit_all(batch)
    assert [receipt.seq for receipt in receipts] == [1, 2]
    assert [entry.receipt for entry in stood] in ([], receipts)


POISON = {
    "NUL": '{"act": "deliver", "value": "a\\u0000b"}',
    "lone surrogate": '{"act": "deliver", "value": "\\ud800"}',
    "lone surrogate in a key": '{"act": "deliver", "value": {"\\udfff": 1}}',
    "NaN": '{"act": "deliver", "value": NaN}',
    "infinity": '{"act": "deliver", "value": -Infinity}',
    "1e999": '{"act": "deliver", "value": 1e999}',
    "huge integer": f'{{"act": "deliver", "value": {"9" * 30}}}',
    "5,000 digits": f'{{"act": "deliver", "value": {"9" * 5_000}}}',
    "1,000 deep": f'{{"act": "deliver", "value": {"[" * 1_000}{"]" * 1_000}}}',
    "100,000 deep": f'{{"act": "deliver", "value": {"[" * 100_000}{"]" * 100_000}}}',
    "200 deep": f'{{"act": "deliver", "value": {"[" * 200}{"]" * 200}}}',
    "a key twice": '{"act": "deliver", "act": "deliver"}',
    "no object": "[]",
    "no JSON": "deliver!",
    "nothing": "",
    "not UTF-8": b'{"act": "deliver", "value": "\xff\xfe"}',
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON)
def test_case_90_poison_is_refused_at_the_door(place: Place, jobs: Jobs, poison: str | bytes) -> None:
    """NUL, lone surrogates, NaN, huge integers, deep nesting: refused the same way on every store, which stays healthy."""
    job = at(jobs, Stage.WORKING)
    refusal = refused(job.seat("wes").submit_json, poison)
    assert (refusal.reason, len(str(refusal)) < 1_000, "\n" in str(refusal)) == (Reason.MALFORMED, True, False)
    assert (len(job.log), job.refusals, jobs.turned_away[Reason.MALFORMED]) == (3, [], 1)
    job.seat("wes").submit_json('{"act": "deliver", "value": {"deep": [[[[1]]]], "text": "\\u00e9\\ud83d\\ude00", "n": 1e300}}')
    assert place.reopen().job("job").stage is Stage.UNVERIFIED


def test_case_90_what_is_legal_comes_back_as_it_was(place: Place, jobs: Jobs) -> None:
    """Control characters, bidirectional ones, emoji, the largest integers, 64 levels: accepted, and given back as they were."""
    deep: object = "bottom"
    for _ in range(60):
        deep = [deep]
    odd = "\x01\x1b[31m\u202e\u2028\ufeffé😀\r\n"
    value = {odd: odd, "most": [2**53 - 1, -(2**53) + 1, 1e-300], "deep": deep, "": {"a" * 500: None}}
    at(jobs, Stage.WORKING).seat("wes").deliver(value=value)
    act = place.reopen().log("job")[-1].act
    assert isinstance(act, acts.Deliver)
    assert act.value == value
