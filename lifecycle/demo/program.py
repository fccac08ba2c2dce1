"""A worker program at the other end of two pipes: started, spoken to line by line, and gone when it should be.

Every read and every write has a time limit, and a program that exceeds it is killed: one that hangs is as good as dead. Nothing
here knows what the lines mean.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from types import TracebackType

from pydantic import JsonValue

SOURCE = Path(__file__).with_name("worker.py")

PATIENCE = 5.0
"""Seconds until a program that neither speaks nor listens is killed; the slowest worker here thinks for a second and a half."""

GRACE = 1.0
"""Seconds that a program is given to end by itself, once nobody speaks to it any more."""

LINE = 1 << 20
"""The longest line that is read at once, in bytes: as long as the longest act."""


class Gone(Exception):
    """The program has ended, by itself or by force."""


class Program:
    """A running worker, on its desk: its working directory, where it also leaves what it has to say on stderr."""

    def __init__(self, personality: str, desk: Path) -> None:
        # `-IS`: no environment, no site-packages, nothing but the standard library. A session of its own: a Ctrl-C at the terminal
        # is the orchestrator's to hear, and the orchestrator's to pass on.
        with (desk / "stderr.txt").open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-IS", SOURCE, personality],
                cwd=desk, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
            )  # fmt: skip
        assert self._process.stdin and self._process.stdout
        self._ear, self._mouth = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def tell(self, turn: dict[str, JsonValue]) -> None:
        """Say one line to it; Gone if it is not there to hear it."""
        with self._watched():
            try:
                self._ear.write(json.dumps(turn).encode() + b"\n")
                self._ear.flush()
            except (OSError, ValueError):
                raise Gone from None

    def hear(self) -> bytes:
        """Wait for its next line; Gone if there is none to come."""
        with self._watched():
            try:
                line = self._mouth.readline(LINE)
            except ValueError:  # closed from another thread
                line = b""
        if not line:
            raise Gone
        return line

    def kill(self) -> None:
        """SIGKILL: it does not hear of it, and cleans nothing up."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave no process behind: it may end by itself, unless there is no time for that."""
        if kind is not None:
            self._process.kill()
        with suppress(OSError):
            self._ear.close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
        self._mouth.close()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        watchdog = Timer(PATIENCE, self._process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()
