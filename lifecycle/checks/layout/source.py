"""What a reader of a contract file gives: plain data, and where every key of it stands."""

from collections.abc import Mapping
from typing import TypeAlias

from attrs import frozen
from pydantic import JsonValue

from lifecycle.checks.faults import ContractError, ContractFault
from lifecycle.law.door import shown

Keys: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys of tables, places in lists."""
Position: TypeAlias = tuple[int, int]
"""Line and column, both from 1."""

BYTES = 1 << 18
"""The largest contract file that is read: more than a person reads, and less than one act may hold."""
NODES = 20_000
"""The most values in one file, aliases of YAML counted as often as they are used: an alias bomb ends here."""


@frozen
class Source:
    """A file that was read. `positions` has the keys of tables and the items of lists; what is missing stands at its parent."""

    file: str
    data: JsonValue
    positions: Mapping[Keys, Position]

    def fault(self, keys: Keys, what: str, mend: str) -> ContractFault:
        """A fault at this key, with its line."""
        at: Position | tuple[None, None] = (None, None)
        for length in range(len(keys), -1, -1):
            if keys[:length] in self.positions:
                at = self.positions[keys[:length]]
                break
        return ContractFault(dotted(keys), what, mend, *at)


def dotted(keys: Keys) -> str:
    """A key as a person reads it: `acceptance[0].check.kind`."""
    told = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return shown(told.removeprefix("."))


def unreadable(file: str, what: str, mend: str, at: Position | None = None) -> ContractError:
    """The error of a file that is no TOML, or no YAML, at all."""
    return ContractError(file, [ContractFault("", what, mend, *(at or (None, None)))])
