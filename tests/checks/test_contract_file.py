"""Contract files: what is read, what is refused and at which line, and that writing and reading give the same contract."""

import json
import string
from pathlib import Path

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from lifecycle import checks
from lifecycle.law.contract import Contract, Criterion, Escalation, EvidenceRule, Owners
from lifecycle.law.terms import (
    Budget,
    CallableCheck,
    CommandCheck,
    Condition,
    DiffCheck,
    Exclusion,
    FileCheck,
    MetricCheck,
    PersonCheck,
)

HEAD = 'id = "x"\nversion = "1"\ngoal = "g"\n'
ONE = '[[acceptance]]\nid = "a"\ntext = "t"\n'


def refused(text: str, format: checks.Format = "toml", **more: bool) -> checks.ContractError:
    with pytest.raises(checks.ContractError) as caught:
        checks.parse(text, format, **more)
    assert "\n" not in str(caught.value)
    return caught.value


def test_one_contract_in_two_formats() -> None:
    toml = """
        id = "retry"
        version = "1"
        goal = "mend it"
        write_scope = ["src/"]
        [[acceptance]]
        id = "tests"
        text = "the tests pass"
        check = { kind = "command", argv = ["pytest", "-q"], timeout = "1h 30m" }
        [[acceptance]]
        id = "fast"
        text = "it is fast"
        [acceptance.check]
        kind = "metric"
        metric = "p95"
        argv = ["./measure"]
        op = "<"
        threshold = 200
        setup = "4 cores"
        [budget]
        money = 1.5
        seconds = "45s"
    """
    yaml = """
id: retry
version: "1"
goal: mend it
write_scope: [src/]
acceptance:
  - {id: tests, text: the tests pass, check: {kind: command, argv: [pytest, -q], timeout: 5400}}
  - id: fast
    text: it is fast
    check: {kind: metric, metric: p95, argv: [./measure], op: <, threshold: 200.0, setup: 4 cores}
budget: {money: "1.5", seconds: 45}
"""
    one, other = checks.parse(toml, "toml"), checks.parse(yaml, "yaml")
    assert one == other
    assert one.digest == other.digest


def test_a_file_is_read_by_its_suffix(tmp_path: Path) -> None:
    contract = Contract("x", "1", "g", (Condition("a", "t"),))
    for name in ("c.toml", "c.yaml", "c.yml", "C.TOML"):
        checks.write(contract, tmp_path / name)
        assert checks.read(tmp_path / name) == contract
    with pytest.raises(checks.ContractError, match=r"suffix `.json`.*name it with one of: .toml"):
        checks.read(tmp_path / "c.json")
    with pytest.raises(checks.ContractError, match=r"absent.toml: cannot be read: no such file"):
        checks.read(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(HEAD.encode() + b"# caf\xe9\n")
    with pytest.raises(checks.ContractError, match=r"latin.toml:4:1: is no UTF-8"):
        checks.read(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        (HEAD + "accptance = []\n" + ONE, 4, 1, "write `acceptance`"),
        (HEAD + ONE + "chek = 1\n", 7, 1, "write `check`"),
        (HEAD + ONE + 'check = { kind = "comand", argv = ["a"] }\n', 7, 11, "write `command`"),
        (HEAD + ONE + 'check = { argv = ["a"] }\n', 7, 1, "has no `kind`"),
        (HEAD + ONE + '[acceptance.check]\nkind = "file"\npath = "a"\nnon_emty = true\n', 10, 1, "write `non_empty`"),
        (HEAD + ONE + 'check = { kind = "file", path = "/etc/passwd" }\n', 7, 26, "leads outside the workspace"),
        (HEAD + ONE + 'check = { kind = "command", argv = ["a"], cwd = "a/../../b" }\n', 7, 43, "leads outside"),
        (HEAD + ONE + 'check = { kind = "command", argv = [], timeout = "3x" }\n', 7, 29, "at least 1 item"),
        (HEAD + ONE + 'check = { kind = "command", argv = ["a"], timeout = "3x" }\n', 7, 43, "valid number"),
        (HEAD + ONE + 'check = { kind = "command", argv = ["a"], repeat = "3" }\n', 7, 43, "valid integer"),
        (HEAD + ONE + 'check = { kind = "person", party = "clock", question = "q" }\n', 7, 28, "engine itself"),
        (HEAD + ONE + 'check = { kind = "metric", argv = ["a"] }\n', 7, 1, "is missing"),
        (HEAD + ONE + "check = 3\n", 7, 1, "neither a table nor a text"),
        (HEAD + ONE + 'check = " "\n', 7, 1, "says something"),
        (HEAD + ONE + "\n" + ONE, 9, 1, "`a` stands twice (first at line 5)"),
        (HEAD + ONE + '[[invariants]]\ntext = "t"\nid = "a"\n', 9, 1, "`a` stands twice (first at line 5)"),
        (HEAD + ONE + '[[evidence]]\nid = "e"\nevidence = "e"\n[[evidence]]\nid = "e"\nevidence = "e"\n', 11, 1, "stands twice"),
        (HEAD + '[[acceptance]]\nid = "a"\n', 4, 3, "`acceptance[0].text` is missing"),
        (HEAD + '[[acceptance]]\nid = "a b"\ntext = "t"\n', 5, 1, "letters, digits"),
        (HEAD + 'write_scope = [\n  "src",\n  "/etc",\n]\n' + ONE, 6, 3, "absolute path"),
        (HEAD + 'write_scope = ["a/../../b"]\n' + ONE, 4, 16, "leads outside with `..`"),
        (HEAD + 'write_scope = ["!a"]\n' + ONE, 4, 16, "takes back"),
        (HEAD + 'write_scope = [".git/hooks"]\n' + ONE, 4, 16, "git's own"),
        (HEAD + '[[escalation]]\nchoice = "c"\n' + ONE, 4, 3, "name who owns this choice"),
        (HEAD + "inputs = [2026-12-01]\n" + ONE, 4, 11, "date or a time"),
        ('id = "x"\nversion = 1.0\ngoal = "g"\n' + ONE, 2, 1, "write it as a text, in quotes"),
        (HEAD, 1, 1, "accepts nothing, and a verdict is asked"),
        (HEAD + "acceptance = []\n", 4, 1, "accepts nothing, and a verdict is asked"),
        (HEAD + 'id = "y"\n' + ONE, 4, 9, "overwrite"),
        (HEAD + "gaol", 4, 5, "no TOML"),
        (HEAD + ONE + 'check = { kind = "callable", entry_point = "a:b", arguments = [nan] }\n', 7, 64, "finite"),
        (HEAD + ONE + 'check = { kind = "callable", entry_point = "a:b", arguments = 9007199254740992 }\n', 7, 51, "rounded"),
    ],
)  # fmt: skip
def test_a_fault_in_toml_stands_at_its_line(text: str, line: int, column: int, says: str) -> None:
    error = refused(text)
    assert (error.line, error.column) == (line, column)
    assert says in str(error)
    assert error.mend


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("id: x\nversion: 1\ngoal: g\nacceptance: [{id: a, text: t}]", 2, "in quotes"),
        ("id: x\nversion: v\ngoal: g\nid: y\n", 4, "key `id` stands twice"),
        ("id: x\nversion: v\ngoal: g\nacceptance:\n- id: a\n  txt: t\n", 6, "write `text`"),
        ("id: x\nversion: v\ngoal: !!python/name:os.system g\n", 3, "tag"),
        ("id: x\nversion: v\ngoal: !mine g\n", 3, "tag"),
        ("a: [1\nb: 2", 2, "no YAML"),
        ("a: 1\n---\nb: 2\n", 2, "another document"),
        ("- a\n", 1, "not a table"),
        ("", 1, "is missing"),
        ("<<: {id: x}\n", 1, "no key that is known"),
        ("? [a]\n: b\n", 1, "a key that is no text"),
        ("id: &a [*a]\n", 1, "nested deeper"),
        ("a: .nan", 1, "finite"),
        ("a: " + "9" * 5000, 1, "finite"),
        ("a: " + "[" * 500, None, "nested too deep"),
    ],
)
def test_a_fault_in_yaml_stands_at_its_line(text: str, line: int | None, says: str) -> None:
    error = refused(text, "yaml", verdict=False)
    assert error.line == line
    assert says in str(error)


def test_an_alias_bomb_ends() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert "aliases counted" in str(refused(bomb, "yaml"))


def test_a_file_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("#" * (1 << 18) + "\n")
    with pytest.raises(checks.ContractError, match="larger than"):
        checks.read(tmp_path / "c.toml")


def test_yaml_is_yaml_1_2() -> None:
    text = "id: no\nversion: 2026-12-01\ngoal: 1_000\nacceptance:\n- {id: off, text: yes}\ninputs: [12:30, 0x, on]\n"
    contract = checks.parse(text, "yaml")
    assert (contract.id, contract.version, contract.goal) == ("no", "2026-12-01", "1_000")
    assert (contract.acceptance, contract.inputs) == ((Condition("off", "yes"),), ("12:30", "0x", "on"))


def test_all_faults_are_told_in_the_order_of_the_file() -> None:
    error = refused('idd = 1\nversion = "1"\ngoal = "g"\n' + ONE + "chek = 1\n" + ONE)
    assert [fault.line for fault in error.faults] == [1, 7, 9]
    assert "(and 2 more)" in str(error)


TRICKY = '''id = "x"   # [not.a.table]
version = "1"
goal = """
[[acceptance]]
bogus = 1
"""
write_scope = [
  "src",  # ]
  'a#b',
]
[owners]  # a comment
"user" = "u"
[budget]
tokens = 1
# bogus = 2
[[acceptance]]
id = "a"
text = \'\'\'
x = 1
\'\'\'
check.kind = "command"
check.argv = ["a",
  "b"]
[[acceptance]]
id = "b"
text = "t"
  [acceptance.check]
  kind = "callable"
  entry_point = "a:b"
  [acceptance.check.arguments]
  deep = [{x = 1}, [
    {y = 2}]]
[[invariants]]
id = "c"
text = "t"
check = {kind = "file", path = "p"}
'''


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"user" = "u"', '"user" = "clock"', 12),
        ("tokens = 1", "tokens = -1", 14),
        ('check.kind = "command"', 'check.kind = "comand"', 21),
        ('  "b"]', "  3]", 23),
        ('id = "b"', 'id = "a"', 25),
        ('entry_point = "a:b"', 'entry_point = "a b"', 29),
        ("    {y = 2}]]", "    {y = inf}]]", 32),
        ('path = "p"', 'path = "../p"', 36),
        ("'a#b'", "'/b'", 9),
    ],
)  # fmt: skip
def test_the_line_is_right_in_every_kind_of_toml(old: str, new: str, line: int) -> None:
    assert checks.parse(TRICKY, "toml").acceptance[1].check is not None
    assert TRICKY.count(old) == 1
    assert refused(TRICKY.replace(old, new)).line == line


def test_an_empty_acceptance_stands_where_no_verdict_is_asked() -> None:
    assert checks.parse(HEAD, "toml", verdict=False).acceptance == ()


def test_toml_says_that_it_has_no_null() -> None:
    contract = Contract("x", "1", "g", (Condition("a", "t", CallableCheck("a:b", arguments={"k": [None]})),))
    with pytest.raises(checks.ContractError, match=r"`acceptance\[0\].check.arguments.k\[0\]` is null.*write it as YAML"):
        checks.dumps(contract, "toml")
    assert checks.parse(checks.dumps(contract, "yaml"), "yaml") == contract


# A contract of every kind there is, written and read again

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12).filter(
    lambda text: any(not c.isspace() and c not in "\x1c\x1d\x1e\x1f\x85" for c in text)
)
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
line = st.from_regex(r"[ -~]*[!-~][ -~]*", fullmatch=True).map(lambda s: s[:20]).filter(str.strip)
ids = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=6)
parties = ids.filter(lambda id: id != "clock")
paths = st.lists(st.text("abc.*", min_size=1, max_size=4).filter(lambda p: ".." not in p), min_size=1, max_size=3).map("/".join)
numbers = st.floats(allow_nan=False, allow_infinity=False)
seconds = st.floats(0, 1e9)
argv = st.lists(words, min_size=1, max_size=3).map(tuple)
leaves = st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | numbers | text
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=6
)


def built(kind: type, *args: st.SearchStrategy, **more: st.SearchStrategy) -> st.SearchStrategy:
    return st.tuples(st.tuples(*args), st.fixed_dictionaries(more)).map(lambda given: kind(*given[0], **given[1]))


kinds = st.one_of(
    built(
        CommandCheck, argv, cwd=paths, environment=st.none() | ids, timeout=seconds, exit=st.integers(-64, 255),
        repeat=st.integers(1, 10_000), cases=st.lists(line, max_size=2).map(tuple), min_cases=st.integers(0, 9),
        junit=st.none() | paths,
    ),
    built(FileCheck, paths, non_empty=st.booleans(), digest=st.none() | st.just("sha256:ab12")),
    built(DiffCheck, base=st.none() | text, scope=st.lists(paths, max_size=2).map(tuple)),
    built(MetricCheck, words, argv, st.sampled_from(["<", "<=", "==", ">=", ">"]), numbers, words, unit=text, timeout=seconds),
    built(CallableCheck, st.just("a.b:c"), arguments=st.none() | json_values, timeout=seconds),
    built(PersonCheck, parties, words),
)  # fmt: skip


@st.composite
def contracts(draw: st.DrawFn) -> Contract:
    names = iter(draw(st.lists(ids, min_size=8, max_size=8, unique=True)))
    check = st.none() | words | kinds
    owner = st.none() | parties
    return Contract(
        draw(ids), draw(words), draw(words),
        acceptance=tuple(Condition(next(names), draw(words), draw(check)) for _ in range(draw(st.integers(1, 2)))),
        invariants=tuple(Criterion(next(names), draw(words), draw(check)) for _ in range(draw(st.integers(0, 2)))),
        preconditions=tuple(Criterion(next(names), draw(words), draw(check)) for _ in range(draw(st.integers(0, 1)))),
        non_goals=tuple(
            Exclusion(next(names), draw(words), draw(st.sampled_from(["path", "behaviour"])))
            for _ in range(draw(st.integers(0, 2)))
        ),
        write_scope=tuple(draw(st.lists(paths, max_size=2))),
        inputs=tuple(draw(st.lists(words, max_size=2))),
        constraints=tuple(draw(st.lists(words, max_size=2))),
        evidence=tuple(draw(st.lists(built(EvidenceRule, ids, words, st.lists(parties, max_size=2).map(tuple)), max_size=2,
                                     unique_by=lambda rule: rule.id))),
        escalation=tuple(draw(st.lists(built(Escalation, words, parties), max_size=2))),
        budget=draw(st.none() | built(
            Budget, st.none() | st.integers(0, 2**53 - 1), st.none() | st.decimals(0, 10**9, places=3), st.none() | seconds)),
        owners=Owners(draw(owner), draw(owner), draw(owner), draw(owner)),
    )  # fmt: skip


@given(contracts())
@example(Contract("x", "1", "\ufeff \x85\u2028'\"\t\x7f\x1b", (Condition("a", "no: # - |\n  x\r\n"),)))
@example(Contract("x", "1", "g", (Condition("a", "t", MetricCheck("m", ("a",), "<", 5e-324, "s", timeout=1e9)),)))
def test_what_is_written_is_read_again(contract: Contract) -> None:
    for format in ("toml", "yaml"):
        read = checks.parse(checks.dumps(contract, format), format)
        assert read == contract
        assert read.digest == contract.digest


@settings(max_examples=30)
@given(contracts())
def test_the_schema_knows_every_contract(contract: Contract) -> None:
    jsonschema.Draft202012Validator(checks.schema()).validate(
        json.loads(TypeAdapter(Contract).dump_json(contract, exclude_none=True))
    )


def test_the_schema_takes_times_as_texts_and_refuses_what_is_unknown() -> None:
    valid = jsonschema.Draft202012Validator(checks.schema()).is_valid
    held = {"id": "x", "version": "1", "goal": "g", "budget": {"seconds": "1h"}}
    assert valid(held)
    assert not valid({**held, "bogus": 1})
    assert not valid({**held, "acceptance": [{"id": "a", "text": "t", "check": {"kind": "comand"}}]})


@given(ids, words)
def test_a_new_contract_can_be_read(id: str, goal: str) -> None:
    contract = checks.parse(checks.new(id, goal), "toml")
    assert (contract.id, contract.goal) == (id, goal)


def test_a_new_contract_with_its_comments_taken_off_can_be_read() -> None:
    lines = checks.new("retry", "mend it").splitlines()
    written = ("[", "id", "text", 'check = { kind = "command"', "evidence", "skip", "choice", "owner", "user", "seconds")
    bare = [(line, line.removeprefix("# ")) for line in lines]
    kept = [said for line, said in bare if line == said or said.startswith(written)]
    contract = checks.parse("\n".join(kept), "toml")
    assert contract.evidence[0].skip == ("owner",)
    assert contract.budget is not None and contract.budget.seconds == 3600
