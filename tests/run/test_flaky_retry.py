"""The flaky-test request, for real: the honest worker passes, the one that says no is heard, and no way of cheating ever passes."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

import lifecycle
from examples.flaky_retry.run import HERE, checkout, main, tried
from lifecycle.law import acts
from lifecycle.law.errors import Reason
from lifecycle.run import Report

Tried = Callable[[str], Report]


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[lifecycle.Jobs]:
    with lifecycle.open(f"sqlite:///{tmp_path}/jobs.db") as held:
        yield held


@pytest.fixture
def comes_to(jobs: lifecycle.Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    """What a worker's job comes to, on a checkout of its own."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(Path(lifecycle.__file__).parents[1]))
    return lambda worker: tried(jobs, worker, checkout(tmp_path / "tree"), reworks=0)


def by_id(report: Report) -> dict[str, str]:
    return {line.id: line.status for line in report.lines}


def test_the_honest_worker_passes_on_evidence(comes_to: Tried, jobs: lifecycle.Jobs, tmp_path: Path) -> None:
    told = comes_to("honest")
    assert (told.reason, told.status) == ("accepted", "passed"), told
    decided = {id: status for id, status in by_id(told).items() if id != "no-new-api"}
    assert set(decided.values()) == {"passed"} and len(decided) == 5
    verdict = jobs.log("honest")[-1].act
    assert isinstance(verdict, acts.Confirm)
    assert {record.artifact for record in verdict.checks} == {jobs.job("honest").delivery.artifacts[-1].digest}
    assert "waits" in (tmp_path / "tree/tests/test_retry.py").read_text()


def test_the_one_that_declines_is_heard_and_nothing_is_run(comes_to: Tried, jobs: lifecycle.Jobs) -> None:
    told = comes_to("declining")
    assert (told.stage, told.reason, told.status) == ("declined", "declined", "none")
    assert "no machine is named" in told.why
    assert len(jobs.log("declining")) == 2


CAUGHT_BY = {
    "claims": "stable",
    "deletes": "stable",
    "skips": "stable",
    "expects_failure": "stable",
    "renames": "stable",
    "weakens": "sensitive",
    "leaves_the_scope": "flaky-retry-write-scope",
    "configures": "flaky-retry-write-scope",
    "fewer_attempts": "public-behaviour",
    "exits_early": "stable",
    "shadows_pytest": "flaky-retry-write-scope",
}


@pytest.mark.parametrize("way", CAUGHT_BY)
def test_a_worker_that_cheats_never_passes(way: str, comes_to: Tried, jobs: lifecycle.Jobs) -> None:
    told = comes_to(f"cheats:{way}")
    assert told.status != "passed"
    first = next(entry.act for entry in jobs.log(told.job) if isinstance(entry.act, acts.Rework | acts.Reject))
    assert {record.id: record.status for record in first.checks}[CAUGHT_BY[way]] == "failed"
    said = next(entry.act for entry in jobs.log(told.job) if isinstance(entry.act, acts.Deliver)).report
    assert {finding.status for finding in said.conditions} == {"met"}, "whatever it says of itself"


def test_a_workers_own_check_is_refused_and_never_run(comes_to: Tried, jobs: lifecycle.Jobs) -> None:
    told = comes_to("cheats:brings_its_own_check")
    assert told.stage == "cancelled.stopped" and "weaker_terms" in told.why
    assert [kept.refusal.reason for kept in jobs.refusals(told.job)] == [Reason.WEAKER_TERMS]


def test_every_way_of_cheating_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE / "workers")
    cheats = import_module("cheats")
    assert set(cheats.WAYS) == {*CAUGHT_BY, "brings_its_own_check"} and len(cheats.WAYS) >= 10


def test_the_example_prints_the_verdicts_and_draws_the_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["declining", "--out", str(tmp_path / "out")])
    assert "declining: declined, declined / none" in capsys.readouterr().out
    assert (tmp_path / "out/declining.svg").read_text().lstrip().startswith("<?xml")
