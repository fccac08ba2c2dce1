"""The board: one row per job, made from the log in the store and from nothing else, so that it is true.

Nothing that the demo's other rooms remember gets here; whoever opens the store next year is shown the same board.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from attrs import frozen

from lifecycle import Entry, Jobs, Reason, Stage, State, acts


@frozen
class Row:
    """One job: what was asked, where it went, why it stopped, and what came of it."""

    job: str
    goal: str
    worker: str
    states: tuple[State, ...]
    """The states it was in, in order."""
    stage: Stage
    reason: str | None
    """Why it stopped; None while it is open."""
    status: str | None
    """What came of it; None while it is open."""
    happened: str
    """A word on what happened on the way."""
    refused: tuple[Reason, ...]
    """Why acts were refused on it, oldest first: they changed nothing and are kept beside the log."""


def board(jobs: Jobs, ids: Iterable[str] | None = None) -> tuple[Row, ...]:
    """A row for each of these jobs, or for all there are."""
    return tuple(_row(jobs, id) for id in (_all(jobs) if ids is None else ids))


def says(act: acts.Act) -> str:
    """What an act says, in its party's own words."""
    match act:
        case acts.Request(goal=words) | acts.Counter(concern=words) | acts.Progress(line=words) | acts.Resolve(answer=words):
            return words
        case acts.Decline(reason=words) | acts.Confirm(reason=words) | acts.Reject(reason=words):
            return words
        case acts.Cancel(words=words) | acts.Halt(words=words):
            return words
        case acts.Defer(looking_into=str(words)):
            return words
        case acts.Block(need=need) if need is not None:
            return need.what
        case acts.Lapse(cause=cause):
            return f"{cause} due"
        case _:
            return ""


def _row(jobs: Jobs, id: str) -> Row:
    job, log = jobs.job(id), jobs.log(id)
    ended = job.termination
    return Row(
        job=id,
        goal=job.brief.goal,
        worker=job.parties.worker,
        states=tuple(state for state, _ in groupby(entry.stage.state for entry in log)),
        stage=job.stage,
        reason=ended.reason.value if ended else None,
        status=ended.status.value if ended else None,
        happened="; ".join(_milestones(log)),
        refused=tuple(kept.refusal.reason for kept in jobs.refusals(id)),
    )


def _milestones(log: Sequence[Entry]) -> Iterator[str]:
    for entry in log:
        match entry.act:
            case acts.Adopt():
                yield "its counter was adopted"
            case acts.Revise():
                yield "the request was revised to its counter"
            case acts.Resolve(answer=answer):
                yield f"its question was answered: {answer}"
            case acts.Lapse() if entry.origin is Stage.DEFERRED:
                yield "it broke its promise to answer"
            case acts.Lapse(cause=cause):
                yield f"the clock ended it: {cause} due"
            case acts.Halt(work=work):
                yield f"the work is left {work}: {says(entry.act)}"
            case acts.Decline() | acts.Confirm() | acts.Reject() | acts.Cancel():
                yield says(entry.act)
            case _ if entry.origin is Stage.DEFERRED:
                yield "it kept its promise to answer"


def _all(jobs: Jobs) -> Iterator[str]:
    rows = jobs.find()
    while rows:
        yield from (row.job for row in rows)
        rows = jobs.find(after=rows[-1].job)
