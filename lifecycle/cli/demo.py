"""`lifecycle demo`: what this library is for, seen in under 20 seconds."""

from pathlib import Path

import attrs
import click

from lifecycle import terminal
from lifecycle.cli.options import json_option


@click.command()
@click.option("--store", type=click.Path(path_type=Path, dir_okay=False), help="The file to write; a temporary one by default.")
@json_option
def demo(store: Path | None, as_json: bool) -> None:
    """Run real worker programs through every one of the nine states.

    \b
    lifecycle demo
    lifecycle demo --store demo.db && lifecycle jobs --store sqlite:///demo.db
    """
    from lifecycle.demo import run

    outcome = run(store, (lambda line: None) if as_json else click.echo)
    url = f"sqlite:///{outcome.store}"
    if as_json:
        told = attrs.asdict(outcome) | {"store": url, "desks": str(outcome.desks)}
        terminal.print_json(told)
        return
    table = terminal.table("job", "worker", "states", "ended as", "what happened")
    for row in outcome.board:
        ended = f"{row.reason} / {row.status}" if row.reason else "open"
        job, worker, end, happened = map(terminal.cell, (row.job, row.worker, ended, row.happened))
        table.add_row(job, worker, terminal.path(row.states), end, happened)
    terminal.print_out(table)
    click.echo(f"{len(outcome.board)} jobs in {outcome.seconds:.1f} s; what the workers made: {outcome.desks}")
    click.echo(f"look into the store: lifecycle jobs --store {url}")


VERBS = (demo,)
