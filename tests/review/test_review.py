"""The review over time: every count is of what the log holds, and the picture can be drawn."""

import json
import xml.etree.ElementTree as Xml
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

import lifecycle
from lifecycle import acts
from lifecycle.cli import main
from lifecycle.law.contract import Contract, Escalation, EvidenceRule
from lifecycle.law.terms import Condition, FileCheck, Intervals, Need
from lifecycle.law.tools import ProposedCall
from lifecycle.review import NO_SCOPE, review
from lifecycle.review.plots import plot

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
CONTRACT = Contract(
    "c", "1", "make it", (Condition("made", "it is there", FileCheck("a.txt")),), write_scope=("src/",),
    escalation=(Escalation("a new dependency", "owner"),), evidence=(EvidenceRule("made", "the file", ("ann",)),),
)  # fmt: skip
SLOW = Intervals(lease=timedelta(days=9), stall=timedelta(days=9))
CALL = ProposedCall("c1", "edit", "sha256:01", "sha256:02", {"path": "a"})


class Clock:
    """A clock that moves when it is told to."""

    now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    """A store in which something of everything has happened, over two days."""
    clock = Clock()
    url = f"sqlite:///{tmp_path}/jobs.db"
    with lifecycle.open(url, clock=clock) as jobs:
        one = jobs.request("make it", requester="ann", worker="wes", contract=CONTRACT, intervals=SLOW, id="one")
        wes = one.seat("wes")
        wes.accept()
        wes.submit(acts.Block(need=Need("which library?", "owner", choice="a new dependency")))
        jobs.seat("one", "owner").resolve("none")
        with pytest.raises(lifecycle.Refused):
            wes.progress("all is well")
        jobs.submit("one", acts.Propose(calls=(CALL,)), by="wes", id="set")
        bundle = {"set": "set", "decisions": [{"call": "c1", "digest": "sha256:ff", "verdict": "approved"}]}
        jobs.submit("one", acts.Decide(answers="set", decisions=bundle), by="ann")
        wes.submit(acts.Deliver(artifacts=(acts.Artifact("tree", "sha256:aa"),)))
        away = acts.CheckRecord("made", "unavailable", artifact="sha256:bb")
        one.seat("ann").submit(acts.Rework(reason="not yet", mend=("made",), checks=(away,)))
        clock.now += timedelta(days=1)
        wes.submit(acts.Deliver(artifacts=(acts.Artifact("tree", "sha256:aa"),)))
        skip = acts.CheckRecord("made", "skipped", authority="ann", artifact="sha256:aa")
        one.seat("ann").submit(acts.Confirm(checks=(skip,)))
        jobs.request("say it", requester="ann", worker="wes", id="two").seat("wes").decline("no time")
        jobs.request("sing it", requester="ann", worker="wes", id="three")
    yield url


def test_everything_that_happened_is_counted_once(place: str) -> None:
    with lifecycle.open(place, sweep_every=None) as jobs:
        found = review(jobs)
    assert found.jobs == 3
    assert found.ended == {"accepted / passed": 1, "declined / none": 1, "open": 1}
    assert found.escalations == {"a new dependency": 1}
    assert found.stale == {"src/": 2}, "a record of another tree, a decision of another call"
    assert found.unchecked == {"skipped": {date(2026, 12, 2): 1}, "unavailable": {date(2026, 12, 1): 1}}
    assert found.refusals == {"nothing_to_point_at": 1}


def test_since_a_day_counts_what_came_then_and_later(place: str) -> None:
    with lifecycle.open(place, sweep_every=None) as jobs:
        found = review(jobs, since=date(2026, 12, 2))
    assert (found.escalations, found.stale, found.refusals) == ({}, {}, {})
    assert found.unchecked["skipped"] == {date(2026, 12, 2): 1} and found.unchecked["unavailable"] == {}


def test_digests_of_jobs_without_a_scope_are_told_apart() -> None:
    with lifecycle.open("memory:", sweep_every=None) as jobs:
        handle = jobs.request("g", requester="ann", worker="wes", conditions={"c": "it is"})
        handle.seat("wes").accept()
        handle.seat("wes").submit(acts.Deliver(artifacts=(acts.Artifact("a", "sha256:aa"),)))
        handle.seat("ann").submit(acts.Reject(reason="no", checks=(acts.CheckRecord("c", "failed", artifact="sha256:bb"),)))
        assert review(jobs).stale == {NO_SCOPE: 1}


@pytest.mark.parametrize("form", ["svg", "png"])
def test_it_is_drawn_full_and_empty(form: str, place: str) -> None:
    for url in (place, "memory:"):
        with lifecycle.open(url, sweep_every=None) as jobs:
            made = plot(review(jobs), form)  # type: ignore[arg-type]
        assert made.startswith(b"\x89PNG") if form == "png" else Xml.fromstring(made).tag.endswith("svg")


def test_the_command_tells_it_as_lines_as_json_and_as_a_picture(place: str, tmp_path: Path) -> None:
    out = tmp_path / "review.svg"
    run = CliRunner().invoke(main, ["report", "--store", place, "--out", str(out)])
    assert run.exit_code == 0 and "nothing_to_point_at" in run.output and out.stat().st_size > 5_000
    told = json.loads(CliRunner().invoke(main, ["report", "--store", place, "--json", "--since", "2026-12-02"]).output)
    assert told["unchecked"] == {"skipped": {"2026-12-02": 1}, "unavailable": {}}
    assert CliRunner().invoke(main, ["report", "--store", place, "--out", "review.txt"]).exit_code == 2
