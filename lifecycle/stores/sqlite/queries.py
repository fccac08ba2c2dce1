"""Which rows of `jobs`: a `Query` as one SELECT whose cost does not grow with the number of jobs.

Every list is a merge of arms. An arm walks one index in the order in which the jobs were made and stops when the page is full: it
reads no more than it gives, but for rows that a second filter leaves out.
"""

from collections.abc import Sequence

from lifecycle.law.log import Query
from lifecycle.law.states import OPEN
from lifecycle.stores.times import micros

COLUMNS = "first, job, stage, requester, worker, goal, parent, requested_at, updated_at, due"

Value = str | int
Condition = tuple[str, Sequence[Value]]


def select(query: Query, after: int) -> tuple[str, list[Value]]:
    """The statement and its values; `after` is the `first` of the job that the page begins after."""
    rest: list[Condition] = [("first > ?", [after])]
    if query.stages is not None:
        stages = sorted(stage.value for stage in query.stages)
        rest.append((f"stage IN ({', '.join('?' * len(stages))})", stages))
    rest += [
        (f"{name} = ?", [value])
        for name, value in (("requester", query.requester), ("worker", query.worker), ("parent", query.parent))
        if value is not None
    ]
    if query.due_by is not None:
        rest.append(("due <= ?", [micros(query.due_by)]))
    index, arms = _arms(query)
    statements, values = [], []
    for arm in arms:
        conditions = [*arm, *rest]
        statements.append(f"SELECT {COLUMNS} FROM jobs{index} WHERE {' AND '.join(sql for sql, _ in conditions)}")
        values += [value for _, held in conditions for value in held]
    order = "due, first" if query.due_by is not None else "first"
    values.append(max(0, query.limit))
    return f"{' UNION ALL '.join(statements)} ORDER BY {order} LIMIT ?", values


def _arms(query: Query) -> tuple[str, list[list[Condition]]]:
    """The index to walk, and what each arm holds fast of it."""
    if query.due_by is not None:
        return " INDEXED BY jobs_by_due", [[]]
    if query.parent is not None:
        return " INDEXED BY jobs_by_parent", [[]]
    if query.worker is not None or query.requester is not None:
        stages = query.stages
        halves = (0, 1) if stages is None else sorted({int(stage in OPEN) for stage in stages})
        name = "worker" if query.worker is not None else "requester"
        return f" INDEXED BY jobs_by_{name}", [[("open = ?", [half])] for half in halves]
    if query.stages is not None:
        return " INDEXED BY jobs_by_stage", [[("stage = ?", [stage.value])] for stage in sorted(query.stages)]
    return "", [[]]
