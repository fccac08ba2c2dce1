"""How the next entry is learnt. It believes every entry and refuses none.

A job is the fold of its entries: `learn` is the only way one comes about. What every entry teaches stands in `learn`; what one
act alone teaches, in its lesson. Lessons are found by the act's type in a dict, as a `match` over pydantic models costs 0.2 us
for every case that it passes. Whether an act may become an entry is asked in `table` and `decide`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Never

from attrs import evolve

from lifecycle.law import acts, limits
from lifecycle.law.errors import CorruptLog
from lifecycle.law.guards.judging import standing_status
from lifecycle.law.job import (
    NOTHING,
    Brief,
    Delivery,
    Draft,
    Job,
    Offer,
    Parties,
    Pledge,
    Proposal,
    Tally,
    Termination,
    Wait,
    asked,
    evidenced,
    pledged,
    revised,
    worked,
)
from lifecycle.law.log import Entry, Lineage
from lifecycle.law.states import BOUND, ENDED, RUNNING, Cause, Ending, Stage, Status, Work
from lifecycle.law.terms import Terms

ENDINGS = {
    Cause.PARENT: Ending.PARENT_CLOSED,
    Cause.LEASE: Ending.ABANDONED,
    Cause.STALL: Ending.PROGRESS_STALLED,
    Cause.BUDGET: Ending.BUDGET_EXHAUSTED,
    Cause.VERDICT: Ending.DELIVERED,
}
"""The reason that a lapsed deadline gives; any other cause gives expired."""


def learn(job: Job | None, entry: Entry) -> Job:
    """The job after one more entry."""
    if job is None:
        return _born(entry)
    act, at, stage, origin = entry.act, entry.at, entry.stage, job.stage
    draft = Draft(
        job.id, job.law, entry.seq, stage, at, job.entered_at, job.brief, job.terms, job.complete_by, job.heard_at, job.pointed,
        job.ran, job.spent, job.standing, job.pledge, job.tally, job.work, job.termination,
    )  # fmt: skip
    if stage is not origin:
        draft.ran, draft.entered_at = worked(job, at), at
        if origin is _UNDER_REVIEW or origin is _DELIVERED:
            draft.complete_by += at - job.entered_at
        if stage in RUNNING and origin not in RUNNING:
            draft.heard_at = at
        if stage in ENDED and job.termination is None:
            draft.termination = _ENDED_BY.get(type(act), _declined)(job, at, act)  # type: ignore[arg-type]
    if entry.by == job.brief.parties.worker:
        draft.heard_at = at
        draft.spent = getattr(act, "spent", None) or job.spent
    lesson = LESSONS.get(type(act))
    if lesson is not None:
        lesson(draft, job, entry, act)  # type: ignore[arg-type]  # the lesson of an act's type takes that type
    return draft.close()


def _progress(draft: Draft, job: Job, entry: Entry, act: acts.Progress) -> None:
    if act.points_at:
        draft.pointed = worked(job, entry.at)


def _accept(draft: Draft, job: Job, entry: Entry, act: acts.Accept) -> None:
    draft.terms = pledged(job.brief.terms, act)
    draft.standing = draft.pledge = Pledge(entry.id, act.advertisement, act.estimate, act.alongside)
    draft.pointed = draft.ran


def _deliver(draft: Draft, job: Job, entry: Entry, act: acts.Deliver) -> None:
    draft.standing = Delivery(entry.id, act.artifacts, act.report)
    if act.artifacts or act.value is not None or act.report is not None:
        draft.pointed = draft.ran


def _block(draft: Draft, job: Job, entry: Entry, act: acts.Block) -> None:
    draft.standing = Wait(entry.id, act.need, None)
    draft.tally = evolve(job.tally, blocks=job.tally.blocks + 1)


def _propose(draft: Draft, job: Job, entry: Entry, act: acts.Propose) -> None:
    draft.standing = Proposal(entry.id, act.calls, act.expires_at or entry.at + limits.APPROVAL)
    draft.tally = evolve(job.tally, proposals=job.tally.proposals + 1)


def _decide(draft: Draft, job: Job, entry: Entry, act: acts.Decide) -> None:
    draft.tally = _closed_set(job, "decided")


def _counter(draft: Draft, job: Job, entry: Entry, act: acts.Counter) -> None:
    terms = act.terms or Terms()
    if terms.requirements:
        terms = replace(terms, requirements=evidenced(terms.requirements, job.brief.terms))
    draft.standing = Offer(entry.id, terms, act.concern, act.binding, act.advertisement)
    draft.tally = evolve(job.tally, counters=job.tally.counters + (job.stage in BOUND))


def _adopt(draft: Draft, job: Job, entry: Entry, act: acts.Adopt) -> None:
    offer, pledge = job.standing, job.pledge
    assert isinstance(offer, Offer)
    draft.terms, draft.complete_by = offer.terms, _complete_by(job.brief, offer.terms)
    held = offer.advertisement or (pledge.advertisement if pledge else None)
    draft.standing = draft.pledge = Pledge(entry.id, held, None, pledge.alongside if pledge else False)
    if job.stage is Stage.COUNTERED:
        draft.pointed = draft.ran


def _defer(draft: Draft, job: Job, entry: Entry, act: acts.Defer) -> None:
    draft.standing = Wait(entry.id, act.need, act.until)
    draft.tally = evolve(job.tally, deferrals=job.tally.deferrals + 1)


def _revise(draft: Draft, job: Job, entry: Entry, act: acts.Revise) -> None:
    draft.terms = revised(job.brief, act)
    draft.brief = evolve(
        job.brief,
        id=entry.id,
        goal=act.goal or job.brief.goal,
        terms=draft.terms,
        contract=act.contract or (None if act.conditions is not None else job.brief.contract),
        intervals=act.intervals or job.brief.intervals,
    )
    draft.complete_by = _complete_by(draft.brief, draft.terms)
    draft.tally = evolve(job.tally, revisions=job.tally.revisions + 1)


def _veto(draft: Draft, job: Job, entry: Entry, act: acts.Veto) -> None:
    reviewed = draft.complete_by - _complete_by(job.brief, job.terms)
    draft.terms, draft.pledge = job.brief.terms, None
    draft.complete_by = _complete_by(job.brief, draft.terms) + reviewed
    draft.tally = evolve(job.tally, vetoes=job.tally.vetoes + 1)


def _rework(draft: Draft, job: Job, entry: Entry, act: acts.Rework) -> None:
    draft.tally = evolve(job.tally, reworks=job.tally.reworks + 1)


def _told_work(draft: Draft, job: Job, entry: Entry, act: acts.Fail | acts.Halt) -> None:
    draft.work = act.work


def _lapse(draft: Draft, job: Job, entry: Entry, act: acts.Lapse) -> None:
    if act.cause is Cause.APPROVAL:
        draft.tally = _closed_set(job, "expired")
    elif entry.stage is Stage.ERROR or act.cause is Cause.STOP:
        draft.work = Work.UNKNOWN


LESSONS: Mapping[type[acts.Act], Callable[[Draft, Job, Entry, Never], None]] = {
    acts.Progress: _progress,
    acts.Accept: _accept,
    acts.Deliver: _deliver,
    acts.Block: _block,
    acts.Propose: _propose,
    acts.Decide: _decide,
    acts.Counter: _counter,
    acts.Adopt: _adopt,
    acts.Defer: _defer,
    acts.Revise: _revise,
    acts.Veto: _veto,
    acts.Rework: _rework,
    acts.Fail: _told_work,
    acts.Halt: _told_work,
    acts.Lapse: _lapse,
}
"""What each act teaches; one that is not here teaches nothing but its stage and its time."""

_UNDER_REVIEW, _DELIVERED = Stage.UNDER_REVIEW, Stage.DELIVERED
# One for all jobs: an empty set takes 216 bytes.
_UNCOUNTED, _NOBODY = Tally(), frozenset[str]()


def _closed_set(job: Job, how: str) -> Tally:
    return evolve(job.tally, sets=(*job.tally.sets, (job.standing.id, how))) if job.standing else job.tally


def replay(entries: Iterable[Entry], job: Job | None = None) -> Job:
    """The job that these entries tell, from the first on or going on from `job`; CorruptLog names one that does not follow."""
    for entry in entries:
        expected = 0 if job is None else job.seq + 1
        if entry.seq != expected:
            raise CorruptLog(entry.job, entry.seq, f"entry {expected} was expected")
        if job is None and not isinstance(entry.act, acts.Request):
            raise CorruptLog(entry.job, entry.seq, f"a log begins with a request, not with `{entry.act.act}`")
        if entry.origin is not (None if job is None else job.stage):
            raise CorruptLog(entry.job, entry.seq, f"it leaves `{entry.origin}`, where the job is not")
        job = learn(job, entry)
    if job is None:
        raise ValueError("a job has at least one entry, its request")
    return job


def rejected_as(job: Job, act: acts.Reject) -> Status:
    """What a rejected result came to: failed if a check of it failed, a condition is not met or an exclusion broken."""
    report = job.delivery.report if job.delivery else None
    told = [f.status for f in report.conditions] + [o.status for o in report.exclusions] if report else []
    found = {standing_status(job, record) for record in act.checks}
    return Status.FAILED if "failed" in found or "not_met" in told or "broken" in told else Status.UNRESOLVED


def _born(entry: Entry) -> Job:
    act = entry.act
    assert isinstance(act, acts.Request)
    terms = asked(act)
    parties = Parties(
        entry.by,
        act.worker,
        act.reviewer or entry.by,
        act.verifier or entry.by,
        act.approver or entry.by,
        act.authorities or (entry.by,),
        act.contract.parties if act.contract else _NOBODY,
    )
    brief = Brief(
        entry.id, act.goal, parties, terms, act.contract, act.review, act.rules,
        bool(terms.conditions) if act.verdict is None else act.verdict, act.intervals, act.respond_by, act.parent,
        entry.lineage or Lineage(entry.job, 0, (), ()), act.supersedes, entry.at,
    )  # fmt: skip
    return Draft(
        entry.job, entry.law, entry.seq, entry.stage, entry.at, entry.at, brief, terms, _complete_by(brief, terms), entry.at,
        NOTHING, NOTHING, None, None, None, _UNCOUNTED, None, None,
    ).close()  # fmt: skip


def _complete_by(brief: Brief, terms: Terms) -> datetime:
    return terms.complete_by or brief.requested_at + limits.COMPLETE


def _lapsed(job: Job, at: datetime, act: acts.Lapse) -> Termination:
    reason = ENDINGS.get(act.cause, Ending.EXPIRED)
    status = Status.UNRESOLVED if reason is Ending.DELIVERED else Status.NONE
    return Termination(reason, status, at, act.cause, owed_by(job, act.cause))


def _given_up(job: Job, at: datetime, act: acts.Fail | acts.Cancel) -> Termination:
    return Termination(Ending(act.reason), Status.NONE, at)


def _rejected(job: Job, at: datetime, act: acts.Reject) -> Termination:
    return Termination(Ending.REJECTED, rejected_as(job, act), at)


def _confirmed(job: Job, at: datetime, act: acts.Confirm) -> Termination:
    return Termination(Ending.ACCEPTED, Status.PASSED, at)


def _delivered(job: Job, at: datetime, act: acts.Deliver) -> Termination:
    return Termination(Ending.DELIVERED, Status.UNRESOLVED, at)


def _declined(job: Job, at: datetime, act: acts.Act) -> Termination:
    return Termination(Ending.DECLINED, Status.NONE, at)


_ENDED_BY: Mapping[type[acts.Act], Callable[[Job, datetime, Never], Termination]] = {
    acts.Lapse: _lapsed,
    acts.Fail: _given_up,
    acts.Cancel: _given_up,
    acts.Reject: _rejected,
    acts.Confirm: _confirmed,
    acts.Deliver: _delivered,
}


def owed_by(job: Job, cause: Cause) -> str | None:
    """Whose it was: whoever owed the decision the job waited for, else its worker; nobody's, when a parent ended.

    What was spent is the worker's, whoever is waited for.
    """
    if cause is Cause.PARENT:
        return None
    return job.pause.owed_by if job.pause and cause is not Cause.BUDGET else job.parties.worker
