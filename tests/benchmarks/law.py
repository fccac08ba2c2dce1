"""The law beside other state machines, on the same moves: request, accept, four progresses, deliver, confirm."""

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from automat import TypeMachineBuilder
from statemachine import State as PeerState
from statemachine import StateMachine
from transitions.extensions.nesting import HierarchicalMachine, NestedState

from lifecycle.law import acts
from lifecycle.law.decide import begin, decide
from lifecycle.law.errors import Refusal
from lifecycle.law.fold import learn, replay
from lifecycle.law.job import Job
from lifecycle.law.log import Entry, seal, unseal, written
from lifecycle.law.states import Stage
from lifecycle.law.table import LAW
from tests.benchmarks.measure import Figure, race

NOW = datetime(2026, 12, 1, tzinfo=UTC)
REQUEST = acts.Request(goal="total 2024", worker="coder", conditions=({"id": "c1", "text": "report.csv totals 2024"},))
REPORT = acts.Report((acts.Finding("c1", "met", "report.csv:12"),))
MOVES: tuple[tuple[str, acts.Act], ...] = (
    ("coder", acts.Accept(answers="r")),
    *(("coder", acts.Progress(line="on it", points_at=(acts.Pointer("report.csv"),))) for _ in range(4)),
    ("coder", acts.Deliver(artifacts=(acts.Artifact("report.csv"),), report=REPORT)),
    ("planner", acts.Confirm(answers="a5", reason="checked")),
)
NAMES = [act.act for _, act in MOVES]


def requested() -> Job:
    """A job that was just asked for."""
    entry = begin("j", REQUEST, id="r", by="planner", now=NOW)
    assert isinstance(entry, Entry)
    return learn(None, entry)


def walk(jobs: int = 2_000) -> int:
    """Every move of the script, judged and learnt, for so many jobs."""
    begun = requested()
    for _ in range(jobs):
        job = begun
        for n, (by, act) in enumerate(MOVES):
            entry = decide(job, act, id=f"a{n}", by=by, now=NOW)
            job = learn(job, entry)  # type: ignore[arg-type]
    assert job.stage is Stage.ACCEPTED
    return jobs * len(MOVES)


def progress(times: int = 10_000) -> int:
    """The commonest move alone."""
    job, (by, act) = requested(), MOVES[1]
    accepted = decide(job, MOVES[0][1], id="a0", by="coder", now=NOW)
    job = learn(job, accepted)  # type: ignore[arg-type]
    for _ in range(times):
        learn(job, decide(job, act, id="a1", by=by, now=NOW))  # type: ignore[arg-type]
    return times


def refused(times: int = 10_000) -> int:
    """An act that the stage does not have."""
    job, act = requested(), MOVES[-1][1]
    for _ in range(times):
        answer = decide(job, act, id="x", by="planner", now=NOW)
    assert isinstance(answer, Refusal)
    return times


def sealed() -> list[Entry]:
    """The whole log of one job, sealed."""
    entry = begin("j", REQUEST, id="r", by="planner", now=NOW)
    job, log = None, []
    for n, (by, act) in enumerate([("planner", REQUEST), *MOVES]):
        if job is not None:
            entry = decide(job, act, id=f"a{n - 1}", by=by, now=NOW)
        assert isinstance(entry, Entry)
        log.append(seal(entry, log[-1].hash if log else "", written(act)))
        job = learn(job, log[-1])
    return log


def nested() -> Callable[[], int]:
    """`transitions`, nested states, the same declaration."""
    NestedState.separator = "."
    names: dict[str, list[str]] = {}
    for stage in Stage:
        state, _, part = stage.partition(".")
        names.setdefault(state, []).extend([part] if part else [])
    states = [{"name": name, "children": parts} if parts else name for name, parts in names.items()]
    edges = [{"trigger": r.act, "source": r.origin.value, "dest": r.to.value} for r in LAW.rows if r.origin is not None]

    class Model:
        pass

    model: Any = Model()
    machine = HierarchicalMachine(model=model, states=states, transitions=edges, initial="requested", auto_transitions=False)

    def run(jobs: int = 100) -> int:
        for _ in range(jobs):
            machine.set_state("requested", model)
            for name in NAMES:
                getattr(model, name)()
        return jobs * len(NAMES)

    return run


def statemachine() -> Callable[[], int]:
    """python-statemachine, flat, the edges of the script."""

    class Peer(StateMachine):  # type: ignore[misc]
        requested, ready = PeerState(initial=True), PeerState()
        working, delivered, accepted = PeerState(), PeerState(), PeerState(final=True)
        accept = requested.to(ready)
        progress = ready.to(working) | working.to.itself()
        deliver = working.to(delivered)
        confirm = delivered.to(accepted)

    def run(jobs: int = 40) -> int:
        for _ in range(jobs):
            peer = Peer()
            for name in NAMES:
                peer.send(name)
        return jobs * len(NAMES)

    return run


def automat() -> Callable[[], int]:
    """automat, flat, the edges of the script."""
    from typing import Protocol

    class Moves(Protocol):
        def accept(self) -> None: ...
        def progress(self) -> None: ...
        def deliver(self) -> None: ...
        def confirm(self) -> None: ...

    builder = TypeMachineBuilder(Moves, object)
    requested, ready, working, delivered, accepted = map(builder.state, ("requested", "ready", "working", "delivered", "accepted"))
    requested.upon(Moves.accept).to(ready).returns(None)
    ready.upon(Moves.progress).to(working).returns(None)
    working.upon(Moves.progress).loop().returns(None)
    working.upon(Moves.deliver).to(delivered).returns(None)
    delivered.upon(Moves.confirm).to(accepted).returns(None)
    machine = builder.build()

    def run(jobs: int = 1_000) -> int:
        for _ in range(jobs):
            peer = machine(object())
            for name in NAMES:
                getattr(peer, name)()
        return jobs * len(NAMES)

    return run


def memory(jobs: int = 2_000) -> float:
    """Bytes per live job: accepted, one condition, texts of its own."""
    held = []
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for n in range(jobs):
        request = acts.Request(goal=f"goal {n}", worker="coder", conditions=({"id": "c1", "text": f"it does {n}"},))
        entry = begin(f"j{n}", request, id=f"r{n}", by="planner", now=datetime.fromtimestamp(n, UTC))
        job = learn(None, entry)  # type: ignore[arg-type]
        accept = decide(job, acts.Accept(answers=f"r{n}"), id=f"a{n}", by="coder", now=datetime.fromtimestamp(n, UTC))
        held.append(learn(job, accept))  # type: ignore[arg-type]
    del request, entry, job, accept
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / len(held)


def importing() -> tuple[float, float, list[str]]:
    """Milliseconds to import lifecycle, and pydantic alone; and which wing's dependency was loaded with it."""
    program = "import time, sys; t = time.perf_counter(); import {}; print(time.perf_counter() - t, *sys.modules)"
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    taken, loaded = [], ""
    for module in ("lifecycle", "pydantic, pydantic.dataclasses; pydantic.BaseModel, pydantic.TypeAdapter"):
        call = [sys.executable, "-c", program.format(module)]
        runs = [subprocess.run(call, capture_output=True, text=True, check=True, env=compiled) for _ in range(6)]
        taken.append(min(float(run.stdout.split()[0]) for run in runs) * 1_000)
        loaded = loaded or runs[0].stdout
    wings = ("sqlite3", "transitions", "click", "rich", "hypothesis", "psycopg", "asyncio")
    return taken[0], taken[1], [wing for wing in wings if wing in loaded.split()]


def figures() -> Iterator[Figure]:
    """Every figure of the law."""
    log = sealed()
    hierarchical = nested()
    yield race("law: whole script", walk, "nested transitions", hierarchical, 25)
    yield race("law: progress", progress, "nested transitions", hierarchical, 25)
    yield race("law: progress", progress, "a rate of 300,000/s", lambda: _wait_for(300_000), 1)
    yield race("law: whole script", walk, "python-statemachine", statemachine(), None)
    yield race("law: whole script", walk, "automat (no facts kept)", automat(), None)
    yield race("law: refusal", refused, "law: progress", progress, 0.5)
    yield race("replay, entries in hand", lambda: _replay(log), "a rate of 150,000/s", lambda: _wait_for(150_000), 1)
    yield race("replay, from bytes", lambda: _from_bytes(log), "a rate of 150,000/s", lambda: _wait_for(150_000), None)
    taken = memory()
    yield Figure("memory per live job", taken, 1_536, "1.5 KB", 1_536 / taken, 1, " B")
    ours, pydantic, wings = importing()
    yield Figure(f"import lifecycle (wings loaded: {', '.join(wings) or 'none'})", ours, 200, "200 ms", 200 / ours, 1, " ms")
    yield Figure("import lifecycle", ours, pydantic, "pydantic alone", pydantic / ours, None, " ms")


def _replay(log: list[Entry], times: int = 1_000) -> int:
    for _ in range(times):
        replay(log)
    return times * len(log)


def _from_bytes(log: list[Entry], times: int = 300) -> int:
    for _ in range(times):
        replay(unseal("j", entry.seq, entry.prev, entry.hash, entry.body) for entry in log)
    return times * len(log)


def _wait_for(rate: int) -> int:
    """A fixed rate, as a peer: it takes a hundredth of a second for a hundredth of it."""
    import time

    until = time.perf_counter() + 0.01
    while time.perf_counter() < until:
        pass
    return rate // 100
