"""The SQLite file: its layouts, its mode, what is refused as one, what is lost and made anew, what a list costs."""

import os
import random
import sqlite3
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from lifecycle.conformance.stores.logs import NOON, Clock, begun, head, listed, then
from lifecycle.law.errors import CorruptLog, StoreError, StoreVersion
from lifecycle.law.log import Query
from lifecycle.law.states import OPEN, Stage
from lifecycle.stores.sqlite import SqliteStore
from lifecycle.stores.sqlite.file import File
from lifecycle.stores.sqlite.layouts import APPLICATION, LAYOUTS
from lifecycle.stores.sqlite.queries import select
from tests.stores.looks import sql
from tests.stores.processes import next_changes

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
    sql(path, "UPDATE log SET body = x'ff00', hash = 'text' WHERE id = 'right-1'")
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
