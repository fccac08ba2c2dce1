"""The demo: real worker programs, and an orchestrator that takes their jobs through every one of the nine states.

    outcome = run(Path("demo.db"), print)
    for row in outcome.board: ...

`worker` is the program at the other end of the pipe, `orchestrator` the example of how the library is embedded, `board` what the
log tells afterwards. Here lives only what starts them and sees them off: no process outlives a run, however it ends.
"""

import secrets
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

from attrs import frozen

import lifecycle
from lifecycle.demo.board import Row, board, says
from lifecycle.demo.books import lay_out
from lifecycle.demo.orchestrator import ERRANDS, Echo, see_through
from lifecycle.demo.program import Program
from lifecycle.law.door import shown
from lifecycle.law.states import FINAL

__all__ = ["Outcome", "Row", "board", "run"]

SWEEP = 0.2
"""Seconds between two sweeps of the clock."""

DEADLINE = 15.0
"""Seconds until the demo stops waiting, whatever is still open: by then the clock should have ended everything."""


@frozen
class Outcome:
    """What a run leaves: the store, the desks with what the workers made, and the board of its jobs."""

    store: Path
    desks: Path
    board: tuple[Row, ...]
    seconds: float


def run(store: Path | None = None, echo: Echo = print) -> Outcome:
    """Run the demo on a store, a new temporary one by default; `echo` is given a line for every entry, as it is written.

    The store may have jobs already, also those of an earlier run. LifecycleError if it cannot be opened.
    """
    begun = time.monotonic()
    store = (store or Path(tempfile.mkdtemp(prefix="lifecycle-demo-")) / "jobs.db").resolve()
    name = secrets.token_hex(3)
    desks = store.with_name(f"{store.stem}-desks") / name

    one_at_a_time = Lock()

    def tell(line: str) -> None:
        with one_at_a_time:
            echo(f"{time.monotonic() - begun:5.2f} s  {shown(line)}")

    with lifecycle.open(f"sqlite:///{store}", sweep_every=SWEEP) as jobs:
        after = max((notice.position for notice in jobs.watch()), default=0)
        # Left from right to left: first the programs, so that no thread waits for one of them, then the threads.
        with ThreadPoolExecutor(len(ERRANDS)) as threads, ExitStack() as programs:
            errands: dict[str, Future[None]] = {}
            for errand in ERRANDS:
                desk = desks / errand.worker
                lay_out(desk)
                program = programs.enter_context(Program(errand.worker, desk))
                job = errand.asked(jobs, f"{errand.worker}-{name}")
                errands[job.id] = threads.submit(see_through, errand, job, program, desk, tell)
            _watch(jobs, after, errands, tell, begun + DEADLINE)
        return Outcome(store, desks, board(jobs, errands), time.monotonic() - begun)


def _watch(jobs: lifecycle.Jobs, after: int, errands: Mapping[str, Future[None]], tell: Echo, until: float) -> None:
    """Tell every entry of these jobs as it is written, until all of them have ended."""
    at_work = set(errands)
    while at_work and time.monotonic() < until:
        for notice in jobs.watch(after, wait=SWEEP):
            after, entry = notice.position, notice.entry
            if entry.job not in errands:
                continue
            tell(f"{entry.job:<17} {entry.by:<10} {entry.act.act:<9} {entry.stage:<20} {says(entry.act)}".rstrip())
            if entry.stage in FINAL:
                at_work.discard(entry.job)
        for thread in errands.values():
            if thread.done():
                thread.result()  # a fault of the orchestrator's own ends the demo
