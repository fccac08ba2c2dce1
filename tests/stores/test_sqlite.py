"""What is SQLite's own: processes killed, stopped, forked, many at a time; logs torn, disks full."""

import itertools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from lifecycle.conformance.stores.logs import listed
from lifecycle.law.errors import StoreBusy
from lifecycle.law.log import Query
from lifecycle.stores.sqlite import SqliteStore
from tests.stores import processes
from tests.stores.looks import whole
from tests.stores.processes import CONTEXT, next_changes, running, told

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
