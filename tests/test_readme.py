"""The README is a program, a picture and two commands: each is what it says."""

import re
import subprocess
import sys
from pathlib import Path

from lifecycle.diagrams.mermaid import overview
from lifecycle.law.table import LAW

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def test_the_program_prints_what_the_readme_shows(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", blocks("python")[0]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == (blocks("text")[0], "")


def test_the_picture_is_drawn_from_the_table() -> None:
    assert blocks("mermaid") == [overview(LAW)]
    assert (ROOT / "diagrams" / "overview.mmd").read_text() == overview(LAW)


def test_every_verb_it_names_exists() -> None:
    run = subprocess.run([sys.executable, "-m", "lifecycle.cli", "--help"], capture_output=True, text=True, check=True)
    line = re.search(r"^Also (.*?)\. Every", README, re.M | re.S)
    assert line is not None
    verbs = re.findall(r"`(\w+)`", line.group(1))
    assert len(verbs) > 20
    for verb in verbs:
        assert re.search(rf"^  {verb}\b", run.stdout, re.M), verb
