"""What is asked: conditions, exclusions, checks, budgets, deadlines.

Values only, frozen and validated at the door. What the law makes of terms lives in `guards`; the file a person writes is in
`contract`.
"""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic.dataclasses import dataclass

from lifecycle.law.capability import Requirement
from lifecycle.law.values import (
    CLOSED,
    Count,
    Digest,
    Exit,
    Id,
    Instant,
    Interval,
    Json,
    Line,
    Money,
    PartyId,
    Seconds,
    Text,
    Words,
    unique,
)


@dataclass(frozen=True, slots=True, config=CLOSED)
class CommandCheck:
    """A program that must end with `exit`, every one of `repeat` times, each within `timeout` seconds.

    `cases` are test case ids that must have run, at least `min_cases` in all, counted from the JUnit file at `junit`.
    """

    argv: Annotated[tuple[Words, ...], Field(min_length=1)]
    kind: Literal["command"] = "command"
    cwd: Text = "."
    environment: Id | None = None
    timeout: Seconds = 600.0
    exit: Exit = 0
    repeat: Annotated[int, Field(ge=1, le=10_000)] = 1
    cases: tuple[Line, ...] = ()
    min_cases: Count = 0
    junit: Text | None = None


@dataclass(frozen=True, slots=True, config=CLOSED)
class FileCheck:
    """A file that must exist, by default with something in it, and have the digest if one is given."""

    path: Words
    kind: Literal["file"] = "file"
    non_empty: bool = True
    digest: Digest | None = None


@dataclass(frozen=True, slots=True, config=CLOSED)
class DiffCheck:
    """Nothing changed since `base` but paths that match `scope` (default: the contract's write scope)."""

    kind: Literal["diff"] = "diff"
    base: Text | None = None
    scope: tuple[Words, ...] = ()


@dataclass(frozen=True, slots=True, config=CLOSED)
class MetricCheck:
    """A quantity that a program prints, held against a threshold, in the setup it is measured in."""

    metric: Words
    argv: Annotated[tuple[Words, ...], Field(min_length=1)]
    op: Literal["<", "<=", "==", ">=", ">"]
    threshold: Annotated[float, Field(allow_inf_nan=False)]
    setup: Words
    kind: Literal["metric"] = "metric"
    unit: Text = ""
    timeout: Seconds = 600.0


@dataclass(frozen=True, slots=True, config=CLOSED)
class CallableCheck:
    """A Python callable, `package.module:function`, given `arguments`."""

    entry_point: Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$", max_length=512)]
    kind: Literal["callable"] = "callable"
    arguments: Json = None
    timeout: Seconds = 600.0


@dataclass(frozen=True, slots=True, config=CLOSED)
class PersonCheck:
    """A question that a named party answers."""

    party: PartyId
    question: Words
    kind: Literal["person"] = "person"


Check = Annotated[CommandCheck | FileCheck | DiffCheck | MetricCheck | CallableCheck | PersonCheck, Field(discriminator="kind")]
"""A typed check. Only one of the requester's own, or one the requester adopted, is ever run."""


@dataclass(frozen=True, slots=True, config=CLOSED)
class Condition:
    """One condition of satisfaction. A `check` that is text is judged by a person and never run."""

    id: Id
    text: Words
    check: Check | Words | None = None

    @property
    def typed(self) -> bool:
        """Whether the check is one that decides by itself."""
        return self.check is not None and not isinstance(self.check, str)


@dataclass(frozen=True, slots=True, config=CLOSED)
class Exclusion:
    """One thing the work must leave alone: a path (a pattern), or a behaviour in words."""

    id: Id
    text: Words
    kind: Literal["path", "behaviour"] = "behaviour"


@dataclass(frozen=True, slots=True, config=CLOSED)
class Spent:
    """What a job has used up so far: cumulative, never decreasing. Tokens; money; seconds."""

    tokens: Count = 0
    money: Money = Decimal(0)
    seconds: Seconds = 0.0


@dataclass(frozen=True, slots=True, config=CLOSED)
class Budget:
    """The most a job may use up. An absent limit is none. Seconds run by the clock too, while it is the worker's turn."""

    tokens: Count | None = None
    money: Money | None = None
    seconds: Seconds | None = None

    def exceeded_by(self, spent: Spent) -> bool:
        """Whether any of the three is more than allowed."""
        return (
            (self.tokens is not None and spent.tokens > self.tokens)
            or (self.money is not None and spent.money > self.money)
            or (self.seconds is not None and spent.seconds > self.seconds)
        )


@dataclass(frozen=True, slots=True, config=CLOSED)
class Intervals:
    """How long each wait may last. An absent one takes its named default from `limits`."""

    respond: Interval | None = None
    answer: Interval | None = None
    review: Interval | None = None
    verdict: Interval | None = None
    lease: Interval | None = None
    stall: Interval | None = None
    stop: Interval | None = None


Conditions = Annotated[tuple[Condition, ...], AfterValidator(unique)]
Exclusions = Annotated[tuple[Exclusion, ...], AfterValidator(unique)]
Requirements = Annotated[tuple[Requirement, ...], AfterValidator(unique)]


@dataclass(frozen=True, slots=True, config=CLOSED)
class Terms:
    """What a job is held to: conditions, exclusions, invariants, and the limits that are in force."""

    conditions: Conditions = ()
    exclusions: Exclusions = ()
    requirements: Requirements = ()
    constraints: tuple[Words, ...] = ()
    budget: Budget | None = None
    complete_by: Instant | None = None


@dataclass(frozen=True, slots=True, config=CLOSED)
class Need:
    """What is needed to go on, from whom, by when; an escalation names its `choice`."""

    what: Words
    whom: PartyId
    by: Instant | None = None
    choice: Words | None = None
