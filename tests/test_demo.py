"""The demo, run for real: worker programs, a store, a clock."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from attrs import asdict

import lifecycle
from lifecycle import Stage, State
from lifecycle.demo import Outcome, Row, board, books, program, run
from lifecycle.demo.orchestrator import ERRANDS, Errand, see_through
from lifecycle.demo.program import Program

R, C, D, A, P = State.REQUESTED, State.COUNTERED, State.DEFERRED, State.ACCEPTED, State.PROGRESSING
OUTCOMES = {
    "honest": ((R, A, P, State.RESULT), "result.accepted", "accepted", "passed", ()),
    "sloppy": ((R, A, State.RESULT), "result.rejected", "rejected", "failed", ("no_evidence",)),
    "decliner": ((R, State.DECLINED), "declined", "declined", "none", ()),
    "counterer": ((R, C, A, P, State.RESULT), "result.accepted", "accepted", "passed", ()),
    "haggler": ((R, C, R, A, P, State.RESULT), "result.accepted", "accepted", "passed", ()),
    "punctual": ((R, D, A, P, State.RESULT), "result.accepted", "accepted", "passed", ()),
    "forgetful": ((R, D, State.CANCELLED), "cancelled.stopped", "expired", "none", ("closed",)),
    "asker": ((R, A, P, State.RESULT), "result.accepted", "accepted", "passed", ()),
    "steady": ((R, A, P, State.CANCELLED), "cancelled.stopped", "cancelled", "none", ("closed",)),
    "doomed": ((R, A, P, State.ERROR), "error", "abandoned", "none", ()),
}
"""Per worker: the states in order, the stage, why it stopped, what came of it, why acts were refused."""

ACTS = {
    "counterer": ["request", "counter", "adopt", "progress", "deliver", "confirm"],
    "haggler": ["request", "counter", "revise", "accept", "progress", "deliver", "confirm"],
    "asker": ["request", "accept", "block", "resolve", "progress", "deliver", "confirm"],
    "steady": ["request", "accept", "progress", "cancel", "halt"],
    "doomed": ["request", "accept", "progress", "lapse"],
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, list[str]]:
    told: list[str] = []
    return run(tmp_path_factory.mktemp("a demo") / "jobs.db", told.append), told


@pytest.fixture(scope="module")
def jobs(ran: tuple[Outcome, list[str]]) -> Iterator[lifecycle.Jobs]:
    with lifecycle.open(f"sqlite:///{ran[0].store}", sweep_every=None) as jobs:
        yield jobs


def row_of(outcome: Outcome, worker: str) -> Row:
    (row,) = (row for row in outcome.board if row.worker == worker)
    return row


@pytest.mark.parametrize("worker", OUTCOMES)
def test_each_job_ends_as_its_worker_made_it(worker: str, ran: tuple[Outcome, list[str]]) -> None:
    row = row_of(ran[0], worker)
    assert (row.states, row.stage, row.reason, row.status, row.refused) == OUTCOMES[worker]


@pytest.mark.parametrize("worker", ACTS)
def test_the_log_tells_every_act(worker: str, ran: tuple[Outcome, list[str]], jobs: lifecycle.Jobs) -> None:
    assert [entry.act.act for entry in jobs.log(row_of(ran[0], worker).job)] == ACTS[worker]


def test_every_one_of_the_nine_states_is_in_some_history(ran: tuple[Outcome, list[str]]) -> None:
    assert {state for row in ran[0].board for state in row.states} == set(State)
    assert [row.worker for row in ran[0].board] == [errand.worker for errand in ERRANDS] == list(OUTCOMES)


def test_it_takes_less_than_twenty_seconds(ran: tuple[Outcome, list[str]]) -> None:
    assert ran[0].seconds < 20


def test_every_entry_is_told_as_it_is_written(ran: tuple[Outcome, list[str]], jobs: lifecycle.Jobs) -> None:
    told = [line.split()[2:5] for line in ran[1] if " is killed " not in line]
    assert told == [[notice.entry.job, notice.entry.by, notice.entry.act.act] for notice in jobs.watch()]
    assert len(told) == len(ran[1]) - 1


def test_the_store_is_sound_and_the_board_is_made_from_it_alone(ran: tuple[Outcome, list[str]], jobs: lifecycle.Jobs) -> None:
    assert jobs.audit() == []
    assert set(board(jobs)) == set(ran[0].board)
    assert json.loads(json.dumps([asdict(row) for row in ran[0].board]))[0]["states"][0] == "requested"


def test_a_verdict_stands_on_the_file_that_was_opened(ran: tuple[Outcome, list[str]], jobs: lifecycle.Jobs) -> None:
    for worker, status in (("honest", "passed"), ("sloppy", "failed"), ("counterer", "passed"), ("asker", "passed")):
        job = jobs.job(row_of(ran[0], worker).job)
        checks = {record.id: record for record in jobs.log(job.id)[-1].act.checks}
        assert (checks["report"].status, checks["totals"].status) == ("passed", status)
        assert checks["totals"].artifact == job.delivery.artifacts[0].digest
        assert [finding.status for finding in job.delivery.report.conditions] == ["met", "met"]


def test_silences_are_told_apart(ran: tuple[Outcome, list[str]], jobs: lifecycle.Jobs) -> None:
    ends = [jobs.job(row_of(ran[0], worker).job).termination for worker in ("forgetful", "doomed")]
    assert [(end.cause, end.owed_by) for end in ends] == [("until", "forgetful"), ("lease", "doomed")]


def test_a_cancelled_worker_says_what_it_leaves_behind(ran: tuple[Outcome, list[str]], jobs: lifecycle.Jobs) -> None:
    job = jobs.job(row_of(ran[0], "steady").job)
    halt = jobs.log(job.id)[-1].act
    desk = ran[0].desks / "steady"
    assert (job.work, halt.artifacts[0].digest) == ("partial", f"sha256:{sha256((desk / 'report.csv').read_bytes()).hexdigest()}")


def test_no_worker_had_anything_to_complain_of(ran: tuple[Outcome, list[str]]) -> None:
    assert [(ran[0].desks / worker / "stderr.txt").read_text() for worker in OUTCOMES] == [""] * len(OUTCOMES)


def test_no_process_is_left(ran: tuple[Outcome, list[str]]) -> None:
    assert workers_below(ran[0].desks) == []


def test_a_second_run_on_the_same_store_works(ran: tuple[Outcome, list[str]], jobs: lifecycle.Jobs) -> None:
    again = run(ran[0].store, lambda line: None)
    assert {row.worker: row.stage for row in again.board} == {row.worker: row.stage for row in ran[0].board}
    assert not {row.job for row in again.board} & {row.job for row in ran[0].board}
    assert jobs.audit() == []


def test_a_store_that_cannot_be_opened_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(lifecycle.StoreError):
        run(tmp_path / "nowhere" / "jobs.db", lambda line: None)
    assert list(tmp_path.iterdir()) == []


# ---- however it ends


def test_a_failure_in_the_middle_leaves_no_process(tmp_path: Path) -> None:
    def echo(line: str) -> None:
        if "progress" in line:
            raise OSError("the terminal is gone")

    with pytest.raises(OSError, match="the terminal is gone"):
        run(tmp_path / "jobs.db", echo)
    assert workers_below(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="signals as a terminal sends them")
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -signal.SIGTERM), (9, -9)])
def test_a_signal_in_the_middle_leaves_no_process(sent: int, status: int, tmp_path: Path) -> None:
    source = "import sys; from pathlib import Path; from lifecycle.demo import run; run(Path(sys.argv[1]))"
    argv = [sys.executable, "-u", "-c", source, str(tmp_path / "jobs.db")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        assert any(" progress " in line for line in iter(demo.stdout.readline, "")), demo.stderr.read()
        demo.send_signal(sent)
        _, complaint = demo.communicate(timeout=15)
    assert demo.returncode == status, complaint
    assert within(5, lambda: workers_below(tmp_path) == [])
    with lifecycle.open(f"sqlite:///{tmp_path}/jobs.db") as jobs:
        assert jobs.audit() == []


def test_a_worker_that_talks_nonsense_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / "babbler.py"
    worker.write_text('import sys\nfor line in sys.stdin: print(\'{"act": "accept", "by": "planner"}\', flush=True)\n')
    monkeypatch.setattr(program, "SOURCE", worker)
    with lifecycle.open("memory:") as jobs, Program("babbler", tmp_path) as babbler:
        errand = Errand("babbler", "total 2024 by region", books.conditions("region"))
        see_through(errand, job := errand.asked(jobs, "j1"), babbler, tmp_path, print)
        assert (job.stage, jobs.turned_away["malformed"]) == (Stage.REQUESTED, 3)


def test_a_worker_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / "sleeper.py"
    worker.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(program, "SOURCE", worker)
    monkeypatch.setattr(program, "PATIENCE", 0.2)
    with Program("sleeper", tmp_path) as sleeper, pytest.raises(program.Gone):
        sleeper.hear()


# ---- the check


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        (b"", "says nothing"),
        (b"tea,1.00\n", "says nothing"),
        (b"tea,one\n", "no lines of a name and a total"),
        (b"tea\n", "no lines of a name and a total"),
        (b"\xff\xfe", "no lines of a name and a total"),
        (b"tea,NaN\n", "says"),
    ],
)
def test_a_report_that_is_wrong_is_told_so(report: bytes, fault: str) -> None:
    assert fault in books.totals_agree(report, {"by": "product", "year": 2024, "currency": "USD"})


@pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
def test_only_a_plain_file_of_sensible_size_is_read(tmp_path: Path) -> None:
    asked = books.conditions("region")
    (tmp_path / "report.csv").symlink_to("/etc/hostname")
    assert [record.status for record in books.examine(asked, tmp_path)] == ["failed", "failed"]
    (tmp_path / "report.csv").unlink()
    (tmp_path / "report.csv").write_bytes(b"x" * (books.REPORT_BYTES + 1))
    assert [record.status for record in books.examine(asked, tmp_path)] == ["failed", "failed"]


def test_a_check_that_is_not_the_planners_is_never_run(tmp_path: Path) -> None:
    (_, totals) = books.conditions("region")
    other = lifecycle.terms.Condition("totals", totals.text, lifecycle.terms.CallableCheck("os:abort"))
    assert [record.status for record in books.examine([other], tmp_path)] == ["unavailable"]


# ---- parts


def workers_below(directory: Path) -> list[str]:
    """The worker programs that run on a desk below this directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path(process, "cwd").readlink().is_relative_to(directory):
                found.append(Path(process, "cmdline").read_text().replace("\0", " "))
        except OSError:  # it ended meanwhile, or is not ours to look at
            continue
    return [argv for argv in found if "worker.py" in argv]


def within(seconds: float, true: Callable[[], bool]) -> bool:
    """Whether it comes true in time."""
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.05)
    return true()
