"""The review over time: what the logs of a store tell about its contracts, its owners and its environments.

    found = review(jobs)
    found.escalations        # which hidden choices come up: the contract's template needs a field for them
    found.stale              # digests that were another's by then, by write scope: owners who get in each other's way
    found.unchecked          # checks skipped or unavailable, day by day: an environment that drifts
    found.refusals           # what the law said no to, by reason

From the log alone, and the refusals kept beside it. Nothing here draws; `plots` does.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from attrs import frozen
from pydantic import JsonValue

from lifecycle.jobs import Jobs
from lifecycle.law import acts
from lifecycle.law.job import Job
from lifecycle.law.log import Entry

PAGE = 1_000
"""Jobs read at a time."""

NO_SCOPE = "no write scope"


@frozen
class Review:
    """What the logs tell, counted. Every count is of acts, but for `ended`, which is of jobs."""

    jobs: int
    ended: Mapping[str, int]
    """Jobs by why they stopped and what came of it, as `accepted / passed`; `open` for the rest."""
    escalations: Mapping[str, int]
    """Blocks by the choice they name."""
    stale: Mapping[str, int]
    """Check records and decisions with another digest than what they were about, by the contract's write scope."""
    unchecked: Mapping[str, Mapping[date, int]]
    """Checks that were skipped, and that were unavailable, by day (UTC)."""
    refusals: Mapping[str, int]

    def plain(self) -> dict[str, JsonValue]:
        """The review as JSON."""
        return {
            "jobs": self.jobs,
            "ended": dict(self.ended),
            "escalations": dict(self.escalations),
            "stale_digests": dict(self.stale),
            "unchecked": {kind: {day.isoformat(): n for day, n in days.items()} for kind, days in self.unchecked.items()},
            "refusals": dict(self.refusals),
        }


def review(jobs: Jobs, *, since: date | None = None) -> Review:
    """Read every job of a store, and count. `since`: only entries and refusals of that day (UTC) and later."""
    seen = 0
    ended, escalations, stale, refusals = (Counter[str]() for _ in range(4))
    unchecked = {"skipped": Counter[date](), "unavailable": Counter[date]()}
    for job in _all(jobs):
        seen += 1
        ended[str(job.termination) if job.termination else "open"] += 1
        calls: dict[str, set[str]] = {}
        for entry in jobs.log(job.id):
            if isinstance(entry.act, acts.Propose):
                calls[entry.id] = {call.digest for call in entry.act.calls}
            if since is not None and entry.at.date() < since:
                continue
            if isinstance(entry.act, acts.Block) and entry.act.need is not None and entry.act.need.choice:
                escalations[entry.act.need.choice] += 1
            stale[_scope(job)] += _stale(job, entry, calls)
            for record in _records(entry):
                if record.status in unchecked:
                    unchecked[record.status][entry.at.date()] += 1
        refusals.update(kept.refusal.reason.value for kept in jobs.refusals(job.id) if since is None or kept.at.date() >= since)
    return Review(seen, _sorted(ended), _sorted(escalations), _sorted(+stale), _by_day(unchecked), _sorted(refusals))


def _all(jobs: Jobs) -> Iterator[Job]:
    rows = jobs.find(limit=PAGE)
    while rows:
        for row in rows:
            yield jobs.job(row.job)
        rows = jobs.find(after=rows[-1].job, limit=PAGE)


def _records(entry: Entry) -> Iterable[acts.CheckRecord]:
    return entry.act.checks if isinstance(entry.act, acts.Confirm | acts.Reject | acts.Rework) else ()


def _stale(job: Job, entry: Entry, calls: Mapping[str, set[str]]) -> int:
    """How many digests of an entry are not of what it is about: what was delivered, what was proposed."""
    if isinstance(entry.act, acts.Decide):
        held = entry.act.decisions
        words = held.get("decisions") if isinstance(held, dict) else None
        told = [word.get("digest") for word in words if isinstance(word, dict)] if isinstance(words, list) else []
        known = calls.get(entry.act.answers or "", set())
        return sum(isinstance(digest, str) and digest not in known for digest in told)
    made = {artifact.digest for artifact in job.delivery.artifacts if artifact.digest} if job.delivery else set()
    return sum(record.artifact is not None and bool(made) and record.artifact not in made for record in _records(entry))


def _scope(job: Job) -> str:
    contract = job.brief.contract
    return ", ".join(contract.write_scope) if contract is not None and contract.write_scope else NO_SCOPE


def _sorted(counts: Mapping[str, int]) -> Mapping[str, int]:
    """The most frequent first; of equals, by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _by_day(kinds: Mapping[str, Mapping[date, int]]) -> Mapping[str, Mapping[date, int]]:
    return {kind: dict(sorted(days.items())) for kind, days in kinds.items()}
