"""A worker as a child process: JSON lines over its stdin and stdout.

Every exchange has its deadline, every line its length, and nothing that the child does can hang whoever asks. The end of its
stderr is kept. The child leads a process group of its own, which is killed with it; a Ctrl-C at the terminal is not its to hear.
Whatever it says that is no frame, or answers nothing that was asked, is noted as a stray and changes nothing.
"""

import os
import queue
import secrets
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from pydantic import JsonValue

from lifecycle.law.door import shown
from lifecycle.worker.frames import (
    DEADLINE,
    FRAME,
    Answer,
    Ask,
    BadFrame,
    Called,
    Exchange,
    Given,
    Reply,
    Task,
    answered,
    read_reply,
    written,
)
from lifecycle.worker.port import Calls, WorkerError

STRAYS = 100
"""How many strays are kept, and how many calls may wait to be looked at: more of them are dropped."""
STDERR = 4_000
"""Bytes kept of what the child writes to stderr."""
BREATH = 0.02
"""Seconds for which a worker that babbles is not listened to, after each line that is no frame."""
GRACE = 2.0
"""Seconds that a child is given to end by itself once its stdin is closed."""


class Pipe:
    """A worker at the other end of two pipes. Safe for threads; asks of several threads do not wait for each other."""

    def __init__(
        self, argv: Sequence[str], *, name: str = "", cwd: Path | None = None, deadline: float = DEADLINE,
        environment: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Start the program. WorkerError (`not_started`) if it cannot be. `environment` is added to this process's own."""
        self.name, self.deadline = name or os.path.basename(argv[0]), deadline
        self.strays: deque[str] = deque(maxlen=STRAYS)
        """What it said that answers nothing, newest last."""
        self._calls = Calls(STRAYS)
        self._waiting: dict[str, queue.Queue[Reply | None]] = {}
        self._lock, self._stderr, self._babbled = threading.Lock(), bytearray(), 0
        try:
            self._process = subprocess.Popen(
                list(argv), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                env={**os.environ, **(environment or {})},
            )  # fmt: skip
        except OSError as error:
            raise WorkerError(self.name, "start", "not_started", f"`{argv[0]}` cannot be started: {error.strerror}") from error
        for stream, takes in ((self._process.stdout, self._listen), (self._process.stderr, self._overhear)):
            assert stream is not None
            threading.Thread(target=takes, args=(stream,), daemon=True, name=f"{self.name}-pipe").start()

    @property
    def pid(self) -> int:
        """The process's id, which is its group's too."""
        return self._process.pid

    @property
    def gone(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    @property
    def said(self) -> str:
        """The end of what it wrote to stderr, on one line."""
        return shown(bytes(self._stderr).decode(errors="replace").strip(), STDERR)

    def ask(
        self, exchange: Exchange, *, job: str | None = None, task: Task | None = None, heard: Sequence[dict[str, JsonValue]] = (),
        within: float | None = None,
    ) -> Answer:  # fmt: skip
        """One exchange. WorkerError says why it came to nothing: `quiet`, `gone`, `malformed`, `refused`, `not_started`."""
        nonce = secrets.token_hex(8)
        reply = self.say(written(Ask(ask=exchange, nonce=nonce, job=job, task=task, heard=tuple(heard))), nonce, exchange, within)
        try:
            return answered(exchange, reply)
        except BadFrame as error:
            why = "refused" if reply.answer is None else "malformed"
            raise WorkerError(self.name, exchange, why, str(error)) from None

    def say(self, line: bytes, nonce: str, exchange: str, within: float | None = None) -> Reply:
        """Write one line, whatever it says, and wait for the reply that repeats its nonce; as `ask` does, for whoever probes."""
        place = queue.Queue[Reply | None](1)
        with self._lock:
            self._waiting[nonce] = place
        try:
            self._write(line, exchange)
            if self.gone:
                self._hang_up()
            reply = place.get(timeout=within if within is not None else self.deadline)
        except queue.Empty:
            raise WorkerError(self.name, exchange, "quiet", f"no answer within {within or self.deadline:g} s") from None
        finally:
            with self._lock:
                self._waiting.pop(nonce, None)
        if reply is None:
            told = f"; it said: {self.said}" if self.said else ""
            raise WorkerError(self.name, exchange, "gone", f"its process has ended ({self._process.poll()}){told}")
        return reply

    def call(self, within: float = 0.0) -> Called | None:
        """The next call of a tool that the worker asks for; None if none comes in so many seconds, or it should be looked at."""
        asked = self._calls.get(within)
        return asked if isinstance(asked, Called) else None

    def give(self, given: Given) -> None:
        """Tell the worker what became of its call; a worker that is gone hears nothing."""
        with suppress(WorkerError):
            self._write(written(given), "call")

    def kill(self) -> None:
        """SIGKILL to the whole group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Close its stdin, give it a moment to end, and kill what is left of its group."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self.kill()

    def __enter__(self) -> "Pipe":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _write(self, line: bytes, exchange: str) -> None:
        """Write a line, but never wait for a reader that does not read longer than the deadline."""
        done = threading.Event()
        watchdog = threading.Timer(self.deadline, lambda: None if done.is_set() else self.kill())
        watchdog.daemon = True
        watchdog.start()
        try:
            with self._lock:
                assert self._process.stdin is not None
                self._process.stdin.write(line)
                self._process.stdin.flush()
        except (OSError, ValueError):
            raise WorkerError(self.name, exchange, "gone", f"its process does not listen any more{self._told()}") from None
        finally:
            done.set()
            watchdog.cancel()

    def _told(self) -> str:
        time.sleep(0.05)  # what it said last is still on its way
        return f"; it said: {self.said}" if self.said else ""

    def _listen(self, stream: IO[bytes]) -> None:
        """Take in what the worker says, line by line, until there is no more."""
        with stream:
            while line := stream.readline(FRAME + 1):
                if len(line) > FRAME:
                    self.strays.append(f"a line of more than {FRAME} bytes")
                    while line and not line.endswith(b"\n"):
                        line = stream.readline(FRAME)
                elif line.strip():
                    self._heard(line)
        self._hang_up()

    def _heard(self, line: bytes) -> None:
        try:
            frame = read_reply(line)
        except BadFrame as error:
            self._babbled += 1
            self.strays.append(f"{error}: {shown(line.decode(errors='replace').strip(), 120)}")
            if self._babbled > STRAYS:
                time.sleep(BREATH)  # its pipe fills, and it waits, not we
            return
        self._babbled = 0
        if not isinstance(frame, Reply):
            if not self._calls.put(frame) and isinstance(frame, Called):
                self.give(Given(call=frame.call, status="rejected", why=f"{STRAYS} calls wait already"))
            return
        with self._lock:
            place = self._waiting.pop(frame.nonce, None)
        if place is None:
            self.strays.append(f"an answer to nothing that is asked: {shown(line.decode(errors='replace').strip(), 120)}")
        else:
            place.put(frame)

    def _hang_up(self) -> None:
        """Nobody is left to answer: whoever waits is told."""
        with self._lock:
            places, self._waiting = list(self._waiting.values()), {}
        for place in places:
            place.put(None)

    def _overhear(self, stream: IO[bytes]) -> None:
        with stream:
            while data := stream.read1(STDERR):  # type: ignore[attr-defined]
                self._stderr += data
                del self._stderr[:-STDERR]
