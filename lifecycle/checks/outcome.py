"""What a check is run on, and what it shows: the small values that every kind of check shares."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from attrs import field, frozen

from lifecycle.checks.checkout import Snapshot
from lifecycle.checks.workspace import Workspace


@frozen
class Answer:
    """What a named party says to a person check, about one artifact: by its digest, as it may have changed since."""

    party: str
    passed: bool
    artifact: str
    words: str = ""


@frozen
class Ground:
    """What checks are run on: the workspace, the snapshot that is tested, what may be written, what parties answered."""

    workspace: Workspace
    snapshot: Snapshot
    scope: tuple[str, ...] = ()
    answers: Mapping[str, Answer] = field(factory=dict)


@frozen
class Outcome:
    """What one check showed. The runner makes a record of it, with the artifact and the contract it was run on."""

    status: Literal["pending", "passed", "failed", "skipped", "unavailable"]
    seen: str
    authority: str | None = None
    argv: tuple[str, ...] = ()
    cwd: str = ""
    cases: tuple[str, ...] = ()
    exit: int | None = None
    output: str = ""
    output_digest: str | None = None
    started: datetime = field(factory=lambda: datetime.now(UTC))
    ended: datetime = field(factory=lambda: datetime.now(UTC))


def directory(tree: Path, cwd: str) -> Path | None:
    """A directory inside a tree; None if there is none, or it leads outside."""
    at = (tree / cwd).resolve()
    return at if at.is_dir() and at.is_relative_to(tree.resolve()) else None
