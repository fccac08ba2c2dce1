"""A job is the fold of its entries: of any prefix of them, in any process, from a snapshot or from the beginning."""

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from attrs import evolve

from lifecycle.law import acts
from lifecycle.law.decide import may
from lifecycle.law.errors import CorruptLog, CorruptSnapshot
from lifecycle.law.fold import learn, replay
from lifecycle.law.guards.move import World
from lifecycle.law.job import Job
from lifecycle.law.log import Entry, Lineage, seal, unseal, written
from lifecycle.law.snapshot import dump, load
from lifecycle.law.states import ENDED, OPEN, PAUSED, Ending, Stage, Status, Work
from lifecycle.law.table import LAW
from lifecycle.law.terms import Budget, Intervals, Need, Spent, Terms
from tests.law.script import (
    ADVERT,
    ARTIFACT,
    ATOMIC,
    BUILDS,
    CONTRACT,
    DAY,
    GUARDED,
    HOUR,
    LOOKS,
    MINUTE,
    NO_NET,
    NO_ROOT,
    NOON,
    READS,
    RULES,
    SHIPS,
    Script,
    at,
)

ROOT = Path(__file__).parents[2]


def negotiated() -> Script:
    """A job that was deferred, countered, revised, vetoed, renegotiated, blocked, approved, delivered twice and confirmed."""
    script = Script(
        contract=CONTRACT,
        requirements=(ATOMIC, GUARDED),
        constraints=("be quiet",),
        budget=Budget(tokens=1000, seconds=9e5),
        review=True,
        rules=RULES,
        respond_by=NOON + HOUR,
        complete_by=NOON + 9 * DAY,
        intervals=Intervals(lease=DAY),
    )
    script.later(MINUTE).does("defer", need=Need("a key", "own", NOON + HOUR, "which index")).later(MINUTE).does("resolve", "own")
    script.later(MINUTE).does("counter", terms=Terms((SHIPS,)), binding=False, spent=Spent(1))
    script.later(MINUTE).does("revise", goal="less")
    script.later(MINUTE).does("accept", advertisement=ADVERT, estimate=acts.Estimate(True, 500, done_by=NOON + DAY), alongside=True)
    script.later(MINUTE).does("veto", rules=RULES).later(MINUTE).does("accept", advertisement=ADVERT)
    script.later(HOUR).does("clear", rules=RULES)
    script.later(MINUTE).does("progress", spent=Spent(10, seconds=60.5)).later(MINUTE).does("propose").later(MINUTE).does("decide")
    script.later(MINUTE).does("propose").falls_due().does("block").later(HOUR).does("resolve")
    script.does("counter", terms=Terms((READS, BUILDS), (NO_NET,), budget=Budget(tokens=900)), advertisement=ADVERT).later(MINUTE)
    script.does("adopt").later(MINUTE).does("clear", rules=RULES).later(MINUTE).does("counter").later(MINUTE).does("insist")
    script.later(MINUTE).does("deliver").later(HOUR).does("rework")
    told = acts.Report((acts.Finding("reads", "met", "seen"), acts.Finding("builds", "unverifiable")))
    script.later(MINUTE).does("deliver", artifacts=(ARTIFACT,), report=told, spent=Spent(2000, seconds=60.5))
    records = (acts.CheckRecord("builds", "passed"), acts.CheckRecord("stays", "passed"))
    return script.later(MINUTE).does("confirm", checks=records, reason="good")


def child() -> Script:
    """A job below another, at work."""
    above = World(parent=at(Stage.READY, exclusions=(NO_NET,), requirements=(GUARDED,)).job)
    terms = {"exclusions": (NO_NET,), "requirements": (GUARDED,)}
    return Script(by="wes", worker="sub", parent="p", world=above, **terms).does("accept", "sub").does("progress", "sub")


BROKEN = (acts.CheckRecord("builds", "failed"),)
STORIES = {
    **{stage.value: (lambda stage=stage: at(stage)) for stage in Stage},
    "negotiated": negotiated,
    "child": child,
    "abandoned": lambda: at(Stage.WORKING).falls_due(),
    "stopped by the clock": lambda: at(Stage.STOPPING).falls_due(),
    "halted": lambda: at(Stage.STOPPING).does("halt", work="reverted"),
    "unjudged": lambda: at(Stage.DELIVERED).falls_due(),
    "broken": lambda: at(Stage.READY, conditions=(BUILDS,)).does("deliver").does("reject", checks=BROKEN),
}


def jobs(entries: list[Entry]) -> list[Job]:
    """The job after each entry."""
    told: list[Job] = []
    for entry in entries:
        told.append(learn(told[-1] if told else None, entry))
    return told


@pytest.mark.parametrize("name", STORIES)
def test_replaying_any_prefix_gives_that_prefixs_job(name: str) -> None:
    script = STORIES[name]()
    told = jobs(script.entries)
    assert told[-1] == script.job
    for length, job in enumerate(told, 1):
        assert replay(script.entries[:length]) == job
        assert replay(script.entries[length:], job) == script.job


@pytest.mark.parametrize("name", STORIES)
def test_every_line_has_its_place_its_way_its_party_its_time_and_its_law(name: str) -> None:
    script = STORIES[name]()
    first = script.entries[0]
    assert (first.seq, first.origin, first.stage, first.act.act) == (0, None, Stage.REQUESTED, "request")
    for before, after in pairwise(script.entries):
        assert after.seq == before.seq + 1
        assert after.origin is before.stage
        assert after.at >= before.at
    for entry, job in zip(script.entries, jobs(script.entries), strict=True):
        assert (job.seq, job.stage, job.at) == (entry.seq, entry.stage, entry.at)
        assert entry.law == job.law == LAW.version
        assert entry.id and entry.by and entry.job == "job"


@pytest.mark.parametrize("name", STORIES)
def test_open_has_no_termination_ended_has_one_and_paused_has_a_pause(name: str) -> None:
    for job in jobs(STORIES[name]().entries):
        assert job.open is (job.stage in OPEN) is (job.termination is None)
        assert job.ended is (job.stage in ENDED)
        assert (job.pause is not None) is (job.stage in PAUSED)
        if job.pause:
            assert job.pause.decision and job.pause.owed_by and job.pause.since == job.at


@pytest.mark.parametrize("name", STORIES)
def test_passed_if_and_only_if_the_result_was_accepted(name: str) -> None:
    for job in jobs(STORIES[name]().entries):
        passed = job.termination is not None and job.termination.status is Status.PASSED
        assert passed is (job.stage is Stage.ACCEPTED)


@pytest.mark.parametrize("name", STORIES)
def test_a_termination_once_written_never_changes(name: str) -> None:
    ends = [job.termination for job in jobs(STORIES[name]().entries) if job.termination]
    assert all(end == ends[0] for end in ends)


ENDINGS = [
    ("", "decline", {}, Ending.DECLINED),
    ("", "cancel", {}, Ending.CANCELLED),
    ("", "cancel", {"reason": "superseded"}, Ending.SUPERSEDED),
    ("accept", "cancel", {"reason": "superseded"}, Ending.SUPERSEDED),
    *(
        ("accept", "fail", {"reason": reason}, Ending(reason))
        for reason in (
            *("failed", "withdrawn", "budget_exhausted", "progress_stalled", "environment_unavailable", "invariant_violated"),
            "approval_denied",
        )
    ),
]


@pytest.mark.parametrize(("before", "name", "fields", "reason"), ENDINGS)
def test_a_party_that_ends_a_job_says_why_and_nothing_came_of_it(
    before: str, name: str, fields: dict[str, object], reason: Ending
) -> None:
    job = Script().tells(before).does(name, **fields).job
    assert job.termination is not None
    assert (job.termination.reason, job.termination.status, job.termination.at) == (reason, Status.NONE, NOON)
    assert (job.termination.cause, job.termination.owed_by) == (None, None)


def test_an_approval_denied_is_an_error_and_never_a_decline() -> None:
    job = at(Stage.AWAITING_APPROVAL).does("decide").does("fail", reason="approval_denied").job
    assert (job.stage, job.termination and job.termination.reason) == (Stage.ERROR, Ending.APPROVAL_DENIED)


@pytest.mark.parametrize(
    ("finding", "record", "status"),
    [
        ("unverifiable", None, Status.UNRESOLVED),
        ("met", "unavailable", Status.UNRESOLVED),
        ("met", "failed", Status.FAILED),
        ("not_met", None, Status.FAILED),
    ],
)
def test_a_rejected_result_has_failed_only_if_something_shows_it(finding: str, record: str | None, status: Status) -> None:
    told = acts.Report((acts.Finding("builds", finding, "seen"),))
    checks = (acts.CheckRecord("builds", record),) if record else ()
    job = at(Stage.READY, conditions=(BUILDS,)).does("deliver", report=told).does("reject", checks=checks).job
    assert job.termination is not None
    assert (job.termination.reason, job.termination.status) == (Ending.REJECTED, status)


def test_a_check_that_failed_on_something_else_fails_no_result() -> None:
    script = at(Stage.READY, conditions=(BUILDS,)).does("deliver", artifacts=(ARTIFACT,))
    record = acts.CheckRecord("builds", "failed", artifact="sha256:dd")
    assert script.does("reject", checks=(record,)).job.termination.status is Status.UNRESOLVED


def test_a_broken_exclusion_fails_a_rejected_result() -> None:
    told = acts.Report((acts.Finding("reads", "met", "seen"),), (acts.Observance("no-net", "broken"),))
    job = at(Stage.READY, conditions=(READS,), exclusions=(NO_NET,)).does("deliver", report=told).does("reject").job
    assert job.termination is not None and job.termination.status is Status.FAILED


def test_the_condition_of_the_work_is_told_or_unknown() -> None:
    assert at(Stage.STOPPING).does("halt", work="untouched").job.work is Work.UNTOUCHED
    assert at(Stage.WORKING).does("fail", work="reverted").job.work is Work.REVERTED
    assert at(Stage.STOPPING).falls_due().job.work is Work.UNKNOWN
    assert at(Stage.WORKING).falls_due().job.work is Work.UNKNOWN
    assert at(Stage.WORKING).job.work is None


# Terms


def test_the_terms_in_force_change_only_by_an_acceptance_an_adoption_a_revision_or_a_veto() -> None:
    script = negotiated()
    changing = {"accept", "adopt", "revise", "veto"}
    for (before, after), entry in zip(pairwise(jobs(script.entries)), script.entries[1:], strict=True):
        assert after.terms == before.terms or entry.act.act in changing


def test_a_counter_changes_nothing_until_it_is_adopted() -> None:
    script = at(Stage.WORKING, conditions=(READS,))
    assert script.does("counter", terms=Terms((LOOKS,))).job.terms == Terms((READS,))
    assert script.does("insist").job.terms == Terms((READS,))
    assert script.does("counter", terms=Terms((LOOKS,))).does("adopt").job.terms == Terms((LOOKS,))


def test_a_veto_brings_the_requests_own_terms_back() -> None:
    script = Script(review=True, conditions=(READS,)).does("accept", conditions=(READS, LOOKS))
    assert script.job.terms == Terms((READS, LOOKS))
    assert script.does("veto").job.terms == Terms((READS,))


def test_what_a_revision_does_not_name_stays_as_it_was() -> None:
    script = Script(conditions=(READS,), exclusions=(NO_NET,), constraints=("be quiet",), budget=Budget(tokens=9))
    script.does("counter").does("revise", conditions=(LOOKS,))
    assert script.job.terms == Terms((LOOKS,), (NO_NET,), (), ("be quiet",), Budget(tokens=9))
    assert script.job.parties == Script().job.parties


def test_a_contract_governs_until_a_revision_brings_another_or_conditions_of_its_own() -> None:
    assert Script(contract=CONTRACT).does("counter").does("revise", goal="less").job.brief.contract == CONTRACT
    assert Script(contract=CONTRACT).does("counter").does("revise", conditions=(READS,)).job.brief.contract is None
    assert Script(conditions=(READS,)).does("counter").does("revise", contract=CONTRACT).job.brief.contract == CONTRACT


def test_a_contracts_exclusions_come_and_go_with_it_and_the_requests_own_stay() -> None:
    own = NO_ROOT
    governed = Script(contract=CONTRACT, exclusions=(own,), constraints=("be quick",)).does("counter")
    other = replace(CONTRACT, version="2", non_goals=(), constraints=("be slow",))
    terms = governed.does("revise", contract=other).job.terms
    assert terms.exclusions == (own,) and terms.constraints == ("be slow", "be quick")
    terms = governed.does("counter").does("revise", contract=CONTRACT).job.terms
    assert terms.exclusions == (NO_NET, own) and terms.constraints == ("be quick",)
    terms = governed.does("counter").does("revise", exclusions=()).job.terms
    assert terms.exclusions == (NO_NET,)


def test_conditions_take_a_contracts_place_and_what_it_excluded_stays() -> None:
    terms = Script(contract=CONTRACT).does("counter").does("revise", conditions=(LOOKS,)).job.terms
    assert (terms.conditions, terms.exclusions) == ((LOOKS,), (NO_NET,))


def test_whether_a_verdict_is_asked_is_fixed_by_the_request() -> None:
    assert (
        Script(conditions=(READS,)).does("counter").does("revise", conditions=()).tells("accept deliver").stage is Stage.DELIVERED
    )
    assert Script().does("counter").does("revise", conditions=(READS,)).tells("accept deliver").stage is Stage.UNVERIFIED
    assert Script(conditions=(READS,), verdict=False).tells("accept deliver").stage is Stage.UNVERIFIED
    assert Script(verdict=True).tells("accept deliver").stage is Stage.DELIVERED


def test_reviewer_verifier_and_approver_default_to_the_requester() -> None:
    parties = Script(reviewer=None, verifier=None, approver=None, authorities=()).job.parties
    assert (parties.reviewer, parties.verifier, parties.approver, parties.authorities) == ("ann", "ann", "ann", ("ann",))


def test_a_child_knows_its_place_and_what_its_parent_imposed() -> None:
    above = at(Stage.READY, exclusions=(NO_NET,), requirements=(GUARDED,)).job
    assert child().job.brief.lineage == Lineage(above.brief.lineage.root, 1, (NO_NET.id,), (GUARDED.id,))


# Logs that do not follow


def test_a_log_that_does_not_follow_is_corrupt_and_the_entry_is_named() -> None:
    entries = negotiated().entries
    for wrong in (entries[1:], entries[:3] + entries[4:], [*entries[:3], entries[4], entries[3]], [entries[0], entries[0]]):
        with pytest.raises(CorruptLog) as caught:
            replay(wrong)
        assert caught.value.job == "job"
    with pytest.raises(CorruptLog):
        replay([*entries[:5], evolve(entries[5], origin=Stage.ERROR)])
    with pytest.raises(ValueError, match="at least one entry"):
        replay([])


@pytest.mark.parametrize("name", STORIES)
def test_sealed_and_read_back_the_entries_tell_the_same_job(name: str) -> None:
    script, prev = STORIES[name](), ""
    read: list[Entry] = []
    for entry in script.entries:
        sealed = seal(entry, prev, written(entry.act))
        read.append(unseal(sealed.job, sealed.seq, prev, sealed.hash, sealed.body))
        assert written(read[-1].act) == written(entry.act)
        prev = sealed.hash
    assert replay(read) == script.job


# Snapshots


@pytest.mark.parametrize("name", STORIES)
def test_a_snapshot_at_every_entry_loads_to_the_same_job_with_the_same_acts_next(name: str) -> None:
    for job in jobs(STORIES[name]().entries):
        data = dump(job)
        assert load(data) == job
        assert dump(load(data)) == data
        assert all(may(load(data), by) == may(job, by) for by in ("ann", "wes", "rev", "vic", "app", "own"))


def test_the_log_goes_on_from_a_snapshot() -> None:
    script = negotiated()
    for length, job in enumerate(jobs(script.entries), 1):
        assert replay(script.entries[length:], load(dump(job))) == script.job


def test_another_process_reads_the_same_job_and_writes_the_same_bytes() -> None:
    code = (
        "import sys; from lifecycle.law.snapshot import dump, load; from lifecycle.law.decide import may\n"
        "for line in sys.stdin.buffer.read().splitlines():\n"
        "    job = load(line); print(dump(job).decode(), [*may(job, 'ann'), *may(job, 'wes')], sep=' ')"
    )
    told = [job for story in STORIES.values() for job in [story().job]]
    lines = [dump(job) for job in told]
    run = subprocess.run([sys.executable, "-c", code], input=b"\n".join(lines), capture_output=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr.decode()
    expected = [f"{line.decode()} {[*may(job, 'ann'), *may(job, 'wes')]}" for line, job in zip(lines, told, strict=True)]
    assert run.stdout.decode().splitlines() == expected


def test_a_snapshot_that_is_not_what_was_written_is_found() -> None:
    data = dump(negotiated().job)
    for wrong in (b"", b"{}", b"null", data[:-1], data.replace(b"result.accepted", b"result.rejected")):
        with pytest.raises(CorruptSnapshot):
            load(wrong)
