"""The verbs that look at the machine: its table, and pictures of it or of a job's path through it."""

import click

from lifecycle import shown, terminal
from lifecycle.cli.options import json_option, opened, store_option
from lifecycle.diagrams import draw
from lifecycle.law.table import LAW


@click.command()
@json_option
def table(as_json: bool) -> None:
    """Print THE TABLE: every edge there is.

    \b
    lifecycle table
    lifecycle table --json | jq '.[] | select(.act == "cancel")'
    """
    edges = shown.edges(LAW)
    if as_json:
        terminal.print_json(edges)
        return
    columns = ("act", "by", "from", "to", "why")
    lines = terminal.table(*columns)
    for edge in edges:
        lines.add_row(*(terminal.cell(edge[key] if edge[key] is not None else "(no job)") for key in columns))
    terminal.print_out(lines)


@click.command()
@click.argument("job", required=False)
@store_option
@json_option
@click.option("--kind", type=click.Choice(draw.KINDS), help="By default the machine; with a job, its path.")
@click.option("--format", "form", type=click.Choice(draw.FORMATS), default="mermaid", show_default=True, help="As what.")
@click.option("--out", type=click.Path(dir_okay=False, allow_dash=True), default="-", help="The file to write.")
def diagram(job: str | None, store: str, as_json: bool, kind: str | None, form: str, out: str) -> None:
    """Draw the machine; or one job: its path, its talk, its delegation tree.

    \b
    lifecycle diagram 8f2a --kind sequence --format svg --out talk.svg
    """
    if job is None:
        drawn = draw.draw(kind := kind or "machine", form)
    else:
        with opened(store) as held:
            drawn = draw.draw(kind := kind or "job", form, held.log(job), lambda parent: held.find(parent=parent))
    click.open_file(out, "wb", lazy=True).write(draw.plain(kind, form, drawn) if as_json else drawn)


VERBS = (table, diagram)
