"""The nine states and their seventeen stages.

Here live the words a job may *be*: states, stages, parties' roles, why a job stopped and what came of it. Whatever says how a
job gets from one to the other lives in `table`; nothing here decides anything.
"""

from enum import StrEnum
from typing import Literal

ActName = Literal[
    "request", "revise", "adopt", "insist", "accept", "decline", "counter", "defer", "clear", "veto", "progress", "block",
    "resolve", "propose", "decide", "deliver", "confirm", "reject", "rework", "fail", "cancel", "halt", "lapse",
]  # fmt: skip


class State(StrEnum):
    """What a job is, to anyone who asks: one of nine words."""

    REQUESTED = "requested"
    DECLINED = "declined"
    COUNTERED = "countered"
    DEFERRED = "deferred"
    ACCEPTED = "accepted"
    PROGRESSING = "progressing"
    RESULT = "result"
    ERROR = "error"
    CANCELLED = "cancelled"


class Stage(StrEnum):
    """A state, or a named part of one; which acts are legal depends on the stage."""

    REQUESTED = "requested"
    DEFERRED = "deferred"
    COUNTERED = "countered"
    DECLINED = "declined"
    UNDER_REVIEW = "accepted.under_review"
    READY = "accepted.ready"
    WORKING = "progressing.working"
    BLOCKED = "progressing.blocked"
    AWAITING_APPROVAL = "progressing.awaiting_approval"
    RENEGOTIATING = "progressing.renegotiating"
    DELIVERED = "result.delivered"
    UNVERIFIED = "result.unverified"
    ACCEPTED = "result.accepted"
    REJECTED = "result.rejected"
    ERROR = "error"
    STOPPING = "cancelled.stopping"
    STOPPED = "cancelled.stopped"

    @property
    def state(self) -> State:
        """The state this stage is a part of."""
        return State(self.value.partition(".")[0])


FINAL = frozenset({Stage.DECLINED, Stage.UNVERIFIED, Stage.ACCEPTED, Stage.REJECTED, Stage.ERROR, Stage.STOPPED})
"""Stages that nothing leaves."""

ENDED = FINAL | {Stage.STOPPING}
"""Stages with a termination: final, or stopped with the condition of the work still owed."""

OPEN = frozenset(Stage) - ENDED
"""Stages in which the job may still come to something."""

PAUSED = frozenset({
    Stage.DEFERRED, Stage.COUNTERED, Stage.UNDER_REVIEW, Stage.BLOCKED, Stage.AWAITING_APPROVAL, Stage.RENEGOTIATING,
    Stage.DELIVERED,
})  # fmt: skip
"""Open stages that wait for a named decision by a named party."""

BOUND = frozenset({
    Stage.UNDER_REVIEW, Stage.READY, Stage.WORKING, Stage.BLOCKED, Stage.AWAITING_APPROVAL, Stage.RENEGOTIATING,
})  # fmt: skip
"""Accepted and progressing: the worker has taken the job and has not delivered."""

RUNNING = frozenset({Stage.READY, Stage.WORKING})
"""Stages in which it is the worker's turn: its lease, its stall and its seconds run here and nowhere else."""


class Role(StrEnum):
    """A party's part in a job. `NEEDED` is whoever the standing block or deferral asks, or the requester."""

    REQUESTER = "requester"
    WORKER = "worker"
    REVIEWER = "reviewer"
    VERIFIER = "verifier"
    APPROVER = "approver"
    CLOCK = "clock"
    NEEDED = "whoever the need names, or the requester"


class Cause(StrEnum):
    """Which deadline lapsed. The order is the order of ties: what falls due at one instant goes in this order."""

    PARENT = "parent"
    COMPLETION = "completion"
    BUDGET = "budget"
    LEASE = "lease"
    STALL = "stall"
    RESPOND = "respond"
    UNTIL = "until"
    ANSWER = "answer"
    REVIEW = "review"
    APPROVAL = "approval"
    VERDICT = "verdict"
    STOP = "stop"


class Ending(StrEnum):
    """Why a job stopped: the `reason` of a termination."""

    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    PARENT_CLOSED = "parent_closed"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
    ABANDONED = "abandoned"
    BUDGET_EXHAUSTED = "budget_exhausted"
    PROGRESS_STALLED = "progress_stalled"
    ENVIRONMENT_UNAVAILABLE = "environment_unavailable"
    INVARIANT_VIOLATED = "invariant_violated"
    APPROVAL_DENIED = "approval_denied"
    DELIVERED = "delivered"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class Status(StrEnum):
    """What came of a job: the `status` of a termination. Passed if and only if the stage is result.accepted."""

    NONE = "none"
    UNRESOLVED = "unresolved"
    PASSED = "passed"
    FAILED = "failed"


class Work(StrEnum):
    """The condition the work was left in."""

    UNTOUCHED = "untouched"
    PARTIAL = "partial"
    REVERTED = "reverted"
    COMPLETE = "complete"
    UNKNOWN = "unknown"
