"""Every machine that is broken in one way is found out: by which check, which sentence, in which few steps."""

import pytest

from lifecycle.conformance import broken
from lifecycle.conformance.fuzz import fuzz
from lifecycle.conformance.fuzz import trial as laws
from lifecycle.conformance.fuzz.crashing import HALF
from lifecycle.conformance.fuzz.racing import SERIAL

CHILD = "request:parent of parent, accept of parent, request:child"

FOUND = {
    "end_can_be_left": ("illegal pairs", laws.END, "request, decline, accept"),
    "missing_edge": ("edges", laws.LET, "request, accept, block, fail"),
    "edge_too_many": ("illegal pairs", laws.EDGE, "request, accept, block, progress"),
    "guard_not_asked": ("demands", laws.DEMANDS, "request, accept, progress:pointless"),
    "wrong_party_let_through": ("wrong parties", laws.PARTY, "request, cancel by wes"),
    "stale_offer_accepted": ("identity", laws.STALE, "request, accept to what was replaced"),
    "lapse_from_outside": ("wrong parties", laws.PARTY, "request, lapse by ann"),
    "stranger_told": ("illegal pairs", laws.WHY, "request, lapse"),
    "act_id_reused": ("identity", laws.IDENTITY, "request, request:again with the id of 1 before"),
    "termination_rewritten": ("edges", laws.KEPT, "request, accept, cancel, halt"),
    "passed_without_verdict": ("edges", laws.PASSED, "request, accept, deliver"),
    "spending_decreases": ("demands", laws.GROWS, "request, defer:asking-spent, resolve"),
    "pause_without_name": ("edges", laws.PAUSE, "request, counter"),
    "refusal_that_changes": ("illegal pairs", laws.UNCHANGED, "request, revise"),
    "deadline_too_early": ("deadlines", laws.WHERE, "request, almost"),
    "deadline_fires_twice": ("edges", laws.ONCE, "request, wait"),
    "child_left_open": ("edges", laws.FAMILY, f"{CHILD}, cancel of parent"),
    "lost_update": ("races of two", SERIAL, "request, cancel, cancel"),
    "half_written": ("crashes", HALF, "request, accept, progress:overspent, killed at step 3 of it"),
    "receipt_before_commit": ("identity", laws.WHERE, "request, restart"),
    "act_id_forgotten": ("identity", laws.IDENTITY, "request, restart, request with the id of 1 before"),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_broken_machine_is_found_out_in_the_fewest_steps(name: str) -> None:
    outcome = fuzz(getattr(broken, name)(), target=name)
    assert not outcome.passed and outcome.found is not None
    assert (outcome.found.check, outcome.found.law, ", ".join(map(str, outcome.found.steps))) == FOUND[name]


def test_every_broken_machine_has_its_row_and_says_what_is_wrong_with_it() -> None:
    shipped = {name: made for name, made in vars(broken).items() if getattr(made, "__module__", "") == broken.__name__}
    assert shipped.keys() == FOUND.keys()
    assert len(FOUND) >= 15 and all(made.__doc__ for made in shipped.values())
