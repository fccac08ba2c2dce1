"""How the next entry is learnt. It believes every entry and refuses none.

A job is the fold of its entries: `learn` is the only way one comes about. What every entry teaches stands in `learn`; what one
act alone teaches, in its lesson. Lessons are found by the act's type in a dict, as a `match` over pydantic models costs 0.2 us
for every case that it passes. Whether an act may become an entry is asked in `table` and `decide`.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict

from attrs import evolve

from lifecycle.law import acts, limits
from lifecycle.law.errors import CorruptLog
from lifecycle.law.job import (
    NOTHING,
    Brief,
    Delivery,
    Job,
    Offer,
    Parties,
    Pledge,
    Proposal,
    Standing,
    Tally,
    Termination,
    Wait,
    asked,
    pledged,
    revised,
    worked,
)
from lifecycle.law.log import Entry, Lineage
from lifecycle.law.states import BOUND, ENDED, RUNNING, Cause, Ending, Stage, Status, Work
from lifecycle.law.terms import Spent, Terms

ENDINGS = {
    Cause.PARENT: Ending.PARENT_CLOSED,
    Cause.LEASE: Ending.ABANDONED,
    Cause.STALL: Ending.PROGRESS_STALLED,
    Cause.BUDGET: Ending.BUDGET_EXHAUSTED,
    Cause.VERDICT: Ending.DELIVERED,
}
"""The reason that a lapsed deadline gives; any other cause gives expired."""


class Facts(TypedDict, total=False):
    """What one act teaches besides the stage and the times."""

    brief: Brief
    terms: Terms
    complete_by: datetime
    pointed: timedelta
    standing: Standing
    pledge: Pledge | None
    tally: Tally
    work: Work


def learn(job: Job | None, entry: Entry) -> Job:
    """The job after one more entry."""
    if job is None:
        return _born(entry)
    act, at, stage, origin = entry.act, entry.at, entry.stage, job.stage
    entered_at, ran, heard_at, complete_by, spent = job.entered_at, job.ran, job.heard_at, job.complete_by, job.spent
    if stage is not origin:
        ran = worked(job, at)
        if origin is Stage.UNDER_REVIEW or origin is Stage.DELIVERED:
            complete_by += at - entered_at
        if stage in RUNNING and origin not in RUNNING:
            heard_at = at
        entered_at = at
    if entry.by == job.brief.parties.worker:
        heard_at = at
        told: Spent | None = getattr(act, "spent", None)
        spent = told or spent
    lesson = LESSONS.get(type(act))
    facts: Facts = lesson(job, entry, act) if lesson else {}
    termination = job.termination
    if termination is None and stage in ENDED:
        termination = _termination(job, entry)
    return Job(
        job.id, job.law, entry.seq, stage, at, entered_at, facts.get("brief", job.brief), facts.get("terms", job.terms),
        facts.get("complete_by", complete_by), heard_at, facts.get("pointed", job.pointed), ran, spent,
        facts.get("standing", job.standing), facts.get("pledge", job.pledge), facts.get("tally", job.tally),
        facts.get("work", job.work), termination,
    )  # fmt: skip


def _progress(job: Job, entry: Entry, act: acts.Progress) -> Facts:
    return {"pointed": worked(job, entry.at)} if act.points_at else {}


def _accept(job: Job, entry: Entry, act: acts.Accept) -> Facts:
    terms = pledged(job.brief.terms, act)
    pledge = Pledge(entry.id, act.advertisement, act.estimate, act.alongside)
    return {
        "terms": terms,
        "complete_by": _complete_by(job.brief, terms),
        "pledge": pledge,
        "standing": pledge,
        "pointed": worked(job, entry.at),
    }


def _deliver(job: Job, entry: Entry, act: acts.Deliver) -> Facts:
    facts: Facts = {"standing": Delivery(entry.id, act.artifacts, act.report)}
    if act.artifacts or act.value is not None or act.report is not None:
        facts["pointed"] = worked(job, entry.at)
    return facts


def _block(job: Job, entry: Entry, act: acts.Block) -> Facts:
    return {"standing": Wait(entry.id, act.need, None), "tally": evolve(job.tally, blocks=job.tally.blocks + 1)}


def _propose(job: Job, entry: Entry, act: acts.Propose) -> Facts:
    proposal = Proposal(entry.id, act.calls, act.expires_at or entry.at + limits.APPROVAL)
    return {"standing": proposal, "tally": evolve(job.tally, proposals=job.tally.proposals + 1)}


def _decide(job: Job, entry: Entry, act: acts.Decide) -> Facts:
    return {"tally": _closed_set(job, "decided")}


def _counter(job: Job, entry: Entry, act: acts.Counter) -> Facts:
    offer = Offer(entry.id, act.terms or Terms(), act.concern, act.binding, act.advertisement)
    bound = job.stage in BOUND
    return {"standing": offer, "tally": evolve(job.tally, counters=job.tally.counters + bound)}


def _adopt(job: Job, entry: Entry, act: acts.Adopt) -> Facts:
    offer, pledge = job.standing, job.pledge
    assert isinstance(offer, Offer)
    held = offer.advertisement or (pledge.advertisement if pledge else None)
    taken = Pledge(entry.id, held, None, pledge.alongside if pledge else False)
    return {
        "terms": offer.terms,
        "complete_by": _complete_by(job.brief, offer.terms),
        "pledge": taken,
        "standing": taken,
        "pointed": job.ran if job.stage is Stage.COUNTERED else job.pointed,
    }


def _defer(job: Job, entry: Entry, act: acts.Defer) -> Facts:
    wait = Wait(entry.id, act.need, act.until)
    return {"standing": wait, "tally": evolve(job.tally, deferrals=job.tally.deferrals + 1)}


def _revise(job: Job, entry: Entry, act: acts.Revise) -> Facts:
    terms = revised(job.brief.terms, act)
    brief = evolve(
        job.brief,
        id=entry.id,
        goal=act.goal or job.brief.goal,
        terms=terms,
        contract=act.contract or (None if act.conditions is not None else job.brief.contract),
        intervals=act.intervals or job.brief.intervals,
    )
    return {
        "brief": brief,
        "terms": terms,
        "complete_by": _complete_by(brief, terms),
        "tally": evolve(job.tally, revisions=job.tally.revisions + 1),
    }


def _veto(job: Job, entry: Entry, act: acts.Veto) -> Facts:
    return {"terms": job.brief.terms, "pledge": None, "tally": evolve(job.tally, vetoes=job.tally.vetoes + 1)}


def _rework(job: Job, entry: Entry, act: acts.Rework) -> Facts:
    return {"tally": evolve(job.tally, reworks=job.tally.reworks + 1)}


def _told_work(job: Job, entry: Entry, act: acts.Fail | acts.Halt) -> Facts:
    return {"work": act.work}


def _lapse(job: Job, entry: Entry, act: acts.Lapse) -> Facts:
    if act.cause is Cause.APPROVAL:
        return {"tally": _closed_set(job, "expired")}
    if entry.stage is Stage.ERROR or act.cause is Cause.STOP:
        return {"work": Work.UNKNOWN}
    return {}


LESSONS: Mapping[type[acts.Act], Callable[[Job, Entry, Any], Facts]] = {
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
    """What a rejected result came to: failed if a check failed, a condition is not met or an exclusion broken."""
    report = job.delivery.report if job.delivery else None
    told = [f.status for f in report.conditions] + [o.status for o in report.exclusions] if report else []
    found = {record.status for record in act.checks}
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
        act.contract.parties if act.contract else frozenset(),
    )
    brief = Brief(
        entry.id, act.goal, parties, terms, act.contract, act.review, act.rules,
        bool(terms.conditions) if act.verdict is None else act.verdict, act.intervals, act.respond_by, act.parent,
        entry.lineage or Lineage(entry.job, 0, (), ()), act.supersedes, entry.at,
    )  # fmt: skip
    return Job(
        entry.job, entry.law, entry.seq, entry.stage, entry.at, entry.at, brief, terms, _complete_by(brief, terms), entry.at,
        NOTHING, NOTHING, None, None, None, Tally(), None, None,
    )  # fmt: skip


def _complete_by(brief: Brief, terms: Terms) -> datetime:
    return terms.complete_by or brief.requested_at + limits.COMPLETE


def _termination(job: Job, entry: Entry) -> Termination:
    match entry.act:
        case acts.Lapse() as act:
            reason = ENDINGS.get(act.cause, Ending.EXPIRED)
            status = Status.UNRESOLVED if reason is Ending.DELIVERED else Status.NONE
            return Termination(reason, status, entry.at, act.cause, owed_by(job, act.cause))
        case acts.Fail() | acts.Cancel() as act:
            return Termination(Ending(act.reason), Status.NONE, entry.at)
        case acts.Reject() as act:
            return Termination(Ending.REJECTED, rejected_as(job, act), entry.at)
        case acts.Confirm():
            return Termination(Ending.ACCEPTED, Status.PASSED, entry.at)
        case acts.Deliver():
            return Termination(Ending.DELIVERED, Status.UNRESOLVED, entry.at)
        case _:
            return Termination(Ending.DECLINED, Status.NONE, entry.at)


def owed_by(job: Job, cause: Cause) -> str | None:
    """Whose silence it was: whoever owed the decision the job waited for, else its worker; nobody's, when a parent ended."""
    if cause is Cause.PARENT:
        return None
    return job.pause.owed_by if job.pause else job.parties.worker
