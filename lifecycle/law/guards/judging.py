"""What a verdict is held to: a check that did not pass is never passed, whoever says so."""

from lifecycle.law import acts
from lifecycle.law.errors import Reason
from lifecycle.law.guards.move import Fault, Move
from lifecycle.law.job import Job


def rules_agree(move: Move[acts.Clear | acts.Veto]) -> Fault | None:
    """A review holds the acceptance against the rules that the request named."""
    act, job = move.act, move.job
    assert job is not None
    if act.rules is not None and job.brief.rules is not None and act.rules != job.brief.rules:
        return Fault(Reason.OTHER_RULES, f"judged by {act.rules}, asked for {job.brief.rules}", "judge by the rules asked for")
    return None


def records_known(move: Move[acts.Confirm | acts.Reject | acts.Rework]) -> Fault | None:
    """Records, waivers and mends name what is in force."""
    act, job = move.act, move.job
    assert job is not None
    conditions = {condition.id for condition in job.terms.conditions}
    named = {record.id for record in act.checks}
    known = conditions | set(required(job))
    if isinstance(act, acts.Rework):
        unknown = set(act.mend) - conditions | named - known
    elif isinstance(act, acts.Confirm):
        waivable = known | {exclusion.id for exclusion in job.terms.exclusions}
        unknown = {waiver.id for waiver in act.waivers} - waivable | named - known
    else:
        unknown = named - known
    if unknown:
        return Fault(Reason.UNKNOWN_CONDITION, f"not in force: {', '.join(sorted(unknown))}", "name terms in force")
    return None


def authorities_named(move: Move[acts.Confirm | acts.Reject | acts.Rework]) -> Fault | None:
    """Only an authority of the job skips a check or waives a condition."""
    act, job = move.act, move.job
    assert job is not None
    claims = [(record.id, record.authority) for record in act.checks if record.status == "skipped"]
    if isinstance(act, acts.Confirm):
        claims += [(waiver.id, waiver.authority) for waiver in act.waivers]
    for id, authority in claims:
        if authority is None or authority not in authorities_for(job, id):
            who = f"`{authority}` has no authority over" if authority else "nobody authorised to skip"
            may = ", ".join(sorted(authorities_for(job, id)))
            return Fault(Reason.NO_AUTHORITY, f"{who} `{id}`", f"let an authority say so: {may}")
    return None


def checks_passed(move: Move[acts.Confirm]) -> Fault | None:
    """Every required check passed, or was skipped with authority; absent, pending and unavailable are never passed."""
    act, job = move.act, move.job
    assert job is not None
    told = dict.fromkeys(required(job), "absent") | {record.id: standing_status(job, record) for record in act.checks}
    if wanting := [f"`{id}` {status}" for id, status in told.items() if status not in ("passed", "skipped")]:
        return Fault(Reason.CHECK_NOT_PASSED, ", ".join(wanting), "run the checks on what was delivered, or reject, or rework")
    return None


def faults_waived(move: Move[acts.Confirm]) -> Fault | None:
    """A condition reported not met, or an exclusion reported broken, is confirmed only where an authority waives it by name."""
    act, job = move.act, move.job
    assert job is not None
    waived = {waiver.id for waiver in act.waivers}
    report = job.delivery.report if job.delivery else None
    if report is None:
        return None
    told = [f.id for f in report.conditions if f.status == "not_met"]
    told += [o.id for o in report.exclusions if o.status == "broken"]
    if bare := [id for id in told if id not in waived]:
        return Fault(Reason.NOT_WAIVED, f"reported not met or broken: {', '.join(bare)}", "waive each by name, or rework")
    return None


def required(job: Job) -> dict[str, str]:
    """The checks that decide: of typed conditions, of the contract's invariants, of guards to reconcile; id by kind."""
    found = {condition.id: "condition" for condition in job.terms.conditions if condition.typed}
    if job.brief.contract is not None:
        invariants = job.brief.contract.invariants
        found |= {c.id: "invariant" for c in invariants if c.check is not None and not isinstance(c.check, str)}
    return found | {requirement.id: "guard" for requirement in job.terms.requirements if requirement.guard is not None}


def authorities_for(job: Job, id: str) -> frozenset[str]:
    """Who may skip or waive this: the job's authorities, and whoever the contract's evidence rule for it names."""
    rules = job.brief.contract.evidence if job.brief.contract else ()
    named = {party for rule in rules if rule.id == id for party in rule.skip}
    return frozenset(job.parties.authorities) | (named - {job.parties.worker})


def standing_status(job: Job, record: acts.CheckRecord) -> str:
    """A record's status; pending again if it was made against another artifact or another contract version."""
    digests = {artifact.digest for artifact in job.delivery.artifacts if artifact.digest} if job.delivery else set()
    elsewhere = record.artifact is not None and bool(digests) and record.artifact not in digests
    other_rules = record.contract is not None and (job.brief.contract is None or record.contract != job.brief.contract.digest)
    return "pending" if elsewhere or other_rules else record.status
