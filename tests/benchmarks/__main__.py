"""Print every figure beside its limit or peer: `python -m tests.benchmarks [--quick]`; `--quick` leaves out the million jobs."""

import sys

from rich.console import Console
from rich.table import Table

from tests.benchmarks import kit, law, sqlite, tools


def main() -> None:
    """Measure, and print as it goes."""
    console = Console(width=150)
    table = Table("what", "ours", "against", "theirs", "ratio", "to reach", "", box=None)
    for module in (law, sqlite, tools, kit):
        for figure in module.figures():
            reach = f"{figure.reach:g}x" if figure.reach is not None else ""
            ours, other = (f"{rate:,.0f}{figure.unit}" for rate in (figure.ours, figure.other))
            table.add_row(figure.what, ours, figure.against, other, f"{figure.ratio:.2f}x", reach, figure.verdict)
            console.print(f"[dim]{figure.what}: {figure.ratio:.2f}x {figure.verdict}[/dim]")
    console.print(table)
    sizes = (10_000, 100_000) if "--quick" in sys.argv else (10_000, 100_000, 1_000_000)
    curve = Table("jobs in the store", "open", "read one", "list due", "list a page", "one act", box=None, title="cost in ms")
    for size, taken in sqlite.growth(sizes):
        curve.add_row(f"{size:,}", *(f"{taken[name]:.2f}" for name in ("open", "read one", "list due", "list a page", "one act")))
    console.print(curve)


if __name__ == "__main__":
    main()
