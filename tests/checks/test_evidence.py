"""What a test run must show: cases that ran and passed, under the base's configuration. An exit code alone shows nothing."""

import sys
from pathlib import Path

import pytest

from lifecycle import checks
from lifecycle.law.acts import CheckRecord
from lifecycle.law.terms import CommandCheck

from .conftest import PRODUCT, PYTEST, TEST, Repo

GIVES_UP = "tests/test_retry.py::test_gives_up"
WRONG = PRODUCT.replace("+ 1", "+ 2")


def shown_by(workspace: checks.Workspace, *scope: str, argv: tuple[str, ...] = PYTEST, **more: object) -> CheckRecord:
    check = CommandCheck(argv, **{"cases": (GIVES_UP,), "timeout": 60.0, **more})
    return checks.run(check, workspace, scope=scope or ("src/",))


def test_a_sound_run_passes_and_its_record_keeps_what_it_showed(workspace: checks.Workspace) -> None:
    record = shown_by(workspace, min_cases=2)
    assert (record.status, record.exit) == ("passed", 0), record.seen
    assert record.seen == "1 of 1 trials passed: exit 0, 2 of 2 cases passed"
    assert record.cases == ("tests.test_retry::test_gives_up", "tests.test_retry::test_succeeds")
    assert record.argv == (*PYTEST, "--junitxml={junit}")
    assert record.artifact == workspace.artifact
    assert record.output_digest is not None and "2 passed" in record.output
    assert record.started is not None and record.ended is not None and record.started <= record.ended
    assert (record.cwd, record.environment) == (".", "here")


def test_wrong_work_fails_and_its_record_says_which_case(repo: Repo, workspace: checks.Workspace) -> None:
    repo.write("src/retry.py", WRONG)
    record = shown_by(workspace)
    assert (record.status, record.exit) == ("failed", 1)


def _exits_zero(repo: Repo) -> None:
    repo.write("src/retry.py", "import os\nos._exit(0)\n")


def _patches_the_runner(repo: Repo) -> None:
    repo.write("src/retry.py", WRONG + "import pytest\nraise pytest.skip.Exception('later', allow_module_level=True)\n")


IN_THE_PRODUCT = [_exits_zero, _patches_the_runner]


@pytest.mark.parametrize("trick", IN_THE_PRODUCT, ids=lambda trick: trick.__name__)
def test_a_product_that_ends_or_skips_the_run_does_not_pass(trick: object, repo: Repo, workspace: checks.Workspace) -> None:
    trick(repo)
    assert shown_by(workspace).status == "failed"


CONFTEST = """\
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
    outcome.get_result().longrepr = None
"""
PLUGIN = {
    "evil.py": CONFTEST,
    "evil.egg-info/entry_points.txt": "[pytest11]\nevil = evil\n",
    "evil.egg-info/PKG-INFO": "Name: evil\n",
}


def _conftest_at_the_top(repo: Repo) -> None:
    repo.write("conftest.py", (repo.root / "conftest.py").read_text() + CONFTEST)


def _conftest_beside_the_tests(repo: Repo) -> None:
    repo.write("tests/conftest.py", CONFTEST)


def _ini_that_deselects(repo: Repo) -> None:
    repo.write("pytest.ini", "[pytest]\naddopts = -k succeeds\n")


def _ini_that_loads_a_plugin(repo: Repo) -> None:
    repo.write("tests/evil.py", CONFTEST)
    repo.write("pytest.ini", "[pytest]\naddopts = -p tests.evil\n")


def _pyproject_that_loads_a_plugin(repo: Repo) -> None:
    repo.write("tests/evil.py", CONFTEST)
    repo.write("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-p tests.evil"\n')


def _tox_ini(repo: Repo) -> None:
    repo.write("tests/evil.py", CONFTEST)
    repo.write("tox.ini", "[pytest]\naddopts = -p tests.evil\n")


def _setup_cfg(repo: Repo) -> None:
    repo.write("tests/evil.py", CONFTEST)
    repo.write("setup.cfg", "[tool:pytest]\naddopts = -p tests.evil\n")


def _plugin_found_by_its_metadata(repo: Repo) -> None:
    for path, text in PLUGIN.items():
        repo.write(path, text)


def _runner_shadowed(repo: Repo) -> None:
    fake = '<testsuite><testcase classname=\\"tests.test_retry\\" name=\\"test_gives_up\\"/></testsuite>'
    repo.write("pytest.py", f'import sys\nopen(sys.argv[-1].split("=")[1], "w").write("{fake}")\n')


CONFIGURATION = [
    _conftest_at_the_top, _conftest_beside_the_tests, _ini_that_deselects, _ini_that_loads_a_plugin, _pyproject_that_loads_a_plugin,
    _tox_ini, _setup_cfg, _plugin_found_by_its_metadata, _runner_shadowed,
]  # fmt: skip


@pytest.mark.parametrize("trick", CONFIGURATION, ids=lambda trick: trick.__name__)
def test_configuration_in_the_workers_tree_has_no_say_even_in_scope(trick: object, repo: Repo, workspace: checks.Workspace) -> None:
    trick(repo)
    repo.write("src/retry.py", WRONG)
    repo.commit()
    assert shown_by(workspace, "**").status == "failed"


@pytest.mark.parametrize("trick", [_conftest_at_the_top, _plugin_found_by_its_metadata, _runner_shadowed])
def test_these_tricks_would_work_on_the_workers_own_tree(trick: object, repo: Repo) -> None:
    trick(repo)
    repo.write("src/retry.py", WRONG)
    tree = checks.Workspace.at(repo.root, repo.commit())
    assert shown_by(tree, "**").status == "passed"


def test_a_test_made_weaker_or_deleted_comes_back_from_the_base(repo: Repo, workspace: checks.Workspace) -> None:
    repo.write("src/retry.py", WRONG)
    repo.write("tests/test_retry.py", "def test_gives_up():\n    pass\n")
    assert shown_by(workspace).status == "failed"
    (repo.root / "tests/test_retry.py").unlink()
    assert shown_by(workspace).status == "failed"
    repo.write("src/retry.py", PRODUCT)
    assert shown_by(workspace).status == "passed"


def test_a_directory_of_tests_that_became_a_link_comes_back(repo: Repo, workspace: checks.Workspace, tmp_path: Path) -> None:
    (repo.root / "tests/test_retry.py").unlink()
    (repo.root / "tests").rmdir()
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake/test_retry.py").write_text("def test_gives_up():\n    pass\n")
    (repo.root / "tests").symlink_to(tmp_path / "fake")
    repo.write("src/retry.py", WRONG)
    assert shown_by(workspace).status == "failed"
    assert (tmp_path / "fake/test_retry.py").read_text() == "def test_gives_up():\n    pass\n"


def test_a_test_deleted_in_scope_is_a_case_that_did_not_run(repo: Repo, workspace: checks.Workspace) -> None:
    (repo.root / "tests/test_retry.py").unlink()
    repo.write("tests/test_other.py", "def test_gives_up():\n    pass\n")
    record = shown_by(workspace, "src/", "tests/")
    assert record.status == "failed" and "did not run: tests/test_retry.py::test_gives_up" in record.seen


@pytest.mark.parametrize(
    "mark",
    ["@pytest.mark.skip", "@pytest.mark.skipif(True, reason='r')", "@pytest.mark.xfail(run=False)", "@pytest.mark.xfail"],
)
def test_a_required_case_that_is_skipped_or_expected_to_fail_does_not_count(
    mark: str, repo: Repo, workspace: checks.Workspace
) -> None:
    text = TEST.replace("def test_gives_up", f"{mark}\ndef test_gives_up").replace("== 4", "== 5" if "xfail" in mark else "== 4")
    repo.write("tests/test_retry.py", "import pytest\n" + text)
    record = shown_by(workspace, "tests/")
    assert (record.status, record.exit) == ("failed", 0)
    assert "`tests.test_retry::test_gives_up` skipped" in record.seen


def test_a_run_that_only_skips_exits_0_and_does_not_pass(repo: Repo, workspace: checks.Workspace) -> None:
    repo.write("tests/test_retry.py", "import pytest\npytestmark = pytest.mark.skip\n" + TEST)
    record = shown_by(workspace, "tests/", cases=())
    assert (record.status, record.exit) == ("failed", 0)
    assert "0 of 2 cases passed" in record.seen


def test_a_deselected_case_did_not_run(workspace: checks.Workspace) -> None:
    record = shown_by(workspace, argv=(*PYTEST, "-k", "succeeds"))
    assert (record.status, record.exit) == ("failed", 0)
    assert "did not run" in record.seen


def test_too_few_cases_do_not_pass(workspace: checks.Workspace) -> None:
    assert shown_by(workspace, min_cases=3).seen.endswith("at least 3 are asked for (2 of 2 cases passed)")


def test_parameters_are_cases_each(repo: Repo, workspace: checks.Workspace) -> None:
    text = "import pytest\n@pytest.mark.parametrize('n', [1, 2, 'a::b'])\ndef test_gives_up(n):\n    {}\n"
    repo.write("tests/test_retry.py", text.format("pass"))
    assert shown_by(workspace, "tests/", min_cases=3).status == "passed"
    assert shown_by(workspace, "tests/", cases=(f"{GIVES_UP}[a::b]",)).status == "passed"
    assert shown_by(workspace, "tests/", cases=(f"{GIVES_UP}[3]",)).status == "failed"
    repo.write("tests/test_retry.py", text.format("n == 2 and pytest.skip()"))
    assert shown_by(workspace, "tests/").status == "failed"


# Other programs that write a JUnit file

SUITE = '<testsuites tests="{n}"><testsuite name="s" tests="{n}" failures="0">{cases}</testsuite></testsuites>'
CASE = '<testcase classname="s" name="one"/>'


def reporting(text: str, where: str = "{junit}") -> tuple[str, ...]:
    return (sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write(sys.argv[2])", where, text)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (SUITE.format(n=1, cases=CASE), "passed"),
        (SUITE.format(n=100, cases=""), "failed"),
        (SUITE.format(n=0, cases=CASE), "passed"),
        (SUITE.format(n=2, cases=CASE + CASE.replace("/>", "><failure/></testcase>")), "failed"),
        (SUITE.format(n=1, cases=CASE.replace("/>", "><error/></testcase>")), "failed"),
        (SUITE.format(n=1, cases=CASE.replace("/>", "><skipped/></testcase>")), "failed"),
        (SUITE.format(n=1, cases=CASE.replace("one", "two")), "failed"),
        ("<testsuite>", "failed"),
        ("no xml", "failed"),
    ],
)
def test_cases_are_counted_whatever_the_header_says(text: str, status: str, workspace: checks.Workspace) -> None:
    assert shown_by(workspace, argv=reporting(text), cases=("s::one",)).status == status


def test_a_junit_file_that_was_there_before_says_nothing(repo: Repo, workspace: checks.Workspace) -> None:
    repo.write("src/out.xml", SUITE.format(n=1, cases=CASE))
    more = {"cases": ("s.one",), "junit": "src/out.xml"}
    assert shown_by(workspace, argv=("true",), **more).seen == "exit 0, but the run wrote no JUnit file"
    assert shown_by(workspace, argv=reporting(SUITE.format(n=1, cases=CASE), "src/out.xml"), **more).status == "passed"


def test_cases_without_a_file_to_count_them_in_are_unavailable(workspace: checks.Workspace) -> None:
    assert shown_by(workspace, argv=("true",)).status == "unavailable"


def test_cases_without_a_base_are_unavailable(repo: Repo) -> None:
    assert shown_by(checks.Workspace.at(repo.root)).status == "unavailable"


# The flaky example: every one of N trials, and a mended test that must fail on a changed product


def test_every_trial_must_pass_and_the_record_says_how_many_ran(repo: Repo, workspace: checks.Workspace, tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f"from pathlib import Path\np = Path({str(count)!r})\nn = p.read_text() if p.exists() else ''\np.write_text(n + 'x')\n"
    argv = (sys.executable, "-c", script + "raise SystemExit(len(n) == 2)")
    assert shown_by(workspace, argv=argv, cases=(), repeat=5).seen == "trial 3 of 5: exit 1, asked for exit 0"
    assert len(count.read_text()) == 3
    record = shown_by(workspace, argv=argv, cases=(), repeat=3)
    assert (record.status, record.seen) == ("passed", "3 of 3 trials passed: exit 0")


def test_trials_leave_nothing_to_one_another_nor_to_the_workers_tree(repo: Repo, workspace: checks.Workspace) -> None:
    argv = (sys.executable, "-c", "import os; open('src/mark', 'x'); os.remove('src/retry.py')")
    assert shown_by(workspace, argv=argv, cases=(), repeat=3).status == "passed"
    assert repo.git("status", "--porcelain") == ""


MUTANT = """\
import subprocess, sys
from pathlib import Path
product = Path("src/retry.py")
changed = product.read_text().replace("RETRIES = 3", "RETRIES = 5")
assert changed != product.read_text(), "nothing to change"
product.write_text(changed)
raise SystemExit(subprocess.run([sys.executable, "-m", "pytest", "-q", *sys.argv[1:]]).returncode)
"""


def test_a_mended_test_must_fail_on_a_product_whose_retry_count_was_changed(repo: Repo) -> None:
    repo.write("acceptance/mutant.py", MUTANT)
    workspace = checks.Workspace.at(repo.root, repo.commit())
    argv = (sys.executable, "acceptance/mutant.py", "--junitxml={junit}")

    def verdicts() -> tuple[str, str]:
        scope = ("tests/test_retry.py",)
        return shown_by(workspace, *scope).status, shown_by(workspace, *scope, argv=argv, exit=1).status

    assert verdicts() == ("passed", "passed")
    repo.write("tests/test_retry.py", "from retry import attempts\n\ndef test_gives_up():\n    assert attempts(100) > 1\n")
    assert verdicts() == ("passed", "failed")
    repo.write("acceptance/mutant.py", "raise SystemExit(1)\n")
    assert verdicts() == ("passed", "failed")
    repo.write("tests/test_retry.py", "from retry import gone\n\ndef test_gives_up():\n    pass\n")
    assert verdicts() == ("failed", "failed")
