"""What is said when something cannot be done: one class per remedy.

`Reason` has one member per law, in the order in which they are judged: when several apply, the first is the one given. A
refusal is a value (`Refusal`) so that the pure law can answer with it; `Refused` carries it to a caller. Rules live elsewhere.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from attrs import frozen

from lifecycle.law.states import Stage


class Reason(StrEnum):
    """Why an act was not accepted. The order of the members is the order of precedence (law, section 10)."""

    PAYLOAD_TOO_LARGE = "payload_too_large"
    TEXT_TOO_LONG = "text_too_long"
    MALFORMED = "malformed"
    UNKNOWN_ACT = "unknown_act"
    JOB_NOT_FOUND = "job_not_found"
    ACT_ID_REUSED = "act_id_reused"
    CLOSED = "closed"
    ILLEGAL = "illegal"
    ALREADY_DECIDED = "already_decided"
    EXPIRED = "expired"
    UNKNOWN_SET = "unknown_set"
    NOT_AUTHORISED = "not_authorised"
    STALE_OFFER = "stale_offer"
    # the acts' own laws, in the order of section 5
    SPENT_DECREASED = "spent_decreased"
    SELF_JUDGED = "self_judged"
    EMPTY_ACCEPTANCE = "empty_acceptance"
    DUPLICATE_ID = "duplicate_id"
    PARENT_NOT_ACTIVE = "parent_not_active"
    NOT_PARENTS_WORKER = "not_parents_worker"
    PARENT_TERMS = "parent_terms"
    NOT_ENDED = "not_ended"
    WEAKER_TERMS = "weaker_terms"
    UNGROUNDED = "ungrounded"
    FOREIGN_CHECK = "foreign_check"
    NO_TERMS = "no_terms"
    NOT_BINDING = "not_binding"
    OTHER_RULES = "other_rules"
    UNTIL_OUT_OF_RANGE = "until_out_of_range"
    NOTHING_TO_POINT_AT = "nothing_to_point_at"
    NO_NEED = "no_need"
    UNKNOWN_PARTY = "unknown_party"
    NOTHING_GATED = "nothing_gated"
    CHILDREN_OPEN = "children_open"
    REPORT_INCOMPLETE = "report_incomplete"
    UNKNOWN_CONDITION = "unknown_condition"
    NO_EVIDENCE = "no_evidence"
    NO_AUTHORITY = "no_authority"
    CHECK_NOT_PASSED = "check_not_passed"
    NOT_WAIVED = "not_waived"
    # the bounds
    TOO_MANY_REVISIONS = "too_many_revisions"
    TOO_MANY_DEFERRALS = "too_many_deferrals"
    TOO_MANY_VETOES = "too_many_vetoes"
    TOO_MANY_REWORKS = "too_many_reworks"
    TOO_MANY_CONDITIONS = "too_many_conditions"
    TOO_MANY_CALLS = "too_many_calls"
    TOO_MANY_COUNTERS = "too_many_counters"
    TOO_MANY_BLOCKS = "too_many_blocks"
    TOO_MANY_PROPOSALS = "too_many_proposals"
    TOO_MANY_ENTRIES = "too_many_entries"
    TREE_TOO_DEEP = "tree_too_deep"
    TREE_TOO_BROAD = "tree_too_broad"


@frozen
class Refusal:
    """An act that was not accepted. It changed nothing.

    `may` lists the acts that `by` may take now; `detail` says what was refused and why, `mend` what would make it acceptable.
    `guard` is the name of the question in the table that answered no, empty where the stage alone decided.
    """

    reason: Reason
    act: str
    job: str
    by: str
    stage: Stage | None
    may: tuple[str, ...]
    detail: str
    mend: str
    guard: str = ""

    def __str__(self) -> str:
        where = f" in `{self.stage}`" if self.stage else ""
        may = f"; `{self.by}` may now: {', '.join(self.may) or 'nothing'}" if self.stage else ""
        what = f"`{self.act}`" if self.act else "the text"
        return f"{what} refused{where} as {self.reason}: {self.detail}; to mend it, {self.mend}{may}"


@frozen
class KeptRefusal:
    """A refusal as it is kept, apart from the log: the whole act that was refused, and when."""

    refusal: Refusal
    at: datetime
    payload: str
    """The refused act as JSON, whole, so that a late result is filed and not lost."""


class LifecycleError(Exception):
    """Everything this library raises on purpose."""


class Refused(LifecycleError):
    """The law refuses the act. Remedy: do what `mend` says, or one of the acts in `may`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal

    @property
    def reason(self) -> Reason:
        """Why, as one word."""
        return self.refusal.reason

    @property
    def stage(self) -> Stage | None:
        """The stage the job was, and still is, in."""
        return self.refusal.stage

    @property
    def may(self) -> tuple[str, ...]:
        """The acts that the party may take now."""
        return self.refusal.may

    @property
    def mend(self) -> str:
        """What would make the act acceptable."""
        return self.refusal.mend

    def __reduce__(self) -> tuple[type["Refused"], tuple[Refusal]]:
        return type(self), (self.refusal,)


class JobNotFound(LifecycleError):
    """There is no such job, or none that this party may know of. Remedy: another id, or another party."""

    reason = Reason.JOB_NOT_FOUND

    def __init__(self, job: str) -> None:
        super().__init__(f"no job `{job}` here; to mend it, check the id and the party you act as")
        self.job = job

    def __reduce__(self) -> tuple[type["JobNotFound"], tuple[str]]:
        return type(self), (self.job,)


class JobGone(JobNotFound):
    """The job was purged; the facts tell what it was last known as. Remedy: look into the archive, or take a new id."""

    def __init__(self, job: str, last: Mapping[str, object]) -> None:
        """`last`: the final `stage`, `termination` (reason and status), `seq` and `hash`, and when it was `purged_at`."""
        self.job, self.last = job, dict(last)
        known = f"last known as `{last['stage']}` ({last['termination']}), entry {last['seq']}, hash {last['hash']}"
        LifecycleError.__init__(
            self, f"job `{job}` is gone, purged at {last['purged_at']}; {known}; to mend it, look into the archive or take a new id"
        )

    def __reduce__(self) -> tuple[type["JobGone"], tuple[str, dict[str, object]]]:  # type: ignore[override]
        return type(self), (self.job, self.last)


class Conflict(LifecycleError):
    """The log has grown since it was read. Remedy: read it again and decide again."""

    def __init__(self, job: str, expected: int | None, actual: int | None) -> None:
        super().__init__(f"job `{job}` stands at seq {actual}, not at {expected}; to mend it, read the log again and decide again")
        self.job, self.expected, self.actual = job, expected, actual

    def __reduce__(self) -> tuple[type["Conflict"], tuple[str, int | None, int | None]]:
        return type(self), (self.job, self.expected, self.actual)


class CorruptLog(LifecycleError):
    """A stored log is not what was written. Remedy: restore it from a copy; `audit` names every first bad entry."""

    def __init__(self, job: str, seq: int, what: str) -> None:
        super().__init__(f"job `{job}`, entry {seq}: {what}; to mend it, restore the log from a copy and run audit")
        self.job, self.seq, self.what = job, seq, what

    def __reduce__(self) -> tuple[type["CorruptLog"], tuple[str, int, str]]:
        return type(self), (self.job, self.seq, self.what)


class CorruptSnapshot(LifecycleError):
    """A snapshot of a job is not what was dumped. Remedy: throw it away and replay the log."""

    def __init__(self, what: str) -> None:
        super().__init__(f"this is no snapshot of a job: {what}; to mend it, throw it away and replay the log")
        self.what = what

    def __reduce__(self) -> tuple[type["CorruptSnapshot"], tuple[str]]:
        return type(self), (self.what,)


class UnknownLaw(LifecycleError):
    """A log was written under a version of the law that this build does not know. Remedy: a newer build."""

    def __init__(self, job: str, version: int, known: Sequence[int]) -> None:
        names = ", ".join(map(str, known))
        super().__init__(f"job `{job}` was written under law {version}, this build knows law {names}; install a newer build")
        self.job, self.version, self.known = job, version, tuple(known)


class StoreError(LifecycleError):
    """The store could not do what was asked; nothing was written. Remedy: what the message says, then the same act again."""


class StoreBusy(StoreError):
    """Other writers held the store for longer than its busy timeout. Remedy: the same act again."""


class StoreVersion(StoreError):
    """The file has another layout than this build writes. Remedy: the build that the message names."""
