"""The report of a job: every condition with its evidence, why it stopped, what came of it. From the log alone.

Whoever opens the store next year is told the same.
"""

from collections.abc import Sequence

from attrs import frozen
from pydantic import JsonValue

from lifecycle.jobs import Jobs
from lifecycle.law import acts
from lifecycle.law.door import shown
from lifecycle.law.job import Job
from lifecycle.law.log import Entry


@frozen
class Line:
    """One thing that counts: a condition, an invariant, an exclusion; what the worker said of it, and what was seen."""

    id: str
    kind: str
    text: str
    said: str
    """What the worker reported; it decides nothing in its favour."""
    status: str
    """What the verdict stands on: passed, failed, skipped, pending, unavailable; `unjudged` if nothing was recorded."""
    seen: str


@frozen
class Report:
    """What a job came to."""

    job: str
    goal: str
    worker: str
    stage: str
    reason: str | None
    """Why it stopped; None while it is open."""
    status: str | None
    """What came of it."""
    why: str
    """The last word of whoever ended it, or what it waits for."""
    lines: tuple[Line, ...]
    reworks: int
    calls: int

    def plain(self) -> dict[str, JsonValue]:
        """The report as JSON."""
        return {
            "job": self.job, "goal": self.goal, "worker": self.worker, "stage": self.stage, "reason": self.reason,
            "status": self.status, "why": self.why, "reworks": self.reworks, "calls": self.calls,
            "conditions": [
                {"id": one.id, "kind": one.kind, "text": one.text, "said": one.said, "status": one.status, "seen": one.seen}
                for one in self.lines
            ],
        }  # fmt: skip


def report(jobs: Jobs, id: str) -> Report:
    """The report of a job as its log tells it."""
    job, log = jobs.job(id), jobs.log(id)
    ended = job.termination
    return Report(
        job.id, job.brief.goal, job.parties.worker, job.stage.value, ended.reason.value if ended else None,
        ended.status.value if ended else None, _why(job, log), tuple(_lines(job, log)), job.tally.reworks,
        sum(len(entry.act.calls) for entry in log if isinstance(entry.act, acts.Propose)),
    )  # fmt: skip


def _lines(job: Job, log: Sequence[Entry]) -> list[Line]:
    records = _records(log)
    told = job.delivery.report if job.delivery is not None else None
    said = {one.id: f"{one.status}: {one.evidence}".rstrip(": ") for one in told.conditions} if told else {}
    said |= {one.id: f"{one.status}: {one.evidence}".rstrip(": ") for one in told.exclusions} if told else {}
    contract = job.brief.contract
    things: list[tuple[str, str, str]] = [(one.id, "condition", one.text) for one in job.terms.conditions]
    things += [(one.id, "invariant", one.text) for one in (contract.invariants if contract else ())]
    things += [(one.id, "exclusion", one.text) for one in job.terms.exclusions]
    unjudged = acts.CheckRecord("none", "pending")
    return [
        Line(id, kind, text, said.get(id, ""), held.status if held is not unjudged else "unjudged", held.seen)
        for id, kind, text in things
        for held in [records.get(id, unjudged)]
    ]


def _records(log: Sequence[Entry]) -> dict[str, acts.CheckRecord]:
    """The records of the last verdict."""
    for entry in reversed(log):
        if isinstance(entry.act, acts.Confirm | acts.Reject | acts.Rework):
            return {record.id: record for record in entry.act.checks}
    return {}


def _why(job: Job, log: Sequence[Entry]) -> str:
    if job.pause is not None:
        return f"it waits for {job.pause.decision}, owed by {job.pause.owed_by}"
    for entry in reversed(log):
        match entry.act:
            case acts.Confirm(reason=words) | acts.Reject(reason=words) | acts.Decline(reason=words):
                return shown(words, 2_000)
            case acts.Fail(words=words) | acts.Cancel(words=words):
                return shown(words, 2_000)
            case acts.Lapse(cause=cause):
                return f"{cause} was due, owed by {job.termination.owed_by if job.termination else 'nobody'}"
    return ""
