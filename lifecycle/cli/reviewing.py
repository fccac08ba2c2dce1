"""`lifecycle report`: what the logs of a store tell over time."""

from datetime import datetime
from pathlib import Path

import click

from lifecycle import terminal
from lifecycle.cli.options import json_option, opened, store_option


@click.command()
@store_option
@json_option
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Only what happened on this day (UTC) and later.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Draw it too: a file that ends in .svg or .png.")
def report(store: str, as_json: bool, since: datetime | None, out: Path | None) -> None:
    """Review a store over time: why jobs stopped, what was refused, which choices came up, which checks were not run.

    \b
    lifecycle report --since 2026-12-01 --out review.svg
    """
    from lifecycle.review import review
    from lifecycle.review.plots import plot

    with opened(store) as held:
        found = review(held, since=since.date() if since else None)
    if out is not None:
        form = out.suffix.lower()
        if form not in (".svg", ".png"):
            raise click.UsageError(f"`{out.name}` is no picture; to mend it, name a file that ends in .svg or .png")
        out.write_bytes(plot(found, "svg" if form == ".svg" else "png"))
    if as_json:
        terminal.print_json(found.plain())
        return
    table = terminal.table("", "what", "how often")
    days = {f"{kind} on {day}": n for kind, counts in found.unchecked.items() for day, n in counts.items()}
    for label, counts in (
        ("ended", found.ended), ("refused", found.refusals), ("choice", found.escalations), ("stale digest", found.stale),
        ("check", days),
    ):  # fmt: skip
        for name, count in counts.items():
            table.add_row(label, terminal.cell(name), str(count))
    terminal.print_out(table if found.jobs else "no jobs")


VERBS = (report,)
