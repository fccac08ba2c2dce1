"""Guards: wrappers around the caller's write that make good an invariant which the remote does not keep.

What has to outlive a crash lies in a file of the caller's own. A checkpoint advances only over what was read back.
"""

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from attrs import define, field

from lifecycle.handshake.remote import Ack, Record, Remote, RemoteError
from lifecycle.law.errors import LifecycleError
from lifecycle.law.values import canonical, sha256


class Unreconciled(LifecycleError):
    """A record that is not there as it was written. Remedy: mend that record, or the remote; the checkpoint stands before it."""

    def __init__(self, position: int, record: str, told: str) -> None:
        said = f"record {position} (`{record}`) is not stored as written; the remote said `{told}`"
        super().__init__(f"{said}; to mend it, mend that record")
        self.position, self.record = position, record


class Unacknowledged(LifecycleError):
    """Records that the remote does not say it has stored. Remedy: read back, and write those again."""

    def __init__(self, missing: Sequence[str], told: str) -> None:
        said = f"{len(missing)} records are not acknowledged, `{missing[0]}` first; it said `{told}`"
        super().__init__(f"{said}; to mend it, read back")
        self.missing = tuple(missing)


class KeyConflict(LifecycleError):
    """An operation key that was used for something else. Remedy: another key."""


class Batches:
    """Writes no more at once than was proven."""

    def __init__(self, remote: Remote, size: int) -> None:
        if size < 1:
            raise ValueError(f"a batch of {size} records; to mend it, 1 or more")
        self._remote, self._size = remote, size

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        """In as many writes as it takes; the first that is not ok ends it."""
        stored: list[str] = []
        for start in range(0, len(records), self._size):
            part = records[start : start + self._size]
            ack = self._remote.write(space, part, f"{key}.{start}" if key else "")
            if ack.status != "ok":
                return Ack(ack.status, (*stored, *ack.stored), ack.receipt)
            stored += [one.id for one in part]
        return Ack("ok", tuple(stored))

    def read(self, space: str) -> Sequence[Record]:
        """As the remote has it."""
        return self._remote.read(space)


class Acks:
    """Takes an acknowledgement only for the records it names. The remote's acks must be advertised or probed."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        """Unacknowledged if one is not named."""
        ack = self._remote.write(space, records, key)
        if missing := [one.id for one in records if one.id not in set(ack.stored)]:
            raise Unacknowledged(missing, ack.status)
        return ack

    def read(self, space: str) -> Sequence[Record]:
        """As the remote has it."""
        return self._remote.read(space)


@define
class Sequenced:
    """One record in flight, each with its number, and none before the one before it was read back."""

    _remote: Remote
    _lock: threading.Lock = field(factory=threading.Lock)

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        """Unreconciled at the first that is not last in the space once it is written."""
        with self._lock:
            for place, one in enumerate(records):
                ack = self._remote.write(space, [one], f"{key or space}.{place}")
                left = self._remote.read(space)
                if not left or left[-1] != one:
                    raise Unreconciled(place, one.id, ack.status)
        return Ack("ok", tuple(one.id for one in records))

    def read(self, space: str) -> Sequence[Record]:
        """As the remote has it."""
        return self._remote.read(space)


class Ledger:
    """The caller's own ledger of operations: one key, one effect, whatever the remote makes of keys; across restarts."""

    def __init__(self, remote: Remote, path: str | Path) -> None:
        self._remote, self._path = remote, Path(path)
        with closing(self._open()) as held, held:
            held.execute("CREATE TABLE IF NOT EXISTS operations (key TEXT PRIMARY KEY, digest TEXT, receipt TEXT)")

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        """Once for each key. KeyConflict if the key stands for something else; what a crash left open is read back first."""
        if not key:
            raise KeyConflict("an operation without a key; to mend it, give it one that is its own")
        digest = sha256(canonical([space, [[one.id, one.data] for one in records]]))
        with closing(self._open()) as held:
            held.execute("BEGIN IMMEDIATE")
            found = held.execute("SELECT digest, receipt FROM operations WHERE key = ?", (key,)).fetchone()
            if found is not None and found[0] != digest:
                held.rollback()
                raise KeyConflict(f"key `{key}` stands for another operation; to mend it, take another key")
            if found is not None and found[1] is not None:
                held.rollback()
                return Ack("ok", tuple(one.id for one in records), found[1])
            held.execute("INSERT OR IGNORE INTO operations VALUES (?, ?, NULL)", (key, digest))
            held.commit()
            there = set(self._remote.read(space)) if found is not None else set()
            missing = [one for one in records if one not in there]
            ack = self._remote.write(space, missing, key) if missing else Ack("ok")
            if ack.status == "ok":
                held.execute("UPDATE operations SET receipt = ? WHERE key = ?", (ack.receipt, key))
                held.commit()
            return Ack(ack.status, tuple(one.id for one in records) if ack.status == "ok" else ack.stored, ack.receipt)

    def read(self, space: str) -> Sequence[Record]:
        """As the remote has it."""
        return self._remote.read(space)

    def _open(self) -> sqlite3.Connection:
        held = sqlite3.connect(self._path, timeout=10.0)
        held.execute("PRAGMA synchronous = FULL")
        return held


class Checkpoint:
    """How far a stream of records is known to be stored: a number in a file, that only ever grows."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        with closing(self._open()) as held, held:
            held.execute("CREATE TABLE IF NOT EXISTS checkpoints (space TEXT PRIMARY KEY, position INTEGER NOT NULL)")

    def at(self, space: str) -> int:
        """The number of records that are known to be stored."""
        with closing(self._open()) as held:
            found = held.execute("SELECT position FROM checkpoints WHERE space = ?", (space,)).fetchone()
        return int(found[0]) if found else 0

    def advance(self, space: str, position: int) -> None:
        """Move it forward; on the disk when this returns."""
        with closing(self._open()) as held, held:
            grows = "ON CONFLICT (space) DO UPDATE SET position = max(position, excluded.position)"
            held.execute(f"INSERT INTO checkpoints VALUES (?, ?) {grows}", (space, position))

    def _open(self) -> sqlite3.Connection:
        held = sqlite3.connect(self._path, timeout=10.0)
        held.execute("PRAGMA synchronous = FULL")
        return held


def reconcile(remote: Remote, space: str, records: Sequence[Record], checkpoint: Checkpoint, size: int) -> int:
    """Write what the checkpoint has not passed, `size` at a time, and advance it over the prefix that was read back.

    Gives the checkpoint at the end. Unreconciled names the first record that is not there; RemoteError leaves the checkpoint where
    it is. Called again after a crash, it writes only what is missing.
    """
    at = checkpoint.at(space)
    while at < len(records):
        batch, told = records[at : at + size], "nothing"
        there = set(remote.read(space))
        if missing := [one for one in batch if one not in there]:
            try:
                told = remote.write(space, missing, f"{space}.{at}").status
            except RemoteError as error:
                told = str(error)
            there = set(remote.read(space))
        whole = next((place for place, one in enumerate(batch) if one not in there), len(batch))
        at += whole
        if whole:
            checkpoint.advance(space, at)
        if whole < len(batch):
            raise Unreconciled(at, batch[whole].id, told)
    return at
