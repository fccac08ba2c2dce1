"""The verifier: what it accepts, said a second time; and every act it makes is one the law accepts."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lifecycle
from lifecycle import Handle, Limits, Stage, checks
from lifecycle.law.acts import Artifact, CheckRecord, Confirm, Reject, Rework, Waiver
from lifecycle.law.contract import Contract, Criterion, EvidenceRule
from lifecycle.law.terms import Condition, Exclusion, FileCheck

A, B = "sha256:aa", "sha256:bb"
CONTRACT = Contract(
    "k", "1", "g",
    acceptance=(Condition("c1", "t", FileCheck("a")), Condition("c2", "t", FileCheck("b")), Condition("w", "a person judges")),
    invariants=(Criterion("i", "t", FileCheck("c")),),
    preconditions=(Criterion("pre", "t", FileCheck("d")),),
    non_goals=(Exclusion("x", "nothing else"),),
    evidence=(EvidenceRule("c1", "the file", ("owner", "wes")),),
)  # fmt: skip
OTHER = Contract("k", "2", "g", CONTRACT.acceptance)
CHECKED = ("c1", "c2", "i")


def delivered(jobs: lifecycle.Jobs, told: Mapping[str, str] | None = None, *, contract: Contract = CONTRACT) -> Handle:
    """A job that wes delivered; `told` is what wes reports: met, not_met, unverifiable, honoured, broken, by id."""
    job = jobs.request("g", requester="ann", worker="wes", verifier="vic", contract=contract)
    job.seat("wes").accept()
    deliver(job, told)
    return job


def deliver(job: Handle, told: Mapping[str, str] | None = None) -> None:
    said: dict[str, dict[str, str]] = {}
    for id, status in (told or {}).items():
        said.setdefault(status, {})[id] = "evidence"
    job.seat("wes").deliver(Artifact("tree", A), **said)


def record(id: str, status: str = "passed", artifact: str | None = A, **more: object) -> CheckRecord:
    return CheckRecord(id, status, artifact=artifact, **{"contract": CONTRACT.digest, **more})


def all_passed(**more: object) -> list[CheckRecord]:
    return [record(id, **more) for id in CHECKED]


WORDS = {"w": checks.Word(True, "it reads well")}

told = st.sampled_from(["met", "not_met", "unverifiable"])
reports = st.none() | st.fixed_dictionaries(
    {"c1": told, "c2": told, "w": told}, optional={"x": st.sampled_from(["honoured", "broken"])}
)
records = st.lists(
    st.builds(
        record, st.sampled_from(("c1", "c2", "i", "x", "pre", "unknown")),
        st.sampled_from(["passed", "passed", "passed", "failed", "skipped", "pending", "unavailable"]),
        artifact=st.sampled_from([A, A, A, B, None]),
        authority=st.sampled_from([None, "ann", "owner", "wes", "vic"]),
        contract=st.sampled_from([CONTRACT.digest, CONTRACT.digest, None, OTHER.digest]),
    ),
    max_size=6,
)  # fmt: skip
mostly = st.lists(st.sampled_from(CHECKED), max_size=3, unique=True).map(lambda ids: [record(id) for id in ids])
waivers = st.lists(
    st.builds(
        Waiver, st.sampled_from(["c1", "c2", "w", "x", "i", "unknown"]), st.sampled_from(["ann", "owner", "wes"]), st.just("why")
    ),
    max_size=4,
    unique_by=lambda waiver: waiver.id,
)


def acceptable(
    report: Mapping[str, str] | None, made: list[CheckRecord], words: Mapping[str, checks.Word], waived: list[Waiver]
) -> bool:
    """Accepted iff, from the specification alone, and with no code of the library."""
    skippers = {"c1": {"ann", "owner"}}

    def clear(r: CheckRecord) -> bool:
        here = r.artifact in (A, None) and r.contract in (CONTRACT.digest, None)
        return here and (r.status == "passed" or (r.status == "skipped" and r.authority in skippers.get(r.id, {"ann"})))

    by_ann = {waiver.id for waiver in waived if waiver.authority == "ann"}
    against = {id for id, status in (report or {}).items() if status in ("not_met", "broken")}
    return (
        all(any(r.id == id for r in made) for id in CHECKED)
        and all(clear(r) for r in made if r.id in (*CHECKED, "x", "w"))
        and against <= by_ann
        and ("w" in by_ann if "w" not in words else words["w"].met)
    )


@settings(max_examples=250)
@given(
    report=reports,
    made=st.tuples(st.just([record(id) for id in CHECKED]) | mostly, records | st.just([])).map(lambda two: two[0] + two[1]),
    words=st.dictionaries(
        st.sampled_from(["w", "c1"]), st.builds(checks.Word, st.sampled_from([True, True, False]), st.just("why"))
    ),
    waived=waivers,
    rework=st.booleans(),
)
def test_accepted_iff_and_the_law_agrees(
    report: Mapping[str, str] | None, made: list[CheckRecord], words: dict[str, checks.Word], waived: list[Waiver], rework: bool
) -> None:
    with lifecycle.open("memory:", sweep_every=None) as jobs:
        job = delivered(jobs, report)
        accepted = checks.judge(job.job, made, words=words, waivers=waived).accepted
        assert accepted == acceptable(report, made, words, waived)
        act = checks.verdict(job.job, made, words=words, waivers=waived, rework=rework, final=True)
        assert isinstance(act, Confirm) == accepted
        job.seat("vic").submit(act)
        assert job.stage in (Stage.ACCEPTED, Stage.REJECTED, Stage.WORKING)
        assert (job.stage is Stage.ACCEPTED) == accepted


@given(report=reports, other=reports)
def test_what_a_worker_says_of_itself_decides_nothing_in_its_favour(
    report: Mapping[str, str] | None, other: Mapping[str, str] | None
) -> None:
    with lifecycle.open("memory:", sweep_every=None) as jobs:
        silent, loud = delivered(jobs), delivered(jobs, report)
        for made in ([], all_passed(), [record("c1", "failed")]):
            if checks.judge(loud.job, made, words=WORDS).accepted:
                assert checks.judge(silent.job, made, words=WORDS).accepted


@pytest.fixture
def jobs() -> lifecycle.Jobs:
    return lifecycle.open("memory:", sweep_every=None)


def test_nothing_known_is_no_verdict(jobs: lifecycle.Jobs) -> None:
    job = delivered(jobs)
    with pytest.raises(checks.Undecided, match=r"`c1` absent.*`w` unjudged") as caught:
        checks.verdict(job.job, [])
    assert caught.value.open == {"c1": "absent", "c2": "absent", "i": "absent", "w": "unjudged"}
    with pytest.raises(checks.Undecided):
        checks.verdict(job.job, all_passed(status="unavailable"), words=WORDS)
    job.seat("vic").submit(checks.verdict(job.job, [], final=True))
    assert str(job.termination) == "rejected / unresolved"


def test_records_of_another_artifact_or_contract_are_pending_again(jobs: lifecycle.Jobs) -> None:
    job = delivered(jobs)
    assert checks.judge(job.job, all_passed(artifact=B), words=WORDS).open == dict.fromkeys(CHECKED, "pending")
    assert checks.judge(job.job, all_passed(contract=OTHER.digest), words=WORDS).open == dict.fromkeys(CHECKED, "pending")


def test_the_verifiers_own_word_is_recorded_as_such_and_overrules_no_check(jobs: lifecycle.Jobs) -> None:
    job = delivered(jobs)
    act = checks.verdict(job.job, all_passed(), words={**WORDS, "c1": checks.Word(False, "no")})
    assert isinstance(act, Confirm)
    assert next(r for r in act.checks if r.id == "w").seen == "by the verifier's own word: it reads well"
    job.seat("vic").submit(act)
    assert str(job.termination) == "accepted / passed"


def test_a_failed_check_is_reworked_while_rounds_are_left_and_wanted(jobs: lifecycle.Jobs) -> None:
    job, limits = delivered(jobs), Limits(reworks=2)
    made = [*all_passed(), record("c2", "failed")]
    for _ in range(2):
        act = checks.verdict(job.job, made, words=WORDS, rework=True, limits=limits)
        assert isinstance(act, Rework) and act.mend == ("c2",)
        job.seat("vic").submit(act)
        deliver(job)
    assert isinstance(checks.verdict(job.job, made, words=WORDS, rework=True, limits=limits), Reject)
    assert isinstance(checks.verdict(job.job, made, words=WORDS), Reject)


def test_an_invariant_that_failed_is_reworked_too(jobs: lifecycle.Jobs) -> None:
    job = delivered(jobs)
    act = checks.verdict(job.job, [*all_passed(), record("i", "failed")], words=WORDS, rework=True)
    assert isinstance(act, Rework) and act.mend == ("c1", "c2", "w") and "`i` failed" in act.reason
    job.seat("vic").submit(act)
    assert job.stage is Stage.WORKING


def test_a_waiver_lets_a_report_pass_and_never_a_check(jobs: lifecycle.Jobs) -> None:
    job = delivered(jobs, {"c1": "met", "c2": "not_met", "w": "met", "x": "broken"})
    waived = [Waiver("c2", "ann", "why"), Waiver("x", "ann", "why")]
    assert checks.judge(job.job, all_passed(), words=WORDS).against == ("c2", "x")
    assert not checks.judge(job.job, [*all_passed(), record("c2", "failed")], words=WORDS, waivers=waived).accepted
    job.seat("vic").submit(checks.verdict(job.job, all_passed(), words=WORDS, waivers=waived))
    assert job.stage is Stage.ACCEPTED


def test_two_hundred_loud_records_fit_into_one_act(jobs: lifecycle.Jobs) -> None:
    conditions = tuple(Condition(f"c{n}", "t", FileCheck("a")) for n in range(200))
    contract = Contract("k", "1", "g", conditions)
    job = delivered(jobs, contract=contract)
    loud = [
        record(
            c.id, output="\ufffd" * 6_000, output_digest=B, cases=tuple(f"case {n}" for n in range(200)), contract=contract.digest
        )
        for c in conditions
    ]
    act = checks.verdict(job.job, loud)
    assert {r.output_digest for r in act.checks} == {B}
    job.seat("vic").submit(act)
    assert job.stage is Stage.ACCEPTED


def test_only_the_requesters_checks_are_ever_run(jobs: lifecycle.Jobs, tmp_path: object) -> None:
    job = jobs.request("g", requester="ann", worker="wes", verifier="vic", conditions={"c1": "it works"})
    with pytest.raises(lifecycle.Refused, match="foreign_check"):
        job.seat("wes").accept([Condition("c1", "it works"), Condition("mine", "t", FileCheck("a"))])
    job.seat("wes").accept([Condition("c1", "it works"), Condition("mine", "t", "touch ran")])
    deliver(job)
    assert checks.run_after(job.job, checks.Workspace.at(str(tmp_path))) == ()
