"""Who wrote rings, who watches is woken: LISTEN and NOTIFY, beside the log and never in its way.

A NOTIFY inside a writing transaction would let commits queue for one lock of the whole database, so the bell is rung after the
commit, by a thread of its own, and many commits at once are one ring. A ring that is lost costs a watcher `IDLE` and nothing else.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

CHANNEL = "lifecycle"
GATHERS = 0.005
"""Seconds for which what is committed is one ring."""
LISTENS = 0.5
"""Seconds after which a listener looks whether it is to end."""
AGAIN = 1.0
"""Seconds until a bell whose connection was lost is hung anew."""


class Bell:
    """Rings for other processes, and wakes this one when they ring. Each side has a thread and a connection once it is used."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._closed, self._wanted = threading.Event(), threading.Event()
        self._written = False
        self._lock = threading.Lock()
        self._wakes: list[Callable[[], None]] = []
        self._ringer: threading.Thread | None = None

    def ring(self) -> None:
        """Something was committed: tell whoever listens, soon."""
        self._written = True
        self._wanted.set()
        if self._ringer is None:
            with self._lock:
                if self._ringer is None:
                    self._ringer = threading.Thread(target=self._keep, args=(self._ring,), name="bell", daemon=True)
                    self._ringer.start()

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever any process rings; once more whenever rings may have been missed."""
        with self._lock:
            self._wakes.append(wake)
            if len(self._wakes) == 1:
                threading.Thread(target=self._keep, args=(self._listen,), name="listen", daemon=True).start()

    def close(self) -> None:
        """Let both threads end, the one that rings once it has rung for all that was committed."""
        self._closed.set()
        self._wanted.set()
        if self._ringer is not None:
            self._ringer.join(AGAIN)

    def _keep(self, work: Callable[[psycopg.Connection[tuple[object, ...]]], None]) -> None:
        while not self._closed.is_set():
            with suppress(psycopg.Error), psycopg.connect(self._url, autocommit=True) as connection:
                work(connection)
            self._closed.wait(AGAIN)

    def _ring(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        while self._wanted.wait() and self._written:
            self._closed.wait(GATHERS)
            self._wanted.clear()
            self._written = False
            connection.execute(f"NOTIFY {CHANNEL}")
            if self._closed.is_set():
                return

    def _listen(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        connection.execute(f"LISTEN {CHANNEL}")
        self._wake()
        while not self._closed.is_set():
            for _ in connection.notifies(timeout=LISTENS):
                self._wake()
                if self._closed.is_set():
                    return

    def _wake(self) -> None:
        for wake in list(self._wakes):
            wake()
