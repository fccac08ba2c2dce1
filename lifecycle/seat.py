"""A seat: one party's chair at one job.

It fills in what an act answers, from the log that it last looked at, and offers only what its party may do. It adds convenience and
no rule: every method makes one act and submits it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias, TypeVar

from pydantic import JsonValue, ValidationError

from lifecycle.engine import Engine
from lifecycle.law import acts, door
from lifecycle.law.capability import Advertisement
from lifecycle.law.decide import answerable, may, refuse
from lifecycle.law.errors import Refused
from lifecycle.law.job import Job
from lifecycle.law.log import Receipt
from lifecycle.law.terms import Condition, Exclusion, Need, Spent, Terms
from lifecycle.law.tools import ProposedCall

Conditions: TypeAlias = Mapping[str, str | Condition] | Iterable[Condition]
Exclusions: TypeAlias = Mapping[str, str | Exclusion] | Iterable[Exclusion]
T = TypeVar("T", Condition, Exclusion)


class Seat:
    """What one party may do at one job. Every act is answered with its receipt, or with Refused, which says what would mend it.

    An act answers what stood when the seat last looked (`look`, `may`, `schema`), so that an answer to something that has been
    replaced since is refused; a seat that has not looked since its last act looks first.
    """

    def __init__(self, jobs: Engine, job: str, party: str) -> None:
        self._jobs, self.job_id, self.party = jobs, job, party
        self._seen: Job | None = None

    def look(self) -> Job:
        """The job as it stands now; what the next act answers, it answers as seen here."""
        self._seen = self._jobs.job(self.job_id, by=self.party)
        return self._seen

    def may(self) -> tuple[str, ...]:
        """The acts this party may take now."""
        self.look()
        return self._jobs.may(self.job_id, by=self.party)

    def schema(self) -> dict[str, JsonValue]:
        """JSON Schema of the acts this party may take now: hand it to a model as its structured output."""
        return acts_schema(self.may())

    def submit_json(self, text: str | bytes) -> Receipt:
        """Make the act that a model replied with; what it answers is filled in."""
        seen = self._seen or self.look()
        answers = {name: answerable(seen, name) for name in acts.ACTS}
        receipt = self._jobs.submit_json(self.job_id, text, by=self.party, answers=answers)
        self._seen = None
        return receipt

    def submit(self, act: acts.Act, *, id: str | None = None, expect: int | None = None) -> Receipt:
        """Make an act; what it answers is filled in if it does not say: for an act that is made already, what it answered."""
        receipt = self._jobs.submit(self.job_id, self._as_before(act, id or act.id), by=self.party, id=id, expect=expect)
        self._seen = None
        return receipt

    def filled(self, act: acts.Act) -> acts.Act:
        """The act with what it answers."""
        if "answers" not in type(act).model_fields or act.answered is not None:
            return act
        seen = self._seen
        if seen is None or act.act not in may(seen, self.party, self._jobs.law(seen)):
            seen = self.look()
        return act.model_copy(update={"answers": answerable(seen, act.act)})

    def _as_before(self, act: acts.Act, id: str | None) -> acts.Act:
        """The act with what it answers; a retry answers what it answered the first time, whatever stands now."""
        if id is not None and act.answered is None and "answers" in type(act).model_fields:
            for entry in self._jobs.log(self.job_id, by=self.party):
                if entry.id == id:
                    return act.model_copy(update={"answers": entry.act.answered})
        return self.filled(act)

    # ---- the worker's

    def accept(
        self,
        conditions: Conditions | None = None,
        exclusions: Exclusions | None = None,
        *,
        advertisement: Advertisement | None = None,
        estimate: acts.Estimate | None = None,
        alongside: bool = False,
        spent: Spent | None = None,
        id: str | None = None,
    ) -> Receipt:
        """Take the job, on its terms as they are; or stating terms, which may add but not leave out."""
        return self._make(
            "accept", id, conditions=conditions, exclusions=exclusions, advertisement=advertisement, estimate=estimate,
            alongside=alongside, spent=spent,
        )  # fmt: skip

    def decline(
        self, reason: str, *, kind: str = "other", mend: str = "", spent: Spent | None = None, id: str | None = None
    ) -> Receipt:
        """Do not take the job; `mend` is what would make this party take it."""
        return self._make("decline", id, reason=reason, kind=kind, mend=mend, spent=spent)

    def counter(
        self, concern: str, terms: Terms | None = None, *, binding: bool = False, spent: Spent | None = None, id: str | None = None
    ) -> Receipt:
        """Offer other terms, whole; binding if they are a commitment, as they must be once at work."""
        return self._make("counter", id, concern=concern, terms=terms, binding=binding, spent=spent)

    def defer(
        self, until: datetime, looking_into: str | None = None, *, need: Need | None = None, spent: Spent | None = None,
        id: str | None = None,
    ) -> Receipt:  # fmt: skip
        """Promise an answer by a time, after looking into something or once a need is met."""
        return self._make("defer", id, until=until, looking_into=looking_into, need=need, spent=spent)

    def progress(
        self, line: str, *points_at: str | acts.Pointer, nothing_new: bool = False, spent: Spent | None = None,
        id: str | None = None,
    ) -> Receipt:  # fmt: skip
        """One line on how it goes and what it points at (a text is an artifact's name), or that there is nothing new."""
        pointers = tuple({"ref": ref} if isinstance(ref, str) else ref for ref in points_at)
        return self._make("progress", id, line=line, points_at=pointers, nothing_new=nothing_new, spent=spent)

    def block(
        self, what: str, whom: str, *, by: datetime | None = None, choice: str | None = None, spent: Spent | None = None,
        id: str | None = None,
    ) -> Receipt:  # fmt: skip
        """Stop until somebody gives what is needed; an escalation names its choice."""
        return self._make("block", id, need={"what": what, "whom": whom, "by": by, "choice": choice}, spent=spent)

    def propose(
        self, calls: Iterable[ProposedCall], *, expires_at: datetime | None = None, spent: Spent | None = None,
        id: str | None = None,
    ) -> Receipt:  # fmt: skip
        """Ask for approval of gated calls, as one set whose id is the receipt's."""
        return self._make("propose", id, calls=tuple(calls), expires_at=expires_at, spent=spent)

    def deliver(
        self,
        *artifacts: str | acts.Artifact,
        value: JsonValue = None,
        met: Mapping[str, str] | None = None,
        not_met: Mapping[str, str] | None = None,
        unverifiable: Mapping[str, str] | Iterable[str] = (),
        honoured: Mapping[str, str] | Iterable[str] = (),
        broken: Mapping[str, str] | Iterable[str] = (),
        spent: Spent | None = None,
        id: str | None = None,
    ) -> Receipt:
        """Hand over artifacts or a value, with a report: condition ids by what they came to, each with its evidence."""
        findings = {"met": met or {}, "not_met": not_met or {}, "unverifiable": _evidenced(unverifiable)}
        kept = {"honoured": _evidenced(honoured), "broken": _evidenced(broken)}
        report = {
            "conditions": [{"id": i, "status": s, "evidence": e} for s, told in findings.items() for i, e in told.items()],
            "exclusions": [{"id": i, "status": s, "evidence": e} for s, told in kept.items() for i, e in told.items()],
        }
        handed = tuple({"name": name} if isinstance(name, str) else name for name in artifacts)
        return self._make(
            "deliver", id, artifacts=handed, value=value, report=report if any(report.values()) else None, spent=spent
        )

    def fail(
        self, words: str = "", *, reason: str = "failed", work: str = "unknown", spent: Spent | None = None, id: str | None = None
    ) -> Receipt:
        """Give up: why, and the condition the work is left in."""
        return self._make("fail", id, words=words, reason=reason, work=work, spent=spent)

    def halt(self, work: str, *artifacts: str, words: str = "", spent: Spent | None = None, id: str | None = None) -> Receipt:
        """Say that the work has stopped, in which condition, and what is left behind."""
        left = tuple({"name": name} for name in artifacts)
        return self._make("halt", id, work=work, artifacts=left, words=words, spent=spent)

    def renew(self) -> None:
        """Renew the lease: the agent's own sign of life, of which the log keeps nothing."""
        self._jobs.renew(self.job_id, by=self.party)

    # ---- the requester's, and whoever a need names

    def revise(self, *, id: str | None = None, **changes: object) -> Receipt:
        """Answer a counter with a changed request: `goal`, `conditions`, `exclusions`, `budget`, … ; what is absent stays."""
        return self._make("revise", id, **changes)

    def adopt(self, *, id: str | None = None) -> Receipt:
        """Take up the standing offer."""
        return self._make("adopt", id)

    def insist(self, *, id: str | None = None) -> Receipt:
        """Let the old terms stand."""
        return self._make("insist", id)

    def resolve(self, answer: str, *, id: str | None = None) -> Receipt:
        """Give what the block or the deferral asked for."""
        return self._make("resolve", id, answer=answer)

    def cancel(self, words: str = "", *, reason: str = "cancelled", id: str | None = None) -> Receipt:
        """Want the job no more."""
        return self._make("cancel", id, words=words, reason=reason)

    # ---- the judges'

    def clear(self, *, rules: str | None = None, id: str | None = None) -> Receipt:
        """Let the acceptance pass."""
        return self._make("clear", id, rules=rules)

    def veto(self, *offending: str, mend: str, rules: str | None = None, id: str | None = None) -> Receipt:
        """Send the acceptance back: the terms that offend, and what would mend them."""
        return self._make("veto", id, offending=offending, mend=mend, rules=rules)

    def decide(self, decisions: JsonValue, *, id: str | None = None) -> Receipt:
        """Decide the open set of calls; what is sent is judged whole, and a malformed bundle rejects every call."""
        return self._make("decide", id, decisions=decisions)

    def confirm(
        self, reason: str = "", *, checks: Iterable[acts.CheckRecord] = (), waivers: Iterable[acts.Waiver] = (),
        id: str | None = None,
    ) -> Receipt:  # fmt: skip
        """The result is what was asked."""
        return self._make("confirm", id, reason=reason, checks=tuple(checks), waivers=tuple(waivers))

    def reject(self, reason: str, *, checks: Iterable[acts.CheckRecord] = (), id: str | None = None) -> Receipt:
        """The result is not what was asked, and the job is over."""
        return self._make("reject", id, reason=reason, checks=tuple(checks))

    def rework(self, reason: str, *mend: str, checks: Iterable[acts.CheckRecord] = (), id: str | None = None) -> Receipt:
        """The result is not yet what was asked: the conditions to mend."""
        return self._make("rework", id, reason=reason, mend=mend, checks=tuple(checks))

    def _make(self, name: str, id: str | None, **fields: object) -> Receipt:
        given = {key: value for key, value in fields.items() if value is not None}
        try:
            for key, kind in (("conditions", Condition), ("exclusions", Exclusion)):
                if isinstance(terms := given.get(key), Mapping):
                    given[key] = named(kind, terms)
            act = acts.ACTS[name].model_validate(given)
        except ValidationError as error:
            job = self.look()
            fault = door.malformed(error)
            raise Refused(refuse(job, acts.Act(act=name), self.party, fault, self._jobs.law(job))) from None
        return self.submit(act, id=id)


def named(kind: type[T], given: Mapping[str, str | T] | Iterable[T] | None) -> tuple[T, ...] | None:
    """Conditions or exclusions, from texts by id or as they are; None stays None."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return tuple(given)
    return tuple(kind(id, text) if isinstance(text, str) else text for id, text in given.items())


def acts_schema(names: Iterable[str]) -> dict[str, JsonValue]:
    """JSON Schema of an object that is one of these acts, without what a seat fills in."""
    kinds: list[JsonValue] = []
    defs: dict[str, JsonValue] = {}
    for name in names:
        schema = acts.ACTS[name].model_json_schema()
        defs |= schema.pop("$defs", {})
        for filled in ("id", "at", "answers"):
            schema["properties"].pop(filled, None)
        schema["required"] = ["act", *schema.get("required", [])]
        kinds.append(schema)
    return {"type": "object", "anyOf": kinds, "$defs": defs}


def _evidenced(told: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    return told if isinstance(told, Mapping) else dict.fromkeys(told, "")
