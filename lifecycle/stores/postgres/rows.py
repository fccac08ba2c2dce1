"""Between the rows of PostgreSQL and what they mean."""

from collections.abc import Sequence
from json import dumps, loads
from typing import Any

from lifecycle.law.log import Entry, Head, Row, unseal
from lifecycle.law.states import Stage
from lifecycle.stores.times import moment


def kept(text: str) -> str:
    """A text as it is kept: ASCII, whatever is in it; an id is its own."""
    return dumps(text)[1:-1]


def said(text: str) -> str:
    """What was kept so."""
    told: str = loads(f'"{text}"')
    return told


def head(stand: Sequence[Any]) -> Head:
    """Where a job's log stands."""
    seq, hash, children, renewed_at = stand
    return Head(seq, hash.hex(), children, moment(renewed_at) if renewed_at is not None else None)


def entry(job: str, seq: int, prev: bytes, hash: bytes, body: bytes) -> Entry:
    """One entry of a log; CorruptLog if it is none."""
    return unseal(said(job), seq, prev.hex(), hash.hex(), body)


def row(
    job: str, stage: str, requester: str, worker: str, goal: str, parent: str | None, requested_at: int, updated_at: int,
    due: int | None,
) -> Row:  # fmt: skip
    """One row of the list of jobs."""
    falls, above = moment(due) if due is not None else None, said(parent) if parent is not None else None
    times = moment(requested_at), moment(updated_at), falls
    return Row(said(job), Stage(stage), said(requester), said(worker), said(goal), above, *times)
