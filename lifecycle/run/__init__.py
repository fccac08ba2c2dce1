"""The main job: a contract, a worker, and a verdict that rests on evidence.

    contract = checks.read("contract.toml")
    begun = begin(jobs, contract, ["python", "worker.py"], "checkout")      # preconditions held, the job requested
    with tended(jobs, begun) as tending:                                    # its worker started
        tending.through()                                                   # until it has ended, or waits for a person
    print(report(jobs, begun))

`begin` and `tended` in another process, at any time later, go on where it was: what is needed for that stands in the store.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from lifecycle.checks import Workspace
from lifecycle.jobs import Jobs
from lifecycle.law.contract import Contract
from lifecycle.law.limits import LEASE
from lifecycle.run.judging import PreconditionFailed, hold
from lifecycle.run.order import NotRun, Order, keep, kept, named, requested
from lifecycle.run.people import Away, People, Verdicts
from lifecycle.run.report import Line, Report, report
from lifecycle.run.tending import REWORKS, Tell, Tending
from lifecycle.worker import Pipe

__all__ = [
    "Away",
    "Line",
    "NotRun",
    "Order",
    "People",
    "PreconditionFailed",
    "Report",
    "Tending",
    "Verdicts",
    "begin",
    "report",
    "tended",
]


def begin(
    jobs: Jobs, contract: Contract, argv: Sequence[str], root: str | Path, *, base: str | None = None, worker: str | None = None,
    consent: Sequence[str] = (), environment: str | None = None, verdict: bool = True, id: str | None = None,
    lease: timedelta = LEASE,
) -> str:  # fmt: skip
    """Hold the tree against what must hold before the work, and request the job; its id.

    `base` is looked up now: what is not the worker's to change is taken from there. `lease`: how long the worker may be silent
    until the job counts as abandoned. PreconditionFailed if something does not hold.
    """
    workspace = Workspace.at(root, base, environment)
    order = Order(tuple(argv), str(workspace.root), workspace.base, environment, tuple(consent))
    hold(contract, workspace)
    job = requested(jobs, contract, worker or named(argv), id, verdict and bool(contract.acceptance), lease)
    keep(jobs.store, job, order)
    return job


@contextmanager
def tended(
    jobs: Jobs, job: str, people: People | None = None, tell: Tell = lambda entry: None, reworks: int = REWORKS
) -> Iterator[Tending]:
    """Start the job's worker, and have the job tended; the worker's whole group is ended afterwards. NotRun if no run began it.

    `reworks`: how often a result that does not pass goes back to the worker; 0 rejects the first.
    """
    standing = jobs.job(job)
    order = kept(jobs.store, job)
    told = {"LIFECYCLE_JOB": job, "LIFECYCLE_WORKER": standing.parties.worker}
    here = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    with Pipe(order.argv, name=standing.parties.worker, cwd=Path(order.root), environment=told | here) as worker:
        yield Tending(jobs, job, order, worker, people or Away(), tell, reworks)
