"""What counts as the tree, its digest, and what changed in it: nothing hides from the diff."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle import checks
from lifecycle.law.terms import CommandCheck, DiffCheck, FileCheck

from .conftest import FILES, Repo, made


def diff(repo: Repo, base: str, *scope: str) -> tuple[str, str]:
    record = checks.run(DiffCheck(), checks.Workspace.at(repo.root, base), scope=scope)
    return record.status, record.seen


def test_equal_trees_have_equal_digests_anywhere(repo: Repo, tmp_path: Path) -> None:
    other = made(tmp_path / "other", dict(reversed(FILES.items())))
    repo.write("ignored/x", "not part of the tree")
    repo.write("ignored.log", "neither")
    assert checks.Workspace.at(repo.root).artifact == checks.Workspace.at(other.root).artifact
    shutil.copytree(other.root, tmp_path / "bare", ignore=shutil.ignore_patterns(".git"))
    assert checks.Workspace.at(tmp_path / "bare").artifact == checks.Workspace.at(other.root).artifact


CHANGES: dict[str, Callable[[Repo], object]] = {
    "a byte": lambda repo: repo.write("src/retry.py", "RETRIES = 4\n"),
    "a mode": lambda repo: (repo.root / "src/retry.py").chmod(0o755),
    "a new file": lambda repo: repo.write("src/new.py", ""),
    "a file gone": lambda repo: (repo.root / "src/retry.py").unlink(),
    "a name": lambda repo: (repo.root / "src/retry.py").rename(repo.root / "src/other.py"),
    "a link in its place": lambda repo: _relink(repo.root / "src/retry.py", "../conftest.py"),
}


def _relink(at: Path, target: str) -> None:
    at.unlink()
    at.symlink_to(target)


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_changes_the_digest_and_is_in_the_diff(change: str, repo: Repo) -> None:
    before = checks.Workspace.at(repo.root).artifact
    CHANGES[change](repo)
    assert checks.Workspace.at(repo.root).artifact != before
    assert diff(repo, "HEAD", "tests/")[0] == "failed"
    assert diff(repo, "HEAD", "src/")[0] == "passed"


def test_a_link_is_hashed_as_a_link_and_never_followed(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("one")
    (repo.root / "src/link").symlink_to(tmp_path / "secret")
    before = checks.Workspace.at(repo.root).artifact
    (tmp_path / "secret").write_text("two")
    assert checks.Workspace.at(repo.root).artifact == before


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "../.."])
def test_a_new_link_that_points_outside_fails_though_in_scope(target: str, repo: Repo) -> None:
    (repo.root / "src/link").symlink_to(target)
    status, seen = diff(repo, "HEAD", "src/")
    assert status == "failed" and "src/link -> " in seen


def _assume_unchanged(repo: Repo) -> None:
    repo.git("update-index", "--assume-unchanged", "conftest.py")
    repo.write("conftest.py", "")


def _skip_worktree(repo: Repo) -> None:
    repo.git("update-index", "--skip-worktree", "conftest.py")
    repo.write("conftest.py", "")


def _info_exclude(repo: Repo) -> None:
    repo.write(".git/info/exclude", "evil.py\n")
    repo.write("evil.py", "")


def _own_excludes(repo: Repo) -> None:
    repo.write(".git/mine", "evil.py\n")
    repo.git("config", "core.excludesFile", str(repo.root / ".git/mine"))
    repo.write("evil.py", "")


def _gitignored(repo: Repo) -> None:
    repo.write(".gitignore", FILES[".gitignore"] + "evil.py\n")
    repo.write("evil.py", "")


def _committed_and_taken_back(repo: Repo) -> None:
    text = FILES["conftest.py"]
    repo.write("conftest.py", "")
    repo.commit()
    repo.write("conftest.py", text)


def _staged_and_taken_back(repo: Repo) -> None:
    text = FILES["conftest.py"]
    repo.write("conftest.py", "")
    repo.git("add", "-A")
    repo.write("conftest.py", text)


def _renamed_out(repo: Repo) -> None:
    repo.git("mv", "src/retry.py", "retry.py")


def _renamed_in(repo: Repo) -> None:
    repo.git("mv", "conftest.py", "src/conftest.py")


def _nested_repository(repo: Repo) -> None:
    (repo.root / "vendor").mkdir()
    subprocess.run(["git", "init", "-q", "vendor"], cwd=repo.root, check=True)
    repo.write("vendor/evil.py", "")


def _directory_for_a_link(repo: Repo) -> None:
    shutil.move(repo.root / "tests", repo.root / "src/tests")
    (repo.root / "tests").symlink_to("src/tests")


def _replaced_object(repo: Repo) -> None:
    repo.write("conftest.py", "evil = True\n")
    evil = repo.git("hash-object", "-w", "conftest.py")
    repo.git("replace", repo.git("rev-parse", "HEAD:conftest.py"), evil)


def _moved_branch(repo: Repo) -> None:
    repo.write("conftest.py", "")
    repo.commit()


HIDDEN = [
    _assume_unchanged, _skip_worktree, _info_exclude, _own_excludes, _gitignored, _committed_and_taken_back, _staged_and_taken_back,
    _renamed_out, _renamed_in, _nested_repository, _directory_for_a_link, _replaced_object, _moved_branch,
]  # fmt: skip


@pytest.mark.parametrize("hide", HIDDEN, ids=lambda hide: hide.__name__)
def test_nothing_hides_from_the_diff(hide: Callable[[Repo], object], repo: Repo) -> None:
    workspace = checks.Workspace.at(repo.root, "main")
    hide(repo)
    record = checks.run(DiffCheck(), workspace, scope=("src/",))
    assert record.status == "failed", record.seen


def test_a_submodule_counts_by_its_commit_and_its_files(repo: Repo, tmp_path: Path) -> None:
    part = made(tmp_path / "part", {"a.py": "1\n"})
    repo.git("submodule", "--quiet", "add", str(part.root), "part")
    base = repo.commit()
    assert diff(repo, base, "src/") == ("passed", f"0 paths changed since {base[:12]}, all inside src/")
    repo.write("part/a.py", "2\n")
    assert "part/a.py" in diff(repo, base, "src/")[1]
    Repo(repo.root / "part").commit("moved")
    status, seen = diff(repo, base, "src/")
    assert status == "failed" and seen.endswith("part, part/a.py")


def test_without_a_scope_nothing_may_change(repo: Repo) -> None:
    assert diff(repo, "HEAD")[0] == "passed"
    repo.write("src/retry.py", "")
    assert diff(repo, "HEAD")[0] == "failed"


def test_a_path_is_made_plain_before_it_is_matched() -> None:
    assert checks.inside("retry/a.py", ["retry/**"])
    assert checks.inside("./retry//a.py", ["retry"])
    assert not checks.inside("retry/../prod/a.py", ["retry/**"])
    assert not checks.inside("/retry/a.py", ["**"])
    assert not checks.inside("docs/README.md", ["README.md"])
    assert not checks.inside("..", ["**"]) and not checks.inside("a\\b", ["**"])


segment = st.sampled_from(["a", "b", "..", ".", "c.py"])


@given(st.lists(segment, min_size=1, max_size=6).map("/".join))
def test_only_what_lies_below_is_inside(path: str) -> None:
    normal = os.path.normpath(path)
    assert checks.inside(path, ["a"]) == (normal == "a" or normal.startswith("a/"))


names = st.sampled_from(["src/a.py", "src/deep/b.py", "tests/t.py", "c.py", "conftest.py"])


@settings(max_examples=15)
@given(written=st.dictionaries(names, st.sampled_from(["", "1\n"]), max_size=4), staged=st.booleans())
def test_the_diff_agrees_with_git(written: dict[str, str], staged: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    repo = made(tmp_path_factory.mktemp("repo"), {"src/a.py": "0\n", "tests/t.py": "1\n", "c.py": ""})
    for path, text in written.items():
        repo.write(path, text)
    if staged:
        repo.git("add", "-A")
    told = repo.git("diff", "--name-only", "HEAD").split() + repo.git("ls-files", "--others").split()
    status, seen = diff(repo, "HEAD", "src/")
    outside = sorted(path for path in told if not path.startswith("src/"))
    assert status == ("failed" if outside else "passed")
    assert all(path in seen for path in outside)


def test_what_git_is_told_to_run_is_not_run(repo: Repo, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    script = repo.write(".git/evil", f"#!/bin/sh\ntouch {mark}\ncat\n", 0o755)
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.external", "diff.evil.textconv"):
        repo.git("config", key, str(script))
    repo.write(".gitattributes", "* filter=evil diff=evil\n")
    for hook in ("post-index-change", "post-checkout"):
        repo.write(f".git/hooks/{hook}", f"#!/bin/sh\ntouch {mark}\n", 0o755)
    assert diff(repo, "HEAD", "src/", ".gitattributes")[0] == "passed"
    assert not mark.exists()


def test_a_file_is_looked_at_in_the_tested_tree(repo: Repo, workspace: checks.Workspace) -> None:
    def status(path: str, **more: object) -> str:
        return checks.run(FileCheck(path, **more), workspace).status

    repo.write("report.csv", "1\n")
    repo.write("empty.csv", "")
    repo.write("ignored/report.csv", "1\n")
    (repo.root / "out").symlink_to("/etc/passwd")
    (repo.root / "in").symlink_to("report.csv")
    assert status("report.csv") == status("in") == "passed"
    assert status("empty.csv", non_empty=False) == "passed"
    digest = "sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865"
    assert status("report.csv", digest=digest) == "passed"
    for path in ("absent", "empty.csv", "src", "ignored/report.csv", "out", "../repo/report.csv", "/etc/passwd"):
        assert status(path) == "failed"
    assert status("report.csv", digest=digest[:-1] + "4") == "failed"
    assert status("report.csv", digest="md5:00") == "unavailable"


def test_a_pipe_in_the_tree_is_never_opened(repo: Repo, workspace: checks.Workspace) -> None:
    (repo.root / "src/retry.py").unlink()
    os.mkfifo(repo.root / "src/retry.py")
    assert checks.run(DiffCheck(), workspace).status == "failed"
    assert checks.run(CommandCheck(("true",)), workspace).status == "passed"


def test_a_base_that_is_not_there_is_told(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(checks.WorkspaceError, match="`nope` is no commit"):
        checks.Workspace.at(repo.root, "nope")
    with pytest.raises(checks.WorkspaceError, match="no directory"):
        checks.Workspace.at(tmp_path / "absent")
    with pytest.raises(checks.WorkspaceError, match="not the top of a git repository"):
        checks.Workspace.at(repo.root / "src", "HEAD")
    assert checks.run(DiffCheck(base="nope"), checks.Workspace.at(repo.root, "HEAD")).status == "unavailable"
    assert checks.run(DiffCheck(), checks.Workspace.at(repo.root)).status == "unavailable"
