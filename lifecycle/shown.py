"""How jobs are shown: as plain data for a program, as lines for a person.

Whatever came from outside is shown on one line, with control and bidirectional characters escaped; plain data gives it raw. Here
lives no decision and no reading: values come in, texts go out.
"""

import json

from pydantic import JsonValue, TypeAdapter

from lifecycle.law.acts import Report
from lifecycle.law.decide import may
from lifecycle.law.door import shown
from lifecycle.law.errors import KeptRefusal
from lifecycle.law.job import Job, Termination
from lifecycle.law.log import Entry, Receipt, Row, written
from lifecycle.law.table import Law
from lifecycle.law.terms import Spent, Terms
from lifecycle.law.values import instant

_TERMS, _SPENT, _REPORT = TypeAdapter(Terms), TypeAdapter(Spent), TypeAdapter(Report)
Plain = dict[str, JsonValue]


def row(row: Row) -> Plain:
    """A job as a list shows it."""
    return {
        "job": row.job,
        "state": row.stage.state,
        "stage": row.stage,
        "goal": row.goal,
        "requester": row.requester,
        "worker": row.worker,
        "parent": row.parent,
        "requested_at": instant(row.requested_at),
        "updated_at": instant(row.updated_at),
    }


def job(job: Job) -> Plain:
    """A job, whole."""
    brief, parties, ended, pause, given = job.brief, job.parties, job.termination, job.pause, job.delivery
    everyone = dict.fromkeys(
        (parties.requester, parties.worker, parties.reviewer, parties.verifier, parties.approver, *parties.authorities)
    )
    return {
        "job": job.id,
        "state": job.state,
        "stage": job.stage,
        "seq": job.seq,
        "at": instant(job.at),
        "law": job.law,
        "goal": brief.goal,
        "requester": parties.requester,
        "worker": parties.worker,
        "reviewer": parties.reviewer,
        "verifier": parties.verifier,
        "approver": parties.approver,
        "authorities": list(parties.authorities),
        "parent": brief.parent,
        "supersedes": brief.supersedes,
        "terms": _TERMS.dump_python(job.terms, mode="json", exclude_none=True),
        "complete_by": instant(job.complete_by),
        "contract": brief.contract and {"id": brief.contract.id, "digest": brief.contract.digest},
        "spent": job.spent and _SPENT.dump_python(job.spent, mode="json"),
        "over_budget": job.over_budget,
        "pause": pause and {"decision": pause.decision, "owed_by": pause.owed_by, "since": instant(pause.since)},
        "termination": ended and _ended(ended),
        "work": job.work,
        "artifacts": [artifact.name for artifact in given.artifacts] if given else [],
        "report": given and given.report and _REPORT.dump_python(given.report, mode="json"),
        "may": {party: list(may(job, party)) for party in everyone},
    }


def _ended(ended: Termination) -> Plain:
    return {
        "reason": ended.reason,
        "status": ended.status,
        "at": instant(ended.at),
        "cause": ended.cause,
        "owed_by": ended.owed_by,
    }


def entry(entry: Entry) -> Plain:
    """One entry of a log, and its hash."""
    return {
        "job": entry.job,
        "seq": entry.seq,
        "act": entry.act.act,
        "id": entry.id,
        "by": entry.by,
        "from": entry.origin,
        "to": entry.stage,
        "at": instant(entry.at),
        "law": entry.law,
        "hash": entry.hash,
        "says": json.loads(written(entry.act)),
    }


def receipt(receipt: Receipt) -> Plain:
    """What a party is given for an act."""
    return {
        "job": receipt.job,
        "seq": receipt.seq,
        "id": receipt.id,
        "act": receipt.act,
        "stage": receipt.stage,
        "at": instant(receipt.at),
        "hash": receipt.hash,
    }


def refusal(kept: KeptRefusal) -> Plain:
    """A refusal that was kept, with the act that was refused, whole."""
    told = kept.refusal
    return {
        "act": told.act,
        "by": told.by,
        "reason": told.reason,
        "stage": told.stage,
        "detail": told.detail,
        "mend": told.mend,
        "may": list(told.may),
        "guard": told.guard,
        "at": instant(kept.at),
        "refused": json.loads(kept.payload) if kept.payload else None,
    }


def edges(law: Law) -> list[Plain]:
    """The table, one object per edge; `from` is null for a new job."""
    return [{"act": r.act, "by": r.by, "from": r.origin, "to": r.to, "why": r.why} for r in law.rows]


def says(entry: Entry) -> str:
    """What an entry says beyond its act, on one line."""
    held = json.loads(written(entry.act))
    told = {key: value for key, value in held.items() if key not in ("act", "answers") and value not in ([], {}, "", False)}
    first = next((str(told[key]) for key in ("line", "reason", "goal", "concern", "answer", "words") if told.get(key)), None)
    return shown(first if first is not None else _brief(told), 100)


def job_lines(job: Job) -> list[tuple[str, str]]:
    """A job for a person: label and line, in the order one asks for them."""
    parties, terms, ended, pause = job.parties, job.terms, job.termination, job.pause
    lines = [("job", job.id), ("goal", job.brief.goal), ("stage", str(job.stage))]
    if ended:
        due = f" ({ended.cause} due" + (f", owed by {ended.owed_by})" if ended.owed_by else ")") if ended.cause else ""
        lines.append(("ended", f"{ended} at {instant(ended.at)}{due}"))
    if pause:
        lines.append(("waits for", f"{pause.decision}, owed by {pause.owed_by} since {instant(pause.since)}"))
    roles = ("requester", "worker", "reviewer", "verifier", "approver")
    lines.append(("parties", ", ".join(f"{role} {getattr(parties, role)}" for role in roles)))
    lines += [("condition", f"{condition.id}: {condition.text}") for condition in terms.conditions]
    lines += [("exclusion", f"{exclusion.id}: {exclusion.text}") for exclusion in terms.exclusions]
    lines += [("invariant", f"{wanted.id}: {wanted.invariant} {wanted.value}") for wanted in terms.requirements]
    lines.append(("complete by", instant(job.complete_by)))
    if job.spent:
        over = ", over budget" if job.over_budget else ""
        lines.append(("spent", f"{job.spent.tokens} tokens, {job.spent.money} money, {job.spent.seconds:g} s{over}"))
    if job.work:
        lines.append(("work left", str(job.work)))
    if job.delivery:
        lines += [("artifact", artifact.name) for artifact in job.delivery.artifacts]
        report = job.delivery.report
        lines += [("reported", _told(f.id, f.status, f.evidence)) for f in (report.conditions if report else ())]
        lines += [("reported", _told(o.id, o.status, o.evidence)) for o in (report.exclusions if report else ())]
    everyone = dict.fromkeys((parties.requester, parties.worker, parties.reviewer, parties.verifier, parties.approver))
    lines += [("may now", f"{party}: {', '.join(names)}") for party in everyone if (names := may(job, party))]
    return [(label, shown(line, 300)) for label, line in lines]


def _told(id: str, status: str, evidence: str) -> str:
    return f"{id}: {status}" + (f", {evidence}" if evidence else "")


def _brief(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_brief(item)}" for key, item in value.items())
    return " + ".join(map(_brief, value)) if isinstance(value, list) else str(value)
