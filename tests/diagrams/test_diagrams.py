"""What is drawn is the law: parsed back, each format gives the table; and nothing from outside is taken for a format's own."""

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import lifecycle
from lifecycle.diagrams import draw
from lifecycle.diagrams.render import NotDrawn, drawer
from lifecycle.law.states import FINAL, Role, Stage
from lifecycle.law.table import LAW
from tests.diagrams import parsers
from tests.diagrams.conftest import POISON

DRAWN = Path(__file__).parents[2] / "diagrams"
READERS = {name: getattr(parsers, name) for name in ("mermaid", "dot", "plantuml", "scxml", "markdown")}
KEPT = {
    "machine.mmd": ("machine", "mermaid"),
    "machine.dot": ("machine", "dot"),
    "machine.puml": ("machine", "plantuml"),
    "machine.scxml": ("machine", "scxml"),
    "machine.md": ("machine", "markdown"),
    "overview.mmd": ("overview", "mermaid"),
    "overview.dot": ("overview", "dot"),
    "overview.puml": ("overview", "plantuml"),
    "overview.md": ("overview", "markdown"),
}
PICTURES = {"machine.svg": ("machine", "svg"), "overview.svg": ("overview", "svg"), "overview.png": ("overview", "png")}
SHAPES = {"svg", "g", "title", "text", "path", "polygon", "ellipse", "polyline", "a", "tspan"}
PURE = shutil.which("graphviz-pure", path=str(Path(sys.executable).parent)) or shutil.which("graphviz-pure")
OF_JOBS = [(kind, form) for kind, forms in {**draw.OF_JOB, **draw.OF_TREE}.items() for form in forms]


def drawn(jobs: lifecycle.Jobs, kind: str, form: str) -> bytes:
    return draw.draw(kind, form, jobs.log("j1"), lambda parent: jobs.find(parent=parent))


@pytest.mark.parametrize("form", READERS)
def test_parsed_back_it_is_the_table(form: str) -> None:
    read = READERS[form](draw.draw("machine", form).decode())
    short = form not in ("scxml", "markdown")  # a label has room for a short name, and for the why of a guard only
    names = {role: "whoever is asked" if short and role is Role.NEEDED else role.value for role in Role}
    whole = form == "markdown"
    edges = [(r.origin and r.origin.value, r.act, names[r.by], r.to.value, r.why if r.when or whole else "") for r in LAW.rows]
    assert len(edges) == 70
    assert sorted(read.edges, key=str) == sorted(edges, key=str)
    assert read.initial == {"requested"}
    assert read.final == {stage.value for stage in FINAL}
    assert read.inside == {stage.value: stage.state.value for stage in Stage if "." in stage}


@pytest.mark.parametrize("form", READERS)
def test_names_of_two_words_come_back_as_they_were(form: str) -> None:
    read = READERS[form](draw.draw("machine", form).decode())
    assert {"accepted.under_review", "progressing.awaiting_approval"} <= {edge[3] for edge in read.edges} & {*read.inside}


def test_scxml_asks_the_guards_of_the_table() -> None:
    space = "{http://www.w3.org/2005/07/scxml}"
    root = ET.fromstring(draw.draw("machine", "scxml"))
    asked = [edge.get("cond") for edge in root.iter(f"{space}transition") if edge.get("cond")]
    assert sorted(asked) == sorted(" && ".join(choice.__name__ for choice in row.when) for row in LAW.rows if row.when)
    assert {word for cond in asked for word in cond.split(" && ")} == {data.get("id") for data in root.iter(f"{space}data")}


@pytest.mark.parametrize("form", ["mermaid", "dot", "plantuml"])
def test_one_arrow_per_pair_of_stages(form: str) -> None:
    text = draw.draw("machine", form).decode()
    arrows = re.findall(r'^\s*"?([\w.\[\]*]+)"? -(?:->|>|\[\S+\]->) "?([\w.]+)"?(?: :|:| \[)', text, re.M)
    assert len(arrows) == len(set(arrows)) == len({(row.origin, row.to) for row in LAW.rows})


@pytest.mark.parametrize(("name", "drawing"), KEPT.items(), ids=list(KEPT))
def test_what_is_kept_is_fresh(name: str, drawing: tuple[str, str]) -> None:
    assert (DRAWN / name).read_text() == draw.draw(*drawing).decode()


@pytest.mark.skipif(PURE is None, reason="graphviz-pure draws the kept pictures: pip install 'lifecycle[diagrams]'")
@pytest.mark.parametrize(("name", "drawing"), PICTURES.items(), ids=list(PICTURES))
def test_what_is_rendered_is_fresh(name: str, drawing: tuple[str, str]) -> None:
    assert (DRAWN / name).read_bytes() == draw.draw(*drawing)


@pytest.mark.parametrize(("kind", "form"), OF_JOBS)
def test_poison_is_text(jobs: lifecycle.Jobs, kind: str, form: str) -> None:
    text = drawn(jobs, kind, form).decode()
    assert all(line.isprintable() for line in text.splitlines())
    for mark in ("<b>x</b>", "[[a]]", "{{}}", "**b**", "!include", "@enduml #", "#35; $", "www.x", "`%`", "<!--"):
        if form == "dot":
            continue  # an HTML-like label: only what the next test reads matters
        assert mark not in text, mark


def test_poison_in_dot_is_escaped_and_well_formed(jobs: lifecycle.Jobs) -> None:
    for kind in ("job", "sequence", "tree"):
        labels = re.findall(r"label=<(.*)>(?: \w+=.*)?\]$", drawn(jobs, kind, "dot").decode(), re.M)
        assert labels
        for label in labels:
            ET.fromstring(f"<label>{label}</label>".replace("&#160;", " "))
            assert "<b>x</b>" not in label


@pytest.mark.skipif(drawer() is None, reason="nothing here draws SVG")
@pytest.mark.parametrize("kind", draw.KINDS)
def test_a_picture_holds_the_words(jobs: lifecycle.Jobs, kind: str) -> None:
    svg = ET.fromstring(drawn(jobs, kind, "svg"))
    words = " ".join("".join(text.itertext()) for text in svg.iter("{http://www.w3.org/2000/svg}text"))
    assert "worker" in words and (kind == "tree" or "requested" in words)
    assert {element.tag.rpartition("}")[2] for element in svg.iter()} <= SHAPES
    if kind in ("job", "tree"):
        assert POISON[:12] in words.replace("\xa0", " ")
    assert drawn(jobs, kind, "png").startswith(b"\x89PNG")


def test_a_job_shows_its_path_with_parties(jobs: lifecycle.Jobs) -> None:
    text = drawn(jobs, "job", "mermaid").decode()
    assert "progressing ==>" in text and "result ==>" in text and "requested -.-> declined" in text
    assert "0. request (planner, requester)" in text and "and 2 more" in text and "ended: result.accepted" in text


def test_what_is_not_drawn_says_what_is() -> None:
    with pytest.raises(NotDrawn, match="take one of: mermaid, dot, plantuml, markdown, svg, png"):
        draw.draw("overview", "scxml")
    with pytest.raises(NotDrawn, match="name the job"):
        draw.draw("job", "dot")


def test_without_a_program_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifecycle.diagrams.render.PROGRAMS", ())
    with pytest.raises(NotDrawn, match="pip install graphviz-pure"):
        draw.draw("overview", "svg")


def test_the_verb(tmp_path: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lifecycle.cli", "diagram", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run().stdout == (DRAWN / "machine.mmd").read_text()
    assert run("--kind", "overview", "--format", "dot", "--out", "o.dot").returncode == 0
    assert (tmp_path / "o.dot").read_text() == (DRAWN / "overview.dot").read_text()
    assert '"kind": "machine"' in run("--json").stdout
    failed = run("--kind", "overview", "--format", "scxml")
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
