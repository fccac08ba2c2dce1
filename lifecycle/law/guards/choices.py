"""Which of two rows: the questions that pick between rows of the same stage and act.

A choice is a plain function of the job and the act. It never refuses; what an act is held to is asked in the other rooms.
"""

from lifecycle.law import acts
from lifecycle.law.job import Job, Offer, Wait
from lifecycle.law.states import Cause


def review_asked(job: Job, act: acts.Act) -> bool:
    """The request asked for a review."""
    return job.brief.review


def no_review_asked(job: Job, act: acts.Act) -> bool:
    """The request asked for none."""
    return not job.brief.review


def verdict_asked(job: Job, act: acts.Act) -> bool:
    """The request asked for a verdict."""
    return job.brief.verdict


def no_verdict_asked(job: Job, act: acts.Act) -> bool:
    """The request asked for none."""
    return not job.brief.verdict


def offer_binding(job: Job, act: acts.Act) -> bool:
    """The standing counter is a commitment."""
    return isinstance(job.standing, Offer) and job.standing.binding


def need_named(job: Job, act: acts.Act) -> bool:
    """The standing deferral or block names a need."""
    return isinstance(job.standing, Wait) and job.standing.need is not None


def parent_ended(job: Job, act: acts.Act) -> bool:
    """The parent job ended."""
    return isinstance(act, acts.Lapse) and act.cause is Cause.PARENT


def work_ran_out(job: Job, act: acts.Act) -> bool:
    """Completion, lease, stall or budget fell due."""
    return isinstance(act, acts.Lapse) and act.cause in (Cause.COMPLETION, Cause.LEASE, Cause.STALL, Cause.BUDGET)


def wait_ran_out(job: Job, act: acts.Act) -> bool:
    """The stage's own deadline fell due: respond, until, answer, review, approval, verdict or stop."""
    return not parent_ended(job, act) and not work_ran_out(job, act)
