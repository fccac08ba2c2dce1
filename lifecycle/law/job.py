"""A job: the facts that the entries so far tell, and how the next entry is learnt.

`learn` is the only way a job comes about: a job *is* the fold of its entries. It believes every entry and refuses none; whether
an act may become an entry is asked in `table` and `decide`. A fact that no rule and no reader needs is not kept.
"""

from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar, cast

from attrs import define, frozen

from lifecycle.law import acts
from lifecycle.law.capability import Advertisement, Requirement
from lifecycle.law.contract import Contract
from lifecycle.law.log import Lineage
from lifecycle.law.states import (
    ENDED,
    OPEN,
    PAUSED,
    RUNNING,
    Cause,
    Ending,
    Stage,
    State,
    Status,
    Work,
)
from lifecycle.law.terms import Intervals, Need, Requirements, Spent, Terms
from lifecycle.law.tools import ProposedCall

NOTHING = timedelta(0)

_T = TypeVar("_T")


@frozen
class Parties:
    """Who is who. Owners are those the contract names: they may answer a need, and read."""

    requester: str
    worker: str
    reviewer: str
    verifier: str
    approver: str
    authorities: tuple[str, ...]
    owners: frozenset[str] = frozenset()

    def __contains__(self, party: object) -> bool:
        return (
            party in (self.requester, self.worker, self.reviewer, self.verifier, self.approver)
            or party in self.authorities
            or party in self.owners
        )


@frozen
class Brief:
    """The request or revision in force."""

    id: str
    """The act that made it, which an answer must name."""
    goal: str
    parties: Parties
    terms: Terms
    contract: Contract | None
    review: bool
    rules: str | None
    verdict: bool
    intervals: Intervals
    respond_by: datetime | None
    parent: str | None
    lineage: Lineage
    supersedes: str | None
    requested_at: datetime


@frozen
class Pledge:
    """An acceptance, or an offer adopted: what stands behind it besides the terms."""

    id: str
    advertisement: Advertisement | None
    estimate: acts.Estimate | None
    alongside: bool


@frozen
class Offer:
    """A counter that has not been adopted."""

    id: str
    terms: Terms
    concern: str
    binding: bool
    advertisement: Advertisement | None


@frozen
class Wait:
    """A deferral or a block: the need it names, if any, and until when (a deferral's promise)."""

    id: str
    need: Need | None
    until: datetime | None


@frozen
class Proposal:
    """A set of calls that waits for the approver."""

    id: str
    calls: tuple[ProposedCall, ...]
    expires_at: datetime


@frozen
class Delivery:
    """What was handed over."""

    id: str
    artifacts: tuple[acts.Artifact, ...]
    report: acts.Report | None


Standing: TypeAlias = Offer | Pledge | Wait | Proposal | Delivery
"""What stands and waits for an answer."""


@frozen
class Tally:
    """How often each bounded move was made, and what became of the sets that were proposed."""

    revisions: int = 0
    deferrals: int = 0
    vetoes: int = 0
    reworks: int = 0
    counters: int = 0
    blocks: int = 0
    proposals: int = 0
    sets: tuple[tuple[str, str], ...] = ()
    """Each closed set and what became of it: decided, or expired."""


@frozen
class Pause:
    """An open job that waits: for which decision, from whom, since when."""

    decision: str
    owed_by: str
    since: datetime


@frozen
class Termination:
    """Why a job stopped, kept apart from what came of it. Once written, it never changes."""

    reason: Ending
    status: Status
    at: datetime
    cause: Cause | None = None
    owed_by: str | None = None

    def __str__(self) -> str:
        return f"{self.reason} / {self.status}"


@define(weakref_slot=False)
class Draft:
    """A job while its next entry is being learnt; `Job` is the same, frozen. Times are aware and in UTC.

    Filling a draft and then closing it takes a quarter of the time that attrs needs to fill a frozen value of this size.
    """

    id: str
    law: int
    seq: int
    stage: Stage
    at: datetime
    """When the last entry was made; the next is never earlier."""
    entered_at: datetime
    """When this stage was entered."""
    brief: Brief
    terms: Terms
    """The terms in force."""
    complete_by: datetime
    """The terms' completion, moved by the time spent under review and delivered."""
    heard_at: datetime
    """When the worker's turn or its last act began: its lease runs from here, or from a later renewal."""
    pointed: timedelta
    """How much of the worker's time had run when it last pointed at something: stall runs from here."""
    ran: timedelta
    """How much of the worker's time had run when this stage was entered."""
    spent: Spent | None
    standing: Standing | None
    """What stands and waits for an answer; after the delivery, the delivery."""
    pledge: Pledge | None
    tally: Tally
    work: Work | None
    """The condition of the work, once it was told; unknown if it never was."""
    termination: Termination | None

    def close(self) -> "Job":
        """This very draft as a job: nothing changes it any more."""
        self.__class__ = Job
        return cast(Job, self)


@frozen(weakref_slot=False)
class Job(Draft):
    """All that is known of a job after entry `seq`."""

    @property
    def state(self) -> State:
        """One of the nine words."""
        return self.stage.state

    @property
    def parties(self) -> Parties:
        """Who is who."""
        return self.brief.parties

    @property
    def open(self) -> bool:
        """Whether it may still come to something."""
        return self.stage in OPEN

    @property
    def ended(self) -> bool:
        """Whether it has a termination."""
        return self.stage in ENDED

    @property
    def over_budget(self) -> bool:
        """Whether more was spent than the terms in force allow."""
        return self.spent is not None and self.terms.budget is not None and self.terms.budget.exceeded_by(self.spent)

    @property
    def pause(self) -> Pause | None:
        """What the job waits for and who owes it; None while nobody owes a decision."""
        return _pause(self) if self.stage in PAUSED else None

    @property
    def offer(self) -> Offer | None:
        """The counter that waits for the requester's answer; None where none does."""
        return self.standing if isinstance(self.standing, Offer) else None

    @property
    def delivery(self) -> Delivery | None:
        """What was delivered last, in any stage of result."""
        return self.standing if isinstance(self.standing, Delivery) else None


def worked(job: Job, now: datetime) -> timedelta:
    """How much of the worker's own time has run: ready and working count, waiting for others does not."""
    return job.ran + (now - job.entered_at) if job.stage in RUNNING else job.ran


def _pause(job: Job) -> Pause:
    parties, since = job.parties, job.entered_at
    match job.stage, job.standing:
        case ((Stage.DEFERRED | Stage.BLOCKED), Wait(need=Need(what, whom))):
            return Pause(what, whom, since)
        case Stage.DEFERRED, _:
            return Pause("the answer it promised", parties.worker, since)
        case ((Stage.COUNTERED | Stage.RENEGOTIATING), _):
            return Pause("an answer to the counter", parties.requester, since)
        case Stage.UNDER_REVIEW, _:
            return Pause("a review of the acceptance", parties.reviewer, since)
        case Stage.AWAITING_APPROVAL, _:
            return Pause("approval of the proposed calls", parties.approver, since)
        case _:
            return Pause("a verdict on the delivery", parties.verifier, since)


def asked(act: acts.Request) -> Terms:
    """The terms a request asks for: the contract's or its own conditions, with what else it carries."""
    if act.contract is None:
        return Terms(act.conditions, act.exclusions, act.requirements, act.constraints, act.budget, act.complete_by)
    base = act.contract.terms
    return Terms(
        base.conditions,
        base.exclusions + act.exclusions,
        act.requirements,
        base.constraints + act.constraints,
        act.budget or base.budget,
        act.complete_by,
    )


def revised(brief: Brief, act: acts.Revise) -> Terms:
    """The terms after a revision: what it does not name stays. A contract's own exclusions and constraints come and go with it.

    Conditions take the place of a contract, whose exclusions and constraints then stay as the request's own.
    """
    old, rules = brief.terms, act.contract or (brief.contract if act.conditions is None else None)
    base, was = (rules.terms if rules else Terms()), (brief.contract.terms if rules and brief.contract else Terms())

    def joined(
        theirs: tuple[_T, ...], before: tuple[_T, ...], kept: tuple[_T, ...], given: tuple[_T, ...] | None
    ) -> tuple[_T, ...]:
        own = given if given is not None else [one for one in kept if one not in before]
        return theirs + tuple([one for one in own if one not in theirs])

    conditions = base.conditions if rules else old.conditions
    return Terms(
        conditions if act.conditions is None else act.conditions,
        joined(base.exclusions, was.exclusions, old.exclusions, act.exclusions),
        old.requirements if act.requirements is None else act.requirements,
        joined(base.constraints, was.constraints, old.constraints, act.constraints),
        act.budget or (act.contract.budget if act.contract else None) or old.budget,
        act.complete_by or old.complete_by,
    )


def pledged(asked: Terms, act: acts.Accept) -> Terms:
    """The terms an acceptance states: the request's, with what it adds."""
    if act.conditions is None and act.exclusions is None and act.requirements is None:
        return asked
    return Terms(
        asked.conditions if act.conditions is None else act.conditions,
        asked.exclusions if act.exclusions is None else act.exclusions,
        asked.requirements if act.requirements is None else evidenced(act.requirements, asked),
        asked.constraints,
        asked.budget,
        asked.complete_by,
    )


def evidenced(stated: Requirements, asked: Terms) -> Requirements:
    """The invariants a worker states, each with the evidence that the requester has in hand for it, and no other."""
    in_hand = {requirement.id: requirement for requirement in asked.requirements}
    return tuple(
        in_hand[one.id]
        if one.id in in_hand and in_hand[one.id].asks == one.asks
        else Requirement(one.id, one.invariant, one.value, one.upto, one.irreversible)
        for one in stated
    )
