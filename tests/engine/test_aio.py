"""Callers of asyncio share commits: every receipt after its own commit, a refusal alone, a cancelled caller harmless."""

import asyncio

import pytest

from lifecycle import Jobs, acts
from lifecycle.aio import AsyncJobs, open_async
from lifecycle.law.errors import Refused, StoreError

from .conftest import Place
from .relay import Watched


def test_many_submissions_share_few_commits(place: Place, jobs: Jobs) -> None:
    watched = Watched(jobs.store)

    async def main() -> None:
        async with AsyncJobs(place.over(watched)) as shared:
            asked = [shared.submit(f"j{n}", acts.Request(goal="g", worker="wes"), by="ann") for n in range(64)]
            receipts = await asyncio.gather(*asked)
            assert [(receipt.job, receipt.seq) for receipt in receipts] == [(f"j{n}", 0) for n in range(64)]

    asyncio.run(main())
    assert watched.told.count("append") < 32


def test_one_that_is_refused_does_not_touch_the_others(place: Place) -> None:
    async def main() -> list[object]:
        async with AsyncJobs(place.open()) as shared:
            await shared.submit("a", acts.Request(goal="g", worker="wes"), by="ann")
            asked = [shared.submit("a", acts.Accept(answers="a"), by="ann")]
            asked += [shared.submit(f"b{n}", acts.Request(goal="g", worker="wes"), by="ann") for n in range(5)]
            told = await asyncio.gather(*asked, return_exceptions=True)
            assert (await shared.call(Jobs.job, "a")).stage == "requested"
            return list(told)

    first, *rest = asyncio.run(main())
    assert isinstance(first, Refused) and not any(isinstance(one, BaseException) for one in rest)


def test_one_refused_among_many_costs_few_commits(place: Place, jobs: Jobs) -> None:
    watched = Watched(jobs.store)

    async def main() -> list[object]:
        async with AsyncJobs(place.over(watched)) as shared:
            asked = [shared.submit(f"j{n}", acts.Request(goal="g", worker="wes"), by="ann") for n in range(64)]
            asked.insert(40, shared.submit("j3", acts.Accept(answers="j3"), by="ann"))
            return list(await asyncio.gather(*asked, return_exceptions=True))

    told = asyncio.run(main())
    assert [isinstance(one, Refused) for one in told] == [n == 40 for n in range(65)]
    assert watched.told.count("append") < 40
    assert len(place.reopen().find()) == 64


def test_a_cancelled_caller_leaves_its_act_done_or_not_and_the_next_one_works(place: Place, jobs: Jobs) -> None:
    async def main() -> None:
        async with AsyncJobs(place.over(jobs.store)) as shared:
            for n in range(20):
                asked = asyncio.create_task(shared.submit(f"c{n}", acts.Request(goal="g", worker="wes"), by="ann", id=f"c{n}"))
                await asyncio.sleep(0.0001 * n)
                asked.cancel()
                with pytest.raises((asyncio.CancelledError, StopAsyncIteration)):
                    await asked
                    raise StopAsyncIteration  # it was done before it was cancelled
            for n in range(20):
                again = await shared.submit(f"c{n}", acts.Request(goal="g", worker="wes"), by="ann", id=f"c{n}")
                assert again.seq == 0
            assert len(await shared.call(Jobs.find, requester="ann")) == 20
            assert await shared.call(Jobs.audit) == []

    asyncio.run(main())


def test_closed_is_closed() -> None:
    async def main() -> None:
        shared = open_async("memory:")
        await shared.close()
        await shared.close()
        with pytest.raises(StoreError, match="closed"):
            await shared.submit("a", acts.Request(goal="g", worker="wes"), by="ann")

    asyncio.run(main())
