"""Killed between every two steps, by `kill -9` and for real: at most one effect, and never a silent one.

A child process tells the story of one approved call and dies on its way. Another one, later, goes on from the file alone.
"""

from pathlib import Path

import pytest

from lifecycle.toolhost import Host, NotStarted, Operation
from lifecycle.toolhost.edit import Edit
from lifecycle.toolhost.tree import Tree
from tests.engine.stories import MINUTE, NOON, SECOND

from .processes import (
    AFTER,
    BEFORE,
    BEFORE_DIGEST,
    CALL,
    PATCH,
    Place,
    at_disk,
    at_step,
    at_write,
    edit,
    edits,
    registry,
    story,
    told,
)
from .stage import OPEN_WRITES, working

LATER = NOON + 10 * MINUTE
"""Long after whatever ran has run out of time."""

STEPS = ("kept turn", "proposed", "decided", "claimed", "before effect", "after effect", "executed", "kept result", "closed")
LOST = {"claimed": 0, "before effect": 0, "after effect": 1, "executed": 1}
"""The steps after which nobody knows whether there was an effect, and whether there was."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path, NOON)
    (place.tree / "retry").mkdir(parents=True)
    (place.tree / "retry/a.py").write_bytes(BEFORE)
    with place.jobs() as jobs:
        working(jobs)
    return place


def go_on(place: Place, kind: str) -> tuple[str, bool, int]:
    """What comes of the call when another process goes on, twice: its status, whether it was reconciled, the effects."""
    later = Place(place.folder, LATER)
    for _ in range(2):
        with later.jobs() as jobs:
            host = Host(jobs, registry(later, kind), OPEN_WRITES)
            story(host, [CALL])
            result = host.results("job", "t1")["c1"]
    return result.status, result.reconciled, len(place.effects.all)


@pytest.mark.parametrize("at", STEPS)
@pytest.mark.parametrize("kind", ["plain", "keyed", "traced"])
def test_case_44_killed_at_any_step(place: Place, kind: str, at: str) -> None:
    """A write killed between effect and record is unknown, and is not run again; a keyed one is retried; a traced one is found."""
    assert told(at_step, place, kind, at) == -9
    effects = LOST.get(at, 1)
    if at not in LOST or kind == "keyed":
        expected = ("executed", False, 1)
    elif kind == "traced" and effects:
        expected = ("executed", True, 1)
    else:
        expected = ("unknown", False, effects)
    assert go_on(place, kind) == expected


def test_case_44_what_was_lost_is_told(place: Place) -> None:
    """Nobody looked yet: started. Once its time is up: unknown, with what happened, the operation id and the one attempt."""
    told(at_step, place, "plain", "after effect")
    for time, standing in ((NOON + 30 * SECOND, "started"), (LATER, "unknown")):
        with Place(place.folder, time).jobs() as jobs:
            host = Host(jobs, registry(place, "plain"), OPEN_WRITES)
            host.settle("job")
            assert host.standing("job", "t1") == {"c1": standing}
    with place.jobs() as jobs:
        result = Host(jobs, registry(place, "plain"), OPEN_WRITES).results("job", "t1")["c1"]
    assert (result.reason, result.operation, result.attempts) == ("crash", place.effects.all[0], 1)


@pytest.mark.parametrize("kind", ["plain", "keyed", "read", "free"])
def test_killed_before_any_write(place: Place, kind: str, tmp_path: Path) -> None:
    """Killed before the first write of the story, the second, and so on to the last: one effect at most, told as what it is."""
    for count in range(1, 40):
        here = Place(tmp_path / str(count), NOON)
        here.folder.mkdir()
        with here.jobs() as jobs:
            working(jobs)
        ended = told(at_write, here, kind, count)
        status, _, effects = go_on(here, kind)
        assert status == "executed" or (kind in ("plain", "free") and status == "unknown")
        assert effects == 1 or (kind == "read" and effects == 2)
        if ended == 0:
            break
    assert 5 < count < 20


def test_an_edit_killed_before_any_write_is_made_once(tmp_path: Path) -> None:
    """The same for `edit`, which also moves the file: in the end it is made, and executed."""
    for count in range(1, 40):
        here = Place(tmp_path / str(count), NOON)
        (here.tree / "retry").mkdir(parents=True)
        (here.tree / "retry/a.py").write_bytes(BEFORE)
        with here.jobs() as jobs:
            working(jobs)
        ended = told(at_write, here, "edit", count)
        assert the_edit_ends(here)
        if ended == 0:
            break
    assert 8 < count < 30


DISK = [("os.rename", 1), ("os.remove", 1), *(("open", count) for count in range(1, 8))]


@pytest.mark.parametrize(("event", "count"), DISK)
def test_an_edit_killed_at_the_disk_is_made_once(place: Place, event: str, count: int) -> None:
    """Killed right before it opens, renames or removes a file: the next process finishes just that."""
    assert told(at_disk, place, event, count) == -9
    assert the_edit_ends(place)


def test_a_file_whose_edit_died_is_free_again_when_its_time_is_up(place: Place) -> None:
    """Killed inside an edit: until its time is up another edit of that file is not started; then the file is as it was, or new."""
    assert told(at_disk, place, "os.rename", 1) == -9
    other = {"path": "retry/a.py", "digest": BEFORE_DIGEST, "patch": PATCH.replace("+2", "+3")}
    for time in (NOON + SECOND, LATER):
        with Place(place.folder, time).jobs() as jobs:
            does = Edit(Tree(place.tree, lambda path: True), jobs.store)
            if time < LATER:
                with pytest.raises(NotStarted):
                    does(other, Operation("other", "job", "c2"))
            else:
                does(other, Operation("other", "job", "c2"))
    assert {path.name: path.read_bytes() for path in (place.tree / "retry").iterdir()} == {"b.py": b"one\n3\n"}


def the_edit_ends(place: Place) -> bool:
    """Whether the edit is made, whole, once somebody goes on; and nothing else is left in the tree."""
    later = Place(place.folder, LATER)
    for _ in range(2):
        with later.jobs() as jobs:
            host = Host(jobs, edits(later, jobs), OPEN_WRITES)
            story(host, [edit(later)])
            result = host.results("job", "t1")["c1"]
    assert result.status == "executed", result
    left = {path.name: path.read_bytes() for path in (place.tree / "retry").iterdir()}
    return left == {"b.py": AFTER}
