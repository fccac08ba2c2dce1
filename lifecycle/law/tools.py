"""Tool contracts, proposed calls, approval bundles and decisions; and how a bundle of decisions is judged.

Data and one pure question, `judge`. Executing a call lives in `lifecycle.toolhost`: nothing here runs anything.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from lifecycle.law.values import CLOSED, Digest, Id, Json, Seconds, Text, Words, canonical, sha256, unique

Effect = Literal["read", "write", "destructive"]
Approval = Literal["none", "policy", "consent"]
"""How strictly a tool asks: never, where the policy says so, always. The strictest of tool, profile and policy counts."""


@dataclass(frozen=True, slots=True, config=CLOSED)
class ToolContract:
    """What a tool promises. What is not said is the worst: it writes, destroys, is not idempotent, and asks for consent."""

    name: Words
    input_schema: Json
    output_schema: Json = None
    effect: Effect = "destructive"
    identity: Words | None = None
    timeout: Seconds = 60.0
    retry_safe: bool = False
    idempotency_key: bool = False
    errors: tuple[Words, ...] = ()
    approval: Approval = "consent"
    postcondition: Text = ""
    preview: Text = ""

    @property
    def digest(self) -> str:
        """The digest a proposed call is tied to: of every word of the contract."""
        return sha256(canonical(TypeAdapter(ToolContract).dump_python(self, mode="json")))


@dataclass(frozen=True, slots=True, config=CLOSED)
class ProposedCall:
    """The immutable record of one call: what would run, under which contract and policy, and what a person is shown."""

    id: Id
    tool: Words
    contract: Digest
    policy: Digest
    arguments: Json = None
    preview: Text = ""
    gated: bool = True

    @property
    def digest(self) -> str:
        """The digest that a decision must repeat: of the whole record."""
        return sha256(canonical(TypeAdapter(ProposedCall).dump_python(self, mode="json")))


Calls = Annotated[tuple[ProposedCall, ...], AfterValidator(unique)]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid", strict=True, defer_build=True))
class Decision:
    """One word on one call, by id and by digest."""

    call: str
    digest: str
    verdict: Literal["approved", "denied"]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid", strict=True, defer_build=True))
class DecisionBundle:
    """What an approver sends: the set it decides, and one decision for every gated call of it."""

    set: str
    decisions: list[Decision]


Verdict = Literal["approved", "denied", "malformed", "expired"]
"""What became of a gated call. Only `approved` is ever run; the other three are rejected results."""

_BUNDLE = TypeAdapter(DecisionBundle, config=None)


def judge(set_id: str, calls: tuple[ProposedCall, ...], decisions: Json) -> tuple[dict[str, Verdict], str]:
    """What becomes of each gated call, and why if the bundle is malformed (then every call is rejected).

    A bundle counts only if it names the set and has one decision for every gated call, none unknown, none twice, every digest
    equal, and each verdict one of the two words.
    """
    gated = {call.id: call for call in calls if call.gated}
    fault = ""
    try:
        bundle = _BUNDLE.validate_json(canonical(decisions))
    except ValidationError as error:
        first = error.errors()[0]
        return dict.fromkeys(gated, "malformed"), f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    decided = [decision.call for decision in bundle.decisions]
    if bundle.set != set_id:
        fault = f"names set `{bundle.set}`, not `{set_id}`"
    elif len(set(decided)) < len(decided):
        fault = "decides a call twice"
    elif unknown := set(decided) - set(gated):
        fault = f"decides unknown calls: {', '.join(sorted(unknown))}"
    elif missing := set(gated) - set(decided):
        fault = f"leaves calls undecided: {', '.join(sorted(missing))}"
    elif other := [d.call for d in bundle.decisions if d.digest != gated[d.call].digest]:
        fault = f"another digest than the stored record: {', '.join(other)}"
    if fault:
        return dict.fromkeys(gated, "malformed"), fault
    return {decision.call: decision.verdict for decision in bundle.decisions}, ""
