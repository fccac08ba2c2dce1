"""A directory that a worker may change in part: what a path in it really is, and how a file is replaced whole.

A path is made plain and its links are followed before it is held against the scope: by its name and by where it leads. A process
that changes links while another writes is not kept out by this; a sandbox would be.
"""

import os
import posixpath
from collections.abc import Callable
from pathlib import Path
from stat import S_IMODE, S_ISREG

from attrs import frozen

from lifecycle.law.door import shown
from lifecycle.law.errors import LifecycleError

FILE_BYTES = 16 << 20
"""The largest file that is edited: a patch is applied in memory, and nobody reads a larger one before approving."""

Covers = Callable[[str], bool]
"""Whether a plain path, from the top of the tree and with `/`, may be written."""


class EditRefused(LifecycleError):
    """An edit was not made, and nothing was changed. Remedy: what the message says."""

    def __init__(self, path: str, why: str, mend: str) -> None:
        super().__init__(f"`{shown(path)}` is not edited: {why}; to mend it, {mend}")
        self.path, self.why, self.mend = path, why, mend


@frozen
class Tree:
    """A directory, and what in it may be written."""

    root: Path
    covers: Covers

    def place(self, path: str) -> str:
        """The plain path, from the top, of the file that is really meant; EditRefused if it may not be written."""
        named = _plain(path)
        top = os.path.realpath(self.root)
        real = os.path.realpath(os.path.join(top, named))
        if os.path.commonpath((top, real)) != top or real == top:
            raise EditRefused(path, "it leads out of the tree", "name a file of the tree")
        place = Path(real).relative_to(top).as_posix()
        for one in (named, place):
            if any(part.casefold() == ".git" for part in one.split("/")):
                raise EditRefused(path, "it is git's own", "leave it alone")
            if not self.covers(one):
                where = "" if one == path else f" (it is `{shown(one)}`)"
                raise EditRefused(path, f"it is outside the write scope{where}", "name a file inside, or ask for another scope")
        self._spelled(path, top, place)
        return place

    def read(self, place: str) -> bytes | None:
        """The bytes of a file; None if there is none. EditRefused for what is no file, or too large."""
        full = os.path.join(os.path.realpath(self.root), place)
        try:
            told = os.lstat(full)
            if not S_ISREG(told.st_mode):
                raise EditRefused(place, "it is no file", "name a file")
            if told.st_size > FILE_BYTES:
                raise EditRefused(place, f"it has {told.st_size} bytes, {FILE_BYTES} are the limit", "edit it in another way")
            return Path(full).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise EditRefused(place, f"it cannot be read: {error.strerror}", "have it made readable") from error

    def replace(self, place: str, data: bytes, like: str, mark: str) -> None:
        """Write a file whole, or not at all, with the mode of another; on the disk before this returns. `mark` names the draft."""
        full = Path(os.path.realpath(self.root), place)
        full.parent.mkdir(parents=True, exist_ok=True)
        draft = full.with_name(_draft(mark))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(draft, flags, 0o644), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        model = Path(os.path.realpath(self.root), like)
        if model.exists():
            draft.chmod(S_IMODE(model.stat().st_mode))
        draft.replace(full)
        _sync(full.parent)

    def discard(self, place: str, mark: str) -> None:
        """Take away the draft that a dead edit left; one that is not dead after all then fails, and changes nothing."""
        Path(os.path.realpath(self.root), place).with_name(_draft(mark)).unlink(missing_ok=True)

    def remove(self, place: str) -> None:
        """Take a file away; on the disk before this returns."""
        full = Path(os.path.realpath(self.root), place)
        full.unlink(missing_ok=True)
        _sync(full.parent)

    def _spelled(self, path: str, top: str, place: str) -> None:
        """Refuse a name that the file system takes for another, by case or by another form of the same letters; and a loop."""
        at = top
        for part in place.split("/"):
            if os.path.lexists(os.path.join(at, part)) and part not in os.listdir(at):
                raise EditRefused(path, f"`{shown(part)}` is spelled otherwise on the disk", "spell it as the disk does")
            at = os.path.join(at, part)
            if os.path.islink(at):
                raise EditRefused(path, f"`{shown(part)}` is a link that leads nowhere", "name a file")


def _draft(mark: str) -> str:
    return f".{mark}.draft"


def _plain(path: str) -> str:
    if not path or "\x00" in path or "\\" in path or path.startswith(("/", "~")) or path[1:2] == ":":
        raise EditRefused(path, "it is no path from the top of the tree", "write `/` between the parts, and none before the first")
    named = posixpath.normpath(path)
    if named in (".", "..") or named.startswith("../"):
        raise EditRefused(path, "it leads out of the tree", "name a file of the tree")
    return named


def _sync(folder: Path) -> None:
    """Have a directory's entries on the disk, where directories can be synced."""
    if os.name == "posix":
        held = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(held)
        finally:
            os.close(held)
