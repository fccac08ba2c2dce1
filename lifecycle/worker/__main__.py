"""`python -m lifecycle.worker package.module:object`: a function of a desk, or a whole `Served`, behind stdin and stdout."""

import importlib
import sys
from pathlib import Path

from lifecycle.worker.serving import Served
from lifecycle.worker.stdio import on_stdio, serve


def main(target: str) -> None:
    """Serve what is found there, with a journal in the present directory."""
    sys.path.insert(0, str(Path.cwd()))
    module, _, name = target.partition(":")
    found = getattr(importlib.import_module(module), name or "work")
    if isinstance(found, type) and issubclass(found, Served):
        on_stdio(found)
    else:
        serve(found, journal="journal.db")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("python -m lifecycle.worker package.module:object")
    main(sys.argv[1])
