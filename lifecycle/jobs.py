"""Jobs, as a user holds them: the engine with seats, hooks and a clock that lets deadlines lapse by themselves.

`open` makes it from a URL. It adds convenience and no rule.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from pydantic import ValidationError

from lifecycle.engine import Engine
from lifecycle.hooks import Failure, Hook, Subscription, failures
from lifecycle.law import acts, door
from lifecycle.law.capability import Requirement
from lifecycle.law.contract import Contract
from lifecycle.law.errors import KeptRefusal, LifecycleError, Refusal, Refused
from lifecycle.law.job import Job, Pause, Termination
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.log import Entry, Store
from lifecycle.law.states import Stage, State
from lifecycle.law.terms import Budget, Condition, Exclusion, Intervals
from lifecycle.seat import Conditions, Exclusions, Seat, named
from lifecycle.stores.urls import store_at

SWEEP = 1.0
"""Seconds between two sweeps of the clock's own thread: how late a deadline may lapse where nobody acts on its job."""


class Handle:
    """One job in one's hands. Everything is read from the store when it is asked for; nothing is remembered."""

    def __init__(self, jobs: "Jobs", id: str) -> None:
        self._jobs, self.id = jobs, id

    def __repr__(self) -> str:
        return f"<job {self.id}>"

    @property
    def job(self) -> Job:
        """All facts, as of now, as one frozen value."""
        return self._jobs.job(self.id)

    @property
    def state(self) -> State:
        """One of the nine words."""
        return self.job.state

    @property
    def stage(self) -> Stage:
        """The state, or the named part of it."""
        return self.job.stage

    @property
    def termination(self) -> Termination | None:
        """Why it stopped and what came of it; None while it has not stopped."""
        return self.job.termination

    @property
    def pause(self) -> Pause | None:
        """What it waits for, and from whom; None while it does not wait."""
        return self.job.pause

    @property
    def log(self) -> Sequence[Entry]:
        """Its entries, oldest first."""
        return self._jobs.log(self.id)

    @property
    def refusals(self) -> Sequence[KeptRefusal]:
        """What was refused on it and kept, oldest first."""
        return self._jobs.refusals(self.id)

    def seat(self, party: str) -> Seat:
        """A party's chair at this job."""
        return Seat(self._jobs, self.id, party)


class Jobs(Engine):
    """The engine, with what makes it pleasant to use. Close it, or use it in a `with`."""

    def __init__(self, store: Store, *, limits: Limits = LIMITS, sweep_every: float | None = SWEEP, ids: str = "") -> None:
        """`sweep_every`: seconds between two sweeps by a thread of its own; None leaves sweeping to whoever calls `sweep`."""
        super().__init__(store, limits=limits, ids=ids)
        self._subscriptions: dict[str, Subscription] = {}
        self._closed = threading.Event()
        self.sweep_error: LifecycleError | None = None
        """What the last sweep of the clock's own thread failed with; None if it did not. The next sweep tries again."""
        if sweep_every is not None:
            threading.Thread(target=self._keep_sweeping, args=(sweep_every,), name="sweep", daemon=True).start()

    def close(self) -> None:
        """Stop hooks after the entry they are at, stop sweeping, let go of the store; twice is once."""
        self._closed.set()
        for subscription in self._subscriptions.values():
            subscription.stop(timeout=5.0)
        super().close()

    def request(
        self,
        goal: str,
        *,
        requester: str,
        worker: str,
        conditions: Conditions = (),
        exclusions: Exclusions = (),
        contract: Contract | None = None,
        requirements: Iterable[Requirement] = (),
        constraints: Iterable[str] = (),
        budget: Budget | None = None,
        reviewer: str | None = None,
        verifier: str | None = None,
        approver: str | None = None,
        authorities: Iterable[str] = (),
        review: bool = False,
        rules: str | None = None,
        verdict: bool | None = None,
        respond_by: datetime | None = None,
        complete_by: datetime | None = None,
        intervals: Intervals | None = None,
        parent: str | None = None,
        supersedes: str | None = None,
        id: str | None = None,
    ) -> Handle:
        """Ask a worker for a job. Give it an `id` of your own, and asking again after a crash asks once."""
        job = id or self._clerk.mint()
        try:
            act = acts.Request(
                goal=goal, worker=worker, reviewer=reviewer, verifier=verifier, approver=approver, authorities=tuple(authorities),
                contract=contract, conditions=named(Condition, conditions) or (), exclusions=named(Exclusion, exclusions) or (),
                requirements=tuple(requirements), constraints=tuple(constraints), budget=budget, review=review, rules=rules,
                verdict=verdict, respond_by=respond_by, complete_by=complete_by, intervals=intervals or Intervals(), parent=parent,
                supersedes=supersedes,
            )  # fmt: skip
        except ValidationError as error:
            fault = door.malformed(error)
            raise Refused(Refusal(fault.reason, "request", job, requester, None, (), fault.detail, fault.mend)) from None
        self.submit(job, act, by=requester)
        return Handle(self, job)

    def handle(self, job: str) -> Handle:
        """A job by its id; JobNotFound if there is none."""
        self.job(job)
        return Handle(self, job)

    def seat(self, job: str, party: str) -> Seat:
        """A party's chair at a job."""
        return Seat(self, job, party)

    def ask(
        self,
        fn: Callable[[str], object],
        goal: str,
        *,
        requester: str = "requester",
        worker: str = "worker",
        conditions: Conditions = (),
        id: str | None = None,
    ) -> Handle:
        """Have a function do a job, in one call. It gets the goal; what it returns is its answer.

        An act is made as it is (a delivery accepts first); any other JSON value accepts and delivers it. If it raises, or returns
        what is no JSON, the job ends in error and says so. Asked again under the same id, an ended job is not done again.
        """
        handle = self.request(goal, requester=requester, worker=worker, conditions=conditions, id=id)
        if handle.job.seq > 0:
            return handle
        seat = handle.seat(worker)
        answer = self._answer(fn, goal)
        takes = (acts.Deliver, acts.Fail, acts.Progress, acts.Block)
        first = [acts.Accept()] if isinstance(answer, takes) else []
        self.submit_all((handle.id, seat.filled(act), worker) for act in (*first, answer))
        return handle

    def _answer(self, fn: Callable[[str], object], goal: str) -> acts.Act:
        try:
            answer = fn(goal)
        except Exception as error:
            return acts.Fail(words=f"{type(error).__name__}: {door.shown(str(error), 2_000)}")
        try:
            return answer if isinstance(answer, acts.Act) else acts.Deliver.model_validate({"value": answer})
        except ValidationError as error:
            return acts.Fail(words=f"the answer is no JSON value: {door.malformed(error).detail}")

    # ---- hooks

    def on(self, name: str, hook: Hook, *, after: int | None = None) -> Subscription:
        """Call `hook(entry)` after the commit of every entry, at least once each, on a thread of its own.

        The name keeps the place: a restart goes on where it stopped. A new name begins with what is new, or after a position.
        """
        if name in self._subscriptions:
            self._subscriptions[name].stop()
        self._subscriptions[name] = Subscription(self.store, name, hook, after, self._pace())
        return self._subscriptions[name]

    def hook_failures(self, name: str) -> list[Failure]:
        """The entries whose hook of this name raised and has not succeeded since."""
        return failures(self.store, name)

    def _announce(self) -> None:
        super()._announce()
        for subscription in list(self._subscriptions.values()):  # a copy, as another thread may add one now
            subscription.wake()

    def _keep_sweeping(self, every: float) -> None:
        while not self._closed.wait(every):
            try:
                self.sweep()
                self.sweep_error = None
            except LifecycleError as error:
                self.sweep_error = error


def open(
    url: str, *, limits: Limits = LIMITS, clock: Callable[[], datetime] | None = None, sweep_every: float | None = SWEEP
) -> Jobs:
    """Open the jobs at a URL: `memory:`, or `sqlite:///path/to/jobs.db`, which is made if it is not there.

    A `clock` of your own (aware datetimes) takes the place of the store's; then nothing sweeps by itself.
    """
    return Jobs(store_at(url, clock), limits=limits, sweep_every=sweep_every if clock is None else None)
