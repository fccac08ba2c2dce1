"""Every store passes the one suite."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from lifecycle.conformance.stores import StoreSuite
from lifecycle.stores.memory import MemoryStore
from lifecycle.stores.sqlite import SqliteStore


class TestMemory(StoreSuite):
    only: MemoryStore | None = None

    def open(self, clock: Callable[[], datetime]) -> MemoryStore:
        self.only = self.only or MemoryStore(clock)  # there is no other process that could open it
        return self.only


class TestSqlite(StoreSuite):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "jobs.db"

    def open(self, clock: Callable[[], datetime]) -> SqliteStore:
        return SqliteStore(self.path, clock)
