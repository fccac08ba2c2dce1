"""The table as a `transitions` machine: for people who attach behaviour to stages, and as an oracle of its own.

Built from the literal table by code that shares nothing with the compiled law, so that the one can be held against the other. One
machine serves any number of models. It follows what the law has decided and decides nothing: a callback that raises cannot undo an
entry, and a stage that is set by hand changes no job.
"""

from collections.abc import Callable, Mapping

from attrs import define
from transitions import EventData, Machine, MachineError, State

from lifecycle.law.log import Entry
from lifecycle.law.states import Stage
from lifecycle.law.table import TABLE

BEFORE = "(no job)"
"""The stage of a model whose job is not requested yet."""


@define(eq=False)
class Follower:
    """A job as the machine sees it: its stage, and the entry that is being followed."""

    job: str
    state: str = BEFORE
    entry: Entry | None = None


Callback = Callable[[Follower], object]


def build(*, enter: Mapping[Stage, Callback] | None = None, leave: Mapping[Stage, Callback] | None = None) -> Machine:
    """The table as one shared machine over unregistered models, with callbacks on entering and leaving stages."""
    states = [State(name=BEFORE), *(State(name=stage.value) for stage in Stage)]
    machine = Machine(
        model=None, states=states, initial=BEFORE, auto_transitions=False, send_event=True, ignore_invalid_triggers=False
    )
    for rows in TABLE:
        for origin in rows.origins:
            source = origin.value if origin else BEFORE
            machine.add_transition(rows.act, source, rows.to.value, conditions=[_leads_to(rows.to)])
    for stages, hook in ((enter or {}, "on_enter"), (leave or {}, "on_exit")):
        for stage, callback in stages.items():
            machine.get_state(stage.value).add_callback(hook.removeprefix("on_"), _calling(callback))
    return machine


def follow(machine: Machine, follower: Follower, entry: Entry) -> None:
    """Take the follower along one entry of its job's log, calling what hangs on the stages left and entered.

    MachineError if the table has no such edge: then the log is not this law's.
    """
    follower.entry = entry
    machine.events[entry.act.act].trigger(follower, entry)
    if follower.state != entry.stage:
        raise MachineError(f"`{entry.act.act}` led to `{follower.state}`, the log says `{entry.stage}`")


def hook(
    *, enter: Mapping[Stage, Callback] | None = None, leave: Mapping[Stage, Callback] | None = None
) -> Callable[[Entry], None]:
    """What `jobs.on` takes: after the commit of each entry, call what hangs on the stages it left and entered.

    At least once each, of each job in the order of its log; a callback that raises is recorded and tried again, and undoes nothing.
    Nothing is remembered from entry to entry, so that it goes on after a restart where it stopped.
    """
    machine = build(enter=enter, leave=leave)
    return lambda entry: follow(machine, Follower(entry.job, entry.origin.value if entry.origin else BEFORE), entry)


def legal(stage: Stage | None) -> frozenset[str]:
    """The acts that leave a stage, by the machine alone: the oracle that the compiled table is held against."""
    return frozenset(_ORACLE.get_triggers(stage.value if stage else BEFORE))


def leads(stage: Stage | None, act: str) -> frozenset[Stage]:
    """Where an act of this name may lead from a stage, by the machine alone."""
    edges = _ORACLE.get_transitions(act, stage.value if stage else BEFORE) if act in _ORACLE.events else []
    return frozenset(Stage(str(edge.dest)) for edge in edges)


def _leads_to(stage: Stage) -> Callable[[EventData], bool]:
    """Of two edges by the same act, the one that the log took."""
    return lambda event: next(iter(event.args)).stage is stage


def _calling(callback: Callback) -> Callable[[EventData], None]:
    def call(event: EventData) -> None:
        assert isinstance(event.model, Follower)
        callback(event.model)

    return call


_ORACLE = build()
