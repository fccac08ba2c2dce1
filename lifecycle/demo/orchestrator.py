"""The orchestrator: it hands jobs to worker programs and sees each through to its end.

This is all that embedding the library takes. It asks for jobs, asks each job who owes the next move, and lets that party make it.
A worker's line is made an act of that worker's seat, whatever the line says of who it is. It holds no rule of the lifecycle: what
may be done when, what is refused and why, and when a silent party has been silent for too long, is the library's to say.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from attrs import frozen
from pydantic import JsonValue, TypeAdapter

from lifecycle import Handle, Job, Jobs, Refused, Seat, Stage, terms
from lifecycle.demo import books
from lifecycle.demo.program import Gone, Program
from lifecycle.law.job import Offer
from lifecycle.law.states import FINAL

PLANNER = "planner"
"""The one who asks for the jobs, and judges what comes of them."""

TRIES = 3
"""Acts in a row that may be refused: a worker that has not mended its ways by then will not."""

TERMS = TypeAdapter(terms.Terms)

Echo = Callable[[str], None]

Incident = Callable[[Seat, Program, Echo], None]
"""What happens to a job while its worker is at work on it; what the log will not tell, a bystander is told."""


def cancelled(planner: Seat, program: Program, echo: Echo) -> None:
    """The planner changes its mind. The worker does not know yet: its next act is refused, and the refusal says why."""
    planner.cancel("the figures are no longer needed")


def killed(planner: Seat, program: Program, echo: Echo) -> None:
    """SIGKILL. Nobody tells the library; the lease will."""
    program.kill()
    echo(f"process {program.pid} is killed in the middle of {planner.job_id}")


def waits(seconds: float, *, lease: float | None = None) -> terms.Intervals:
    """How long each wait may last, so that the clock alone ends every job before the demo's own patience does."""
    one = timedelta(seconds=seconds)
    given = one if lease is None else timedelta(seconds=lease)
    return terms.Intervals(respond=one, answer=one, review=one, verdict=one, lease=given, stall=one, stop=one)


PATIENT = waits(8)


@frozen
class Errand:
    """One job to be had done: by whom, what, and what is to happen meanwhile."""

    worker: str
    """The worker's name, which here is also its personality."""
    goal: str
    conditions: tuple[terms.Condition, ...]
    meanwhile: Incident | None = None
    intervals: terms.Intervals = PATIENT

    def asked(self, jobs: Jobs, id: str) -> Handle:
        """The errand as a job, under an id of our own: asked again after a crash, it would be asked once."""
        return jobs.request(
            self.goal, requester=PLANNER, worker=self.worker, conditions=self.conditions, intervals=self.intervals, id=id
        )


ERRANDS = (
    Errand("honest", "total 2024 by region", books.conditions("region")),
    Errand("sloppy", "total 2024 by product", books.conditions("product")),
    Errand("decliner", "total 2031 by region", books.conditions("region", year=2031)),
    Errand("counterer", "total 2024 by customer", books.conditions("customer")),
    Errand("haggler", "total 2024 by day", books.conditions("day")),
    Errand("punctual", "total 2024 by product, if you can", books.conditions("product")),
    Errand("forgetful", "total 2024 by region, if you have the time", books.conditions("region")),
    Errand("asker", "total 2024 by region, in euros", books.conditions("region", currency="EUR")),
    Errand("steady", "total 2024 by month", books.conditions("month"), cancelled),
    Errand("doomed", "total 2024 by month, too", books.conditions("month"), killed, waits(8, lease=2)),
)


def see_through(errand: Errand, job: Handle, program: Program, desk: Path, echo: Echo) -> None:
    """Let whoever owes the next move make it, until the job is over, or its worker is.

    Nobody speaks for a worker that is gone. Its job stays as it is, until the clock finds it abandoned.
    """
    planner, worker = job.seat(PLANNER), job.seat(errand.worker)
    meanwhile, refused = errand.meanwhile, list[str]()
    try:
        while (seen := planner.look()).stage not in FINAL:
            if seen.pause is not None and seen.pause.owed_by == PLANNER:
                answer(planner, seen, desk)
                continue
            program.tell(turn(job, worker, refused))
            if meanwhile is not None and seen.stage is Stage.WORKING:
                meanwhile(planner, program, echo)
                meanwhile = None
            try:
                worker.submit_json(program.hear())
                refused.clear()
            except Refused as why:
                refused.append(str(why))
            if len(refused) == TRIES:
                program.kill()
        program.tell(turn(job, worker, refused))
    except Gone:
        return


def turn(job: Handle, worker: Seat, refused: Sequence[str]) -> dict[str, JsonValue]:
    """What a worker is told. (One that is a language model is also handed `worker.schema()`, as its structured output.)"""
    seen, last = worker.look(), job.log[-1]
    return {
        "job": seen.id,
        "goal": seen.brief.goal,
        "requester": seen.parties.requester,
        "stage": seen.stage,
        "terms": TERMS.dump_python(seen.terms, mode="json", exclude_none=True),
        "may": list(worker.may()),
        "heard": None if last.by == worker.party else last.act.model_dump(mode="json", exclude_none=True),
        "refused": refused[-1] if refused else None,
        "over": str(seen.termination) if seen.stage in FINAL else None,
    }


def answer(planner: Seat, job: Job, desk: Path) -> None:
    """Make the move that the planner owes."""
    match job.stage, job.standing:
        case Stage.COUNTERED, Offer() as offer if not acceptable(job, offer):
            planner.cancel("that would be another job")
        case Stage.COUNTERED, Offer(binding=True):
            planner.adopt()
        case Stage.COUNTERED, Offer() as offer:
            planner.revise(conditions=offer.terms.conditions)
        case Stage.BLOCKED, _:
            planner.resolve(str(books.RATES["EUR"]))
        case Stage.DELIVERED, _:
            judge(planner, job, desk)
        case _:
            planner.cancel(f"no answer to `{job.stage}`")


def acceptable(job: Job, offer: Offer) -> bool:
    """Whether an offer is the same job by another column. What is adopted will be run: so every check must be one of ours."""
    return any(offer.terms == replace(job.terms, conditions=books.conditions(column)) for column in ("region", "month"))


def judge(planner: Seat, job: Job, desk: Path) -> None:
    """Open what was delivered and hold it against the terms in force. The worker's report is not evidence."""
    records = books.examine(job.terms.conditions, desk)
    if faults := [record.seen for record in records if record.status != "passed"]:
        planner.reject("; ".join(faults), checks=records)
    else:
        planner.confirm("; ".join(record.seen for record in records), checks=records)
