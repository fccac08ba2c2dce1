"""One explicit finite-state machine that every delegated job obeys.

    import lifecycle

    with lifecycle.open("sqlite:///jobs.db") as jobs:
        job = jobs.request("total 2024", requester="planner", worker="coder", conditions={"c1": "report.csv totals 2024"})
        planner, coder = job.seat("planner"), job.seat("coder")
        coder.accept()
        coder.deliver("report.csv", met={"c1": "report.csv:12"})
        planner.confirm("checked by hand")
        print(job.state, job.termination)

`acts` holds what each party may do, `terms` what may be asked, `open` where it all begins.
"""

from lifecycle.aio import AsyncJobs, open_async
from lifecycle.engine import Engine, Notice
from lifecycle.engine.clerk import Submission
from lifecycle.jobs import Handle, Jobs, open
from lifecycle.law import acts, capability, contract, terms, tools
from lifecycle.law.errors import (
    Conflict,
    CorruptLog,
    JobNotFound,
    KeptRefusal,
    LifecycleError,
    Reason,
    Refusal,
    Refused,
    StoreError,
    UnknownLaw,
)
from lifecycle.law.job import Job
from lifecycle.law.limits import Limits
from lifecycle.law.log import Entry, Receipt
from lifecycle.law.states import Stage, State
from lifecycle.seat import Seat

__all__ = [
    "AsyncJobs",
    "Conflict",
    "CorruptLog",
    "Engine",
    "Entry",
    "Handle",
    "Job",
    "JobNotFound",
    "Jobs",
    "KeptRefusal",
    "LifecycleError",
    "Limits",
    "Notice",
    "Reason",
    "Receipt",
    "Refusal",
    "Refused",
    "Seat",
    "Stage",
    "State",
    "StoreError",
    "Submission",
    "UnknownLaw",
    "acts",
    "capability",
    "contract",
    "open",
    "open_async",
    "terms",
    "tools",
]
