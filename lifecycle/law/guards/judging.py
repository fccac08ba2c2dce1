"""What a verdict is held to: a check that did not pass is never passed, whoever says so."""

from lifecycle.law import acts
from lifecycle.law.errors import Reason
from lifecycle.law.guards.move import Fault, Move, ids
from lifecycle.law.job import Job


def rules_agree(move: Move[acts.Clear | acts.Veto]) -> Fault | None:
    """A review holds the acceptance against the rules that the request named, and says so."""
    act, job = move.act, move.job
    assert job is not None
    if job.brief.rules is not None and act.rules != job.brief.rules:
        by = act.rules or "rules it does not name"
        return Fault(Reason.OTHER_RULES, f"judged by {by}, asked for {job.brief.rules}", "judge by the rules asked for")
    return None


def records_known(move: Move[acts.Confirm | acts.Reject | acts.Rework]) -> Fault | None:
    """Records, waivers and mends name what is in force."""
    act, job = move.act, move.job
    assert job is not None
    unknown = ids(act.checks) - decided_by_records(job) if act.checks else set()
    if isinstance(act, acts.Confirm):
        if act.waivers:
            unknown |= ids(act.waivers) - decided_by_records(job)
    elif isinstance(act, acts.Rework):
        unknown |= set(act.mend) - decided_by_records(job)
    if unknown:
        return Fault(Reason.UNKNOWN_CONDITION, f"not in force: {', '.join(sorted(unknown))}", "name terms in force")
    return None


def authorities_named(move: Move[acts.Confirm | acts.Reject | acts.Rework]) -> Fault | None:
    """Only an authority of the job skips a check or waives a condition."""
    act, job = move.act, move.job
    assert job is not None
    claims = [(record.id, record.authority, may_skip(job, record.id)) for record in act.checks if record.status == "skipped"]
    if isinstance(act, acts.Confirm):
        claims += [(waiver.id, waiver.authority, frozenset(job.parties.authorities)) for waiver in act.waivers]
    for id, authority, entitled in claims:
        if authority is None or authority not in entitled:
            who = f"`{authority}` has no authority over" if authority else "nobody authorised to skip"
            return Fault(Reason.NO_AUTHORITY, f"{who} `{id}`", f"let an authority say so: {', '.join(sorted(entitled))}")
    return None


def checks_passed(move: Move[acts.Confirm]) -> Fault | None:
    """Every required check passed, or was skipped with authority; absent, pending and unavailable are never passed."""
    act, job = move.act, move.job
    assert job is not None
    told = dict.fromkeys(required(job), "absent")
    for record in act.checks:
        told[record.id] = standing_status(job, record)
    if wanting := [f"`{id}` {status}" for id, status in told.items() if status not in ("passed", "skipped")]:
        return Fault(Reason.CHECK_NOT_PASSED, ", ".join(wanting), "run the checks on what was delivered, or reject, or rework")
    return None


def faults_waived(move: Move[acts.Confirm]) -> Fault | None:
    """A condition reported not met, or an exclusion reported broken, is confirmed only where an authority waives it by name."""
    act, job = move.act, move.job
    delivery = job.delivery if job is not None else None
    if delivery is None or delivery.report is None:
        return None
    told = [f.id for f in delivery.report.conditions if f.status == "not_met"]
    if delivery.report.exclusions:
        told += [o.id for o in delivery.report.exclusions if o.status == "broken"]
    if not told:
        return None
    waived = ids(act.waivers)
    if bare := [id for id in told if id not in waived]:
        return Fault(Reason.NOT_WAIVED, f"reported not met or broken: {', '.join(bare)}", "waive each by name, or rework")
    return None


def required(job: Job) -> dict[str, str]:
    """The checks that decide: of typed conditions, of the contract's invariants, of guards to reconcile; id by kind."""
    found = {condition.id: "condition" for condition in job.terms.conditions if condition.typed}
    if job.brief.contract is not None:
        invariants = job.brief.contract.invariants
        found |= {c.id: "invariant" for c in invariants if c.check is not None and not isinstance(c.check, str)}
    if job.terms.requirements:
        found |= {requirement.id: "guard" for requirement in job.terms.requirements if requirement.guard is not None}
    return found


def decided_by_records(job: Job) -> set[str]:
    """Whatever a record may be made of: every condition and exclusion in force, and what else has a check that decides."""
    return ids(job.terms.conditions) | ids(job.terms.exclusions) | required(job).keys()


def may_skip(job: Job, id: str) -> frozenset[str]:
    """Who may skip this check: the job's authorities, and whoever the contract's evidence rule for it names."""
    rules = job.brief.contract.evidence if job.brief.contract else ()
    named = {party for rule in rules if rule.id == id for party in rule.skip}
    return frozenset(job.parties.authorities) | (named - {job.parties.worker})


def standing_status(job: Job, record: acts.CheckRecord) -> str:
    """A record's status; pending again if it was made against another artifact or another contract version."""
    digests = {artifact.digest for artifact in job.delivery.artifacts if artifact.digest} if job.delivery else set()
    elsewhere = record.artifact is not None and bool(digests) and record.artifact not in digests
    other_rules = record.contract is not None and (job.brief.contract is None or record.contract != job.brief.contract.digest)
    return "pending" if elsewhere or other_rules else record.status
