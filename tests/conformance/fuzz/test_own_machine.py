"""Machines that others wrote, in other frameworks, are tried in what they claim to do, and their faults are found."""

from datetime import timedelta

import pytest
from transitions import Machine, MachineError

from examples.own_machine import Desk, Hasty
from lifecycle.conformance.fuzz import CHECKS, Scope, fuzz, suite
from lifecycle.law.acts import Act, Request

EDGES = (
    ("accept", "requested", "accepted.ready"),
    ("decline", "requested", "declined"),
    ("deliver", "accepted.ready", "result.unverified"),
    ("fail", "accepted.ready", "error"),
    ("cancel", "requested", "cancelled.stopped"),
    ("cancel", "accepted.ready", "cancelled.stopping"),
    ("halt", "cancelled.stopping", "cancelled.stopped"),
)
LATE = ("deliver", "cancelled.stopping", "result.unverified")
"""The fault: what was cancelled can be delivered all the same."""


class Small:
    """A machine written with `transitions`: it asks what may be done, and not by whom; a restart loses nothing."""

    scope = Scope(frozenset({"request", *(edge[0] for edge in EDGES)}), parties=False, demands=False, time=False, identity=False)
    edges = EDGES

    def reset(self) -> None:
        self.machines: dict[str, Machine] = {}

    def submit(self, job: str, act: Act, *, by: str, id: str) -> str | None:
        if isinstance(act, Request) == (job in self.machines):
            return "no"
        if isinstance(act, Request):
            states = sorted({stage for edge in self.edges for stage in edge[1:]})
            edges = [list(edge) for edge in self.edges]
            self.machines[job] = Machine(states=states, transitions=edges, initial="requested", auto_transitions=False)
            return None
        try:
            self.machines[job].trigger(act.act)  # type: ignore[attr-defined]
        except (MachineError, AttributeError):
            return "no"
        return None

    def stage(self, job: str) -> str | None:
        return self.machines[job].state if job in self.machines else None  # type: ignore[attr-defined]

    def restart(self) -> None:
        pass

    def advance(self, delta: timedelta) -> None:
        pass


class Late(Small):
    """The same with one edge more."""

    edges = (*EDGES, LATE)


@pytest.mark.parametrize(("make", "edges", "pairs"), [(Desk, 23, 47), (Small, 8, 7)])
def test_somebody_elses_machine_is_tried_in_all_that_it_claims(make: type[Desk | Small], edges: int, pairs: int) -> None:
    outcome = fuzz(make())
    assert outcome.passed, outcome.ending
    done = {one.check: one for one in outcome.covered}
    assert (done["edges"].of, done["edge pairs"].of) == (edges, pairs)
    assert {one.check for one in outcome.covered if one.unchecked} > {"demands", "identity", "deadlines", "families", "crashes"}
    assert all(why for one in outcome.covered for _, why in one.infeasible)


@pytest.mark.parametrize(
    ("make", "steps"), [(Hasty, "request, accept, block, deliver"), (Late, "request, accept, cancel, deliver")]
)
def test_its_fault_is_found_in_the_fewest_steps(make: type[Desk | Small], steps: str) -> None:
    found = fuzz(make()).found
    assert found is not None and ", ".join(map(str, found.steps)) == steps


def test_its_author_writes_one_line() -> None:
    made = suite(Small)
    tests = [name for name in dir(made) if name.startswith("test_")]
    assert len(tests) == len(CHECKS)
    for name in tests:
        getattr(made(), name)()
    with pytest.raises(Exception, match="request, accept, cancel, deliver"):
        suite(Late)().test_illegal_pairs()  # type: ignore[attr-defined]
