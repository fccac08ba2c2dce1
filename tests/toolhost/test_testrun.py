"""The tool `test`: what the contract lists runs for its record; any other command is asked for."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from lifecycle.law.acts import CheckRecord
from lifecycle.law.contract import Contract, Criterion
from lifecycle.law.terms import CommandCheck, Condition, FileCheck
from lifecycle.law.values import sha256
from lifecycle.toolhost import Call, Policy, Registry
from lifecycle.toolhost.testrun import register_test

from .stage import House, told, words, working

LISTED = (sys.executable, "-c", "print('2 passed')")
OTHER = (sys.executable, "-c", "print('drop everything')")
CONTRACT = Contract(
    "c", "1", "make it pass",
    acceptance=(Condition("c1", "it passes", CommandCheck(LISTED)), Condition("c2", "it is there", FileCheck("a.py"))),
    invariants=(Criterion("i1", "it builds", CommandCheck(("make",), cwd="build")),),
)  # fmt: skip


def registry(root: Path, ran: list[CommandCheck]) -> Registry:
    """`test`, with a runner that runs, and reports one case."""

    def runner(id: str, check: CommandCheck) -> CheckRecord:
        ran.append(check)
        done = subprocess.run(check.argv, cwd=root / check.cwd, capture_output=True, check=False)
        status = "passed" if done.returncode == check.exit else "failed"
        return CheckRecord(
            id, status, argv=check.argv, cwd=check.cwd, environment=check.environment, cases=("t::one",), exit=done.returncode,
            output=done.stdout.decode(), output_digest=sha256(done.stdout),
        )  # fmt: skip

    held = Registry()
    register_test(held, CONTRACT, runner)
    return held


def test_a_listed_command_runs_for_its_record(house: House, tmp_path: Path) -> None:
    """Without asking; the receipt is a check record, whole."""
    working(house.jobs)
    ran: list[CommandCheck] = []
    host = house.host(registry(tmp_path, ran), Policy())
    answer = host.turn("job", [Call("c1", "test", {"argv": [*LISTED], "environment": "env-1", "cases": ["t::one"]})])
    output = answer.results["c1"].output
    assert isinstance(output, dict) and told(answer.results) == {"c1": "executed"}
    kept = {"status": "passed", "argv": [*LISTED], "cwd": ".", "environment": "env-1", "cases": ["t::one"], "exit": 0}
    assert {key: output[key] for key in kept} == kept
    assert (output["output"], output["output_digest"]) == ("2 passed\n", sha256(b"2 passed\n"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"argv": [*OTHER]},
        {"argv": [*LISTED, "-x"]},
        {"argv": [*LISTED[:2]]},
        {"argv": [*LISTED], "cwd": "build"},
        {"argv": ["make"]},
    ],
    ids=["another", "one word more", "one word less", "in another directory", "not in its own directory"],
)
def test_any_other_command_is_asked_for(house: House, tmp_path: Path, arguments: dict[str, JsonValue]) -> None:
    """Not on the list, word by word and in its directory: it waits, and a person is shown the words; denied, it never ran."""
    working(house.jobs)
    ran: list[CommandCheck] = []
    host = house.host(registry(tmp_path, ran), Policy())
    answer = host.turn("job", [Call("c1", "test", arguments)])
    assert (answer.pending, ran) == (("c1",), [])
    assert str(arguments["argv"]) in host.pending()[0].calls[0].preview
    assert told(host.decide("job", answer.set, words(host, verdict="denied"), by="app")) == {"c1": "rejected denied"}
    assert ran == []


def test_a_listed_command_may_be_spelled_in_its_directory(house: House, tmp_path: Path) -> None:
    """`./build` is `build`."""
    working(house.jobs)
    (tmp_path / "build").mkdir()
    host = house.host(registry(tmp_path, []), Policy())
    assert host.turn("job", [Call("c1", "test", {"argv": ["make"], "cwd": "./build"})]).pending == ()


def test_a_run_that_lacks_a_case_has_not_passed(house: House, tmp_path: Path) -> None:
    """The command exits with 0, and a case that was to be collected was not: failed, naming it."""
    working(house.jobs)
    host = house.host(registry(tmp_path, []), Policy())
    answer = host.turn("job", [Call("c1", "test", {"argv": [*LISTED], "cases": ["t::one", "t::two"]})])
    output = answer.results["c1"].output
    assert isinstance(output, dict)
    assert (output["exit"], output["status"], output["seen"]) == (0, "failed", "not collected: t::two")


def test_a_policy_that_asks_for_every_write_asks_for_listed_ones_too(house: House, tmp_path: Path) -> None:
    """The contract's list loosens nothing."""
    working(house.jobs)
    host = house.host(registry(tmp_path, []), Policy(write="consent"))
    assert host.turn("job", [Call("c1", "test", {"argv": [*LISTED]})]).pending == ("c1",)
