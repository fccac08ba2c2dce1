"""One job, from its request to its end: whoever owes the next move is let make it.

It asks the worker by the seven exchanges, makes what it says the acts of its seat, hosts its tools, and asks people. It holds no
rule of the lifecycle: which move is owed, and what is refused, the law says.
"""

import time
from collections.abc import Callable
from contextlib import suppress

from attrs import define, field
from pydantic import JsonValue

from lifecycle.jobs import Jobs
from lifecycle.law import acts
from lifecycle.law.door import shown
from lifecycle.law.errors import Refused
from lifecycle.law.job import Job, Wait
from lifecycle.law.limits import LEASE
from lifecycle.law.log import Entry
from lifecycle.law.states import FINAL, Stage, Work
from lifecycle.law.values import canonical, sha256
from lifecycle.run.judging import decides, judged
from lifecycle.run.order import Order, hosted, task
from lifecycle.run.people import People
from lifecycle.toolhost import Call, Host, ProposalError, Result
from lifecycle.worker import Called, Came, Given, Needs, Status, Stopped, Taken, Worker, WorkerError

PAUSES = (0.002, 1.0)
"""Seconds between two looks at a worker: at first, and at most; each pause is half as long again as the one before."""

REWORKS = 1
"""How often a worker is given its result back, unless it is said otherwise."""

SILENCES = 3
"""Answers in a row that a worker may owe, or get wrong, before it is given up: no answer at all only before it has accepted."""

Tell = Callable[[Entry], None]


@define
class Tending:
    """One job in the hands of this run. `through` goes on until it has ended or waits for a person who is not there."""

    jobs: Jobs
    id: str
    order: Order
    worker: Worker
    people: People
    tell: Tell = lambda entry: None
    reworks: int = REWORKS
    _told: int = -1
    """The seq of the last entry that was told."""
    _heard: int = -1
    """The seq of the last entry that the worker was told of."""
    _silences: int = 0
    _pause: float = PAUSES[0]
    _renewed: float = field(factory=time.monotonic)
    _open: list[Called] = field(factory=list)
    """Calls that the worker waits for."""
    _host: Host = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._told = self._heard = self.jobs.job(self.id).seq
        self._host = hosted(self.jobs, self.jobs.job(self.id), self.order)

    def through(self) -> bool:
        """Let every move be made; False if the job waits for a person who is not there."""
        while True:
            before = self.jobs.job(self.id)
            if before.stage in FINAL:
                self._tell()
                return True
            try:
                moved = self._move(before)
            except Refused:  # somebody else's move came first, and this one is owed no more
                if self.jobs.job(self.id).seq == before.seq:
                    raise
                moved = True
            self._tell()
            if not moved and self.jobs.job(self.id).seq == before.seq:
                return False

    def cancel(self, words: str) -> None:
        """The requester wants the job no more: the worker stops, and says how it leaves the work."""
        job = self.jobs.job(self.id)
        with suppress(Refused):  # a result that was delivered stays
            job.stage in FINAL or self.jobs.seat(self.id, job.parties.requester).cancel(words)
        if self.jobs.job(self.id).stage is Stage.STOPPING:
            self._halt()
        self._tell()

    # ---- whose move it is

    def _move(self, job: Job) -> bool:
        """Make the move that is owed; False if nobody is there to make it."""
        match job.stage:
            case Stage.REQUESTED:
                return self._take(job)
            case Stage.DEFERRED:
                return self._resolve(job) if self._needs(job) else self._ask_again(job)
            case Stage.READY | Stage.WORKING:
                return self._work(job)
            case Stage.BLOCKED:
                return self._resolve(job)
            case Stage.AWAITING_APPROVAL:
                return self._decide(job)
            case Stage.DELIVERED:
                return self._judge(job)
            case Stage.STOPPING:
                return self._halt()
        return False  # a counter or a review is the requester's to answer, by `lifecycle submit`

    def _take(self, job: Job) -> bool:
        try:
            answer = self.worker.ask("take", task=task(job, self._host), heard=self._news(job))
        except WorkerError as error:
            return self._no_answer(error)
        assert isinstance(answer, Taken)
        self._silences = 0
        try:
            self._say(answer.act)
        except Refused as refused:
            words = f"the worker's answer was refused: {shown(str(refused), 1_000)}"
            self.jobs.seat(self.id, job.parties.requester).cancel(words)
        return True

    def _ask_again(self, job: Job) -> bool:
        """A promise to answer was given: wait for it, until the clock breaks it."""
        self._rest()
        return self._take(job) if self.jobs.job(self.id).stage is Stage.DEFERRED else True

    def _work(self, job: Job) -> bool:
        """Look how it is going, and run what the worker asks for."""
        if (called := self._open.pop(0) if self._open else self.worker.call(self._pause)) is not None:
            self._pause = PAUSES[0]
            return self._run(job, called)
        try:
            return self._look(job)
        except WorkerError as error:
            return self._no_answer(error)

    def _look(self, job: Job) -> bool:
        status = self.worker.ask("status", job=self.id, heard=self._news(job))
        assert isinstance(status, Status)
        self._silences, self._pause = 0, min(self._pause * 1.5, PAUSES[1], _lease(job) / 4)
        self._renew(job)
        match status.status:
            case "never_accepted":
                return self._again(job)
            case "blocked":
                return self._block(job)
            case "done" | "failed":
                return self._ended(job)
            case "stopped":
                self._say(acts.Fail(reason="withdrawn", words=status.line or "it says that it has stopped", work=Work.UNKNOWN))
        if status.points_at and status.line.strip():
            self._progress(status)
        return True

    def _again(self, job: Job) -> bool:
        """A worker that was started anew knows of nothing: it is asked again, and must take what stands accepted."""
        answer = self.worker.ask("take", task=task(job, self._host))
        assert isinstance(answer, Taken)
        if not isinstance(answer.act, acts.Accept):
            words = f"started anew, it does not take the job again: `{answer.act.act}`"
            self._say(acts.Fail(reason="withdrawn", words=words, work=Work.UNKNOWN))
        return True

    # ---- the worker's moves

    def _run(self, job: Job, called: Called) -> bool:
        """Run one call of the worker, or put it before the approver."""
        if job.stage is Stage.READY:
            self._say(acts.Progress(line=f"calls `{called.tool}`", nothing_new=True))
        content: JsonValue = [called.call, called.tool, called.arguments]
        turn = "t" + sha256(canonical(content)).rpartition(":")[2][:40]  # the same call, asked again, is the same turn
        try:
            asked = self._host.turn(self.id, [Call(called.call, called.tool, called.arguments)], id=turn)
        except (ProposalError, Refused) as error:
            self.worker.give(Given(call=called.call, status="rejected", why=shown(str(error), 2_000)))
            return True
        result = asked.results.get(called.call)
        if result is None:
            self._open.insert(0, called)  # asked again once it is decided
        else:
            self.worker.give(_given(called, result))
        return True

    def _progress(self, status: Status) -> None:
        """Keep what is new of it; what it said before, or points at nothing, is no entry."""
        last = next((e.act for e in reversed(self.jobs.log(self.id)) if isinstance(e.act, acts.Progress)), None)
        line = shown(status.line.strip())
        if last is None or (last.line, last.points_at) != (line, status.points_at):
            self._say(acts.Progress(line=line, points_at=status.points_at, spent=status.spent))

    def _block(self, job: Job) -> bool:
        needs = self.worker.ask("needs", job=self.id)
        assert isinstance(needs, Needs)
        if needs.need is None:
            return True  # it goes on already
        try:
            self._say(acts.Block(need=needs.need))
        except Refused as refused:
            self._say(acts.Fail(words=f"its need was refused: {shown(str(refused), 1_000)}", work=Work.UNKNOWN))
        return True

    def _ended(self, job: Job) -> bool:
        """Take what came of it. The digest of the tree is the run's own: what is judged is what lies there."""
        came = self.worker.ask("result", job=self.id)
        assert isinstance(came, Came)
        if came.came == "failed":
            self._say(came.fail or acts.Fail(words="it says no more"))
        elif came.came == "done":
            made = came.deliver or acts.Deliver()
            artifacts = (*made.artifacts, *self._tree())
            try:
                self._say(made.model_copy(update={"artifacts": artifacts}))
            except Refused:  # its report cannot stand: then it says nothing of the conditions
                self._say(acts.Deliver(artifacts=artifacts, value=made.value))
        return True

    def _tree(self) -> tuple[acts.Artifact, ...]:
        return (acts.Artifact("tree", self.order.workspace.artifact),) if decides(self.jobs.job(self.id)) else ()

    def _halt(self) -> bool:
        try:
            stopped = self.worker.ask("stop", job=self.id)
        except WorkerError as error:
            if error.why != "gone":
                return self._rest()  # the clock ends it
            stopped = Stopped(work=Work.UNKNOWN, words=shown(str(error), 500))
        assert isinstance(stopped, Stopped)
        self._say(acts.Halt(work=stopped.work, words=stopped.words, artifacts=stopped.artifacts))
        return True

    def _no_answer(self, error: WorkerError) -> bool:
        """A worker that is gone has failed, and why is said. One that is quiet has not: its lease runs, and the clock ends it."""
        self._silences += 1
        promised = self.jobs.job(self.id).stage not in (Stage.REQUESTED, Stage.DEFERRED)
        if (error.why == "quiet" and promised) or (error.why != "gone" and self._silences < SILENCES):
            return self._rest()
        words = shown(str(error), 1_500)
        if not promised:
            self.jobs.seat(self.id, self.jobs.job(self.id).parties.requester).cancel(words)
        else:
            self._say(acts.Fail(words=words, work=Work.UNKNOWN))
        return True

    # ---- people's moves

    def _resolve(self, job: Job) -> bool:
        wait = job.standing
        assert isinstance(wait, Wait) and wait.need is not None
        answer = self.people.resolve(wait.need)
        if answer is None:
            return False
        self.jobs.seat(self.id, wait.need.whom).resolve(answer)
        return True

    def _decide(self, job: Job) -> bool:
        """Put each open set before its approver."""
        for pending in self._host.pending(self.id):
            verdicts = self.people.decide(pending)
            if verdicts is None:
                return False
            self._host.decide(self.id, pending.set, pending.bundle(verdicts), by=job.parties.approver)
        return True

    def _judge(self, job: Job) -> bool:
        act = judged(job, self.order.workspace, self.people, job.tally.reworks < self.reworks)
        if act is None:
            return False
        self.jobs.submit(self.id, act, by=job.parties.verifier)
        return True

    # ---- parts

    def _say(self, act: acts.Act) -> None:
        """Make an act the worker's: whatever it says of whom it is, and of ids and times, is its pipe's to say."""
        seat = self.jobs.seat(self.id, self.jobs.job(self.id).parties.worker)
        own: dict[str, None] = {name: None for name in ("id", "at", "answers") if name in type(act).model_fields}
        seat.submit(act.model_copy(update=own))

    def _news(self, job: Job) -> list[dict[str, JsonValue]]:
        """What the others said since the worker was asked last."""
        news = [e for e in self.jobs.log(self.id, after=self._heard) if e.by != job.parties.worker and e.seq > self._heard]
        self._heard = max([self._heard, *(entry.seq for entry in news)])
        return [entry.act.model_dump(mode="json", exclude_none=True) for entry in news]

    def _needs(self, job: Job) -> bool:
        return isinstance(job.standing, Wait) and job.standing.need is not None

    def _renew(self, job: Job) -> None:
        """The agent itself has just answered: that is what its lease is renewed on."""
        if time.monotonic() - self._renewed > _lease(job) / 4:
            self.jobs.renew(self.id, by=job.parties.worker)
            self._renewed = time.monotonic()

    def _rest(self) -> bool:
        time.sleep(self._pause)
        self._pause = min(self._pause * 1.5, PAUSES[1])
        return True

    def _tell(self) -> None:
        for entry in self.jobs.log(self.id, after=self._told):
            self.tell(entry)
            self._told = entry.seq


def _lease(job: Job) -> float:
    """Seconds for which a job's worker may be silent."""
    return (job.brief.intervals.lease or LEASE).total_seconds()


def _given(called: Called, result: Result) -> Given:
    why = " ".join(word for word in (result.reason, result.detail) if word)
    return Given(call=called.call, status=result.status, output=result.output, why=shown(why, 2_000))
