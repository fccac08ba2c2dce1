"""A unified diff of one file, read strictly and applied in memory, exactly where it says.

`unidiff` reads it; nothing that it passes over in silence is let through. No fuzz, no offset, no second try: a hunk that does not
fit to the letter and the line end is refused, as a patch that is applied somewhere else is no patch that anybody approved.
"""

from io import StringIO

from attrs import frozen
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

NOWHERE = "/dev/null"
MODES = (None, "100644", "100755")


class BadPatch(ValueError):
    """A text is no patch of one file, or does not fit the file."""


@frozen
class Patch:
    """What a patch names and changes: the file before and after (None: there is none), and its hunks."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]


def read(text: str) -> Patch:
    """The patch that a text is; BadPatch if it is none, or of more than one file, or of more than lines of text."""
    whole = text if text.endswith("\n") else text + "\n"
    try:
        files = PatchSet(StringIO(whole, newline="\n"))
    except (UnidiffParseError, ValueError, AssertionError) as error:
        raise BadPatch(f"it is no unified diff: {error}") from error
    if len(files) != 1:
        raise BadPatch(f"it changes {len(files)} files, one is the limit")
    file = files[0]
    if file.is_binary_file or file.is_symlink or file.is_submodule:
        raise BadPatch("it changes something else than lines of text")
    if file.source_mode not in MODES or file.target_mode not in MODES or _mode_changed(file):
        raise BadPatch("it changes the mode of the file")
    old, new = (None if name == NOWHERE else name for name in (file.source_file, file.target_file))
    if len(file) and not _restated(file, whole):
        raise BadPatch("its headers name different files")
    if old is None and new is None:
        raise BadPatch("it names no file")
    if any(name is not None and (not name or name.startswith('"')) for name in (old, new)):
        raise BadPatch("it names a file in quotes, or none")
    told = len(file.patch_info or ()) + (2 if len(file) else 0) + sum(1 + len(hunk) for hunk in file)
    if told != whole.count("\n"):
        raise BadPatch("it has lines that belong to no hunk; count the lines of each hunk again")
    if not len(file) and (old == new or old is None or new is None):
        raise BadPatch("it has no hunk")
    return Patch(old, new, tuple(file))


def apply(patch: Patch, text: str) -> str:
    """The text after the patch; BadPatch names the first hunk that does not fit."""
    lines, made, at = _lines(text), list[str](), 0
    for number, hunk in enumerate(patch.hunks, 1):
        old, new = _sides(hunk)
        start = hunk.source_start - 1 if hunk.source_length else hunk.source_start
        if start < at or lines[start : start + len(old)] != old:
            raise BadPatch(f"hunk {number}, at line {hunk.source_start}, does not fit the file as it is")
        made += lines[at:start] + new
        at = start + len(old)
    return "".join(made + lines[at:])


def _sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """The lines that a hunk takes away and those that it puts in their place, context in both."""
    old, new = list[str](), list[str]()
    into: tuple[list[str], ...] = ()
    for line in hunk:
        kind = line.line_type
        if kind == "\\":  # the line before has no newline at its end
            for side in into:
                side[-1] = side[-1].removesuffix("\n")
            continue
        into = {" ": (old, new), "-": (old,), "+": (new,)}.get(kind, ())
        for side in into:
            side.append(line.value)
    return old, new


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends; only a newline ends one."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _mode_changed(file: PatchedFile) -> bool:
    """Whether it would change a mode, or make a file that can be run."""
    modes = (file.source_mode or ("100644" if file.source_file == NOWHERE else None), file.target_mode)
    return None not in modes and modes[0] != modes[1]


def _restated(file: PatchedFile, text: str) -> bool:
    """Whether the lines above the hunks name the files that git's own header names."""
    heads = {line.split("\t")[0] for line in text.split("\n") if line.startswith(("--- ", "+++ "))}
    return {f"--- {file.source_file}", f"+++ {file.target_file}"} <= heads
