"""Case 66: what can be found before it runs is found by mypy."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import lifecycle

with lifecycle.open("memory:") as jobs:
    job = jobs.request("total 2024", requester="planner", worker="coder", conditions={"c1": "it totals"})
    coder = job.seat("coder")
    coder.accept()
    jobs.submit(job.id, lifecycle.acts.Progress(line="on", nothing_new=True), by="coder")
    coder.deliver("report.csv", met={"c1": "report.csv:12"})
    passed: lifecycle.State = job.state
"""
WRONG = {
    "an act that a seat does not have": 'coder.acept()\n    "acept"',
    "an act that there is not": 'lifecycle.acts.Finish()\n    "Finish"',
    "a field that the act does not have": 'lifecycle.acts.Cancel(why="late")\n    "why"',
    "a field that is missing": 'lifecycle.acts.Progress()\n    "line"',
    "a field of another type": 'lifecycle.acts.Progress(line=7)\n    "line"',
    "a word that is none of the act's": 'lifecycle.acts.Fail(reason="tired")\n    "reason"',
    "an act that is only a name": 'jobs.submit(job.id, "accept", by="coder")\n    "submit"',
    "a party that is left out": 'jobs.submit(job.id, lifecycle.acts.Cancel())\n    "by"',
    "a stage that there is not": 'lifecycle.Stage.FINISHED\n    "FINISHED"',
    "a job that is changed": 'job.job.stage = lifecycle.Stage.ERROR\n    "stage"',
    "an act that is changed": 'lifecycle.acts.Cancel().words = "late"\n    "words"',
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[str]]:
    """What mypy says of the program followed by every wrong line, by line number."""
    file = tmp_path_factory.mktemp("mypy") / "user.py"
    lines = [f"    {wrong}" for line in WRONG.values() for wrong in line.split("\n    ")]
    file.write_text(PROGRAM + "\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--config-file", "pyproject.toml", str(file)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said: dict[int, list[str]] = {}
    for line in run.stdout.splitlines():
        parts = line.split(":", 3)
        if len(parts) == 4 and parts[0].endswith("user.py") and parts[2] == " error":
            said.setdefault(int(parts[1]), []).append(parts[3])
    assert said or run.returncode == 0, run.stdout + run.stderr
    return said


def test_a_program_that_is_right_passes(checked: dict[int, list[str]]) -> None:
    """The program of the README, and a plain act, are well typed."""
    assert [said for line, said in checked.items() if line <= PROGRAM.count("\n")] == []


@pytest.mark.parametrize("wrong", WRONG)
def test_case_66_a_wrong_act_name_fails_mypy(checked: dict[int, list[str]], wrong: str) -> None:
    """A wrong act name in user code fails mypy, as does a wrong field, word, stage, or a change to what is frozen."""
    line = PROGRAM.count("\n") + 1 + 2 * list(WRONG).index(wrong)
    word = WRONG[wrong].split("\n    ")[1]
    assert any(word.strip('"') in said for said in checked.get(line, [])), checked.get(line)
