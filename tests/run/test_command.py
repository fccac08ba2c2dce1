"""`lifecycle run`, `resume`, `approvals`, `contract`: as a person calls them, in processes of their own, interrupted and killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

import lifecycle
from examples.flaky_retry.run import HERE
from lifecycle.cli import main

CONTRACT = """\
id = "make"
version = "1"
goal = "make it"
write_scope = ["made.txt"]
[[acceptance]]
id = "made"
text = "it is there"
check = { kind = "file", path = "made.txt" }
[owners]
user = "owner"
"""

WORKER = """\
import sys, time
from lifecycle.law.acts import Counter, Decline
from lifecycle.law.terms import Terms
from lifecycle.worker import serve

def work(desk):
    if sys.argv[1] == "sleeps":
        desk.progress("sleeping", "made.txt")
        while True:
            desk.look()
            time.sleep(0.02)
    if sys.argv[1] == "makes":
        desk.call("edit", path="made.txt", digest=None, patch="--- /dev/null\\n+++ b/made.txt\\n@@ -0,0 +1 @@\\n+made\\x1b[31m\\n")
    return desk.done("made.txt", met={"made": "made.txt"})

def take(task):
    if sys.argv[1] == "declines":
        return Decline(reason="no time")
    if sys.argv[1] == "counters":
        return Counter(terms=task.terms, concern="later")
    from lifecycle.law.acts import Accept
    return Accept()

serve(work, take)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a contract, a worker, and a tree in git."""
    (tmp_path / "contract.toml").write_text(CONTRACT)
    (tmp_path / "worker.py").write_text(WORKER)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "read.txt").write_text("read me\n")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=o", "-c", "user.email=o@e.org", "commit", "-q", "-m", "base"]):
        subprocess.run(["git", *words], cwd=tree, check=True)
    return tmp_path


Runs = Callable[..., subprocess.CompletedProcess[str]]


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": ":".join(sys.path), "LIFECYCLE_STORE": f"sqlite:///{place}/jobs.db"}


@pytest.fixture
def call(place: Path) -> Runs:
    """One call of the command line, without a terminal."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lifecycle.cli", *words]
        nobody, known = subprocess.DEVNULL, environment(place)
        return subprocess.run(command, cwd=place, capture_output=True, text=True, env=known, stdin=nobody, check=False)

    return run


def of_worker(way: str, *more: str) -> list[str]:
    return ["run", "contract.toml", "--in", "tree", "--id", "j", *more, "--", sys.executable, "../worker.py", way]


@pytest.mark.parametrize(
    ("way", "code", "ends"),
    [
        ("makes", 0, "j: result.accepted, accepted / passed"),
        ("claims", 4, "j: result.rejected, rejected / failed; `made` failed"),
        ("declines", 3, "j: declined, declined / none; no time"),
        ("counters", 3, "j: countered, open; it waits for an answer to the counter, owed by owner"),
        ("crashes", 4, "j: cancelled.stopped"),
    ],
)
def test_the_exit_code_and_the_last_lines_tell_what_came_of_it(way: str, code: int, ends: str, call: Runs, place: Path) -> None:
    if way == "crashes":
        (place / "worker.py").write_text("import sys\nsys.exit('no model')\n")
    done = call(*of_worker(way))
    assert done.returncode == code, done.stdout + done.stderr
    assert ends in done.stdout
    if way == "makes":
        lines = [line.split() for line in done.stdout.splitlines()]
        assert ["passed", "condition", "made"] in [line[:3] for line in lines]
        assert [line.split()[2] for line in done.stderr.splitlines()] == ["accept", "progress", "deliver", "confirm"]


def test_a_program_reads_the_report_as_json(call: Runs) -> None:
    told = json.loads(call(*of_worker("makes", "--json")).stdout)
    assert (told["job"], told["stage"], told["status"]) == ("j", "result.accepted", "passed")
    assert {one["id"]: one["status"] for one in told["conditions"]} == {"made": "passed", "make-write-scope": "passed"}


def test_an_approval_is_left_pending_read_decided_and_gone_on_with(call: Runs, place: Path) -> None:
    left = call(*of_worker("makes", "--consent", "edit"))
    assert left.returncode == 5 and "lifecycle resume j" in left.stdout
    assert not (place / "tree/made.txt").exists()
    listed = json.loads(call("approvals", "list", "--json").stdout)
    assert [(one["job"], one["approver"], one["calls"]) for one in listed] == [("j", "owner", 1)]
    assert call("approvals", "list", "--by", "wes").stdout.strip() == "nothing waits"
    shown = call("approvals", "show", "j").stdout
    assert "    +made\\u001b[31m\n" in shown and "\x1b" not in shown, "several lines, and nothing in them a command"
    assert call("approvals", "decide", "j", "--by", "eve", "--all", "approved").returncode == 1
    refused = call("approvals", "decide", "j", "--by", "owner", "c9=approved")
    assert refused.returncode == 2 and "every call needs a word, and no other: c1" in refused.stderr
    assert call("approvals", "decide", "j", "--by", "owner", "c1=approved").stdout == "c1: approved, approved\n"
    assert call("resume", "j").returncode == 0
    assert (place / "tree/made.txt").read_text() == "made\x1b[31m\n"
    again = call("approvals", "decide", "j", "--by", "owner", "--all", "denied")
    assert again.returncode == 1 and "nothing waits on job `j`" in again.stderr


def started(place: Path) -> subprocess.Popen[str]:
    """A run whose worker is at work."""
    command = [sys.executable, "-m", "lifecycle.cli", *of_worker("sleeps")]
    run = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(place))
    assert run.stderr is not None
    while "sleeping" not in run.stderr.readline():
        assert run.poll() is None
    return run


def test_a_ctrl_c_cancels_the_job_and_the_worker_says_how_it_leaves_the_work(place: Path) -> None:
    run = started(place)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "j: cancelled.stopped, cancelled / none; interrupted at the terminal" in out
    with lifecycle.open(f"sqlite:///{place}/jobs.db", sweep_every=None) as jobs:
        assert (str(jobs.job("j").work), jobs.log("j")[-1].act.act) == ("partial", "halt")


def test_a_run_that_was_killed_is_gone_on_with_and_its_worker_does_not_outlive_it_for_long(place: Path, call: Runs) -> None:
    run = started(place)
    workers = psutil.Process(run.pid).children(recursive=True)
    assert workers
    run.kill()
    run.communicate(timeout=60)
    (place / "worker.py").write_text(WORKER.replace('sys.argv[1] == "sleeps"', "False").replace('== "makes"', '== "sleeps"'))
    done = call("resume", "j")
    assert done.returncode == 0, done.stdout + done.stderr
    with lifecycle.open(f"sqlite:///{place}/jobs.db", sweep_every=None) as jobs:
        assert [entry.act.act for entry in jobs.log("j")] == ["request", "accept", "progress", "deliver", "confirm"]
        assert jobs.audit() == []
    assert psutil.wait_procs(workers, timeout=20)[1] == [], "the first worker is still there"


def test_what_cannot_be_resumed_says_why(call: Runs) -> None:
    assert call(*of_worker("makes")).returncode == 0
    for words in (["resume", "k"], ["approvals", "show", "k"]):
        done = call(*words)
        assert done.returncode == 1 and "no job `k` here; to mend it" in done.stderr


def test_a_wrong_contract_names_its_line_and_begins_nothing(call: Runs, place: Path) -> None:
    (place / "contract.toml").write_text(CONTRACT.replace('text = "it is there"', 'texte = "it is there"'))
    for words in (of_worker("makes"), ["contract", "show", "contract.toml"], ["contract", "lint", "contract.toml"]):
        done = call(*words)
        assert done.returncode == 1 and "contract.toml:7:" in done.stderr + done.stdout, done.stderr
        assert "texte" in done.stderr + done.stdout
    assert not (place / "jobs.db").exists()


def test_without_the_extra_it_says_what_to_install(place: Path) -> None:
    (place / "pathspec.py").write_text("raise ModuleNotFoundError('no', name='pathspec')\n")
    known = environment(place) | {"PYTHONPATH": ":".join([str(place), *sys.path])}
    command = [sys.executable, "-m", "lifecycle.cli", *of_worker("makes")]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, env=known, check=False)
    assert (done.returncode, done.stderr) == (1, "Error: no package `pathspec`; to mend it, pip install 'lifecycle[run]'\n")


# Contract files


def verb(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["contract", *words])
    return done.exit_code, done.output


def test_a_contract_is_begun_linted_and_shown(tmp_path: Path) -> None:
    file = str(tmp_path / "new.toml")
    assert verb("new", "mend", "--goal", "mend it", "--out", file) == (0, "")
    assert verb("new", "mend", "--goal", "mend it", "--out", file)[0] == 2, "and no file is written over"
    code, told = verb("lint", file)
    assert code == 1 and f"{file}:" in told and "to mend it" in told and told.endswith("to mend\n")
    assert verb("lint", str(HERE / "contract.toml")) == (0, "nothing to mend: every criterion decides by itself\n")
    code, told = verb("show", str(HERE / "contract.toml"), "--json")
    assert code == 0 and json.loads(told)["digest"].startswith("sha256:")
    assert "sensitive (command)" in verb("show", str(HERE / "contract.toml"))[1]
    assert json.loads(verb("schema")[1])["$id"] == "lifecycle/contract/1"
