"""How fast the fuzz kit is: steps a second in lockstep with the law, and chains of edges covered, beside plain random walks.

The peer is Hypothesis with the kit's own state machine, which takes its steps by lot: as many walks as take ten times as long as
the tour. The machine that is tried is the engine on the store in memory.
"""

import time
from collections.abc import Iterator
from functools import partial

from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from lifecycle.conformance.fuzz import EngineSubject, fuzz
from lifecycle.conformance.fuzz.session import Session
from lifecycle.conformance.fuzz.tours import Chain, feasible, of_length, taken, walks
from lifecycle.conformance.fuzz.walking import machine_of, quiet
from tests.benchmarks.measure import Figure, race

WALKS = 40
NAMES = {1: "edges", 2: "edge pairs", 3: "triples"}


def toured(length: int) -> int:
    """Take the walks that cover every chain of this length; how many chains that is."""
    session, found = Session(EngineSubject()), set[Chain]()
    for walk in walks(length):
        found.update(of_length(taken(session.trial().take(*walk)), length))
    assert found >= feasible(length)
    return len(feasible(length))


def walked(length: int, seconds: float, lot: int = 0) -> int:
    """Take random walks for about so many seconds; how many different chains of this length they took."""
    found, until = set[Chain](), time.perf_counter() + seconds
    while time.perf_counter() < until:
        machine = machine_of(EngineSubject)
        machine.teardown = lambda self: found.update(of_length(taken(self.trial), length))  # type: ignore[method-assign]
        run_state_machine_as_test(seed(lot)(machine), settings=quiet(WALKS))
        lot += 1
    return len(found & feasible(length))


def stepped() -> int:
    """Steps of the checks that one caller can make."""
    return fuzz(EngineSubject(), only=["edges", "illegal pairs", "edge pairs"]).steps


def drawn() -> int:
    """Steps of random walks."""
    machine = machine_of(EngineSubject)
    run_state_machine_as_test(seed(0)(machine), settings=quiet(WALKS))
    return machine.steps


def figures() -> Iterator[Figure]:
    """Every figure of the kit."""
    feasible(3)  # found once, and kept
    yield race("steps of the fuzz kit", stepped, "random walks by Hypothesis", drawn, 1.0)
    for length, name in NAMES.items():
        begun = time.perf_counter()
        of = toured(length)
        took = time.perf_counter() - begun
        covered = walked(length, 10 * took)
        what = f"{name} covered, {of} of {of} in {took:.2f} s"
        yield race(what, partial(toured, length), f"random walks, {covered} of {of} in {10 * took:.1f} s",
                   partial(walked, length, 2 * took), 2.0, rounds=5)  # fmt: skip
