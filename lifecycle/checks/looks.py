"""Checks that run nothing: a file that must be there, what changed, what a person said."""

from collections.abc import Callable

from attrs import frozen

from lifecycle.checks.faults import WorkspaceError
from lifecycle.checks.gits import LINK, commit_of
from lifecycle.checks.outcome import Ground, Outcome
from lifecycle.checks.scope import plain, spec
from lifecycle.checks.tree import changed, leads_outside
from lifecycle.law.door import shown
from lifecycle.law.terms import DiffCheck, FileCheck, PersonCheck
from lifecycle.law.values import sha256

SHOWN = 20
"""Paths that `seen` lists."""


@frozen
class Untouched:
    """Nothing that matches a pattern was changed: what a non-goal that is a path asks for."""

    pattern: str


def look_at_file(check: FileCheck, ground: Ground) -> Outcome:
    """A file of the tested tree: there, not empty, with its digest. One that git ignores is no part of that tree."""
    top = ground.snapshot.path.resolve()
    name, bare = f"`{shown(check.path, 80)}`", plain(check.path)
    at = (top / bare).resolve() if bare is not None else None
    if at is None or not at.is_relative_to(top):
        return Outcome("failed", f"{name} leads outside the tree")
    if not at.is_file():
        restored = " (what lies outside the write scope is the base's)" if bare in ground.snapshot.restored else ""
        return Outcome("failed", f"there is no file {name} in the tree that is tested{restored}")
    data = at.read_bytes()
    if check.non_empty and not data:
        return Outcome("failed", f"{name} is empty")
    algorithm = check.digest.partition(":")[0] if check.digest else "sha256"
    if algorithm != "sha256":
        return Outcome("unavailable", f"a digest by `{algorithm}` cannot be made here; write it as sha256")
    if check.digest is not None and sha256(data) != check.digest:
        return Outcome("failed", f"{name} is {sha256(data)}, asked for {check.digest}")
    return Outcome("passed", f"{name} has {len(data)} bytes, {sha256(data)}")


def look_at_diff(check: DiffCheck, ground: Ground) -> Outcome:
    """Everything that changed since the base, in the tree, the index or the last commit, lies inside the scope.

    The check's own scope, or the contract's; with neither, nothing may have changed. No changed symlink may point outside.
    """
    patterns = check.scope or ground.scope
    covered = spec(patterns)
    return _changes(ground, check.base, covered.match_file, f"inside {', '.join(patterns) or 'nothing'}")


def look_at_untouched(check: Untouched, ground: Ground) -> Outcome:
    """Nothing that changed since the base matches the pattern."""
    left = spec([check.pattern])
    return _changes(ground, None, lambda path: not left.match_file(path), f"outside {check.pattern}")


def look_at_person(id: str, check: PersonCheck, ground: Ground) -> Outcome:
    """Pending until the named party has answered, about this artifact."""
    answer = ground.answers.get(id)
    if answer is None:
        return Outcome("pending", f"`{check.party}` has not answered: {check.question}")
    if answer.party != check.party:
        return Outcome("pending", f"`{shown(answer.party, 80)}` answered, `{check.party}` is asked")
    if answer.artifact != ground.snapshot.artifact:
        return Outcome("pending", f"`{check.party}` answered about another artifact, {shown(answer.artifact, 80)}")
    said = f": {answer.words}" if answer.words else ""
    return Outcome("passed" if answer.passed else "failed", f"`{check.party}` says {'yes' if answer.passed else 'no'}{said}")


def _changes(ground: Ground, base: str | None, allowed: Callable[[str], bool], where: str) -> Outcome:
    root = ground.workspace.root
    if base is None and ground.workspace.base is None:
        return Outcome("unavailable", "no base revision to compare with; name one")
    try:
        since = commit_of(root, base) if base is not None else ground.workspace.base
        assert since is not None
        found = changed(root, since, ground.snapshot.files)
    except WorkspaceError as error:
        return Outcome("unavailable", str(error))
    faults = [shown(path) for path in found if not allowed(path)]
    faults += [
        f"{shown(path)} -> {shown(file.target, 80)}"
        for path, file in found.items()
        if file is not None and file.mode == LINK and leads_outside(path, file.target)
    ]
    if faults:
        more = f" and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        return Outcome("failed", f"changed, and not {where}: {', '.join(faults[:SHOWN])}{more}")
    return Outcome("passed", f"{len(found)} paths changed since {since[:12]}, all {where}")
