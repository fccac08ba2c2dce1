"""The wire: what is good is answered, what is bad is typed and noted, and nothing a worker does hangs whoever asks."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from lifecycle.law import acts
from lifecycle.law.states import Work
from lifecycle.law.terms import Condition, Terms
from lifecycle.worker import (
    EXCHANGES,
    Called,
    CallRefused,
    Came,
    Can,
    Desk,
    Free,
    Given,
    Local,
    Look,
    Needs,
    Pipe,
    Status,
    Stopped,
    Taken,
    Task,
    WorkerError,
)
from lifecycle.worker.port import Calls

PROGRAMS = Path(__file__).with_name("programs.py")
TASK = Task(job="j1", goal="build it", requester="ann", worker="wes", terms=Terms((Condition("c1", "it builds"),)))


def pipe(name: str, deadline: float = 20.0) -> Pipe:
    return Pipe([sys.executable, str(PROGRAMS), name], name=name, deadline=deadline)


def why(worker: Pipe) -> str:
    with pytest.raises(WorkerError) as caught:
        worker.ask("free")
    assert "\n" not in str(caught.value) and "to mend it" in str(caught.value)
    return caught.value.why


def test_a_program_without_this_library_is_a_worker() -> None:
    with pipe("honest") as worker:
        assert worker.ask("free") == Free(free=True)
        assert list(worker.strays) == []
    assert worker.gone


@pytest.mark.parametrize(
    ("name", "reason"), [("wrong_types", "malformed"), ("refuses", "refused"), ("gone", "gone"), ("half_a_line", "gone")]
)
def test_an_exchange_that_comes_to_nothing_says_which_way(name: str, reason: str) -> None:
    with pipe(name) as worker:
        assert why(worker) == reason


def test_a_worker_that_is_silent_is_waited_for_so_long_and_no_longer() -> None:
    with pipe("quiet") as worker:
        with pytest.raises(WorkerError, match=r"no answer within 0.2 s") as caught:
            worker.ask("free", within=0.2)
        assert caught.value.why == "quiet"


def test_what_a_worker_said_last_stands_in_the_error() -> None:
    with pipe("gone") as worker, pytest.raises(WorkerError, match="out of memory"):
        worker.ask("free")


@pytest.mark.parametrize(
    ("name", "stray"),
    [
        ("no_json", "no JSON"),
        ("other_question", "an answer to nothing that is asked"),
        ("other_version", "version `worker/9` is not spoken here"),
        ("huge", "a line of more than 1048576 bytes"),
    ],
)
def test_what_answers_nothing_is_noted_and_the_answer_is_still_heard(name: str, stray: str) -> None:
    with pipe(name) as worker:
        assert worker.ask("free") == Free(free=True)
        assert len(worker.strays) == 1 and stray in worker.strays[0]


def test_an_answer_after_the_deadline_answers_no_later_question() -> None:
    with pipe("late") as worker:
        with pytest.raises(WorkerError, match="no answer"):
            worker.ask("free", within=0.2)
        assert worker.ask("needs") == Needs(need=None)
        assert ["an answer to nothing" in stray for stray in worker.strays] == [True]


def test_a_worker_that_does_not_read_hangs_nobody() -> None:
    big = Task(job="j1", goal="build it", requester="ann", worker="wes", terms=Terms(constraints=("x" * 60_000,) * 10))
    with pipe("deaf", deadline=1.0) as worker:
        assert worker.ask("free") == Free(free=True)
        begun = time.monotonic()
        with pytest.raises(WorkerError) as caught:
            worker.ask("take", task=big)
        assert caught.value.why in ("gone", "quiet") and time.monotonic() - begun < 15


def test_a_program_that_is_not_there_is_said_to_be_not_there() -> None:
    with pytest.raises(WorkerError, match="cannot be started") as caught:
        Pipe(["no-such-program"])
    assert caught.value.why == "not_started"


def test_no_process_of_a_workers_group_outlives_it(tmp_path: Path) -> None:
    child = "import subprocess, time; open('pid', 'w').write(str(subprocess.Popen(['sleep', '60']).pid)); time.sleep(60)"
    with Pipe([sys.executable, "-c", child], cwd=tmp_path):
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.02)
    pid = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 10  # it is dead once it is next scheduled
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.01)


# The answering side


def raw(*lines: str) -> list[dict[str, object]]:
    """What a served worker answers to these lines."""
    code = "from lifecycle.worker import serve; serve(lambda desk: print('to stderr') or 7)"
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    told = "".join(f"{line}\n" for line in lines)
    run = subprocess.run([sys.executable, "-c", code], input=told, capture_output=True, text=True, env=env, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ('{"worker": "worker/0.1", "ask": "free", "nonce": "n"}', "version `worker/0.1` is not spoken here"),
        ('{"worker": "worker/0.2", "ask": "price", "nonce": "n"}', f"there are {', '.join(EXCHANGES)}, and no other"),
        ('{"worker": "worker/0.2", "ask": "free"}', "nonce"),
        ('{"worker": "worker/0.2", "ask": "take", "nonce": "n"}', "without a task"),
        ('{"worker": "worker/0.2", "ask": "free", "nonce": "n", "more": 1}', "more"),
    ],
)
def test_a_served_worker_refuses_what_is_no_ask_and_says_why(line: str, says: str) -> None:
    refused, answered = raw(line, '{"worker": "worker/0.2", "ask": "free", "nonce": "m"}')
    assert says in str(refused["refused"]) and "answer" not in refused
    assert (answered["nonce"], answered["answer"]) == ("m", {"free": True})


def soon(worker: Local, status: str) -> Status:
    """The worker's status once it is this one."""
    while (told := worker.ask("status", job="j1")).status != status:  # type: ignore[union-attr]
        time.sleep(0.005)
    assert isinstance(told, Status)
    return told


def take(work: Callable[[Desk], object]) -> Local:
    worker = Local(work)
    assert worker.ask("take", task=TASK) == Taken(act=acts.Accept())
    return worker


def test_a_function_is_a_worker_of_all_seven_exchanges() -> None:
    worker = Local(lambda desk: desk.done("a.py", met={"c1": "a.py:1"}))
    assert worker.ask("free") == Free(free=True)
    assert worker.ask("estimate", task=TASK) == Can(commitment=False)
    assert worker.ask("status", job="j1") == Status(status="never_accepted")
    assert worker.ask("result", job="j1") == Came(came="never_accepted")
    assert worker.ask("take", task=TASK) == worker.ask("take", task=TASK), "asked again, it takes it once"
    soon(worker, "done")
    came = worker.ask("result", job="j1")
    assert isinstance(came, Came) and came.deliver is not None
    assert came.deliver.report == acts.Report((acts.Finding("c1", "met", "a.py:1"),))
    assert worker.ask("needs", job="j1") == Needs(need=None)
    assert worker.ask("stop", job="j1") == worker.ask("stop", job="j1") == Stopped(work=Work.COMPLETE)


def test_what_it_needs_is_told_and_the_answer_goes_to_the_work() -> None:
    worker = take(lambda desk: desk.ask("a key", "vic"))
    soon(worker, "blocked")
    needs = worker.ask("needs", job="j1")
    assert isinstance(needs, Needs) and needs.need is not None and (needs.need.what, needs.need.whom) == ("a key", "vic")
    worker.ask("status", job="j1", heard=[{"act": "resolve", "answer": "under the mat"}])
    soon(worker, "done")
    came = worker.ask("result", job="j1")
    assert isinstance(came, Came) and came.deliver is not None and came.deliver.value == "under the mat"


def test_its_calls_are_answered_and_a_refused_one_says_why() -> None:
    def work(desk: Desk) -> object:
        try:
            desk.call("drop", table="orders")
        except CallRefused as refused:
            return [desk.call("read", path="a"), str(refused)]
        return None

    worker = take(work)
    first = worker.call(10)
    assert first is not None and (first.tool, first.arguments) == ("drop", {"table": "orders"})
    worker.give(Given(call=first.call, status="rejected", why="denied"))
    second = worker.call(10)
    assert second is not None and second.call != first.call
    worker.give(Given(call=second.call, status="executed", output="text"))
    soon(worker, "done")
    came = worker.ask("result", job="j1")
    assert isinstance(came, Came) and came.deliver is not None and came.deliver.value == ["text", "call `c1` rejected: denied"]


def test_stop_stops_work_that_waits_and_a_second_job_is_declined_meanwhile() -> None:
    worker = take(lambda desk: desk.ask("a key", "vic"))
    soon(worker, "blocked")
    assert worker.ask("free") == Free(free=False)
    other = worker.ask("take", task=TASK.model_copy(update={"job": "j2"}))
    assert isinstance(other, Taken) and isinstance(other.act, acts.Decline) and "j1" in other.act.reason
    assert isinstance(worker.ask("stop", job="j1"), Stopped)
    assert soon(worker, "stopped").status == "stopped"


def test_work_that_raises_has_failed_and_says_what_with() -> None:
    worker = take(lambda desk: 1 / 0)
    soon(worker, "failed")
    came = worker.ask("result", job="j1")
    assert isinstance(came, Came) and came.fail is not None and "ZeroDivisionError" in came.fail.words


def test_a_worker_that_says_look_is_looked_at_at_once() -> None:
    """It is done after a second: whoever polls every minute learns it then, and a call that it makes is not lost among looks."""
    program = (
        "import time\nfrom lifecycle.worker import serve\nserve(lambda desk: (time.sleep(1), desk.progress('half', 'a'), 7)[-1])"
    )
    with Pipe([sys.executable, "-c", program], environment={"PYTHONPATH": ":".join(sys.path)}) as worker:
        worker.ask("take", task=Task(job="j", goal="g", requester="ann", worker="wes"))
        begun = time.monotonic()
        while worker.ask("result", job="j").came == "not_yet":  # type: ignore[union-attr]
            assert worker.call(60.0) is None
            assert time.monotonic() - begun < 30
        assert list(worker.strays) == []


def test_looks_without_end_wait_in_one_place() -> None:
    calls = Calls(2)
    for _ in range(1_000):
        assert calls.put(Look(look="j"))
    called = Called(call="c", job="j", tool="t", arguments={})
    assert calls.put(called) and not calls.put(called)
    assert [calls.get(0), calls.get(0), calls.get(0)] == [Look(look="j"), called, None]
