"""The tree that is tested: the worker's, with what is not the worker's to change taken from the base revision.

Taken from the base: the configuration of the test runner wherever it stands, and with a write scope everything outside it. So a
`conftest.py` that makes every test pass, a test deleted, a plugin slipped in have no say. Product code still runs inside the tests'
own process: this is not a sandbox.
"""

import os
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import tomli_w
from attrs import frozen

from lifecycle.checks.gits import EXECUTABLE, LINK, SUBMODULE, Kept, blobs, revision_files
from lifecycle.checks.scope import spec
from lifecycle.checks.tree import ODD, File, digest, survey

CONFIGURATION = {
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", ".coveragerc"),
    *("sitecustomize.py", "usercustomize.py"),
}
"""Files that tell a test runner or the interpreter what to do, wherever they stand."""

SHADOWS = {"pytest", "pytest.py", "_pytest", "pluggy"}
"""At the top of a tree, these would be imported in the test runner's place."""

_LOADED = (".pth", ".egg-link", ".egg-info", ".dist-info")
PROJECT = "pyproject.toml"
"""Its `tool` tables come from the base, the rest (dependencies, metadata) from the worker where the scope allows it."""


@frozen
class Snapshot:
    """A copy of the tree that is tested. `artifact` and `files`: of the worker's own; `restored`: what is the base's."""

    path: Path
    artifact: str
    files: Mapping[str, File]
    restored: tuple[str, ...]

    @contextmanager
    def trial(self) -> Iterator[tuple[Path, Path]]:
        """A fresh copy to run in, and a directory beside it for what is not the worker's; both are gone afterwards."""
        with TemporaryDirectory(prefix="lifecycle-", ignore_cleanup_errors=True) as scratch:
            tree, beside = Path(scratch) / "tree", Path(scratch) / "run"
            shutil.copytree(self.path, tree, symlinks=True)
            beside.mkdir()
            yield tree, beside


@contextmanager
def snapshot(root: Path, base: str | None, scope: Iterable[str] = ()) -> Iterator[Snapshot]:
    """A copy of a worker's tree with the base's files in place; gone afterwards. Without a base it is the tree as it is."""
    with TemporaryDirectory(prefix="lifecycle-") as scratch:
        copy = Path(scratch) / "tree"
        copy.mkdir()
        files = survey(root, copy)
        artifact = digest(files)
        restored = _restore(copy, files, revision_files(root, base), tuple(scope)) if base is not None else ()
        yield Snapshot(copy, artifact, files, restored)


def is_configuration(path: str) -> bool:
    """Whether a file tells the test runner or the interpreter what to do; compiled code in a `__pycache__` does too."""
    parts = PurePosixPath(path).parts
    return (
        parts[-1] in CONFIGURATION or parts[0] in SHADOWS or "__pycache__" in parts or any(part.endswith(_LOADED) for part in parts)
    )


def _restore(copy: Path, files: dict[str, File], base: dict[str, Kept], scope: tuple[str, ...]) -> tuple[str, ...]:
    """Put the base's files in the place of the worker's, where they are not the worker's to change; say which differed."""
    covered = spec(scope)
    base = {path: kept for path, kept in base.items() if kept.mode != SUBMODULE}

    def restores(path: str) -> bool:
        return is_configuration(path) or bool(scope and not covered.match_file(path))

    differing = {p for p in files.keys() | base.keys() if p not in files or p not in base or not files[p].same(base[p])}
    restored = sorted(path for path in differing if restores(path))
    coming = {path: base[path] for path in restored if path in base}
    settled = {path for path in base if restores(path)}
    going = {path for path in restored if path in files} | _in_the_way(files, settled)
    project = (copy / PROJECT).read_bytes() if PROJECT in files and PROJECT not in going and files[PROJECT].mode != LINK else None
    _remove(copy, going, files)
    for path, data in zip(coming, blobs(coming.values()), strict=True):
        _put(copy / path, data, coming[path].mode)
    if project is not None and PROJECT in differing:
        kept = next(blobs([base[PROJECT]]), b"") if PROJECT in base else b""
        _put(copy / PROJECT, with_tools_of(kept, project), files[PROJECT].mode)
        restored.append(f"{PROJECT} (its tools)")
    return tuple(restored)


def with_tools_of(base: bytes, worker: bytes) -> bytes:
    """The worker's `pyproject.toml` with the base's `tool` tables. The base's whole file where the worker's cannot be read."""
    try:
        held = tomllib.loads(worker.decode())
        tools = tomllib.loads(base.decode()).get("tool")
    except ValueError:
        return base
    held.pop("tool", None)
    return tomli_w.dumps({**held, "tool": tools} if tools is not None else held).encode()


def _in_the_way(files: dict[str, File], settled: set[str]) -> set[str]:
    """The worker's files that stand where the base has a directory, or below what is a file there."""
    above = {str(parent) for path in settled for parent in PurePosixPath(path).parents}
    below = {path for path in files if any(str(parent) in settled for parent in PurePosixPath(path).parents)}
    return (files.keys() & above) | below


def _remove(copy: Path, going: set[str], files: dict[str, File]) -> None:
    for path in going:
        if files[path].mode != ODD:
            (copy / path).unlink()
    emptied = {str(parent) for path in going for parent in PurePosixPath(path).parents} - {"."}
    for directory in sorted(emptied, key=len, reverse=True):
        if not any((copy / directory).iterdir()):
            (copy / directory).rmdir()


def _put(at: Path, data: bytes, mode: str) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    at.unlink(missing_ok=True)
    if mode == LINK:
        os.symlink(os.fsdecode(data), at)
        return
    at.write_bytes(data)
    at.chmod(0o755 if mode == EXECUTABLE else 0o644)
