"""When a job falls due, and why.

Every open job has a deadline, so that the clock alone ends it. Due means at the instant itself. The time is an argument:
nothing here reads a clock. What a lapse leads to is in `table`.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from lifecycle.law import limits
from lifecycle.law.acts import Lapse
from lifecycle.law.job import Job, Proposal, Wait
from lifecycle.law.states import BOUND, FINAL, RUNNING, Cause, Stage

_TIES = {cause: order for order, cause in enumerate(Cause)}


def due(
    job: Job, now: datetime, renewed_at: datetime | None = None, parent_ended_at: datetime | None = None
) -> Lapse | None:
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
    if job.stage in FINAL:
        return None
    return min(_deadlines(job, renewed_at, parent_ended_at), key=lambda at: (at[0], _TIES[at[1]]))


def respond_by(job: Job) -> datetime:
    """When a reply to the request in force is due: `respond_by` bounds the first reply only, the interval each."""
    first = job.brief.respond_by if job.seq == 0 else None
    interval = job.brief.intervals.respond
    if first is None:
        return job.entered_at + (interval or limits.RESPOND)
    return first if interval is None else min(first, job.entered_at + interval)


def _deadlines(job: Job, renewed_at: datetime | None, parent_ended_at: datetime | None) -> Iterator[tuple[datetime, Cause]]:
    """Every deadline that runs in the job's stage."""
    waits, since = job.brief.intervals, job.entered_at
    match job.stage:
        case Stage.STOPPING:
            yield since + (waits.stop or limits.STOP), Cause.STOP
            return
        case Stage.DELIVERED:
            yield since + (waits.verdict or limits.VERDICT), Cause.VERDICT
            return
        case Stage.REQUESTED:
            yield respond_by(job), Cause.RESPOND
        case Stage.DEFERRED if isinstance(job.standing, Wait) and job.standing.until is not None:
            yield job.standing.until, Cause.UNTIL
        case Stage.COUNTERED | Stage.RENEGOTIATING:
            yield since + (waits.answer or limits.ANSWER), Cause.ANSWER
        case Stage.UNDER_REVIEW:
            yield since + (waits.review or limits.REVIEW), Cause.REVIEW
        case Stage.AWAITING_APPROVAL if isinstance(job.standing, Proposal):
            yield job.standing.expires_at, Cause.APPROVAL
    if parent_ended_at is not None:
        yield parent_ended_at, Cause.PARENT
    if job.stage in BOUND:
        yield from _of_the_work(job, renewed_at)


def _of_the_work(job: Job, renewed_at: datetime | None) -> Iterator[tuple[datetime, Cause]]:
    """Completion and budget while the worker is bound; its lease, its stall and its seconds while it is its turn."""
    waits, since = job.brief.intervals, job.entered_at
    if job.stage is Stage.UNDER_REVIEW:
        if job.complete_by <= since:  # time under review is added to it: here it falls due only if it was due before
            yield job.complete_by, Cause.COMPLETION
        return
    yield job.complete_by, Cause.COMPLETION
    if job.over_budget:
        yield job.at, Cause.BUDGET
    if job.stage in RUNNING:
        heard_at = job.heard_at if renewed_at is None else max(job.heard_at, renewed_at)
        yield heard_at + (waits.lease or limits.LEASE), Cause.LEASE
        yield since + (waits.stall or limits.STALL) + (job.pointed - job.ran), Cause.STALL
        budget = job.terms.budget
        if budget is not None and budget.seconds is not None:
            yield since + timedelta(seconds=budget.seconds) - job.ran, Cause.BUDGET
