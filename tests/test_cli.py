"""The command line: every verb, for a person and for a program; and what it says when it is misused."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lifecycle
from lifecycle.cli import main
from lifecycle.law.states import Stage

VERBS = ["demo", "jobs", "show", "log", "may", "schema", "submit", "cancel", "sweep", "audit", "table", "export", "import", "purge"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with two jobs: `done` was confirmed, `open` is requested."""
    url = f"sqlite:///{tmp_path}/jobs.db"
    with lifecycle.open(url) as jobs:
        for name in ("done", "open"):
            jobs.request("total 2024", requester="planner", worker="coder", conditions={"c1": "report.csv totals 2024"}, id=name)
        coder, planner = jobs.seat("done", "coder"), jobs.seat("done", "planner")
        coder.accept()
        coder.deliver("report.csv", met={"c1": "report.csv:12"})
        planner.confirm("checked by hand")
    return url


def run(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(words), input=stdin)


def told(*words: str, stdin: str | None = None) -> object:
    result = run(*words, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_the_table_has_one_object_per_edge() -> None:
    edges = told("table")
    assert isinstance(edges, list) and len(edges) == 70
    assert all(list(edge) == ["act", "by", "from", "to", "why"] for edge in edges)
    assert [edge for edge in edges if edge["from"] is None] == [
        {"act": "request", "by": "requester", "from": None, "to": "requested", "why": ""}
    ]
    assert {edge["to"] for edge in edges} | {edge["from"] for edge in edges} == {None, *Stage}


def test_jobs_are_listed_by_what_they_are_and_whose(url: str) -> None:
    def names(*words: str) -> list[str]:
        rows = told("jobs", "--store", url, *words)
        assert isinstance(rows, list)
        return [row["job"] for row in rows]

    assert names() == ["done", "open"]
    assert names("--open") == ["open"]
    assert names("--ended", "--state", "result") == ["done"]
    assert names("--worker", "nobody") == []
    assert "result.accepted" in run("jobs", "--store", url).output


def test_a_job_is_shown_whole(url: str) -> None:
    shown = told("show", "done", "--store", url)
    assert isinstance(shown, dict)
    assert shown["termination"]["status"] == "passed"
    assert shown["report"]["conditions"] == [{"id": "c1", "status": "met", "evidence": "report.csv:12"}]
    page = run("show", "open", "--store", url).output
    assert "coder: accept, decline, counter, defer" in page and "report.csv totals 2024" in page


def test_a_log_and_its_refusals_are_shown(url: str) -> None:
    assert run("cancel", "done", "--by", "planner", "--store", url).exit_code == 1
    entries, refusals = told("log", "done", "--store", url), told("log", "done", "--refusals", "--store", url)
    assert isinstance(entries, list) and isinstance(refusals, list)
    assert [(e["seq"], e["from"], e["to"]) for e in entries][:2] == [(0, None, "requested"), (1, "requested", "accepted.ready")]
    assert [r["reason"] for r in refusals] == ["closed"]


def test_acts_are_offered_and_made(url: str) -> None:
    assert told("may", "open", "--by", "coder", "--store", url) == ["accept", "decline", "counter", "defer"]
    schema = told("schema", "open", "--by", "coder", "--store", url)
    assert isinstance(schema, dict)
    assert [kind["properties"]["act"]["const"] for kind in schema["anyOf"]] == ["accept", "decline", "counter", "defer"]
    first = told("submit", "open", "--by", "coder", "--id", "a1", "--store", url, stdin='{"act": "accept"}')
    again = told("submit", "open", "--by", "coder", "--id", "a1", "--store", url, stdin='{"act": "accept"}')
    assert first == again
    assert isinstance(first, dict) and first["stage"] == "accepted.ready"


def test_a_request_makes_the_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    request = '{"act": "request", "goal": "total 2024", "worker": "coder"}'
    assert "j1 is in requested" in run("submit", "j1", request, "--by", "planner", "--store", url).output
    assert "cancelled.stopped" in run("cancel", "j1", "--by", "planner", "--store", url).output
    assert told("sweep", "--store", url) == []


def test_audit_tells_by_its_exit_code(url: str) -> None:
    assert told("audit", "--store", url) == []
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as held:
        held.execute("UPDATE log SET body = replace(body, 'total 2024', 'total 2025') WHERE body LIKE '{\"job\":\"open\"%'")
    result = run("audit", "--store", url, "--json")
    assert result.exit_code == 1
    assert [(found["job"], found["seq"]) for found in json.loads(result.output)] == [("open", 0)]


def test_a_store_moves_house_by_a_file_or_a_pipe(url: str, tmp_path: Path) -> None:
    other, third = f"sqlite:///{tmp_path}/other.db", f"sqlite:///{tmp_path}/third.db"
    assert told("export", f"{tmp_path}/jobs.jsonl", "--store", url) == {"jobs": 2, "entries": 5}
    assert told("import", f"{tmp_path}/jobs.jsonl", "--store", other) == {"jobs": 2, "entries": 5}
    assert told("import", f"{tmp_path}/jobs.jsonl", "--store", other) == {"jobs": 0, "entries": 0}
    piped = CliRunner().invoke(main, ["export", "--store", other]).stdout
    assert "2 jobs, 5 entries brought in" in run("import", "--store", third, stdin=piped).output
    for job in ("done", "open"):
        assert told("log", job, "--store", third) == told("log", job, "--store", url)
    assert "File exists" in run("export", f"{tmp_path}/jobs.jsonl", "--store", url).output
    assert "No such file" in run("import", f"{tmp_path}/none.jsonl", "--store", url).output
    assert "line 1" in run("import", url.removeprefix("sqlite:///"), "--store", other).output
    assert "line 1" in run("import", "--store", other, stdin="").output


def test_what_ended_is_purged_by_age_into_an_archive(url: str, tmp_path: Path) -> None:
    assert told("purge", "--older-than", "1d", "--store", url) == {"jobs": 0, "entries": 0}
    assert told("purge", "--older-than", "0s", "--archive", f"{tmp_path}/a.jsonl", "--store", url) == {"jobs": 1, "entries": 4}
    gone = run("show", "done", "--store", url)
    assert gone.exit_code == 1 and "is gone, purged at" in gone.output and "accepted / passed" in gone.output
    assert told("import", f"{tmp_path}/a.jsonl", "--store", f"sqlite:///{tmp_path}/b.db") == {"jobs": 1, "entries": 4}
    assert run("purge", "--older-than", "soon", "--store", url).exit_code == 2


def test_a_backup_is_a_store_and_takes_no_files_place(url: str, tmp_path: Path) -> None:
    assert run("backup", f"{tmp_path}/copy.db", "--store", url).exit_code == 0
    assert told("jobs", "--store", f"sqlite:///{tmp_path}/copy.db") == told("jobs", "--store", url)
    assert "File exists" in run("backup", f"{tmp_path}/copy.db", "--store", url).output
    assert "pg_dump" in run("backup", f"{tmp_path}/x.db", "--store", "memory:").output
    assert "of this build's layout" in run("migrate", "--store", f"sqlite:///{tmp_path}/new.db").output


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["show", "nothing"], 1, "no job `nothing`"),
        (["show", "open", "--by", "stranger"], 1, "no job `open`"),
        (["submit", "open", '{"act": "deliver"}', "--by", "coder"], 1, "illegal"),
        (["submit", "open", '{"act": "dance"}', "--by", "coder"], 1, "there is no act `dance`"),
        (["submit", "open", '{"act": "decline"}', "--by", "coder"], 1, "`reason`"),
        (["submit", "open", "{", "--by", "coder"], 1, "no JSON"),
        (["submit", "open", '{"act": "accept", "act": "decline"}', "--by", "coder"], 1, "key `act` stands twice"),
        (["submit", "open", '{"act": "accept"}', "--by", "coder", "--expect", "7"], 1, "stands at seq 0, not at 7"),
        (["submit", "open", '{"act": "accept"}'], 2, "--by"),
        (["schema", "open"], 2, "--by"),
        (["jobs", "--state", "dancing"], 2, "dancing"),
        (["dance"], 2, "dance"),
    ],
)
def test_misuse_is_one_clear_line(url: str, words: list[str], exit_code: int, said: str) -> None:
    result = run(*words, *([] if words[0] == "dance" else ["--store", url]))
    assert (result.exit_code, said in result.output) == (exit_code, True), result.output
    assert exit_code == 2 or result.output.count("\n") == 1


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = run("jobs", "--store", f"sqlite:///{tmp_path}/none.db")
    assert result.exit_code == 1 and "no file" in result.output
    assert list(tmp_path.iterdir()) == []
    assert run("jobs", "--store", "mysql://x").exit_code == 1


def test_what_is_shown_cannot_take_the_terminal(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    with lifecycle.open(url) as jobs:
        jobs.request("\x1b[31m red \u202e [bold]txt[/bold]", requester="planner", worker="coder", id="j")
    for verb in (["jobs"], ["show", "j"], ["log", "j"]):
        page = run(*verb, "--store", url).output
        assert "\x1b" not in page and "\u202e" not in page and "[bold]" in page


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    page = run(verb, "--help").output
    assert f"lifecycle {verb}" in page and "--json" in page


def test_it_is_a_program_with_a_name() -> None:
    run = subprocess.run([sys.executable, "-m", "lifecycle.cli", "--help"], capture_output=True, text=True, check=True)
    assert all(verb in run.stdout for verb in VERBS)
