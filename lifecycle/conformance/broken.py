"""Machines that are broken, each in one way: what shows that the fuzz kit finds what it is meant to find.

    lifecycle fuzz lifecycle.conformance.broken:end_can_be_left

Each is the law in memory with one thing done wrong, or another table, and says what. None may be used for anything else.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeAlias

import attrs

from lifecycle.conformance.fuzz.reference import Moved, Reference
from lifecycle.conformance.fuzz.sayings import LIMITS
from lifecycle.conformance.fuzz.subject import Answer
from lifecycle.law.acts import Act, Answer as Answering, Lapse, Request
from lifecycle.law.errors import Reason, Refusal
from lifecycle.law.job import Job, Pause
from lifecycle.law.log import Entry
from lifecycle.law.states import FINAL, Ending, Role, Stage, Status
from lifecycle.law.table import TABLE, Law, Rows, enact

Broken: TypeAlias = Reference


def _under(*more: Rows, without: tuple[str, Stage] | None = None, final: frozenset[Stage] = FINAL) -> Law:
    """The law with edges more, or one less."""
    rows = [row for row in TABLE]
    if without is not None:
        act, stage = without
        rows = [
            attrs.evolve(row, origins=tuple(o for o in row.origins if (row.act, o) != (act, stage))) for row in rows
        ]
    return enact(1, (*rows, *more), final)


def end_can_be_left() -> Broken:
    """A declined job can be accepted after all."""
    back = Rows("accept", Role.WORKER, (Stage.DECLINED,), Stage.READY)
    return Reference(_under(back, final=FINAL - {Stage.DECLINED}), LIMITS)


def missing_edge() -> Broken:
    """A blocked worker cannot fail."""
    return Reference(_under(without=("fail", Stage.BLOCKED)), LIMITS)


def edge_too_many() -> Broken:
    """A blocked worker reports progress, and so lifts its own block."""
    return Reference(_under(Rows("progress", Role.WORKER, (Stage.BLOCKED,), Stage.WORKING)), LIMITS)
