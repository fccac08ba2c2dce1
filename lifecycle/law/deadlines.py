"""When a job falls due, and why.

Every open job has a deadline, so that the clock alone ends it. Due means at the instant itself. The time is an argument:
nothing here reads a clock. What a lapse leads to is in `table`.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import itemgetter

from lifecycle.law import limits
from lifecycle.law.acts import Lapse
from lifecycle.law.job import Job, Proposal, Wait
from lifecycle.law.states import BOUND, FINAL, OPEN, RUNNING, Cause, Stage


def due(job: Job, now: datetime, renewed_at: datetime | None = None, parent_ended_at: datetime | None = None) -> Lapse | None:
    """The lapse that is due at `now`, the earliest if there are several; None if none is."""
    first = deadline(job, renewed_at, parent_ended_at)
    if first is None or first[0] > now:
        return None
    at, cause = first
    return Lapse(cause=cause, due=at, renewed_at=renewed_at if cause is Cause.LEASE else None)


def deadline(
    job: Job, renewed_at: datetime | None = None, parent_ended_at: datetime | None = None
) -> tuple[datetime, Cause] | None:
    """The job's due time, and what falls due then; None only for a final job.

    `renewed_at` is the last renewal of the worker's lease; `parent_ended_at`, when the parent ended without delivering.
    """
    stage = job.stage
    if stage in FINAL:
        return None
    running: list[tuple[datetime, Cause]] = []
    if stage in _UNDONE and parent_ended_at is not None:
        running.append((parent_ended_at, _PARENT))
    if stage in BOUND:
        running += _of_the_work(job, renewed_at)
    if stage in _OWN:
        cause, at = _OWN[stage]
        running.append((at(job), cause))
    return min(running, key=_INSTANT)  # the first of equals: they stand in the order of ties


def respond_by(job: Job) -> datetime:
    """When a reply to the request in force is due: `respond_by` bounds the first reply only, the interval each."""
    first = job.brief.respond_by if job.seq == 0 else None
    interval = job.brief.intervals.respond
    if first is None:
        return job.entered_at + (interval or limits.RESPOND)
    return first if interval is None else min(first, job.entered_at + interval)


def _of_the_work(job: Job, renewed_at: datetime | None) -> list[tuple[datetime, Cause]]:
    """Completion and budget while the worker is bound; its lease, its stall and its seconds while it is its turn."""
    if job.stage is _UNDER_REVIEW:  # time under review is added to completion: here it falls due only if it was due before
        return [(job.complete_by, _COMPLETION)] if job.complete_by <= job.entered_at else []
    running = [(job.complete_by, _COMPLETION)]
    budget = job.terms.budget
    if budget is not None and job.over_budget:
        running.append((job.at, _BUDGET))
    if job.stage in RUNNING:
        waits, since, ran = job.brief.intervals, job.entered_at, job.ran
        if budget is not None and budget.seconds is not None:
            running.append((since + timedelta(seconds=budget.seconds) - ran, _BUDGET))
        heard_at = job.heard_at if renewed_at is None else max(job.heard_at, renewed_at)
        running.append((heard_at + (waits.lease or limits.LEASE), _LEASE))
        running.append((since + (waits.stall or limits.STALL) + (job.pointed - ran), _STALL))
    return running


def _until(job: Job) -> datetime:
    assert isinstance(job.standing, Wait) and job.standing.until is not None
    return job.standing.until


def _answer_by(job: Job) -> datetime:
    return job.entered_at + (job.brief.intervals.answer or limits.ANSWER)


def _review_by(job: Job) -> datetime:
    return job.entered_at + (job.brief.intervals.review or limits.REVIEW)


def _approve_by(job: Job) -> datetime:
    assert isinstance(job.standing, Proposal)
    return job.standing.expires_at


def _verdict_by(job: Job) -> datetime:
    return job.entered_at + (job.brief.intervals.verdict or limits.VERDICT)


def _stop_by(job: Job) -> datetime:
    return job.entered_at + (job.brief.intervals.stop or limits.STOP)


_OWN: Mapping[Stage, tuple[Cause, Callable[[Job], datetime]]] = {
    Stage.REQUESTED: (Cause.RESPOND, respond_by),
    Stage.DEFERRED: (Cause.UNTIL, _until),
    Stage.COUNTERED: (Cause.ANSWER, _answer_by),
    Stage.RENEGOTIATING: (Cause.ANSWER, _answer_by),
    Stage.UNDER_REVIEW: (Cause.REVIEW, _review_by),
    Stage.AWAITING_APPROVAL: (Cause.APPROVAL, _approve_by),
    Stage.DELIVERED: (Cause.VERDICT, _verdict_by),
    Stage.STOPPING: (Cause.STOP, _stop_by),
}
"""The deadline that a stage has of its own."""

_UNDONE = OPEN - {Stage.DELIVERED}
"""Stages that a parent's end ends: a result keeps its verdict."""

_INSTANT = itemgetter(0)
# Deadlines are asked for after every act, and looking up an enum's member takes as long as adding two times.
_PARENT, _COMPLETION, _BUDGET, _LEASE, _STALL = Cause.PARENT, Cause.COMPLETION, Cause.BUDGET, Cause.LEASE, Cause.STALL
_UNDER_REVIEW = Stage.UNDER_REVIEW
