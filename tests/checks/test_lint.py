"""Lint: each rule finds what it is for, at its line, and leaves a sound contract alone."""

from pathlib import Path

import pytest

from lifecycle import checks

HEAD = 'id = "x"\nversion = "1"\ngoal = "g"\nwrite_scope = ["src/"]\n'
SOUND = (
    HEAD
    + """\
[[acceptance]]
id = "a"
text = "the tests pass"
check = { kind = "command", argv = ["pytest"], cases = ["tests/test_a.py::test_a"] }
[[acceptance]]
id = "b"
text = "p95 under 200 ms on 4 cores, measured with 1000 requests"
[[evidence]]
id = "a"
evidence = "the JUnit file"
[[escalation]]
choice = "a new dependency"
owner = "ann"
[owners]
user = "ann"
"""
)


def found(text: str, tmp_path: Path) -> list[tuple[str, int | None]]:
    (tmp_path / "c.toml").write_text(text)
    return [(finding.rule, finding.line) for finding in checks.lint(tmp_path / "c.toml")]


def test_a_sound_contract_has_no_finding(tmp_path: Path) -> None:
    assert found(SOUND, tmp_path) == []
    assert checks.lint(checks.read(tmp_path / "c.toml")) == []


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        ("p95 under 200 ms on 4 cores, measured with 1000 requests", "it is fast enough on my machine", "no_check", 9),
        ("p95 under 200 ms on 4 cores, measured with 1000 requests", "p95 under 200 ms", "no_setup", 9),
        ('check = { kind = "command"', '# check = { kind = "command"', "no_check", 5),
        ('[[evidence]]\nid = "a"', '[[evidence]]\nid = "b"', "no_evidence_rule", 8),
        ('[[evidence]]\nid = "a"', '[[evidence]]\nid = "z"\nevidence = "r"\n[[evidence]]\nid = "a"', "evidence_for_nothing", 13),
        ('owner = "ann"', 'owner = "bob"', "owner_missing", 17),
        ('["src/"]', "[]", "no_scope", 4),
        ('["src/"]', '["**/*"]', "no_scope", 4),
        ('["src/"]', '["src/", "tests/"]', "own_test", 5),
        ('kind = "command", argv = ["pytest"], cases = ["tests/test_a.py::test_a"]',
         'kind = "metric", metric = "m", argv = ["a"], op = "<", threshold = 1, setup = "TBD"', "no_setup", 8),
        ('kind = "command", argv = ["pytest"], cases = ["tests/test_a.py::test_a"]',
         'kind = "person", party = "zoe", question = "q"', "owner_missing", 8),
    ],
)  # fmt: skip
def test_each_rule_finds_what_it_is_for(old: str, new: str, rule: str, line: int, tmp_path: Path) -> None:
    assert SOUND.count(old) == 1
    assert (rule, line) in found(SOUND.replace(old, new), tmp_path)
    assert {other for other, _ in found(SOUND.replace(old, new), tmp_path)} - {rule} <= {"own_test"}


def test_a_test_that_must_fail_on_a_changed_product_may_be_the_workers_own(tmp_path: Path) -> None:
    own = SOUND.replace('["src/"]', '["src/", "tests/"]')
    changed = 'check = { kind = "command", argv = ["./changed"], exit = 1, cases = ["tests/test_a.py::test_a"] }'
    more = f'[[acceptance]]\nid = "c"\ntext = "t"\n{changed}\n[[evidence]]\nid = "c"\nevidence = "e"\n'
    held = own.replace("[[evidence]]", f"{more}[[evidence]]")
    assert ("own_test", 5) in found(own, tmp_path)
    assert found(held, tmp_path) == []


def test_a_contract_that_accepts_nothing_is_found(tmp_path: Path) -> None:
    assert found(HEAD, tmp_path) == [("nothing_accepted", 1)]


def test_a_scope_made_in_code_is_found_too() -> None:
    contract = checks.parse(HEAD, "toml", verdict=False)
    scoped = type(contract)("x", "1", "g", write_scope=("/etc", "a/../.."))
    assert [finding.rule for finding in checks.lint(scoped)] == ["nothing_accepted", "bad_scope", "bad_scope"]


def test_a_new_contract_lints_to_what_its_author_must_say(tmp_path: Path) -> None:
    assert found(checks.new("x", "g"), tmp_path) == [("no_scope", 7), ("no_check", 10)]
    assert all("\n" not in str(finding) and "to mend it" in str(finding) for finding in checks.lint(tmp_path / "c.toml"))
