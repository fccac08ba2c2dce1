"""What is said when a contract file cannot stand, or somebody without authority skips a check.

One class per remedy. A contract file may have many faults; one error tells all of them, each with its line.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from lifecycle.law.errors import LifecycleError


@frozen
class ContractFault:
    """One thing wrong in a contract file: where (the key; line and column from 1, if they are known), what, and what mends it."""

    key: str
    what: str
    mend: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return f"{f'`{self.key}` ' if self.key else ''}{self.what}; to mend it, {self.mend}"


class ContractError(LifecycleError):
    """A contract file that cannot stand. Remedy: the first fault's `mend`, at its line; `faults` holds all, in file order."""

    def __init__(self, file: str, faults: Sequence[ContractFault]) -> None:
        first = faults[0]
        place = ":".join(str(part) for part in (file, first.line, first.column) if part is not None)
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{place}: {first}{more}")
        self.file, self.faults = file, tuple(faults)

    @property
    def line(self) -> int | None:
        """The line of the first fault, from 1."""
        return self.faults[0].line

    @property
    def column(self) -> int | None:
        """The column of the first fault, from 1."""
        return self.faults[0].column

    @property
    def mend(self) -> str:
        """What would mend the first fault."""
        return self.faults[0].mend

    def __reduce__(self) -> tuple[type["ContractError"], tuple[str, tuple[ContractFault, ...]]]:
        return type(self), (self.file, self.faults)


class NoAuthority(LifecycleError):
    """A check skipped by somebody who may not. Remedy: one of `entitled`, or run the check."""

    def __init__(self, id: str, authority: str, entitled: Sequence[str]) -> None:
        who = ", ".join(f"`{party}`" for party in entitled) or "nobody, so run it"
        super().__init__(f"`{authority}` may not skip `{id}`: no evidence rule of the contract names it; to mend it, ask {who}")
        self.id, self.authority, self.entitled = id, authority, tuple(entitled)

    def __reduce__(self) -> tuple[type["NoAuthority"], tuple[str, str, tuple[str, ...]]]:
        return type(self), (self.id, self.authority, self.entitled)


class WorkspaceError(LifecycleError):
    """A workspace that cannot be read: no such directory, no such base revision. Remedy: what the message says."""


class Undecided(LifecycleError):
    """Nothing failed, and yet not all is known. Remedy: run what is `open` on what was delivered, or ask whom it asks."""

    def __init__(self, job: str, open: Mapping[str, str]) -> None:
        told = ", ".join(f"`{id}` {status}" for id, status in open.items())
        super().__init__(f"job `{job}` cannot be judged yet: {told}; to mend it, run these on what was delivered, or judge `final`")
        self.job, self.open = job, dict(open)

    def __reduce__(self) -> tuple[type["Undecided"], tuple[str, dict[str, str]]]:
        return type(self), (self.job, self.open)
