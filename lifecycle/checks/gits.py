"""What git knows of a repository: its files, a revision's files, the bytes of a blob.

Only commands that read, and none that would run what the repository's own configuration names: no hooks, no filters, no file
system monitor, no replaced objects. Nothing here is written; what counts as changed is decided in `tree`.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from attrs import frozen

from lifecycle.checks.faults import WorkspaceError
from lifecycle.law.door import shown

LINK, SUBMODULE, EXECUTABLE, PLAIN = "120000", "160000", "100755", "100644"
"""The modes that git gives a symlink, a submodule, a program and any other file."""

_SAFE = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.quotePath=false", "-c", "safe.directory=*")
_SECONDS = 120.0


@frozen
class Kept:
    """A file as a revision has it: its mode, the id of its bytes, and the repository that keeps them."""

    mode: str
    oid: str
    repository: Path


def has_git(root: Path) -> bool:
    """Whether this very directory is the top of a repository's work tree."""
    return (root / ".git").exists()


def commit_of(root: Path, revision: str) -> str:
    """The commit that a revision names now; WorkspaceError if it names none."""
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    try:
        return _git(root, *asked).decode().strip()
    except WorkspaceError:
        raise WorkspaceError(
            f"`{shown(revision, 80)}` is no commit of `{root}`; to mend it, name the commit that the work began from"
        ) from None


def listed(root: Path) -> set[str]:
    """Every path that is tracked, or is there and not ignored by a `.gitignore` of the tree. A nested repository ends in `/`.

    Exclusions outside the tree (`info/exclude`, the user's own) do not count: they would hide files from whoever looks.
    """
    found = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-per-directory=.gitignore")
    return {os.fsdecode(path) for path in found.split(b"\0") if path}


def revision_files(root: Path, revision: str) -> dict[str, Kept]:
    """Every file of a revision, those of checked-out submodules too; a submodule's own path stands for its commit."""
    files: dict[str, Kept] = {}
    for line in _git(root, "ls-tree", "-r", "-z", "--full-tree", revision).split(b"\0"):
        if not line:
            continue
        meta, _, path = line.partition(b"\t")
        mode, _, oid = meta.decode().split(" ")
        name = os.fsdecode(path)
        files[name] = Kept(mode, oid, root)
        if mode == SUBMODULE and has_git(root / name) and not (root / name).is_symlink():
            files |= {f"{name}/{below}": kept for below, kept in _submodule(root / name, oid).items()}
    return files


def staged_files(root: Path) -> dict[str, Kept]:
    """Every file of the index; of a conflict, one side that differs from the others counts as any change does."""
    files: dict[str, Kept] = {}
    for line in _git(root, "ls-files", "-z", "--stage").split(b"\0"):
        if line:
            meta, _, path = line.partition(b"\t")
            mode, oid, stage = meta.decode().split(" ")
            files[os.fsdecode(path)] = Kept(mode, oid if stage == "0" else f"{stage}:{oid}", root)
    return files


def blob_id(data: bytes, digits: int) -> str:
    """The id that git gives these bytes, in a repository whose ids have so many digits: 40 or 64."""
    made = hashlib.new("sha1" if digits == 40 else "sha256", b"blob %d\0" % len(data), usedforsecurity=False)
    made.update(data)
    return made.hexdigest()


def blobs(kept: Iterable[Kept]) -> Iterator[bytes]:
    """The bytes of each file, in order; of neighbours in one repository with one process."""
    group: list[Kept] = []
    for one in kept:
        if group and group[0].repository != one.repository:
            yield from _batch(group)
            group = []
        group.append(one)
    if group:
        yield from _batch(group)


def _batch(group: list[Kept]) -> Iterator[bytes]:
    command = ["git", *_SAFE, "cat-file", "--batch"]
    with subprocess.Popen(
        command, cwd=group[0].repository, env=_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for one in group:
            process.stdin.write(one.oid.encode() + b"\n")
            process.stdin.flush()
            told = process.stdout.readline().split()
            if len(told) != 3:
                raise WorkspaceError(f"`{one.oid}` is missing in `{one.repository}`; to mend it, fetch the base revision whole")
            data = process.stdout.read(int(told[2]))
            process.stdout.read(1)
            if blob_id(data, len(one.oid)) != one.oid:
                raise WorkspaceError(f"`{one.oid}` in `{one.repository}` is not what its name says; to mend it, fetch it anew")
            yield data
        process.stdin.close()


def _submodule(root: Path, oid: str) -> Mapping[str, Kept]:
    try:
        return revision_files(root, oid)
    except WorkspaceError:  # its repository does not have that commit: then every file in it differs, which is what is to be said
        return {}


def _git(root: Path, *words: str) -> bytes:
    try:
        ran = subprocess.run(
            ["git", *_SAFE, *words],
            cwd=root,
            env=_env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorkspaceError(f"git cannot be asked about `{root}`: {error}; to mend it, install git and name a directory") from None
    if ran.returncode:
        said = shown(ran.stderr.decode(errors="replace").strip().split("\n")[0])
        raise WorkspaceError(f"git says of `{root}`: {said}; to mend it, name the top of a repository")
    return ran.stdout


def _env() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }
