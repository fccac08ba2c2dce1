"""A place for a store, and a store there."""

from collections.abc import Iterator
from pathlib import Path

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
