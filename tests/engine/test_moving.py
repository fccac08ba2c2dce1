"""Moving house between every two stores: every hash arrives, work goes on, and what was cut off or changed is named by line."""

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from attrs import evolve

import lifecycle
from lifecycle import Jobs, Stage, acts, moving
from lifecycle.law.errors import CorruptLog, JobGone, JobNotFound, Refused, StoreError
from lifecycle.law.log import Row
from lifecycle.stores.sqlite import SqliteStore

from .conftest import Place
from .relay import Failing
from .stories import DAY, HOUR, STEPS, Clock, at, bodies, child, refused, request, soon


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def other(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Place]:
    """Where the jobs are moved to."""
    urls = {"memory": "memory:", "sqlite": f"sqlite:///{tmp_path}/other.db"}
    place = Place(urls.get(request.param) or request.getfixturevalue("second_database"), clock)
    yield place
    place.close()


def lived_in(jobs: Jobs, clock: Clock) -> None:
    """A job in every stage, children, refusals, renewals, a tool's shelf, and a hook that stands in the middle."""
    for stage in Stage:
        at(jobs, stage, f"at-{stage.value.replace('.', '-')}")
    parent = at(jobs, Stage.WORKING, "parent")
    for n in range(3):
        jobs.request("a part", requester="wes", worker="sub", parent="parent", id=f"child{n}")
    parent.seat("wes").progress("with parts", "b.py")
    refused(STEPS["deliver"], parent.seat)
    clock.ticks(timedelta(seconds=1))
    jobs.renew("parent", by="wes")
    assert jobs.store.put("turns/parent", "t1", 'any "text" \u2028', None)
    jobs.request('quote " \\ emoji \U0001f9ea\u2028', requester="ann", worker="wes", id="poison")


def exported(jobs: Jobs, **named: object) -> str:
    out = io.StringIO()
    moving.export(jobs, out, **named)  # type: ignore[arg-type]
    return out.getvalue()


def listed(jobs: Jobs) -> list[Row]:
    """Every row; when it is due may be told too early, and is left out."""
    return [evolve(row, due=None) for row in jobs.find()]


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def test_every_hash_arrives_and_work_goes_on(jobs: Jobs, other: Place, clock: Clock) -> None:
    lived_in(jobs, clock)
    there = other.open()
    moved = moving.bring(there, lines(exported(jobs)))
    rows = jobs.find()
    assert moved == moving.Moved(len(rows), len(list(jobs.watch())))
    assert listed(there) == listed(jobs)
    for row in rows:
        assert bodies(there.handle(row.job)) == bodies(jobs.handle(row.job))
        assert there.job(row.job) == jobs.job(row.job)
        assert there.refusals(row.job) == jobs.refusals(row.job)
        assert there.may(row.job, by="wes") == jobs.may(row.job, by="wes")
    assert there.store.read("parent", 99) == jobs.store.read("parent", 99)
    assert there.store.shelf("turns/parent") == jobs.store.shelf("turns/parent")
    assert there.audit() == []
    before, after = jobs.sweep(), there.sweep()
    assert [(one.job, one.stage) for one in before] == [(one.job, one.stage) for one in after]
    clock.ticks(30 * DAY)
    assert {(one.job, one.stage) for one in jobs.sweep()} == {(one.job, one.stage) for one in there.sweep()}
    assert jobs.find(open=True) == there.find(open=True) == []


def test_there_and_back_is_the_same_text(place: Place, jobs: Jobs, other: Place, clock: Clock, tmp_path: Path) -> None:
    lived_in(jobs, clock)
    text, there = exported(jobs), other.open()
    moving.bring(there, lines(text))
    back = lifecycle.open(f"sqlite:///{tmp_path}/back.db", clock=clock)
    with back:
        moving.bring(back, lines(exported(there)))
        told = [json.loads(line) for line in lines(exported(back))]
    assert unplaced(told) == unplaced([json.loads(line) for line in lines(text)])


def unplaced(told: list[dict[str, object]]) -> list[str]:
    """The lines of an export, wherever they stood: jobs that went on in one commit may have changed places."""
    return sorted(json.dumps({**line, "entry": 0, "end": ""}) for line in told[1:])


def test_an_import_that_was_broken_off_goes_on(jobs: Jobs, other: Place, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "BATCH", 7)
    lived_in(jobs, clock)
    text, there = lines(exported(jobs)), other.open()
    for after in (1, 2, 3):
        with pytest.raises(StoreError, match="down"):
            moving.bring(other.over(Failing(there.store, "append", spares=after)), text)
    with pytest.raises(moving.BadExport):
        moving.bring(there, text[: len(text) // 2])
    moving.bring(there, text)
    assert moving.bring(there, text) == moving.Moved(0, 0)
    assert listed(there) == listed(jobs) and there.audit() == []
    assert [len(there.refusals(row.job)) for row in there.find()] == [len(jobs.refusals(row.job)) for row in jobs.find()]


def test_a_hook_goes_on_where_it_stood(place: Place, jobs: Jobs, other: Place) -> None:
    """It had seen the first job's acts; in the new house it is told the second's, and nothing is passed over."""
    seen: list[tuple[str, int]] = []
    at(jobs, Stage.WORKING, "first")
    hook = jobs.on("h", lambda entry: seen.append((entry.job, entry.seq)), after=0)
    soon(lambda: len(seen) == 3)
    soon(lambda: hook.position() == jobs.store.feed()[-1][0])
    hook.stop()
    at(jobs, Stage.WORKING, "second")
    there = other.open()
    moving.bring(there, lines(exported(jobs)))
    there.on("h", lambda entry: seen.append((entry.job, entry.seq)))
    soon(lambda: ("second", 2) in seen)
    assert seen == [("first", 0), ("first", 1), ("first", 2), ("second", 0), ("second", 1), ("second", 2)]


def spoilt(text: list[str]) -> list[tuple[list[str], int]]:
    """Ways to spoil an export, and the line that must be named."""
    last = len(text)
    altered = [line.replace("half done", "all done") for line in text]
    return [
        ([], 1),
        (text[1:], 1),
        (["{}\n", *text[1:]], 1),
        (["not json\n", *text[1:]], 1),
        (text[:-1], last),
        ([*text[:-1], text[-1].rstrip("\n")], last),
        ([*text[:3], *text[4:]], last - 1),
        ([*text, text[1]], last + 1),
        ([*text[:2], text[2][:20], *text[3:]], 3),
        ([*text[:2], '{"entry":1}\n', *text[3:]], 3),
        (altered, last),
    ]


@pytest.mark.parametrize("n", range(11))
def test_what_was_cut_off_or_changed_is_named_by_its_line(n: int, clock: Clock) -> None:
    with lifecycle.open("memory:", clock=clock) as jobs, lifecycle.open("memory:", clock=clock) as there:
        at(jobs, Stage.WORKING, "a")
        at(jobs, Stage.WORKING, "b")
        text, line = spoilt(lines(exported(jobs)))[n]
        with pytest.raises((moving.BadExport, CorruptLog)) as caught:
            moving.bring(there, text)
        if isinstance(caught.value, moving.BadExport):
            assert caught.value.line == line
        assert there.audit() == []


def test_a_log_whose_hash_does_not_follow_is_refused_though_the_text_is_whole(clock: Clock) -> None:
    with lifecycle.open("memory:", clock=clock) as jobs, lifecycle.open("memory:", clock=clock) as there:
        at(jobs, Stage.WORKING, "a")
        altered = io.StringIO()
        written = moving._Written(altered)
        for line in lines(exported(jobs))[:-1]:
            told = json.loads(line)
            written.line({**told, "body": told["body"].replace("half done", "all done")} if "entry" in told else told)
            written.entries += "entry" in told
        written.end(1)
        with pytest.raises(CorruptLog, match="does not follow"):
            moving.bring(there, lines(altered.getvalue()))
        assert there.find() == []


def test_a_job_that_is_another_there_is_not_touched(jobs: Jobs, other: Place) -> None:
    at(jobs, Stage.WORKING, "a")
    there = other.open()
    there.request("something else", requester="ann", worker="wes", id="a")
    before = bodies(there.handle("a"))
    with pytest.raises(StoreError, match="`a` is another here"):
        moving.bring(there, lines(exported(jobs)))
    assert bodies(there.handle("a")) == before


# ---- retention


def test_a_purged_job_is_gone_and_its_parties_are_told_what_it_was(jobs: Jobs, place: Place, clock: Clock) -> None:
    job = at(jobs, Stage.ACCEPTED, "old")
    fresh, last = place.open(), job.log[-1]
    fresh.job("old")  # another engine remembers it
    clock.ticks(2 * HOUR)
    at(jobs, Stage.ACCEPTED, "young")
    at(jobs, Stage.WORKING, "open")
    assert moving.purge(jobs, HOUR) == moving.Moved(1, 4)
    assert moving.purge(jobs, HOUR) == moving.Moved(0, 0)
    for engine in (jobs, fresh):
        expect_gone(engine, last.hash)
    expect_gone(place.reopen(), last.hash)


def expect_gone(engine: Jobs, hash: str) -> None:
    """`old` is gone for its parties, and was never there for others."""
    for by in ("ann", "wes", "vic", None):
        with pytest.raises(JobGone) as caught:
            engine.job("old", by=by)
        assert caught.value.last["stage"] == "result.accepted" and caught.value.last["hash"] == hash
        assert "gone, purged at" in str(caught.value) and "accepted / passed" in str(caught.value)
    with pytest.raises(JobNotFound) as stranger:
        engine.job("old", by="eve")
    assert not isinstance(stranger.value, JobGone)
    with pytest.raises(JobGone):
        engine.submit("old", acts.Progress(line="late"), by="wes")
    with pytest.raises(JobGone):
        request(engine, "old")
    with pytest.raises(Refused, match="another act"):
        engine.request("mine", requester="eve", worker="bob", id="old")
    assert {row.job for row in engine.find()} == {"young", "open"}
    assert engine.audit() == []


def test_a_tree_goes_whole_or_not_at_all(jobs: Jobs, clock: Clock) -> None:
    def family(name: str) -> None:
        at(jobs, Stage.WORKING, name)
        for n in range(2):
            jobs.request("part", requester="wes", worker="sub", parent=name, id=f"{name}-{n}")
            jobs.seat(f"{name}-{n}", "sub").decline("no")

    for name in ("whole", "late", "open"):
        family(name)
    for name in ("whole", "late"):
        jobs.seat(name, "wes").fail("it cannot be done")
    jobs.request("more", requester="wes", worker="sub", parent="open", id="open-2")
    clock.ticks(HOUR)
    jobs.request("grandchild", requester="sub", worker="deep", id="deep")
    assert moving.purge(jobs, timedelta(minutes=30)).jobs == 6
    assert {row.job for row in jobs.find()} == {"open", "open-0", "open-1", "open-2", "deep"}
    assert jobs.job("open").id == "open" and jobs.store.read("open")[0].children == 3  # type: ignore[index]


def test_what_is_purged_is_in_the_archive_and_comes_back_elsewhere(jobs: Jobs, other: Place, clock: Clock) -> None:
    kept = bodies(at(jobs, Stage.ACCEPTED, "old"))
    refused(STEPS["cancel"], jobs.handle("old").seat)
    at(jobs, Stage.WORKING, "open")
    clock.ticks(HOUR)
    archive = io.StringIO()
    assert moving.purge(jobs, timedelta(0), archive).jobs == 1
    there = other.open()
    request(there, "already")
    moving.bring(there, lines(archive.getvalue()))
    assert bodies(there.handle("old")) == kept and len(there.refusals("old")) == 1
    with pytest.raises(StoreError, match="was purged here"):
        moving.bring(jobs, lines(archive.getvalue()))


def test_failures_of_hooks_go_with_the_job(jobs: Jobs, clock: Clock) -> None:
    at(jobs, Stage.DECLINED, "old")

    def fails(entry: object) -> None:
        raise LookupError("no")

    hook = jobs.on("h", fails, after=0)
    soon(lambda: len(hook.failures()) == 2)
    clock.ticks(HOUR)
    assert moving.purge(jobs, timedelta(0)).jobs == 1
    hook.retry()
    soon(lambda: hook.failures() == [])


# ---- backup


def test_a_backup_taken_while_others_write_is_whole_and_work_goes_on_from_it(tmp_path: Path) -> None:
    """A process writes without a pause; each copy holds all that was acknowledged before it, and nothing half."""
    url = f"sqlite:///{tmp_path}/jobs.db"
    writer = child(
        """
        with lifecycle.open(sys.argv[1], sweep_every=None) as jobs:
            for n in range(100_000):
                at(jobs, lifecycle.Stage.WORKING, f"j{n}")
                print(n, flush=True)
        """,
        url,
    )
    assert writer.stdout is not None
    for copy in range(3):
        acknowledged = [int(writer.stdout.readline()) for _ in range(50)][-1]
        with lifecycle.open(url, sweep_every=None) as jobs:
            assert isinstance(jobs.store, SqliteStore)
            jobs.store.backup(tmp_path / f"copy{copy}.db")
        assert (tmp_path / f"copy{copy}.db").stat().st_mode & 0o777 == 0o600
        with lifecycle.open(f"sqlite:///{tmp_path}/copy{copy}.db", sweep_every=None) as restored:
            assert restored.audit() == []
            assert restored.job(f"j{acknowledged}").stage is Stage.WORKING
            for row in restored.find(limit=10_000):
                assert len(restored.log(row.job)) <= 3
            restored.seat("j0", "wes").deliver("a.py")
            assert restored.job("j0").state == "result"
    writer.kill()
    writer.communicate()
