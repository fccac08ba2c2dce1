"""What the work is held to: progress, blocks, proposals, deliveries."""

from lifecycle.law import acts
from lifecycle.law.errors import Reason
from lifecycle.law.guards.choices import need_named
from lifecycle.law.guards.move import Fault, Move, ids


def spent_grows(move: Move[acts.WorkerAct | acts.WorkerAnswer]) -> Fault | None:
    """What is spent is cumulative: none of the three ever decreases."""
    spent, before = move.act.spent, move.job.spent if move.job else None
    if spent is None or before is None:
        return None
    for name in ("tokens", "money", "seconds"):
        if getattr(spent, name) < getattr(before, name):
            told = f"{getattr(spent, name)} {name} after {getattr(before, name)}"
            return Fault(Reason.SPENT_DECREASED, f"spent tells {told}", "tell the sum since the job began")
    return None


def points_somewhere(move: Move[acts.Progress]) -> Fault | None:
    """Progress points at something, or says plainly that there is nothing new."""
    act = move.act
    if act.points_at or act.nothing_new:
        return None
    mend = "point at an artifact, commit, file or digest, or say nothing_new"
    return Fault(Reason.NOTHING_TO_POINT_AT, f"`{act.line}` points at nothing", mend)


def need_given(move: Move[acts.Block]) -> Fault | None:
    """A block says what is needed and from whom."""
    act = move.act
    return None if act.need else Fault(Reason.NO_NEED, "a block that names no need", "say what is needed, and from whom")


def need_of_a_party(move: Move[acts.Block | acts.Defer]) -> Fault | None:
    """A need is asked of a party of the job or of an owner its contract names, never of the worker."""
    act, job = move.act, move.job
    assert job is not None
    need = act.need
    if need is None or (need.whom in job.parties and need.whom != job.parties.worker):
        return None
    who = "the worker itself" if need.whom == job.parties.worker else "no party of the job"
    return Fault(Reason.UNKNOWN_PARTY, f"`{need.whom}` is {who}", "ask another party, or an owner the contract names")


def asks_something(move: Move[acts.Act]) -> Fault | None:
    """Only what asks for something can be resolved."""
    if move.job is not None and need_named(move.job, move.act):
        return None
    return Fault(Reason.NO_NEED, "the deferral names no need", "wait for the worker's answer")


def something_gated(move: Move[acts.Propose]) -> Fault | None:
    """A proposal holds at least one call that needs approval."""
    act = move.act
    if any(call.gated for call in act.calls):
        return None
    return Fault(Reason.NOTHING_GATED, "no call in it needs approval", "run ungated calls without asking")


def children_ended(move: Move[acts.Act]) -> Fault | None:
    """A job with open children is not delivered."""
    open_ = move.world.children_open
    if not open_:
        return None
    told = ", ".join(f"`{child}`" for child in open_[:5])
    return Fault(Reason.CHILDREN_OPEN, f"{len(open_)} open: {told}", "wait for them, or cancel them")


def report_names_terms(move: Move[acts.Deliver]) -> Fault | None:
    """A report names no condition and no exclusion that is not in force."""
    report, job = move.act.report, move.job
    assert job is not None
    if report is None:
        return None
    unknown = ids(report.conditions) - ids(job.terms.conditions)
    if report.exclusions:
        unknown |= ids(report.exclusions) - ids(job.terms.exclusions)
    if unknown:
        return Fault(Reason.UNKNOWN_CONDITION, f"not in force: {', '.join(sorted(unknown))}", "report on the terms in force")
    return None


def report_complete(move: Move[acts.Deliver]) -> Fault | None:
    """A report names every condition in force; no report at all leaves all of them unverifiable."""
    report, job = move.act.report, move.job
    assert job is not None
    if report is None:
        return None
    told = ids(report.conditions)
    if missing := [condition.id for condition in job.terms.conditions if condition.id not in told]:
        return Fault(Reason.REPORT_INCOMPLETE, f"nothing on {', '.join(missing)}", "say met, not_met or unverifiable of each")
    return None


def met_with_evidence(move: Move[acts.Deliver]) -> Fault | None:
    """What is said to be met has evidence."""
    report = move.act.report
    if report is None:
        return None
    if bare := [f.id for f in report.conditions if f.status == "met" and not f.evidence.strip()]:
        return Fault(Reason.NO_EVIDENCE, f"met without evidence: {', '.join(bare)}", "say what shows it, or unverifiable")
    return None
