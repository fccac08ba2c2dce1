"""A soak: processes that act at random on one store and are killed at random; then log, list and an independent replay agree.

    python -m tests.soak sqlite:///soak.db 600
    python -m tests.soak postgresql://... 600

Each process acts for every party of any job, by whatever the law offers it, and writes down every receipt it was given. Deadlines
are seconds long, so that lapses race with acts. At the end nothing that was acknowledged may be missing, and every log is held
against its hashes, against the law said a second time, and against what the store lists.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import lifecycle
from lifecycle import Jobs, Seat, acts
from lifecycle.law.deadlines import deadline
from lifecycle.law.errors import LifecycleError
from lifecycle.law.fold import replay
from lifecycle.law.log import Entry, Query, chained
from lifecycle.law.terms import Intervals
from tests.engine.stories import ASKED, STEPS
from tests.law import statement

PROCESSES = 4
KILLS_EVERY = 0.4
"""Seconds, on the average."""
LIVELY = 40
"""The newest jobs are acted on most."""
SHORT = timedelta(seconds=3)
QUICK = Intervals(respond=SHORT, answer=SHORT, review=SHORT, verdict=SHORT, lease=SHORT, stall=2 * SHORT, stop=SHORT)
CAST = {"requester": "ann", "worker": "wes", "reviewer": "rev", "verifier": "vic", "approver": "app"}


def act(jobs: Jobs, seed: int, receipts: Path) -> None:
    """Act for ever."""
    lot, made = random.Random(seed), 0
    told = os.open(receipts, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    names: list[str] = []
    while True:
        try:
            receipt = None
            if not names or lot.random() < 0.15:
                names = [row.job for row in jobs.find(open=True, limit=1_000)][-LIVELY:]
                parent = lot.choice(names) if names and lot.random() < 0.3 else None
                more = {} if parent is None else {"parent": parent, "requester": "wes", "worker": "sub"}
                more |= ASKED if lot.random() < 0.5 else {}
                made += 1
                name = f"s{seed}-{made}"
                names.append(name)
                jobs.request("build it", **{**CAST, **more, "id": name, "review": lot.random() < 0.2, "intervals": QUICK})  # type: ignore[arg-type]
            else:
                name = lot.choice(names)
                who = jobs.job(name).parties
                cast = {"ann": who.requester, "wes": who.worker, "rev": who.reviewer, "vic": who.verifier, "app": who.approver}
                may = [one for by in set(cast.values()) for one in jobs.may(name, by=by) if one in STEPS]
                if may:
                    seats = partial(seat, jobs, name, cast)
                    receipt = STEPS[lot.choice(may)](seats)
                elif lot.random() < 0.1:
                    jobs.sweep(limit=20)
                if lot.random() < 0.1:
                    jobs.renew(name, by=who.worker)
        except LifecycleError:
            continue
        if isinstance(receipt, lifecycle.Receipt):
            os.write(told, f"{json.dumps([receipt.job, receipt.seq, receipt.hash])}\n".encode())


def seat(jobs: Jobs, job: str, cast: Mapping[str, str], role: str) -> Seat:
    """The chair of whoever plays a role at this job."""
    return jobs.seat(job, cast[role])


def soak(url: str, seconds: float, seed: int = 0) -> Counter[str]:
    """Let them act and die for so long; then hold everything against everything. What there was, counted."""
    lot, place = random.Random(seed), Path(tempfile.mkdtemp())
    count: Counter[str] = Counter()
    with lifecycle.open(url, sweep_every=None):
        pass
    running: list[subprocess.Popen[bytes]] = []
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            running = [one for one in running if one.poll() is None]
            while len(running) < PROCESSES:
                count["processes"] += 1
                command = [sys.executable, "-m", "tests.soak", url, "act", str(seed * 1_000_000 + count["processes"]), str(place)]
                running.append(subprocess.Popen(command))
            time.sleep(lot.expovariate(1 / KILLS_EVERY))
            victim = lot.choice(running)
            assert victim.poll() is None, f"a process ended by itself with {victim.returncode}"
            victim.send_signal(signal.SIGKILL)
            victim.wait()
    finally:
        for one in running:
            one.kill()
            one.wait()
    with lifecycle.open(url, sweep_every=None) as jobs:
        jobs.sweep()
        acknowledged = [tuple(json.loads(line)) for file in place.iterdir() for line in file.read_text().splitlines()]
        return count + Counter(receipts=len(acknowledged)) + agree(jobs, acknowledged)


def agree(jobs: Jobs, acknowledged: list[tuple[str, int, str]]) -> Counter[str]:
    """Hold receipts, log, feed, list and the law said a second time against each other, entry for entry."""
    count: Counter[str] = Counter()
    logs: dict[str, list[Entry]] = {}
    for notice in jobs.watch():
        logs.setdefault(notice.entry.job, []).append(notice.entry)
    for job, seq, hash in acknowledged:
        assert logs[job][seq].hash == hash, f"what was acknowledged of {job} is not there"
    assert jobs.audit() == []
    rows = {}
    query = Query(limit=1_000)
    while page := jobs.store.find(query):
        rows.update({row.job: row for row in page})
        query = Query(limit=1_000, after=page[-1].job)
    assert rows.keys() == logs.keys()
    children = Counter(row.parent for row in rows.values())
    for job, entries in logs.items():
        stands, row = replay(entries), rows[job]
        assert [(entry.seq, entry.hash) for entry in jobs.log(job)] == [(entry.seq, entry.hash) for entry in entries]
        prev = ""
        for seq, entry in enumerate(entries):
            assert (entry.seq, entry.prev, entry.hash) == (seq, prev, chained(prev, entry.body)), (job, seq)
            prev = entry.hash
            count[f"-> {entry.stage}"] += 1
        told = job, stands.stage, stands.brief.parent, stands.brief.requested_at, entries[-1].at
        assert (row.job, row.stage, row.parent, row.requested_at, row.updated_at) == told
        found = jobs.store.read(job)
        assert found is not None and (found[0].seq, found[0].hash, found[0].children) == (len(entries) - 1, prev, children[job])
        falls = deadline(stands, found[0].renewed_at)
        assert falls is None or (row.due is not None and row.due <= falls[0]), f"{job} is due and is not listed so"
        second(entries, logs)
    return count + Counter(jobs=len(logs), entries=sum(map(len, logs.values())))


def second(entries: list[Entry], logs: dict[str, list[Entry]]) -> None:
    """The log as the second statement of the law has it: every act legal, by who may, and leading where it led."""
    request = entries[0].act
    assert isinstance(request, acts.Request)
    history: statement.History = ()
    under = tuple(statement.Said(e.id, e.act, e.by, e.at) for e in logs.get(request.parent or "", ()) if e.at <= entries[0].at)
    for entry in entries:
        if history and entry.act.act != "lapse":
            assert statement.legal(history, entry.act.act), (entry.job, entry.seq)
            assert entry.by in statement.entitled(history, entry.act.act), (entry.job, entry.seq)
        history = (*history, statement.Said(entry.id, entry.act, entry.by, entry.at, under if not history else ()))
        assert statement.stage(history) is entry.stage, (entry.job, entry.seq)


if __name__ == "__main__":
    if sys.argv[2] == "act":
        with lifecycle.open(sys.argv[1], sweep_every=0.3) as held:
            act(held, int(sys.argv[3]), Path(sys.argv[4]) / sys.argv[3])
    for what, how_often in sorted(soak(sys.argv[1], float(sys.argv[2])).items()):
        print(f"{how_often:8} {what}")
