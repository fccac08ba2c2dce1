"""What a test sees of a SQLite file: through a store of its own, and through SQLite alone."""

import sqlite3
from pathlib import Path

from lifecycle.law.log import Query, chained
from lifecycle.stores.sqlite import SqliteStore
from tests.stores.processes import JOBS


def whole(path: Path) -> int:
    """The seq that both jobs stand at, -1 if there are none: every log whole, chained and listed as it is, both jobs alike."""
    store = SqliteStore(path)
    try:
        stand = set()
        feed = store.feed(0, 100_000)
        for job in JOBS:
            found = store.read(job)
            entries = [entry for _, entry in feed if entry.job == job]
            if found is None:
                assert not entries
                stand.add(-1)
                continue
            assert [entry.hash for entry in found[1]] == [entry.hash for entry in entries]
            assert [entry.seq for entry in entries] == list(range(found[0].seq + 1))
            assert all(entry.hash == chained(entry.prev, entry.body) for entry in entries)
            assert [e.prev for e in entries] == ["", *(e.hash for e in entries)][:-1]
            assert found[0].hash == entries[-1].hash
            stand.add(found[0].seq)
        assert [row.updated_at for row in store.find(Query())] == [
            next(entry.at for _, entry in reversed(feed) if entry.job == job) for job in JOBS if stand != {-1}
        ]
        (seq,) = stand
        return seq
    finally:
        store.close()


def sql(path: Path, statement: str) -> list[tuple[object, ...]]:
    """What SQLite itself says or does."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()
