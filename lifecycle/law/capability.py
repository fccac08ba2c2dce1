"""What a worker advertises, what a requester requires, and whether the one grounds the other.

Data and one pure question, `ground`. Probing a remote and wrapping a function in a guard live in `lifecycle.handshake`; here is
only what they leave behind. An invariant that is not entailed by the advertisement, not proven by a probe and not covered by a
guard is ungrounded, whatever the advertisement is called.
"""

from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import Field
from pydantic.dataclasses import dataclass

from lifecycle.law.values import CLOSED, Count, Digest, Id, Instant, Json, Text, Words, canonical, sha256

Invariant = Literal["atomicity", "idempotency", "ordering", "bound", "read_only"]
Bounds = dict[Id, Count]
"""The sizes a statement holds up to, as `{"batch": 512}`; a size that is not named is not bounded."""


@dataclass(frozen=True, slots=True, config=CLOSED)
class Clause:
    """One statement of an advertisement: an invariant, its value, and up to which sizes it holds.

    Atomicity has the values all_or_nothing, per_record, best_effort and undo (which guarantees nothing).
    """

    invariant: Invariant
    value: Words
    upto: Bounds = Field(default_factory=dict)


@dataclass(frozen=True, slots=True, config=CLOSED)
class Advertisement:
    """What a remote says of itself: a name, a schema, and clauses that a name or a schema never encodes."""

    name: Words
    version: Text = ""
    schema: Json = None
    clauses: tuple[Clause, ...] = ()
    valid_until: Instant | None = None

    @property
    def digest(self) -> str:
        """The digest that a probe's pass is tied to: of everything said but the validity."""
        clauses: list[Json] = [[c.invariant, c.value, dict(c.upto)] for c in self.clauses]
        return sha256(canonical([self.name, self.version, self.schema, clauses]))


@dataclass(frozen=True, slots=True, config=CLOSED)
class Probe:
    """What a probe of a remote saw. A pass holds for the proven sizes and that advertisement, until its validity ends."""

    outcome: Literal["passed", "failed", "inconclusive", "not_run"]
    advertisement: Digest | None = None
    upto: Bounds = Field(default_factory=dict)
    valid_until: Instant | None = None
    seen: Text = ""


@dataclass(frozen=True, slots=True, config=CLOSED)
class Guard:
    """A wrapper around the caller's function that covers for a missing invariant; `grounded` if what it needs is known."""

    kind: Literal["batches", "idempotency_key", "ledger", "acks", "sequence", "reconciliation", "approval"]
    grounded: bool
    parameters: Json = None


@dataclass(frozen=True, slots=True, config=CLOSED)
class Requirement:
    """An invariant the worker must entail, up to these sizes, with the probe and the guard the requester has in hand."""

    id: Id
    invariant: Invariant
    value: Words
    upto: Bounds = Field(default_factory=dict)
    irreversible: bool = True
    probe: Probe | None = None
    guard: Guard | None = None

    def implies(self, other: "Requirement") -> bool:
        """Whether whoever asks for this asks for the other too: the same, up to the same sizes or larger, no less irreversible."""
        same = (self.invariant, self.value) == (other.invariant, other.value)
        return same and self.irreversible >= other.irreversible and covers(self.upto, other.upto)

    @property
    def asks(self) -> tuple[str, str, tuple[tuple[str, int], ...], bool]:
        """What is required, apart from the evidence in hand."""
        return self.invariant, self.value, tuple(sorted(self.upto.items())), self.irreversible


Advert = Literal["entailed", "silent", "contradicted"]
Outcome = Literal["accept", "probe_first", "accept_with_guard", "accept_unverified", "refuse"]


class Grounding(NamedTuple):
    """The handshake's answer for one requirement; `fix` is what would discharge it when it is not grounded."""

    requirement: str
    outcome: Outcome
    why: str
    fix: str = ""

    @property
    def grounded(self) -> bool:
        """Whether a job may be accepted on it."""
        return self.outcome not in ("probe_first", "refuse")


def entails(advertisement: Advertisement | None, requirement: Requirement, now: datetime) -> Advert:
    """What the advertisement says of the invariant, by meaning: a larger bound entails a smaller."""
    if advertisement is None or (advertisement.valid_until is not None and advertisement.valid_until <= now):
        return "silent"
    said = [clause for clause in advertisement.clauses if clause.invariant == requirement.invariant]
    same = [clause for clause in said if requirement.value in (clause.value, "best_effort")]
    if len(same) < len(said):
        return "contradicted"
    if any(covers(clause.upto, requirement.upto) for clause in same):
        return "entailed"
    return "contradicted" if same and requirement.invariant == "bound" else "silent"


def covers(proven: Bounds, asked: Bounds) -> bool:
    """Whether something that holds up to `proven` holds up to `asked`; an unbounded ask is met only by an unbounded proof."""
    return all(name in asked and asked[name] <= bound for name, bound in proven.items())


def ground(requirement: Requirement, advertisement: Advertisement | None, now: datetime) -> Grounding:
    """Decide one requirement: by the advertisement, else the probe, else the guard (the handshake's table, row by row)."""
    advert = entails(advertisement, requirement, now)
    probe = probed(requirement, advertisement, now)
    guarded = requirement.guard is not None and requirement.guard.grounded
    name = f"{requirement.invariant} {requirement.value}"

    def answer(outcome: Outcome, why: str, fix: str = "") -> Grounding:
        return Grounding(requirement.id, outcome, why, fix)

    if advert == "entailed" and probe != "failed":
        return answer("accept", f"the advertisement entails {name}")
    if advert == "silent" and probe == "passed":
        return answer("accept", f"a probe proved {name}")
    if advert == "silent" and probe == "not_run":
        return answer("probe_first", f"{name} is neither advertised nor probed", "probe")
    if guarded:
        return answer("accept_with_guard", f"a guard covers {name}")
    if advert == "contradicted" or probe == "failed":
        return answer("refuse", f"{name} is disproved", "advertise")
    if requirement.irreversible:
        return answer("refuse", f"{name} is ungrounded", "advertise")
    return answer("accept_unverified", f"{name} is unverified and the action reversible")


def probed(
    requirement: Requirement, advertisement: Advertisement | None, now: datetime
) -> Literal["none", "passed", "failed", "inconclusive", "not_run"]:
    """What the probe in hand is worth here and now: a pass never outlives its envelope, a failure is not forgotten."""
    probe = requirement.probe
    if probe is None:
        return "none"
    if probe.outcome != "passed":
        return probe.outcome
    outlived = probe.valid_until is not None and probe.valid_until <= now
    another = probe.advertisement is not None and (advertisement is None or probe.advertisement != advertisement.digest)
    return "not_run" if outlived or another or not covers(probe.upto, requirement.upto) else "passed"
