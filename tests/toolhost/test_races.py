"""Several processes at one set, at once: each call is run once, one decision counts, and one policy is in force."""

import threading
from collections import Counter
from pathlib import Path

import pytest

from lifecycle.toolhost import Approvals, Call, Host, Registry
from tests.engine.stories import MINUTE, NOON

from .processes import CONTEXT, Place, decide_with_others, registry, settle_with_others
from .stage import OPEN_WRITES, House, call, contract, told, words, working

CALLS = [Call(f"c{n}", "gate", {"text": "a"}) for n in range(6)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path, NOON)
    with place.jobs() as jobs:
        working(jobs)
        Host(jobs, registry(place, "plain"), OPEN_WRITES).turn("job", CALLS, id="t1")
    return place


def together(work: object, *each: tuple[object, ...]) -> list[object]:
    """What processes tell that do this at the same moment."""
    barrier, pipes = CONTEXT.Barrier(len(each)), [CONTEXT.Pipe(duplex=False) for _ in each]
    running = [
        CONTEXT.Process(target=work, args=(*one, barrier, pipe[1]), daemon=True) for one, pipe in zip(each, pipes, strict=True)
    ]
    for process in running:
        process.start()
    seen = [pipe.recv() for pipe, _ in pipes]
    for process in running:
        process.join(60)
        assert process.exitcode == 0
    return seen


def test_processes_that_settle_one_set_at_once_run_each_call_once(place: Place) -> None:
    """Six approved calls and four processes: six effects, under six operation ids; each has one result."""
    with place.jobs() as jobs:
        desk = Approvals(jobs)
        desk.decide("job", "t1", words(desk), by="app")  # no tools here: nothing runs
        assert place.effects.all == []
    together(settle_with_others, *[(place,)] * 4)
    assert set(Counter(place.effects.all).values()) == {1} and len(place.effects.all) == 6
    with place.jobs() as jobs:
        results = Approvals(jobs).results("job", "t1")
        assert told(results) == {one.id: "executed" for one in CALLS}
        assert {one.operation for one in results.values()} == {*place.effects.all}


def test_decisions_that_race_are_one_decision(place: Place) -> None:
    """One process approves all, one denies all, two of each: one word holds for all calls, the other is turned away."""
    seen = together(decide_with_others, *[(place, verdict) for verdict in ("approved", "denied") * 2])
    with place.jobs() as jobs:
        ended = told(Host(jobs, registry(place, "plain"), OPEN_WRITES).results("job", "t1"))
    assert len({*ended.values()}) == 1
    won, lost = ("approved", "denied") if ended["c0"] == "executed" else ("denied", "approved")
    assert (Counter(seen)[won], Counter(seen)[lost]) == (2, 0)
    assert len(place.effects.all) == (6 if won == "approved" else 0)


def test_a_call_in_flight_is_left_to_whoever_runs_it(house: House) -> None:
    """A second host settles while the first one's executor runs: the call is started, is not run again, and ends once."""
    begun, may_end = threading.Event(), threading.Event()

    def slow(arguments: object, operation: object) -> None:
        house.effects.add("begun")
        begun.set()
        assert may_end.wait(30)

    held = Registry()
    held.register(contract("gate"), slow)  # type: ignore[arg-type]
    working(house.jobs)
    host, other = house.host(held), house.host(held)
    set_id = host.turn("job", [call("c1")]).set
    bundle = words(host)
    runs = threading.Thread(target=host.decide, args=("job", set_id, bundle), kwargs={"by": "app"})
    runs.start()
    assert begun.wait(30)
    assert (other.settle("job"), other.standing("job", set_id)) == ({set_id: {}}, {"c1": "started"})
    may_end.set()
    runs.join(30)
    assert (told(other.results("job", set_id)), house.effects.all) == ({"c1": "executed"}, ["begun"])


def test_an_executor_taken_for_dead_may_still_tell_how_it_ended(house: House) -> None:
    """Its time passes by the store's clock while it runs, another host says unknown; then it ends: executed is what is known."""
    begun, may_end = threading.Event(), threading.Event()

    def slow(arguments: object, operation: object) -> None:
        begun.set()
        assert may_end.wait(30)

    held = Registry()
    held.register(contract("gate"), slow)  # type: ignore[arg-type]
    working(house.jobs)
    host, other = house.host(held), house.host(held)
    set_id = host.turn("job", [call("c1")]).set
    runs = threading.Thread(target=host.decide, args=("job", set_id, words(host)), kwargs={"by": "app"})
    runs.start()
    assert begun.wait(30)
    house.clock.ticks(2 * MINUTE)
    other.settle("job")
    assert told(other.results("job", set_id)) == {"c1": "unknown crash"}
    may_end.set()
    runs.join(30)
    other.settle("job")
    assert told(other.results("job", set_id)) == {"c1": "executed"}
