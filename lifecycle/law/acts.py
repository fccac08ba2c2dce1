"""The twenty-three acts: the only things that change a job.

One frozen model per act; what each carries, and nothing of when it is legal. A field whose absence has a refusal of its own is
optional here, so that the law can say which. `id` is the caller's: a retry repeats it. `at` is the time the sender claims; the
engine's clock decides. `answers` is the id of the act that is answered.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from lifecycle.law.capability import Advertisement
from lifecycle.law.contract import Contract
from lifecycle.law.states import Cause, Work
from lifecycle.law.terms import Budget, Conditions, Exclusions, Intervals, Need, Requirements, Spent, Terms
from lifecycle.law.tools import Calls
from lifecycle.law.values import CLOSED, Count, Digest, Exit, Id, Instant, Json, Line, Money, PartyId, Seconds, Text, Words, unique


@dataclass(frozen=True, slots=True, config=CLOSED)
class Estimate:
    """What a job would take, and whether that is a commitment: costs, never prices."""

    commitment: bool
    tokens: Count | None = None
    money: Money | None = None
    seconds: Seconds | None = None
    done_by: Instant | None = None


@dataclass(frozen=True, slots=True, config=CLOSED)
class Pointer:
    """Something that exists outside the words: an artifact, a commit, a file, a digest."""

    ref: Words
    kind: Literal["artifact", "commit", "file", "digest"] = "artifact"


@dataclass(frozen=True, slots=True, config=CLOSED)
class Artifact:
    """Something delivered or left behind, and the digest of its bytes if the sender knows it."""

    name: Words
    digest: Digest | None = None


@dataclass(frozen=True, slots=True, config=CLOSED)
class Finding:
    """What the worker says of one condition. `met` needs evidence."""

    id: Id
    status: Literal["met", "not_met", "unverifiable"]
    evidence: Text = ""


@dataclass(frozen=True, slots=True, config=CLOSED)
class Observance:
    """What the worker says of one exclusion; one that is not named is unverifiable."""

    id: Id
    status: Literal["honoured", "broken", "unverifiable"]
    evidence: Text = ""


@dataclass(frozen=True, slots=True, config=CLOSED)
class Report:
    """What came of the terms, one finding per condition in force."""

    conditions: Annotated[tuple[Finding, ...], AfterValidator(unique)] = ()
    exclusions: Annotated[tuple[Observance, ...], AfterValidator(unique)] = ()


@dataclass(frozen=True, slots=True, config=CLOSED)
class CheckRecord:
    """What one check showed; its id is that of the condition, invariant or requirement it decides.

    A record made against another artifact or contract version counts as pending. A skip names who authorised it and why.
    """

    id: Id
    status: Literal["pending", "passed", "failed", "skipped", "unavailable"]
    seen: Text = ""
    authority: PartyId | None = None
    artifact: Digest | None = None
    contract: Digest | None = None
    argv: tuple[Text, ...] = ()
    cwd: Text = ""
    environment: Id | None = None
    cases: tuple[Text, ...] = ()
    exit: Exit | None = None
    output: Text = ""
    output_digest: Digest | None = None
    started: Instant | None = None
    ended: Instant | None = None


@dataclass(frozen=True, slots=True, config=CLOSED)
class Waiver:
    """An authority's word that a condition not met, or an exclusion broken, is let pass."""

    id: Id
    authority: PartyId
    why: Words


def _with_terms(contract: Contract) -> Contract:
    """The same contract; a ValueError if its terms cannot stand, as when a non-goal has the id of its write scope."""
    unique(contract.terms.exclusions)
    return contract


Governing = Annotated[Contract, AfterValidator(_with_terms)]
"""A contract that terms are taken from."""
Records = Annotated[tuple[CheckRecord, ...], AfterValidator(unique)]


class Act(BaseModel):
    """What every act carries. The party is not here: it comes from the caller's seat or authenticator."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    act: str
    id: Id | None = None
    at: Instant | None = None

    @property
    def answered(self) -> str | None:
        """The id of the act this one answers, if it is an answer."""
        return None


class Answer(Act):
    """An act that answers another, by its id."""

    answers: Id | None = None

    @property
    def answered(self) -> str | None:
        """The id of the act this one answers."""
        return self.answers


class WorkerAct(Act):
    """An act of the worker, which may tell what the job has used up so far."""

    spent: Spent | None = None


class WorkerAnswer(Answer):
    """An answer of the worker, which may tell what the job has used up so far."""

    spent: Spent | None = None


def _one_of(contract: Contract | None, conditions: Conditions | None) -> None:
    if contract is not None and conditions:
        raise ValueError("it carries a contract or conditions, not both; put the conditions into the contract")


class Request(Act):
    """Ask a worker for a job. Reviewer, verifier, approver and authorities default to the requester.

    `verdict` asks for a verdict on the result; by default one is asked where there are conditions.
    """

    act: Literal["request"] = "request"
    goal: Words
    worker: PartyId
    reviewer: PartyId | None = None
    verifier: PartyId | None = None
    approver: PartyId | None = None
    authorities: tuple[PartyId, ...] = ()
    contract: Governing | None = None
    conditions: Conditions = ()
    exclusions: Exclusions = ()
    requirements: Requirements = ()
    constraints: tuple[Words, ...] = ()
    budget: Budget | None = None
    review: bool = False
    rules: Digest | None = None
    verdict: bool | None = None
    respond_by: Instant | None = None
    complete_by: Instant | None = None
    intervals: Intervals = Field(default_factory=Intervals)
    parent: Id | None = None
    supersedes: Id | None = None

    @model_validator(mode="after")
    def _contract_or_conditions(self) -> "Request":
        _one_of(self.contract, self.conditions)
        if self.contract is not None:
            unique(self.contract.terms.exclusions + self.exclusions)
        return self


class Revise(Answer):
    """Answer a counter with a changed request. What is absent stays as it was; the parties and the worker always do."""

    act: Literal["revise"] = "revise"
    goal: Words | None = None
    contract: Governing | None = None
    conditions: Conditions | None = None
    exclusions: Exclusions | None = None
    requirements: Requirements | None = None
    constraints: tuple[Words, ...] | None = None
    budget: Budget | None = None
    complete_by: Instant | None = None
    intervals: Intervals | None = None

    @model_validator(mode="after")
    def _contract_or_conditions(self) -> "Revise":
        _one_of(self.contract, self.conditions)
        return self


class Adopt(Answer):
    """Take up the standing, binding counter: its terms become the terms."""

    act: Literal["adopt"] = "adopt"


class Insist(Answer):
    """Let the old terms stand against a counter made at work."""

    act: Literal["insist"] = "insist"


class Accept(WorkerAnswer):
    """Take the job. Without conditions, on the request's terms as they are; with them, on no less."""

    act: Literal["accept"] = "accept"
    conditions: Conditions | None = None
    exclusions: Exclusions | None = None
    requirements: Requirements | None = None
    advertisement: Advertisement | None = None
    estimate: Estimate | None = None
    alongside: bool = False


class Decline(WorkerAnswer):
    """Do not take the job, and say why; `mend` is what would make the worker take it."""

    act: Literal["decline"] = "decline"
    kind: Literal[
        "infeasible_as_stated",
        "out_of_scope",
        "missing_access",
        "insufficient_spec",
        "policy_conflict",
        "over_capacity",
        "other",
    ] = "other"
    reason: Words
    mend: Text = ""


class Counter(WorkerAnswer):
    """Offer other terms, whole. Binding says whether the worker commits to them."""

    act: Literal["counter"] = "counter"
    terms: Terms | None = None
    concern: Words
    binding: bool = False
    advertisement: Advertisement | None = None


class Defer(WorkerAnswer):
    """Promise an answer by a time: after looking into something, or once something is known."""

    act: Literal["defer"] = "defer"
    until: Instant
    looking_into: Words | None = None
    need: Need | None = None


class Clear(Answer):
    """Let an acceptance pass review; `rules` is the digest of the rules it was held against."""

    act: Literal["clear"] = "clear"
    rules: Digest | None = None


class Veto(Answer):
    """Send an acceptance back: which terms offend, and what would mend them."""

    act: Literal["veto"] = "veto"
    offending: Annotated[tuple[Words, ...], Field(min_length=1)]
    mend: Words
    rules: Digest | None = None


class Progress(WorkerAct):
    """One line on how it goes, and what it points at; or plainly that there is nothing new."""

    act: Literal["progress"] = "progress"
    line: Line
    points_at: tuple[Pointer, ...] = ()
    nothing_new: bool = False


class Block(WorkerAct):
    """Stop until somebody else gives what is needed."""

    act: Literal["block"] = "block"
    need: Need | None = None


class Resolve(Answer):
    """Give what a block or a deferral asked for."""

    act: Literal["resolve"] = "resolve"
    answer: Words


class Propose(WorkerAct):
    """Ask for approval of one turn's gated calls, as one set whose id is this act's."""

    act: Literal["propose"] = "propose"
    calls: Calls = ()
    expires_at: Instant | None = None


class Decide(Answer):
    """Decide a set. What is sent is not parsed at the door: a malformed bundle rejects every call."""

    act: Literal["decide"] = "decide"
    decisions: Json = None


class Deliver(WorkerAct):
    """Hand over the result: artifacts or a plain value, and a report against the terms."""

    act: Literal["deliver"] = "deliver"
    artifacts: tuple[Artifact, ...] = ()
    value: Json = None
    report: Report | None = None


class Confirm(Answer):
    """The result is what was asked: check records, waivers by name, and the verifier's own word on the rest."""

    act: Literal["confirm"] = "confirm"
    reason: Text = ""
    checks: Records = ()
    waivers: Annotated[tuple[Waiver, ...], AfterValidator(unique)] = ()


class Reject(Answer):
    """The result is not what was asked, and the job is over."""

    act: Literal["reject"] = "reject"
    reason: Words
    checks: Records = ()


class Rework(Answer):
    """The result is not yet what was asked: which conditions, exclusions or invariants to mend."""

    act: Literal["rework"] = "rework"
    reason: Words
    mend: Annotated[tuple[Id, ...], Field(min_length=1)]
    checks: Records = ()


class Fail(WorkerAct):
    """The worker cannot finish: why, and in which condition it leaves the work."""

    act: Literal["fail"] = "fail"
    reason: Literal[
        "failed", "withdrawn", "budget_exhausted", "progress_stalled", "environment_unavailable", "invariant_violated",
        "approval_denied",
    ] = "failed"  # fmt: skip
    work: Work = Work.UNKNOWN
    words: Text = ""


class Cancel(Act):
    """The requester wants the job no more."""

    act: Literal["cancel"] = "cancel"
    reason: Literal["cancelled", "superseded"] = "cancelled"
    words: Text = ""


class Halt(WorkerAct):
    """The worker has stopped: the condition of the work, and what is left behind."""

    act: Literal["halt"] = "halt"
    work: Work
    artifacts: tuple[Artifact, ...] = ()
    words: Text = ""


class Lapse(Act):
    """A deadline passed: which, due when. Made by the engine only; a lease's keeps the renewal it was judged by."""

    act: Literal["lapse"] = "lapse"
    cause: Cause
    due: Instant
    renewed_at: Instant | None = None


ACTS: dict[str, type[Act]] = {
    str(model.model_fields["act"].default): model
    for model in (
        Request, Revise, Adopt, Insist, Accept, Decline, Counter, Defer, Clear, Veto, Progress, Block, Resolve, Propose, Decide,
        Deliver, Confirm, Reject, Rework, Fail, Cancel, Halt, Lapse,
    )
}  # fmt: skip
"""Every act by its name. A name that is not here is unknown; no name is ever looked up on an object."""
