"""The kit itself: how much it tries, that it tries the same every time, what it reports, and how it is called."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lifecycle.cli import main
from lifecycle.conformance import broken
from lifecycle.conformance.fuzz import CHECKS, EngineSubject, Fault, TargetError, fuzz, subject_at
from lifecycle.conformance.fuzz.racing import SERIAL, Scene, race
from lifecycle.conformance.fuzz.reference import Reference
from lifecycle.conformance.fuzz.session import Session
from lifecycle.conformance.fuzz.shrinking import shortest
from lifecycle.conformance.fuzz.tours import chains, edges, feasible, infeasible
from lifecycle.conformance.fuzz.trial import Trial, steps

WHOLE = {
    "edges": 70, "illegal pairs": 340, "wrong parties": 590, "demands": 70, "identity": 70, "deadlines": 12, "families": 10,
    "edge pairs": 251, "crashes": 454, "races of two": 970, "triples": 825, "random walks": 150, "races of three": 4992,
}  # fmt: skip
"""What there is to try of the engine on the store in memory."""


def test_the_whole_run_on_the_engine_tries_all_there_is_and_finds_nothing() -> None:
    told: list[str] = []
    outcome = fuzz(EngineSubject(), progress=lambda check, done, of: told.append(check))
    assert outcome.found is None and outcome.passed
    assert {one.check: (one.done, one.of) for one in outcome.covered} == {name: (of, of) for name, of in WHOLE.items()}
    assert list(dict.fromkeys(told)) == list(CHECKS), "and it shows how far it is"
    assert not any(one.unchecked for one in outcome.covered)


@pytest.mark.parametrize(("length", "of", "never"), [(1, 70, 0), (2, 251, 2), (3, 825, 23)])
def test_every_chain_of_edges_is_feasible_or_it_is_said_why_not(length: int, of: int, never: int) -> None:
    able, unable = feasible(length), dict(infeasible(length))
    assert (len(able), len(unable)) == (of, never)
    assert set(chains(edges(), length)) == able | unable.keys()
    assert all(unable.values())


def test_the_same_seed_takes_the_same_steps_and_another_seed_others() -> None:
    first, again, other = (fuzz(Reference(), seed=seed, only=["random walks"]).steps for seed in (3, 3, 4))
    assert first == again != other


RACES = [
    ("request accept progress", "cancel deliver"),
    ("request", "accept cancel"),
    ("request accept progress", "wait deliver"),
    ("request accept progress", "wait progress"),
    ("request", "accept decline cancel"),
    ("request accept cancel", "halt wait"),
]


@pytest.mark.parametrize(("before", "at_once"), RACES)
def test_whoever_races_the_outcome_is_that_of_some_serial_order(before: str, at_once: str) -> None:
    scene = Scene(steps(before), steps(at_once))
    assert race(Session(EngineSubject()), scene) >= 2 * len(scene.at_once)


@pytest.mark.parametrize(("before", "at_once"), [row for row in RACES if "wait" not in row[1]])
def test_two_who_both_win_a_race_are_found_out(before: str, at_once: str) -> None:
    with pytest.raises(Fault) as caught:
        race(Session(broken.lost_update()), Scene(steps(before), steps(at_once)))
    assert caught.value.law == SERIAL


@pytest.mark.parametrize("detour", ["", "progress", "progress propose decide", "counter insist", "restart"])
def test_a_fault_is_made_as_short_as_it_gets(detour: str) -> None:
    with pytest.raises(Fault) as caught:
        Trial.of(broken.missing_edge()).take(*steps(f"request:review accept clear {detour} block fail"))
    short = shortest(broken.missing_edge(), caught.value)
    assert ", ".join(map(str, short.steps)) == "request, accept, block, fail"
    assert short.law == caught.value.law


def test_a_target_is_named_and_what_is_none_is_refused_with_why() -> None:
    assert isinstance(subject_at("memory:"), EngineSubject)
    assert isinstance(subject_at("lifecycle.conformance.broken:lost_update"), Reference)
    for target, why in [
        ("nonsense", "give `memory:`"),
        ("no.such.module:x", "cannot be loaded"),
        ("lifecycle.conformance.broken:no_such", "cannot be loaded"),
        ("pathlib:Path", "has no reset, submit, stage, restart, advance"),
        ("postgresql://x", "nothing to fuzz"),
    ]:
        with pytest.raises(TargetError, match=why):
            subject_at(target)


# The command


def test_the_command_reports_what_was_tried_as_json_and_ends_with_0() -> None:
    run = CliRunner().invoke(main, ["fuzz", "memory:", "--seed", "7", "--json", "--only", "edges", "--only", "edge pairs"])
    told = json.loads(run.output)
    assert run.exit_code == 0
    assert (told["target"], told["seed"], told["passed"], told["found"]) == ("memory:", 7, True, None)
    pairs = told["checks"][1]
    assert (pairs["check"], pairs["done"], pairs["of"], pairs["percent"]) == ("edge pairs", 251, 251, 100.0)
    assert [set(one) for one in pairs["infeasible"]] == [{"what", "why"}] * 2


def test_the_command_tells_the_fault_and_ends_with_1() -> None:
    run = CliRunner().invoke(main, ["fuzz", "lifecycle.conformance.broken:end_can_be_left"])
    assert run.exit_code == 1
    lines = run.output.splitlines()
    assert lines[:3] == ["edges 70/70", "found by illegal pairs: nothing leaves an end", "request, decline, accept"]
    told = json.loads(CliRunner().invoke(main, ["fuzz", "lifecycle.conformance.broken:missing_edge", "--json"]).output)
    assert told["found"]["check"] == "edges" and told["found"]["counterexample"] == ["request", "accept", "block", "fail"]


@pytest.mark.parametrize("words", [["nonsense"], ["memory:", "--only", "nonsense"]])
def test_the_command_is_not_understood_and_ends_with_2(words: list[str]) -> None:
    run = CliRunner().invoke(main, ["fuzz", *words])
    assert run.exit_code == 2 and "to mend it" in run.output


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "greenlet.py").write_text("raise ModuleNotFoundError('no', name='greenlet')\n")
    command = [sys.executable, "-m", "lifecycle.cli", "fuzz", "memory:", "--only", "races of two"]
    path = {"PYTHONPATH": ":".join([str(tmp_path), *sys.path])}
    run = subprocess.run(command, capture_output=True, text=True, env=path, check=False)
    assert run.returncode == 1
    assert run.stderr == "Error: no package `greenlet`; to mend it, pip install 'lifecycle[fuzz]'\n"


# In somebody's own tests


def test_one_line_makes_a_test_of_every_check(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from lifecycle.conformance import broken\n"
        "from lifecycle.conformance.fuzz import EngineSubject, suite\n"
        "TestMine = suite(EngineSubject)\n"
        "TestBroken = suite(broken.end_can_be_left)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "edges or illegal", "test_mine.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert "1 failed, 3 passed" in run.stdout, run.stdout
    assert "request, decline, accept: nothing leaves an end" in run.stdout
