"""Faults that users reported elsewhere, each across real processes: the worker's, the director's, and whoever looks on."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import lifecycle
from lifecycle import Jobs
from lifecycle.law import acts
from lifecycle.law.errors import JobGone
from lifecycle.law.states import ENDED, Work
from lifecycle.law.terms import Intervals
from lifecycle.manager import Director
from lifecycle.run import Report
from lifecycle.worker import Pipe

HERE = {"PYTHONPATH": ":".join(sys.path)}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture
def jobs(url: str) -> Iterator[Jobs]:
    with lifecycle.open(url, sweep_every=0.1) as held:
        yield held


def program(text: str, *arguments: object, **options: object) -> Pipe:
    """A worker in a process of its own."""
    return Pipe([sys.executable, "-c", text, *map(str, arguments)], environment=HERE, **options)  # type: ignore[arg-type]


def other(url: str, *words: str) -> str:
    """What a command says, in a process of its own."""
    command = [sys.executable, "-m", "lifecycle.cli", *words, "--store", url]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **HERE}, check=False)
    return ended.stdout + ended.stderr


def until(ask: object, within: float = 30.0) -> None:
    """Wait for what another process is about to do."""
    end = time.monotonic() + within
    while not ask():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


BLOCKED = """\
import json, sys
for line in sys.stdin:
    ask = json.loads(line)
    answers = {
        "free": {"free": True},
        "take": {"act": {"act": "accept"}},
        "status": {"status": "blocked", "line": "it waits"},
        "needs": {"need": {"what": "a key", "whom": "ann"}},
    }
    if ask["ask"] in answers:                       # its stop handler does nothing, not even answer
        print(json.dumps({"worker": "worker/0.2", "nonce": ask["nonce"], "answer": answers[ask["ask"]]}), flush=True)
"""


def test_case_5_blocked_then_cancelled_with_a_stop_handler_that_does_nothing(jobs: Jobs, url: str) -> None:
    async def run() -> list[Report]:
        async with Director(jobs, {"wes": lambda: program(BLOCKED, deadline=0.5)}, requester="ann") as director:
            waits = await director.assign("g", id="j", intervals=Intervals(stop=timedelta(seconds=1)))
            assert waits.stage == "progressing.blocked"
            assert "cancelled.stopping" in other(url, "cancel", "j", "--by", "ann")
            return await director.resume()

    asyncio.run(run())
    job = jobs.job("j")
    assert job.stage == "cancelled.stopped" and job.termination is not None
    assert job.work is Work.UNKNOWN


BRIEF = """\
import sys, time
from lifecycle.worker import serve
serve(lambda desk: time.sleep(float(sys.argv[1])) if desk.task.goal == "slow" else desk.task.goal)
"""


def test_case_15_a_worker_killed_in_the_middle_ends_its_job_and_is_free_again(jobs: Jobs) -> None:
    live: list[Pipe] = []

    def start() -> Pipe:
        live.append(program(BRIEF, 60))
        return live[-1]

    def kill() -> None:
        until(lambda: jobs.find(stage="accepted.ready", worker="wes"))
        os.kill(live[0].pid, signal.SIGKILL)

    async def run() -> Report:
        async with Director(jobs, {"wes": start}, requester="ann") as director:
            threading.Thread(target=kill).start()
            await director.assign("slow", id="lost")
            return await director.assign("quick", id="next")

    assert asyncio.run(run()).stage == "result.unverified"
    ended = jobs.job("lost").termination
    assert ended is not None and jobs.job("lost").stage == "error" and str(ended.reason) == "failed"
    assert len(live) == 2


DIRECTOR = """\
import asyncio, sys
from datetime import timedelta
import lifecycle
from lifecycle.law.terms import Intervals
from lifecycle.manager import Director
from lifecycle.worker import Pipe

async def run():
    with lifecycle.open(sys.argv[1], sweep_every=None) as jobs:
        crew = {"wes": lambda: Pipe([sys.executable, "-c", sys.argv[2], "60"])}
        async with Director(jobs, crew, requester="ann") as director:
            await director.assign("slow", id="j", intervals=Intervals(lease=timedelta(seconds=1)))

asyncio.run(run())
"""


def test_case_15_when_the_director_dies_too_the_clock_ends_the_job(jobs: Jobs, url: str) -> None:
    director = subprocess.Popen(
        [sys.executable, "-c", DIRECTOR, url, BRIEF], env={**os.environ, **HERE}, start_new_session=True, stderr=subprocess.DEVNULL
    )
    until(lambda: jobs.find(stage="accepted.ready"))
    os.killpg(director.pid, signal.SIGKILL)
    director.wait()
    until(lambda: jobs.job("j").stage in ENDED)
    assert str(jobs.job("j").termination) == "abandoned / none"
    assert jobs.find(open=True, worker="wes") == []


def test_case_17_a_purged_job_is_gone_for_every_process(jobs: Jobs, url: str) -> None:
    jobs.ask(lambda goal: acts.Decline(reason="no"), "g", requester="ann", worker="wes", id="j")
    assert "1 jobs, 2 entries purged" in other(url, "purge", "--older-than", "0s")
    told = other(url, "show", "j")
    assert "is gone, purged at" in told and "last known as `declined` (declined / none)" in told
    with pytest.raises(JobGone):
        jobs.job("j")
    assert "no job `j`" in other(url, "show", "j", "--by", "eve")


def test_case_19_a_requester_that_forgot_its_ids_lists_exactly_its_own_open_jobs(jobs: Jobs, url: str) -> None:
    for requester, worker, id in (("ann", "wes", "a1"), ("bob", "wes", "b1"), ("ann", "sub", "a2"), ("ann", "wes", "a3")):
        jobs.request("g", requester=requester, worker=worker, id=id)
    jobs.seat("a3", "wes").decline("no")
    rows = json.loads(other(url, "jobs", "--requester", "ann", "--open", "--json"))
    assert [row["job"] for row in rows] == ["a1", "a2"]


INSIDE = """\
import time
from lifecycle.worker import serve

def work(desk):
    if desk.task.goal == "tool":
        time.sleep(60)                              # a blocking tool: it cannot look whether it is to stop
    while True:
        desk.look()
        time.sleep(0.02)

serve(work)
"""


@pytest.mark.parametrize(("goal", "left"), [("look", Work.UNTOUCHED), ("tool", Work.UNKNOWN)])
def test_case_22_stopped_before_any_progress_or_inside_a_blocking_tool_both_end(
    jobs: Jobs, url: str, goal: str, left: Work
) -> None:
    def cancel() -> None:
        until(lambda: jobs.find(stage="accepted.ready"))
        other(url, "cancel", "j", "--by", "ann")

    async def run() -> None:
        async with Director(jobs, {"wes": lambda: program(INSIDE, deadline=1.0)}, requester="ann") as director:
            threading.Thread(target=cancel).start()
            await director.assign(goal, id="j", intervals=Intervals(stop=timedelta(seconds=3)))

    asyncio.run(run())
    job = jobs.job("j")
    assert job.stage == "cancelled.stopped" and job.termination is not None
    assert job.work is left


def test_case_53_a_job_that_outlasts_its_lease_is_working_as_long_as_the_agent_answers(jobs: Jobs) -> None:
    """Four leases long: no silence of the work counts, only one of the agent."""
    seen: list[str] = []

    async def run() -> Report:
        async with Director(jobs, {"wes": lambda: program(BRIEF, 4)}, requester="ann") as director:
            slow = asyncio.create_task(director.assign("slow", id="j", intervals=Intervals(lease=timedelta(seconds=1))))
            while not slow.done():
                await asyncio.sleep(0.5)
                seen.append(str(jobs.job("j").stage))
            return await slow

    assert asyncio.run(run()).stage == "result.unverified"
    assert len(seen) > 5 and set(seen) <= {"requested", "accepted.ready", "result.unverified"}


LATE = """\
import json, sys, time
late = None
for line in sys.stdin:
    ask = json.loads(line)
    if ask["ask"] == "status" and ask["job"] == "old":
        late = ask["nonce"]                         # it does not answer in time; and then it does, when it is asked of another job
        continue
    answers = {"free": {"free": True}, "take": {"act": {"act": "accept"}}, "status": {"status": "working", "line": "at it"}}
    if late is not None and ask.get("job") == "new":
        done = {"status": "done", "line": "the old one is done"}
        print(json.dumps({"worker": "worker/0.2", "nonce": late, "answer": done}), flush=True)
    print(json.dumps({"worker": "worker/0.2", "nonce": ask["nonce"], "answer": answers.get(ask["ask"], {})}), flush=True)
"""


def test_case_54_a_late_reply_is_never_taken_for_an_answer_to_the_next_job() -> None:
    worker = program(LATE, deadline=0.5)
    try:
        with pytest.raises(Exception, match="no answer within"):
            worker.ask("status", job="old")
        assert worker.ask("status", job="new").status == "working"  # type: ignore[union-attr]
    finally:
        worker.close()


@pytest.mark.parametrize(("resumes", "stage"), [(False, "error"), (True, "result.unverified")])
def test_a_worker_that_is_suspended_is_abandoned_within_its_lease_and_one_that_wakes_goes_on(
    jobs: Jobs, resumes: bool, stage: str
) -> None:
    """SIGSTOP: nobody answers in the agent's place, and nobody says that it has failed."""
    lease, live = 2.0, []

    def start() -> Pipe:
        live.append(program(BRIEF, 1.5, deadline=0.5))
        return live[-1]

    def suspend() -> None:
        until(lambda: jobs.find(stage="accepted.ready"))
        os.kill(live[0].pid, signal.SIGSTOP)
        if resumes:
            time.sleep(1.0)
            os.kill(live[0].pid, signal.SIGCONT)

    async def run() -> Report:
        async with Director(jobs, {"wes": start}, requester="ann") as director:
            threading.Thread(target=suspend).start()
            return await director.assign("slow", id="j", intervals=Intervals(lease=timedelta(seconds=lease)))

    begun = time.monotonic()
    assert asyncio.run(run()).stage == stage
    if not resumes:
        assert str(jobs.job("j").termination) == "abandoned / none"
        assert time.monotonic() - begun < lease + 0.5 + 10  # an answer's time, and what starting takes here
