"""The bench on which a worker is tried: its process, the jobs that it is offered, and a ledger of effects that it does not own.

The worker is started with `LIFECYCLE_LEDGER` in its environment, the path of a file to which it appends one line, the job's id, for every
effect it has outside itself. A bench starts, suspends, kills and restarts it; every wait here has an end.
"""

import os
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import psutil
from attrs import define, field, frozen
from pydantic_core import to_json

from lifecycle.law.terms import Condition, Terms
from lifecycle.worker import VERSION, Answer, Came, Pipe, Reply, Status, Taken, Task, WorkerError
from lifecycle.worker.frames import Exchange

LEDGER = "LIFECYCLE_LEDGER"
"""The environment variable that tells the worker where its effects are to be written down."""

ANSWER = 3.0
"""Seconds within which every exchange must be answered."""
ENDS = 15.0
"""Seconds within which a job that is neither slow nor waiting must have ended."""
WATCH = 0.6
"""Seconds for which the ledger is watched, to see whether anything moves."""


@frozen
class Goals:
    """What a worker is asked to do, in words that it understands. An author gives the words of the worker's own trade."""

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


@define
class Bench:
    """One worker, and what is needed to try it."""

    argv: Sequence[str]
    goals: Goals = field(factory=Goals)
    environment: Mapping[str, str] = field(factory=dict)
    home: Path = field(factory=lambda: Path(tempfile.mkdtemp(prefix="conform-")))
    _pipe: Pipe | None = None

    @property
    def pipe(self) -> Pipe:
        """The live worker; started if it is not."""
        if self._pipe is None or self._pipe.gone:
            told = {**self.environment, LEDGER: str(self.ledger)}
            self._pipe = Pipe(self.argv, cwd=self.home, deadline=ANSWER, environment=told)
        return self._pipe

    @property
    def ledger(self) -> Path:
        """The file of effects."""
        return self.home / "ledger"

    def close(self) -> None:
        """End the worker."""
        if self._pipe is not None:
            self._resume()
            self._pipe.close()
            self._pipe = None

    # ---- its process

    def restart(self) -> None:
        """Kill the worker's whole group, and start it again in the same place."""
        self.pipe.kill()
        self._pipe = None
        assert self.pipe

    def suspend(self) -> None:
        """Suspend the agent: the processes below the one that was started, or that one if there are none."""
        for process in self._agent():
            process.send_signal(signal.SIGSTOP)

    def _resume(self) -> None:
        with suppress(psutil.Error):
            for process in self._agent():
                process.send_signal(signal.SIGCONT)

    def resume(self) -> None:
        """Let the agent go on."""
        self._resume()

    def _agent(self) -> list[psutil.Process]:
        top = psutil.Process(self.pipe.pid)
        return top.children(recursive=True) or [top]

    # ---- what is asked

    def ask(self, exchange: Exchange, job: str | None = None, task: Task | None = None, heard: Sequence[dict[str, object]] = ()) -> Answer:
        """One exchange; what comes to nothing is unfit."""
        try:
            return self.pipe.ask(exchange, job=job, task=task, heard=heard)  # type: ignore[arg-type]
        except WorkerError as error:
            raise Unfit(str(error).partition("; to mend it")[0]) from None

    def raw(self, **fields: object) -> Reply:
        """Any frame at all, and the reply as it is."""
        nonce = secrets.token_hex(8)
        try:
            return self.pipe.say(to_json({"worker": VERSION, "nonce": nonce, **fields}) + b"\n", nonce, str(fields.get("ask")), ANSWER)
        except WorkerError as error:
            raise Unfit(str(error).partition("; to mend it")[0]) from None

    def task(self, goal: str, complete_by: datetime | None = None) -> Task:
        """A job of this goal, under an id that nobody has used."""
        terms = Terms((Condition("done", "it is done"),), complete_by=complete_by)
        return Task(job=f"conform-{secrets.token_hex(4)}", goal=goal, requester="requester", worker="worker", terms=terms)

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
        """How many effects a job has had."""
        return self.ledger.read_text().split().count(job) if self.ledger.exists() else 0

    def moves(self, job: str, seconds: float = WATCH) -> bool:
        """Whether a job has an effect within so many seconds."""
        before = self.effects(job)
        return waited(lambda: self.effects(job) > before, seconds)

    def begun(self, job: str) -> None:
        """Wait for a job's first effect; NotChecked if it has none."""
        if not waited(lambda: self.effects(job) > 0, ENDS):
            raise NotChecked("no effect of it stands in the ledger")


def waited(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether something came to hold within so many seconds."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def environment() -> dict[str, str]:
    """What a worker of this library needs to be found: where this process finds it."""
    return {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
