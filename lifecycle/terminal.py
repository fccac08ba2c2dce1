"""How things are printed: tables and colours for a person, JSON for a program.

Whatever comes from outside is a cell: one line, nothing in it taken for markup or for a command of the terminal.
"""

import json
import sys
from collections.abc import Iterable

import click
from pydantic import JsonValue
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lifecycle.law.door import shown
from lifecycle.law.states import Stage, State

COLOURS = {
    State.REQUESTED: "cyan",
    State.DEFERRED: "yellow",
    State.COUNTERED: "yellow",
    State.ACCEPTED: "blue",
    State.PROGRESSING: "blue",
    State.RESULT: "green",
    State.DECLINED: "magenta",
    State.ERROR: "red",
    State.CANCELLED: "red",
}


def table(*columns: str) -> Table:
    """An empty table with these columns; what a person looks for first is never broken over lines."""
    made = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        made.add_column(name, overflow="fold", no_wrap=name in ("seq", "act", "at", "by", "stage", "to", "from"))
    return made


def cell(value: JsonValue) -> Text:
    """A value as a cell: on one line, nothing in it taken for markup, a stage in its colour."""
    text = shown(str(value if value is not None else ""), 300)
    return Text(text, COLOURS[Stage(text).state] if text in set(Stage) else "")


def lines(text: str) -> list[str]:
    """A text of several lines from outside, such as a patch: each line with nothing in it taken for a command of the terminal."""
    return ["".join(c if c.isprintable() or c == "\t" else f"\\u{ord(c):04x}" for c in line) for line in text.split("\n")]


def path(states: Iterable[State]) -> Text:
    """The states a job was in, in order, each in its colour."""
    return Text(" > ").join(Text(state, COLOURS[state]) for state in states)


def pairs(lines: Iterable[tuple[str, str]]) -> Table:
    """Labels and lines, one under the other."""
    made = Table.grid(padding=(0, 2))
    for label, line in lines:
        made.add_row(Text(label, "dim"), cell(line))
    return made


def print_out(what: Table | str) -> None:
    """A table or a line, as wide as the terminal; 160 columns where there is none."""
    Console(width=None if sys.stdout.isatty() else 160, soft_wrap=False).print(what)


def print_json(value: object) -> None:
    """Any JSON value, for a program."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
