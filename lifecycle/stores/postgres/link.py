"""Connections to one PostgreSQL database: pooled, given up when they are lost, and what its errors mean.

What the database has undone is done again. A connection that is lost in the middle of a commit leaves open whether there was one:
whoever writes says how to find out. What is asked of the database lives in the rooms beside this one.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from lifecycle.law.errors import StoreBusy, StoreError

TIMEOUT = 10.0
"""Seconds a call waits for a connection, or for other writers of the same job."""
ATTEMPTS = 4
"""How often a transaction is tried that the database has undone, or whose connection was lost."""
CONNECTIONS = 8
"""Connections that one store opens at most."""

T = TypeVar("T")
Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


class Link:
    """One database, for the threads of one process."""

    def __init__(self, url: str) -> None:
        """StoreError if no PostgreSQL answers there."""
        options = {"autocommit": True, "options": f"-c lock_timeout={int(TIMEOUT * 1000)} -c timezone=UTC"}
        try:
            self._pool = ConnectionPool(url, kwargs=options, min_size=1, max_size=CONNECTIONS, timeout=TIMEOUT, open=True)
            self._pool.wait(TIMEOUT)
        except (psycopg.Error, PoolTimeout) as error:
            with suppress(AttributeError):
                self._pool.close()
            mend = "see that it runs, and that the URL is right"
            raise StoreError(f"no PostgreSQL answers: {_line(error)}; to mend it, {mend}") from error

    def alone(self, work: Callable[[Connection], T], done: Callable[[], T | None] = lambda: None) -> T:
        """Do one statement, which is its own transaction; `done` tells what it came to if its answer was lost, None if nothing."""
        return self._do(work, done)

    def together(self, work: Callable[[Connection], T], done: Callable[[], T | None] = lambda: None) -> T:
        """Do it all in one transaction; `done` as for `alone`."""

        def within(connection: Connection) -> T:
            with connection.transaction():
                return work(connection)

        return self._do(within, done)

    def close(self) -> None:
        """Let go of the connections; twice is once."""
        self._pool.close()

    def _do(self, work: Callable[[Connection], T], done: Callable[[], T | None]) -> T:
        for attempt in range(ATTEMPTS):
            try:
                with self._pool.connection() as connection:
                    return work(connection)
            except (errors.SerializationFailure, errors.DeadlockDetected) as error:
                last: Exception = error
            except PoolClosed as error:
                raise StoreError("this store is closed; to mend it, open it anew") from error
            except (errors.LockNotAvailable, PoolTimeout) as error:
                raise StoreBusy(f"others held it for {TIMEOUT:g} s; to mend it, the same act again") from error
            except errors.InsufficientResources as error:  # its disk is full, its memory is out, its connections are all taken
                raise StoreError(f"PostgreSQL has no room: {_line(error)}; to mend it, make some, then act again") from error
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                last = error
                if (result := self._settled(done)) is not None:
                    return result
            except psycopg.IntegrityError:
                raise
            except psycopg.Error as error:
                raise StoreError(f"PostgreSQL refuses it: {_line(error)}; to mend it, see its log") from error
            time.sleep(0.05 * attempt)
        raise StoreError(f"after {ATTEMPTS} attempts: {_line(last)}; to mend it, the same act again") from last

    def _settled(self, done: Callable[[], T | None]) -> T | None:
        """What was lost in the middle of its commit has come to; every other lost connection is given up."""
        with suppress(StoreError, psycopg.Error, PoolTimeout, PoolClosed):
            self._pool.check()
            return done()
        return None


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
