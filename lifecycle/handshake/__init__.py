"""The capability handshake: negotiate before delegating, and refuse what cannot be grounded, with what would mend it.

    found = negotiate(requirements, advertisement, remote=HttpRemote(url), work=Workload(512, records, poison))
    if found.grounded:
        jobs.request(goal, ..., requirements=found.requirements, verdict=True)      # a guard's reconciliation is a required check

The law decides each requirement (`lifecycle.law.capability.ground`); here it is given its evidence: probes that were run, guards
that are in hand. A refusal names every invariant that is not verified and what would discharge it.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import get_args

from attrs import frozen

from lifecycle.handshake.guards import (
    Acks,
    Batches,
    Checkpoint,
    KeyConflict,
    Ledger,
    Sequenced,
    Unacknowledged,
    Unreconciled,
    reconcile,
)
from lifecycle.handshake.probes import PROBES, Workload, probe, traffic
from lifecycle.handshake.remote import Ack, AsyncCalls, Calls, HttpRemote, Record, Remote, RemoteError
from lifecycle.law.capability import (
    Advertisement,
    Grounding,
    Guard,
    Invariant,
    Outcome,
    Probe,
    Requirement,
    covers,
    entails,
    ground,
)  # fmt: skip

__all__ = [
    "PROBES",
    "Ack",
    "Acks",
    "AsyncCalls",
    "Batches",
    "Calls",
    "Checkpoint",
    "HttpRemote",
    "KeyConflict",
    "Ledger",
    "Negotiated",
    "Record",
    "Remote",
    "RemoteError",
    "Sequenced",
    "Unacknowledged",
    "Unreconciled",
    "Workload",
    "guard_for",
    "negotiate",
    "negotiate_until",
    "probe",
    "rank",
    "reconcile",
    "traffic",
]

ORDER: tuple[Outcome, ...] = get_args(Outcome)
"""From the freest to the strictest."""
ROUNDS = 20
"""How many advertisements a negotiation looks at before it ends."""


@frozen
class Negotiated:
    """The outcome, the answer for each requirement, and the requirements with the evidence they stand on."""

    outcome: Outcome
    groundings: tuple[Grounding, ...]
    requirements: tuple[Requirement, ...]

    @property
    def grounded(self) -> bool:
        """Whether a job may be requested on these requirements."""
        return self.outcome not in ("probe_first", "refuse")

    @property
    def checkpoint_may_advance(self) -> bool:
        """Whether what the remote acknowledges may be counted as done; never on an unverified accept."""
        return self.outcome in ("accept", "accept_with_guard")

    @property
    def unverified(self) -> tuple[Grounding, ...]:
        """What is not grounded, each with why and with what would discharge it."""
        return tuple(one for one in self.groundings if not one.grounded)

    @property
    def guards(self) -> dict[str, Guard]:
        """The guards that must be applied, by requirement."""
        named = {one.requirement for one in self.groundings if one.outcome == "accept_with_guard"}
        return {one.id: one.guard for one in self.requirements if one.id in named and one.guard is not None}

    @property
    def text(self) -> str:
        """The outcome as lines."""
        lines = [f"{one.outcome:17} {one.requirement}: {one.why}" + (f"; to mend it: {one.fix}" if one.fix else "")
                 for one in self.groundings]  # fmt: skip
        return "\n".join([f"{self.outcome}", *lines])


def negotiate(
    requirements: Iterable[Requirement], advertisement: Advertisement | None, *, remote: Remote | None = None,
    work: Workload | None = None, guard: bool = True, now: datetime | None = None,
) -> Negotiated:  # fmt: skip
    """Decide whether to delegate. With a remote and a workload, what is not advertised is probed; with `guard`, covered.

    A pass caps the requirement: the sizes that were proven become its own where it names none. A guard that a requirement already
    has stands as it is.
    """
    at = now if now is not None else datetime.now(UTC)
    held = []
    for wanted in requirements:
        told = wanted
        if remote is not None and work is not None and ground(told, advertisement, at).outcome != "accept":
            seen = _as_far(probe(told.invariant, remote, work, advertisement, at), told)
            told = _with(told, probe=seen, upto={**seen.upto, **told.upto} if seen.outcome == "passed" else told.upto)
        if guard and told.guard is None and ground(told, advertisement, at).outcome not in ("accept", "probe_first"):
            told = _with(told, guard=guard_for(told, readable=remote is not None and _readable(remote)))
        held.append(told)
    found = tuple(ground(one, advertisement, at) for one in held)
    return Negotiated(_overall([one.outcome for one in found]), found, tuple(held))


def _as_far(seen: Probe, wanted: Requirement) -> Probe:
    """The probe, if it went as far as is wanted; else it is inconclusive: of what lies further it tells nothing."""
    if seen.outcome != "passed" or covers(seen.upto, {**seen.upto, **wanted.upto}):
        return seen
    far = ", ".join(f"{name} {most}" for name, most in seen.upto.items())
    return Probe("inconclusive", seen.advertisement, seen=f"{seen.seen}; it was tried up to {far} only")


def _overall(outcomes: Sequence[Outcome]) -> Outcome:
    """A refusal of any refuses all; else a probe that is asked for comes first; else the strictest that is applied."""
    strictest: Outcome = max(outcomes, key=ORDER.index, default="accept")
    return "probe_first" if "probe_first" in outcomes and strictest != "refuse" else strictest


def negotiate_until(
    requirements: Sequence[Requirement], advertisements: Iterable[Advertisement], *, remote: Remote | None = None,
    work: Workload | None = None, guard: bool = True, rounds: int = ROUNDS,
) -> Negotiated:  # fmt: skip
    """Negotiate anew with each advertisement that arrives, until one is grounded; the last refusal if none is in so many rounds."""
    found = negotiate(requirements, None, guard=False)
    for _, advertisement in zip(range(rounds), advertisements, strict=False):
        found = negotiate(requirements, advertisement, remote=remote, work=work, guard=guard)
        if found.grounded:
            break
    return found


def rank(pool: Iterable[Advertisement], requirements: Sequence[Requirement], now: datetime | None = None) -> list[Advertisement]:
    """The pool, best first: what contradicts least, then what entails most. Equals keep their order: sort by price before."""
    at = now if now is not None else datetime.now(UTC)

    def said(one: Advertisement) -> tuple[int, int]:
        adverts = [entails(one, wanted, at) for wanted in requirements]
        return adverts.count("contradicted"), -adverts.count("entailed")

    return sorted(pool, key=said)


def guard_for(requirement: Requirement, *, readable: bool) -> Guard | None:
    """The guard to fall back on, grounded if all that it needs is known: its own files, or that the remote can be read back."""
    proven = requirement.probe.upto.get("batch", 0) if requirement.probe is not None else 0
    fall_back: dict[Invariant, Guard] = {
        "atomicity": Guard("reconciliation", readable, {"batch": 1}),
        "idempotency": Guard("ledger", readable),
        "ordering": Guard("sequence", readable, {"in_flight": 1}),
        "bound": Guard("batches", proven > 0, {"batch": proven}),
        "read_only": Guard("approval", True),
    }
    return fall_back[requirement.invariant]


def _readable(remote: Remote) -> bool:
    """Whether it can be read back at all."""
    try:
        remote.read("nothing-there")
    except RemoteError:
        return False
    return True


def _with(requirement: Requirement, **evidence: object) -> Requirement:
    fields = ("id", "invariant", "value", "upto", "irreversible", "probe", "guard")
    return Requirement(**{**{name: getattr(requirement, name) for name in fields}, **evidence})
