"""A job with a poisoned goal that went through many stages, and the tree below it."""

from collections.abc import Iterator

import pytest

import lifecycle

POISON = "<b>x</b> \"; end [[a]] {{}} `%` | --> \u202e !include x \\n **b** & @enduml #35; $x' ]]> <!-- ~~s~~ www.x.y"


@pytest.fixture
def jobs() -> Iterator[lifecycle.Jobs]:
    with lifecycle.open("memory:", sweep_every=None) as made:
        job = made.request(
            POISON, requester="planner", worker="coder", conditions={"c1": "totals"}, verifier="judge", review=True, id="j1"
        )
        planner, coder, judge = (job.seat(name) for name in ("planner", "coder", "judge"))
        coder.accept()
        planner.clear()
        for _ in range(5):
            coder.progress("x", nothing_new=True)
        made.request(POISON, requester="coder", worker="other", parent="j1", id="k1").seat("other").decline("no")
        made.request("part", requester="coder", worker="third", parent="j1", id="k2").seat("third").decline("no")
        coder.deliver("report.csv", met={"c1": "line 12"})
        judge.rework("no", "c1")
        coder.deliver("report.csv", met={"c1": "line 12"})
        judge.confirm("checked")
        yield made
