"""What the tool host says when it cannot do a thing: one class per remedy, each with the facts as attributes.

What the law refuses is `Refused`, as everywhere; here live only the refusals of registry, policy, gate and operations.
"""

from collections.abc import Sequence
from typing import Literal

from lifecycle.law.errors import LifecycleError

Unfit = Literal["malformed_contract", "name_taken", "no_preview", "invalid_schema", "idempotency", "no_time", "unchecked"]
"""Why a tool is not registered."""
Misproposed = Literal["no_calls", "call_id_twice", "unknown_tool", "arguments", "not_working", "turn_id_reused", "too_large"]
"""Why a turn is no turn."""


class RegistrationError(LifecycleError):
    """A tool cannot be registered as it is. Remedy: mend its contract."""

    def __init__(self, tool: str, reason: Unfit, what: str, mend: str) -> None:
        super().__init__(f"tool `{tool}` is not registered ({reason}): {what}; to mend it, {mend}")
        self.tool, self.reason, self.what, self.mend = tool, reason, what, mend


class ProposalError(LifecycleError):
    """A turn's calls cannot be proposed; no set was made and nothing ran. Remedy: mend the calls named, and propose again."""

    def __init__(self, job: str, reason: Misproposed, calls: Sequence[str], what: str, mend: str) -> None:
        super().__init__(f"a turn on job `{job}` is refused ({reason}): {what}; to mend it, {mend}")
        self.job, self.reason, self.calls, self.what, self.mend = job, reason, tuple(calls), what, mend


class PolicyRefused(LifecycleError):
    """A policy or a profile would be loosened by somebody who may not. Remedy: let one of its owners do it."""

    def __init__(self, policy: str, by: str | None, looser: Sequence[str], owners: Sequence[str]) -> None:
        who, may = (f"`{by}`" if by else "nobody named"), ", ".join(owners) or "nobody"
        super().__init__(f"`{policy}` is not loosened for {', '.join(looser)} by {who}; to mend it, let an owner do it: {may}")
        self.policy, self.by, self.looser, self.owners = policy, by, tuple(looser), tuple(owners)


class Ungranted(LifecycleError):
    """An executor was reached by another way than the host's. Remedy: propose the call in a turn."""

    def __init__(self, tool: str, what: str) -> None:
        super().__init__(f"tool `{tool}` was not run: {what}; to mend it, propose the call in a turn of its job")
        self.tool, self.what = tool, what


class SetNotFound(LifecycleError):
    """No such set or turn was ever issued on this job. Remedy: look at what is pending."""

    def __init__(self, job: str, set_id: str) -> None:
        super().__init__(f"job `{job}` has no set `{set_id}`; to mend it, take the id from what is pending")
        self.job, self.set = job, set_id


class NotStarted(LifecycleError):
    """An executor says so if it could not begin, and has changed nothing: the call stays approved, and a retry runs it."""


class OperationConflict(LifecycleError):
    """An operation id was used before, for other content. Remedy: a new call, which gets an id of its own."""

    def __init__(self, operation: str) -> None:
        super().__init__(f"operation `{operation}` was another one's; to mend it, propose a new call")
        self.operation = operation


class OperationBusy(LifecycleError):
    """The same operation is in flight. Remedy: ask again later, with the same id."""

    def __init__(self, operation: str) -> None:
        super().__init__(f"operation `{operation}` is in flight; to mend it, ask again later with the same id")
        self.operation = operation
