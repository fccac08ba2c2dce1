"""A job in the hands of a run: whoever owes the move makes it, and whatever a worker does it ends."""

import hashlib
import subprocess
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import lifecycle
from lifecycle import checks
from lifecycle.law import acts
from lifecycle.law.contract import Contract, Criterion
from lifecycle.law.terms import CommandCheck, Condition, FileCheck, Need, PersonCheck, Terms
from lifecycle.run import Away, NotRun, Order, PreconditionFailed, Tending, Verdicts, begin, report, tended
from lifecycle.toolhost import Pending
from lifecycle.worker import Called, CallRefused, Desk, Given, Local, Task, WorkerError
from lifecycle.worker.frames import Answer, Exchange

MADE = Contract("make", "1", "make it", (Condition("made", "it is there", FileCheck("made.txt")),), write_scope=("made.txt",))
BARE = Contract("bare", "1", "say seven")


class Present(Away):
    """People who say yes, and remember what they were asked."""

    def __init__(self, approves: bool = True) -> None:
        self.approves, self.asked = approves, list[str]()

    def decide(self, pending: Pending) -> Verdicts | None:
        self.asked += [call.preview for call in pending.calls]
        return dict.fromkeys([call.id for call in pending.calls if call.gated], "approved" if self.approves else "denied")

    def resolve(self, need: Need) -> str | None:
        self.asked.append(need.what)
        return "under the mat"

    def word(self, condition: Condition) -> checks.Word | None:
        self.asked.append(condition.id)
        return checks.Word(True, "I looked")

    def answer(self, id: str, check: PersonCheck) -> checks.Word | None:
        self.asked.append(check.question)
        return checks.Word(False, "it does not")


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[lifecycle.Jobs]:
    with lifecycle.open(f"sqlite:///{tmp_path}/jobs.db") as held:
        yield held


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    at = tmp_path / "tree"
    at.mkdir()
    who = ("-c", "user.name=o", "-c", "user.email=o@example.org")
    (at / "read.txt").write_text("read me\n")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "base")):
        subprocess.run(["git", *words], cwd=at, check=True)
    return at


Tends = Callable[..., Tending]


@pytest.fixture
def tends(jobs: lifecycle.Jobs, tree: Path) -> Tends:
    """A run of a contract by a function in this process."""

    def make(contract: Contract, work: object, people: Away | None = None, **more: object) -> Tending:
        consent = tuple(more.pop("consent", ()))
        lease = {"lease": more.pop("lease")} if "lease" in more else {}
        job = begin(jobs, contract, ["w"], tree, base="HEAD", worker="wes", consent=consent, id="j", **lease)
        order = Order(("w",), str(tree), checks.Workspace.at(tree, "HEAD").base, None, consent)
        worker = work if isinstance(work, Local | Faulty) else Local(work)
        return Tending(jobs, job, order, worker, people or Away(), **more)

    return make


def path(jobs: lifecycle.Jobs) -> list[str]:
    return [entry.act.act for entry in jobs.log("j")]


def writes(desk: Desk) -> acts.Deliver:
    patch = "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+made\n"
    desk.call("edit", path="made.txt", digest=None, patch=patch)
    return desk.done("made.txt", met={"made": "made.txt"})


def test_a_contract_with_no_checks_is_three_writes_and_no_process(
    tends: Tends, jobs: lifecycle.Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    tending = tends(BARE, lambda desk: 7)
    monkeypatch.setattr(subprocess, "Popen", None)
    assert tending.through()
    assert path(jobs) == ["request", "accept", "deliver"]
    assert (report(jobs, "j").status, jobs.job("j").delivery.artifacts) == ("unresolved", ())


def test_an_edit_inside_the_scope_runs_and_is_judged_on_the_tree(tends: Tends, jobs: lifecycle.Jobs, tree: Path) -> None:
    told: list[str] = []
    assert tends(MADE, writes, tell=lambda entry: told.append(entry.act.act)).through()
    assert path(jobs) == ["request", "accept", "progress", "deliver", "confirm"] == ["request", *told]
    assert jobs.job("j").delivery.artifacts[-1].digest == checks.Workspace.at(tree).artifact
    assert {line.id: line.status for line in report(jobs, "j").lines} == {"made": "passed", "make-write-scope": "passed"}


def test_an_edit_outside_the_scope_is_not_made(tends: Tends, jobs: lifecycle.Jobs, tree: Path) -> None:
    def work(desk: Desk) -> object:
        with pytest.raises(CallRefused, match="scope"):
            patch = "--- a/read.txt\n+++ b/read.txt\n@@ -1 +1 @@\n-read me\n+changed\n"
            digest = "sha256:" + hashlib.sha256(b"read me\n").hexdigest()
            desk.call("edit", path="read.txt", digest=digest, patch=patch)
        return writes(desk)

    assert tends(MADE, work).through()
    assert report(jobs, "j").status == "passed" and (tree / "read.txt").read_text() == "read me\n"


@pytest.mark.parametrize(("approves", "status"), [(True, "passed"), (False, "none")])
def test_a_call_that_needs_consent_waits_for_its_approver(approves: bool, status: str, tends: Tends, jobs: lifecycle.Jobs) -> None:
    people = Present(approves)
    assert tends(MADE, writes, people, consent=["edit"]).through()
    assert "+made" in people.asked[0]
    assert [name for name in path(jobs) if name in ("propose", "decide")] == ["propose", "decide"]
    told = report(jobs, "j")
    assert (told.status, told.calls) == (status, 1)
    assert approves or "denied" in told.why


def test_what_waits_for_a_person_who_is_away_is_left_and_gone_on_with(tends: Tends, jobs: lifecycle.Jobs) -> None:
    tending = tends(MADE, writes, consent=["edit"])
    assert not tending.through()
    assert jobs.job("j").stage == "progressing.awaiting_approval" and "approval" in report(jobs, "j").why
    tending.people = Present()
    assert tending.through() and report(jobs, "j").status == "passed"


def test_a_need_is_asked_of_whom_it_names_and_its_answer_handed_back(tends: Tends, jobs: lifecycle.Jobs) -> None:
    people = Present()
    assert tends(BARE, lambda desk: desk.ask("a key", "requester"), people).through()
    assert people.asked == ["a key"]
    assert path(jobs) == ["request", "accept", "block", "resolve", "deliver"]
    assert jobs.log("j")[-1].act.value == "under the mat"


def test_people_judge_what_no_check_decides_and_a_no_is_a_no(tends: Tends, jobs: lifecycle.Jobs) -> None:
    reads = Condition("reads", "the page reads well")
    people = Present()
    assert tends(Contract("c", "1", "g", (reads,)), lambda desk: desk.done(), people).through()
    assert people.asked == ["reads"] and report(jobs, "j").status == "passed"


def test_a_partys_no_to_a_question_fails_the_condition(tends: Tends, jobs: lifecycle.Jobs) -> None:
    asked = Condition("looks", "it looks well", PersonCheck("owner", "does it look well?"))
    assert tends(Contract("c", "1", "g", (asked,)), lambda desk: desk.done(), Present(), reworks=0).through()
    assert (report(jobs, "j").reason, report(jobs, "j").status) == ("rejected", "failed")


def test_a_result_that_fails_goes_back_once_and_is_then_rejected(tends: Tends, jobs: lifecycle.Jobs) -> None:
    assert tends(MADE, lambda desk: desk.done(met={"made": "I say so"})).through()
    assert [name for name in path(jobs) if name in ("deliver", "rework", "reject")] == ["deliver", "rework", "deliver", "reject"]
    assert report(jobs, "j").status == "failed"


def test_a_report_that_cannot_stand_says_nothing_of_the_conditions(tends: Tends, jobs: lifecycle.Jobs) -> None:
    def work(desk: Desk) -> acts.Deliver:
        writes(desk)
        return acts.Deliver(report=acts.Report((acts.Finding("other", "met", "all of it"),)))

    assert tends(MADE, work).through()
    assert report(jobs, "j").status == "passed" and jobs.job("j").delivery.report is None
    assert [kept.refusal.reason for kept in jobs.refusals("j")] == ["report_incomplete"]


OWN = Condition("x", "x", CommandCheck(("true",)))
LATER = datetime.now(UTC) + timedelta(days=1)
TAKES: Mapping[str, tuple[acts.Act, bool, str]] = {
    "declines": (acts.Decline(reason="no time", mend="ask in May"), True, "declined"),
    "counters": (acts.Counter(terms=Terms(), concern="less", binding=True), False, "countered"),
    "defers on a need": (acts.Defer(until=LATER, need=Need("a key", "requester")), False, "deferred"),
    "takes less": (acts.Accept(conditions=()), True, "cancelled.stopped"),
    "brings a check": (acts.Accept(conditions=(*MADE.acceptance, OWN)), True, "cancelled.stopped"),
}


@pytest.mark.parametrize("name", TAKES)
def test_a_worker_that_does_not_just_accept_is_heard(name: str, tends: Tends, jobs: lifecycle.Jobs) -> None:
    act, ended, stage = TAKES[name]
    assert tends(MADE, Local(lambda desk: 7, lambda task: act)).through() is ended  # type: ignore[arg-type,return-value]
    assert jobs.job("j").stage == stage


class Faulty:
    """A worker in which something goes wrong."""

    name = "faulty"

    def __init__(self, answers: Callable[[str, int], Answer]) -> None:
        self.answers, self.asked = answers, list[str]()

    def ask(self, exchange: Exchange, *, task: Task | None = None, **more: object) -> Answer:
        self.asked.append(exchange)
        return self.answers(exchange, self.asked.count(exchange))

    def call(self, within: float = 0.0) -> Called | None:
        return None

    def give(self, given: Given) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("why", "asks"), [("gone", 1), ("malformed", 3)])
def test_a_worker_that_answers_no_more_has_failed_and_why_is_said(why: str, asks: int, tends: Tends, jobs: lifecycle.Jobs) -> None:
    inner = Local(lambda desk: desk.ask("never", "requester"))

    def answers(exchange: str, nth: int) -> Answer:
        if exchange == "status":
            raise WorkerError("faulty", "status", why, "it is lost")
        return inner.ask("take", task=Task(job="j", goal="g", requester="requester", worker="wes"))

    worker = Faulty(answers)
    assert tends(BARE, worker).through()
    assert worker.asked.count("status") == asks
    assert (jobs.job("j").stage, report(jobs, "j").reason) == ("error", "failed")
    assert "it is lost" in report(jobs, "j").why
    inner.close()


def test_a_worker_that_is_quiet_has_not_failed_and_the_clock_ends_it(tends: Tends, jobs: lifecycle.Jobs) -> None:
    """Nobody speaks for it; before it has accepted, the requester asks it no more."""
    inner = Local(lambda desk: desk.ask("never", "requester"))

    def answers(exchange: str, nth: int) -> Answer:
        if exchange == "status":
            raise WorkerError("faulty", "status", "quiet", "no answer")
        return inner.ask("take", task=Task(job="j", goal="g", requester="requester", worker="wes"))

    worker = Faulty(answers)
    assert tends(BARE, worker, lease=timedelta(seconds=1)).through()
    assert worker.asked.count("status") > 3
    assert (jobs.job("j").stage, report(jobs, "j").reason, path(jobs)) == ("error", "abandoned", ["request", "accept", "lapse"])
    inner.close()


def test_cancelling_stops_the_worker_and_keeps_how_it_left_the_work(tends: Tends, jobs: lifecycle.Jobs) -> None:
    tending = tends(BARE, lambda desk: desk.ask("never", "requester"))
    assert not tending.through()
    tending.cancel("no longer needed")
    assert path(jobs)[-2:] == ["cancel", "halt"]
    assert jobs.job("j").stage == "cancelled.stopped" and str(jobs.job("j").work) == "untouched"


def test_what_does_not_hold_before_the_work_begins_no_job(jobs: lifecycle.Jobs, tree: Path) -> None:
    held = Contract("c", "1", "g", MADE.acceptance, preconditions=(Criterion("there", "it is there", FileCheck("absent.txt")),))
    with pytest.raises(PreconditionFailed, match="`there` failed") as caught:
        begin(jobs, held, ["w"], tree)
    assert [record.id for record in caught.value.records] == ["there"]
    assert jobs.find() == []


def test_a_job_that_no_run_began_is_not_resumed(jobs: lifecycle.Jobs) -> None:
    jobs.request("build", requester="ann", worker="wes", id="x")
    with pytest.raises(NotRun, match="`x` was not begun by a run"), tended(jobs, "x"):
        pass


def test_case_54_a_late_answer_of_one_job_never_lands_on_the_next(jobs: lifecycle.Jobs, tree: Path) -> None:
    """The worker is still at work on the first when the second is run: that is declined, and the first stands as it was."""
    worker = Local(lambda desk: desk.ask("never", "requester"))
    order = Order(("w",), str(tree))
    first = begin(jobs, BARE, ["w"], tree, worker="wes", id="one")
    assert not Tending(jobs, first, order, worker, Away()).through()
    second = begin(jobs, BARE, ["w"], tree, worker="wes", id="two")
    assert Tending(jobs, second, order, worker, Away()).through()
    assert (jobs.job("one").stage, jobs.job("two").stage) == ("progressing.blocked", "declined")
    assert "`one`" in report(jobs, "two").why
    worker.close()


def test_a_move_that_somebody_else_made_first_ends_nothing(tends: Tends, jobs: lifecycle.Jobs) -> None:
    """The job is cancelled while the worker says how it is going: what it says is refused, and the stop is what is owed now."""

    class Cancelled(Local):
        def ask(self, exchange: Exchange, **more: object) -> Answer:
            answer = super().ask(exchange, **more)  # type: ignore[arg-type]
            if exchange == "status" and jobs.job("j").open:
                jobs.seat("j", jobs.job("j").parties.requester).cancel("no longer needed")
            return answer

    def work(desk: Desk) -> object:
        desk.progress("half done", "made.txt")
        return desk.ask("a key", "ann")

    assert tends(BARE, Cancelled(work)).through()
    assert path(jobs) == ["request", "accept", "cancel", "halt"]
