"""The tool `edit`: inside its scope, on what the patch was made for, whole or not at all, once per operation id."""

import difflib
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from lifecycle.stores.memory import MemoryStore
from lifecycle.toolhost import Call, NotStarted, Operation, OperationConflict, Policy, Registry
from lifecycle.toolhost import patch as patches
from lifecycle.toolhost.edit import Edit, register_edit
from lifecycle.toolhost.tree import EditRefused, Tree
from tests.engine.stories import Clock

from .stage import House, told, words, working

Arguments = dict[str, JsonValue]


def covers(path: str) -> bool:
    """The scope of these tests: everything in `retry`."""
    return path.startswith("retry/")


def sha(text: str | bytes) -> str:
    """The digest of a file with this content."""
    return f"sha256:{hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()}"


def diff(old: str, new: str, path: str = "retry/a.py", to: str | None = None) -> str:
    """The unified diff between two texts."""
    lines = []
    for line in difflib.unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{to or path}"):
        lines.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


class Desk:
    """A tree with `retry/a.py` and `prod/a.py` in it, and the tool on it."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.root, self.store = folder / "tree", MemoryStore(clock)
        for name in ("retry", "prod"):
            (self.root / name).mkdir(parents=True)
            (self.root / name / "a.py").write_text("one\ntwo\n")
        self.edit = Edit(Tree(self.root, covers), self.store)

    def does(self, arguments: Arguments, id: str = "op", attempt: int = 1) -> JsonValue:
        """Make an edit."""
        return self.edit(arguments, Operation(id, "job", "c1", attempt, timeout=30.0))

    def all(self) -> dict[str, str]:
        """Every file of the tree."""
        return {str(path.relative_to(self.root)): path.read_text() for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture
def desk(tmp_path: Path, clock: Clock) -> Desk:
    return Desk(tmp_path, clock)


def change(path: str = "retry/a.py", old: str = "one\ntwo\n", new: str = "one\n2\n", **fields: JsonValue) -> Arguments:
    """The arguments of an edit."""
    return {"path": path, "digest": sha(old), "patch": diff(old, new, path), **fields}


def test_a_file_is_changed_and_the_receipt_tells_how(desk: Desk) -> None:
    """The paths that changed and their new digests; the mode of the file is kept, and nothing else is left in the tree."""
    (desk.root / "retry/a.py").chmod(0o750)
    assert desk.does(change()) == {"changed": ["retry/a.py"], "digests": {"retry/a.py": sha("one\n2\n")}}
    assert desk.all() == {"retry/a.py": "one\n2\n", "prod/a.py": "one\ntwo\n"}
    assert (desk.root / "retry/a.py").stat().st_mode & 0o777 == 0o750


def test_a_file_is_made_removed_and_moved(desk: Desk) -> None:
    """A new file in a new directory, one taken away, one moved and changed at once."""
    made = "--- /dev/null\n+++ b/retry/deep/new.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    desk.does({"path": "retry/deep/new.py", "digest": None, "patch": made}, "o1")
    assert (desk.root / "retry/deep/new.py").read_text() == "a\nb\n"
    gone = "--- a/retry/deep/new.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert desk.does({"path": "retry/deep/new.py", "digest": sha("a\nb\n"), "patch": gone}, "o2") == {
        "changed": ["retry/deep/new.py"],
        "digests": {"retry/deep/new.py": None},
    }
    moved = "diff --git a/retry/a.py b/retry/b.py\nsimilarity index 100%\nrename from retry/a.py\nrename to retry/b.py\n"
    desk.does({"path": "retry/a.py", "digest": sha("one\ntwo\n"), "patch": moved}, "o3")
    desk.does(change("retry/b.py", patch=diff("one\ntwo\n", "1\ntwo\n", "retry/b.py", "retry/c.py")), "o4")
    assert desk.all() == {"retry/c.py": "1\ntwo\n", "prod/a.py": "one\ntwo\n"}


OUTSIDE = [
    "prod/a.py", "retry/../prod/a.py", "./prod/a.py", "retry/./../prod/a.py", "../tree/retry/a.py", "..", ".", "", "retry",
    "/etc/passwd", "~/a.py", "C:/a.py", "retry\\a.py", "Retry/a.py", "RETRY/a.py", "retry/../../outside.py", "retry/.git/hooks/x",
    "retry/.GIT/config", "retry/a.py\x00", "//retry/a.py", "link/a.py", "retry/link.py", "retry/up/a.py", "retry/dangling.py",
    "retry/loop/a.py",
]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("as_target", [False, True])
def test_nothing_outside_the_scope_is_edited(desk: Desk, path: str, as_target: bool) -> None:
    """By `..`, by an absolute path, by case, by a link or a linked parent, as the file or as what it is moved to: refused."""
    (desk.root / "link").symlink_to(desk.root / "prod")
    (desk.root / "retry/link.py").symlink_to("../prod/a.py")
    (desk.root / "retry/up").symlink_to(desk.root / "prod", target_is_directory=True)
    (desk.root / "retry/dangling.py").symlink_to(desk.root.parent / "outside.py")
    (desk.root / "retry/loop").symlink_to(desk.root / "retry/loop")
    before = desk.all()
    if as_target:
        head = f"diff --git a/retry/a.py b/{path}\nsimilarity index 100%\nrename from retry/a.py\nrename to {path}\n"
        arguments: Arguments = {"path": "retry/a.py", "digest": sha("one\ntwo\n"), "patch": head}
    else:
        arguments = {"path": path, "digest": sha("one\ntwo\n"), "patch": diff("one\ntwo\n", "1\n", path)}
    with pytest.raises(EditRefused) as error:
        desk.does(arguments)
    assert (desk.all(), "\n" in str(error.value)) == (before, False)
    assert not (desk.root.parent / "outside.py").exists()


def test_a_link_that_stays_inside_the_scope_is_followed(desk: Desk) -> None:
    """The file that is really meant is changed, and the link stays one."""
    (desk.root / "retry/link.py").symlink_to("a.py")
    receipt = desk.does(change("retry/link.py"))
    assert receipt == {"changed": ["retry/a.py"], "digests": {"retry/a.py": sha("one\n2\n")}}
    assert (desk.root / "retry/link.py").is_symlink()


STALE: list[tuple[str, Callable[[Path], object], Arguments]] = [
    ("another digest", lambda root: (root / "retry/a.py").write_text("one\ntwo!\n"), change()),
    ("gone", lambda root: (root / "retry/a.py").unlink(), change()),
    ("there, and said not to be", lambda root: None, change(digest=None)),
    ("a directory", lambda root: ((root / "retry/a.py").unlink(), (root / "retry/a.py").mkdir()), change()),
    ("a fifo", lambda root: ((root / "retry/a.py").unlink(), os.mkfifo(root / "retry/a.py")), change()),
    ("no text", lambda root: (root / "retry/a.py").write_bytes(b"\xff\n"), change(digest=sha(b"\xff\n"))),
]


@pytest.mark.parametrize(("what", "prepare", "arguments"), STALE, ids=[what for what, _, _ in STALE])
def test_what_is_not_as_the_patch_was_made_for_is_not_edited(
    desk: Desk, what: str, prepare: Callable[[Path], object], arguments: Arguments
) -> None:
    """A stale digest, a file that came or went, something else than a text: refused, and nothing is changed."""
    prepare(desk.root)
    before = sorted(path.name for path in desk.root.rglob("*"))
    with pytest.raises(EditRefused):
        desk.does(arguments)
    assert sorted(path.name for path in desk.root.rglob("*")) == before


GOOD = diff("one\ntwo\n", "one\n2\n")
MALFORMED = {
    "no patch": "please make it better",
    "nothing": "\n",
    "headers only": "--- a/retry/a.py\n+++ b/retry/a.py\n",
    "two files": GOOD + diff("one\ntwo\n", "1\n", "retry/b.py"),
    "another file": diff("one\ntwo\n", "one\n2\n", "retry/b.py"),
    "a short count, and lines behind it": GOOD.replace("@@ -1,2 +1,2 @@", "@@ -1,1 +1,1 @@"),
    "a long count": GOOD.replace("@@ -1,2 +1,2 @@", "@@ -1,3 +1,3 @@"),
    "words behind it": GOOD + "and then some\n",
    "a header behind it": GOOD + "--- a/retry/b.py\n",
    "at another line": GOOD.replace("@@ -1,2 +1,2 @@", "@@ -2,2 +2,2 @@"),
    "context that is not there": GOOD.replace(" one", " ONE"),
    "hunks out of order": GOOD + "@@ -1,1 +1,1 @@\n-one\n+1\n",
    "a line end that is not there": GOOD.replace("-two\n", "-two\r\n"),
    "a binary": "diff --git a/retry/a.py b/retry/a.py\nBinary files a/retry/a.py and b/retry/a.py differ\n",
    "a mode": "diff --git a/retry/a.py b/retry/a.py\nold mode 100644\nnew mode 100755\n" + GOOD,
    "a link": "diff --git a/retry/a.py b/retry/a.py\nnew file mode 120000\n--- /dev/null\n+++ b/retry/a.py\n@@ -0,0 +1 @@\n+/etc\n",
    "headers that differ": "diff --git a/retry/a.py b/retry/a.py\n" + GOOD.replace("--- a/retry/a.py", "--- a/prod/a.py"),
    "a removal that leaves lines": "--- a/retry/a.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-one\n",
    "a move onto a file": diff("one\ntwo\n", "1\n", "retry/a.py", "retry/taken.py"),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_patch_that_is_malformed_or_does_not_apply_is_refused(desk: Desk, what: str) -> None:
    """Nothing in a patch is passed over, and no hunk is applied anywhere but where it says."""
    (desk.root / "retry/taken.py").write_text("mine\n")
    before = desk.all()
    with pytest.raises(EditRefused):
        desk.does(change(patch=MALFORMED[what]))
    assert desk.all() == before


LINES = ["a", "b", "", "c\r", "d\x0c", "e\u2028f", " g", "-h", "+i", "@@ -1 +1 @@", "--- j", "\\k"]
texts = st.lists(st.sampled_from(LINES)).map("\n".join)
ends = st.sampled_from(["", "\n"])


@given(texts, ends, texts, ends)
def test_a_patch_between_any_two_texts_makes_the_one_into_the_other(old: str, end: str, new: str, other_end: str) -> None:
    """Line ends, form feeds, lines that look like headers, no newline at the end: to the byte."""
    before, after = old + end, new + other_end
    text = diff(before, after)
    if before != after:
        assert patches.apply(patches.read(text), before) == after


def test_the_same_operation_again_gives_the_recorded_receipt(desk: Desk) -> None:
    """Same id and content: the receipt, also once the file has moved on; one effect. Other content: a conflict."""
    first = desk.does(change())
    (desk.root / "retry/a.py").write_text("somebody else\n")
    assert desk.does(change(), attempt=2) == first
    with pytest.raises(OperationConflict):
        desk.does(change(new="one\n3\n"))
    assert desk.all()["retry/a.py"] == "somebody else\n"


def test_of_edits_that_race_for_one_file_one_is_made(desk: Desk) -> None:
    """Eight patches of the same content at once: one is made; the others are not started or find it stale; nothing is lost."""
    barrier, ended = threading.Barrier(8), list[str]()

    def races(number: int) -> None:
        arguments = change(new=f"one\n{number}\n")
        barrier.wait(30)
        try:
            desk.does(arguments, f"op{number}")
        except (NotStarted, EditRefused) as error:
            ended.append(type(error).__name__)
        else:
            ended.append(f"one\n{number}\n")

    threads = [threading.Thread(target=races, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    made = [one for one in ended if one.startswith("one")]
    assert (len(ended), made) == (8, [desk.all()["retry/a.py"]])


def edits(house: House, root: Path) -> Registry:
    """A registry with `edit` alone."""
    registry = Registry()
    register_edit(registry, root, covers, house.jobs.store)
    return registry


def test_an_edit_is_approved_as_it_is_shown_and_made_once(house: House, tmp_path: Path, clock: Clock) -> None:
    """Proposed, shown as path and patch, approved after a restart, made; a stale one fails, and says why."""
    desk = Desk(tmp_path / "desk", clock)
    working(house.jobs)
    host = house.host(edits(house, desk.root), Policy())
    other = change(new="one\n3\n")
    set_id = host.turn("job", [Call("c1", "edit", change()), Call("c2", "edit", other)]).set
    (pending,) = host.pending()
    assert pending.calls[0].preview == f"retry/a.py\n{change()['patch']}"
    house.restart(edits(house, desk.root), policy=Policy())
    host = house.host(edits(house, desk.root), Policy())
    results = host.decide("job", set_id, words(host), by="app")
    assert told(results) == {"c1": "executed", "c2": "failed error"}
    assert "not what the patch was made for" in results["c2"].detail
    assert desk.all()["retry/a.py"] == "one\n2\n"


def test_an_edit_outside_the_scope_fails_even_if_it_is_approved(house: House, tmp_path: Path, clock: Clock) -> None:
    """An approver cannot widen the write scope."""
    desk = Desk(tmp_path / "desk", clock)
    working(house.jobs)
    host = house.host(edits(house, desk.root), Policy())
    set_id = host.turn("job", [Call("c1", "edit", change("prod/a.py"))]).set
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "failed error"}
    assert desk.all()["prod/a.py"] == "one\ntwo\n"
