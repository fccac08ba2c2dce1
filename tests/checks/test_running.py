"""Programs as checks: their limits, their environment, and what a program that is not here comes to. All real processes."""

import os
import sys
import time
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle import checks
from lifecycle.law.acts import CheckRecord
from lifecycle.law.contract import Contract, Criterion, EvidenceRule
from lifecycle.law.terms import CallableCheck, CommandCheck, Condition, Exclusion, FileCheck, MetricCheck, PersonCheck
from lifecycle.law.values import sha256

from .conftest import Repo


def ran(workspace: checks.Workspace, code: str, timeout: float = 20.0, **more: object) -> CheckRecord:
    """A record of a Python program."""
    return checks.run(CommandCheck((sys.executable, "-c", code), timeout=timeout, **more), workspace)


def gone(pid: int) -> bool:
    """Whether a process runs no more; one that nobody has waited for yet does not."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize(("code", "exit", "status"), [("pass", 0, "passed"), ("exit(3)", 3, "passed"), ("exit(3)", 0, "failed")])
def test_a_program_must_end_as_asked(code: str, exit: int, status: str, workspace: checks.Workspace) -> None:
    assert ran(workspace, code, exit=exit).status == status


def test_a_signal_is_no_exit(workspace: checks.Workspace) -> None:
    record = ran(workspace, "import os; os.kill(os.getpid(), 11)")
    assert (record.status, record.exit) == ("failed", -11)


def test_a_program_that_is_not_here_is_unavailable_and_one_of_the_tree_has_failed(workspace: checks.Workspace) -> None:
    assert checks.run(CommandCheck(("no-such-program",)), workspace).status == "unavailable"
    assert checks.run(CommandCheck(("/no/such/program",)), workspace).status == "unavailable"
    assert checks.run(CommandCheck(("./no-such-program",)), workspace).status == "failed"


def test_another_environment_is_unavailable(workspace: checks.Workspace) -> None:
    assert ran(workspace, "pass", environment="here").status == "passed"
    record = ran(workspace, "pass", environment="there")
    assert (record.status, record.environment) == ("unavailable", "here")


def test_a_program_runs_where_it_is_told_to_and_never_outside(repo: Repo, workspace: checks.Workspace, tmp_path: Path) -> None:
    assert ran(workspace, "open('retry.py')", cwd="src").status == "passed"
    (repo.root / "out").symlink_to(tmp_path)
    for cwd in ("..", "/", "out", "absent", "src/retry.py"):
        assert ran(workspace, "pass", cwd=cwd).status == "failed"


def test_nothing_is_read_by_a_shell(workspace: checks.Workspace) -> None:
    record = checks.run(CommandCheck(("echo", "$HOME; `id`", "*")), workspace)
    assert record.output == "$HOME; `id` *\n"


def test_the_environment_is_scrubbed(workspace: checks.Workspace, monkeypatch: pytest.MonkeyPatch, repo: Repo) -> None:
    planted = ("SECRET", "PYTHONPATH", "PYTHONSTARTUP", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "GIT_DIR", "LD_PRELOAD")
    for name in planted:
        monkeypatch.setenv(name, "planted")
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", str(repo.root / "src"), os.environ["PATH"]]))
    repo.write("src/evil-program", "#!/bin/sh\n", 0o755)
    found = eval(ran(workspace, "import os; print(dict(os.environ))").output)
    assert "planted" not in found.values()
    assert found["HOME"] != os.environ.get("HOME")
    assert not {"", ".", str(repo.root / "src")} & set(found["PATH"].split(os.pathsep))
    assert set(found) - {"LC_ALL", "LC_CTYPE", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"} == {
        "PATH", "HOME", "TMPDIR", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE", "LIFECYCLE_CHECK",
    }  # fmt: skip
    assert checks.run(CommandCheck(("evil-program",)), workspace).status == "unavailable"


def test_there_is_nothing_to_read(workspace: checks.Workspace) -> None:
    assert ran(workspace, "import sys; assert sys.stdin.read() == ''").status == "passed"


def test_200_mb_of_output_are_hashed_and_not_kept(workspace: checks.Workspace) -> None:
    code = "import sys\nsys.stdout.write('begin')\nfor _ in range(200): sys.stdout.write('x' * 1_000_000)\nsys.stdout.write('end')"
    before = psutil.Process().memory_info().rss
    record = ran(workspace, code, 60.0)
    assert record.status == "passed"
    assert len(record.output) < 10_000
    assert record.output.startswith("beginxx") and record.output.endswith("xxend") and "bytes …" in record.output
    assert psutil.Process().memory_info().rss - before < 50e6


def test_the_digest_is_of_every_byte(workspace: checks.Workspace) -> None:
    data = b"\xff\x00" + b"abc\n" * 5_000
    record = ran(workspace, f"import sys; sys.stdout.buffer.write(b'\\xff\\x00' + {data[2:6]!r} * 5_000)")
    assert record.output_digest == sha256(data)
    assert record.output.startswith("\ufffd\ufffdabc")


STUBBORN = {
    "sleeps": "import time; time.sleep(600)",
    "ignores the signals it can": "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(600)",
    "closes its output and sleeps": "import os, time; os.close(1); os.close(2); time.sleep(600)",
    "writes for ever": "import sys\nwhile True: sys.stdout.write('y' * 9999)",
    "leaves a child": "import os, time\nos.fork()\ntime.sleep(600)",
    "forks and forks": "import os, time\nfor _ in range(5): os.fork()\ntime.sleep(600)",
}


@pytest.mark.parametrize("how", STUBBORN)
def test_the_time_limit_is_a_limit(how: str, workspace: checks.Workspace, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    note = f"import os\nos.register_at_fork(after_in_child=lambda: open({str(pids)!r}, 'a').write(f'{{os.getpid()}} '))\n"
    begun = time.monotonic()
    record = ran(workspace, f"{note}open({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')\n{STUBBORN[how]}", 0.5)
    assert time.monotonic() - begun < 5
    assert (record.status, record.exit) == ("failed", None)
    assert "not ended within 0.5 s" in record.seen
    started = pids.read_text().split()
    assert started and all(gone(int(pid)) for pid in started)


ESCAPES = {
    "a child of a session of its own": "os.setsid()",
    "an orphan of a session of its own": "os.setsid()\n    if os.fork(): os._exit(0)",
}


@pytest.mark.parametrize("how", ESCAPES)
@pytest.mark.parametrize("waits", [True, False])
def test_who_leaves_the_group_is_found_by_its_mark(how: str, waits: bool, workspace: checks.Workspace, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    code = (
        f"import os, time\nif os.fork() == 0:\n    {ESCAPES[how]}\n    open({str(ready)!r} + '_', 'w').write(str(os.getpid()))\n"
        f"    os.rename({str(ready)!r} + '_', {str(ready)!r})\n    time.sleep(600)\n"
        f"while not os.path.exists({str(ready)!r}): time.sleep(0.01)\n" + ("time.sleep(600)" if waits else "")
    )
    begun = time.monotonic()
    assert ran(workspace, code, 1.5 if waits else 20.0).status == ("failed" if waits else "passed")
    assert time.monotonic() - begun < 8
    assert gone(int(ready.read_text()))


# Metrics


def measured(workspace: checks.Workspace, code: str, op: str = "<", threshold: float = 200.0) -> CheckRecord:
    return checks.run(MetricCheck("p95", (sys.executable, "-c", code), op, threshold, "idle", unit="ms", timeout=20), workspace)


def test_a_metric_is_held_against_its_threshold(workspace: checks.Workspace) -> None:
    record = measured(workspace, "import sys; print('  199.5 '); print('noise', file=sys.stderr)")
    assert (record.status, record.seen) == ("passed", "p95 is 199.5 ms, asked for < 200 (idle)")
    assert measured(workspace, "print(200)").status == "failed"


@pytest.mark.parametrize("code", ["print('nan')", "print('inf')", "pass", "print('1 2')", "print('12 ms')", "print(1); exit(1)",
                                  "print('1_0')", "print('0x1')", "print('-')", "print('\\u0661')",
                                  "print('9' * 9999)", "print('9' * 400)"])  # fmt: skip
def test_what_is_no_finite_number_fails(code: str, workspace: checks.Workspace) -> None:
    assert measured(workspace, code, ">=", 0.0).status == "failed"


OPS = ["<", "<=", "==", ">=", ">"]


@settings(max_examples=20, deadline=None)
@given(value=st.sampled_from([-1.5, 0.0, 6.99, 7.0, 1e300]), op=st.sampled_from(OPS), threshold=st.sampled_from([-1.5, 0.0, 7.0]))
def test_every_comparison_is_what_it_says(
    value: float, op: str, threshold: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    workspace = checks.Workspace.at(tmp_path_factory.mktemp("bare"))
    record = checks.run(MetricCheck("m", ("echo", repr(value)), op, threshold, "s"), workspace)
    assert record.status == ("passed" if eval(f"{value!r} {op} {threshold!r}") else "failed")


# Callables

MODULE = """\
import os, sys, time
from pathlib import Path

def complete(expected, path="records.txt"):
    found = len(Path(path).read_text().split())
    return found == expected or f"{found} of {expected} records are there"

def yes(*args): return True
def no(): return False
def one(): return 1
def nothing(): pass
def raises(): raise KeyError("k")
def ends(): os._exit(0)
def exits(): sys.exit(0)
def sleeps(): time.sleep(600)
class Group:
    def inner(): return True
"""


@pytest.mark.parametrize(
    ("entry", "arguments", "status", "seen"),
    [
        ("count:yes", None, "passed", "returned True"),
        ("count:yes", [1, "a"], "passed", "returned True"),
        ("count:yes", "a", "passed", "returned True"),
        ("count:Group.inner", None, "passed", "returned True"),
        ("count:complete", {"expected": 2}, "passed", "returned True"),
        ("count:complete", {"expected": 58}, "failed", "2 of 58 records are there"),
        ("count:no", None, "failed", "returned False"),
        ("count:one", None, "failed", "returned 1; return True"),
        ("count:nothing", None, "failed", "returned None; return True"),
        ("count:raises", None, "failed", "raised KeyError"),
        ("count:no", ["too", "many"], "failed", "raised TypeError"),
        ("count:ends", None, "failed", "exit 0, and gave no answer"),
        ("count:exits", None, "failed", "exit 0, and gave no answer"),
        ("count:sleeps", None, "failed", "not ended within 2 s"),
        ("count:absent", None, "unavailable", "`count` has no `absent`"),
        ("absent.module:f", None, "unavailable", "no module `absent`"),
        ("bad:f", None, "failed", "cannot be imported: SyntaxError"),
    ],
)
def test_only_true_passes(entry: str, arguments: object, status: str, seen: str, repo: Repo, workspace: checks.Workspace) -> None:
    repo.write("count.py", MODULE)
    repo.write("bad.py", "def")
    repo.write("records.txt", "a b")
    record = checks.run(CallableCheck(entry, arguments=arguments, timeout=2.0 if "sleeps" in entry else 20.0), workspace)
    assert record.status == status and seen in record.seen


def test_what_is_installed_comes_before_the_tree(repo: Repo, workspace: checks.Workspace) -> None:
    repo.write("pathspec.py", "def f(): return True\n")
    repo.write("json.py", "raise SystemExit\n")
    assert checks.run(CallableCheck("pathspec:f"), workspace).status == "unavailable"


# Persons


def test_a_person_check_waits_for_the_named_party_on_this_artifact(repo: Repo, workspace: checks.Workspace) -> None:
    check = PersonCheck("ann", "does it read well?")

    def status(answer: checks.Answer | None) -> str:
        return checks.run(check, workspace, answer=answer).status

    now = workspace.artifact
    assert status(None) == "pending"
    assert status(checks.Answer("bob", True, now)) == "pending"
    assert status(checks.Answer("ann", True, now)) == "passed"
    assert status(checks.Answer("ann", False, now, "no")) == "failed"
    repo.write("src/retry.py", "changed")
    assert status(checks.Answer("ann", True, now)) == "pending"


# A whole contract

CONTRACT = Contract(
    "retry", "1", "mend it",
    acceptance=(
        Condition("made", "it is there", FileCheck("src/new.py")),
        Condition("words", "it reads well", "a person judges this"),
        Condition("asked", "ann likes it", PersonCheck("ann", "well?")),
    ),
    invariants=(Criterion("product", "the product is there", FileCheck("src/retry.py")),),
    preconditions=(Criterion("clean", "new.py is not there", CommandCheck(("test", "!", "-e", "src/new.py"))),),
    non_goals=(Exclusion("docs", "docs/", "path"), Exclusion("names", "names stay")),
    write_scope=("src/", "docs/"),
    evidence=(EvidenceRule("asked", "her word", ("owner",)),),
)  # fmt: skip


def statuses(records: tuple[CheckRecord, ...]) -> dict[str, str]:
    return {record.id: record.status for record in records}


def test_a_whole_contract_is_run_before_and_after_on_one_artifact(repo: Repo, workspace: checks.Workspace) -> None:
    assert statuses(checks.run_before(CONTRACT, workspace)) == {"clean": "passed", "product": "passed"}
    repo.write("src/new.py", "1\n")
    records = checks.run_after(CONTRACT, workspace, answers={"asked": checks.Answer("ann", True, workspace.artifact)})
    assert statuses(records) == dict.fromkeys(("docs", "retry-write-scope", "product", "made", "asked"), "passed")
    assert {record.artifact for record in records} == {workspace.artifact}
    assert {record.contract for record in records} == {CONTRACT.digest}
    repo.write("docs/a.md", "")
    repo.write("elsewhere.md", "")
    (repo.root / "src/retry.py").unlink()
    after = statuses(checks.run_after(CONTRACT, workspace))
    assert after == {"docs": "failed", "retry-write-scope": "failed", "product": "failed", "made": "passed", "asked": "pending"}
    assert statuses(checks.run_before(CONTRACT, workspace))["clean"] == "failed"


def test_only_who_the_contract_names_may_skip(workspace: checks.Workspace) -> None:
    skipped = checks.run_after(CONTRACT, workspace, skips={"asked": checks.Skip("owner", "she is away")})
    record = next(record for record in skipped if record.id == "asked")
    assert (record.status, record.authority, record.seen) == ("skipped", "owner", "she is away")
    for id, party in (("asked", "ann"), ("made", "owner"), ("unknown", "owner")):
        with pytest.raises(checks.NoAuthority, match=f"`{party}` may not skip `{id}`"):
            checks.run_after(CONTRACT, workspace, skips={id: checks.Skip(party, "why")})


def test_nothing_is_left_behind(workspace: checks.Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    ran(workspace, "import os; os.makedirs('locked/x'); os.chmod('locked', 0)")
    checks.run_after(CONTRACT, workspace)
    assert list(scratch.iterdir()) == []
