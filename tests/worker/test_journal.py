"""A worker that survives: what it accepted before a crash is reported failed afterwards, across real processes."""

import os
import sys
import time
from pathlib import Path

import pytest

from lifecycle.law import acts
from lifecycle.worker import Came, Journal, Pipe, Status, Task, WorkerError
from lifecycle.worker.journal import CRASHED

SERVES = """\
import sys, time
from lifecycle.worker import serve

def work(desk):
    while desk.task.goal == "sleep":
        desk.look()
        time.sleep(0.01)
    return 7

serve(work, journal=sys.argv[1])
"""


def started(tmp_path: Path) -> Pipe:
    here = {"PYTHONPATH": ":".join(sys.path)}
    return Pipe([sys.executable, "-c", SERVES, str(tmp_path / "journal.db")], deadline=20.0, environment=here)


def task(job: str, goal: str) -> Task:
    return Task(job=job, goal=goal, requester="ann", worker="wes")


def ended(worker: Pipe, job: str) -> Status:
    while (told := worker.ask("status", job=job)).status == "working":  # type: ignore[union-attr]
        time.sleep(0.01)
    assert isinstance(told, Status)
    return told


def test_a_job_accepted_before_a_crash_is_reported_failed_after_it(tmp_path: Path) -> None:
    """Field case 15: killed in the middle and started again, it knows of the job, and says that it failed."""
    with started(tmp_path) as worker:
        worker.ask("take", task=task("done", "say seven"))
        assert ended(worker, "done").status == "done"
        worker.ask("take", task=task("lost", "sleep"))
        os.kill(worker.pid, 9)
        with pytest.raises(WorkerError):
            worker.ask("status", job="lost")
    with started(tmp_path) as worker:
        assert worker.ask("status", job="lost") == Status(status="failed", line=CRASHED)
        came = worker.ask("result", job="lost")
        assert isinstance(came, Came) and came.fail is not None and (came.fail.words, str(came.fail.work)) == (CRASHED, "unknown")
        assert worker.ask("status", job="done").status == "done"  # type: ignore[union-attr]
        assert worker.ask("result", job="done").deliver == acts.Deliver(value=7)  # type: ignore[union-attr]
        assert worker.ask("status", job="other") == Status(status="never_accepted")


def test_it_is_written_down_before_accept_is_answered(tmp_path: Path) -> None:
    with started(tmp_path) as worker:
        worker.ask("take", task=task("j", "sleep"))
        assert Journal(tmp_path / "journal.db").recall()["j"].came == "failed", "whoever reads it now finds it open, and so failed"
