"""What the engine's tests tell their stories with: a cast, a way to every stage, racers, and other processes."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest

from lifecycle import Handle, Jobs, Refusal, Refused, Seat, Stage, acts
from lifecycle.law.decide import decide
from lifecycle.law.fold import replay
from lifecycle.law.job import Job
from lifecycle.law.terms import Need, Terms
from lifecycle.law.tools import ProposedCall

ROOT = Path(__file__).parents[2]
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
CALL = ProposedCall("c1", "edit", "sha256:01", "sha256:02", {"path": "a"})
PARTIES = ("ann", "wes", "rev", "vic", "app")


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = NOON

    def __call__(self) -> datetime:
        return self.time

    def ticks(self, by: timedelta) -> None:
        """Time goes by, or back."""
        self.time += by


# One job


def request(jobs: Jobs, id: str = "job", **fields: object) -> Handle:
    """A job that ann asks of wes; rev reviews, vic verifies, app approves."""
    cast = {"requester": "ann", "worker": "wes", "reviewer": "rev", "verifier": "vic", "approver": "app"}
    return jobs.request("build it", **{**cast, "id": id, **fields})


STEPS: Mapping[str, Callable[[Callable[[str], Seat]], object]] = {
    "revise": lambda seat: seat("ann").revise(goal="build less"),
    "adopt": lambda seat: seat("ann").adopt(),
    "insist": lambda seat: seat("ann").insist(),
    "accept": lambda seat: seat("wes").accept(),
    "decline": lambda seat: seat("wes").decline("no time"),
    "counter": lambda seat: seat("wes").counter("too much", Terms(), binding=True),
    "defer": lambda seat: seat("wes").defer(NOON + 2 * HOUR, need=Need("which index", "ann")),
    "clear": lambda seat: seat("rev").clear(),
    "veto": lambda seat: seat("rev").veto("all", mend="less"),
    "progress": lambda seat: seat("wes").progress("half done", "a.py"),
    "block": lambda seat: seat("wes").block("a key", "ann"),
    "resolve": lambda seat: seat("ann").resolve("here"),
    "propose": lambda seat: seat("wes").propose([CALL]),
    "decide": lambda seat: seat("app").decide({"set": "?", "decisions": []}),
    "deliver": lambda seat: seat("wes").deliver("a.py"),
    "confirm": lambda seat: seat("vic").confirm("seen"),
    "reject": lambda seat: seat("vic").reject("not it"),
    "rework": lambda seat: seat("vic").rework("not yet", "c1"),
    "fail": lambda seat: seat("wes").fail("it cannot be done"),
    "cancel": lambda seat: seat("ann").cancel(),
    "halt": lambda seat: seat("wes").halt("partial"),
}
"""A plain act of every name but `request` and the clock's own, made from the seat of whoever makes it."""

ASKED = {"conditions": {"c1": "it builds"}}
WAYS: Mapping[Stage, tuple[Mapping[str, object], str]] = {
    Stage.REQUESTED: ({}, ""),
    Stage.DEFERRED: ({}, "defer"),
    Stage.COUNTERED: ({}, "counter"),
    Stage.DECLINED: ({}, "decline"),
    Stage.UNDER_REVIEW: ({"review": True}, "accept"),
    Stage.READY: ({}, "accept"),
    Stage.WORKING: ({}, "accept progress"),
    Stage.BLOCKED: ({}, "accept block"),
    Stage.AWAITING_APPROVAL: ({}, "accept progress propose"),
    Stage.RENEGOTIATING: ({}, "accept counter"),
    Stage.DELIVERED: (ASKED, "accept deliver"),
    Stage.UNVERIFIED: ({}, "accept deliver"),
    Stage.ACCEPTED: (ASKED, "accept deliver confirm"),
    Stage.REJECTED: (ASKED, "accept deliver reject"),
    Stage.ERROR: ({}, "accept fail"),
    Stage.STOPPING: ({}, "accept cancel"),
    Stage.STOPPED: ({}, "accept cancel halt"),
}
"""A short way to every stage: what the request adds, and the acts after it."""


def at(jobs: Jobs, stage: Stage, id: str = "job", **fields: object) -> Handle:
    """A job that has come to this stage."""
    more, names = WAYS[stage]
    job = request(jobs, id, **{**more, **fields})
    for name in names.split():
        STEPS[name](job.seat)
    assert job.stage is stage
    return job


def refused(call: Callable[..., object], *args: object, **named: object) -> Refusal:
    """The refusal that this call is answered with."""
    with pytest.raises(Refused) as caught:
        call(*args, **named)
    return caught.value.refusal


def lines(job: Handle) -> list[str]:
    """The acts of a job's log, in order."""
    return [entry.act.act for entry in job.log]


def bodies(job: Handle) -> list[tuple[str, bytes]]:
    """What the store keeps of a job, to the byte."""
    return [(entry.hash, entry.body) for entry in job.log]


# Races

Outcome = tuple[str, object, Stage | None]


def serial(job: Job, moves: Sequence[tuple[str, acts.Act]], now: datetime) -> set[tuple[Outcome, ...]]:
    """What these moves may come to, each in its place, if they were made one after the other in any order."""
    found = set()
    for order in permutations(range(len(moves))):
        stands, came = job, dict.fromkeys(range(len(moves)), ("", None, None))
        for index in order:
            by, act = moves[index]
            answer = decide(stands, act, id=f"m{index}", by=by, now=now)
            if isinstance(answer, Refusal):
                came[index] = ("refused", answer.reason, answer.stage)
            else:
                came[index] = ("made", answer.seq, answer.stage)
                stands = replay([answer], stands)
        found.add(tuple(came.values()))
    return found


def attempt(jobs: Jobs, job: str, by: str, act: acts.Act) -> Outcome:
    """What one move came to."""
    try:
        receipt = jobs.submit(job, act, by=by)
    except Refused as no:
        return "refused", no.reason, no.stage
    return "made", receipt.seq, receipt.stage


# Other processes and threads


def child(code: str, *args: object) -> "subprocess.Popen[str]":
    """A Python process that runs this code; `sys`, `lifecycle` and what is told here and in `relay` are there."""
    header = (
        "import os, signal, sys\nimport lifecycle\nfrom lifecycle.law.decide import may\n"
        "from lifecycle.law.snapshot import dump, load\nfrom tests.engine.relay import *\nfrom tests.engine.stories import *\n"
    )
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-c", header + textwrap.dedent(code), *map(str, args)],
        env={**os.environ, "PYTHONPATH": paths}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: "subprocess.Popen[str]", code: int = 0, says: str = "") -> str:
    """What a process printed, once it has heard what we say and has ended with this code."""
    out, err = process.communicate(says, timeout=60)
    assert process.returncode == code, err
    return out


def forked(work: Callable[[object], object], each: Iterable[object]) -> list[int]:
    """The statuses of processes that do this work at once, one for each; called where no thread runs, as in a `child`."""
    runs = []
    for one in each:
        run = os.fork()
        if run == 0:
            status = 1
            try:
                work(one)
                status = 0
            finally:
                os._exit(status)
        runs.append(run)
    return [os.waitpid(run, 0)[1] for run in runs]


def soon(ask: Callable[[], object], within: float = 20.0) -> None:
    """Wait for something that another thread or process is about to do."""
    until = time.monotonic() + within
    while not ask():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.002)


def counted() -> Iterator[int]:
    """0, 1, 2, … but never so many that a story without an end would go on."""
    yield from range(200)
    raise AssertionError("this story has no end")
