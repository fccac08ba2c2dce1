"""The law of a job, said a second time: plain predicates over the list of what was said so far.

Written from the page that specifies the law, and from nothing else: no table, no guard, no fold and no deadline of
`lifecycle.law` is used here, only its words (acts, terms, stages, reasons). There is no state either. Everything is asked of the
history: "has a counter been adopted since the last request?" `answer` collects *every* reason that speaks against a move and
gives the first in the order of precedence; `test_statement` holds the library against it.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise

from attrs import field, frozen

from lifecycle.law import acts
from lifecycle.law.capability import Advertisement, Requirement
from lifecycle.law.contract import Contract
from lifecycle.law.errors import Reason
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.states import Cause, Ending, Stage, Status, Work
from lifecycle.law.terms import Condition, Exclusion, Intervals, Need, Spent, Terms

remembered = lru_cache(maxsize=1 << 14)
"""A history is asked the same things over and over."""

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
DEFAULTS = Intervals(DAY, 3 * DAY, 3 * DAY, 7 * DAY, HOUR, DAY, 10 * MINUTE)
APPROVAL, COMPLETE = DAY, 30 * DAY

PRECEDENCE = (
    Reason.CLOSED, Reason.ILLEGAL, Reason.ALREADY_DECIDED, Reason.EXPIRED, Reason.UNKNOWN_SET, Reason.NOT_AUTHORISED,
    Reason.STALE_OFFER,
    Reason.SPENT_DECREASED, Reason.SELF_JUDGED, Reason.EMPTY_ACCEPTANCE, Reason.DUPLICATE_ID, Reason.PARENT_NOT_ACTIVE,
    Reason.NOT_PARENTS_WORKER,
    Reason.PARENT_TERMS, Reason.NOT_ENDED, Reason.WEAKER_TERMS, Reason.UNGROUNDED, Reason.FOREIGN_CHECK, Reason.NO_TERMS,
    Reason.NOT_BINDING, Reason.OTHER_RULES, Reason.UNTIL_OUT_OF_RANGE, Reason.NOTHING_TO_POINT_AT, Reason.NO_NEED,
    Reason.UNKNOWN_PARTY, Reason.NOTHING_GATED, Reason.CHILDREN_OPEN, Reason.REPORT_INCOMPLETE, Reason.UNKNOWN_CONDITION,
    Reason.NO_EVIDENCE, Reason.NO_AUTHORITY, Reason.CHECK_NOT_PASSED, Reason.NOT_WAIVED,
    Reason.TOO_MANY_REVISIONS, Reason.TOO_MANY_DEFERRALS, Reason.TOO_MANY_VETOES, Reason.TOO_MANY_REWORKS,
    Reason.TOO_MANY_CONDITIONS, Reason.TOO_MANY_CALLS, Reason.TOO_MANY_COUNTERS, Reason.TOO_MANY_BLOCKS,
    Reason.TOO_MANY_PROPOSALS, Reason.TOO_MANY_ENTRIES, Reason.TREE_TOO_DEEP, Reason.TREE_TOO_BROAD,
)  # fmt: skip
"""Section 10, and for the acts' own laws and the bounds the order of section 5."""

UNBOUND = {Stage.REQUESTED, Stage.DEFERRED, Stage.COUNTERED}
TURN = {Stage.READY, Stage.WORKING}
HELD = {Stage.BLOCKED, Stage.AWAITING_APPROVAL, Stage.RENEGOTIATING}
BEGUN = TURN | HELD
OPEN = UNBOUND | BEGUN | {Stage.UNDER_REVIEW, Stage.DELIVERED}

WHERE: dict[str, set[Stage]] = {
    "request": set(),
    "revise": {Stage.COUNTERED},
    "adopt": {Stage.COUNTERED, Stage.RENEGOTIATING},
    "insist": {Stage.RENEGOTIATING},
    "accept": {Stage.REQUESTED, Stage.DEFERRED},
    "decline": UNBOUND,
    "counter": {Stage.REQUESTED, Stage.DEFERRED} | TURN,
    "defer": {Stage.REQUESTED},
    "clear": {Stage.UNDER_REVIEW},
    "veto": {Stage.UNDER_REVIEW},
    "progress": TURN,
    "block": TURN,
    "resolve": {Stage.BLOCKED, Stage.DEFERRED},
    "propose": {Stage.WORKING},
    "decide": {Stage.AWAITING_APPROVAL},
    "deliver": TURN,
    "confirm": {Stage.DELIVERED},
    "reject": {Stage.DELIVERED},
    "rework": {Stage.DELIVERED},
    "fail": BEGUN | {Stage.UNDER_REVIEW},
    "cancel": UNBOUND | BEGUN | {Stage.UNDER_REVIEW},
    "halt": {Stage.STOPPING},
    "lapse": OPEN | {Stage.STOPPING},
}
"""In which stages a move of this name may be made at all, by whoever it may be made by."""

HERE = {here: {name for name, stages in WHERE.items() if here in stages} for here in Stage}

ALWAYS_HEARD = {
    *("decline", "fail", "cancel", "halt", "lapse", "deliver"),
    *("clear", "veto", "confirm", "reject", "rework", "decide", "adopt", "insist", "resolve"),
}
"""What ends a job or judges a move is heard however long the log has grown."""


# What was said


@frozen(eq=False)
class Said:
    """One accepted act; `under` is, for the request of a child, what had been said of its parent by then."""

    id: str
    act: acts.Act
    by: str
    at: datetime
    under: "History" = field(default=(), repr=False)


History = tuple[Said, ...]


@frozen
class World:
    """What else may be known: what was said of the parent and of the superseded job; the children there are."""

    parent: History = ()
    superseded: History = ()
    children: int = 0
    children_open: tuple[str, ...] = ()


@frozen
class Case:
    """A move somebody wants to make, and all that it is judged by. No history: it asks for a new job."""

    history: History
    act: acts.Act
    by: str
    now: datetime
    world: World = World()
    limits: Limits = LIMITS


def named(history: History, *names: str) -> list[Said]:
    """All acts of these names, in order."""
    return [said for said in history if said.act.act in names]


def since(history: History, *names: str) -> History:
    """What was said after the last act of these names; everything, if there was none."""
    at = [place for place, said in enumerate(history) if said.act.act in names]
    return history[at[-1] + 1 :] if at else history


def prefixes(history: History) -> Iterator[History]:
    """The history as it stood after each act."""
    return (history[: length + 1] for length in range(len(history)))


def born(history: History) -> acts.Request:
    """The request that began it all, which fixes the parties, the review and the verdict."""
    request = history[0].act
    assert isinstance(request, acts.Request)
    return request


# Parties


def parties(history: History) -> dict[str, str]:
    """Who is who; reviewer, verifier and approver default to the requester."""
    request, requester = born(history), history[0].by
    return {
        "requester": requester,
        "worker": request.worker,
        "reviewer": request.reviewer or requester,
        "verifier": request.verifier or requester,
        "approver": request.approver or requester,
    }


def authorities(history: History) -> tuple[str, ...]:
    """Who may skip a check or waive a condition; by default the requester."""
    return born(history).authorities or (history[0].by,)


def known(history: History) -> set[str]:
    """Everyone the job names: its parties, its authorities, the owners its contract names."""
    first = born(history).contract  # a revision changes no party
    return {*parties(history).values(), *authorities(history), *(first.parties if first else ())}


def entitled(history: History, name: str) -> set[str]:
    """Whose move an act of this name is, now."""
    who = parties(history)
    match name:
        case "request" | "revise" | "adopt" | "insist" | "cancel":
            return {who["requester"]}
        case "clear" | "veto":
            return {who["reviewer"]}
        case "confirm" | "reject" | "rework":
            return {who["verifier"]}
        case "decide":
            return {who["approver"]}
        case "resolve":
            asks = need(history)
            return {who["requester"]} | ({asks.whom} if asks else set())
        case "lapse":
            return set()
        case _:
            return {who["worker"]}


# Where the job stands


def taken(history: History) -> bool:
    """Whether the worker is bound: it accepted, or its counter was adopted, and no veto undid that."""
    return bool(named(since(history, "veto"), "accept", "adopt"))


def review_asked(history: History) -> bool:
    """Whether each acceptance is reviewed."""
    return born(history).review


def verdict_asked(history: History) -> bool:
    """Whether a verdict is asked: as the request says, else if it has conditions."""
    request = born(history)
    return bool(asked(history[:1]).conditions) if request.verdict is None else request.verdict


def reviewing(history: History) -> bool:
    """Whether the last thing said was an acceptance that waits for its review."""
    return history[-1].act.act in ("accept", "adopt") and review_asked(history)


@remembered
def stage(history: History) -> Stage:
    """The stage that the last act led to."""
    act, before = history[-1].act, history[:-1]
    begun = bool(before) and taken(before) and not reviewing(before)
    match act.act:
        case "request" | "revise" | "veto":
            return Stage.REQUESTED
        case "accept" | "adopt" if review_asked(history):
            return Stage.UNDER_REVIEW
        case "accept" | "clear":
            return Stage.READY
        case "adopt":
            return Stage.WORKING if taken(before) else Stage.READY
        case "counter":
            return Stage.RENEGOTIATING if taken(before) else Stage.COUNTERED
        case "resolve":
            return Stage.WORKING if taken(before) else Stage.REQUESTED
        case "progress" | "insist" | "decide" | "rework":
            return Stage.WORKING
        case "deliver":
            return Stage.DELIVERED if verdict_asked(history) else Stage.UNVERIFIED
        case "cancel":
            return Stage.STOPPING if begun else Stage.STOPPED
        case "lapse":
            assert isinstance(act, acts.Lapse)
            return lapsed_to(act.cause, bound=taken(before), begun=begun)
    return {
        "defer": Stage.DEFERRED,
        "decline": Stage.DECLINED,
        "block": Stage.BLOCKED,
        "propose": Stage.AWAITING_APPROVAL,
        "confirm": Stage.ACCEPTED,
        "reject": Stage.REJECTED,
        "fail": Stage.ERROR,
        "halt": Stage.STOPPED,
    }[act.act]


def lapsed_to(cause: Cause, *, bound: bool, begun: bool) -> Stage:
    """Where the clock leads: by what was due, and by whether the work was taken and begun."""
    match cause:
        case Cause.RESPOND | Cause.UNTIL | Cause.REVIEW | Cause.STOP:
            return Stage.STOPPED
        case Cause.ANSWER:
            return Stage.WORKING if bound else Stage.STOPPED
        case Cause.APPROVAL:
            return Stage.WORKING
        case Cause.VERDICT:
            return Stage.UNVERIFIED
        case Cause.PARENT:
            return Stage.STOPPING if begun else Stage.STOPPED
        case Cause.COMPLETION if not begun:
            return Stage.STOPPED
    return Stage.ERROR


def ended(history: History) -> bool:
    """Whether the job has a termination."""
    return stage(history) not in OPEN


def need(history: History) -> Need | None:
    """What the standing block or deferral asks for."""
    act = history[-1].act
    return act.need if isinstance(act, acts.Block | acts.Defer) else None


def legal(history: History, name: str) -> bool:
    """Whether an act of this name goes anywhere from here."""
    return stage(history) in WHERE[name]


@remembered
def may(history: History, by: str) -> frozenset[str]:
    """The acts that a party may take now. An offer that is no commitment cannot be adopted, and no need cannot be resolved."""
    able = frozenset(name for name in HERE[stage(history)] if by in entitled(history, name))
    standing = history[-1].act
    if isinstance(standing, acts.Counter) and not standing.binding:
        able -= {"adopt"}
    return able if need(history) else able - {"resolve"}


def answered(history: History, name: str) -> str | None:
    """The id that an act of this name must answer: the request in force, or what waits, which is always the last thing said."""
    if name in ("accept", "decline", "counter", "defer"):
        return named(history, "request", "revise")[-1].id
    if name in ("revise", "adopt", "insist", "clear", "veto", "resolve", "decide", "confirm", "reject", "rework"):
        return history[-1].id
    return None


def became_of(history: History) -> dict[str, str]:
    """Each closed set, and what became of it: what was said right after it tells."""
    return {
        said.id: "expired" if after.act.act == "lapse" else "decided"
        for said, after in pairwise(history)
        if said.act.act == "propose" and after.act.act in ("decide", "lapse")
    }


# Terms


@remembered
def asked(history: History) -> Terms:
    """What the request asks for, as revised: each field is what was said of it last."""
    request = born(history)
    rules, own = request.contract, Terms((), request.exclusions, (), request.constraints)
    terms = _first_asked(request)
    for said in named(history, "revise"):
        act = said.act
        assert isinstance(act, acts.Revise)
        if act.conditions is not None:  # the contract goes, and leaves what it excluded
            rules, own = None, terms
        rules = act.contract or rules
        theirs = rules.terms if rules else Terms()
        own = Terms(
            own.conditions if act.conditions is None else act.conditions,
            own.exclusions if act.exclusions is None else act.exclusions,
            (),
            own.constraints if act.constraints is None else act.constraints,
        )
        terms = Terms(
            theirs.conditions if rules else terms.conditions if act.conditions is None else act.conditions,
            theirs.exclusions + tuple(one for one in own.exclusions if one not in theirs.exclusions),
            terms.requirements if act.requirements is None else act.requirements,
            theirs.constraints + tuple(one for one in own.constraints if one not in theirs.constraints),
            act.budget or (act.contract and act.contract.budget) or terms.budget,
            act.complete_by or terms.complete_by,
        )
    return terms


def _first_asked(act: acts.Request) -> Terms:
    theirs = act.contract.terms if act.contract else Terms()
    return Terms(
        theirs.conditions or act.conditions,
        theirs.exclusions + act.exclusions,
        act.requirements,
        theirs.constraints + act.constraints,
        act.budget or theirs.budget,
        act.complete_by,
    )


@remembered
def in_force(history: History) -> Terms:
    """The terms in force: what was last accepted or adopted; while nobody is bound, what is asked."""
    if not taken(history):
        return asked(history)
    place = max(place for place, said in enumerate(history) if said.act.act in ("accept", "adopt"))
    act, before = history[place].act, history[:place]
    if not isinstance(act, acts.Accept):
        offer = before[-1].act
        assert isinstance(offer, acts.Counter)
        return offered(asked(before), offer)
    return stated(asked(before), act)


def stated(terms: Terms, act: acts.Accept) -> Terms:
    """The terms an acceptance states: what it does not name is as asked."""
    return Terms(
        terms.conditions if act.conditions is None else act.conditions,
        terms.exclusions if act.exclusions is None else act.exclusions,
        terms.requirements if act.requirements is None else evidenced(terms, act.requirements),
        terms.constraints,
        terms.budget,
        terms.complete_by,
    )


def offered(terms: Terms, act: acts.Counter) -> Terms:
    """The terms a counter offers, whole."""
    offer = act.terms or Terms()
    known = evidenced(terms, offer.requirements)
    return Terms(offer.conditions, offer.exclusions, known, offer.constraints, offer.budget, offer.complete_by)


def evidenced(terms: Terms, requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """The invariants a worker states, with the evidence the requester has in hand: a worker's own word grounds nothing."""
    in_hand = {_invariant(requirement): requirement for requirement in terms.requirements}
    bare = [Requirement(one.id, one.invariant, one.value, one.upto, one.irreversible) for one in requirements]
    return tuple(in_hand.get(_invariant(one), one) for one in bare)


def contract(history: History) -> Contract | None:
    """The contract in force: the request's, until a revision brings another, or states conditions of its own."""
    held = born(history).contract
    for said in named(history, "revise"):
        act = said.act
        assert isinstance(act, acts.Revise)
        held = act.contract or (held if act.conditions is None else None)
    return held


def imposed(history: History) -> tuple[tuple[Exclusion, ...], tuple[Requirement, ...]]:
    """What the parent's terms, as they stood when the child was requested, impose on it for ever."""
    parent = history[0].under
    terms = in_force(parent) if parent else Terms()
    return terms.exclusions, terms.requirements


def depth(history: History) -> int:
    """How far below the root of its tree the job is."""
    return 1 + depth(history[0].under) if history[0].under else 0


def drops_exclusion(held: Sequence[Exclusion], wanted: Iterable[Exclusion]) -> bool:
    """Whether an exclusion that is wanted is not held, to the word."""
    return any(exclusion not in held for exclusion in wanted)


def drops_invariant(held: Sequence[Requirement], wanted: Iterable[Requirement]) -> bool:
    """Whether an invariant that is wanted is not held as wide or wider, whatever the evidence that comes with it."""
    return any(not any(_as_wide(one, other) for one in held) for other in wanted)


def _as_wide(one: Requirement, other: Requirement) -> bool:
    if (one.id, one.invariant, one.value) != (other.id, other.invariant, other.value):
        return False
    if other.irreversible and not one.irreversible:
        return False
    unbounded = float("inf")
    return all(bound >= other.upto.get(size, unbounded) for size, bound in one.upto.items())


def _invariant(requirement: Requirement) -> tuple[object, ...]:
    sizes = frozenset(requirement.upto.items())
    return requirement.id, requirement.invariant, requirement.value, sizes, requirement.irreversible


def typed(condition: Condition) -> bool:
    """Whether the condition has a check that a machine or a named party decides, and not mere text."""
    return condition.check is not None and not isinstance(condition.check, str)


HANDSHAKE = {
    ("entailed", "none"): ("accept", "accept", "accept"),
    ("entailed", "not_run"): ("accept", "accept", "accept"),
    ("entailed", "inconclusive"): ("accept", "accept", "accept"),
    ("entailed", "passed"): ("accept", "accept", "accept"),
    ("entailed", "failed"): ("accept_with_guard", "refuse", "refuse"),
    ("silent", "passed"): ("accept", "accept", "accept"),
    ("silent", "not_run"): ("probe_first", "probe_first", "probe_first"),
    ("silent", "none"): ("accept_with_guard", "refuse", "accept_unverified"),
    ("silent", "inconclusive"): ("accept_with_guard", "refuse", "accept_unverified"),
    ("silent", "failed"): ("accept_with_guard", "refuse", "refuse"),
    **{
        ("contradicted", probe): ("accept_with_guard", "refuse", "refuse")
        for probe in ("none", "not_run", "inconclusive", "passed", "failed")
    },
}
"""By advert and probe: what is answered if a guard covers it, if none and the action is irreversible, if none and reversible."""


def grounded(requirement: Requirement, advertisement: Advertisement | None) -> bool:
    """Whether an invariant is entailed, proven or guarded enough to be accepted on."""
    said = [clause for clause in advertisement.clauses if clause.invariant == requirement.invariant] if advertisement else []
    advert = "silent" if not said else "entailed" if all(c.value == requirement.value for c in said) else "contradicted"
    guarded, irreversible, reversible = HANDSHAKE[advert, requirement.probe.outcome if requirement.probe else "none"]
    if requirement.guard is not None and requirement.guard.grounded:
        return guarded not in ("refuse", "probe_first")
    return (irreversible if requirement.irreversible else reversible) not in ("refuse", "probe_first")


def stands_on(history: History) -> Advertisement | None:
    """What the worker last advertised with a counter, or with the acceptance before it."""
    for said in reversed(since(history, "request", "revise", "veto")):
        if isinstance(said.act, acts.Counter | acts.Accept) and said.act.advertisement is not None:
            return said.act.advertisement
        if isinstance(said.act, acts.Accept):
            return None
    return None


# Budget


def spent(history: History) -> Spent | None:
    """What the worker last told of the job's use."""
    told = [said.act.spent for said in history if isinstance(said.act, acts.WorkerAct | acts.WorkerAnswer) and said.act.spent]
    return told[-1] if told else None


def over_budget(history: History) -> bool:
    """Whether more was told to be spent than the terms in force allow."""
    told, budget = spent(history), in_force(history).budget
    if told is None or budget is None:
        return False
    pairs = ((told.tokens, budget.tokens), (told.money, budget.money), (told.seconds, budget.seconds))
    return any(most is not None and used > most for used, most in pairs)


# Time


def elapsed(history: History, stages: set[Stage], now: datetime) -> timedelta:
    """How long the job has been in these stages up to `now`."""
    until = [said.at for said in history[1:]] + [now]
    spells = zip(prefixes(history), until, strict=True)
    return sum((end - past[-1].at for past, end in spells if stage(past) in stages), timedelta(0))


def complete_by(history: History) -> datetime:
    """When the work is due: as asked or adopted, and the time that reviewer and verifier have taken since that was said."""
    agreed = in_force(history).complete_by or history[0].at + COMPLETE
    place = max(place for place, said in enumerate(history) if said.act.act in ("request", "revise", "adopt"))
    waits = {Stage.UNDER_REVIEW, Stage.DELIVERED}
    last = history[-1].at
    return agreed + elapsed(history, waits, last) - elapsed(history[: place + 1], waits, history[place].at)


def intervals(history: History) -> Intervals:
    """The intervals in force, the named defaults where none is said."""
    said = born(history).intervals
    for revision in named(history, "revise"):
        assert isinstance(revision.act, acts.Revise)
        said = revision.act.intervals or said
    return Intervals(**{name: getattr(said, name) or getattr(DEFAULTS, name) for name in Intervals.__dataclass_fields__})


def respond_due(history: History) -> datetime:
    """When the reply to the request in force is due; `respond_by` bounds the first reply only."""
    first, interval = born(history).respond_by, intervals(history).respond
    assert interval is not None
    by_interval = history[-1].at + interval
    if first is None or len(history) > 1:
        return by_interval
    return min(first, by_interval) if born(history).intervals.respond else first


def pointing(history: History) -> bool:
    """Whether the last act points at something, or begins the work that must."""
    match history[-1].act:
        case acts.Progress() as act:
            return bool(act.points_at)
        case acts.Deliver() as act:
            return bool(act.artifacts) or act.value is not None or act.report is not None
        case acts.Accept():
            return True
        case acts.Adopt():
            return not taken(history[:-1])
    return False


def deadlines(history: History, renewed_at: datetime | None, parent_ended_at: datetime | None) -> set[tuple[datetime, Cause]]:
    """Every deadline that runs now, and what it is."""
    here, now, waits = stage(history), history[-1].at, intervals(history)
    assert waits.answer and waits.review and waits.verdict and waits.lease and waits.stall and waits.stop
    runs: set[tuple[datetime, Cause]] = set()
    act = history[-1].act
    match here:
        case Stage.REQUESTED:
            runs.add((respond_due(history), Cause.RESPOND))
        case Stage.DEFERRED:
            assert isinstance(act, acts.Defer)
            runs.add((act.until, Cause.UNTIL))
        case Stage.COUNTERED | Stage.RENEGOTIATING:
            runs.add((now + waits.answer, Cause.ANSWER))
        case Stage.UNDER_REVIEW:
            runs.add((now + waits.review, Cause.REVIEW))
        case Stage.AWAITING_APPROVAL:
            assert isinstance(act, acts.Propose)
            runs.add((act.expires_at or now + APPROVAL, Cause.APPROVAL))
        case Stage.DELIVERED:
            runs.add((now + waits.verdict, Cause.VERDICT))
        case Stage.STOPPING:
            runs.add((now + waits.stop, Cause.STOP))
    if here in UNBOUND | BEGUN | {Stage.UNDER_REVIEW} and parent_ended_at is not None:
        runs.add((parent_ended_at, Cause.PARENT))
    # The time under review is added to it as it passes: only what was due before the review began is due in it.
    if here in BEGUN or (here is Stage.UNDER_REVIEW and complete_by(history) <= now):
        runs.add((complete_by(history), Cause.COMPLETION))
    if here in BEGUN and over_budget(history):
        runs.add((now, Cause.BUDGET))
    if here in TURN:
        runs.add((max(now, renewed_at or now) + waits.lease, Cause.LEASE))  # in its turn, whatever was said last renewed it
        pointed = [past for past in prefixes(history) if pointing(past)][-1]
        idle = elapsed(history, TURN, now) - elapsed(pointed, TURN, pointed[-1].at)
        runs.add((now + waits.stall - idle, Cause.STALL))
        budget = in_force(history).budget
        if budget is not None and budget.seconds is not None:
            left = timedelta(seconds=budget.seconds) - elapsed(history, TURN, now)
            runs.add((now + left, Cause.BUDGET))
    return runs


TIES = (
    *(Cause.PARENT, Cause.COMPLETION, Cause.BUDGET, Cause.LEASE, Cause.STALL),
    *(Cause.RESPOND, Cause.UNTIL, Cause.ANSWER, Cause.REVIEW, Cause.APPROVAL, Cause.VERDICT, Cause.STOP),
)


def deadline(
    history: History, renewed_at: datetime | None = None, parent_ended_at: datetime | None = None
) -> tuple[datetime, Cause] | None:
    """The job's due time and its cause: the earliest, and of those at one instant the first in the order of ties."""
    runs = deadlines(history, renewed_at, parent_ended_at)
    return min(runs, key=lambda run: (run[0], TIES.index(run[1])), default=None)


# Pauses and terminations


def owed_by(history: History) -> str | None:
    """Who owes the decision that an open job waits for; None if it waits for nobody's."""
    who, asks = parties(history), need(history)
    match stage(history):
        case Stage.DEFERRED | Stage.BLOCKED:
            return asks.whom if asks else who["worker"]
        case Stage.COUNTERED | Stage.RENEGOTIATING:
            return who["requester"]
        case Stage.UNDER_REVIEW:
            return who["reviewer"]
        case Stage.AWAITING_APPROVAL:
            return who["approver"]
        case Stage.DELIVERED:
            return who["verifier"]
    return None


ENDED_BY = {
    Cause.COMPLETION: Ending.EXPIRED,
    Cause.RESPOND: Ending.EXPIRED,
    Cause.UNTIL: Ending.EXPIRED,
    Cause.ANSWER: Ending.EXPIRED,
    Cause.REVIEW: Ending.EXPIRED,
    Cause.LEASE: Ending.ABANDONED,
    Cause.STALL: Ending.PROGRESS_STALLED,
    Cause.BUDGET: Ending.BUDGET_EXHAUSTED,
    Cause.PARENT: Ending.PARENT_CLOSED,
    Cause.VERDICT: Ending.DELIVERED,
}


@frozen
class End:
    """Why a job stopped and what came of it; for a lapse, which deadline and who owed it."""

    reason: Ending
    status: Status
    at: datetime
    cause: Cause | None = None
    owed_by: str | None = None


def end(history: History) -> End | None:
    """The termination, written by the first act that ended the job; whatever comes later changes nothing of it."""
    ends = [past for past in prefixes(history) if ended(past)]
    if not ends:
        return None
    before, said = ends[0][:-1], ends[0][-1]
    match said.act:
        case acts.Decline():
            return End(Ending.DECLINED, Status.NONE, said.at)
        case acts.Cancel(reason=reason) | acts.Fail(reason=reason):
            return End(Ending(reason), Status.NONE, said.at)
        case acts.Deliver():
            return End(Ending.DELIVERED, Status.UNRESOLVED, said.at)
        case acts.Confirm():
            return End(Ending.ACCEPTED, Status.PASSED, said.at)
        case acts.Reject() as act:
            return End(Ending.REJECTED, rejected_as(before, act), said.at)
    assert isinstance(said.act, acts.Lapse)
    cause = said.act.cause
    waits = None if cause is Cause.BUDGET else owed_by(before)  # what was spent is the worker's
    owes = None if cause is Cause.PARENT else waits or parties(before)["worker"]
    return End(ENDED_BY[cause], Status.UNRESOLVED if cause is Cause.VERDICT else Status.NONE, said.at, cause, owes)


def rejected_as(history: History, act: acts.Reject) -> Status:
    """Failed if a check of this very result failed, a condition is not met or an exclusion broken; else nobody can say."""
    failed = any(record.status == "failed" and fresh(history, record) for record in act.checks)
    return Status.FAILED if failed or reported(history, "not_met", "broken") else Status.UNRESOLVED


def work(history: History) -> Work | None:
    """The condition of the work as it was told last; unknown where the clock ended the wait for it."""
    for said in reversed(history):
        if isinstance(said.act, acts.Halt | acts.Fail):
            return said.act.work
        if isinstance(said.act, acts.Lapse) and said.act.cause in (
            *(Cause.STOP, Cause.LEASE, Cause.STALL, Cause.BUDGET, Cause.COMPLETION),
        ):
            return Work.UNKNOWN if said.act.cause is Cause.STOP or stage(history) is Stage.ERROR else None
    return None


# Deliveries and verdicts


def reported(history: History, *statuses: str) -> set[str]:
    """The ids that the standing delivery reports with one of these words."""
    delivery = history[-1].act
    report = delivery.report if isinstance(delivery, acts.Deliver) else None
    findings = (*report.conditions, *report.exclusions) if report else ()
    return {finding.id for finding in findings if finding.status in statuses}


def required(history: History) -> set[str]:
    """The checks that must have passed: typed ones of conditions and of the contract's invariants, each guard's reconciliation."""
    terms, rules = in_force(history), contract(history)
    invariants = rules.invariants if rules else ()
    return {
        *(condition.id for condition in terms.conditions if typed(condition)),
        *(rule.id for rule in invariants if rule.check is not None and not isinstance(rule.check, str)),
        *(requirement.id for requirement in terms.requirements if requirement.guard is not None),
    }


def fresh(history: History, record: acts.CheckRecord) -> bool:
    """Whether a record was made against what was delivered (if that has a digest), under the contract in force."""
    delivery, rules = history[-1].act, contract(history)
    assert isinstance(delivery, acts.Deliver)
    digests = {artifact.digest for artifact in delivery.artifacts} - {None}
    same_artifact = record.artifact is None or not digests or record.artifact in digests
    same_contract = record.contract is None or (rules is not None and record.contract == rules.digest)
    return same_artifact and same_contract


def skipped_by_authority(history: History, record: acts.CheckRecord) -> bool:
    """Whether a skip names an authority of the job, or one whom the contract lets skip this very check; never the worker."""
    rules = contract(history)
    named_there = {party for rule in (rules.evidence if rules else ()) if rule.id == record.id for party in rule.skip}
    return record.authority in {*authorities(history), *named_there} - {parties(history)["worker"], None}


# Why not


def objections(case: Case) -> Iterator[Reason]:
    """Every reason that speaks against the move, in no order."""
    if case.history:
        yield from _of_the_stage(case)
        yield from _of_what_it_answers(case)
    if not case.history or (legal(case.history, case.act.act) and case.by in entitled(case.history, case.act.act)):
        yield from _of_the_act(case)


def answer(case: Case) -> Reason | Stage:
    """The first reason against the move, or the stage it leads to."""
    against = set(objections(case))
    if against:
        return min(against, key=PRECEDENCE.index)
    return stage((*case.history, Said("new", case.act, case.by, case.now)))


def _of_the_stage(case: Case) -> Iterator[Reason]:
    history, name, who = case.history, case.act.act, entitled(case.history, case.act.act)
    if ended(history) and not (stage(history) is Stage.STOPPING and name in ("halt", "lapse")):
        yield Reason.CLOSED
    elif name == "decide" and case.act.answered != history[-1].id and (not legal(history, name) or case.by in who):
        became = became_of(history).get(case.act.answered or "")
        yield {"decided": Reason.ALREADY_DECIDED, "expired": Reason.EXPIRED, None: Reason.UNKNOWN_SET}[became]
    elif not legal(history, name):
        yield Reason.UNKNOWN_SET if name == "decide" else Reason.ILLEGAL
    if case.by not in who:
        yield Reason.NOT_AUTHORISED


def _of_what_it_answers(case: Case) -> Iterator[Reason]:
    if case.act.answered != answered(case.history, case.act.act):
        yield Reason.STALE_OFFER


def _of_the_act(case: Case) -> Iterator[Reason]:
    history, limits = case.history, case.limits
    told = case.act.spent if isinstance(case.act, acts.WorkerAct | acts.WorkerAnswer) else None
    before = spent(history) if history else None
    if told and before and (told.tokens < before.tokens or told.money < before.money or told.seconds < before.seconds):
        yield Reason.SPENT_DECREASED
    if history and case.act.act not in ALWAYS_HEARD and len(history) >= limits.entries:
        yield Reason.TOO_MANY_ENTRIES
    match case.act:
        case acts.Request() as act:
            yield from _request(case, act)
        case acts.Revise() as act:
            yield from _revise(case, act)
        case acts.Adopt():
            yield from _adopt(case)
        case acts.Accept() as act:
            yield from _accept(case, act)
        case acts.Counter() as act:
            yield from _counter(case, act)
        case acts.Defer() as act:
            yield from _defer(case, act)
        case acts.Clear(rules=rules) | acts.Veto(rules=rules):
            if born(history).rules not in (None, rules):
                yield Reason.OTHER_RULES
        case acts.Progress() as act:
            if not act.points_at and not act.nothing_new:
                yield Reason.NOTHING_TO_POINT_AT
        case acts.Block() as act:
            yield from _block(case, act)
        case acts.Resolve():
            if need(history) is None:
                yield Reason.NO_NEED
        case acts.Propose() as act:
            yield from _propose(case, act)
        case acts.Deliver() as act:
            yield from _deliver(case, act)
        case acts.Confirm() as act:
            yield from _confirm(case, act)
        case acts.Reject() as act:
            yield from _records(case, act.checks, set())
        case acts.Rework() as act:
            yield from _records(case, act.checks, set(act.mend))


def _same_id_twice(terms: Terms, rules: Contract | None) -> Iterator[Reason]:
    called = [one.id for one in (*terms.conditions, *terms.exclusions, *terms.requirements, *(rules.invariants if rules else ()))]
    if len(set(called)) != len(called):
        yield Reason.DUPLICATE_ID


def _too_many_conditions(terms: Terms, limits: Limits) -> Iterator[Reason]:
    if max(len(terms.conditions), len(terms.exclusions), len(terms.requirements)) > limits.conditions:
        yield Reason.TOO_MANY_CONDITIONS


def _request(case: Case, act: acts.Request) -> Iterator[Reason]:
    terms, parent, old = _first_asked(act), case.world.parent, case.world.superseded
    judges = {act.verifier or case.by, act.approver or case.by, act.reviewer or case.by}
    if act.worker in judges | set(act.authorities or (case.by,)):
        yield Reason.SELF_JUDGED
    if act.contract is not None and act.verdict and not act.contract.acceptance:
        yield Reason.EMPTY_ACCEPTANCE
    yield from _same_id_twice(terms, act.contract)
    if act.parent is not None and not (parent and stage(parent) in BEGUN | {Stage.UNDER_REVIEW}):
        yield Reason.PARENT_NOT_ACTIVE
    if parent and case.by != parties(parent)["worker"]:
        yield Reason.NOT_PARENTS_WORKER
    if parent and (
        drops_exclusion(terms.exclusions, in_force(parent).exclusions)
        or drops_invariant(terms.requirements, in_force(parent).requirements)
    ):
        yield Reason.PARENT_TERMS
    if act.supersedes is not None and not (old and ended(old) and old[0].by == case.by):
        yield Reason.NOT_ENDED
    yield from _too_many_conditions(terms, case.limits)
    if parent and depth(parent) + 1 > case.limits.depth:
        yield Reason.TREE_TOO_DEEP
    if parent and case.world.children >= case.limits.breadth:
        yield Reason.TREE_TOO_BROAD


def _drops_imposed(history: History, terms: Terms) -> bool:
    exclusions, requirements = imposed(history)
    return drops_exclusion(terms.exclusions, exclusions) or drops_invariant(terms.requirements, requirements)


def _revise(case: Case, act: acts.Revise) -> Iterator[Reason]:
    history = case.history
    revised = (*history, Said("new", act, case.by, case.now))
    terms = asked(revised)
    yield from _same_id_twice(terms, contract(revised))
    if verdict_asked(history) and act.contract is not None and not act.contract.acceptance:
        yield Reason.EMPTY_ACCEPTANCE
    if _drops_imposed(history, terms):
        yield Reason.PARENT_TERMS
    if len(named(history, "revise")) >= case.limits.revisions:
        yield Reason.TOO_MANY_REVISIONS
    yield from _too_many_conditions(terms, case.limits)


def _adopt(case: Case) -> Iterator[Reason]:
    offer = case.history[-1].act
    assert isinstance(offer, acts.Counter)
    if not offer.binding:
        yield Reason.NOT_BINDING
    terms = offered(asked(case.history), offer)
    if not all(grounded(requirement, stands_on(case.history)) for requirement in terms.requirements):
        yield Reason.UNGROUNDED
    if len(named(case.history, "veto")) > case.limits.vetoes:
        yield Reason.TOO_MANY_VETOES


def _accept(case: Case, act: acts.Accept) -> Iterator[Reason]:
    wanted = asked(case.history)
    terms = stated(wanted, act)
    yield from _same_id_twice(terms, contract(case.history))
    if (
        not set(wanted.conditions) <= set(terms.conditions)
        or drops_exclusion(terms.exclusions, wanted.exclusions)
        or drops_invariant(terms.requirements, wanted.requirements)
    ):
        yield Reason.WEAKER_TERMS
    if not all(grounded(requirement, act.advertisement) for requirement in terms.requirements):
        yield Reason.UNGROUNDED
    if any(typed(condition) and condition not in wanted.conditions for condition in terms.conditions):
        yield Reason.FOREIGN_CHECK
    if len(named(case.history, "veto")) > case.limits.vetoes:
        yield Reason.TOO_MANY_VETOES
    yield from _too_many_conditions(terms, case.limits)


def _counter(case: Case, act: acts.Counter) -> Iterator[Reason]:
    at_work = taken(case.history)
    if act.terms is None:
        yield Reason.NO_TERMS
    else:
        yield from _same_id_twice(act.terms, contract(case.history))
        if _drops_imposed(case.history, act.terms):
            yield Reason.WEAKER_TERMS
    if at_work and not act.binding:
        yield Reason.NOT_BINDING
    if at_work and sum(stage(past) is Stage.RENEGOTIATING and past[-1].act.act == "counter" for past in prefixes(case.history)) >= (
        case.limits.counters
    ):
        yield Reason.TOO_MANY_COUNTERS
    yield from _too_many_conditions(act.terms or Terms(), case.limits)


def _unknown_party(history: History, asks: Need) -> bool:
    return asks.whom == parties(history)["worker"] or asks.whom not in known(history)


def _defer(case: Case, act: acts.Defer) -> Iterator[Reason]:
    now = max(case.now, case.history[-1].at)
    if not now < act.until <= respond_due(case.history) + case.limits.deferral:
        yield Reason.UNTIL_OUT_OF_RANGE
    if act.need is None and act.looking_into is None:
        yield Reason.NO_NEED
    if act.need is not None and _unknown_party(case.history, act.need):
        yield Reason.UNKNOWN_PARTY
    if len(named(case.history, "defer")) >= case.limits.deferrals:
        yield Reason.TOO_MANY_DEFERRALS


def _block(case: Case, act: acts.Block) -> Iterator[Reason]:
    if act.need is None:
        yield Reason.NO_NEED
    elif _unknown_party(case.history, act.need):
        yield Reason.UNKNOWN_PARTY
    if len(named(case.history, "block")) >= case.limits.blocks:
        yield Reason.TOO_MANY_BLOCKS


def _propose(case: Case, act: acts.Propose) -> Iterator[Reason]:
    if not any(call.gated for call in act.calls):
        yield Reason.NOTHING_GATED
    if len(act.calls) > case.limits.calls:
        yield Reason.TOO_MANY_CALLS
    if len(named(case.history, "propose")) >= case.limits.proposals:
        yield Reason.TOO_MANY_PROPOSALS


def _deliver(case: Case, act: acts.Deliver) -> Iterator[Reason]:
    terms, report = in_force(case.history), act.report
    if case.world.children_open:
        yield Reason.CHILDREN_OPEN
    if report is not None:
        conditions, exclusions = {c.id for c in terms.conditions}, {e.id for e in terms.exclusions}
        told, observed = {finding.id for finding in report.conditions}, {finding.id for finding in report.exclusions}
        if conditions - told:
            yield Reason.REPORT_INCOMPLETE
        if told - conditions or observed - exclusions:
            yield Reason.UNKNOWN_CONDITION
        if any(finding.status == "met" and not finding.evidence.strip() for finding in report.conditions):
            yield Reason.NO_EVIDENCE
    if len(named(case.history, "rework")) > case.limits.reworks:
        yield Reason.TOO_MANY_REWORKS


def _records(case: Case, records: Sequence[acts.CheckRecord], named: set[str]) -> Iterator[Reason]:
    terms = in_force(case.history)
    known = required(case.history) | {one.id for one in (*terms.conditions, *terms.exclusions)}
    if {record.id for record in records} - known or named - known:
        yield Reason.UNKNOWN_CONDITION
    if any(record.status == "skipped" and not skipped_by_authority(case.history, record) for record in records):
        yield Reason.NO_AUTHORITY


def _confirm(case: Case, act: acts.Confirm) -> Iterator[Reason]:
    history, waived = case.history, {waiver.id for waiver in act.waivers}
    yield from _records(case, act.checks, waived)
    counts = {record.id for record in act.checks if fresh(history, record) and record.status in ("passed", "skipped")}
    if (required(history) | {record.id for record in act.checks}) - counts:
        yield Reason.CHECK_NOT_PASSED
    if any(waiver.authority not in authorities(history) for waiver in act.waivers):
        yield Reason.NO_AUTHORITY
    if reported(history, "not_met", "broken") - waived:
        yield Reason.NOT_WAIVED
