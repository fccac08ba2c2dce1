"""The directing side: it knows nothing of its workers, keeps what was agreed, and goes on after a restart."""

import asyncio
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import lifecycle
from lifecycle.law import acts
from lifecycle.law.states import ENDED
from lifecycle.manager import Crew, Director, NobodyTakes, Offer, cheapest
from lifecycle.worker import Desk, Local, Pipe, Task, Worker


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[lifecycle.Jobs]:
    with lifecycle.open(f"sqlite:///{tmp_path}/jobs.db") as held:
        yield held


def estimating(**fields: object) -> Worker:
    return Local(lambda desk: desk.task.worker, lambda task: acts.Accept(estimate=acts.Estimate(**fields)))


def test_jobs_go_to_whoever_is_free_and_each_is_done_once(jobs: lifecycle.Jobs) -> None:
    done: list[str] = []

    def work(desk: Desk) -> str:
        done.append(desk.task.job)
        return desk.task.goal

    async def run() -> list[object]:
        crew: Crew = {name: lambda: Local(work) for name in ("ada", "bob", "cyd")}
        async with Director(jobs, crew, requester="ann") as director:
            return list(await asyncio.gather(*(director.assign(f"g{n}", id=f"j{n}") for n in range(30))))

    asyncio.run(run())
    assert sorted(done) == sorted(f"j{n}" for n in range(30))
    assert {row.worker for row in jobs.find()} == {"ada", "bob", "cyd"}
    assert all(jobs.log(f"j{n}")[-1].act.value == f"g{n}" for n in range(30))


def test_of_a_tender_the_best_answer_is_taken_and_the_rest_are_superseded(jobs: lifecycle.Jobs) -> None:
    crew: Crew = {
        "dear": lambda: estimating(commitment=True, tokens=900),
        "cheap": lambda: estimating(commitment=True, tokens=100),
        "vague": lambda: estimating(commitment=False, tokens=1),
        "no": lambda: Local(lambda desk: 0, lambda task: acts.Decline(reason="no time")),
    }

    async def run() -> str:
        async with Director(jobs, crew, requester="ann") as director:
            return (await director.tender("total 2024")).worker

    assert asyncio.run(run()) == "cheap"
    ends = {row.worker: str(jobs.job(row.job).termination) for row in jobs.find()}
    assert ends == {
        "cheap": "delivered / unresolved",
        "dear": "superseded / none",
        "vague": "superseded / none",
        "no": "declined / none",
    }


def test_the_constraints_are_always_passed_on(jobs: lifecycle.Jobs) -> None:
    told: list[Task] = []

    def take(task: Task) -> acts.Accept:
        told.append(task)
        return acts.Accept()

    async def run() -> None:
        async with Director(jobs, {"ada": lambda: Local(lambda desk: 1, take)}, requester="ann") as director:
            await director.assign("g", constraints=("no network",))

    asyncio.run(run())
    assert told[0].terms.constraints == ("no network",)


def test_a_tender_that_nobody_takes_tells_what_each_said(jobs: lifecycle.Jobs) -> None:
    crew: Crew = {
        "no": lambda: Local(lambda desk: 0, lambda task: acts.Decline(reason="no time")),
        "quiet": lambda: Pipe([sys.executable, "-c", "import time; time.sleep(60)"], deadline=0.3),
    }

    async def run() -> None:
        async with Director(jobs, crew, requester="ann") as director:
            await director.tender("g", within=0.3)

    with pytest.raises(NobodyTakes, match="it answers `decline`") as caught:
        asyncio.run(run())
    assert "no answer" in caught.value.answers["quiet"]
    assert all(jobs.job(row.job).ended for row in jobs.find())


def test_case_5_a_worker_that_does_not_answer_in_time_is_not_waited_for(jobs: lifecycle.Jobs) -> None:
    crew: Crew = {
        "late": lambda: Pipe([sys.executable, "-c", "import time; time.sleep(60)"], deadline=0.3),
        "here": lambda: estimating(commitment=True, tokens=1),
    }

    async def run() -> str:
        async with Director(jobs, crew, requester="ann") as director:
            return (await director.tender("g", within=0.3)).worker

    assert asyncio.run(run()) == "here"


def test_a_rule_of_ones_own_picks(jobs: lifecycle.Jobs) -> None:
    crew: Crew = {name: lambda: estimating(commitment=True, tokens=1) for name in ("ada", "bob")}

    async def run() -> str:
        async with Director(jobs, crew, requester="ann") as director:
            return (await director.tender("g", rule=lambda offers: max(offers, key=lambda offer: offer.worker))).worker

    assert asyncio.run(run()) == "bob"


@pytest.mark.parametrize(
    ("offers", "best"),
    [
        ({"a": None, "b": {"commitment": False}}, "b"),
        ({"a": {"commitment": False, "money": "1"}, "b": {"commitment": True, "money": "9"}}, "b"),
        ({"a": {"commitment": True, "money": "2"}, "b": {"commitment": True, "money": "1", "tokens": 99}}, "b"),
        ({"a": {"commitment": True, "seconds": 2.0}, "b": {"commitment": True, "seconds": 1.0}}, "b"),
        ({"b": {"commitment": True}, "a": {"commitment": True}}, "a"),
    ],
)
def test_the_cheapest_commitment_is_the_best(offers: dict[str, dict[str, object] | None], best: str) -> None:
    made = [
        Offer(name, name, acts.Accept(estimate=acts.Estimate(**told) if told is not None else None))  # type: ignore[arg-type]
        for name, told in offers.items()
    ]
    assert cheapest(made).worker == best


def test_a_director_that_comes_back_goes_on_with_what_was_left_open(jobs: lifecycle.Jobs) -> None:
    async def left() -> None:
        async with Director(jobs, {"ada": lambda: Local(lambda desk: desk.ask("a key", "ann"))}, requester="ann") as director:
            told = await director.assign("g", id="j")
            assert told.stage == "progressing.blocked"

    async def resumed() -> list[str]:
        async with Director(jobs, {"ada": lambda: Local(lambda desk: 7)}, requester="ann") as director:
            jobs.seat("j", "ann").resolve("under the mat")
            return [told.stage for told in await director.resume()]

    asyncio.run(left())
    assert asyncio.run(resumed()) == ["result.unverified"]


WORKER = """\
import sys, time, random
from lifecycle.worker import serve

def work(desk):
    time.sleep(random.random() * 0.05)
    with open(sys.argv[1], "a") as ledger:
        ledger.write(desk.task.job + "\\n")
    return desk.task.goal

serve(work, journal=sys.argv[2])
"""


def test_with_workers_killed_at_random_every_job_ends_none_twice_and_none_lost(jobs: lifecycle.Jobs, tmp_path: Path) -> None:
    """Two hundred jobs over twenty stdio workers, at once."""
    ledger, here = tmp_path / "ledger", {"PYTHONPATH": ":".join(sys.path)}
    live: dict[str, Pipe] = {}

    def start(name: str) -> Pipe:
        argv = [sys.executable, "-c", WORKER, str(ledger), str(tmp_path / f"{name}.db")]
        live[name] = Pipe(argv, name=name, deadline=20.0, environment=here)
        return live[name]

    stop = threading.Event()

    def kills() -> None:
        lot = random.Random(7)
        while not stop.wait(0.15):
            if live:
                victim = lot.choice(list(live.values()))
                if not victim.gone:
                    os.kill(victim.pid, signal.SIGKILL)

    async def run() -> None:
        crew: Crew = {name: (lambda name=name: start(name)) for name in (f"w{n}" for n in range(20))}
        async with Director(jobs, crew, requester="ann") as director:
            await asyncio.gather(*(director.assign(f"g{n}", id=f"j{n}") for n in range(200)))

    killer = threading.Thread(target=kills)
    killer.start()
    try:
        asyncio.run(run())
    finally:
        stop.set()
        killer.join()
    effects = ledger.read_text().split()
    assert len(effects) == len(set(effects)), "none is done twice"
    for n in range(200):
        job = jobs.job(f"j{n}")
        assert job.stage in ENDED and job.termination is not None
        assert str(job.termination.reason) in ("delivered", "failed", "cancelled")
        assert f"j{n}" in effects or str(job.termination.reason) != "delivered", "none is lost that is said to be done"
        if str(job.termination.reason) != "delivered":
            assert "its process" in jobs.log(f"j{n}")[-1].act.words or "ended in the middle" in jobs.log(f"j{n}")[-1].act.words
    assert jobs.audit() == []
