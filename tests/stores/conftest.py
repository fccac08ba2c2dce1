"""A place for a store and a store there; and asserts of the shipped suite that tell what they compared."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifecycle.conformance.logs import Clock
from lifecycle.stores.sqlite import SqliteStore

for room in ("keeping", "listing", "racing"):
    pytest.register_assert_rewrite(f"lifecycle.conformance.{room}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, Clock())
    yield opened
    opened.close()
