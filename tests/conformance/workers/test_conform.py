"""The harness: the reference worker keeps every must, each faulty one is caught by the probe that is meant for it."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lifecycle.conformance.workers import MUSTS, Conformance, Goals, conform, program
from lifecycle.conformance.workers.mutants import MUTANTS
from lifecycle.worker import WorkerError

ROOT = Path(__file__).parents[3]
REFERENCE = [sys.executable, "-m", "lifecycle.conformance.workers.reference"]
KNOWN = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests/conformance/workers'}"}
WITH_A_PROCESS = {2, 8}


def over(wire: str, words: Sequence[str] = (), only: Sequence[int] = ()) -> Conformance:
    """The reference worker, or a mutant of it, tried over one of the two wires."""
    if wire == "stdio":
        return conform([*REFERENCE, *words], environment=KNOWN, only=only)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    argv = [*REFERENCE, "--http", str(port), *words]
    return conform(argv, url=f"http://127.0.0.1:{port}", token="secret", environment=KNOWN, only=only)


@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_the_reference_worker_keeps_every_must(wire: str) -> None:
    found = over(wire)
    found.check()
    assert len(found.of("passed")) == len(MUSTS) == 20


@pytest.fixture(scope="module")
def tried() -> Iterator[Mapping[tuple[str, str], Future[Conformance]]]:
    """Every mutant over both wires, some at once: most of the time is waiting."""
    with ThreadPoolExecutor(3) as pool:
        cases = [(name, wire) for name in MUTANTS for wire in ("stdio", "http")]
        yield {(name, wire): pool.submit(over, wire, [name], [MUTANTS[name][0]]) for name, wire in cases}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("wire", ["stdio", "http"])
@pytest.mark.parametrize("name", MUTANTS)
def test_each_faulty_worker_is_caught_by_the_probe_that_is_meant_for_it(
    name: str, wire: str, tried: Mapping[tuple[str, str], "Future[Conformance]"]
) -> None:
    must, _ = MUTANTS[name]
    found = tried[name, wire].result()
    assert [outcome.number for outcome in found.of("failed")] == [must], found.text
    assert found.outcomes[0].saw


def test_every_must_has_a_mutant() -> None:
    assert {must for must, _ in MUTANTS.values()} == set(MUSTS)


def test_a_worker_without_python_conforms() -> None:
    found = conform([str(ROOT / "examples/worker.sh")])
    found.check()
    assert len(found.of("passed")) == 20


# Honest workers that are otherwise than the reference


@pytest.mark.parametrize(
    ("target", "only", "unchecked"),
    [
        ("honest:refuses", set(MUSTS), {3, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17}),
        ("honest:Beside", set(MUSTS), {6}),
        ("honest:no_ledger", {4, 12, 14}, {12, 14}),
    ],
)
def test_no_honest_worker_fails_and_what_cannot_be_known_is_not_passed(target: str, only: set[int], unchecked: set[int]) -> None:
    found = conform(program(target), environment=KNOWN, only=only)
    found.check()
    assert {outcome.number for outcome in found.of("not checked")} == unchecked, found.text
    assert all(outcome.saw for outcome in found.of("not checked"))


def test_the_agent_may_be_the_process_that_has_helpers_below_it() -> None:
    """A child that is only a tool may be suspended, and the agent's answer is still its own."""
    found = conform(program("honest:WithTools"), environment=KNOWN, only=[2])
    assert found.outcomes[0].verdict == "passed", found.text


def test_a_goal_that_a_worker_has_not_is_not_checked() -> None:
    found = conform(REFERENCE, environment=KNOWN, goals=Goals(vague="", outside=""), only=[4, 7])
    assert {outcome.verdict for outcome in found.outcomes} == {"not checked"}


def test_what_has_no_process_here_is_not_suspended_and_not_killed(tmp_path: Path) -> None:
    """Only a URL: two musts need a process, and without its ledger nothing is measured."""
    environment = {**os.environ, **KNOWN, "LIFECYCLE_TOKEN": "secret", "LIFECYCLE_LEDGER": str(tmp_path / "effects")}
    with subprocess.Popen([*REFERENCE, "--http", "0"], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as worker:
        assert worker.stdout is not None
        url = worker.stdout.readline().strip()
        try:
            found = conform(url=url, token="secret", ledger=tmp_path / "effects")
            stranger = conform(url=url, token="guessed", only=[1, 20])
        finally:
            worker.kill()
    found.check()
    assert {outcome.number for outcome in found.of("not checked")} == WITH_A_PROCESS
    assert len(stranger.of("failed")) == 2 and "does not know this token" in stranger.text


# What cannot hang it


@pytest.mark.parametrize(
    "faulty", ["while True: pass", "import sys; sys.exit(3)", "print('x' * 3_000_000, flush=True)", "while True: print('{}')"]
)
def test_a_hung_or_babbling_worker_fails_in_bounded_time(faulty: str) -> None:
    found = conform([sys.executable, "-c", faulty], only=[1, 7, 20])
    assert len(found.of("failed")) == 3
    assert all(outcome.seconds < 10 for outcome in found.outcomes)


def test_what_cannot_be_started_is_no_verdict() -> None:
    with pytest.raises(WorkerError, match="cannot be started"):
        conform(["./nothing-there"])
    with pytest.raises(ValueError, match="no must 21"):
        conform(REFERENCE, only=[21])


# The verb


def verb(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": KNOWN["PYTHONPATH"]}
    command = [sys.executable, "-m", "lifecycle.cli", "conform", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_the_verb_prints_lines_json_and_junit(tmp_path: Path) -> None:
    good = verb("--only", "1", "--only", "7", *REFERENCE)
    assert (good.returncode, good.stdout.splitlines()[0][:15]) == (0, " 1. passed     ")
    assert "2 passed, 0 failed, 0 not checked" in good.stdout and "cannot be seen from outside" in good.stdout
    bad = verb("--json", "--only", "7", "--junit", str(tmp_path / "report.xml"), *REFERENCE, "bare_refusal")
    told = json.loads(bad.stdout)
    assert (bad.returncode, told["passed"], told["outcomes"][0]["verdict"]) == (1, False, "failed")
    (case,) = ElementTree.parse(tmp_path / "report.xml").iter("testcase")
    assert case.find("failure") is not None and case.get("name", "").startswith("07 ")


def test_the_verb_takes_an_object_and_says_what_it_does_not_understand() -> None:
    assert verb("--only", "20", "honest:refuses").returncode == 0
    wrong = verb("--goal", "plan=x", *REFERENCE)
    assert wrong.returncode == 2 and "there are missing, outside, plain, poison, slow, vague" in wrong.stderr
    gone = verb("./nothing-there")
    assert gone.returncode == 1 and "cannot be started" in gone.stderr


def test_the_page_for_authors_has_the_table_of_the_mutants() -> None:
    rows = [f"| `{name}` | {must} | {kind.__doc__} |" for name, (must, kind) in MUTANTS.items()]
    assert (ROOT / "docs/worker.md").read_text().endswith("\n".join(["|---|---|---|", *rows, ""]))


def test_the_table_of_mutants_and_probes_has_every_mutant_caught_by_its_own() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", (ROOT / "docs/mutants.md").read_text(), re.M)
    failed = {name: {n for n, sign in enumerate(line.split(" | "), 1) if sign == "**x**"} for name, line in rows}
    assert list(failed) == ["reference", *MUTANTS]
    assert failed.pop("reference") == set()
    assert all(MUTANTS[name][0] in musts for name, musts in failed.items())


# In pytest


def pytests(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": KNOWN["PYTHONPATH"]}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "lifecycle.conformance.workers.plugin", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment, check=False)


def test_the_plugin_has_one_test_for_each_must_of_the_worker_that_is_named(tmp_path: Path) -> None:
    bad = pytests("--worker", " ".join([*REFERENCE, "bare_refusal"]), "-k", "07 or 19 or 20", cwd=tmp_path)
    assert bad.returncode == 1 and "1 failed, 2 passed, 17 deselected" in bad.stdout, bad.stdout
    assert " 7. failed" in bad.stdout and "Traceback" not in bad.stdout
    gone = pytests("--worker", "./nothing-there", "-k", "07", cwd=tmp_path)
    assert gone.returncode == 1 and "cannot be started" in gone.stdout


def test_the_suite_is_a_class_of_ones_own_and_what_is_not_checked_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from lifecycle.conformance.workers import Goals\nfrom lifecycle.conformance.workers.plugin import suite\n"
        f"TestMine = suite({REFERENCE!r}, goals=Goals(outside=''))\n"
    )
    told = pytests("-rs", "-k", "must_07 or must_01", cwd=tmp_path)
    assert told.returncode == 0 and "1 passed, 1 skipped, 18 deselected" in told.stdout, told.stdout
