"""Honest workers, each otherwise than the reference worker."""

import subprocess
import time

from lifecycle.conformance.workers.reference import GOALS, Reference, estimate, take, work
from lifecycle.law import acts
from lifecycle.worker import Can, Cannot, CannotTell, Desk, Served, Task


class _Refuses(Served):
    def __init__(self, send: object = None) -> None:
        super().__init__(lambda desk: None, _declines, estimate=_cannot)


def _declines(task: Task) -> acts.Decline:
    return acts.Decline(kind="out_of_scope", reason="it is being wound up and takes nothing new")


def _cannot(task: Task) -> Can | Cannot | CannotTell:
    return Cannot(why="it is being wound up and takes nothing new")


refuses = _Refuses


def _uncommitted(task: Task) -> Can | Cannot | CannotTell:
    told = estimate(task)
    return told.model_copy(update={"commitment": False}) if isinstance(told, Can) else told


class Beside(Reference):
    """Two jobs at once, and it says so; it commits to nothing."""

    def __init__(self, send: object = None) -> None:
        super().__init__(send)
        self._estimate = _uncommitted

    def _takes(self, task: Task) -> acts.Act:
        held = [desk for desk in self._desks.values() if desk.condition in ("working", "blocked")]
        act = take(task)
        if len(held) != 1 or task.job in self._desks or not isinstance(act, acts.Accept):
            return super()._takes(task)
        assert self._journal is not None
        self._journal.accept(task.job)
        self._taken[task.job] = act = acts.Accept(alongside=True)
        self._begin(Desk(task, self._send))
        return act


class _NoLedger(Reference):
    """It does its work where nobody has thought of a ledger."""

    @staticmethod
    def work(desk: Desk) -> acts.Deliver | acts.Fail:
        if desk.task.goal == GOALS.slow:
            while True:
                desk.progress("at it")
                time.sleep(0.05)
        return desk.done("page", met={"done": "page"}) if desk.task.goal == GOALS.plain else work(desk)


no_ledger = _NoLedger


class WithTools(Reference):
    """It keeps a program of its own below it, which does nothing for it now."""

    def __init__(self, send: object = None) -> None:
        super().__init__(send)
        self._tool = subprocess.Popen(["sleep", "600"])
