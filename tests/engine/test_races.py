"""Races between engines on one store: whatever happens, it happened in some serial order, and the loser is told."""

import threading
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path

import pytest

from lifecycle import Conflict, JobNotFound, Refused, acts
from lifecycle.engine import Engine
from lifecycle.law.log import Store
from lifecycle.stores.memory import MemoryStore
from lifecycle.stores.sqlite import SqliteStore

Move = tuple[str, acts.Act]
ROUNDS = 1_000
CANCEL: Move = ("ann", acts.Cancel())
ACCEPT: Move = ("wes", acts.Accept(answers="r"))
DELIVER: Move = ("wes", acts.Deliver(id="d", value=1))
PROGRESS: Move = ("wes", acts.Progress(id="p", line="half of it", nothing_new=True))
FAIL: Move = ("wes", acts.Fail())


@pytest.fixture(params=["memory", "sqlite"])
def engines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Engine]]:
    """Three engines that know nothing of each other: on memory over one store, on SQLite each with the file opened anew."""
    memory = MemoryStore()
    stores: list[Store] = [memory if request.param == "memory" else SqliteStore(tmp_path / "jobs.db") for _ in range(3)]
    held = [Engine(store) for store in stores]
    yield held
    for engine in held:
        engine.close()


def outcome(engine: Engine, job: str, move: Move) -> str:
    by, act = move
    try:
        return engine.submit(job, act, by=by).stage
    except Refused as refused:
        return f"{refused.reason} in {refused.stage}"
    except (Conflict, JobNotFound) as error:  # neither can be: nobody expects a seq, and the job is there
        return type(error).__name__


def race(engines: list[Engine], job: str, moves: list[Move]) -> list[str]:
    """Every move from a thread of its own, all at once."""
    gate = threading.Barrier(len(moves))
    told = [""] * len(moves)

    def runs(n: int) -> Callable[[], None]:
        def run() -> None:
            gate.wait()
            told[n] = outcome(engines[n], job, moves[n])

        return run

    threads = [threading.Thread(target=runs(n)) for n in range(len(moves))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def serial(setup: list[Move], moves: list[Move]) -> set[tuple[str, ...]]:
    """What the moves come to in each serial order, by an engine that has the store to itself."""
    found = set()
    for order in permutations(range(len(moves))):
        with Engine(MemoryStore()) as engine:
            begin(engine, "j", setup)
            told = {n: outcome(engine, "j", moves[n]) for n in order}
            found.add(tuple(told[n] for n in range(len(moves))))
    return found


def begin(engine: Engine, job: str, setup: list[Move]) -> None:
    engine.submit(job, acts.Request(id="r", goal="total 2024", worker="wes"), by="ann")
    for by, act in setup:
        engine.submit(job, act, by=by)


@pytest.mark.parametrize(
    ("setup", "moves", "rounds"),
    [
        ([], [CANCEL, ACCEPT], ROUNDS),
        ([ACCEPT], [CANCEL, DELIVER], ROUNDS // 2),
        ([ACCEPT], [CANCEL, DELIVER, FAIL], ROUNDS // 4),
        ([ACCEPT], [PROGRESS, DELIVER, CANCEL], ROUNDS // 4),
    ],
)
def test_case_87_every_race_is_one_serial_order(engines: list[Engine], setup: list[Move], moves: list[Move], rounds: int) -> None:
    allowed = serial(setup, moves)
    for n in range(rounds):
        begin(engines[0], f"j{n}", setup)
        told = tuple(race(engines, f"j{n}", moves))
        assert told in allowed, (n, told)
    assert engines[0].audit() == []
