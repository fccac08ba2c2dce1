"""What requests, counters and acceptances are held to: the demands on everything before the work."""

from datetime import datetime

from lifecycle.law import acts
from lifecycle.law.capability import Advertisement, ground
from lifecycle.law.deadlines import respond_by
from lifecycle.law.errors import Reason
from lifecycle.law.guards.choices import offer_binding
from lifecycle.law.guards.move import Fault, Move, Stating, ids, imposed, stated, uncovered, unentailed
from lifecycle.law.job import Offer, asked, pledged, revised
from lifecycle.law.states import BOUND
from lifecycle.law.terms import Requirements
from lifecycle.law.values import instant


def judged_by_others(move: Move[acts.Request]) -> Fault | None:
    """Nobody reviews, verifies, approves or waives their own work."""
    act, worker = move.act, move.act.worker
    judges = {"reviewer": act.reviewer, "verifier": act.verifier, "approver": act.approver}
    roles = [role for role, party in judges.items() if (party or move.by) == worker]
    if worker in (act.authorities or (move.by,)):
        roles.append("authority")
    if roles:
        return Fault(Reason.SELF_JUDGED, f"the {roles[0]} is the worker `{worker}`", f"name another {roles[0]}")
    return None


def acceptance_listed(move: Move[acts.Request | acts.Revise]) -> Fault | None:
    """A contract on which a verdict is asked lists what is accepted."""
    act = move.act
    wants = act.verdict if isinstance(act, acts.Request) else move.job is not None and move.job.brief.verdict
    if act.contract is not None and wants and not act.contract.acceptance:
        return Fault(Reason.EMPTY_ACCEPTANCE, f"contract `{act.contract.id}` accepts nothing", "add a condition")
    return None


def ids_told_apart(move: Move[Stating]) -> Fault | None:
    """No two of the terms and invariants share an id: whoever reports, records or waives names one of them only."""
    act, job = move.act, move.job
    terms, contract = stated(job, act), getattr(act, "contract", None)
    if terms is None:
        return None
    if contract is None and job is not None and not (isinstance(act, acts.Revise) and act.conditions is not None):
        contract = job.brief.contract
    named = (*terms.conditions, *terms.exclusions, *terms.requirements, *(contract.invariants if contract else ()))
    if len(named) > 1 and len(ids(named)) < len(named):
        twice = next(id for place, id in enumerate(one.id for one in named) if id in ids(named[:place]))
        return Fault(Reason.DUPLICATE_ID, f"id `{twice}` stands twice in the terms", "give each its own")
    return None


def parent_active(move: Move[acts.Request]) -> Fault | None:
    """A parent is accepted or progressing, and only its worker delegates from it."""
    act, parent = move.act, move.world.parent
    if act.parent is None:
        return None
    if parent is None or parent.stage not in BOUND:
        stands = f"`{parent.stage}`" if parent else "nowhere"
        return Fault(Reason.PARENT_NOT_ACTIVE, f"parent `{act.parent}` stands in {stands}", "delegate from an accepted job")
    if move.by != parent.parties.worker:
        return Fault(Reason.NOT_PARENTS_WORKER, f"`{move.by}` is not the worker of `{parent.id}`", "let its worker delegate")
    return None


def parents_terms_kept(move: Move[acts.Act]) -> Fault | None:
    """What the parent job imposes, every job below it carries."""
    act, job, parent = move.act, move.job, move.world.parent
    if isinstance(act, acts.Request):
        if parent is None:
            return None
        terms, exclusions, requirements = asked(act), list(parent.terms.exclusions), list(parent.terms.requirements)
    else:
        assert isinstance(act, acts.Revise) and job is not None
        terms = revised(job.brief, act)
        exclusions, requirements = imposed(job)
    missing = uncovered(terms.exclusions, exclusions) + unentailed(terms.requirements, requirements)
    if missing:
        return Fault(Reason.PARENT_TERMS, f"the parent's {', '.join(missing)} are missing", "carry them, as they stand there")
    return None


def superseded_ended(move: Move[acts.Request]) -> Fault | None:
    """Only an ended job of the same requester is superseded."""
    act, old = move.act, move.world.superseded
    if act.supersedes is None or (old is not None and old.ended and old.parties.requester == move.by):
        return None
    return Fault(Reason.NOT_ENDED, f"`{act.supersedes}` is no ended job of `{move.by}`", "cancel it first, or leave it out")


def covers_request(move: Move[acts.Accept]) -> Fault | None:
    """An acceptance states no less than was asked: every condition as it stands, every exclusion, every invariant."""
    act, job = move.act, move.job
    assert job is not None
    want, have = job.brief.terms, pledged(job.brief.terms, act)
    if have is want:
        return None
    by_id = {condition.id: condition for condition in have.conditions}
    missing = [f"condition `{c.id}`" for c in want.conditions if by_id.get(c.id) != c]
    missing += uncovered(have.exclusions, want.exclusions) + unentailed(have.requirements, want.requirements)
    if missing:
        return Fault(Reason.WEAKER_TERMS, f"{', '.join(missing)} missing or changed", "state them as asked, or counter instead")
    return None


def checks_requesters(move: Move[acts.Accept]) -> Fault | None:
    """A check that decides by itself is the requester's: a worker's own stays text until the requester adopts it."""
    act, job = move.act, move.job
    assert job is not None
    if not act.conditions:
        return None
    known = ids(job.brief.terms.conditions)
    own = [f"`{c.id}`" for c in act.conditions if c.typed and c.id not in known]
    if own:
        return Fault(Reason.FOREIGN_CHECK, f"the worker's own check on {', '.join(own)}", "give it as text, or counter with it")
    return None


def grounded(move: Move[acts.Act]) -> Fault | None:
    """Every invariant that will be in force is entailed, proven or guarded."""
    act, job = move.act, move.job
    assert job is not None
    if isinstance(act, acts.Accept):
        terms, advertisement = pledged(job.brief.terms, act), act.advertisement
    else:
        assert isinstance(job.standing, Offer)
        terms = job.standing.terms
        advertisement = job.standing.advertisement or (job.pledge.advertisement if job.pledge else None)
    return _grounded(terms.requirements, advertisement, move.now)


def _grounded(requirements: Requirements, advertisement: Advertisement | None, now: datetime) -> Fault | None:
    if not requirements:
        return None
    wanting = [g for g in [ground(requirement, advertisement, now) for requirement in requirements] if not g.grounded]
    if wanting:
        told = "; ".join(f"`{g.requirement}`: {g.why}" for g in wanting)
        return Fault(Reason.UNGROUNDED, told, "; ".join(f"{g.fix} `{g.requirement}`" for g in wanting))
    return None


def terms_given(move: Move[acts.Counter]) -> Fault | None:
    """A counter offers terms; without them it is a question."""
    act = move.act
    if act.terms is None:
        mend = "offer whole terms; ask by deferring with a need or, once at work, by blocking"
        return Fault(Reason.NO_TERMS, "a counter without terms is a question", mend)
    return None


def counter_binding(move: Move[acts.Counter]) -> Fault | None:
    """Once at work, a counter is a commitment."""
    act, job = move.act, move.job
    assert job is not None
    if job.stage in BOUND and not act.binding:
        return Fault(Reason.NOT_BINDING, "a counter once at work is a commitment", "send it with binding=true")
    return None


def counter_keeps_parents(move: Move[acts.Counter]) -> Fault | None:
    """Even a counter keeps what a parent job imposes."""
    act, job = move.act, move.job
    assert job is not None
    if act.terms is None:
        return None
    exclusions, requirements = imposed(job)
    missing = uncovered(act.terms.exclusions, exclusions) + unentailed(act.terms.requirements, requirements)
    if missing:
        return Fault(Reason.WEAKER_TERMS, f"the parent's {', '.join(missing)} are missing", "carry them, as they stand there")
    return None


def offer_is_binding(move: Move[acts.Act]) -> Fault | None:
    """Only a commitment can be adopted."""
    if move.job is not None and offer_binding(move.job, move.act):
        return None
    return Fault(Reason.NOT_BINDING, "the counter was no commitment", "revise the request to what it offers")


def until_in_range(move: Move[acts.Defer]) -> Fault | None:
    """A deferral promises its answer in the future, and not past the reply's deadline plus the limit."""
    act, job = move.act, move.job
    assert job is not None
    now, latest = max(move.now, job.at), respond_by(job) + move.limits.deferral
    if now < act.until <= latest:
        return None
    detail = f"until {instant(act.until)} is not after {instant(now)} and by {instant(latest)}"
    return Fault(Reason.UNTIL_OUT_OF_RANGE, detail, "promise an answer in between, or decline")


def need_or_search(move: Move[acts.Defer]) -> Fault | None:
    """A deferral says what it will look into, or what it needs to know and from whom."""
    act = move.act
    if act.looking_into is None and act.need is None:
        return Fault(Reason.NO_NEED, "a deferral for nothing", "say what you will look into, or what you need and from whom")
    return None
