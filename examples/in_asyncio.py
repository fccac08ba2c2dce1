"""Fifty jobs at once in plain asyncio: callers share commits, a worker that is cancelled leaves its act done or not.

    python examples/in_asyncio.py

The orchestrator keeps its loop; each job keeps its law. Every receipt is given after its own commit, on a real file.
"""

import asyncio
import tempfile
from pathlib import Path

import lifecycle
from lifecycle import Jobs, acts
from lifecycle.aio import AsyncJobs
from lifecycle.law.errors import Refused
from lifecycle.law.states import Work

COUNT = 50


async def worker(jobs: AsyncJobs, job: str, n: int) -> None:
    """Every seventh declines, every fifth is slow; the others accept and deliver."""
    if n % 7 == 0:
        await jobs.submit(job, acts.Decline(answers=job, reason="there is no data for it", mend="the data"), by="coder")
        return
    await jobs.submit(job, acts.Accept(answers=job), by="coder")
    await asyncio.sleep(3600 if n % 5 == 0 else 0.01)
    await jobs.submit(job, acts.Deliver(value=n * n), by="coder")


async def delegated(jobs: AsyncJobs, n: int) -> str:
    """Ask, wait a while, and call off what takes too long; what came of it."""
    job = f"square-{n}"
    await jobs.submit(job, acts.Request(goal=f"square {n}", worker="coder"), by="planner")
    working = asyncio.create_task(worker(jobs, job, n))
    done, _ = await asyncio.wait([working], timeout=1.0)
    if not done:
        working.cancel()
        await jobs.submit(job, acts.Cancel(words="it takes too long"), by="planner")
        await jobs.submit(job, acts.Halt(work=Work.UNTOUCHED), by="coder")
        try:
            await jobs.submit(job, acts.Deliver(value=n * n), by="coder")  # too late, and told so
        except Refused as refused:
            assert refused.may == ()
    return str((await jobs.call(Jobs.job, job)).stage)


async def main() -> None:
    """All at once; then how they ended."""
    with tempfile.TemporaryDirectory() as place:
        async with lifecycle.open_async(f"sqlite:///{Path(place) / 'jobs.db'}") as jobs:
            ends = await asyncio.gather(*(delegated(jobs, n) for n in range(COUNT)))
            for stage in sorted(set(ends)):
                print(f"{ends.count(stage):3} {stage}")
            entries = await jobs.call(lambda held: list(held.watch()))
            print(f"{len(entries)} acts, {jobs.commits} commits, audit {await jobs.call(Jobs.audit) or 'clean'}")


if __name__ == "__main__":
    asyncio.run(main())
