"""A log that is not what was written is found: by `audit`, which names the first bad entry, and by whoever reads that job."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copy

import pytest

from lifecycle import CorruptLog, Jobs, Receipt, Stage, UnknownLaw
from lifecycle.law.log import chained

from .conftest import Place
from .stories import ASKED, HOUR, WAYS, Clock, at, request

Edit = Callable[[sqlite3.Connection], object]
ENTRY = "job = (SELECT first FROM jobs WHERE job = 'job') AND seq = ?"


@pytest.fixture
def jobs(on_file: Place) -> Iterator[Jobs]:
    jobs = on_file.open()
    at(jobs, Stage.WORKING, "before")
    at(jobs, Stage.ACCEPTED, **ASKED)
    at(jobs, Stage.WORKING, "after")
    yield jobs


def edited(place: Place, edit: Edit) -> None:
    """Somebody changes the file, behind everybody's back."""
    with sqlite3.connect(place.url.removeprefix("sqlite:///")) as held:
        assert edit(held) is not None
    held.close()


def swapped(held: sqlite3.Connection) -> object:
    """Entries 1 and 2 change places."""
    rows = [held.execute(f"SELECT id, prev, hash, body FROM log WHERE {ENTRY}", (seq,)).fetchone() for seq in (1, 2)]
    ids = [row[0] for row in rows]
    held.execute(f"UPDATE log SET id = 'away' WHERE {ENTRY}", (1,))
    for seq, row in ((2, rows[0]), (1, rows[1])):
        held.execute(f"UPDATE log SET id = ?, prev = ?, hash = ?, body = ? WHERE {ENTRY}", (*row, seq))
    return ids


def rewritten(held: sqlite3.Connection) -> object:
    """Entry 2 is changed, and every hash from there on made to fit: only a receipt can tell."""
    prev, last = b"", b""
    for seq in range(4):
        found = held.execute(f"SELECT prev, body FROM log WHERE {ENTRY}", (seq,)).fetchone()
        body = found[1].replace("a.py", "b.py")
        last = bytes.fromhex(chained(prev.hex(), body.encode()))
        held.execute(f"UPDATE log SET prev = ?, hash = ?, body = ? WHERE {ENTRY}", (prev, last, body, seq))
        prev = last
    return held.execute("UPDATE jobs SET hash = ? WHERE job = 'job'", (last,))


def sealed_as(held: sqlite3.Connection, **changes: object) -> object:
    """The last entry says something else, and its hash and the head fit."""
    prev, body = held.execute(f"SELECT prev, body FROM log WHERE {ENTRY}", (3,)).fetchone()
    body = json.dumps(json.loads(body) | changes)
    last = bytes.fromhex(chained(prev.hex(), body.encode()))
    held.execute(f"UPDATE log SET hash = ?, body = ? WHERE {ENTRY}", (last, body, 3))
    return held.execute("UPDATE jobs SET hash = ? WHERE job = 'job'", (last,))


def execute(sql: str, *values: object) -> Edit:
    """An edit that is one statement."""
    return lambda held: held.execute(sql, values)


FAULTS: dict[str, tuple[Edit, int, str]] = {
    "a byte altered": (execute(f"UPDATE log SET body = replace(body, 'a.py', 'b.py') WHERE {ENTRY}", 2), 2, "hash"),
    "a party altered": (execute(f"UPDATE log SET body = replace(body, '\"wes\"', '\"vic\"') WHERE {ENTRY}", 1), 1, "hash"),
    "a body that is no JSON": (execute(f"UPDATE log SET body = '{{' WHERE {ENTRY}", 2), 2, "bytes"),
    "a body that is no entry": (execute(f"UPDATE log SET body = '[]' WHERE {ENTRY}", 0), 0, "bytes"),
    "an empty body": (execute(f"UPDATE log SET body = '' WHERE {ENTRY}", 3), 3, "bytes"),
    "a hash altered": (execute(f"UPDATE log SET hash = prev WHERE {ENTRY}", 2), 2, "hash"),
    "the first removed": (execute(f"DELETE FROM log WHERE {ENTRY}", 0), 0, "seq"),
    "one in the middle removed": (execute(f"DELETE FROM log WHERE {ENTRY}", 1), 1, "seq"),
    "the last removed": (execute(f"DELETE FROM log WHERE {ENTRY}", 3), 3, "missing"),
    "two reordered": (swapped, 1, "its seq is 2"),
    "another job's entry": (
        execute(
            f"UPDATE log SET body = (SELECT body FROM log WHERE job = (SELECT first FROM jobs WHERE job = 'after') AND seq = 1) "
            f"WHERE {ENTRY}", 1,
        ), 1, "of job `after`",
    ),
    "a head that says less": (execute("UPDATE jobs SET seq = 2 WHERE job = 'job'"), 4, "head is entry 2"),
    "a head of another hash": (execute("UPDATE jobs SET hash = zeroblob(32) WHERE job = 'job'"), 4, "head"),
    "an act that the stage does not have": (lambda held: sealed_as(held, to="cancelled.stopped"), 3, "no `confirm`"),
    "a law that is not known": (lambda held: sealed_as(held, law=7), 3, "law 7"),
    "a time before the one before": (lambda held: sealed_as(held, at="2020-01-01T00:00:00.000000Z"), 3, "older"),
    "an entry that leaves another stage": (lambda held: sealed_as(held, **{"from": "error"}), 3, "leaves `error`"),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "seq", "what"), FAULTS.values(), ids=FAULTS)
def test_the_first_bad_entry_is_named(on_file: Place, jobs: Jobs, edit: Edit, seq: int, what: str) -> None:
    """Altered, removed, reordered: `audit` names job and entry and says what is wrong, and finds every other job well."""
    assert jobs.audit() == []
    edited(on_file, edit)
    for engine in (jobs, on_file.open()):
        (finding,) = engine.audit()
        assert (finding.job, finding.seq, what in finding.what) == ("job", seq, True), finding
        assert engine.audit("job") == [finding]
        assert engine.audit("before") == engine.audit("after") == []


BELIEVED = {"an act that the stage does not have", "a time before the one before"}
"""What only an audit asks: a job believes every entry whose hash and place are right."""


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - BELIEVED))
def test_who_reads_a_bad_log_is_told_and_the_others_go_on(on_file: Place, jobs: Jobs, clock: Clock, name: str) -> None:
    """An engine that has not read the job yet refuses to guess: a typed error. Other jobs are read, worked on and swept."""
    edited(on_file, FAULTS[name][0])
    fresh = on_file.open()
    for ask in (lambda: fresh.job("job"), lambda: fresh.seat("job", "vic").may(), lambda: fresh.handle("job")):
        with pytest.raises((CorruptLog, UnknownLaw), match="`job`"):
            ask()
    fresh.seat("after", "wes").progress("on", nothing_new=True)
    clock.ticks(HOUR)
    assert sorted(receipt.job for receipt in fresh.sweep()) == ["after", "before"]


def test_a_rewritten_log_is_found_by_who_holds_a_receipt(on_file: Place, jobs: Jobs) -> None:
    """Every hash was made to fit: nothing in the file tells, but a receipt does, and names the entry it is of."""
    receipts = [entry.receipt for entry in jobs.log("job")]
    edited(on_file, rewritten)
    fresh = on_file.open()
    assert fresh.audit() == []
    (finding,) = fresh.audit(receipts=receipts)
    assert (finding.job, finding.seq, "receipt" in finding.what) == ("job", 2, True)
    assert fresh.audit(receipts=receipts[:2]) == []


@pytest.mark.parametrize("left", range(4))
def test_a_cut_tail_is_found_by_who_holds_a_receipt(on_file: Place, jobs: Jobs, left: int) -> None:
    """An earlier copy is put back, and the job goes on from there: a receipt of what was cut off shows the first entry missing."""
    receipts = [entry.receipt for entry in jobs.log("job")]

    def cut(held: sqlite3.Connection) -> object:
        held.execute("DELETE FROM log WHERE job = (SELECT first FROM jobs WHERE job = 'job') AND seq >= ?", (left,))
        if left == 0:
            return held.execute("DELETE FROM jobs WHERE job = 'job'")
        return held.execute(
            f"UPDATE jobs SET seq = ?, hash = (SELECT hash FROM log WHERE {ENTRY}) WHERE job = 'job'", (left - 1, left - 1)
        )

    edited(on_file, cut)
    fresh = on_file.open()
    assert fresh.audit() == []
    for held in (receipts, receipts[-1:], receipts[::-1]):
        (finding,) = fresh.audit(receipts=held)
        assert (finding.job, finding.seq, "missing" in finding.what or "no such" in finding.what) == ("job", left, True), finding
    assert fresh.audit("job", receipts=receipts) == [finding]
    assert fresh.audit(receipts=receipts[:left]) == []


def test_an_engine_that_remembers_more_than_the_file_holds_reads_it_anew(on_file: Place, jobs: Jobs, tmp_path: Path) -> None:
    """The file is put back to an earlier copy under an engine at work: it reads what is there, and goes on from there."""
    path = Path(on_file.url.removeprefix("sqlite:///"))
    job = at(jobs, Stage.READY, "last")
    with sqlite3.connect(path) as held, sqlite3.connect(tmp_path / "copy.db") as target:
        held.backup(target)
    cut = job.seat("wes").progress("on", nothing_new=True, id="p1")
    with sqlite3.connect(tmp_path / "copy.db") as held, sqlite3.connect(path) as target:
        held.backup(target)
    assert (job.job.seq, job.stage) == (1, Stage.READY)
    assert [finding.seq for finding in jobs.audit(receipts=[cut])] == [2]
    again = job.seat("wes").progress("on", nothing_new=True, id="p1")
    assert (again.seq, job.stage) == (2, Stage.WORKING)
    assert jobs.audit(receipts=[again]) == []


def test_a_copy_made_at_any_moment_is_well_and_goes_on(on_file: Place, jobs: Jobs, tmp_path: Path) -> None:
    """Backed up while jobs are at every stage: the copy audits well, holds the same logs, and its jobs go on."""
    for stage in WAYS:
        at(jobs, stage, stage.name)
    jobs.close()
    copy(on_file.url.removeprefix("sqlite:///"), tmp_path / "copy.db")
    restored, anew = Place(f"sqlite:///{tmp_path}/copy.db", on_file.clock).open(), on_file.open()
    assert restored.audit(receipts=[notice.entry.receipt for notice in anew.watch()]) == []
    assert list(restored.watch()) == list(anew.watch())
    restored.seat("WORKING", "wes").deliver(value=1)
    restored.close()


def test_receipts_of_jobs_that_are_not_there_are_told(jobs: Jobs) -> None:
    """A receipt of a job that the store does not have: the job is missing from its first entry on."""
    held = jobs.log("job")[2].receipt
    lost = Receipt("lost", held.seq, held.id, held.act, held.stage, held.at, held.hash)
    assert [(finding.job, finding.seq) for finding in jobs.audit(receipts=[held, lost])] == [("lost", 0)]
    assert jobs.audit("nowhere") == []


def test_a_bad_log_is_told_by_name_wherever_it_is_met(on_file: Place, jobs: Jobs) -> None:
    """The message names job and entry, and what would mend it; the feed stops at the bad entry and gives what is before it."""
    edited(on_file, execute(f"UPDATE log SET body = '{{' WHERE {ENTRY}", 2))
    with pytest.raises(CorruptLog) as error:
        on_file.open().job("job")
    assert (error.value.job, error.value.seq) == ("job", 2)
    assert "`job`, entry 2" in str(error.value) and "audit" in str(error.value)
    with pytest.raises(CorruptLog, match="`job`, entry 2"):
        list(jobs.watch())
    request(jobs, "more")
    assert jobs.job("more").stage is Stage.REQUESTED
