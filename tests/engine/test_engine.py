"""The engine on one job: one act once, one log in order, all of a batch or nothing, and the clock that goes by itself."""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Literal

import pytest

import lifecycle
from lifecycle import (
    Conflict,
    Engine,
    JobNotFound,
    Jobs,
    LifecycleError,
    Limits,
    Reason,
    Refused,
    Seat,
    Stage,
    StoreError,
    Submission,
    acts,
)  # fmt: skip
from lifecycle.law.log import Query
from lifecycle.law.states import Cause
from lifecycle.law.terms import Budget, Intervals, Spent

from .conftest import Place
from .relay import Between, Failing, Relay, Watched
from .stories import (
    ASKED,
    DAY,
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    STEPS,
    WAYS,
    Clock,
    at,
    attempt,
    bodies,
    counted,
    lines,
    refused,
    request,
)  # fmt: skip

TICK = timedelta(microseconds=1)
NO_NEWS = acts.Progress(line="no news", nothing_new=True)


# One act, once


def test_an_act_sent_again_gives_the_first_receipt_again(place: Place, jobs: Jobs, clock: Clock) -> None:
    """By another engine, after a restart, with another claimed time, after the job has ended: the first receipt."""
    job = at(jobs, Stage.READY)
    first = jobs.submit(job.id, NO_NEWS, by="wes", id="p1")
    assert jobs.submit(job.id, NO_NEWS, by="wes", id="p1") == first
    assert place.open().submit(job.id, NO_NEWS, by="wes", id="p1") == first
    clock.ticks(MINUTE)
    claimed = NO_NEWS.model_copy(update={"id": "p1", "at": NOON})
    assert jobs.submit(job.id, claimed, by="wes") == first
    job.seat("ann").cancel()
    clock.ticks(DAY)
    anew = place.reopen()
    assert anew.submit("job", NO_NEWS, by="wes", id="p1") == first
    assert anew.submit("job", NO_NEWS, by="wes", id="p1", expect=0) == first  # it was made then, whatever is expected now
    assert [entry.act.act for entry in anew.log("job")][:4] == ["request", "accept", "progress", "cancel"]


def test_an_act_id_is_used_once(jobs: Jobs) -> None:
    """The same id with other content, by another party, for another act, or of the request itself: act_id_reused."""
    job = at(jobs, Stage.BLOCKED)
    jobs.submit(job.id, acts.Resolve(answers=job.job.standing.id, answer="here"), by="ann", id="a1")
    before = bodies(job)
    for by, act in (
        ("ann", acts.Resolve(answers=job.job.standing.id, answer="there")),
        ("ann", acts.Resolve(answers="other", answer="here")),
        ("ann", acts.Cancel()),
        ("wes", NO_NEWS),
    ):
        refusal = refused(jobs.submit, job.id, act, by=by, id="a1")
        assert (refusal.reason, refusal.stage) == (Reason.ACT_ID_REUSED, Stage.WORKING)
    assert refused(jobs.submit, job.id, NO_NEWS, by="wes", id="job").reason is Reason.ACT_ID_REUSED
    assert bodies(job) == before


def test_only_accepted_acts_bind_an_id(jobs: Jobs) -> None:
    """A refused act, sent again under its id, is judged again."""
    job = request(jobs)
    assert refused(jobs.submit, job.id, NO_NEWS, by="wes", id="a1").reason is Reason.ILLEGAL
    job.seat("wes").accept()
    assert jobs.submit(job.id, NO_NEWS, by="wes", id="a1").seq == 2


def test_the_same_id_may_be_used_on_other_jobs(jobs: Jobs) -> None:
    """Act ids are each job's own."""
    for name in ("a", "b"):
        assert at(jobs, Stage.READY, name).seat("wes").progress("on", nothing_new=True, id="same").id == "same"


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_ambiguous_commit_is_settled_by_the_act_id(place: Place, jobs: Jobs, when: Literal["before", "after"]) -> None:
    """The store fails before or after it wrote, and nobody can tell: sent again, the act is there once, and receipted."""
    job = at(jobs, Stage.READY)
    failing = place.over(Failing(jobs.store, "append", after=when == "after"))
    with pytest.raises(StoreError):
        failing.submit(job.id, NO_NEWS, by="wes", id="p1")
    assert len(job.log) == (3 if when == "after" else 2)
    receipt = failing.submit(job.id, NO_NEWS, by="wes", id="p1")
    assert [entry.receipt for entry in job.log][2:] == [receipt]


@pytest.mark.parametrize("id", ["", "a b", "é", "a" * 129, "a\n", "\ud800", "a/b"])
def test_what_is_no_id_names_nothing(jobs: Jobs, id: str) -> None:
    """An id that no store could keep: malformed where it is given, not found where it is looked for; nothing is kept."""
    job = at(jobs, Stage.READY)
    act = acts.Request(goal="g", worker="wes")
    for call in (
        lambda: jobs.submit(id, act, by="ann"),
        lambda: jobs.submit(job.id, NO_NEWS, by=id),
        lambda: jobs.submit(job.id, NO_NEWS, by="wes", id=id),
        lambda: jobs.request("g", requester=id, worker="wes"),
        lambda: jobs.request("g", requester="ann", worker=id),
    ):
        assert refused(call).reason is Reason.MALFORMED
    for look in (lambda: jobs.job(id), lambda: jobs.log(id), lambda: jobs.may(id, by="ann"), lambda: jobs.renew(id, by="ann")):
        with pytest.raises(JobNotFound):
            look()
    assert refused(jobs.submit_json, id, '{"act": "x"}', by="ann").reason is Reason.UNKNOWN_ACT
    assert [row.job for row in jobs.find()] == ["job"]
    assert (len(job.log), job.refusals) == (2, [])


# One log, in order


def test_expect_is_the_seq_that_was_read(place: Place, jobs: Jobs) -> None:
    """An act that names the seq it was decided on is made there or nowhere; a Conflict is no refusal, and keeps nothing."""
    job = at(jobs, Stage.READY)
    assert jobs.submit(job.id, NO_NEWS, by="wes", expect=1).seq == 2
    for expect in (0, 1, 3):
        with pytest.raises(Conflict) as conflict:
            jobs.submit(job.id, NO_NEWS, by="wes", expect=expect)
        assert (conflict.value.job, conflict.value.expected, conflict.value.actual) == ("job", expect, 2)
    place.open().submit(job.id, NO_NEWS, by="wes")
    with pytest.raises(Conflict):
        jobs.submit(job.id, NO_NEWS, by="wes", expect=2)  # what it remembers is not what is there
    assert jobs.submit(job.id, NO_NEWS, by="wes", expect=3).seq == 4
    assert job.refusals == []


def test_without_expect_an_engine_that_is_behind_reads_again(place: Place, jobs: Jobs) -> None:
    """What others wrote meanwhile is read and judged, and no caller hears of it."""
    job, other = at(jobs, Stage.READY), place.open()
    for _ in range(3):
        assert jobs.submit(job.id, NO_NEWS, by="wes").seq + 1 == other.submit(job.id, NO_NEWS, by="wes").seq
    other.submit(job.id, acts.Cancel(), by="ann")
    assert refused(jobs.submit, job.id, NO_NEWS, by="wes").stage is Stage.STOPPING


def test_a_refusal_stands_only_on_what_is_there(place: Place, jobs: Jobs) -> None:
    """What an engine remembers would refuse the act, what others wrote meanwhile allows it: it is made."""
    job, behind = request(jobs), place.open()
    assert behind.job(job.id).stage is Stage.REQUESTED
    job.seat("wes").accept()
    assert behind.submit(job.id, NO_NEWS, by="wes").seq == 2
    job.seat("wes").block("a key", "ann")
    assert behind.seat(job.id, "ann").resolve("here").stage is Stage.WORKING


class Renewing(Relay):
    """A store under which the lease is renewed, by a clock that ticks, before each of the first writes."""

    times = 3

    def asked(self, what: str) -> None:
        if what == "append" and self.times:
            self.times -= 1
            self.renews()

    def renews(self) -> None:
        """To be set by the test."""


def test_a_renewal_is_no_conflict(place: Place, jobs: Jobs, clock: Clock) -> None:
    """The lease is renewed while an act is being committed that names its seq: the log has not moved, so the act is made."""
    job, renewing = at(jobs, Stage.READY), Renewing(place.open().store)

    def renews() -> None:
        clock.ticks(SECOND)
        jobs.renew(job.id, by="wes")

    renewing.renews = renews  # type: ignore[method-assign]
    assert Engine(renewing).submit(job.id, NO_NEWS, by="wes", expect=1).seq == 2
    assert renewing.times == 0


def test_the_sixth_decimal_of_time_survives(place: Place, jobs: Jobs, clock: Clock) -> None:
    """What an engine has just made and what another reads of it are equal, to the microsecond and the hash."""
    clock.ticks(TICK * 7)
    job = at(jobs, Stage.DELIVERED, complete_by=NOON + DAY + TICK)
    mine = job.job
    assert place.open().job(job.id) == mine
    assert place.reopen().log("job")[0].at == NOON + TICK * 7


# Batches


def batch(*names: str, job: str = "job") -> list[tuple[str, acts.Act, str]]:
    """Plain acts on one job, in one batch."""
    made = {
        "accept": (acts.Accept(answers=job), "wes"),
        "progress": (NO_NEWS, "wes"),
        "deliver": (acts.Deliver(value=1), "wes"),
        "nothing": (acts.Progress(line="well"), "wes"),
        "cancel": (acts.Cancel(), "ann"),
    }
    return [(job, *made[name]) for name in names]


def test_a_batch_is_one_commit_and_each_act_is_judged_on_those_before_it(place: Place, jobs: Jobs) -> None:
    """Accept and deliver together: two entries, two receipts, one write."""
    job = request(jobs)
    watched = Watched(jobs.store)
    receipts = place.over(watched).submit_all(batch("accept", "progress", "deliver"))
    assert [entry.receipt for entry in job.log[1:]] == receipts
    assert [receipt.stage for receipt in receipts] == [Stage.READY, Stage.WORKING, Stage.UNVERIFIED]
    assert watched.told.count("append") == 1


@pytest.mark.parametrize("known", ["warm", "cold"])
@pytest.mark.parametrize(
    ("names", "reason", "act", "stage"),
    [
        (("nothing", "accept"), Reason.ILLEGAL, "progress", Stage.REQUESTED),
        (("accept", "nothing"), Reason.NOTHING_TO_POINT_AT, "progress", Stage.READY),
        (("accept", "deliver", "progress"), Reason.CLOSED, "progress", Stage.UNVERIFIED),
        (("accept", "cancel", "deliver"), Reason.CLOSED, "deliver", Stage.STOPPING),
    ],
)  # fmt: skip
def test_a_batch_with_one_refused_writes_nothing_but_the_refusal(
    place: Place, jobs: Jobs, known: str, names: tuple[str, ...], reason: Reason, act: str, stage: Stage
) -> None:
    """One act of it is refused: no entry, and that refusal is kept with that act."""
    job = request(jobs)
    engine = jobs if known == "warm" else place.open()
    refusal = refused(engine.submit_all, batch(*names))
    assert (refusal.reason, refusal.act, refusal.stage) == (reason, act, stage)
    assert (lines(job), [kept.refusal for kept in job.refusals]) == (["request"], [refusal])
    assert engine.submit_all(batch("accept"))[0].seq == 1


def test_the_refusal_that_is_kept_is_the_one_of_the_act_that_was_refused(jobs: Jobs) -> None:
    """Two deliveries in one batch: the second is late, and it is the second that is filed."""
    request(jobs)
    first, second = acts.Deliver(value="first"), acts.Deliver(value="second")
    refused(jobs.submit_all, [*batch("accept"), ("job", first, "wes"), ("job", second, "wes")])
    assert acts.Deliver.model_validate_json(jobs.refusals("job")[0].payload) == second


def test_a_late_delivery_in_a_batch_is_filed_although_an_act_before_it_was_refused(jobs: Jobs) -> None:
    """Accept and deliver together, after the end: the acceptance is refused, and the delivery is filed with it. Else nothing is."""
    at(jobs, Stage.STOPPED, "ended")
    refused(jobs.submit_all, batch("accept", "progress", "deliver", job="ended"))
    assert [one.refusal.act for one in jobs.refusals("ended")] == ["accept", "deliver"]
    request(jobs)
    refused(jobs.submit_all, batch("accept", "deliver", "progress"))  # it would end in the batch, which is not made
    assert [one.refusal.act for one in jobs.refusals("job")] == ["progress"]


def test_a_batch_over_many_jobs_is_all_or_nothing(place: Place, jobs: Jobs) -> None:
    """A job is requested, taken and done in one batch with others; if one act is refused no job is there, and nothing of it."""
    names = [f"j{n}" for n in range(20)]
    asked = [(name, acts.Request(goal="g", worker="wes"), "ann") for name in names]
    done = [one for name in names for one in batch("accept", "deliver", job=name)]
    refusal = refused(jobs.submit_all, [*asked, *done, *batch("cancel", job="j7")])
    assert (refusal.reason, refusal.job, refusal.stage) == (Reason.CLOSED, "j7", Stage.UNVERIFIED)
    assert (jobs.find(), list(jobs.watch())) == ([], [])
    jobs.request("another", requester="eve", worker="kim", id="j7")
    assert jobs.refusals("j7") == []  # it is another's job now
    mine = [name for name in names if name != "j7"]
    receipts = jobs.submit_all([one for one in (*asked, *done) if one[0] != "j7"])
    assert len(receipts) == 57
    assert [(row.job, row.stage) for row in jobs.find(requester="ann")] == [(name, Stage.UNVERIFIED) for name in mine]
    assert place.open().submit_all([one for one in (*asked, *done) if one[0] != "j7"][:19]) == receipts[:19]


def test_a_batch_with_a_stranger_or_no_job_is_not_found(jobs: Jobs) -> None:
    """One act of it is a stranger's: nothing is written, and nothing told of the job."""
    job = request(jobs)
    for other in (("job", NO_NEWS, "eve"), ("none", NO_NEWS, "wes")):
        with pytest.raises(JobNotFound):
            jobs.submit_all([*batch("accept"), other])
    assert (lines(job), job.refusals) == (["request"], [])


def test_a_batch_that_repeats_itself_makes_each_act_once(jobs: Jobs) -> None:
    """The same request twice, the same act id twice, some of it made before: one entry each, receipts for all."""
    act, again = acts.Request(goal="g", worker="wes"), Submission("job", NO_NEWS, "wes", id="p1")
    receipts = jobs.submit_all([("job", act, "ann"), ("job", act, "ann"), *batch("accept"), again, again])
    assert [receipt.seq for receipt in receipts] == [0, 0, 1, 2, 2]
    receipts = jobs.submit_all([again, ("job", NO_NEWS, "wes"), ("job", act, "ann"), again])
    assert [receipt.seq for receipt in receipts] == [2, 3, 0, 2]
    assert refused(jobs.submit_all, [again, Submission("job", acts.Cancel(), "ann", id="p1")]).reason is Reason.ACT_ID_REUSED
    assert len(jobs.log("job")) == 4


def test_an_empty_batch_is_nothing(jobs: Jobs) -> None:
    assert jobs.submit_all([]) == []


def test_expect_in_a_batch_counts_what_the_batch_made(jobs: Jobs) -> None:
    """Each act of a batch may name the seq it is to follow; one that is wrong makes all of it a Conflict."""
    request(jobs)
    accept = Submission("job", acts.Accept(answers="job"), "wes", expect=0)
    for expect in (0, 2):
        with pytest.raises(Conflict):
            jobs.submit_all([accept, Submission("job", NO_NEWS, "wes", expect=expect)])
    assert len(jobs.submit_all([accept, Submission("job", NO_NEWS, "wes", expect=1)])) == 2


# Strangers


def test_a_stranger_cannot_tell_a_job_from_none(jobs: Jobs) -> None:
    """Reads, acts, renewals and seats: to a stranger every job is, to the byte, as if it were not there; and nothing is kept."""
    for stage in WAYS:
        at(jobs, stage, stage.name)
    taken = jobs.log("READY")[1].id

    def asks(job: str, by: str) -> list[Callable[[], object]]:
        seat, answers = Seat(jobs, job, by), dict.fromkeys(acts.ACTS, job)
        plain: list[acts.Act] = [NO_NEWS, acts.Accept(answers=job), acts.Adopt(), acts.Confirm(), acts.Deliver(), acts.Cancel()]
        plain += [acts.Lapse(cause=Cause.LEASE, due=NOON), acts.Act(act="state")]
        reads = [jobs.job, jobs.log, jobs.refusals, jobs.may, jobs.renew]
        texts = ["[", "{}", '{"act": "finish"}', '{"act": "cancel"}', '{"act": "accept"}']
        return [
            *(partial(read, job, by=by) for read in reads),
            *(partial(jobs.submit, job, act, by=by) for act in plain),
            *(partial(jobs.submit_json, job, text, by=by, answers=answers) for text in texts),
            partial(jobs.submit, job, NO_NEWS, by=by, id=taken),
            partial(jobs.submit, job, NO_NEWS, by=by, expect=7),
            *(seat.look, seat.may, seat.schema, seat.renew, seat.accept, seat.cancel, partial(seat.submit_json, "{}")),
            partial(jobs.request, "g", requester=by, worker="kim", parent=job, id="child"),
            partial(jobs.request, "g", requester=by, worker="kim", supersedes=job, id="child"),
        ]

    def told(job: str, by: str) -> list[tuple[type[Exception], str]]:
        said = []
        for call in asks(job, by):
            with pytest.raises(LifecycleError) as error:
                call()
            said.append((type(error.value), str(error.value).replace(job, "JOB")))
        return said

    for stranger in ("eve", "clock"):
        missing = told("none", stranger)
        for stage in WAYS:
            assert told(stage.name, stranger) == missing
            assert jobs.refusals(stage.name) == []
    assert jobs.turned_away[Reason.JOB_NOT_FOUND] > 0


def test_a_job_is_known_to_its_parties_and_whoever_its_contract_names(jobs: Jobs) -> None:
    """Requester, worker, reviewer, verifier, approver, authorities: each may read; an owner whom the contract names, too."""
    contract = lifecycle.contract.Contract(
        "task", "1", "build it", acceptance=(lifecycle.terms.Condition("c1", "it builds"),),
        owners=lifecycle.contract.Owners(user="olga"), escalation=(lifecycle.contract.Escalation("which index", "ian"),),
    )  # fmt: skip
    request(jobs, contract=contract, authorities=["ann", "una"])
    for party in ("ann", "wes", "rev", "vic", "app", "una", "olga", "ian"):
        assert jobs.job("job", by=party) == jobs.job("job")
    for stranger in ("eve", "clock", "Ann", "ann "):
        with pytest.raises(JobNotFound):
            jobs.job("job", by=stranger)


# Refusals


def test_refusals_are_kept_up_to_a_cap(place: Place, jobs: Jobs, clock: Clock) -> None:
    """As many refusals as the limit says are kept per job, oldest first, with act, time and words; what is turned away is not."""
    tight = Jobs(jobs.store, limits=Limits(refusals=3), sweep_every=None)
    job, other = request(tight, "a"), request(tight, "b")
    for n in range(5):
        clock.ticks(SECOND)
        refused(job.seat("wes").progress, f"line {n}", nothing_new=True)
    refused(tight.submit_json, "a", '{"act": "accept", "x": 1}', by="wes")
    refused(other.seat("wes").progress, "on", nothing_new=True)
    kept = place.open().refusals("a")
    assert [(one.at, acts.Progress.model_validate_json(one.payload).line) for one in kept] == [
        (NOON + SECOND * (n + 1), f"line {n}") for n in range(3)
    ]
    assert (kept[0].refusal.reason, kept[0].refusal.by, kept[0].refusal.may) == (Reason.ILLEGAL, "wes", jobs.may("a", by="wes"))
    assert len(other.refusals) == 1


def test_the_clocks_acts_are_the_engines(jobs: Jobs) -> None:
    """A lapse from anybody is not authorised; `clock` asks for nothing, and is no party's name."""
    job = at(jobs, Stage.WORKING)
    lapse = acts.Lapse(cause=Cause.LEASE, due=NOON)
    for party in ("ann", "wes"):
        assert refused(jobs.submit, job.id, lapse, by=party).reason is Reason.NOT_AUTHORISED
    assert refused(request, jobs, "other", requester="clock").reason is Reason.MALFORMED
    for part in ("worker", "reviewer", "verifier", "approver"):
        assert refused(request, jobs, "other", **{part: "clock"}).reason is Reason.MALFORMED


# The clock


def test_what_is_due_lapses_before_an_act_is_judged(place: Place, jobs: Jobs, clock: Clock) -> None:
    """Nobody sweeps: the next act on the job finds it lapsed, as often as need be, and each lapse is in the log."""
    job = at(jobs, Stage.RENEGOTIATING, complete_by=NOON + 4 * DAY)
    clock.ticks(5 * DAY)
    refusal = refused(place.open().submit, job.id, NO_NEWS, by="wes")
    assert (refusal.reason, "expired" in refusal.detail) == (Reason.CLOSED, True)
    lapses = [entry.act for entry in job.log if isinstance(entry.act, acts.Lapse)]
    assert [(lapse.cause, lapse.due) for lapse in lapses] == [("answer", NOON + 3 * DAY), ("completion", NOON + 4 * DAY)]


def test_a_refused_act_leaves_what_had_lapsed(jobs: Jobs, clock: Clock) -> None:
    """A stranger's or a malformed act makes nothing lapse; a party's does, though it is refused."""
    job = at(jobs, Stage.REQUESTED)
    clock.ticks(DAY)
    with pytest.raises(JobNotFound):
        jobs.submit(job.id, NO_NEWS, by="eve")
    with pytest.raises(Refused):
        jobs.submit_json(job.id, '{"act": "accept", "x": 1}', by="wes")
    assert lines(job) == ["request"]
    refused(jobs.submit, job.id, acts.Accept(answers="job"), by="wes")
    assert lines(job) == ["request", "lapse"]


def test_a_retry_makes_nothing_lapse(jobs: Jobs, clock: Clock) -> None:
    """A repeated id is answered before anything lapses."""
    job = at(jobs, Stage.READY)
    first = jobs.submit(job.id, NO_NEWS, by="wes", id="p1")
    clock.ticks(2 * HOUR)
    assert jobs.submit(job.id, NO_NEWS, by="wes", id="p1") == first
    assert "lapse" not in lines(job)


def test_a_worker_over_its_budget_is_ended_by_its_own_word(jobs: Jobs) -> None:
    """An act that tells of more than the budget is kept, and the budget lapses in the same commit; a delivery is judged instead."""
    job = at(jobs, Stage.READY, "a", budget=Budget(tokens=100))
    receipt = job.seat("wes").progress("on", nothing_new=True, spent=Spent(tokens=101))
    assert (receipt.stage, lines(job)[2:]) == (Stage.WORKING, ["progress", "lapse"])
    assert str(job.termination) == "budget_exhausted / none"
    other = at(jobs, Stage.READY, "b", budget=Budget(tokens=100), **ASKED)
    other.seat("wes").deliver("a.py", spent=Spent(tokens=101))
    assert (other.stage, other.job.over_budget) == (Stage.DELIVERED, True)


def test_a_clock_that_jumps_back_moves_nothing_back(place: Place, jobs: Jobs, clock: Clock) -> None:
    """Times of entries never decrease, nothing is due anew, and what an act makes due lapses although the clock says earlier."""
    job = at(jobs, Stage.WORKING, budget=Budget(tokens=100))
    clock.ticks(30 * MINUTE)
    STEPS["progress"](job.seat)
    clock.ticks(-2 * HOUR)
    assert jobs.sweep() == []
    STEPS["progress"](job.seat)
    jobs.renew(job.id, by="wes")
    job.seat("wes").progress("on", nothing_new=True, spent=Spent(tokens=101))
    times = [entry.at for entry in job.log]
    assert times == sorted(times)
    assert times[-1] == NOON + 30 * MINUTE
    assert str(job.termination) == "budget_exhausted / none"
    assert (place.open().job(job.id), jobs.audit()) == (job.job, [])


def test_a_clock_that_jumps_ahead_ends_what_it_passes_and_no_more(jobs: Jobs, clock: Clock) -> None:
    """A year at once: every open job has ended, each for its own reason, by the clock alone."""
    for stage in WAYS:
        at(jobs, stage, stage.name)
    clock.ticks(365 * DAY)
    while jobs.sweep():
        pass
    assert jobs.find(open=True) == []
    assert jobs.store.find(Query(due_by=clock())) == []
    ended = {stage: jobs.job(stage.name).termination for stage in WAYS}
    assert {stage: how.cause for stage, how in ended.items() if how and how.cause} == {
        Stage.REQUESTED: "respond", Stage.DEFERRED: "until", Stage.COUNTERED: "answer", Stage.UNDER_REVIEW: "review",
        Stage.READY: "lease", Stage.WORKING: "lease", Stage.BLOCKED: "completion", Stage.AWAITING_APPROVAL: "completion",
        Stage.RENEGOTIATING: "completion", Stage.DELIVERED: "verdict",
    }  # fmt: skip


# The lease


def test_a_lease_is_renewed_by_its_worker_and_leaves_no_entry(place: Place, jobs: Jobs, clock: Clock) -> None:
    """Renewed by any engine, seen by every other, also after a restart; the lapse keeps the renewal that it was judged by."""
    job = at(jobs, Stage.WORKING, intervals=Intervals(lease=MINUTE))
    for _ in range(3):
        clock.ticks(MINUTE - TICK)
        place.open().renew(job.id, by="wes")
        assert jobs.sweep() == []
    assert len(job.log) == 3
    renewed = clock.time
    clock.ticks(MINUTE)
    anew = place.reopen()
    (lapse,) = anew.sweep()
    act = anew.log("job")[-1].act
    assert isinstance(act, acts.Lapse)
    assert (lapse.stage, act.cause, act.renewed_at, act.due) == (Stage.ERROR, "lease", renewed, renewed + MINUTE)


def test_a_renewal_comes_too_late_at_the_instant_itself(jobs: Jobs, clock: Clock) -> None:
    """Due means at the instant: the renewal finds the job abandoned, which is what it is told."""
    job = at(jobs, Stage.WORKING)
    clock.ticks(HOUR)
    refusal = refused(jobs.renew, job.id, by="wes")
    assert (refusal.reason, "abandoned" in refusal.detail, refusal.act) == (Reason.CLOSED, True, "renew")
    assert (lines(job)[-1], job.refusals) == ("lapse", [])


@pytest.mark.parametrize("stage", set(Stage) - {Stage.READY, Stage.WORKING})
def test_no_lease_runs_while_it_is_not_the_workers_turn(jobs: Jobs, stage: Stage) -> None:
    """Only the worker renews, and only what runs."""
    job = at(jobs, stage)
    assert refused(jobs.renew, job.id, by="wes").reason in (Reason.CLOSED, Reason.ILLEGAL)
    if job.job.open:
        assert refused(jobs.renew, job.id, by="ann").reason is Reason.NOT_AUTHORISED


def test_a_renewal_that_comes_back_from_the_past_takes_nothing_away(jobs: Jobs, clock: Clock) -> None:
    """The clock jumps back and the lease is renewed: it ends no earlier than before."""
    job = at(jobs, Stage.WORKING)
    clock.ticks(30 * MINUTE)
    jobs.renew(job.id, by="wes")
    clock.ticks(-20 * MINUTE)
    jobs.renew(job.id, by="wes")
    clock.ticks(20 * MINUTE + HOUR - TICK)
    assert (jobs.sweep(), job.stage) == ([], Stage.WORKING)


def test_after_renewals_are_lost_a_job_is_looked_at_once_and_left_for_its_grace(place: Place, jobs: Jobs, clock: Clock) -> None:
    """Everything is listed anew, and jobs that would seem abandoned wait for one lease of grace, holding up no sweep."""
    for n in range(3):
        at(jobs, Stage.WORKING, f"j{n}")
    clock.ticks(HOUR - TICK)
    place.open().reindex()
    request(jobs, "late", respond_by=clock.time + SECOND)
    clock.ticks(SECOND)
    swept = [jobs.sweep(limit=1) for _ in range(5)]
    assert [receipt.job for one in swept for receipt in one] == ["late"]
    clock.ticks(HOUR - SECOND - TICK)
    assert jobs.sweep() == []
    clock.ticks(TICK)
    assert len(jobs.sweep()) == 3


def test_everything_listed_anew_is_listed_as_it_was(place: Place, jobs: Jobs) -> None:
    """Rows are thrown away and made from the logs: the same lists, heads, children; and acts go on."""
    for stage in WAYS:
        at(jobs, stage, stage.name)
    request(jobs, "child", requester="wes", worker="kim", parent="READY")
    rows, logs = jobs.find(), [bodies(jobs.handle(stage.name)) for stage in WAYS]
    jobs.reindex()
    assert [(row.job, row.stage, row.goal, row.updated_at) for row in jobs.find()] == [
        (row.job, row.stage, row.goal, row.updated_at) for row in rows
    ]
    assert [bodies(jobs.handle(stage.name)) for stage in WAYS] == logs
    for engine in (jobs, place.open()):
        engine.submit("WORKING", NO_NEWS, by="wes")
        assert refused(engine.submit, "READY", acts.Deliver(value=1), by="wes").reason is Reason.CHILDREN_OPEN
    while jobs.sweep():
        pass
    assert jobs.store.find(Query(due_by=NOON)) == []  # ended jobs without children are looked at once


# Sweeping


def test_a_sweep_lapses_a_bounded_number_and_the_next_goes_on(jobs: Jobs, clock: Clock) -> None:
    """Two at a time, in order of due time: each once, none passed over."""
    for n in range(5):
        request(jobs, f"j{n}", respond_by=NOON + SECOND * (5 - n))
    clock.ticks(DAY)
    swept = []
    while receipts := jobs.sweep(limit=2):
        assert len(receipts) <= 2
        swept += [receipt.job for receipt in receipts]
    assert swept == ["j4", "j3", "j2", "j1", "j0"]


def test_jobs_sweep_themselves_on_the_machines_own_clock(place: Place) -> None:
    """Opened without a clock of its own, deadlines lapse by themselves; and what a sweep failed with is told."""
    failing = Failing(place.open().store, "find", times=2)
    place.clock.ticks(DAY)
    with Jobs(failing, sweep_every=0.01) as jobs:
        jobs.request("g", requester="ann", worker="wes", respond_by=NOON + DAY + SECOND, id="job")
        place.clock.ticks(SECOND)
        for notice in jobs.watch(wait=20):
            if notice.entry.act.act == "lapse":
                break
        assert (failing.times, jobs.job("job").stage, jobs.sweep_error) == (0, Stage.STOPPED, None)


@pytest.mark.parametrize("url", ["", "sqlite:", "sqlite://", "sqlite:///", "postgres:x/y", "memory:x", "jobs.db"])
def test_a_url_that_names_no_store_is_said_so(url: str) -> None:
    with pytest.raises(StoreError, match="memory:"):
        lifecycle.open(url)


def test_an_engine_that_is_closed_says_so(on_file: Place) -> None:
    """Closed twice is closed once; what is asked of it then is a typed error."""
    jobs = on_file.open()
    job = request(jobs)
    jobs.close()
    jobs.close()
    for call in (lambda: job.state, jobs.find, jobs.sweep, lambda: job.seat("wes").accept()):
        with pytest.raises(StoreError):
            call()
    assert os.path.exists(on_file.url.removeprefix("sqlite:///"))


def test_an_act_loses_against_one_that_comes_between(place: Place) -> None:
    """Whatever comes just before the commit of an act that names its seq: that act is a Conflict, and nothing of it is kept."""
    rival, inner = place.open(), place.open().store
    for n in counted():
        job = at(rival, Stage.READY, f"j{n}")
        between = Between(inner, n, lambda job=job: attempt(rival, job.id, "wes", NO_NEWS))
        try:
            Engine(between).submit(job.id, NO_NEWS, by="wes", expect=1)
            assert not between.taken
            break
        except Conflict as conflict:
            assert (conflict.expected, conflict.actual, len(job.log)) == (1, 2, 3)


def test_a_request_that_would_be_refused_names_the_id_that_is_taken_first(place: Place, jobs: Jobs) -> None:
    """An engine that has never read the job says what one says that has: the id is another act's, whatever else is wrong."""
    request(jobs, "job")
    for engine in (jobs, place.open()):
        no = refused(engine.request, "g", requester="ann", worker="wes", verifier="wes", conditions={"c": "it is"}, id="job")
        assert no.reason is Reason.ACT_ID_REUSED
