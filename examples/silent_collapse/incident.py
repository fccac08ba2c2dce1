"""The incident that the handshake is for, with three real processes and a real database.

    python examples/silent_collapse/incident.py

A planner hands 512 records to an executor that calls itself `write_transactional`; the executor hands them to a persistence that
refuses record 400, which is too large. A planner that takes any acknowledgement for success advances its checkpoint to 512, and
records 400 to 511 are lost. With the handshake it refuses; or it guards, and its checkpoint stops at 400, before anything that is
not there; and an executor that advertises and keeps atomicity is accepted.
"""

import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from lifecycle.handshake import Checkpoint, HttpRemote, Record, RemoteError, Unreconciled, Workload, negotiate, reconcile
from lifecycle.law.capability import Advertisement, Clause, Requirement

SPACE, COUNT, TOO_LARGE, LIMIT, BATCH = "accounts", 512, 400, 1_000, 64
REQUIRED = Requirement("whole", "atomicity", "all_or_nothing", {"batch": COUNT})
NAME_ONLY = Advertisement("write_transactional", "1")
EXPLICIT = Advertisement("write_transactional", "2", clauses=(Clause("atomicity", "all_or_nothing", {"batch": COUNT}),))
REFUSED, STUCK = 3, 4
Said = dict[str, Any]


def records(count: int, mended: bool = False) -> list[Record]:
    """The planner's records; one of them is too large until it is mended."""
    large = "x" * (LIMIT + 1)
    return [Record(f"r{n}", large if n == TOO_LARGE and not mended else f"account {n}") for n in range(count)]


# ---- persistence: keeps a batch whole or not at all


def persistence(port: int, path: str) -> None:
    """A database behind HTTP."""
    with closing(sqlite3.connect(path)) as held, held:
        columns = "n INTEGER PRIMARY KEY, space TEXT, id TEXT, data TEXT, UNIQUE (space, id)"
        held.execute(f"CREATE TABLE IF NOT EXISTS records ({columns})")

    def write(asked: Said) -> Said:
        with closing(sqlite3.connect(path, timeout=10.0)) as held, held:
            if any(len(one["data"]) > LIMIT for one in asked["records"]):
                return {"status": "too_large"}
            rows = [(asked["space"], one["id"], one["data"]) for one in asked["records"]]
            held.executemany("INSERT OR IGNORE INTO records (space, id, data) VALUES (?, ?, ?)", rows)
        return {"status": "ok", "stored": [one["id"] for one in asked["records"]]}

    def read(space: str) -> list[Said]:
        with closing(sqlite3.connect(path, timeout=10.0)) as held:
            rows = held.execute("SELECT id, data FROM records WHERE space = ? ORDER BY n", (space,)).fetchall()
        return [{"id": id, "data": data} for id, data in rows]

    _serve(port, write, read)


# ---- executor: calls itself transactional


def executor(port: int, url: str, atomic: bool) -> None:
    """Hands a batch on, record by record; or whole, if it keeps what it advertises."""
    with httpx.Client(base_url=url, trust_env=False) as behind:

        def write(asked: Said) -> Said:
            if atomic:
                whole: Said = behind.post("/write", json=asked).raise_for_status().json()
                return whole
            for one in asked["records"]:
                told = behind.post("/write", json={**asked, "records": [one]}).raise_for_status().json()
                if told["status"] != "ok":
                    return {"status": "partial"}
            return {"status": "ok"}

        def read(space: str) -> list[Said]:
            held: list[Said] = behind.get("/read", params={"space": space}).raise_for_status().json()
            return held

        _serve(port, write, read)


# ---- planner: three ways to delegate


def planner(url: str, way: str, path: str) -> int:
    """Bring the records there and the checkpoint forward; the exit code says how that ended."""
    remote, checkpoint = HttpRemote(url), Checkpoint(path)
    if way == "trusting":
        remote.write(SPACE, records(COUNT)[checkpoint.at(SPACE) :])
        checkpoint.advance(SPACE, COUNT)  # any acknowledgement is a success
        return 0
    work = Workload(COUNT, lambda n: records(n, mended=True), lambda one: Record(one.id, "x" * (LIMIT + 1)))
    said = EXPLICIT if way == "advertised" else NAME_ONLY
    found = negotiate([REQUIRED], said, remote=remote, work=work, guard=way == "guarded")
    print(found.text, flush=True)
    if not found.grounded:
        if any(one.probe is not None and one.probe.outcome == "inconclusive" for one in found.requirements):
            raise RemoteError("it could not be asked; to mend it, negotiate again")
        return REFUSED
    try:
        reconcile(remote, SPACE, records(COUNT, way == "advertised"), checkpoint, COUNT if found.outcome == "accept" else BATCH)
    except Unreconciled as stuck:
        print(stuck, flush=True)
        return STUCK
    return 0


# ---- all of it


def incident(way: str, place: Path, atomic: bool = False, kills: int = 0, seed: int = 0) -> tuple[int, int, list[str]]:
    """Run the three processes; how the planner ended, its checkpoint, and the ids that the database holds.

    With `kills`, one of the three is killed with SIGKILL so many times, at random moments, and started again.
    """
    ports, chance = _ports(2), random.Random(seed)
    commands = {
        "persistence": ["persistence", str(ports[0]), str(place / "records.db")],
        "executor": ["executor", str(ports[1]), f"http://127.0.0.1:{ports[0]}", str(int(atomic))],
        "planner": ["planner", f"http://127.0.0.1:{ports[1]}", way, str(place / "checkpoint.db")],
    }
    live = {name: _start(commands[name]) for name in ("persistence", "executor")}
    _listening(ports)
    live["planner"] = _start(commands["planner"])
    next_kill = time.monotonic() + chance.uniform(0.2, 1.2)
    try:
        while live["planner"].poll() not in (0, REFUSED, STUCK):
            if kills and time.monotonic() > next_kill:
                live[chance.choice(list(live))].kill()
                kills, next_kill = kills - 1, time.monotonic() + chance.uniform(0.2, 1.2)
            for name, process in live.items():
                if process.poll() is not None and process.returncode not in (0, REFUSED, STUCK):
                    live[name] = _start(commands[name])
            time.sleep(0.02)
        ended = live["planner"].returncode
    finally:
        for process in live.values():
            process.kill()
            process.wait()
    with closing(sqlite3.connect(place / "records.db")) as held:
        ids = [id for (id,) in held.execute("SELECT id FROM records WHERE space = ? ORDER BY n", (SPACE,))]
    return ended, Checkpoint(place / "checkpoint.db").at(SPACE), ids


def main() -> None:
    """The four ways, one after another."""
    for way, atomic in (("trusting", False), ("refusing", False), ("guarded", False), ("advertised", True)):
        with tempfile.TemporaryDirectory() as place:
            _, checkpoint, ids = incident(way, Path(place), atomic)
            lost = [one.id for one in records(checkpoint) if one.id not in set(ids)]
            told = f"{len(lost)} lost, {lost[0]} to {lost[-1]}" if lost else "nothing lost"
            print(f"{way}: checkpoint {checkpoint}, {len(ids)} records stored, {told}\n", flush=True)


def _serve(port: int, write: Callable[[Said], Said], read: Callable[[str], list[Said]]) -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._tells(lambda: write(json.loads(self.rfile.read(int(self.headers["content-length"])))))

        def do_GET(self) -> None:
            self._tells(lambda: read(parse_qs(urlsplit(self.path).query)["space"][0]))

        def log_message(self, *words: object) -> None:
            pass

        def _tells(self, of: Callable[[], object]) -> None:
            try:
                status, body = 200, json.dumps(of()).encode()
            except Exception as error:
                status, body = 502, json.dumps(str(error)).encode()
            with suppress(OSError):
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

    ThreadingHTTPServer(("127.0.0.1", port), Answers).serve_forever()


def _start(words: list[str]) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL if words[0] != "planner" else None
    known = {**os.environ, "PYTHONPATH": ":".join(filter(None, sys.path))}
    return subprocess.Popen([sys.executable, __file__, *words], env=known, stderr=subprocess.DEVNULL, stdout=quiet)


def _ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def _listening(ports: list[int]) -> None:
    until = time.monotonic() + 20
    for port in ports:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1.0).close()
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["persistence", port, path]:
            persistence(int(port), path)
        case ["executor", port, url, atomic]:
            executor(int(port), url, atomic == "1")
        case ["planner", url, way, path]:
            try:
                sys.exit(planner(url, way, path))
            except RemoteError as error:
                sys.exit(f"{error}")
        case _:
            main()
