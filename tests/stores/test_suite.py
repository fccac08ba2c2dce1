"""Every store passes the one suite."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from lifecycle.conformance.stores import StoreSuite
from lifecycle.stores.memory import MemoryStore
from lifecycle.stores.postgres import PostgresStore
from lifecycle.stores.sqlite import SqliteStore


class TestMemory(StoreSuite):
    only: MemoryStore | None = None

    def open(self, clock: Callable[[], datetime]) -> MemoryStore:
        self.only = self.only or MemoryStore(clock)  # there is no other process that could open it
        return self.only


class TestPostgres(StoreSuite):
    @pytest.fixture(autouse=True)
    def place(self, database: str) -> None:
        self.url = database

    def open(self, clock: Callable[[], datetime]) -> PostgresStore:
        return PostgresStore(self.url, clock)


class TestSqlite(StoreSuite):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "jobs.db"

    def open(self, clock: Callable[[], datetime]) -> SqliteStore:
        return SqliteStore(self.path, clock)
