"""What is SQLite's own: processes killed, stopped, forked; files torn, full, foreign, of another layout."""

import itertools
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from lifecycle.conformance.logs import NOON, Clock, begun, head, listed, then
from lifecycle.law.errors import CorruptLog, StoreBusy, StoreError, StoreVersion
from lifecycle.law.log import Query, chained
from lifecycle.law.states import OPEN, Stage
from lifecycle.stores.file import File
from lifecycle.stores.layouts import APPLICATION, LAYOUTS
from lifecycle.stores.queries import select
from lifecycle.stores.sqlite import SqliteStore
from tests.stores import processes
from tests.stores.processes import CONTEXT, JOBS, next_changes, running, told


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, Clock())
    yield opened
    opened.close()


def whole(path: Path) -> int:
    """The seq that both jobs stand at, -1 if there are none: every log whole, chained and listed as it is, both jobs alike."""
    store = SqliteStore(path)
    try:
        stand = set()
        feed = store.feed(0, 100_000)
        for job in JOBS:
            found = store.read(job)
            entries = [entry for _, entry in feed if entry.job == job]
            if found is None:
                assert not entries
                stand.add(-1)
                continue
            assert [entry.hash for entry in found[1]] == [entry.hash for entry in entries]
            assert [entry.seq for entry in entries] == list(range(found[0].seq + 1))
            assert all(entry.hash == chained(entry.prev, entry.body) for entry in entries)
            assert [e.prev for e in entries] == ["", *(e.hash for e in entries)][:-1]
            assert found[0].hash == entries[-1].hash
            stand.add(found[0].seq)
        assert [row.updated_at for row in store.find(Query())] == [
            next(entry.at for _, entry in reversed(feed) if entry.job == job) for job in JOBS if stand != {-1}
        ]
        (seq,) = stand
        return seq
    finally:
        store.close()


def sql(path: Path, statement: str) -> list[tuple[object, ...]]:
    """What SQLite itself says or does."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


# ---- killed


def test_what_was_acknowledged_survives_a_kill_at_any_moment(path: Path) -> None:
    dice = random.Random(1)
    last = -1
    for _ in range(12):
        process, pipe = running(processes.append_for_ever, path)
        for _ in range(dice.randrange(1, 30)):
            last = pipe.recv()
        process.kill()
        process.join()
        last = max([last, *told(pipe)])
        pipe.close()
        assert whole(path) in (last, last + 1)
        last = whole(path)


@pytest.mark.parametrize("before", [-1, 0])
def test_a_kill_before_the_commit_leaves_nothing_and_one_after_it_leaves_all(path: Path, before: int) -> None:
    store = SqliteStore(path)
    if before == 0:
        store.append(next_changes(store))
    store.close()

    def dying_at(at: int | None) -> tuple[Path, list[object]]:
        copy = path.parent.with_name(f"at-{at}-{before}")
        shutil.copytree(path.parent, copy)
        process, pipe = running(processes.append_dying_at, copy / path.name, at)
        heard = told(pipe)
        process.join()
        pipe.close()
        assert process.exitcode == (0 if at is None else -signal.SIGKILL)
        return copy / path.name, heard

    _, (statements,) = dying_at(None)
    assert isinstance(statements, list)
    assert statements[0] == "BEGIN" and statements[-1] == "COMMIT" and len(statements) > 4
    for at in range(len(statements)):
        assert whole(dying_at(at)[0]) == before, statements[at:]
    assert whole(dying_at(len(statements))[0]) == before + 1


def test_a_torn_write_at_the_end_of_the_log_loses_no_more_than_it_tore(path: Path) -> None:
    process, pipe = running(processes.append_and_die, path, 12)
    process.join()
    pipe.close()
    wal = path.with_name(path.name + "-wal").read_bytes()
    assert len(wal) > 12 * 2 * 4096

    def torn(name: str, torn: bytes) -> int:
        copy = path.parent.with_name(name)
        copy.mkdir()
        shutil.copy(path, copy)
        (copy / (path.name + "-wal")).write_bytes(torn)
        seq = whole(copy / path.name)
        store = SqliteStore(copy / path.name)
        store.append(next_changes(store))
        store.close()
        assert whole(copy / path.name) == seq + 1
        return seq

    dice = random.Random(2)
    assert torn("whole", wal) == 11
    assert torn("longer", wal + dice.randbytes(5_000)) == 11
    assert torn("other-end", wal[:-1] + bytes([wal[-1] ^ 1])) == 10
    assert torn("other-frame", wal[:-3_000] + dice.randbytes(3_000)) == 10
    cuts = sorted(dice.sample(range(len(wal) // 2, len(wal)), 12))
    stands = [torn(f"cut{cut}", wal[:cut]) for cut in cuts]
    assert stands == sorted(stands) and 0 < stands[0] < 11 and stands[-1] <= 10


# ---- many processes


def test_eight_processes_at_one_file_lose_nothing_and_no_lock_shows(path: Path) -> None:
    barrier = CONTEXT.Barrier(8)
    with ProcessPoolExecutor(8, CONTEXT, processes.wait_for_all, (barrier,)) as pool:
        acknowledged = list(pool.map(processes.hammer, *zip(*((path, n, 15) for n in range(8)), strict=True)))
    store = SqliteStore(path)
    shared = store.read("shared")
    assert shared is not None
    assert sorted(entry.id for entry in shared[1]) == sorted(["shared", *itertools.chain(*acknowledged)])
    assert [entry.seq for entry in shared[1]] == list(range(8 * 15 + 1))
    assert {row.job: store.read(row.job)[0].seq for row in store.find(Query())} == {  # type: ignore[index]
        "shared": 120, **{f"own{n}": 15 for n in range(8)},
    }  # fmt: skip
    assert len(store.feed()) == 8 * 16 + 121
    store.close()


def test_a_writer_that_stands_still_makes_others_busy_and_then_goes_on(path: Path) -> None:
    process, pipe = running(processes.stop_in_a_commit, path)
    assert pipe.recv() == "holding"
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        pass
    store = SqliteStore(path, busy_timeout=0.2)
    assert store.read("left") is None, "readers do not wait"
    with pytest.raises(StoreBusy, match=r"others wrote for longer than the busy timeout of 0\.2 s; to mend it, act again"):
        store.append(next_changes(store))
    assert process.pid is not None
    os.kill(process.pid, signal.SIGCONT)
    assert pipe.recv() == "done"
    process.join()
    pipe.close()
    store.append(next_changes(store))
    store.close()
    assert whole(path) == 1


def test_a_thread_that_writes_for_long_makes_others_busy_and_nobody_waits_to_read(path: Path) -> None:
    store = SqliteStore(path, busy_timeout=0.05)
    store.append(next_changes(store))
    inside, done = threading.Event(), threading.Event()

    def slow(entries: list) -> object:  # type: ignore[type-arg]
        inside.set()
        done.wait()
        return listed(entries)

    with ThreadPoolExecutor(1) as pool:
        reindexing = pool.submit(store.reindex, slow)  # type: ignore[arg-type]
        inside.wait()
        try:
            found = store.read("left")
            assert found is not None and len(store.find(Query())) == len(store.feed()) == 2
            with pytest.raises(StoreBusy):
                store.append(next_changes(store))
        finally:
            done.set()
        reindexing.result()
    store.append(next_changes(store))
    store.close()
    assert whole(path) == 1


def test_a_forked_child_is_told_and_its_parent_goes_on(path: Path) -> None:
    process, pipe = running(processes.use_after_a_fork, path)
    heard = told(pipe)
    process.join()
    assert len(heard) == 3
    for words in heard:
        assert isinstance(words, str)
        assert "when this one was forked from it" in words and "start processes by `spawn`" in words
    assert whole(path) == 1


def test_a_copy_made_while_others_write_is_a_store(path: Path, store: SqliteStore) -> None:
    stop = threading.Event()

    def write() -> int:
        count = 0
        while not (stop.is_set() and count):
            store.append(next_changes(store))
            count += 1
        return count

    copies = [path.with_name(f"copy{n}.db") for n in range(5)]
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            for copy in copies:
                source, target = sqlite3.connect(path), sqlite3.connect(copy)
                source.backup(target, pages=1)
                source.close()
                target.close()
        finally:
            stop.set()
        count = writing.result()
    stands = [whole(copy) for copy in copies]
    assert stands == sorted(stands) and stands[-1] <= whole(path) == count - 1
    restored = SqliteStore(copies[0])
    restored.append(next_changes(restored))
    restored.close()
    assert whole(copies[0]) == stands[0] + 1


# ---- full


def test_where_no_file_may_grow_nothing_is_written_and_the_store_goes_on(path: Path) -> None:
    process, pipe = running(processes.write_past_a_limit, path, 300_000)
    written, words, again, seq = pipe.recv()
    process.join()
    pipe.close()
    assert written > 5 and again == 0 and seq == written - 1
    assert "the disk did not take it" in words and "to mend it, check the disk, its space and its quota" in words
    assert "\n" not in words and str(path) in words
    assert whole(path) == written


def test_a_full_disk_is_told_and_mended_by_making_room(tmp_path: Path) -> None:
    command = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(tmp_path)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here ({mounted.stderr.strip()}); a limit on file sizes stands in for it, above")
    try:
        path, ballast = tmp_path / "jobs.db", tmp_path / "ballast"
        store = SqliteStore(path)
        ballast.write_bytes(bytes(200_000))
        written, words = processes.append_until_full(store)
        assert words.startswith(f"store `{path}`: the disk is full")
        assert words.endswith("; to mend it, free some space, then act again")
        assert written > 5 and processes.append_until_full(store)[0] == 0
        found = store.read("left")
        assert found is not None and found[0].seq == written - 1
        ballast.unlink()
        store.append(next_changes(store))
        store.close()
        assert whole(path) == written
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


# ---- layouts

OLD = (
    "CREATE TABLE log (position INTEGER PRIMARY KEY, words TEXT)",
    "INSERT INTO log (words) VALUES ('kept')",
)
NEW = (
    "ALTER TABLE log RENAME TO entries",
    "ALTER TABLE entries ADD COLUMN shouted TEXT",
    "UPDATE entries SET shouted = upper(words)",
)


def test_an_older_layout_is_brought_up_to_this_builds_in_one_go(path: Path) -> None:
    File(path, 1.0, (OLD,)).close()
    assert sql(path, "PRAGMA user_version") == [(1,)]
    for _ in range(2):
        File(path, 1.0, (OLD, NEW)).close()
        assert sql(path, "SELECT words, shouted FROM entries") == [("kept", "KEPT")]
        assert sql(path, "PRAGMA user_version") == [(2,)]


def test_a_step_up_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    File(path, 1.0, (OLD,)).close()
    with pytest.raises(StoreError, match="no such table: absent"):
        File(path, 1.0, (OLD, (*NEW, "DROP TABLE absent")))
    assert sql(path, "SELECT words FROM log") == [("kept",)]
    File(path, 1.0, (OLD,)).close()


def test_a_process_of_an_older_build_is_stopped_once_the_file_is_of_a_newer(path: Path) -> None:
    old = File(path, 1.0, (OLD,))
    new = File(path, 1.0, (OLD, NEW))
    with pytest.raises(StoreVersion, match="layout 2, this build writes layout 1"):
        old.write(lambda connection: connection.execute("INSERT INTO log (words) VALUES ('lost')"))
    with pytest.raises(StoreVersion):
        old.read(lambda connection: connection.execute("SELECT words FROM log").fetchall())
    old.close()
    new.close()


def test_a_newer_layout_is_refused_by_both_names_and_left_alone(path: Path, store: SqliteStore) -> None:
    store.append([begun("j")])
    store.close()
    sql(path, "PRAGMA user_version = 99")
    with pytest.raises(StoreVersion, match=f"has layout 99, this build writes layout {len(LAYOUTS)}"):
        SqliteStore(path)
    assert sql(path, "PRAGMA user_version") == [(99,)]
    sql(path, f"PRAGMA user_version = {len(LAYOUTS)}")
    SqliteStore(path).close()


# ---- files


def test_the_files_are_for_their_owner_alone(path: Path) -> None:
    was = os.umask(0)
    try:
        store = SqliteStore(path)
        store.append([begun("j")])
        store.read("j")
        files = sorted(path.parent.iterdir())
        assert [file.name for file in files] == ["jobs.db", "jobs.db-shm", "jobs.db-wal"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        store.close()
    finally:
        os.umask(was)
    path.chmod(0o640)
    SqliteStore(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640, "a mode that somebody chose is theirs"


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("not a database, however long it is " * 100)
    other = tmp_path / "other.db"
    sql(other, "CREATE TABLE theirs (x)")
    marked = tmp_path / "marked.db"
    sql(marked, "PRAGMA application_id = 77")
    held = {file: file.read_bytes() for file in (words, other, marked)}
    for file, what in ((words, "no SQLite database"), (other, "another program's"), (marked, "another program's")):
        with pytest.raises(StoreError, match=f"{what}.*; to mend it, name another file"):
            SqliteStore(file)
    assert {file: file.read_bytes() for file in held} == held
    assert sorted(tmp_path.iterdir()) == sorted(held)


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere" / "jobs.db", tmp_path, Path("jobs\0.db")):
        with pytest.raises(StoreError, match=r"store `.*; to mend it, "):
            SqliteStore(place)


def test_an_empty_file_becomes_a_store_and_any_name_is_a_files(tmp_path: Path) -> None:
    for name in ("empty.db", "what? 100% #1.db", ":memory:", "file:x"):
        file = tmp_path / name
        file.touch()
        store = SqliteStore(file)
        store.append([begun("j")])
        store.close()
        assert sql(file, "PRAGMA application_id") == [(APPLICATION,)]


def test_a_damaged_file_is_told_from_a_damaged_log(path: Path, store: SqliteStore) -> None:
    store.append(next_changes(store))
    store.append(next_changes(store))
    sql(path, "UPDATE log SET body = '{}' WHERE id = 'right-1'")
    for look in (lambda: store.read("right"), store.feed, lambda: store.reindex(lambda entries: listed(list(entries)))):
        with pytest.raises(CorruptLog) as error:
            look()
        assert error.value.seq == 1
        assert error.value.job in ("right", "2")
    with pytest.raises(CorruptLog, match="job `right`, entry 1"):
        store.feed()
    assert store.read("left") is not None
    for statement in ("body = x'ff00'", "hash = 'text'", "prev = NULL"):
        if statement != "prev = NULL":
            sql(path, f"UPDATE log SET {statement} WHERE id = 'right-1'")
            with pytest.raises(CorruptLog):
                store.read("right")
    store.close()
    bytes_ = bytearray(path.read_bytes())
    bytes_[4096:] = random.Random(3).randbytes(len(bytes_) - 4096)
    path.write_bytes(bytes_)
    with pytest.raises(StoreError, match=r"it is damaged .*; to mend it, restore it from a copy"):
        SqliteStore(path).read("left")


def test_what_no_file_can_hold_is_refused_and_the_store_goes_on(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="lone surrogate"):
        store.read("\ud800")
    with pytest.raises(StoreError, match="lone surrogate"):
        store.put("shelf", "key", "\ud800", None)
    store.append(next_changes(store))


def test_a_closed_store_says_so(store: SqliteStore) -> None:
    store.append([begun("j")])
    store.read("j")
    store.close()
    for use in (lambda: store.read("j"), lambda: store.append([begun("k")]), store.feed):
        with pytest.raises(StoreError, match="is closed; to mend it, open it again"):
            use()


# ---- what is lost is known to be lost


def test_a_lost_mark_of_renewals_counts_as_now_and_is_made_again(path: Path) -> None:
    clock = Clock()
    store = SqliteStore(path, clock)
    for loss in ("DELETE FROM renewals", "DELETE FROM jobs"):
        store.append([begun(loss.replace(" ", "-"))])
        now = clock.forward(hours=1)
        sql(path, loss)
        assert store.renewals_since() == now
        clock.forward(hours=1)
        assert store.renewals_since() == now
        store.append([begun(loss.replace(" ", "_"))])
        sql(path, loss)
        reopened = SqliteStore(path, clock)
        clock.forward(hours=1)
        assert reopened.renewals_since() == store.renewals_since() == now + timedelta(hours=1)
        reopened.close()
    store.close()


def test_all_rows_deleted_are_made_again_from_the_log(path: Path, store: SqliteStore) -> None:
    parent = begun("parent")
    store.append([parent])
    store.append([begun("child", parent="parent"), begun("other")])
    rows, feed = store.find(Query()), store.feed()
    sql(path, "DELETE FROM jobs")
    assert store.find(Query()) == [] and store.read("parent") is None
    store.append([begun("later")])
    store.reindex(lambda entries: listed(list(entries)))
    assert store.find(Query())[:3] == rows
    assert [entry.hash for _, entry in store.feed()][:3] == [entry.hash for _, entry in feed]
    store.append([then(parent, children=1), then(begun("later"))])


def test_a_row_that_shows_no_stage_is_told(path: Path, store: SqliteStore) -> None:
    store.append([begun("j")])
    sql(path, "UPDATE jobs SET stage = 'nowhere'")
    with pytest.raises(StoreError, match="lists job `j` in `nowhere`, no stage; to mend it, run reindex"):
        store.find(Query())
    store.reindex(lambda entries: listed(list(entries)))
    assert store.find(Query())[0].stage is Stage.REQUESTED


# ---- cost


def test_no_list_walks_all_jobs_or_sorts_them(path: Path, store: SqliteStore) -> None:
    some = frozenset({Stage.ERROR, Stage.WORKING})
    queries = [Query(due_by=NOON), Query(due_by=NOON, worker="w"), Query(stages=OPEN), Query(stages=some)]
    for party in ("worker", "requester", "parent"):
        for stages in (None, OPEN, some, frozenset({Stage.ERROR})):
            queries.append(Query(**{party: "x", "stages": stages}))  # type: ignore[arg-type]
    connection = sqlite3.connect(path)
    for query in queries:
        statement, values = select(query, 0)
        plan = [step[3] for step in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
        assert not [step for step in plan if "SCAN" in step or "TEMP" in step], (query, plan)
        assert [step for step in plan if "USING INDEX" in step], (query, plan)
    connection.close()


def test_an_early_due_time_is_let_stand_and_one_that_has_come_is_not(store: SqliteStore) -> None:
    hour = timedelta(hours=1)
    change = begun("j", due=NOON + hour)
    store.append([change])
    change = then(change, due=NOON + 3 * hour)
    store.append([change])
    assert store.find(Query())[0].due == NOON + hour
    change = then(change, due=NOON + 5 * hour, at=NOON + hour)
    store.append([change])
    assert store.find(Query())[0].due == NOON + 5 * hour
    change = then(change, due=None)
    store.append([change])
    assert store.find(Query(due_by=NOON + 9 * hour)) == []
    assert head(change).seq == 3
