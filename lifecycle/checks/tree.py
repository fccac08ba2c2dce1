"""The tree that a worker leaves: its files, its digest, and what in it changed since a revision.

The tree is what is tracked, and what is there and not ignored: that is what is tested, and nothing else. Files are read as they
lie, without git's filters (a repository that stores other bytes than it checks out shows them as changed), and through no symlink.
"""

import hashlib
import os
import posixpath
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from lifecycle.checks.faults import WorkspaceError
from lifecycle.checks.gits import (
    EXECUTABLE,
    LINK,
    PLAIN,
    SUBMODULE,
    Kept,
    commit_of,
    has_git,
    listed,
    revision_files,
    staged_files,
)
from lifecycle.checks.scope import plain

ODD = "000000"
"""The mode of what is neither a file nor a link: a pipe, a socket, a device. It is never opened."""

_CHUNK = 1 << 20


@frozen
class File:
    """A file as it lies in a tree: its mode as git says it, the sha256 of its bytes, and their ids in git, by number of digits."""

    mode: str
    sha256: str
    ids: Mapping[int, str]
    target: str = ""
    """Where a symlink points."""

    def same(self, kept: Kept) -> bool:
        """Whether a revision has it just so."""
        return self.mode == kept.mode and self.ids.get(len(kept.oid)) == kept.oid


def survey(root: Path, into: Path | None = None) -> dict[str, File]:
    """Every file of the tree by its path from the root; each is copied to the same path in `into`, as it is read."""
    if not root.is_dir():
        raise WorkspaceError(f"there is no directory `{root}`; to mend it, name the top of the worker's tree")
    files: dict[str, File] = {}
    solid: set[Path] = {root}
    for path in sorted(_paths(root)):
        if (file := _look(root, path, solid, into)) is not None:
            files[path] = file
    return files


def digest(files: Mapping[str, File]) -> str:
    """The digest of a tree: of every path with its mode and the digest of its bytes. Equal trees, equal digests, anywhere."""
    made = hashlib.sha256()
    for path, file in sorted((os.fsencode(path), file) for path, file in files.items()):
        made.update(f"{file.mode} {file.sha256} ".encode() + path + b"\0")
    return f"sha256:{made.hexdigest()}"


def changed(root: Path, base: str, now: Mapping[str, File]) -> dict[str, File | None]:
    """Every path that is not as `base` has it: in the tree (`now`), in the index, in the last commit; None for what is gone.

    Of a rename both ends; of a submodule its own path where it stands on another commit, and every changed file in it.
    """
    was = revision_files(root, base)
    own = {path: kept for path, kept in was.items() if kept.repository == root}
    found = {path for path in was.keys() | now.keys() if _differs(root, path, was.get(path), now.get(path))}
    for elsewhere in (staged_files(root), _last(root)):
        if elsewhere is not None:
            found |= {p for p in own.keys() | elsewhere.keys() if not _same(own.get(p), elsewhere.get(p))}
    return {path: now.get(path) for path in sorted(found)}


def leads_outside(path: str, target: str) -> bool:
    """Whether a symlink at this path points out of the tree."""
    return target.startswith("/") or plain(posixpath.join(posixpath.dirname(path), target)) is None


def _paths(root: Path, below: str = "") -> Iterator[str]:
    here = root / below if below else root
    if not has_git(here):
        yield from _walk(here, below)
        return
    for path in listed(here):
        bare = path.rstrip("/")
        full = f"{below}/{bare}" if below else bare
        at = root / full
        if at.is_dir() and not at.is_symlink():
            yield from _paths(root, full)  # a submodule, or a repository inside this one
        else:
            yield full


def _walk(here: Path, below: str) -> Iterator[str]:
    for directory, names, files in os.walk(here):
        links = [name for name in names if (Path(directory) / name).is_symlink()]
        names[:] = [name for name in names if name not in links and name != ".git"]
        for name in (*files, *links):
            path = (Path(directory) / name).relative_to(here).as_posix()
            yield f"{below}/{path}" if below else path


def _look(root: Path, path: str, solid: set[Path], into: Path | None) -> File | None:
    """The file at a path; None where there is none, or only through a symlink."""
    at = root / path
    if not _reached(at.parent, solid):
        return None
    try:
        status = at.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    copy = None
    if into is not None:
        copy = into / path
        copy.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(at)
        if copy is not None:
            os.symlink(target, copy)
        return _sums(LINK, [os.fsencode(target)], target)
    if not stat.S_ISREG(status.st_mode):
        return None if stat.S_ISDIR(status.st_mode) else File(ODD, "", {})
    mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else PLAIN
    return _sums(mode, _read(at, copy, 0o755 if mode == EXECUTABLE else 0o644))


def _read(at: Path, copy: Path | None, mode: int) -> list[bytes]:
    """A file's bytes, and a copy of just these bytes. Opened without following a link that took its place since."""
    with open(os.open(at, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        chunks = list(iter(lambda: file.read(_CHUNK), b""))
    if copy is not None:
        with open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as new:
            new.writelines(chunks)
    return chunks


def _sums(mode: str, chunks: list[bytes], target: str = "") -> File:
    head = b"blob %d\0" % sum(map(len, chunks))
    made = (hashlib.sha256(), hashlib.sha1(head, usedforsecurity=False), hashlib.sha256(head))
    for chunk in chunks:
        for each in made:
            each.update(chunk)
    plain_sum, short, long = (each.hexdigest() for each in made)
    return File(mode, plain_sum, {40: short, 64: long}, target)


def _reached(directory: Path, solid: set[Path]) -> bool:
    """Whether no directory on the way is a symlink. `solid`: those that were found to be none."""
    if directory in solid:
        return True
    if directory.is_symlink() or not _reached(directory.parent, solid):
        return False
    solid.add(directory)
    return True


def _differs(root: Path, path: str, was: Kept | None, now: File | None) -> bool:
    if was is not None and was.mode == SUBMODULE:
        at = root / path
        if has_git(at) and not at.is_symlink():
            return commit_of(at, "HEAD") != was.oid
        return now is not None or not at.is_dir()
    return was is None or now is None or not now.same(was)


def _same(one: Kept | None, other: Kept | None) -> bool:
    return one is not None and other is not None and (one.mode, one.oid) == (other.mode, other.oid)


def _last(root: Path) -> dict[str, Kept] | None:
    """The files of the last commit; None on a branch that has none yet."""
    try:
        last = revision_files(root, commit_of(root, "HEAD"))
    except WorkspaceError:
        return None
    return {path: kept for path, kept in last.items() if kept.repository == root}
