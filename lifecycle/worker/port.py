"""The port: a worker as whoever directs it sees it, wherever it runs.

Seven exchanges by one method, and tool calls in the other direction. `Pipe` is a child process, `Local` an object in this process.
"""

import queue
from collections.abc import Sequence
from typing import Protocol

from pydantic import JsonValue

from lifecycle.law.errors import LifecycleError
from lifecycle.worker.frames import Answer, Ask, BadFrame, Called, Exchange, Given, Look, Task
from lifecycle.worker.serving import Job, Served, Take, accepts


class WorkerError(LifecycleError):
    """An exchange that came to nothing. Remedy: ask again, or another worker.

    `why` is one of: quiet (no answer in time), gone (its process has ended), malformed, refused, not_started.
    """

    def __init__(self, worker: str, exchange: str, why: str, what: str) -> None:
        super().__init__(f"worker `{worker}` and `{exchange}`: {what}; to mend it, ask again later, or another worker")
        self.worker, self.exchange, self.why = worker, exchange, why


class Worker(Protocol):
    """A worker that can be asked. Every ask ends: with a typed answer, or with WorkerError."""

    name: str

    def ask(
        self, exchange: Exchange, *, job: str | None = None, task: Task | None = None, heard: Sequence[dict[str, JsonValue]] = (),
        within: float | None = None,
    ) -> Answer:  # fmt: skip
        """One exchange, answered within the deadline: that many seconds, or the published one."""

    def call(self, within: float = 0.0) -> Called | None:
        """The next call of a tool that the worker asks for; None if none comes in so many seconds, or it should be looked at."""

    def give(self, given: Given) -> None:
        """Tell the worker what became of its call."""

    def close(self) -> None:
        """Let go of it; a process is ended."""


class Calls:
    """What a worker asks of its host, in order; and, once however often it is said, that it should be looked at."""

    def __init__(self, most: int = 0) -> None:
        """`most` calls may wait; 0 is any number."""
        self._waiting: queue.Queue[Called | Look] = queue.Queue(most)

    def put(self, frame: Called | Look) -> bool:
        """Say whether there was room for it."""
        if isinstance(frame, Look) and not self._waiting.empty():
            return True  # whoever comes for what waits looks then
        try:
            self._waiting.put_nowait(frame)
        except queue.Full:
            return False
        return True

    def get(self, within: float) -> Called | Look | None:
        """The next; None if none comes within so many seconds."""
        try:
            return self._waiting.get(timeout=within) if within > 0 else self._waiting.get_nowait()
        except queue.Empty:
            return None


class Local:
    """A Python function as a worker in this process."""

    def __init__(self, work: Job, take: Take = accepts, name: str = "local") -> None:
        self.name = name
        self._calls = Calls()
        self._served = Served(work, take, self._calls.put)

    def ask(
        self, exchange: Exchange, *, job: str | None = None, task: Task | None = None, heard: Sequence[dict[str, JsonValue]] = (),
        within: float | None = None,
    ) -> Answer:  # fmt: skip
        """One exchange; nothing has to be waited for."""
        try:
            return self._served.answer(Ask(ask=exchange, nonce="local", job=job, task=task, heard=tuple(heard)))
        except BadFrame as error:
            raise WorkerError(self.name, exchange, "refused", str(error)) from None

    def call(self, within: float = 0.0) -> Called | None:
        """The next call of a tool; None if there is none within so many seconds."""
        asked = self._calls.get(within)
        return asked if isinstance(asked, Called) else None

    def give(self, given: Given) -> None:
        """What became of a call goes to the work."""
        self._served.given(given)

    def close(self) -> None:
        """Ask whatever is at work to stop."""
        self._served.close()
