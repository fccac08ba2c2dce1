"""Case 66: a wrong act name in user code is found by mypy, before anything runs."""

import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """
import lifecycle
from lifecycle import acts

with lifecycle.open("memory:") as jobs:
    job = jobs.request("total 2024", requester="planner", worker="coder", id="j")
    jobs.submit("j", acts.Accept(answers="j"), by="coder")
    job.seat("coder").progress("half of it", "report.csv")
"""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("acts.Accept(", "acts.Acept(", 'has no attribute "Acept"'),
        ('.progress("half', '.progres("half', 'has no attribute "progres"'),
        ('acts.Accept(answers="j")', '"accept"', "incompatible type"),
        ("answers=", "answer=", "Unexpected keyword"),
    ],
)
def test_case_66_a_wrong_act_name_fails_mypy(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert right in RIGHT
    program = tmp_path / "program.py"
    program.write_text(RIGHT.replace(right, wrong))
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path.parent / 'mypy'}", str(program)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1 and said in run.stdout, run.stdout


def test_the_right_program_passes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(RIGHT)
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path.parent / 'mypy'}", str(program)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
