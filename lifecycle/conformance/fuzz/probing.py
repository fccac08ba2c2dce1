"""The checks that one caller can make: every edge and chain taken, every illegal act refused, every demand asked, every id kept.

Each is a function of a session, deterministic, and tells how much of what there is it has tried.
"""

from collections.abc import Iterator, Sequence

from lifecycle.conformance.fuzz.offences import DEADLINES, FAMILIES, MORE_OFFENCES, NOT_TRIED, OFFENCES
from lifecycle.conformance.fuzz.sayings import CAST, JOB, SAYINGS
from lifecycle.conformance.fuzz.sayings import LIMITS as TIGHT
from lifecycle.conformance.fuzz.session import Covered, Session, covered
from lifecycle.conformance.fuzz.tours import Edge, feasible, infeasible, of_length, taken, walks
from lifecycle.conformance.fuzz.trial import EDGE, LET, Fault, Step, Trial, by_of, limits_of
from lifecycle.law.acts import ACTS
from lifecycle.law.states import Cause, Stage
from lifecycle.law.table import DEMANDS
from lifecycle.machine import legal

SENT = tuple(name for name in ACTS if name != "request")
"""What may be sent to a job that is there; a lapse too, which nobody may send."""


ANSWERS = frozenset(name for name, model in ACTS.items() if "answers" in model.model_fields)
"""Acts that name what they answer."""


def edges_taken(session: Session) -> Covered:
    """Every edge of the table is taken."""
    return _chains(session, "edges", 1)


def pairs_taken(session: Session) -> Covered:
    """Every two edges in a row."""
    return _chains(session, "edge pairs", 2)


def triples_taken(session: Session) -> Covered:
    """Every three edges in a row."""
    return _chains(session, "triples", 3)


def _chains(session: Session, check: str, length: int) -> Covered:
    found: set[str] = set()
    want = feasible(length, session.scope)
    for walk in walks(length, session.scope):
        session.progress(check, len(found), len(want))
        trial = session.trial().take(*walk)
        found.update(_named(chain) for chain in of_length(taken(trial), length) if chain in want)
    never = [(_named(chain), why) for chain, why in infeasible(length, session.scope)]
    return covered(check, found, sorted(map(_named, want)), never)


def _named(chain: Sequence[Edge]) -> str:
    return ", ".join(map(str, chain))


def arrivals(session: Session) -> Iterator[tuple[Trial, Edge]]:
    """A trial that has just taken an edge, once for every edge."""
    seen: set[Edge] = set()
    for walk in walks(1, session.scope):
        trial = session.trial()
        for step in walk:
            come = len(taken(trial))
            trial.take(step)
            for edge in taken(trial)[come:]:
                if edge not in seen:
                    seen.add(edge)
                    yield trial, edge


def illegal_acts(session: Session) -> Covered:
    """After every edge, every act that the table has no edge for is refused, and changes nothing."""
    found: set[str] = set()
    known = [name for name in SENT if name in session.scope.acts]
    for name in known:
        session.trial().take(Step(name))
        found.add(f"{name} in (no job)")
    for done, (trial, edge) in enumerate(arrivals(session)):
        session.progress("illegal pairs", done, len(feasible(1, session.scope)))
        for name in known:
            if name not in legal(edge.to):
                _refused(trial, Step(name))
                found.add(f"{name} in {edge.to}")
    reached = {edge.to for (edge,) in feasible(1, session.scope)}
    want = [f"{name} in {stage}" for stage in Stage if stage in reached for name in known if name not in legal(stage)]
    return covered("illegal pairs", found, [*want, *(f"{name} in (no job)" for name in known)])


def wrong_parties(session: Session) -> Covered:
    """After every edge, every act that the table has is refused when another party makes it; and a stranger knows of no job."""
    if not session.scope.parties:
        return Covered("wrong parties", 0, 0, unchecked="the subject does not tell parties apart")
    found: set[str] = set()
    want: set[str] = set()
    for done, (trial, edge) in enumerate(arrivals(session)):
        session.progress("wrong parties", done, len(feasible(1, session.scope)))
        for name in SENT:
            if name not in session.scope.acts:
                continue
            for by in CAST if name in legal(edge.to) else ("eve",):
                may = _may(trial, name)
                if by not in may:
                    want.add(f"{name} in {edge.to} by the {CAST[by]}")
                    _refused(trial, Step(name, by=by))
                    found.add(f"{name} in {edge.to} by the {CAST[by]}")
    return covered("wrong parties", found, sorted(want))


def _may(trial: Trial, name: str) -> set[str]:
    """Whose act it is: of a need, that party's and the requester's."""
    job = trial.reference.job(JOB)
    waits = job.pause if job is not None and name == "resolve" else None
    return {by_of(Step(name)), *([waits.owed_by] if waits else [])}


def _refused(trial: Trial, step: Step) -> None:
    if trial.probe(step) is None:
        raise Fault(EDGE, f"the law itself accepted {step}", (*trial.taken, step))


def demands(session: Session) -> Covered:
    """Every demand of every act refuses an act that does not meet it."""
    if not session.scope.demands:
        return Covered("demands", 0, 0, unchecked="the subject does not look into what acts carry")
    found: set[str] = set()
    rows = [(act, demand, walk) for (act, demand), walk in OFFENCES.items() if _in_scope(session, walk)]
    for done, (act, demand, walk) in enumerate(rows):
        session.progress("demands", done, len(rows))
        trial = session.trial().take(*walk)
        refused = trial.reference.refused
        if refused is not None and refused.guard == demand:
            found.add(f"{act}: {demand}")
    for walk in MORE_OFFENCES:
        if _in_scope(session, walk):
            session.trial().take(*walk)
    want = [f"{act}: {demand.__name__}" for act in DEMANDS for demand in DEMANDS[act] if act in session.scope.acts]
    never = {f"{act}: {demand}": why for (act, demand), why in NOT_TRIED.items()}
    if limits_of(session.subject) != TIGHT:
        never |= {name: "the subject has not the kit's limits" for name in want if name.partition(": ")[2].startswith(_BOUNDS)}
    return covered("demands", found, [name for name in want if name not in never], never.items())


_BOUNDS = ("few_", "tree_")


def identity(session: Session) -> Covered:
    """After every edge: its act once more is the same act, also after a restart; its id is no other's; old answers are stale."""
    scope = session.scope
    if not scope.identity:
        return Covered("identity", 0, 0, unchecked="the subject does not keep act ids")
    found: set[str] = set()
    for done, (trial, edge) in enumerate(arrivals(session)):
        session.progress("identity", done, len(feasible(1, scope)))
        last = trial.sent[-1].act.act
        _kept(trial, Step(last, back=1))
        if "again" in SAYINGS[last]:
            _refused(trial, Step(last, "again", back=1))
        for name in sorted(legal(edge.to) & scope.acts):
            if name in ANSWERS:
                _refused(trial, Step(name, stale=True))
        if scope.restarts:
            trial.take(Step("restart"))
            _kept(trial, Step(last, back=1))
            _kept(trial, Step(trial.sent[0].act.act, back=len(trial.sent)))
        found.add(str(edge))
    return covered("identity", found, sorted(str(edge) for (edge,) in feasible(1, scope)))


def _kept(trial: Trial, step: Step) -> None:
    if trial.probe(step) is not None:
        raise Fault(LET, f"the law itself refused {step}", (*trial.taken, step))


def deadlines(session: Session) -> Covered:
    """Every deadline lapses at its instant, not before, and once."""
    if not session.scope.time:
        return Covered("deadlines", 0, 0, unchecked="the subject lets nothing lapse")
    found: set[str] = set()
    rows = [walk for walks_ in DEADLINES.values() for walk in walks_]
    for done, walk in enumerate(rows):
        session.progress("deadlines", done, len(rows))
        if not _in_scope(session, walk):
            continue
        trial = session.trial().take(*walk, Step("almost"), Step("tick"), Step("tick"), Step("wait"), Step("tick"))
        found.update(entry.act.cause for entry in trial.reference.disk.logs[JOB] if entry.act.act == "lapse")  # type: ignore[attr-defined]
    return covered("deadlines", found, list(Cause))


def families(session: Session) -> Covered:
    """However a job ends without delivering, its children end with it."""
    if not session.scope.time:
        return Covered("families", 0, 0, unchecked="the subject ends no job by itself")
    rows = [walk for walk in FAMILIES if _in_scope(session, walk)]
    for done, walk in enumerate(rows):
        session.progress("families", done, len(rows))
        session.trial().take(*walk)
    return Covered("families", len(rows), len(rows))


def _in_scope(session: Session, walk: Sequence[Step]) -> bool:
    """Whether the subject claims to do what this walk does: jobs beside its own need the whole of time."""
    scope = session.scope
    timed = {"wait", "almost", "tick"}
    return all(
        (step.what in scope.acts or (scope.time and step.what in timed)) and (scope.time or step.job == JOB) for step in walk
    )
