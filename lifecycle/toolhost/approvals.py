"""Approvals as a person meets them: what is pending, what one is shown, one's word, and what became of it.

All of it comes from the store alone: no tool need be registered here, and no executor is ever started. `Host` runs what is
approved, from the same store, in this process or another.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen
from pydantic import JsonValue

from lifecycle.engine import Engine
from lifecycle.law import acts
from lifecycle.law.errors import Reason as LawReason
from lifecycle.law.errors import Refused
from lifecycle.law.job import Job, Proposal
from lifecycle.law.log import Entry
from lifecycle.law.states import ENDED, Cause, Stage
from lifecycle.law.tools import ProposedCall, judge
from lifecycle.law.values import canonical
from lifecycle.toolhost.book import Book
from lifecycle.toolhost.calls import Claim, Pending, Reason, Result, Standing, Turn
from lifecycle.toolhost.errors import SetNotFound

PAGE = 1_000
"""Jobs read at a time."""


@frozen
class Ruling:
    """What the log says of a turn's set: the calls as proposed (none: nothing was), how it closed, the word on each gated call."""

    calls: tuple[ProposedCall, ...] = ()
    closed: bool = False
    verdicts: Mapping[str, str] = {}  # never changed: the value is frozen
    why: str = ""
    """What was wrong with the bundle, if it was malformed."""
    sent: JsonValue = None
    by: str = ""


class Approvals:
    """The desk of the approvers of one store."""

    def __init__(self, jobs: Engine) -> None:
        self.jobs, self.book = jobs, Book(jobs.store)

    def pending(self, job: str | None = None, *, by: str | None = None) -> list[Pending]:
        """The sets that wait for their approver, of one job or of all; with `by`, those that wait for that party."""
        now = self.jobs.store.now()
        found = [self.jobs.job(name) for name in ([job] if job is not None else self._awaiting())]
        return [
            Pending(one.id, one.standing.id, one.parties.approver, one.standing.expires_at, one.standing.calls)
            for one in found
            if one.stage is Stage.AWAITING_APPROVAL and isinstance(one.standing, Proposal) and by in (None, one.parties.approver)
            if one.standing.expires_at > now
        ]

    def decide(self, job: str, set_id: str, decisions: JsonValue, *, by: str) -> dict[str, Result]:
        """Send an approver's decisions. Refused if they come from another party, too late, or for a set decided otherwise.

        The same bundle again, from the same party, is no second decision and gives the recorded results. What is malformed
        rejects every call.
        """
        self.send(job, set_id, decisions, by=by)
        turn = self.book.turn(job, set_id)  # a set that no host issued has none, and no results
        return results(turn, self.ruling(turn), self.book.kept(turn)) if turn is not None else {}

    def send(self, job: str, set_id: str, decisions: JsonValue, *, by: str) -> None:
        """Send an approver's decisions, as `decide`, and ask nothing of what came of them."""
        try:
            self.jobs.submit(job, acts.Decide(answers=set_id, decisions=decisions), by=by)
        except Refused as refused:
            late = refused.reason in (LawReason.ALREADY_DECIDED, LawReason.CLOSED)
            if not late or not self._sent_before(job, set_id, decisions, by):
                raise

    def results(self, job: str, set_id: str) -> dict[str, Result]:
        """The result of each call of a set (or of an ungated turn) that has one, in the order of the calls."""
        turn = self.turn_of(job, set_id)
        return results(turn, self.ruling(turn), self.book.kept(turn))

    def standing(self, job: str, set_id: str) -> dict[str, Standing]:
        """Where each call of a set stands."""
        turn = self.turn_of(job, set_id)
        ruling, kept = self.ruling(turn), self.book.kept(turn)
        ended = results(turn, ruling, kept)
        return {slot.call.id: _standing(slot.call, ruling, kept.get(slot.call.id), ended.get(slot.call.id)) for slot in turn.slots}

    def turn_of(self, job: str, set_id: str) -> Turn:
        """The turn of a set; SetNotFound if the host issued none of this id."""
        turn = self.book.turn(job, set_id)
        if turn is None:
            raise SetNotFound(job, set_id)
        return turn

    def ruling(self, turn: Turn) -> Ruling:
        """What the log says of the turn's set."""
        return ruled(turn, self.jobs.log(turn.job, after=turn.after))

    def _awaiting(self) -> list[str]:
        found: list[str] = []
        while page := self.jobs.find(stage=Stage.AWAITING_APPROVAL, after=found[-1] if found else "", limit=PAGE):
            found += [row.job for row in page]
        return found

    def _sent_before(self, job: str, set_id: str, decisions: JsonValue, by: str) -> bool:
        turn = self.book.turn(job, set_id)
        ruling = self.ruling(turn) if turn is not None else Ruling()
        return ruling.by == by and _unordered(ruling.sent) == _unordered(decisions)


def ruled(turn: Turn, entries: Sequence[Entry]) -> Ruling:
    """What these entries say of the turn's set."""
    calls: tuple[ProposedCall, ...] = ()
    verdicts: Mapping[str, str]
    for entry in entries:
        act = entry.act
        if isinstance(act, acts.Propose) and entry.id == turn.id:
            calls = act.calls
        elif not calls:
            continue
        elif isinstance(act, acts.Decide) and act.answers == turn.id:
            verdicts, why = judge(turn.id, calls, act.decisions)
            if why and _other_digest(turn.id, calls, act.decisions):
                verdicts = dict.fromkeys(verdicts, "mismatch")
            return Ruling(calls, True, verdicts, why, act.decisions, entry.by)
        elif isinstance(act, acts.Lapse) and act.cause is Cause.APPROVAL:
            return Ruling(calls, True, {call.id: "expired" for call in calls if call.gated})
        elif entry.stage in ENDED:
            return Ruling(calls, True, {call.id: "ended" for call in calls if call.gated})
    return Ruling(calls)


def results(turn: Turn, ruling: Ruling, kept: Mapping[str, Claim | Result]) -> dict[str, Result]:
    """The result of each call that has one: as kept, or as the log and the gate tell it."""
    found: dict[str, Result] = {}
    for slot in turn.slots:
        call, held = slot.call.id, kept.get(slot.call.id)
        word = _REJECTED.get(ruling.verdicts.get(call, ""))
        if isinstance(held, Result):
            found[call] = held
        elif slot.fault:
            found[call] = Result(call, "rejected", "gate_error", slot.fault, operation=slot.operation)
        elif word is not None:
            found[call] = Result(call, "rejected", word, ruling.why, operation=slot.operation)
    return found


_REJECTED: Mapping[str, Reason] = {
    "denied": "denied", "expired": "expired", "malformed": "malformed", "mismatch": "mismatch", "ended": "ended",
}  # fmt: skip


def _other_digest(set_id: str, calls: Sequence[ProposedCall], sent: JsonValue) -> bool:
    """Whether all that is wrong with a bundle is a digest: it was made for other records than those stored."""
    digests = {call.id: call.digest for call in calls}
    words = sent.get("decisions") if isinstance(sent, dict) else None
    if not isinstance(sent, dict) or not isinstance(words, list):
        return False
    mended = [{**word, "digest": digests.get(str(word.get("call")), "")} for word in words if isinstance(word, dict)]
    whole = len(mended) == len(words) and all(isinstance(word, dict) and isinstance(word.get("digest"), str) for word in words)
    return whole and not judge(set_id, tuple(calls), {**sent, "decisions": [*mended]})[1]


def _standing(call: ProposedCall, ruling: Ruling, kept: Claim | Result | None, result: Result | None) -> Standing:
    if result is not None:
        return result.status
    if kept is not None:
        return "started"
    return "approved" if ruling.closed or (not call.gated and not ruling.calls) else "pending"


def _unordered(decisions: JsonValue) -> bytes:
    """The same bytes for the same decisions, in whatever order they stand."""
    if isinstance(decisions, dict) and isinstance(words := decisions.get("decisions"), list):
        decisions = {**decisions, "decisions": sorted(words, key=canonical)}
    return canonical(decisions)


def ancestry(jobs: Engine, job: Job) -> list[str]:
    """The ids of a job and of all it was delegated from."""
    found = [job.id]
    while (parent := job.brief.parent) is not None:
        job = jobs.job(parent)
        found.append(parent)
    return found
