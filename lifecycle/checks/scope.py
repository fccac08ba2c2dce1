"""Paths and write scopes: what a path is called, and whether a pattern covers it.

A pattern is one of a `.gitignore`, anchored at the top: `src/` and `src` are everything below, `*.md` is at the top only,
`**/*.md` anywhere. A path is made plain first, as `retry/../prod/a.py` would match `retry/**`.
"""

import posixpath
from collections.abc import Iterable

from pathspec import GitIgnoreSpec


def plain(path: str) -> str | None:
    """The path from the top, without `.` and `..`; None if it is absolute or leads outside."""
    if not path or path.startswith("/") or "\x00" in path or "\\" in path:
        return None
    normal = posixpath.normpath(path)
    return None if normal == ".." or normal.startswith("../") else normal


def inside(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path is covered by one of the patterns; never one that leads outside."""
    normal = plain(path)
    return normal is not None and normal != "." and spec(patterns).match_file(normal)


def spec(patterns: Iterable[str]) -> GitIgnoreSpec:
    """The patterns, anchored and compiled: `spec(patterns).match_file(path)` for a plain path."""
    return GitIgnoreSpec.from_lines(_anchored(pattern) for pattern in patterns)


def pattern_fault(pattern: str) -> tuple[str, str] | None:
    """What is wrong with a pattern of a write scope, and what mends it."""
    if pattern.startswith(("/", "~")) or pattern[1:2] == ":":
        return "is an absolute path", "write it from the top of the repository"
    if "\\" in pattern:
        return "has a backslash", "write `/` between the parts"
    if ".." in pattern.split("/"):
        return "leads outside with `..`", "write where it ends"
    if pattern.startswith("!"):
        return "takes back what another pattern gives", "write only what may be changed"
    if pattern != pattern.strip() or pattern.startswith("#"):
        return "begins or ends in a way that patterns are not read", "write a path or a pattern"
    if ".git" in pattern.split("/"):
        return "reaches into git's own directory", "leave it out"
    return None


def _anchored(pattern: str) -> str:
    bare = pattern.removeprefix("./")
    return "/**" if bare in ("", ".") else f"/{bare}"
