"""The bench on which a worker is tried: its process, the jobs that it is offered, and a ledger of effects that it does not own.

The worker is started with `LIFECYCLE_LEDGER` in its environment, the path of a file to which it appends one line, the job's id,
for every effect it has outside itself. A bench starts, suspends, kills and restarts it; every wait here has an end. A worker that
is only a URL has no process here: then nothing is suspended or killed, and without a ledger nothing is measured.
"""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

import psutil
from attrs import Factory, define, field, frozen
from pydantic_core import to_json

from lifecycle.law.terms import Condition, Terms
from lifecycle.worker import VERSION, Answer, Came, Exchange, Pipe, Reply, Status, Taken, Task, Worker, WorkerError
from lifecycle.worker.http import Http

LEDGER = "LIFECYCLE_LEDGER"
"""The environment variable that tells the worker where its effects are to be written down."""

TOKEN = "LIFECYCLE_TOKEN"
"""The environment variable that tells a worker behind HTTP which bearer token to take."""

ANSWER = 3.0
"""Seconds within which every exchange must be answered."""
QUIET = 1.0
"""Seconds without an answer after which a suspended worker counts as quiet."""
ENDS = 15.0
"""Seconds within which a job that is neither slow nor waiting must have ended."""
WATCH = 0.6
"""Seconds for which the ledger is watched, to see whether anything moves."""


@frozen
class Goals:
    """What a worker is asked to do, in words that it understands. An author gives the words of the worker's own trade.

    An empty one is a goal that this worker has not: what hangs on it is not checked.
    """

    plain: str = "conformance: plain"
    """In scope, and quickly done, with one effect at least."""
    slow: str = "conformance: slow"
    """In scope; takes a minute or so, with an effect every tenth of a second or oftener."""
    poison: str = "conformance: poison"
    """Taken, and cannot be done."""
    missing: str = "conformance: missing"
    """Taken, and cannot go on without something that only the requester has."""
    outside: str = "conformance: outside"
    """Not what this worker does."""
    vague: str = "conformance: vague"
    """In scope, with the fact withheld that decides whether and at what cost."""


class Unfit(Exception):
    """A must that is not kept: what was seen."""


class NotChecked(Exception):
    """A must that cannot be checked here: why."""


class Speaks(Worker, Protocol):
    """A worker to which anything at all can be said."""

    def say(self, line: bytes, nonce: str, exchange: str, within: float | None = None) -> Reply:
        """One line, whatever it says, and the reply that repeats its nonce."""


@define
class Bench:
    """One worker, and what is needed to try it: a program, or a URL, or a program that answers at a URL.

    `ledger` is the file of effects; a worker that is not started here knows by itself where that is.
    """

    argv: Sequence[str] = ()
    url: str = ""
    token: str = ""
    goals: Goals = field(factory=Goals)
    environment: Mapping[str, str] = field(factory=dict)
    home: Path = field(factory=lambda: Path(tempfile.mkdtemp(prefix="conform-")))
    ledger: Path = field(default=Factory(lambda self: self.home / "ledger", takes_self=True))
    _process: Pipe | None = None
    _worker: Speaks | None = None
    _jobs: list[str] = field(factory=list)

    @property
    def worker(self) -> Speaks:
        """The live worker; started if it is not. WorkerError (`not_started`) if it cannot be."""
        if self._worker is None or (self._process is not None and self._process.gone):
            self._end()
            if self.argv:
                told = {**self.environment, LEDGER: str(self.ledger)}
                self._process = Pipe(self.argv, cwd=self.home, deadline=ANSWER, environment=told)
            self._worker = Http(self.url, self.token, deadline=ANSWER) if self.url else self._process
            assert self._worker is not None
            if self.url:
                waited(self._answers, ENDS)
        return self._worker

    def close(self) -> None:
        """End the worker, or stop what it has taken if it is not ours to end, and take away the place where it was tried."""
        with suppress(Unfit, WorkerError):
            for job in () if self.argv else self._jobs:
                self.ask("stop", job)
        self._end()
        shutil.rmtree(self.home, ignore_errors=True)

    # ---- its process

    def restart(self) -> None:
        """Kill the worker's whole group, and start it again in the same place; NotChecked if it has no process here."""
        self._top()
        assert self._process is not None
        self._process.kill()
        self._end()
        self.ask("free")

    def agent(self) -> list[psutil.Process]:
        """The processes below the one that was started, or that one if there are none; NotChecked without a process."""
        top = self._top()
        return top.children(recursive=True) or [top]

    def everything(self) -> list[psutil.Process]:
        """The process that was started, and all below it."""
        top = self._top()
        return [top, *top.children(recursive=True)]

    @contextmanager
    def suspended(self, processes: Sequence[psutil.Process]) -> Iterator[None]:
        """Suspend these, and let them go on in the end."""
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in processes:
                with suppress(psutil.Error):
                    process.resume()

    def answers_without(self, processes: Sequence[psutil.Process]) -> bool:
        """Whether anything says that it is free while these are suspended."""
        with self.suspended(processes):
            try:
                self.worker.ask("free", within=QUIET)
            except WorkerError as error:
                if error.why != "quiet":
                    raise _unfit(error) from None
                return False
        return True

    def _top(self) -> psutil.Process:
        if not self.argv:
            raise NotChecked("it has no process here that could be suspended or killed")
        if self._process is None or self._process.gone:
            self.ask("free")
        assert self._process is not None
        return psutil.Process(self._process.pid)

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.close()
        if self._process is not None and self._process is not self._worker:
            self._process.kill()
            self._process.close()
        self._worker = self._process = None

    def _answers(self) -> bool:
        assert self._worker is not None
        try:
            self._worker.ask("free")
        except WorkerError as error:
            return error.why not in ("gone", "quiet")
        return True

    # ---- what is asked

    def ask(self, exchange: Exchange, job: str | None = None, task: Task | None = None) -> Answer:
        """One exchange; what comes to nothing is unfit."""
        try:
            return self.worker.ask(exchange, job=job, task=task)
        except WorkerError as error:
            raise _unfit(error) from None

    def raw(self, **fields: object) -> Reply:
        """Any frame at all, and the reply as it is."""
        nonce = secrets.token_hex(8)
        try:
            line = to_json({"worker": VERSION, "nonce": nonce, **fields}) + b"\n"
            return self.worker.say(line, nonce, str(fields.get("ask")), ANSWER)
        except WorkerError as error:
            raise _unfit(error) from None

    def task(self, goal: str, complete_by: datetime | None = None) -> Task:
        """A job of this goal, under an id that nobody has used; NotChecked if the author has given no such goal."""
        if not goal:
            raise NotChecked("its author names no goal of this kind")
        terms = Terms((Condition("done", "it is done"),), complete_by=complete_by)
        self._jobs.append(job := f"conform-{secrets.token_hex(4)}")
        return Task(job=job, goal=goal, requester="requester", worker="worker", terms=terms)

    def taken(self, goal: str, complete_by: datetime | None = None) -> str:
        """A job that the worker has accepted; NotChecked if it does not."""
        task = self.task(goal, complete_by)
        answer = self.ask("take", task=task)
        assert isinstance(answer, Taken)
        if answer.act.act != "accept":
            raise NotChecked(f"it does not take `{goal}`: it answers `{answer.act.act}`")
        return task.job

    def status(self, job: str) -> Status:
        """How it is going."""
        told = self.ask("status", job)
        assert isinstance(told, Status)
        return told

    def came(self, job: str) -> Came:
        """What came of it."""
        told = self.ask("result", job)
        assert isinstance(told, Came)
        return told

    def until(self, job: str, *wanted: str, within: float = ENDS) -> Status:
        """Its status once it is one of these; Unfit if it is none of them in time."""
        last: list[Status] = []

        def there() -> bool:
            last[:] = [self.status(job)]
            return last[0].status in wanted

        if not waited(there, within):
            raise Unfit(f"after {within:g} s its status is `{last[0].status}`, not {' or '.join(wanted)}")
        return last[0]

    # ---- what is seen

    def effects(self, job: str) -> int:
        """How many effects a job has had, as the ledger has them."""
        return self.ledger.read_text().split().count(job) if self.ledger.exists() else 0

    def moves(self, job: str, seconds: float = WATCH) -> bool:
        """Whether a job has an effect within so many seconds."""
        before = self.effects(job)
        return waited(lambda: self.effects(job) > before, seconds)

    def begun(self, job: str) -> None:
        """Wait for a job's first effect; NotChecked if it has none."""
        if not waited(lambda: self.effects(job) > 0, ENDS):
            raise NotChecked("no effect of it stands in the ledger")


def _unfit(error: WorkerError) -> Exception:
    """What came to nothing is the worker's fault, unless there is no worker."""
    return error if error.why == "not_started" else Unfit(str(error).partition("; to mend it")[0])


def waited(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether something came to hold within so many seconds."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
