"""A worker that keeps all twenty musts, small enough to be read: what the harness's goals ask of any worker.

    python -m lifecycle.conformance.workers.reference [--http PORT] [MUTANT]

With the name of a mutant, it is that faulty worker instead; `mutants` has them.
"""

import os
import sys
import time
from pathlib import Path

from lifecycle.conformance.workers.bench import LEDGER, Goals
from lifecycle.law import acts
from lifecycle.worker import Can, Cannot, CannotTell, Desk, Journal, Served, Task
from lifecycle.worker.serving import Job

GOALS = Goals()
LONG = 60.0
"""Seconds that a slow job takes."""
STEP = 0.05
"""Seconds from one effect of a slow job to the next."""
COMMITTED = 5.0
"""Seconds that it commits to for a plain job."""


def effect(job: str) -> None:
    """One effect outside itself, written down in the ledger."""
    with Path(os.environ[LEDGER]).open("a") as held:
        held.write(f"{job}\n")


def work(desk: Desk) -> acts.Deliver | acts.Fail:
    """Do what is asked."""
    job, goal = desk.task.job, desk.task.goal
    if goal == GOALS.poison:
        return acts.Fail(words="this input makes it fail, whoever tries", work=desk.work)
    if goal == GOALS.missing:
        desk.ask("the year of the accounts", desk.task.requester)
    until = time.monotonic() + (LONG if goal == GOALS.slow else 0.0)
    while time.monotonic() < until:
        effect(job)
        desk.progress("at it", "ledger")
        time.sleep(STEP)
    effect(job)
    return desk.done("ledger", met={"done": "ledger"})


def take(task: Task) -> acts.Accept | acts.Decline:
    """Take what it can do, and say exactly why not otherwise."""
    match estimate(task):
        case Cannot(why=why):
            return acts.Decline(kind="out_of_scope", reason=why)
        case CannotTell(missing=missing):
            return acts.Decline(kind="insufficient_spec", reason=f"it is not said {missing}", mend=f"say {missing}")
        case Can(seconds=seconds, commitment=commitment):
            return acts.Accept(estimate=acts.Estimate(seconds=seconds, commitment=commitment) if seconds is not None else None)


def estimate(task: Task) -> Can | Cannot | CannotTell:
    """What it would take; a number only where there is one."""
    if task.goal == GOALS.plain:
        return Can(commitment=True, seconds=COMMITTED)
    if task.goal == GOALS.vague:
        return CannotTell(missing="how many accounts there are")
    if task.goal in (GOALS.slow, GOALS.poison, GOALS.missing):
        return Can(commitment=False, seconds=LONG)
    return Cannot(why="it keeps accounts, and this is none")


class Reference(Served):
    """The worker itself; a mutant is one of these with one fault."""

    work: Job = staticmethod(work)
    remembers = True

    def __init__(self, send: object = None) -> None:
        super().__init__(self.work, take, None, Journal("journal.db") if self.remembers else None, estimate)


if __name__ == "__main__":
    from lifecycle.conformance.workers.mutants import main

    main(sys.argv[1:])
