"""The jobs for asyncio: concurrent submissions share commits.

    async with lifecycle.open_async("sqlite:///jobs.db") as jobs:
        await jobs.submit(job, acts.Accept(), by="wes")
        await jobs.call(Jobs.job, "j1")                       # anything else a `Jobs` can do, in a thread

One thread writes. Whatever was submitted while it wrote is its next commit; a receipt is given only after its own commit. One
that is refused does not touch the others. A caller that is cancelled leaves its act either done or not: the same id tells.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from lifecycle.engine.clerk import Submission
from lifecycle.jobs import Jobs
from lifecycle.jobs import open as open_jobs
from lifecycle.law import acts
from lifecycle.law.errors import LifecycleError, StoreError
from lifecycle.law.log import Receipt

BATCH = 256
"""Submissions that share one commit at most."""

P = ParamSpec("P")
T = TypeVar("T")
_Asked = tuple[Submission, "Future[Receipt]"]


class AsyncJobs:
    """Jobs as coroutines; `jobs` are the same ones without. To be used as an async context."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self._waiting: queue.Queue[_Asked | None] = queue.Queue()
        self.commits = 0
        """How many commits there were so far."""
        self._closed = threading.Event()
        self._writer = threading.Thread(target=self._write, name="lifecycle-writer", daemon=True)
        self._writer.start()

    async def submit(self, job: str, act: acts.Act, *, by: str, id: str | None = None, expect: int | None = None) -> Receipt:
        """Make an act; its receipt once it is committed. Errors as `Jobs.submit`."""
        if self._closed.is_set():
            raise StoreError("these jobs are closed; to mend it, open them anew")
        future: Future[Receipt] = Future()
        self._waiting.put((Submission(job, act, by, id, expect), future))
        import asyncio  # whoever waits here has it loaded already; everybody else need not pay for it

        return await asyncio.wrap_future(future)

    async def call(self, method: Callable[Concatenate[Jobs, P], T], *args: P.args, **named: P.kwargs) -> T:
        """Any method of `Jobs`, in a thread: reads, requests, seats."""
        import asyncio

        return await asyncio.to_thread(method, self.jobs, *args, **named)

    async def close(self) -> None:
        """Write what waits, and let go of the store; twice is once."""
        if not self._closed.is_set():
            import asyncio

            self._closed.set()
            self._waiting.put(None)
            await asyncio.to_thread(self._writer.join)
            await asyncio.to_thread(self.jobs.close)

    async def __aenter__(self) -> "AsyncJobs":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    # ---- the writer's thread

    def _write(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, last = [first], False
            while len(batch) < BATCH and not self._waiting.empty():
                if (more := self._waiting.get()) is None:
                    last = True
                    break
                batch.append(more)
            self._commit([one for one in batch if one[1].set_running_or_notify_cancel()])
            if last:
                break
        while not self._waiting.empty():
            if (late := self._waiting.get()) is not None:
                late[1].set_exception(StoreError("these jobs are closed; to mend it, open them anew"))

    def _commit(self, batch: list[_Asked]) -> None:
        """All in one commit; if one is refused, in two, and so on: one among many costs a few commits, not as many as there are."""
        if not batch:
            return
        try:
            receipts = self.jobs.submit_all([submission for submission, _ in batch])
        except BaseException as error:
            if len(batch) == 1 or not isinstance(error, LifecycleError):
                for _, future in batch:
                    future.set_exception(error)
            else:
                self._commit(batch[: len(batch) // 2])
                self._commit(batch[len(batch) // 2 :])
            return
        self.commits += 1
        for (_, future), receipt in zip(batch, receipts, strict=True):
            future.set_result(receipt)


def open_async(url: str, **options: Any) -> AsyncJobs:
    """The jobs at a URL, for asyncio; the options are those of `lifecycle.open`."""
    return AsyncJobs(open_jobs(url, **options))
