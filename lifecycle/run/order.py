"""What a run is started with: the contract as a request, the tools for its worker, and how both are found again.

What the log does not tell, where the tree lies and how the worker is started, stands on the store's shelf, so that `resume` needs
nothing but the job's id.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from lifecycle.checks import Workspace, inside, run
from lifecycle.jobs import Jobs
from lifecycle.law.contract import Contract
from lifecycle.law.errors import LifecycleError
from lifecycle.law.job import Job
from lifecycle.law.log import Store
from lifecycle.law.terms import CommandCheck, Intervals
from lifecycle.law.tools import ToolContract
from lifecycle.law.values import CLOSED, Json
from lifecycle.toolhost import Host, Profile, Registry, register_edit, register_test
from lifecycle.worker import Task, Tool

SHELF = "runs"
"""Where on the store it is kept how a job is run."""


@dataclass(frozen=True, slots=True, config=CLOSED)
class Order:
    """How a job is run: the program of its worker, the tree it works in, the commit that the work began from."""

    argv: tuple[str, ...]
    root: str
    base: str | None = None
    environment: str | None = None
    consent: tuple[str, ...] = ()
    """Tools of which every call is asked for, whatever the policy says."""

    @property
    def workspace(self) -> Workspace:
        """The tree, with the base as it was looked up when the run began."""
        return Workspace(Path(self.root), self.base, self.environment)


_ORDER = TypeAdapter(Order)


class NotRun(LifecycleError):
    """A job that no run began, or a run that cannot begin. Remedy: what the message says."""


def kept(store: Store, job: str) -> Order:
    """How a job is run; NotRun if it was not begun by a run."""
    text = store.get(SHELF, job)
    if text is None:
        raise NotRun(f"job `{job}` was not begun by a run; to mend it, begin one with `lifecycle run`")
    return _ORDER.validate_json(text)


def keep(store: Store, job: str, order: Order) -> None:
    """Keep how a job is run, before anything of it is begun."""
    store.put(SHELF, job, _ORDER.dump_json(order).decode(), store.get(SHELF, job))


def named(argv: Sequence[str]) -> str:
    """A worker's name as its program tells it: the last word of it that is a file's name, without its suffix."""
    stems = [Path(word).stem for word in argv if not word.startswith("-")]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", (stems or ["worker"])[-1])[:128].strip("-") or "worker"


def requested(jobs: Jobs, contract: Contract, worker: str, id: str | None, verdict: bool, lease: timedelta) -> str:
    """Ask for the job: its requester is the user whom the contract names, its verifier the contract's; the job's id."""
    requester = contract.owners.user or "requester"
    verifier = contract.owners.verifier or "verifier"
    handle = jobs.request(
        contract.goal, requester=requester, worker=worker, contract=contract, verifier=verifier, authorities=(requester,),
        verdict=verdict, intervals=Intervals(lease=lease), id=id,
    )  # fmt: skip
    return handle.id


def hosted(jobs: Jobs, job: Job, order: Order) -> Host:
    """The host of the two tools that ship: edits inside the write scope, and the commands that the contract lists."""
    contract, workspace, registry = job.brief.contract, order.workspace, Registry()
    scope = contract.write_scope if contract is not None and contract.write_scope else ("**",)

    def ran(id: str, check: CommandCheck) -> object:
        return run(check, workspace, id=id, scope=scope if scope != ("**",) else ())

    register_edit(registry, workspace.root, lambda path: inside(path, scope), jobs.store)
    if contract is not None:
        register_test(registry, contract, ran)  # type: ignore[arg-type]
    host = Host(jobs, registry, question=_asked_for)
    if order.consent:
        host.restrict(job.id, Profile(tools=dict.fromkeys(order.consent, "consent")))
    return host


def _asked_for(contract: ToolContract, arguments: Json) -> bool:
    """An edit inside the write scope is what was asked for; whatever else the policy leaves open is asked for."""
    return contract.name not in ("edit", "test")


def task(job: Job, host: Host) -> Task:
    """The job as its worker is told of it, with every constraint."""
    contract = job.brief.contract
    tools = tuple(Tool(name=tool.contract.name, input_schema=tool.contract.input_schema) for tool in host.registry)
    return Task(
        job=job.id, goal=job.brief.goal, requester=job.parties.requester, worker=job.parties.worker, terms=job.terms,
        respond_by=job.brief.respond_by, write_scope=contract.write_scope if contract is not None else (), tools=tools,
    )  # fmt: skip
