"""The table as a `transitions` machine: an oracle of its own, and a place to hang behaviour that cannot change what was decided."""

import threading
from pathlib import Path

import pytest
from transitions import MachineError

import lifecycle
from lifecycle import machine
from lifecycle.law.acts import ACTS
from lifecycle.law.states import Stage
from lifecycle.law.table import LAW


@pytest.mark.parametrize("stage", [None, *Stage])
def test_the_compiled_law_and_the_machine_know_the_same_edges(stage: Stage | None) -> None:
    for act in ACTS:
        way = LAW.ways[stage].get(act)
        assert machine.leads(stage, act) == frozenset(row.to for row in (way.rows if way else ())), (stage, act)
    assert machine.legal(stage) == frozenset(LAW.ways[stage])


def test_it_has_no_back_door() -> None:
    assert set(machine.build().events) == set(ACTS)


def test_behaviour_hangs_on_stages_and_follows_the_log() -> None:
    seen: list[tuple[str, str]] = []
    built = machine.build(
        enter={Stage.UNVERIFIED: lambda job: seen.append(("entered", job.job))},
        leave={Stage.REQUESTED: lambda job: seen.append(("left", job.job))},
    )
    with lifecycle.open("memory:", sweep_every=None) as jobs:
        handle = jobs.ask(lambda goal: goal, "echo", id="j")
        follower = machine.Follower("j")
        for notice in jobs.watch():
            machine.follow(built, follower, notice.entry)
        assert follower.state == handle.stage
    assert seen == [("left", "j"), ("entered", "j")]


def test_a_callback_that_raises_changes_no_job() -> None:
    def breaks(job: machine.Follower) -> None:
        raise RuntimeError(job.job)

    with lifecycle.open("memory:", sweep_every=None) as jobs:
        handle = jobs.ask(lambda goal: goal, "echo")
        built, follower = machine.build(enter={Stage.READY: breaks}), machine.Follower(handle.id)
        machine.follow(built, follower, handle.log[0])
        with pytest.raises(RuntimeError):
            machine.follow(built, follower, handle.log[1])
        assert handle.stage is Stage.UNVERIFIED and jobs.audit() == []


def test_behaviour_is_driven_after_the_commit_of_every_entry_whoever_made_it(tmp_path: Path) -> None:
    seen: list[tuple[str, str, Stage]] = []
    done, url = threading.Event(), f"sqlite:///{tmp_path}/jobs.db"

    def entered(job: machine.Follower) -> None:
        assert job.entry is not None
        with lifecycle.open(url, sweep_every=None) as other:
            seen.append(("entered", job.job, other.job(job.job).stage))
        done.set()

    with lifecycle.open(url, sweep_every=None) as jobs:
        leave = {Stage.REQUESTED: lambda job: seen.append(("left", job.job, job.entry.stage))}
        jobs.on("lamp", machine.hook(enter={Stage.DECLINED: entered}, leave=leave))
        jobs.request("build", requester="ann", worker="wes", id="j").seat("wes").decline("no time")
        assert done.wait(20)
    assert seen == [("left", "j", Stage.DECLINED), ("entered", "j", Stage.DECLINED)], "and the decision was durable by then"


def test_a_callback_that_raises_is_recorded_and_tried_again_and_undoes_nothing() -> None:
    tried: list[int] = []
    done = threading.Event()

    def breaks(job: machine.Follower) -> None:
        tried.append(1)
        if len(tried) == 1:
            raise RuntimeError("the lamp is broken")
        done.set()

    with lifecycle.open("memory:", sweep_every=None) as jobs:
        hooked = jobs.on("lamp", machine.hook(enter={Stage.READY: breaks}))
        handle = jobs.request("build", requester="ann", worker="wes")
        handle.seat("wes").accept()
        while not (failed := hooked.failures()):
            hooked.wake()
        assert (failed[0].seq, "the lamp is broken" in failed[0].error, handle.stage) == (1, True, Stage.READY)
        hooked.retry()
        assert done.wait(20) and hooked.failures() == [] and jobs.audit() == []


def test_a_log_that_is_not_this_laws_is_refused() -> None:
    with lifecycle.open("memory:", sweep_every=None) as jobs:
        handle = jobs.ask(lambda goal: goal, "echo")
        with pytest.raises(MachineError):
            machine.follow(machine.build(), machine.Follower(handle.id), handle.log[1])
