"""One SQLite file: opened, recognised, brought to this build's layout; written by one connection, read by others.

Here lives what SQLite asks of whoever opens it, and what its errors mean. What is kept in the file, and how, lives in `sqlite` and
`layouts`. A file is made 0600, and SQLite gives the files beside it the same mode.
"""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import TypeVar
from urllib.parse import quote

from lifecycle.law.errors import StoreBusy, StoreError, StoreVersion
from lifecycle.stores.sqlite.layouts import APPLICATION, LAYOUTS

READERS = 16
"""Reading connections kept open while nobody uses them; more readers than this at once open their own."""

STATEMENTS = 256
"""Statements each connection keeps prepared: more than this store has."""

WAL_BYTES = 64 << 20
"""What the write-ahead log is cut back to once a large batch is through."""

PAUSES = 0.0002, 0.005
"""Seconds between two looks at whether another process still writes: at random up to the first, doubled up to the second.
SQLite's own pauses grow to 0.1 s, and let one of eight processes wait four times as long for its turn."""

_TO_WRITE = "synchronous=FULL", "fullfsync=ON", f"journal_size_limit={WAL_BYTES}", "cache_size=-16000", "busy_timeout=0"
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_MEANINGS = {
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space, then act again"),
    sqlite3.SQLITE_IOERR: ("the disk did not take it or give it back", "check the disk, its space and its quota, then act again"),
    sqlite3.SQLITE_READONLY: ("it may not be written", "make the file and its directory writable"),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "check that its directory exists and that both may be written"),
    sqlite3.SQLITE_NOTADB: ("it is no SQLite database", "name another file"),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", "restore it from a copy"),
    sqlite3.SQLITE_CONSTRAINT: ("it holds other rows than its log tells", "run reindex"),
}

_T = TypeVar("_T")

_opening = threading.Lock()
_held: dict[tuple[int, int], tuple[int, int]] = {}
"""Device and inode of every file that is open: the process that opened it, and how often."""


def _forked() -> None:
    global _opening  # noqa: PLW0603 - the thread that held it does not exist in the child
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class File:
    """An open SQLite file. Safe for threads; a forked child must not use it, nor open the same file while its parent has it."""

    def __init__(self, path: str | os.PathLike[str], busy_timeout: float, layouts: Sequence[Sequence[str]] = LAYOUTS) -> None:
        """Make the file if there is none. A write waits `busy_timeout` seconds for others before it is StoreBusy."""
        self.path = os.path.abspath(os.fspath(path))
        self._timeout, self._layouts = busy_timeout, layouts
        self._process, self._closed = os.getpid(), False
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = None
        self._identity = self._claim()
        try:
            self._writer = self._opened()
        except BaseException as error:
            meant = self._told(error) if isinstance(error, sqlite3.Error) else error
            self.close()
            raise meant from (error if meant is not error else None)

    def write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """What `work` returns, its changes committed and on the disk; none of them if it raises."""
        self._usable()
        until = time.monotonic() + self._timeout
        if not self._lock.acquire(timeout=self._timeout):
            raise self._busy()
        try:
            connection = self._writing()
            self._patiently(connection, "BEGIN IMMEDIATE", until)
            result = work(connection)
            connection.execute("COMMIT")
            return result
        except sqlite3.Error as error:
            raise self._told(error) from error
        except UnicodeEncodeError as error:
            raise self._unstorable() from error
        finally:
            if self._writer is not None and self._writer.in_transaction:
                self._undo(self._writer)
            self._lock.release()

    def read(self, look: Callable[[sqlite3.Connection], _T]) -> _T:
        """What `look` returns; it may begin a transaction to see several things at one moment. Writers are not waited for."""
        self._usable()
        connection = None
        try:
            connection = self._reading()
            return look(connection)
        except sqlite3.Error as error:
            raise self._told(error) from error
        except UnicodeEncodeError as error:
            raise self._unstorable() from error
        finally:
            if connection is not None:
                self._put_back(connection)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy what is committed now to a file that is not there yet. Readers and writers go on meanwhile."""
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise StoreError(f"backup `{os.fspath(path)}`: {why}; to mend it, name a new file where one may be made") from error
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as copy:
                copy.execute("PRAGMA synchronous=FULL")
                self.read(lambda connection: connection.backup(copy))
        except BaseException:
            os.remove(path)
            raise

    def close(self) -> None:
        """Let go of the file; twice is once. In a forked child nothing is touched: it is the parent's."""
        if self._closed or self._process != os.getpid():
            self._closed = True
            return
        with self._lock:
            self._closed = True
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            self._close_idle()
        with _opening:
            process, count = _held.pop(self._identity)
            if count > 1:
                _held[self._identity] = (process, count - 1)

    # ---- opening

    def _claim(self) -> tuple[int, int]:
        """Make the file if there is none, and note that this process has it open.

        An existing file is never opened here: closing it would drop the locks that SQLite holds on it for this process.
        """
        with _opening:
            try:
                with suppress(FileExistsError):
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
                found = os.stat(self.path)
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else error
                raise StoreError(f"store `{self.path}`: {why}; to mend it, name a file where one may be made") from error
            identity = (found.st_dev, found.st_ino)
            process, count = _held.get(identity, (self._process, 0))
            if process != self._process:
                raise self._inherited(process)
            _held[identity] = (process, count + 1)
            return identity

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{quote(self.path)}?mode=rw", uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False,
            cached_statements=STATEMENTS,
        )  # fmt: skip

    def _opened(self) -> sqlite3.Connection:
        """The writing connection to a file that is ours, in WAL mode, of this build's layout."""
        connection = self._connect()
        try:
            connection.execute("BEGIN")  # or the three answers may be of different moments, while another process makes the file
            layout = self._layout_of(connection, upto=True)
            connection.execute("COMMIT")
            if layout < len(self._layouts):
                self._patiently(connection, "PRAGMA journal_mode=WAL", time.monotonic() + self._timeout)
                self._bring_up(connection)
            return self._set_to_write(connection)
        except BaseException:
            connection.close()
            raise

    def _set_to_write(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        if connection.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
            raise StoreError(f"store `{self.path}`: no write-ahead log is possible there; to mend it, name a file on a local disk")
        for setting in _TO_WRITE:
            connection.execute(f"PRAGMA {setting}")
        return connection

    def _layout_of(self, connection: sqlite3.Connection, *, upto: bool = False) -> int:
        """The layout of the file: this build's, or with `upto` an older one; 0 is an empty file."""
        layout = int(connection.execute("PRAGMA user_version").fetchone()[0])
        known = len(self._layouts)
        if layout == known and not upto:
            return layout
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        empty = not layout and not mark and connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        if mark != APPLICATION and not empty:
            raise StoreError(f"store `{self.path}`: it is another program's database; to mend it, name another file")
        if layout > known or not upto:
            found = f"store `{self.path}` has layout {layout}, this build writes layout {known}"
            raise StoreVersion(f"{found}; to mend it, use the build that made it what it is")
        return layout

    def _bring_up(self, connection: sqlite3.Connection) -> None:
        """Make this build's layout from the file's, in one transaction."""
        self._patiently(connection, "BEGIN IMMEDIATE", time.monotonic() + self._timeout)
        try:
            for layout in self._layouts[self._layout_of(connection, upto=True) :]:
                for statement in layout:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION}")
            connection.execute(f"PRAGMA user_version={len(self._layouts)}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    # ---- connections

    def _usable(self) -> None:
        if self._process != os.getpid():
            raise self._inherited(self._process)
        if self._closed:
            raise self._shut()

    def _writing(self) -> sqlite3.Connection:
        self._usable()
        if self._writer is None:
            self._writer = self._set_to_write(self._connect())
        return self._writer

    def _reading(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._connect()
            connection.execute("PRAGMA query_only=ON")
            return connection

    def _put_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        if connection.in_transaction or len(self._idle) >= READERS:
            connection.close()
        else:
            self._idle.append(connection)
        if self._closed:
            self._close_idle()

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _patiently(self, connection: sqlite3.Connection, statement: str, until: float) -> None:
        """Do what only one process can do at a time, as soon as it can be done."""
        pause, longest = PAUSES
        while True:
            try:
                connection.execute(statement)
                return
            except sqlite3.OperationalError as error:
                if _code(error) not in _BUSY or time.monotonic() >= until:
                    raise
            time.sleep(random.random() * pause)
            pause = min(pause * 2, longest)

    def _undo(self, connection: sqlite3.Connection) -> None:
        """Roll back; a connection that cannot even do that is given up, and the next write opens another."""
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._writer = None
            connection.close()

    # ---- words

    def _told(self, error: sqlite3.Error) -> StoreError:
        """What an error of SQLite means to whoever uses the store."""
        if _code(error) in _BUSY:
            return self._busy()
        if self._closed:
            return self._shut()
        if self._writer is not None and _code(error) == sqlite3.SQLITE_ERROR and (other := self._of_another_build()) is not None:
            return other
        what, mend = _MEANINGS.get(_code(error), ("SQLite refused", "check the file"))
        name = getattr(error, "sqlite_errorname", "no code")
        return StoreError(f"store `{self.path}`: {what} ({name}: {error}); to mend it, {mend}")

    def _of_another_build(self) -> StoreError | None:
        """What to say if the file was brought to another layout while it was open here."""
        with suppress(sqlite3.Error):
            connection = self._connect()
            try:
                self._layout_of(connection)
            except StoreError as error:
                return error
            finally:
                connection.close()
        return None

    def _shut(self) -> StoreError:
        return StoreError(f"store `{self.path}` is closed; to mend it, open it again")

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"store `{self.path}`: others wrote for longer than the busy timeout of {self._timeout:g} s; to mend it, act again"
        )

    def _unstorable(self) -> StoreError:
        return StoreError(f"store `{self.path}`: a text holds a lone surrogate; to mend it, leave it out or encode it")

    def _inherited(self, process: int) -> StoreError:
        return StoreError(
            f"store `{self.path}` was open in process {process} when this one was forked from it, and SQLite would lose what is "
            "written here; to mend it, start processes by `spawn` or `forkserver`, or fork before opening"
        )


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
