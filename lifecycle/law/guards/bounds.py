"""Every bound, each with a refusal of its own.

A bound counts the mover and never the judge, and an act that ends a job is always heard. The numbers are in `limits`.
"""

from lifecycle.law import acts
from lifecycle.law.errors import Reason
from lifecycle.law.guards.move import Fault, Move, Stating, stated
from lifecycle.law.job import Tally
from lifecycle.law.states import BOUND


def few_conditions(move: Move[Stating]) -> Fault | None:
    """Terms hold a bounded number of conditions, exclusions and requirements."""
    terms, limit = stated(move.job, move.act), move.limits.conditions
    if terms is None or max(len(terms.conditions), len(terms.exclusions), len(terms.requirements)) <= limit:
        return None
    return Fault(Reason.TOO_MANY_CONDITIONS, f"{limit} conditions are the limit", "split the job")


def few_revisions(move: Move[acts.Act]) -> Fault | None:
    """A negotiation ends."""
    return _above(_tally(move).revisions, move.limits.revisions, Reason.TOO_MANY_REVISIONS, "revisions", "adopt, or cancel")


def few_deferrals(move: Move[acts.Act]) -> Fault | None:
    """A promise to answer is not renewed for ever."""
    return _above(_tally(move).deferrals, move.limits.deferrals, Reason.TOO_MANY_DEFERRALS, "deferrals", "answer it")


def few_restated(move: Move[acts.Act]) -> Fault | None:
    """Vetoed terms are not restated for ever, by the worker or by adopting its offers. The reviewer may always veto."""
    mend = "revise, insist or cancel" if isinstance(move.act, acts.Adopt) else "counter or decline"
    return _above(_tally(move).vetoes - 1, move.limits.vetoes, Reason.TOO_MANY_VETOES, "vetoes", mend)


def few_redelivered(move: Move[acts.Act]) -> Fault | None:
    """A reworked result is not delivered again for ever. The verifier may always ask for rework."""
    return _above(_tally(move).reworks - 1, move.limits.reworks, Reason.TOO_MANY_REWORKS, "reworks", "fail, or counter")


def few_counters(move: Move[acts.Act]) -> Fault | None:
    """Once at work, terms are not reopened for ever."""
    if move.job is None or move.job.stage not in BOUND:
        return None
    return _above(_tally(move).counters, move.limits.counters, Reason.TOO_MANY_COUNTERS, "counters at work", "go on, or fail")


def few_blocks(move: Move[acts.Act]) -> Fault | None:
    """A worker does not ask for ever."""
    return _above(_tally(move).blocks, move.limits.blocks, Reason.TOO_MANY_BLOCKS, "blocks", "go on, or fail")


def few_proposals(move: Move[acts.Act]) -> Fault | None:
    """A job asks for a bounded number of approvals."""
    return _above(_tally(move).proposals, move.limits.proposals, Reason.TOO_MANY_PROPOSALS, "proposals", "deliver, or fail")


def few_calls(move: Move[acts.Propose]) -> Fault | None:
    """A bundle is what a person can still read."""
    act = move.act
    return _above(len(act.calls) - 1, move.limits.calls, Reason.TOO_MANY_CALLS, "calls in one bundle", "propose fewer at once")


def few_entries(move: Move[acts.Act]) -> Fault | None:
    """A log ends."""
    entries = move.job.seq + 1 if move.job else 0
    if entries < move.limits.entries:  # asked of nearly every act: the short way out
        return None
    return _above(entries, move.limits.entries, Reason.TOO_MANY_ENTRIES, "entries", "deliver, fail or cancel")


def tree_shallow(move: Move[acts.Act]) -> Fault | None:
    """A delegation tree is not deep."""
    parent = move.world.parent
    depth = parent.brief.lineage.depth + 1 if parent else 0
    return _above(depth - 1, move.limits.depth, Reason.TREE_TOO_DEEP, "levels below the root", "do it here, or decline")


def tree_narrow(move: Move[acts.Act]) -> Fault | None:
    """A job is not split into very many."""
    children = move.world.children if move.world.parent else -1
    return _above(children, move.limits.breadth, Reason.TREE_TOO_BROAD, "children of one job", "delegate larger parts")


def _tally(move: Move[acts.Act]) -> Tally:
    return move.job.tally if move.job else Tally()


def _above(count: int, limit: int, reason: Reason, what: str, mend: str) -> Fault | None:
    return Fault(reason, f"{limit} {what} are the limit", mend) if count >= limit else None
