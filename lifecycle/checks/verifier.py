"""The verifier as ordinary code: what check records, words and waivers come to, and the act that says so.

What a worker says of itself decides nothing in its favour: its report can only hurt it. What is judged here is held against the law
when the act is made; who may skip, and when a record counts as pending again, is asked of the law and not decided here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from attrs import frozen
from pydantic import TypeAdapter

from lifecycle.checks.faults import Undecided
from lifecycle.law import acts
from lifecycle.law.door import shown
from lifecycle.law.guards import judging
from lifecycle.law.job import Job
from lifecycle.law.limits import LIMITS, Limits

_WORST_FIRST = ("failed", "unavailable", "pending", "skipped", "passed")
_CLEAR = ("passed", "skipped")
_RECORD: TypeAdapter[acts.CheckRecord] = TypeAdapter(acts.CheckRecord)


@frozen
class Word:
    """The verifier's own word on a condition that has no check."""

    met: bool
    why: str


@frozen
class Judgement:
    """What everything that counts stands at, by id, and what the worker itself reports as not met or broken and nobody waived.

    `standing` has one of passed, skipped, failed, pending, unavailable, absent (no record), unjudged (no check and no word).
    """

    standing: Mapping[str, str]
    against: tuple[str, ...]
    records: tuple[acts.CheckRecord, ...]
    waivers: tuple[acts.Waiver, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """What failed: nothing but other work mends it."""
        return tuple(id for id, status in self.standing.items() if status == "failed")

    @property
    def open(self) -> dict[str, str]:
        """What is not known yet, and why."""
        return {id: status for id, status in self.standing.items() if status != "failed" and status not in _CLEAR}

    @property
    def accepted(self) -> bool:
        """Whether everything passed, or was skipped with authority, and nothing reported against is left."""
        return not self.failed and not self.open and not self.against


def judge(
    job: Job,
    records: Iterable[acts.CheckRecord],
    *,
    words: Mapping[str, Word] | None = None,
    waivers: Iterable[acts.Waiver] = (),
) -> Judgement:
    """What the records come to for a delivered job. Of two records with one id the worse counts.

    A skip by nobody who may skip it is pending; so is a record made on another artifact or contract. Records of what is not in
    force (a precondition's) and waivers by who has no authority are left out.
    """
    known = judging.decided_by_records(job)
    kept = _worst(_standing(job, record) for record in records if record.id in known)
    typed = {condition.id for condition in job.terms.conditions if condition.typed}
    for id, word in (words or {}).items():
        if id in known and id not in typed and id not in kept:
            said = f"by the verifier's own word: {word.why}"
            kept[id] = acts.CheckRecord(id, "passed" if word.met else "failed", said)
    waived = {w.id: w for w in waivers if w.id in known and w.authority in job.parties.authorities}
    standing = dict.fromkeys(judging.required(job), "absent")
    standing |= {c.id: "unjudged" for c in job.terms.conditions if not c.typed and c.id not in waived}
    standing |= {record.id: record.status for record in kept.values()}
    against = tuple(id for id in _reported_against(job) if id not in waived)
    return Judgement(standing, against, tuple(kept.values()), tuple(waived.values()))


def verdict(
    job: Job,
    records: Iterable[acts.CheckRecord],
    *,
    words: Mapping[str, Word] | None = None,
    waivers: Iterable[acts.Waiver] = (),
    rework: bool = False,
    final: bool = False,
    limits: Limits = LIMITS,
) -> acts.Confirm | acts.Reject | acts.Rework:
    """The act a verifier makes: confirm if all is clear; else rework where it is wanted and a round is left; else reject.

    Undecided if nothing failed but something is not known yet; `final` rejects then too, and the job ends unresolved.
    """
    found = judge(job, records, words=words, waivers=waivers)
    answers = job.delivery.id if job.delivery else None
    checks = fitted(found.records, limits)
    if found.accepted:
        return acts.Confirm(answers=answers, reason=_reason(found), checks=checks, waivers=found.waivers)
    if not found.failed and not found.against and not final:
        raise Undecided(job.id, found.open)
    mend = _to_mend(job, found)
    if rework and mend and (found.failed or found.against) and job.tally.reworks < limits.reworks:
        return acts.Rework(answers=answers, reason=_reason(found), mend=mend, checks=checks)
    return acts.Reject(answers=answers, reason=_reason(found), checks=checks)


def fitted(records: Iterable[acts.CheckRecord], limits: Limits = LIMITS) -> tuple[acts.CheckRecord, ...]:
    """The same records, small enough for one act: what was printed is cut first, then the case ids; the digests stay."""
    kept = tuple(records)
    room = limits.payload_bytes // 2
    for output, cases in ((None, None), (1_000, 100), (200, 10), (0, 0)):
        if output is not None:
            kept = tuple(replace(r, output=r.output[-output:] if output else "", cases=r.cases[:cases]) for r in kept)
        if sum(len(_RECORD.dump_json(record, ensure_ascii=True)) for record in kept) <= room:
            break
    return kept


def _standing(job: Job, record: acts.CheckRecord) -> acts.CheckRecord:
    """The record as it counts for this job."""
    status = judging.standing_status(job, record)
    if status != record.status:
        return replace(record, status="pending", seen=f"{record.status}, but on another artifact or contract: {record.seen}")
    if status == "skipped" and record.authority not in judging.may_skip(job, record.id):
        who = f"`{record.authority}`, who may not" if record.authority else "nobody"
        return replace(record, status="pending", authority=None, seen=f"skipped by {who}: {record.seen}")
    return record


def _worst(records: Iterable[acts.CheckRecord]) -> dict[str, acts.CheckRecord]:
    kept: dict[str, acts.CheckRecord] = {}
    for record in records:
        held = kept.get(record.id)
        if held is None or _WORST_FIRST.index(record.status) < _WORST_FIRST.index(held.status):
            kept[record.id] = record
    return kept


def _reported_against(job: Job) -> list[str]:
    """What the worker reports as not met or broken. Nothing else of its report is read."""
    if job.delivery is None or job.delivery.report is None:
        return []
    report = job.delivery.report
    not_met = [finding.id for finding in report.conditions if finding.status == "not_met"]
    return not_met + [observance.id for observance in report.exclusions if observance.status == "broken"]


def _to_mend(job: Job, found: Judgement) -> tuple[str, ...]:
    """The conditions to mend; every one where an invariant or an exclusion failed alone, as only conditions can be named."""
    conditions = tuple(condition.id for condition in job.terms.conditions)
    wrong = {*found.failed, *found.against}
    return tuple(id for id in conditions if id in wrong) or conditions


def _reason(found: Judgement) -> str:
    seen = {record.id: record.seen for record in found.records}
    lines = [f"`{id}` {status}{f': {shown(seen[id], 300)}' if seen.get(id) else ''}" for id, status in found.standing.items()]
    lines += [f"`{id}` reported against by the worker itself" for id in found.against]
    lines += [f"`{waiver.id}` waived by `{waiver.authority}`: {shown(waiver.why, 300)}" for waiver in found.waivers]
    told = "; ".join(lines) or "nothing had to be checked"
    return told if len(told) <= 8_000 else f"{told[:7_999]}…"
