"""The task contract: what a person writes before the run receives tools.

What may change, what must stay true, which evidence counts, when the run must stop or ask. The data only: reading files,
`lint` and running its checks live in `lifecycle.checks`.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from lifecycle.law.terms import Budget, Check, Conditions, Exclusion, Exclusions, Terms
from lifecycle.law.values import CLOSED, Id, PartyId, Words, canonical, sha256, unique


@dataclass(frozen=True, slots=True, config=CLOSED)
class Criterion:
    """A precondition or an invariant: words and the check that decides them."""

    id: Id
    text: Words
    check: Check | Words | None = None


@dataclass(frozen=True, slots=True, config=CLOSED)
class EvidenceRule:
    """Which evidence counts for a condition, and who may skip its check."""

    id: Id
    """The condition or invariant the rule is for."""
    evidence: Words
    skip: tuple[PartyId, ...] = ()


@dataclass(frozen=True, slots=True, config=CLOSED)
class Escalation:
    """A choice that the worker may point at but not settle, and who owns it."""

    choice: Words
    owner: PartyId


@dataclass(frozen=True, slots=True, config=CLOSED)
class Owners:
    """Who owns what: intent and authority; local change and proof rules; arguments and side effects; the final comparison."""

    user: PartyId | None = None
    repository: PartyId | None = None
    executor: PartyId | None = None
    verifier: PartyId | None = None


Criteria = Annotated[tuple[Criterion, ...], AfterValidator(unique)]


@dataclass(frozen=True, slots=True, config=CLOSED)
class Contract:
    """A task contract. Its digest is stored with each job, and a result stays under the rules that governed it."""

    id: Id
    version: Words
    goal: Words
    acceptance: Conditions = ()
    invariants: Criteria = ()
    preconditions: Criteria = ()
    non_goals: Exclusions = ()
    write_scope: tuple[Words, ...] = ()
    inputs: tuple[Words, ...] = ()
    constraints: tuple[Words, ...] = ()
    evidence: Annotated[tuple[EvidenceRule, ...], AfterValidator(unique)] = ()
    escalation: tuple[Escalation, ...] = ()
    budget: Budget | None = None
    owners: Owners = Field(default_factory=Owners)
    schema: Literal["lifecycle/contract/1"] = "lifecycle/contract/1"

    @property
    def digest(self) -> str:
        """The digest of the contract's content: equal for equal contracts, however their files are laid out."""
        return sha256(canonical(TypeAdapter(Contract).dump_python(self, mode="json")))

    @property
    def terms(self) -> Terms:
        """The terms that a request on this contract asks for."""
        scope = ", ".join(self.write_scope)
        outside = (Exclusion(f"{self.id[:110]}-write-scope", f"nothing outside {scope}", "path"),) if scope else ()
        return Terms(self.acceptance, self.non_goals + outside, (), self.constraints, self.budget)

    @property
    def parties(self) -> frozenset[str]:
        """Everyone the contract names: owners, owners of choices, and who may skip a check."""
        owners = (self.owners.user, self.owners.repository, self.owners.executor, self.owners.verifier)
        skippers = {party for rule in self.evidence for party in rule.skip}
        return frozenset({party for party in owners if party} | {choice.owner for choice in self.escalation} | skippers)
