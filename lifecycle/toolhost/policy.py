"""How strictly a call is asked for: profiles that only tighten, a policy that only its owners loosen, and what is in force.

The strictest of tool, policy and every profile counts. `none` never asks; `policy` asks unless a question, of the tool or of the
host, says that this call needs no asking; `consent` always asks. The policy in force stands on the store's shelf, so that no
process runs on a looser one than another has been given.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

from attrs import frozen
from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass

from lifecycle.law.log import Store
from lifecycle.law.tools import Approval, Effect, ToolContract
from lifecycle.law.values import CLOSED, Id, Json, PartyId, Words
from lifecycle.toolhost.digests import digest
from lifecycle.toolhost.errors import PolicyRefused

STRICTNESS: tuple[Approval, ...] = ("none", "policy", "consent")
"""The three modes, loosest first."""
EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive")

Question = Callable[[ToolContract, Json], bool]
"""Whether this call, with these resolved arguments, must be asked for."""


def strictest(modes: Iterable[Approval]) -> Approval:
    """The strictest of these modes; `none` if there are none."""
    return max(modes, key=STRICTNESS.index, default="none")


@dataclass(frozen=True, slots=True, config=CLOSED)
class Profile:
    """The modes of one job or agent, by what a tool does and by its name. By itself it asks for nothing."""

    read: Approval = "none"
    write: Approval = "none"
    destructive: Approval = "none"
    tools: Annotated[Mapping[Words, Approval], Field(default_factory=dict)] = Field(default_factory=dict)

    def mode(self, effect: Effect, tool: str) -> Approval:
        """How strictly it asks for a tool of this effect and name."""
        by_effect: Mapping[Effect, Approval] = {"read": self.read, "write": self.write, "destructive": self.destructive}
        return strictest((by_effect[effect], self.tools.get(tool, "none")))


@dataclass(frozen=True, slots=True, config=CLOSED)
class Policy(Profile):
    """The modes of a whole store, and who may loosen them. Its digest is part of every proposed call."""

    id: Id = "policy"
    write: Approval = "policy"
    destructive: Approval = "consent"
    owners: tuple[PartyId, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of every word of it."""
        return digest(_POLICY.dump_python(self, mode="json"))


_POLICY, _PROFILE = TypeAdapter(Policy), TypeAdapter(Profile)


def loosened(old: Profile, new: Profile) -> list[str]:
    """Where the new modes ask less strictly than the old: effects and tools, in words."""
    found = []
    for effect in EFFECTS:
        for tool in ("", *sorted({*old.tools, *new.tools})):
            if STRICTNESS.index(new.mode(effect, tool)) < STRICTNESS.index(old.mode(effect, tool)):
                found.append(f"{effect} by `{tool}`" if tool else effect)
    return found


@frozen
class InForce:
    """The policy and the profiles that hold on a store, whatever any one process was started with."""

    store: Store
    id: str

    @classmethod
    def begin(cls, store: Store, given: Policy | None) -> "InForce":
        """Put a policy into force where there is none yet, or where it is stricter; PolicyRefused if it is looser.

        Where none is given, the one in force stays; where none is, it is the strict one that `Policy()` is.
        """
        held = cls(store, (given or Policy()).id)
        if given is not None or store.get(_POLICIES, held.id) is None:
            held.change(given or Policy(), by=None)
        return held

    def policy(self) -> Policy:
        """The policy in force."""
        return _POLICY.validate_json(self.store.shelf(_POLICIES)[self.id])

    def change(self, new: Policy, *, by: str | None) -> None:
        """Put a policy into force: a stricter one for anybody; a looser one, or one with other owners, for an owner of the old."""
        text = _POLICY.dump_json(new).decode()
        while (was := self.store.get(_POLICIES, self.id)) != text:
            if was is not None:
                old = _POLICY.validate_json(was)
                looser = loosened(old, new) + (["its owners"] if new.owners != old.owners else [])
                if looser and by not in old.owners:
                    raise PolicyRefused(f"policy {self.id}", by, looser, old.owners)
            self.store.put(_POLICIES, self.id, text, was)  # if another process was first, it is judged again

    def restrict(self, job: str, profile: Profile) -> None:
        """Give a job a profile, or a stricter one than it has; its children are held to it too."""
        text = _PROFILE.dump_json(profile).decode()
        while (was := self.store.get(_profile(job), "profile")) != text:
            if was is not None and (looser := loosened(_PROFILE.validate_json(was), profile)):
                raise PolicyRefused(f"profile of {job}", None, looser, ())
            self.store.put(_profile(job), "profile", text, was)

    def mode(self, contract: ToolContract, jobs: Iterable[str]) -> Approval:
        """How strictly a tool is asked for on a job, given the job and its ancestors."""
        texts = (self.store.get(_profile(job), "profile") for job in jobs)
        profiles = [_PROFILE.validate_json(text) for text in texts if text is not None]
        asked = [one.mode(contract.effect, contract.name) for one in (self.policy(), *profiles)]
        return strictest((contract.approval, *asked))


_POLICIES = "policies"


def _profile(job: str) -> str:
    return f"profile/{job}"
