"""Cases from the field, on a real tree with a real log."""

import sys
from pathlib import Path

import pytest

import lifecycle
from lifecycle import Handle, Reason, Stage, checks
from lifecycle.law.acts import Artifact, CheckRecord, Confirm
from lifecycle.law.contract import Contract, EvidenceRule, Owners
from lifecycle.law.terms import CallableCheck, CommandCheck, Condition, FileCheck

from .conftest import Repo

SAVE = """\
import sys
records = [{"id": n, "success": True} for n in range(58)]
open("saved.txt", "w").writelines(f"{r['id']}\\n" for r in records[: int(sys.argv[1])])
print("58 of 58 records saved, success: true")
"""
COUNT = "from pathlib import Path\ndef complete(expected):\n    n = len(Path('saved.txt').read_text().split())\n"
COUNT += "    return n == expected or f'{n} of {expected} records are there'\n"


def contract(*conditions: Condition, skip: tuple[str, ...] = ()) -> Contract:
    rules = tuple(EvidenceRule(one.id, "the world", skip) for one in conditions)
    return Contract("save", "1", "save 58 records", conditions, write_scope=("saved.txt",), evidence=rules, owners=Owners("ann"))


def delivered(jobs: lifecycle.Jobs, asked: Contract, workspace: checks.Workspace) -> Handle:
    job = jobs.request("save", requester="ann", worker="wes", verifier="vic", contract=asked)
    job.seat("wes").accept()
    job.seat("wes").deliver(Artifact("tree", workspace.artifact), met={one.id: "success: true" for one in asked.acceptance})
    return job


@pytest.fixture
def jobs() -> lifecycle.Jobs:
    return lifecycle.open("memory:", sweep_every=None)


def test_case_51_a_tool_says_ok_and_its_artifact_is_empty_or_absent(
    repo: Repo, workspace: checks.Workspace, jobs: lifecycle.Jobs
) -> None:
    asked = contract(
        Condition("ok", "the tool says so", CommandCheck(("echo", "success: true"))),
        Condition("there", "it is there", FileCheck("saved.txt")),
    )
    for make in (lambda: None, lambda: repo.write("saved.txt", "")):
        make()
        job = delivered(jobs, asked, workspace)
        records = checks.run_after(job.job, workspace)
        assert {r.id: r.status for r in records} == {"ok": "passed", "there": "failed", "save-write-scope": "passed"}
        job.seat("vic").submit(checks.verdict(job.job, records))
        assert str(job.termination) == "rejected / failed"


@pytest.mark.parametrize(("saved", "ends"), [(31, "rejected / failed"), (58, "accepted / passed")])
def test_case_51_31_of_58_records_saved_with_success_true_failed(saved: int, ends: str, repo: Repo, jobs: lifecycle.Jobs) -> None:
    repo.write("tools/save.py", SAVE)
    repo.write("tools/count.py", COUNT)
    workspace = checks.Workspace.at(repo.root, repo.commit())
    said = CommandCheck((sys.executable, "tools/save.py", str(saved)))
    asked = contract(
        Condition("said", "the tool says so", said),
        Condition("saved", "58 records are there", CallableCheck("tools.count:complete", arguments={"expected": 58})),
    )
    repo.write("saved.txt", "".join(f"{n}\n" for n in range(saved)))
    job = delivered(jobs, asked, workspace)
    records = {record.id: record for record in checks.run_after(job.job, workspace)}
    assert records["said"].status == "passed" and "58 of 58" in records["said"].output
    job.seat("vic").submit(checks.verdict(job.job, records.values()))
    assert str(job.termination) == ends


def test_case_52_a_required_check_skipped_with_no_authority_is_not_accepted(
    repo: Repo, workspace: checks.Workspace, jobs: lifecycle.Jobs
) -> None:
    asked = contract(Condition("c", "t", FileCheck("saved.txt")), skip=("owner",))
    job = delivered(jobs, asked, workspace)
    with pytest.raises(checks.NoAuthority):
        checks.run_after(job.job, workspace, skips={"c": checks.Skip("wes", "no need")})
    scope = next(r for r in checks.run_after(job.job, workspace) if r.id == "save-write-scope")
    for party in (None, "wes", "vic"):
        forged = CheckRecord("c", "skipped", "no need", party, workspace.artifact, asked.digest)
        assert checks.judge(job.job, [forged, scope]).standing["c"] == "pending"
        with pytest.raises(checks.Undecided):
            checks.verdict(job.job, [forged, scope])
        with pytest.raises(lifecycle.Refused) as caught:
            job.seat("vic").submit(Confirm(checks=(forged, scope)))
        assert caught.value.reason is Reason.NO_AUTHORITY
    skipped = checks.run_after(job.job, workspace, skips={"c": checks.Skip("owner", "agreed")})
    job.seat("vic").submit(checks.verdict(job.job, skipped))
    assert job.stage is Stage.ACCEPTED


def test_case_21_two_of_three_reported_is_refused_and_unverifiable_stays_visible(
    workspace: checks.Workspace, jobs: lifecycle.Jobs, repo: Repo
) -> None:
    repo.write("saved.txt", "1\n")
    asked = contract(*(Condition(id, "t", FileCheck("saved.txt")) for id in ("one", "two", "three")))
    job = jobs.request("save", requester="ann", worker="wes", verifier="vic", contract=asked)
    wes = job.seat("wes")
    wes.accept()
    with pytest.raises(lifecycle.Refused, match="three") as caught:
        wes.deliver(Artifact("tree", workspace.artifact), met={"one": "e", "two": "e"})
    assert caught.value.reason is Reason.REPORT_INCOMPLETE
    wes.deliver(Artifact("tree", workspace.artifact), met={"one": "e", "two": "e"}, unverifiable=["three"])
    job.seat("vic").submit(checks.verdict(job.job, checks.run_after(job.job, workspace)))
    assert job.stage is Stage.ACCEPTED
    assert job.job.delivery is not None and job.job.delivery.report is not None
    assert [f.status for f in job.job.delivery.report.conditions] == ["met", "met", "unverifiable"]


def test_the_five_lines_of_the_docstring(repo: Repo, tmp_path: Path, jobs: lifecycle.Jobs) -> None:
    text = checks.new("retry", "mend it").replace("write_scope = []", 'write_scope = ["src/"]')
    (tmp_path / "contract.toml").write_text(text.replace('# check = { kind = "diff" }', 'check = { kind = "diff" }'))
    contract = checks.read(tmp_path / "contract.toml")
    workspace = checks.Workspace.at(repo.root, base="HEAD")
    handle = jobs.request(contract.goal, requester="ann", worker="wes", verifier="vic", contract=contract)
    handle.seat("wes").accept()
    repo.write("src/retry.py", "RETRIES = 4\n")
    handle.seat("wes").deliver(Artifact("tree", workspace.artifact))
    handle.seat("vic").submit(checks.verdict(handle.job, checks.run_after(handle.job, workspace)))
    assert str(handle.termination) == "accepted / passed"
