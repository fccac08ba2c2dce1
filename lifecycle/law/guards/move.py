"""What a demand is given, and what it answers with.

A demand is a plain function that asks one thing of a move and returns a `Fault`, or none; its signature tells of which acts. Here
lives what all of them share.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from attrs import define, frozen

from lifecycle.law import acts
from lifecycle.law.capability import Requirement
from lifecycle.law.errors import Reason
from lifecycle.law.job import Job, asked, pledged, revised
from lifecycle.law.limits import Limits
from lifecycle.law.terms import Exclusion, Terms
from lifecycle.law.values import Named


@frozen
class Fault:
    """Why a demand is not met, and what would meet it."""

    reason: Reason
    detail: str
    mend: str


@frozen
class World:
    """What the law may know besides the job itself: of its parent, of the job it supersedes, of its children."""

    parent: Job | None = None
    superseded: Job | None = None
    children: int = 0
    """How many jobs were delegated from this one; for a request, from its parent."""
    children_open: tuple[str, ...] = ()


A_co = TypeVar("A_co", bound=acts.Act, covariant=True)


@define(weakref_slot=False)
class Move(Generic[A_co]):
    """An act that somebody wants to make, and everything it is judged by. `job` is None for a request only.

    Made for one judgement and dropped; not frozen, as that would cost a seventh of it.
    """

    job: Job | None
    act: A_co
    by: str
    now: datetime
    world: World
    limits: Limits


Stating: TypeAlias = acts.Request | acts.Revise | acts.Accept | acts.Counter
"""The acts that state terms."""


def stated(job: Job | None, act: Stating) -> Terms | acts.Request | None:
    """The terms that this act states. The likeliest is asked first, as isinstance takes 0.2 us to say no of a pydantic model."""
    if job is None:
        assert isinstance(act, acts.Request)
        return act if act.contract is None else asked(act)
    if isinstance(act, acts.Accept):
        return pledged(job.brief.terms, act)
    if isinstance(act, acts.Revise):
        return revised(job.brief, act)
    assert isinstance(act, acts.Counter)
    return act.terms


def ids(named: Iterable[Named]) -> set[str]:
    """The ids of conditions, exclusions, findings, records."""
    return {each.id for each in named}


def uncovered(have: Iterable[Exclusion], want: Iterable[Exclusion]) -> list[str]:
    """The exclusions wanted that are not there, as they stand, named."""
    held = list(have)
    return [f"exclusion `{exclusion.id}`" for exclusion in want if exclusion not in held]


def unentailed(have: Iterable[Requirement], want: Iterable[Requirement]) -> list[str]:
    """The invariants wanted that are not there, as wide or wider, whatever the evidence in hand, named."""
    held = {requirement.id: requirement for requirement in have}
    return [f"invariant `{one.id}`" for one in want if one.id not in held or not held[one.id].implies(one)]


def imposed(job: Job) -> tuple[list[Exclusion], list[Requirement]]:
    """What the job's parent imposed on it when it was requested."""
    line, terms = job.brief.lineage, job.brief.terms
    return (
        [exclusion for exclusion in terms.exclusions if exclusion.id in line.exclusions],
        [requirement for requirement in terms.requirements if requirement.id in line.requirements],
    )
