"""The table of `docs/mutants.md`: every faulty worker under every probe. `python -m tests.conformance.workers.matrix` makes it."""

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lifecycle.conformance.workers import MUSTS, Conformance, conform
from lifecycle.conformance.workers.mutants import MUTANTS

PAGE = Path(__file__).parents[3] / "docs/mutants.md"
REFERENCE = [sys.executable, "-m", "lifecycle.conformance.workers.reference"]
SIGNS = {"passed": "·", "failed": "**x**", "not checked": "?"}
HEAD = """\
# Faulty workers under all twenty probes

Made by `python -m tests.conformance.workers.matrix`, over stdio. `x`: the probe failed the worker; `·`: it passed; `?`: it cannot
be checked on it. Each is caught by the probe of its own must; where another fails too, the one fault breaks that as well.

"""


def row(name: str, found: Conformance) -> str:
    """One worker's line."""
    verdicts = {outcome.number: SIGNS[outcome.verdict] for outcome in found.outcomes}
    return f"| `{name}` | {' | '.join(verdicts[number] for number in sorted(MUSTS))} |"


def table(found: Mapping[str, Conformance]) -> str:
    """The page."""
    numbers = sorted(MUSTS)
    lines = [f"| worker | {' | '.join(map(str, numbers))} |", f"|---|{'---|' * len(numbers)}"]
    lines += [row(name, found[name]) for name in found]
    musts = "\n".join(f"{number}. {MUSTS[number]}" for number in numbers)
    return f"{HEAD}{chr(10).join(lines)}\n\n## The musts\n\n{musts}\n"


if __name__ == "__main__":
    with ThreadPoolExecutor(2) as pool:
        tried = {"reference": pool.submit(conform, REFERENCE)}
        tried |= {name: pool.submit(conform, [*REFERENCE, name]) for name in MUTANTS}
        PAGE.write_text(table({name: future.result() for name, future in tried.items()}))
