"""Whatever JSON comes in, every store takes it or refuses it in the same way, and goes on."""

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lifecycle
from lifecycle import Jobs, LifecycleError, Refused, acts

from .stories import WAYS, Clock, at


def _nested(depth: int, value: object) -> object:
    for _ in range(depth):
        value = [value]
    return value


EDGES = [2**53 - 1, 2**53, -(2**53), 2**63, 10**30, 0.1, 1e308, 1e-320, -0.0, "", "\x00", "\ud800", "\U0001f600", "\u202e", "\x7f"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(EDGES)
KEYS = st.text(max_size=5) | st.sampled_from(["act", "answers", "__class__", "\x00", "\udfff"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8)
DEEP = st.builds(_nested, st.sampled_from([62, 63, 64, 65, 200, 990, 3_000]), SCALARS)
FIELDS = sorted({name for model in acts.ACTS.values() for name in model.model_fields} - {"id", "at"})
BODIES = st.dictionaries(st.sampled_from(FIELDS) | KEYS, VALUES | DEEP, max_size=3)
NAMES = st.sampled_from([*acts.ACTS, "finish", ""]) | VALUES
STAGES = st.sampled_from(list(WAYS))
NUMBERS = count()
MINTED = re.compile("[0-9a-f]{24}")


def _json(value: object) -> str:
    """JSON, iteratively, so that what is nested deeper than Python likes is written too; NaN and lone surrogates as they come."""
    opened = 0
    while isinstance(value, list) and len(value) == 1:
        opened, value = opened + 1, value[0]
    return "[" * opened + json.dumps(value, default=str) + "]" * opened


def _text(name: object, body: dict[str, object]) -> str:
    pairs = [("act", name), *((key, value) for key, value in body.items() if key != "act")]
    return "{" + ", ".join(f"{json.dumps(key)}: {_json(value)}" for key, value in pairs) + "}"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Jobs]]:
    """A store of each kind, under one clock that stands still."""
    path: Path = tmp_path_factory.mktemp("poison") / "jobs.db"
    opened = [lifecycle.open(url, clock=Clock()) for url in ("memory:", f"sqlite:///{path}")]
    yield opened
    for jobs in opened:
        jobs.close()


def told(jobs: Jobs, job: str, text: str) -> tuple[object, ...]:
    """What a text by the worker comes to, and how it leaves the job; minted ids, which differ, blotted out."""
    try:
        receipt = jobs.seat(job, "wes").submit_json(text)
        answer: tuple[object, ...] = (receipt.act, receipt.seq, receipt.stage, receipt.at)
    except Refused as refused:
        assert "\n" not in str(refused)
        answer = (refused.reason, MINTED.sub("ID", str(refused)))
    made = [(entry.act.act, entry.stage, entry.at) for entry in jobs.log(job)]
    kept = [(one.refusal.reason, MINTED.sub("ID", one.payload), one.at) for one in jobs.refusals(job)]
    return answer, str(jobs.job(job).termination), made, kept


@settings(max_examples=160, deadline=None, database=None, derandomize=True)
@given(stage=STAGES, name=NAMES, body=BODIES)
def test_case_90_every_payload_is_taken_or_refused_identically_on_every_store(
    stores: list[Jobs], stage: lifecycle.Stage, name: object, body: dict[str, object]
) -> None:
    """Any act, any fields, any JSON: one answer on all stores, the same job after it; and the next act is made as ever."""
    text, id = _text(name, body), f"j{next(NUMBERS)}"
    answers = []
    for jobs in stores:
        job = at(jobs, stage, id)
        answers.append(told(jobs, job.id, text))
        assert job.job == lifecycle.Engine(jobs.store).job(job.id)
        assert jobs.audit(job.id) == []
    assert answers[0] == answers[1]


@settings(max_examples=80, deadline=None, database=None, derandomize=True)
@given(raw=st.text(max_size=40) | st.binary(max_size=40) | VALUES.map(_json))
def test_whatever_is_no_act_is_answered_and_forgotten(stores: list[Jobs], raw: str | bytes) -> None:
    """Any text, any bytes: a typed answer in one line, and the job as it was."""
    for jobs in stores:
        job = at(jobs, lifecycle.Stage.WORKING, f"j{next(NUMBERS)}")
        before = job.job
        with pytest.raises(LifecycleError) as error:
            job.seat("wes").submit_json(raw)
        assert isinstance(error.value, Refused)
        assert "\n" not in str(error.value)
        assert job.job == before


@settings(max_examples=80, deadline=None, database=None, derandomize=True)
@given(value=VALUES)
def test_a_value_comes_back_as_it_went_in_or_not_at_all(stores: list[Jobs], value: object) -> None:
    """A delivered value is refused on all stores, or comes back equal, type for type, from all of them."""
    found = []
    for jobs in stores:
        job = at(jobs, lifecycle.Stage.READY, f"j{next(NUMBERS)}")
        try:
            job.seat("wes").deliver(value=value)
        except Refused as refused:
            found.append(str(refused.refusal.detail))
            continue
        act = lifecycle.Engine(jobs.store).log(job.id)[-1].act
        assert isinstance(act, acts.Deliver)
        assert json.dumps(act.value) == json.dumps(value)
        found.append(json.dumps(act.value))
    assert found[0] == found[1]
