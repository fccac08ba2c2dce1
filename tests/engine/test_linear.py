"""Engines in processes of their own race on one job, thousands of times: what they came to is what some serial order comes to."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

import pytest

import lifecycle
from lifecycle import Stage, acts
from tests.stores.processes import CONTEXT

from .stories import Outcome, at, attempt, serial

HISTORIES = 1_000
"""Per store and number of processes."""

MOVES: Mapping[Stage, Sequence[tuple[str, str, acts.Act]]] = {
    Stage.REQUESTED: [
        ("wes", "accept", acts.Accept(answers="it")),
        ("ann", "cancel", acts.Cancel()),
        ("wes", "decline", acts.Decline(answers="it", reason="no")),
        ("ann", "cancel", acts.Cancel(words="again")),
    ],
    Stage.WORKING: [
        ("wes", "deliver", acts.Deliver(value=1)),
        ("ann", "cancel", acts.Cancel()),
        ("wes", "progress", acts.Progress(line="no news", nothing_new=True)),
        ("wes", "fail", acts.Fail(words="it cannot be done")),
    ],
    Stage.STOPPING: [
        ("wes", "halt", acts.Halt(work="partial")),
        ("wes", "deliver", acts.Deliver(value=1)),
        ("wes", "fail", acts.Fail(words="it cannot be done")),
    ],
}


def moves(n: int, stage: Stage, job: str, racers: int) -> list[tuple[str, acts.Act]]:
    """What the racers do at the n-th job: another choice, and another order, each time."""
    all_of = MOVES[stage]
    chosen = [all_of[(n + k) % len(all_of)] for k in range(racers)]
    return [(by, act.model_copy(update={"answers": job}) if "answers" in type(act).model_fields else act) for by, _, act in chosen]


def racer(pipe: Connection, line: Barrier, url: str, me: int, jobs: Sequence[Sequence[tuple[str, str, acts.Act]]]) -> None:
    """One process: at each job its move, at the same moment as the others'."""
    with lifecycle.open(url, sweep_every=None) as engine:
        came: list[Outcome] = []
        for turns in jobs:
            job, by, act = turns[me]
            line.wait(60)
            came.append(attempt(engine, job, by, act))
        pipe.send(came)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[str]:
    yield f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue("database")


@pytest.mark.parametrize("racers", [2, 3])
def test_every_history_of_racing_processes_is_that_of_a_serial_order(url: str, racers: int) -> None:
    with lifecycle.open(url, sweep_every=None) as jobs:
        stages = [list(MOVES)[n % len(MOVES)] for n in range(HISTORIES)]
        stood = [at(jobs, stage, f"j{n}").job for n, stage in enumerate(stages)]
        turns = [
            [(job.id, by, act) for by, act in moves(n, stage, job.id, racers)]
            for n, (stage, job) in enumerate(zip(stages, stood, strict=True))
        ]
        line, pipes = CONTEXT.Barrier(racers), [CONTEXT.Pipe(duplex=False) for _ in range(racers)]
        started = [CONTEXT.Process(target=racer, args=(theirs, line, url, n, turns)) for n, (_, theirs) in enumerate(pipes)]
        for process in started:
            process.start()
        came = [mine.recv() for mine, _ in pipes]
        for process in started:
            process.join(20)
        seen = set()
        for n, (job, stage) in enumerate(zip(stood, stages, strict=True)):
            outcome = tuple(each[n] for each in came)
            assert outcome in serial(job, moves(n, stage, job.id, racers), datetime.now(UTC)), (job.id, outcome)
            assert len(jobs.log(job.id)) == job.seq + 1 + sum(one[0] == "made" for one in outcome)
            seen.add((stage, tuple(one[0] for one in outcome)))
        assert len(seen) > len(MOVES)  # different ones were first
        assert jobs.audit() == []
