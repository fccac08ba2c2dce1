"""Time: what falls due when, in which order, who owed it, and what does not run while others are waited for."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from attrs import frozen
from pydantic import ValidationError

from lifecycle.law import acts
from lifecycle.law.deadlines import deadline, due
from lifecycle.law.decide import lapse
from lifecycle.law.guards.move import World
from lifecycle.law.log import Entry
from lifecycle.law.states import FINAL, OPEN, Cause, Ending, Stage, Status, Work
from lifecycle.law.terms import Budget, Intervals, Need, Spent, Terms
from tests.law.script import CALL, DAY, HOUR, MINUTE, NOON, POINTER, READS, SECOND, TICK, WITH_REVIEW, WITH_VERDICT, Script, at

Fields = dict[str, object]

# Every deadline there is: where it runs, when it is due, and what comes of it


@frozen
class Row:
    """One deadline: the job it runs in, the instant, the stage it leads to, and the termination if that ends the job."""

    cause: Cause
    stage: Stage
    fields: Fields
    acts: str
    after: timedelta
    to: Stage
    reason: Ending | None = None
    owed_by: str | None = None
    status: Status = Status.NONE


def waits(**intervals: timedelta) -> Fields:
    """A request with these intervals."""
    return {"intervals": Intervals(**intervals)}


LONG = Intervals(lease=9 * DAY, stall=9 * DAY)
SECONDS: Fields = {"budget": Budget(seconds=600.0)}
SOON: Fields = {"complete_by": NOON + MINUTE}
PROPOSED, DONE = "accept progress propose", "accept deliver"
ENDED, WORKING, READY, ERROR = Stage.STOPPED, Stage.WORKING, Stage.READY, Stage.ERROR
DELIVERED, UNVERIFIED, STOPPING = Stage.DELIVERED, Stage.UNVERIFIED, Stage.STOPPING
EXPIRED, ABANDONED, STALLED, EXHAUSTED = Ending.EXPIRED, Ending.ABANDONED, Ending.PROGRESS_STALLED, Ending.BUDGET_EXHAUSTED
UNRESOLVED = Status.UNRESOLVED

ROWS = [
    Row(Cause.RESPOND, Stage.REQUESTED, {}, "", DAY, ENDED, EXPIRED, "wes"),
    Row(Cause.RESPOND, Stage.REQUESTED, waits(respond=HOUR), "", HOUR, ENDED, EXPIRED, "wes"),
    Row(Cause.RESPOND, Stage.REQUESTED, {"respond_by": NOON + 3 * DAY}, "", 3 * DAY, ENDED, EXPIRED, "wes"),
    Row(Cause.UNTIL, Stage.DEFERRED, {}, "defer", 90 * MINUTE, ENDED, EXPIRED, "wes"),
    Row(Cause.ANSWER, Stage.COUNTERED, {}, "counter", 3 * DAY, ENDED, EXPIRED, "ann"),
    Row(Cause.ANSWER, Stage.COUNTERED, waits(answer=HOUR), "counter", HOUR, ENDED, EXPIRED, "ann"),
    Row(Cause.ANSWER, Stage.RENEGOTIATING, {}, "accept counter", 3 * DAY, WORKING),
    Row(Cause.ANSWER, Stage.RENEGOTIATING, waits(answer=HOUR), "accept counter", HOUR, WORKING),
    Row(Cause.REVIEW, Stage.UNDER_REVIEW, WITH_REVIEW, "accept", 3 * DAY, ENDED, EXPIRED, "rev"),
    Row(Cause.REVIEW, Stage.UNDER_REVIEW, WITH_REVIEW | waits(review=HOUR), "accept", HOUR, ENDED, EXPIRED, "rev"),
    Row(Cause.APPROVAL, Stage.AWAITING_APPROVAL, {}, PROPOSED, DAY, WORKING),
    Row(Cause.VERDICT, DELIVERED, WITH_VERDICT, DONE, 7 * DAY, UNVERIFIED, Ending.DELIVERED, "vic", UNRESOLVED),
    Row(Cause.VERDICT, DELIVERED, WITH_VERDICT | waits(verdict=HOUR), DONE, HOUR, UNVERIFIED, Ending.DELIVERED, "vic", UNRESOLVED),
    Row(Cause.LEASE, READY, {}, "accept", HOUR, ERROR, ABANDONED, "wes"),
    Row(Cause.LEASE, WORKING, waits(lease=MINUTE), "accept progress", MINUTE, ERROR, ABANDONED, "wes"),
    Row(Cause.STALL, WORKING, waits(lease=9 * DAY), "accept progress", DAY, ERROR, STALLED, "wes"),
    Row(Cause.STALL, READY, waits(stall=MINUTE), "accept", MINUTE, ERROR, STALLED, "wes"),
    Row(Cause.BUDGET, READY, SECONDS, "accept", 600 * SECOND, ERROR, EXHAUSTED, "wes"),
    Row(Cause.BUDGET, WORKING, SECONDS, "accept progress", 600 * SECOND, ERROR, EXHAUSTED, "wes"),
    Row(Cause.COMPLETION, WORKING, waits(lease=99 * DAY, stall=99 * DAY), "accept progress", 30 * DAY, ERROR, EXPIRED, "wes"),
    Row(Cause.COMPLETION, READY, SOON, "accept", MINUTE, ERROR, EXPIRED, "wes"),
    Row(Cause.COMPLETION, Stage.BLOCKED, SOON, "accept block", MINUTE, ERROR, EXPIRED, "vic"),
    Row(Cause.COMPLETION, Stage.RENEGOTIATING, SOON, "accept counter", MINUTE, ERROR, EXPIRED, "ann"),
    Row(Cause.COMPLETION, Stage.AWAITING_APPROVAL, SOON, PROPOSED, MINUTE, ERROR, EXPIRED, "app"),
    Row(Cause.COMPLETION, Stage.UNDER_REVIEW, WITH_REVIEW | {"complete_by": NOON}, "accept", 0 * DAY, ENDED, EXPIRED, "rev"),
    Row(Cause.STOP, STOPPING, {}, "accept cancel", 10 * MINUTE, ENDED, Ending.CANCELLED),
    Row(Cause.STOP, STOPPING, waits(stop=HOUR), "accept cancel", HOUR, ENDED, Ending.CANCELLED),
]


def shown(row: object) -> str:
    return f"{row.cause}-{row.stage}-{row.after}" if isinstance(row, Row) else str(row)


@pytest.mark.parametrize("row", ROWS, ids=shown)
def test_a_deadline_falls_due_at_its_instant_and_not_a_tick_before(row: Row) -> None:
    script = Script(**row.fields).tells(row.acts)
    assert script.stage is row.stage
    assert deadline(script.job) == (NOON + row.after, row.cause)
    assert due(script.job, NOON + row.after - TICK) is None
    act = due(script.job, NOON + row.after)
    assert act is not None and (act.cause, act.due) == (row.cause, NOON + row.after)


@pytest.mark.parametrize("row", ROWS, ids=shown)
def test_a_lapse_leads_where_it_must_and_tells_whose_silence_it_was(row: Row) -> None:
    script = Script(**row.fields).tells(row.acts).falls_due()
    assert script.stage is row.to
    end = script.job.termination
    if row.reason is None:
        assert end is None
    elif row.cause is Cause.STOP:
        assert end is not None and (end.reason, end.cause, end.at) == (Ending.CANCELLED, None, NOON)
        assert script.job.work is Work.UNKNOWN
    else:
        assert end is not None and (end.reason, end.status) == (row.reason, row.status)
        assert (end.cause, end.owed_by, end.at) == (row.cause, row.owed_by, NOON + row.after)


def test_every_cause_has_a_row_but_the_parents_which_has_its_own() -> None:
    assert {row.cause for row in ROWS} == set(Cause) - {Cause.PARENT}


PARENT_ENDS = {
    Stage.REQUESTED: Stage.STOPPED,
    Stage.DEFERRED: Stage.STOPPED,
    Stage.COUNTERED: Stage.STOPPED,
    Stage.UNDER_REVIEW: Stage.STOPPED,
    Stage.READY: Stage.STOPPING,
    Stage.WORKING: Stage.STOPPING,
    Stage.BLOCKED: Stage.STOPPING,
    Stage.AWAITING_APPROVAL: Stage.STOPPING,
    Stage.RENEGOTIATING: Stage.STOPPING,
}


@pytest.mark.parametrize("stage", PARENT_ENDS)
def test_a_job_ends_with_its_parent_and_nobody_owed_that(stage: Stage) -> None:
    script = at(stage)
    assert due(script.job, NOON, None, NOON + TICK) is None
    script.falls_due(parent_ended_at=NOON)
    assert script.stage is PARENT_ENDS[stage]
    end = script.job.termination
    assert end is not None
    assert (end.reason, end.status, end.cause, end.owed_by) == (Ending.PARENT_CLOSED, Status.NONE, Cause.PARENT, None)


@pytest.mark.parametrize("stage", sorted(frozenset(Stage) - PARENT_ENDS.keys()))
def test_a_result_and_an_ended_job_do_not_lapse_with_the_parent(stage: Stage) -> None:
    assert due(at(stage).job, NOON + 5 * MINUTE, None, NOON) is None


def test_a_result_sent_back_by_rework_lapses_with_the_parent_after_all() -> None:
    script = at(Stage.DELIVERED).later(HOUR).does("rework")
    act = script.due(parent_ended_at=NOON + MINUTE)
    assert act is not None and act.cause is Cause.PARENT


@pytest.mark.parametrize("stage", sorted(FINAL))
def test_nothing_is_ever_due_in_a_final_stage(stage: Stage) -> None:
    job = at(stage).job
    assert deadline(job) is None
    assert due(job, NOON + 9999 * DAY, NOON, NOON) is None


@pytest.mark.parametrize("stage", sorted(frozenset(Stage) - FINAL))
def test_the_clock_alone_ends_every_job(stage: Stage) -> None:
    script = at(stage)
    for _ in range(5):
        if script.stage not in FINAL:
            script.falls_due()
    assert script.stage in FINAL


# Which of several


ALL = {Cause.PARENT, Cause.COMPLETION, Cause.BUDGET, Cause.LEASE, Cause.STALL}


@pytest.mark.parametrize("absent", [set(), {Cause.PARENT}, {Cause.PARENT, Cause.COMPLETION}, ALL - {Cause.LEASE, Cause.STALL}])
def test_what_falls_due_at_one_instant_goes_in_the_order_of_ties(absent: set[Cause]) -> None:
    running = ALL - absent
    script = Script(
        complete_by=NOON + (HOUR if Cause.COMPLETION in running else DAY),
        budget=Budget(seconds=3600.0) if Cause.BUDGET in running else None,
        intervals=Intervals(lease=HOUR, stall=HOUR),
    ).tells("accept")
    parent_ended_at = NOON + HOUR if Cause.PARENT in running else None
    assert deadline(script.job, None, parent_ended_at) == (NOON + HOUR, next(cause for cause in Cause if cause in running))


@pytest.mark.parametrize(
    ("fields", "acts", "own"),
    [
        ({"intervals": Intervals(respond=HOUR)}, "", Cause.RESPOND),
        ({"intervals": Intervals(answer=HOUR)}, "counter", Cause.ANSWER),
        ({"intervals": Intervals(answer=HOUR)}, "accept counter", Cause.ANSWER),
        ({"intervals": Intervals(review=HOUR), "review": True}, "accept", Cause.REVIEW),
    ],
)
def test_a_parents_end_goes_before_the_stages_own_deadline(fields: Fields, acts: str, own: Cause) -> None:
    job = Script(**fields).tells(acts).job
    assert deadline(job) == (NOON + HOUR, own)
    assert deadline(job, None, NOON + HOUR) == (NOON + HOUR, Cause.PARENT)
    assert deadline(job, None, NOON + HOUR + TICK) == (NOON + HOUR, own)


def test_completion_goes_before_an_approval_and_an_answer() -> None:
    script = at(Stage.WORKING, complete_by=NOON + HOUR, intervals=Intervals(answer=HOUR))
    assert deadline(script.does("propose", expires_at=NOON + HOUR).job) == (NOON + HOUR, Cause.COMPLETION)
    script = at(Stage.WORKING, complete_by=NOON + HOUR, intervals=Intervals(answer=HOUR))
    assert deadline(script.does("counter", terms=Terms(complete_by=NOON + HOUR)).job) == (NOON + HOUR, Cause.COMPLETION)


def test_the_earliest_is_first_whatever_its_place_among_ties() -> None:
    script = at(Stage.WORKING, complete_by=NOON + 2 * HOUR, intervals=Intervals(lease=HOUR))
    act = script.later(DAY).due()
    assert act is not None and (act.cause, act.due) == (Cause.LEASE, NOON + HOUR)


# The lease


def test_every_act_of_the_worker_renews_its_lease() -> None:
    script = at(Stage.WORKING)
    for name in ("progress", "counter", "insist", "block", "resolve", "propose", "decide", "progress"):
        script.later(59 * MINUTE).does(name)
        assert script.due() is None
    assert deadline(script.job) == (script.now + HOUR, Cause.LEASE)


def test_a_renewal_moves_the_lease_and_stands_in_the_lapse_that_it_was_judged_by() -> None:
    script = at(Stage.WORKING)
    assert deadline(script.job, NOON + 30 * MINUTE) == (NOON + 90 * MINUTE, Cause.LEASE)
    act = script.later(90 * MINUTE).due(renewed_at=NOON + 30 * MINUTE)
    assert act == acts.Lapse(cause=Cause.LEASE, due=NOON + 90 * MINUTE, renewed_at=NOON + 30 * MINUTE)


def test_a_renewal_older_than_the_last_act_renews_nothing() -> None:
    script = at(Stage.WORKING).later(30 * MINUTE).does("progress")
    assert deadline(script.job, NOON) == (NOON + 90 * MINUTE, Cause.LEASE)


def test_a_lapse_of_another_kind_keeps_no_renewal() -> None:
    act = at(Stage.WORKING, complete_by=NOON + HOUR).later(HOUR).due(renewed_at=NOON + 30 * MINUTE)
    assert act is not None and (act.cause, act.renewed_at) == (Cause.COMPLETION, None)


# Stall: only an act that points at something


@pytest.mark.parametrize(
    ("name", "fields", "back"),
    [
        ("progress", {"points_at": (), "nothing_new": True}, ""),
        ("block", {}, "resolve"),
        ("propose", {}, "decide"),
        ("counter", {}, "insist"),
        ("counter", {}, "adopt"),
    ],
)
def test_an_act_that_points_at_nothing_does_not_reset_stall(name: str, fields: Fields, back: str) -> None:
    script = at(Stage.WORKING, intervals=LONG).later(DAY).does(name, **fields)
    if back:
        script.does(back)
    assert deadline(script.job) == (NOON + 9 * DAY, Cause.STALL)


@pytest.mark.parametrize(("name", "fields"), [("progress", {"points_at": (POINTER,)}), ("progress", {"nothing_new": True})])
def test_an_act_that_points_at_something_resets_stall(name: str, fields: Fields) -> None:
    script = at(Stage.WORKING, intervals=Intervals(lease=99 * DAY, stall=9 * DAY)).later(DAY).does(name, **fields)
    assert deadline(script.job) == (NOON + 10 * DAY, Cause.STALL)


def test_a_delivery_of_something_resets_stall_and_an_empty_one_does_not() -> None:
    for fields, idle in (({"value": 7}, timedelta(0)), ({}, HOUR)):
        script = at(Stage.WORKING, conditions=(READS,), intervals=Intervals(lease=9 * DAY)).later(HOUR)
        script.does("deliver", **fields).does("rework")
        assert deadline(script.job) == (NOON + HOUR + DAY - idle, Cause.STALL)


# While others are waited for


def test_a_lease_of_a_minute_does_not_run_while_an_approval_takes_a_day() -> None:
    script = at(Stage.AWAITING_APPROVAL, intervals=Intervals(lease=MINUTE))
    assert script.later(DAY - SECOND).due() is None
    script.does("decide")
    assert deadline(script.job) == (script.now + MINUTE, Cause.LEASE)


WAITS = {"block": "resolve", "counter": "insist", "propose": "decide"}


@pytest.mark.parametrize("name", WAITS)
def test_stall_and_seconds_do_not_run_while_somebody_else_is_waited_for(name: str) -> None:
    script = at(Stage.WORKING, intervals=Intervals(stall=HOUR), budget=Budget(seconds=7200.0)).later(50 * MINUTE)
    script.does(name).later(10 * HOUR).does(WAITS[name])
    assert deadline(script.job) == (script.now + 10 * MINUTE, Cause.STALL)
    script.does("progress").later(30 * MINUTE).does("progress").later(40 * MINUTE - TICK)
    assert script.due() is None
    act = script.later(TICK).due()
    assert act is not None and act.cause is Cause.BUDGET


@pytest.mark.parametrize("name", WAITS)
def test_completion_runs_on_while_somebody_else_is_waited_for(name: str) -> None:
    script = at(Stage.WORKING, complete_by=NOON + HOUR)
    terms = {"terms": Terms(complete_by=NOON + HOUR)} if name == "counter" else {}
    assert deadline(script.does(name, **terms).job) == (NOON + HOUR, Cause.COMPLETION)


def test_time_under_review_is_added_to_completion() -> None:
    script = at(Stage.UNDER_REVIEW, complete_by=NOON + HOUR)
    assert deadline(script.job) == (NOON + 3 * DAY, Cause.REVIEW)
    script.later(DAY).does("clear").does("block")
    assert deadline(script.job) == (NOON + DAY + HOUR, Cause.COMPLETION)


@pytest.mark.parametrize("names", ["accept", "counter adopt"])
def test_time_under_a_review_that_ended_in_a_veto_is_added_too(names: str) -> None:
    script = Script(complete_by=NOON + 2 * HOUR, review=True).tells(names).later(HOUR).does("veto").does("accept").does("clear")
    assert script.job.complete_by == NOON + 3 * HOUR


def test_a_revision_names_its_completion_anew() -> None:
    script = Script(complete_by=NOON + 2 * HOUR, review=True).does("accept").later(HOUR).does("veto")
    assert script.does("counter").does("revise", complete_by=NOON + 4 * HOUR).job.complete_by == NOON + 4 * HOUR


def test_time_delivered_is_added_to_completion_each_time() -> None:
    script = at(Stage.DELIVERED, complete_by=NOON + HOUR)
    assert deadline(script.job) == (NOON + 7 * DAY, Cause.VERDICT)
    script.later(DAY).does("rework").does("deliver").later(DAY).does("rework").does("block")
    assert deadline(script.job) == (NOON + 2 * DAY + HOUR, Cause.COMPLETION)


def test_the_time_before_an_acceptance_is_not_added() -> None:
    script = Script(complete_by=NOON + 2 * DAY).does("counter").later(DAY).does("revise").does("accept").does("block")
    assert deadline(script.job) == (NOON + 2 * DAY, Cause.COMPLETION)


def test_the_default_completion_runs_from_the_request() -> None:
    script = Script().does("counter").later(DAY).does("revise").does("accept").does("block")
    assert deadline(script.job) == (NOON + 30 * DAY, Cause.COMPLETION)


def test_an_adopted_counter_brings_its_own_completion() -> None:
    script = at(Stage.WORKING).does("counter", terms=Terms(complete_by=NOON + HOUR))
    assert deadline(script.job) == (NOON + 3 * DAY, Cause.ANSWER)
    assert deadline(script.does("adopt").does("block").job) == (NOON + HOUR, Cause.COMPLETION)


# The first reply


def test_respond_by_bounds_the_first_reply_only() -> None:
    script = Script(respond_by=NOON + HOUR)
    assert deadline(script.job) == (NOON + HOUR, Cause.RESPOND)
    script.does("counter").later(30 * MINUTE).does("revise")
    assert deadline(script.job) == (NOON + 30 * MINUTE + DAY, Cause.RESPOND)


def test_of_respond_by_and_a_respond_interval_the_earlier_counts() -> None:
    for minutes in (30, 90):
        script = Script(respond_by=NOON + minutes * MINUTE, intervals=Intervals(respond=HOUR))
        assert deadline(script.job) == (NOON + min(minutes, 60) * MINUTE, Cause.RESPOND)


@pytest.mark.parametrize("names", ["counter revise", "accept veto"])
def test_the_respond_interval_runs_from_each_entry_into_requested(names: str) -> None:
    script = Script(review=True, intervals=Intervals(respond=HOUR))
    for name in names.split():
        script.later(MINUTE).does(name)
    assert deadline(script.job) == (NOON + 2 * MINUTE + HOUR, Cause.RESPOND)


def test_a_deferral_that_named_a_need_was_owed_by_whom_it_asked() -> None:
    script = Script().does("defer", need=Need("a key", "vic")).falls_due()
    assert script.job.termination is not None
    assert (script.job.termination.cause, script.job.termination.owed_by) == (Cause.UNTIL, "vic")


def test_a_deferral_lapses_exactly_once_and_can_be_cancelled_before() -> None:
    assert at(Stage.DEFERRED).does("cancel").stage is Stage.STOPPED
    script = at(Stage.DEFERRED).falls_due()
    assert script.later(9 * DAY).due() is None


# Bundles


def test_a_bundle_is_pending_before_its_expiry_and_expired_at_it() -> None:
    script = at(Stage.WORKING).does("propose", calls=(CALL,), expires_at=NOON + MINUTE)
    assert script.later(15 * SECOND).due() is None
    act = script.later(45 * SECOND).due()
    assert act is not None and act.cause is Cause.APPROVAL
    assert script.falls_due().refused("decide", answers="a3").reason == "expired"


# Budgets


def test_an_act_over_budget_is_kept_and_the_budget_lapses_at_once() -> None:
    for name in ("progress", "block", "propose"):
        script = at(Stage.WORKING, budget=Budget(tokens=100)).does(name, spent=Spent(101))
        assert script.job.over_budget
        act = script.due()
        assert act is not None and (act.cause, act.due) == (Cause.BUDGET, NOON)
        assert script.falls_due().job.termination is not None
        assert script.job.termination is not None and script.job.termination.reason is Ending.BUDGET_EXHAUSTED


def test_a_budget_spent_to_the_last_token_is_not_exceeded() -> None:
    script = at(Stage.WORKING, budget=Budget(tokens=100, seconds=90.0)).does("progress", spent=Spent(100, seconds=90.0))
    assert not script.job.over_budget
    assert script.due() is None


def test_a_delivery_over_budget_is_judged_and_marked() -> None:
    script = at(Stage.WORKING, conditions=(READS,), budget=Budget(tokens=100)).does("deliver", spent=Spent(101))
    assert script.job.over_budget
    assert script.due() is None
    assert script.does("confirm").stage is Stage.ACCEPTED


def test_the_seconds_of_the_budget_are_those_of_the_workers_turns_together() -> None:
    script = at(Stage.WORKING, budget=Budget(seconds=3600.0)).later(20 * MINUTE).does("block").later(DAY).does("resolve")
    assert deadline(script.job) == (NOON + DAY + HOUR, Cause.BUDGET)


# A late clock, an early clock, other clocks


def test_a_late_sweep_judges_the_job_as_it_is_and_the_next_turn_begins_when_it_came() -> None:
    script = at(Stage.AWAITING_APPROVAL).later(5 * DAY)
    act = script.due()
    assert act is not None and act.due == NOON + DAY
    script.learns(lapse(script.job, act, id="a4", now=script.now))
    assert (script.stage, script.job.at) == (Stage.WORKING, NOON + 5 * DAY)
    assert deadline(script.job) == (NOON + 5 * DAY + HOUR, Cause.LEASE)


@pytest.mark.parametrize("stage", [Stage.READY, Stage.BLOCKED, Stage.ERROR])
def test_a_lapse_that_does_not_fit_the_stage_is_no_lapse(stage: Stage) -> None:
    with pytest.raises(ValueError, match="does not fall due"):
        lapse(at(stage).job, acts.Lapse(cause=Cause.STOP, due=NOON), id="a9", now=NOON)


def test_entry_times_never_decrease() -> None:
    script = at(Stage.WORKING).later(-HOUR)
    entry = script.tries("progress")
    assert isinstance(entry, Entry)
    assert entry.at == NOON
    act = at(Stage.WORKING).later(HOUR).due()
    assert act is not None
    assert lapse(script.job, act, id="a3", now=NOON - DAY).at == NOON


def test_a_deadline_on_the_night_the_clocks_change_is_one_instant() -> None:
    summer, winter = timezone(timedelta(hours=2)), timezone(timedelta(hours=1))
    for zone, hour in ((summer, 0), (winter, 1)):
        script = Script(respond_by=datetime(2026, 10, 25, 2, 30, tzinfo=zone), now=datetime(2026, 10, 24, 12, tzinfo=UTC))
        assert deadline(script.job) == (datetime(2026, 10, 25, hour, 30, tzinfo=UTC), Cause.RESPOND)


@pytest.mark.parametrize(("fold", "hour"), [(0, 0), (1, 1)])
def test_a_wall_clock_time_that_comes_twice_is_the_one_that_was_meant(fold: int, hour: int) -> None:
    try:
        berlin = ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        pytest.skip("this machine knows no time zones")
    twice = datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=fold)
    script = Script(respond_by=twice, now=datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert deadline(script.job) == (datetime(2026, 10, 25, hour, 30, tzinfo=UTC), Cause.RESPOND)


@pytest.mark.parametrize("field", ["respond_by", "complete_by", "at"])
def test_a_naive_time_is_refused(field: str) -> None:
    with pytest.raises(ValidationError):
        acts.Request.model_validate({"goal": "g", "worker": "w", field: datetime(2026, 12, 1, 12)})


def test_a_child_learns_of_its_parents_end_however_old_it_is() -> None:
    above = at(Stage.WORKING).job
    script = Script(by="wes", worker="sub", parent="p", world=World(parent=above), intervals=LONG).later(HOUR).does("accept", "sub")
    act = script.later(HOUR).due(parent_ended_at=NOON)
    assert act is not None and (act.cause, act.due) == (Cause.PARENT, NOON)


def test_every_open_job_has_a_deadline() -> None:
    assert all(deadline(at(stage).job) is not None for stage in OPEN)
