"""The directing side: it knows nothing of the agents it directs, and keeps what was agreed.

    async with Director(jobs, {"ada": lambda: Pipe(["./ada"]), "bob": lambda: Pipe(["./bob"])}, requester="planner") as director:
        report = await director.assign("total 2024")                       # to whichever is free first
        report = await director.tender("total 2024", within=10.0)          # asked of all, the best answer taken
        await director.resume()                                            # after a restart: whatever was left open

Each job is tended as `lifecycle run` tends one: asked by the seven exchanges, kept through the engine, polled with longer pauses,
its lease renewed on the agent's own answers. A worker whose process has ended is started anew for the next job; the job that it had
has failed, and says so.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from attrs import frozen

from lifecycle.jobs import Jobs
from lifecycle.law import acts
from lifecycle.law.errors import LifecycleError, Refused
from lifecycle.law.log import Row
from lifecycle.law.states import Stage
from lifecycle.run import Away, Order, People, Report, Tending, report
from lifecycle.run.order import hosted, keep, task
from lifecycle.run.tending import Tell
from lifecycle.worker import Free, Taken, Worker, WorkerError

Crew = Mapping[str, Callable[[], Worker]]
"""How each worker is started, by the name it has as a party."""


class NobodyTakes(LifecycleError):
    """A tender that nobody takes. Remedy: what the workers say, in `answers`; or other workers."""

    def __init__(self, goal: str, answers: Mapping[str, str]) -> None:
        self.answers = dict(answers)
        told = "; ".join(f"`{worker}`: {answer}" for worker, answer in answers.items()) or "there is no worker"
        super().__init__(f"nobody takes `{goal[:80]}`: {told}; to mend it, do what they ask, or ask others")


@frozen
class Offer:
    """One worker's acceptance, as a rule sees it."""

    worker: str
    job: str
    accept: acts.Accept


Rule = Callable[[Sequence[Offer]], Offer]


def cheapest(offers: Sequence[Offer]) -> Offer:
    """A commitment, then an estimate, then none; of equals the least money, tokens, seconds, in this order; unstated is most."""
    endless = float("inf")

    def cost(offer: Offer) -> tuple[object, ...]:
        told = offer.accept.estimate
        if told is None:
            return 2, endless, endless, endless, offer.worker
        stated = (told.money, told.tokens, told.seconds)
        return int(not told.commitment), *(float(one) if one is not None else endless for one in stated), offer.worker

    return min(offers, key=cost)


class Director:
    """Directs a crew. One job at a time for each worker; as many at once as there are workers."""

    def __init__(
        self, jobs: Jobs, crew: Crew, *, requester: str, root: str = ".", people: People | None = None,
        tell: Tell = lambda entry: None,
    ) -> None:  # fmt: skip
        self.jobs, self.requester = jobs, requester
        self._crew, self._people, self._tell = dict(crew), people or Away(), tell
        self._order = Order(("director",), root)
        self._live: dict[str, Worker] = {}
        self._free: asyncio.Queue[str] = asyncio.Queue()
        self._threads = ThreadPoolExecutor(max(len(self._crew), 1), thread_name_prefix="tend")

    async def __aenter__(self) -> "Director":
        for name in self._crew:
            self._free.put_nowait(name)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for worker in self._live.values():
            await self._apart(worker.close)
        self._threads.shutdown(wait=True)

    async def assign(self, goal: str, *, id: str | None = None, **fields: Any) -> Report:
        """Have the first free worker do a job; its report once it has ended, or waits for a person."""
        name = await self._free.get()
        try:
            job = self._requested(goal, name, id, fields)
            return await self._tended(job, name)
        finally:
            self._free.put_nowait(name)

    async def tender(
        self, goal: str, *, among: Iterable[str] | None = None, within: float = 10.0, rule: Rule = cheapest, **fields: Any
    ) -> Report:
        """Ask several workers at once, wait so many seconds for their answers, take the best by the rule, cancel the rest.

        One job for each who is asked; the others end as superseded. NobodyTakes tells what each of them said.
        """
        names = list(self._crew if among is None else among)
        call = secrets.token_hex(6)
        asked = {name: self._requested(goal, name, f"{call}-{name}", fields) for name in names}
        found = await asyncio.gather(*(self._apart(self._asked, name, job, within) for name, job in asked.items()))
        offers = [offer for offer in found if isinstance(offer, Offer)]
        best = rule(offers) if offers else None
        for name, job in asked.items():
            if best is None or job != best.job:
                await self._apart(self._superseded, name, job)
        if best is None:
            answers = {name: str(said) for name, said in zip(names, found, strict=True)}
            raise NobodyTakes(goal, answers)
        return await self._tended(best.job, best.worker)

    async def resume(self) -> list[Report]:
        """Go on with every job of this requester that a director began and that has not come to its end, with its own worker."""
        held = self.jobs.store.shelf("directed")
        rows = [row for row in self._left() if row.job in held and row.worker in self._crew]
        return list(await asyncio.gather(*(self._tended(row.job, row.worker) for row in rows)))

    def _left(self) -> Iterator[Row]:
        """Jobs that are open, and those whose worker is still to stop."""
        for stage in (None, Stage.STOPPING):
            after = ""
            while rows := self.jobs.find(requester=self.requester, open=True if stage is None else None, stage=stage, after=after):
                yield from rows
                after = rows[-1].job

    # ---- parts, in threads of their own

    async def _apart(self, work: Callable[..., Any], *given: object) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)

    async def _tended(self, job: str, name: str) -> Report:
        return await self._apart(self._through, job, name)  # type: ignore[no-any-return]

    def _requested(self, goal: str, name: str, id: str | None, fields: Mapping[str, Any]) -> str:
        job = self.jobs.request(goal, requester=self.requester, worker=name, id=id, **fields).id
        self.jobs.store.put("directed", job, name, self.jobs.store.get("directed", job))
        keep(self.jobs.store, job, self._order)
        return job

    def _through(self, job: str, name: str) -> Report:
        try:
            worker = self._worker(name)
        except WorkerError as error:
            self.jobs.seat(job, self.requester).cancel(str(error))
            return report(self.jobs, job)
        tending = Tending(self.jobs, job, self._order, worker, self._people, self._tell)
        tending.through()
        return report(self.jobs, job)

    def _asked(self, name: str, job: str, within: float) -> Offer | str:
        """What a worker says to a tender: its acceptance, kept as such; or in words why there is none."""
        standing = self.jobs.job(job)
        try:
            worker = self._worker(name)
            free = worker.ask("free", within=within)
            if isinstance(free, Free) and not free.free:
                return "not free"
            answer = worker.ask("take", task=task(standing, hosted(self.jobs, standing, self._order)), within=within)
        except WorkerError as error:
            return str(error)
        assert isinstance(answer, Taken)
        try:
            self.jobs.seat(job, name).submit(answer.act.model_copy(update={"id": None, "at": None, "answers": None}))
        except Refused as refused:
            return str(refused)
        return Offer(name, job, answer.act) if isinstance(answer.act, acts.Accept) else f"it answers `{answer.act.act}`"

    def _superseded(self, name: str, job: str) -> None:
        """End a job that another worker does: the worker is stopped if it had begun."""
        if self.jobs.job(job).ended:
            return
        self.jobs.submit(job, acts.Cancel(reason="superseded", words="another worker does it"), by=self.requester)
        if name in self._live:
            Tending(self.jobs, job, self._order, self._live[name], self._people, self._tell).through()

    def _worker(self, name: str) -> Worker:
        """The live worker of this name: started anew if its process has ended."""
        held = self._live.get(name)
        if held is not None and getattr(held, "gone", False):
            held.close()
            held = None
        if held is None:
            held = self._live[name] = self._crew[name]()
        return held
