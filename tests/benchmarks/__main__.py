"""Print every figure beside its limit or peer: `python -m tests.benchmarks [--quick] [--draw FILE] [NAME...]`.

`--quick` leaves out the million jobs; `--draw` draws the curves; names pick modules: law sqlite shared postgres peers tools ...
"""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks import curves, handshake, kit, law, peers, postgres, shared, sqlite, tools, worker

MODULES = {
    module.__name__.rpartition(".")[2]: module for module in (law, sqlite, shared, postgres, peers, tools, worker, handshake, kit)
}


def main(words: list[str]) -> None:
    """Measure, and print as it goes."""
    console = Console(width=170)
    table = Table("what", "ours", "against", "theirs", "ratio", "to reach", "", box=None)
    chosen = [word for word in words if word in MODULES] or list(MODULES)
    for name in chosen:
        for figure in MODULES[name].figures():
            reach = f"{figure.reach:g}x" if figure.reach is not None else ""
            ours, other = (f"{rate:,.0f}{figure.unit}" for rate in (figure.ours, figure.other))
            table.add_row(figure.what, ours, figure.against, other, f"{figure.ratio:.2f}x", reach, figure.verdict)
            console.print(f"[dim]{figure.what}: {figure.ratio:.2f}x of {figure.against} {figure.verdict}[/dim]")
    console.print(table)
    if "curves" in words or len(chosen) == len(MODULES):
        drawn = curves.all_of_them("--quick" in words)
        for title, lines in drawn.items():
            page = Table("", *(f"{at:,.0f}" for at, _ in next(iter(lines.values()))), box=None, title=title)
            for name, points in lines.items():
                page.add_row(name, *(f"{cost:,.2f}" for _, cost in points))
            console.print(page)
        if "--draw" in words:
            curves.draw(drawn, Path(words[words.index("--draw") + 1]))


if __name__ == "__main__":
    main(sys.argv[1:])
