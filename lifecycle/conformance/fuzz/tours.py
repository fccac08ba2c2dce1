"""Which ways there are through the machine, and walks that cover them: every edge, every pair, every triple that is feasible.

The ways are found by asking the law itself: from every kind of request, every plain act and every deadline, until nothing new comes
up. Chains of edges that no job can take in a row are infeasible, and `why_not` says why. Deterministic; nothing is drawn by lot.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from attrs import frozen

from lifecycle.conformance.fuzz.sayings import ASKED_HOW, JOB, PARENT
from lifecycle.conformance.fuzz.subject import WHOLE, Scope
from lifecycle.conformance.fuzz.trial import Step, Trial
from lifecycle.law.job import Offer, Wait
from lifecycle.law.limits import ANSWER, APPROVAL
from lifecycle.law.log import Entry
from lifecycle.law.states import Stage
from lifecycle.law.table import LAW, Law, Row
from lifecycle.machine import legal

MOVES = (
    *map(Step, (
        "accept", "decline", "counter", "defer", "adopt", "revise", "insist", "clear", "veto", "progress", "block", "resolve",
        "propose", "decide", "deliver", "confirm", "reject", "rework", "fail", "cancel", "halt", "wait",
    )),
    Step("counter", "wish"), Step("defer", "asking"), Step("progress", "overspent"), Step("cancel", job=PARENT),
)  # fmt: skip
"""What is tried everywhere: each act as it is meant, the next deadline, the end of the parent."""

LONGEST = 14
"""Steps of one walk, so that no walk comes to a bound that counts how often something was done."""


class Edge(NamedTuple):
    """An edge of the table, told apart from the others by these three."""

    origin: Stage | None
    act: str
    to: Stage

    def __str__(self) -> str:
        return f"{self.act} {self.origin or '(no job)'} -> {self.to}"


Chain: TypeAlias = tuple[Edge, ...]
"""Edges in a row, each beginning where the one before it ended."""


class Place(NamedTuple):
    """Where a job may be, as far as it matters what it may do next."""

    asked: str
    stage: Stage | None = None
    binding: bool = False
    need: bool = False
    parent_over: bool = False
    left: int = 0
    """How many of the waits for an answer and for an approval there is time for before completion."""


@frozen
class Arc:
    """One step from a place to a place, and the edges that it takes the job along: mostly one."""

    step: Step
    edges: Chain
    to: Place


@frozen
class Ways:
    """All places and the arcs between them; `starts` are the steps that come before the request."""

    arcs: dict[Place, tuple[Arc, ...]]
    starts: dict[Place, tuple[Step, ...]]


def edges(law: Law = LAW, scope: Scope = WHOLE) -> tuple[Edge, ...]:
    """Every edge of the table that is in scope, and leaves a stage that a job comes to there."""
    unasked = {f"{word}_asked" for word, acts in _ASKED_FOR.items() if scope.acts.isdisjoint(acts)}
    rows = [
        row for row in law.rows
        if row.act in scope.acts
        and (scope.time or row.act != "lapse")
        and not any(choice.__name__ in unasked for choice in row.when)
    ]  # fmt: skip
    come_to: set[Stage | None] = {None}
    while more := {row.to for row in rows if row.origin in come_to} - come_to:
        come_to |= more
    return tuple(edge_of(row) for row in rows if row.origin in come_to)


_ASKED_FOR = {"review": {"clear", "veto"}, "verdict": {"confirm", "reject", "rework"}}
"""What a request asks for only where it is given: a subject that knows none of these acts is not asked for it."""


def asked_how(scope: Scope = WHOLE) -> tuple[str, ...]:
    """How a job may be asked for in this scope."""
    out = {word for word, acts in _ASKED_FOR.items() if scope.acts.isdisjoint(acts)}
    out |= set() if scope.time else {"child", "short", "soon", "sooner"}
    return tuple(flags for flags in ASKED_HOW if out.isdisjoint(flags.split("+")))


def edge_of(row: Row | Entry) -> Edge:
    """The edge that a row is, or that an entry took."""
    return Edge(row.origin, row.act, row.to) if isinstance(row, Row) else Edge(row.origin, row.act.act, row.stage)


def taken(trial: Trial) -> Chain:
    """The edges that the job has been taken along so far."""
    return tuple(edge_of(entry) for entry in trial.reference.disk.logs.get(JOB, ()))


def chains(these: Sequence[Edge], length: int) -> list[Chain]:
    """Every chain of edges of this length that the table alone lets one write down."""
    found: list[Chain] = [(edge,) for edge in these]
    for _ in range(length - 1):
        found = [(*chain, edge) for chain in found for edge in these if edge.origin is chain[-1].to]
    return found


def of_length(chain: Chain, length: int) -> Iterator[Chain]:
    """The chains of this length in a longer one."""
    return (chain[at : at + length] for at in range(len(chain) - length + 1))


@lru_cache(maxsize=8)
def ways(scope: Scope = WHOLE) -> Ways:
    """All places that a job can come to by moves in scope."""
    timed = {"wait", "overspent"}  # what is overspent lapses at once
    known = [move for move in MOVES if move.what in {*scope.acts, "wait"}]
    moves = [move for move in known if scope.time or timed.isdisjoint((move.what, move.manner))]
    arcs: dict[Place, tuple[Arc, ...]] = {}
    starts: dict[Place, tuple[Step, ...]] = {}
    for flags in asked_how(scope):
        before = (Step("request", "parent", job=PARENT), Step("accept", job=PARENT)) if "child" in flags else ()
        root = Place(flags)
        starts[root] = before
        _explore(root, Trial().take(*before), moves, arcs)
    return Ways(arcs, starts)


def _explore(root: Place, trial: Trial, moves: Sequence[Step], arcs: dict[Place, tuple[Arc, ...]]) -> None:
    """Add every place that can be come to from a root, breadth first."""
    queue = deque([(root, trial)])
    seen = {root}
    while queue:
        place, here = queue.popleft()
        found = []
        for move in (Step("request", place.asked),) if place.stage is None else moves:
            if not _may_do(place, move):
                continue
            there = here.alone().take(move)
            new = taken(there)[len(taken(here)) :]
            to = _place(place.asked, there)
            if not new and to == place:
                continue
            found.append(Arc(move, new, to))
            if to not in seen:
                seen.add(to)
                queue.append((to, there))
        arcs[place] = tuple(found)


def _may_do(place: Place, move: Step) -> bool:
    """Whether a move can lead anywhere: the parent ends once, and what the other machine knows no edge for is refused."""
    if move.job == PARENT:
        return "child" in place.asked and not place.parent_over
    return move.what == "wait" or move.what in legal(place.stage)


def _place(flags: str, trial: Trial) -> Place:
    job, parent = trial.reference.job(JOB), trial.reference.job(PARENT)
    assert job is not None
    standing = job.standing
    binding = isinstance(standing, Offer) and standing.binding
    need = isinstance(standing, Wait) and standing.need is not None
    left = sum(job.complete_by - trial.reference.disk.now > wait for wait in (ANSWER, APPROVAL))
    return Place(flags, job.stage, binding, need, parent is not None and parent.ended, left)


def walks(length: int, scope: Scope = WHOLE) -> Iterator[tuple[Step, ...]]:
    """Walks that together take every feasible chain of this length, the short ones first."""
    found = ways(scope)
    left = set(feasible(length, scope))
    for root, before in found.starts.items():
        while (walk := _walk(found, root, length, left)) is not None:
            yield (*before, *walk)


@lru_cache(maxsize=16)
def feasible(length: int, scope: Scope = WHOLE) -> frozenset[Chain]:
    """Every chain of this length that some job takes."""
    found: set[Chain] = set()
    arcs = ways(scope).arcs
    reach: set[tuple[Place, Chain]] = {(root, ()) for root in ways(scope).starts}
    queue = deque(reach)
    while queue:
        place, last = queue.popleft()
        for arc in arcs[place]:
            chain = last + arc.edges
            found.update(of_length(chain, length))
            there = arc.to, chain[len(chain) - length + 1 :] if length > 1 else ()
            if there not in reach:
                reach.add(there)
                queue.append(there)
    return frozenset(found)


def _walk(found: Ways, root: Place, length: int, left: set[Chain]) -> list[Step] | None:
    """One walk from a root that takes at least one chain that is left, and as many more as come on its way."""
    place, walk = root, list[Step]()
    chain: Chain = ()
    while len(walk) < LONGEST:
        leg = _nearest(found, place, chain, length, left, LONGEST - len(walk))
        if leg is None:
            break
        for arc in leg:
            chain = chain + arc.edges
            left.difference_update(of_length(chain[-length - len(arc.edges) + 1 :], length))
            walk.append(arc.step)
            place = arc.to
    return walk or None


def _nearest(found: Ways, place: Place, chain: Chain, length: int, left: set[Chain], most: int) -> list[Arc] | None:
    """The fewest arcs, at most so many, that end with a chain that is left."""
    tail = chain[len(chain) - length + 1 :] if length > 1 else ()
    queue: deque[tuple[Place, Chain, tuple[Arc, ...]]] = deque([(place, tail, ())])
    seen = {(place, tail)}
    while queue:
        here, last, legs = queue.popleft()
        if len(legs) == most:
            return None
        for arc in found.arcs[here]:
            edges = last + arc.edges
            if not left.isdisjoint(of_length(edges, length)):
                return [*legs, arc]
            there = arc.to, edges[len(edges) - length + 1 :] if length > 1 else ()
            if there not in seen:
                seen.add(there)
                queue.append((*there, (*legs, arc)))
    return None


def way_to(place: Place, scope: Scope = WHOLE) -> tuple[Step, ...]:
    """The fewest steps to a place, from nothing."""
    root = Place(place.asked)
    queue: deque[tuple[Place, tuple[Step, ...]]] = deque([(root, ways(scope).starts[root])])
    seen = {root}
    while queue:
        here, walk = queue.popleft()
        if here == place:
            return walk
        for arc in ways(scope).arcs[here]:
            if arc.to not in seen:
                seen.add(arc.to)
                queue.append((arc.to, (*walk, arc.step)))
    raise ValueError(f"no way leads to {place}")


_FIXED = {
    frozenset({"review_asked", "no_review_asked"}): "whether an acceptance is reviewed is fixed by the request",
    frozenset({"verdict_asked", "no_verdict_asked"}): "whether a verdict is asked is fixed by the request",
}
_ONLY = {Stage.UNDER_REVIEW: "review_asked", Stage.DELIVERED: "verdict_asked"}
"""Stages that a job comes to only if it was asked so."""


def why_not(chain: Chain, law: Law = LAW) -> str:
    """Why no job takes this chain; empty if no reason is known."""
    rows = {edge_of(row): row for row in law.rows}
    asked = {choice.__name__ for edge in chain for choice in rows[edge].when}
    asked |= {_ONLY[stage] for edge in chain for stage in (edge.origin, edge.to) if stage in _ONLY}
    return next((why for both, why in _FIXED.items() if both <= asked), "")


def infeasible(length: int, scope: Scope = WHOLE) -> Iterable[tuple[Chain, str]]:
    """The chains of this length that no job takes, each with why."""
    able = feasible(length, scope)
    return [(chain, why_not(chain)) for chain in chains(edges(LAW, scope), length) if chain not in able]
