"""A child process with a limit on everything: its time, its output, its environment, its descendants.

No shell, no standard input, a session and process group of its own. At the time limit, and when it ends, the group is killed, and
so is every process that left the group but still carries the run's mark in its environment (one that also wiped its environment,
or runs as another user, is not found). If the runner itself is killed, nothing kills the child. **This is not a sandbox**: the
child may read and write whatever the user may, and use the network.
"""

import contextlib
import hashlib
import os
import selectors
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import psutil
from attrs import define, field, frozen

HEAD, TAIL = 2_000, 4_000
"""Bytes kept of an output, of its begin and of its end: a failing run says why at its end. The digest is of all of it."""

DRAIN = 1.0
"""Seconds to read on after the program itself ended and its group was killed, for what still stands in the pipe."""

ROUNDS = 20
"""How often marked processes that left the group are looked for and killed."""

MARK = "LIFECYCLE_CHECK"
"""The environment variable that marks every process of one run."""

PASSED_ON = ("LANG", "LANGUAGE", "TZ", "SYSTEMROOT", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What a child is given of the runner's own environment, beside `LC_*` and the absolute entries of PATH. No `PYTHON*`, no
`PYTEST_*`, no `GIT_*`, no credentials. HOME and TMPDIR are directories made for the run."""


@define
class Output:
    """What a child wrote: its begin and its end, its length, and the digest of all of it."""

    head: bytearray = field(factory=bytearray)
    tail: bytearray = field(factory=bytearray)
    length: int = 0
    _sum: "hashlib._Hash" = field(factory=hashlib.sha256)

    def write(self, data: bytes) -> None:
        """Take in more of it."""
        self.length += len(data)
        self._sum.update(data)
        room = HEAD - len(self.head)
        self.head += data[: max(room, 0)]
        self.tail += data[max(room, 0) :]
        del self.tail[:-TAIL]

    @property
    def digest(self) -> str:
        """`sha256:` and the digest of every byte, also of those that were not kept."""
        return f"sha256:{self._sum.hexdigest()}"

    @property
    def text(self) -> str:
        """What was kept, as a text that can be stored; what is missing in the middle is said."""
        missing = self.length - len(self.head) - len(self.tail)
        gap = f"\n… {missing} bytes …\n".encode() if missing else b""
        return bytes(self.head + gap + self.tail).decode(errors="replace").replace("\x00", "\ufffd")


@frozen
class Ran:
    """A program that was run. `exit` is None if it did not end in time; minus the signal that ended it."""

    exit: int | None
    output: Output
    errors: Output
    started: datetime
    ended: datetime


class Missing(Exception):
    """There is no such program here."""


def environment(scratch: Path, forbidden: Path | None = None) -> dict[str, str]:
    """The scrubbed environment: an allow-list, and HOME and TMPDIR inside `scratch`. PATH keeps nothing inside `forbidden`."""
    kept = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("LC_")}
    path = [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if _outside(entry, forbidden)]
    home, temporary = scratch / "home", scratch / "tmp"
    home.mkdir(exist_ok=True)
    temporary.mkdir(exist_ok=True)
    return {
        **kept,
        "PATH": os.pathsep.join(path),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_child(argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float, *, merged: bool = True) -> Ran:
    """Run a program to its end or its time limit; Missing if there is none. `merged`: errors stand in `output`, in order."""
    mark = uuid.uuid4().hex
    output, errors = Output(), Output()
    started, begun = datetime.now(UTC), time.monotonic()
    process = _start(argv, cwd, {**env, MARK: mark}, merged)
    with _reading({process.stdout: output, process.stderr: errors}) as selector:
        try:
            ended = _follow(process, selector, begun + timeout)
        finally:
            _kill(process.pid, mark)
            process.wait()  # not before: until then the group's number is nobody else's
        _read(selector, time.monotonic() + DRAIN, None)
    return Ran(process.returncode if ended else None, output, errors, started, datetime.now(UTC))


def _start(argv: Sequence[str], cwd: Path, env: Mapping[str, str], merged: bool) -> "subprocess.Popen[bytes]":
    program = argv[0]
    if "/" not in program:
        found = shutil.which(program, path=env["PATH"])
        if found is None:
            raise Missing(f"there is no program `{program}` on the PATH")
        program = found
    try:
        return subprocess.Popen(
            argv, executable=program, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise Missing(f"`{argv[0]}` cannot be started: {error}") from None


@contextlib.contextmanager
def _reading(pipes: Mapping[IO[bytes] | None, Output]) -> Iterator[selectors.BaseSelector]:
    with selectors.DefaultSelector() as selector:
        for pipe, output in pipes.items():
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, output)
        try:
            yield selector
        finally:
            for pipe in pipes:
                if pipe is not None:
                    pipe.close()


def _follow(process: "subprocess.Popen[bytes]", selector: selectors.BaseSelector, until: float) -> bool:
    """Read until the program ends, and say whether it did so in time."""
    _read(selector, until, process)
    while not (ended := _ended(process)) and (left := until - time.monotonic()) > 0:  # it closed its output and runs on
        time.sleep(min(left, 0.02))
    return ended


def _read(selector: selectors.BaseSelector, until: float, process: "subprocess.Popen[bytes] | None") -> None:
    """Read until every pipe is closed, the time is up, or the program (not those it left behind) has ended."""
    while selector.get_map() and (left := until - time.monotonic()) > 0:
        ready = selector.select(min(left, 0.05))
        for key, _ in ready:
            data = os.read(key.fd, 1 << 16)
            key.data.write(data)
            if not data:
                selector.unregister(key.fileobj)
        if not ready and process is not None and _ended(process):
            return


def _ended(process: "subprocess.Popen[bytes]") -> bool:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(group: int, mark: str) -> None:
    """End the group, and whoever left it with the mark on."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    for _ in range(ROUNDS):
        strays = [process for process in psutil.process_iter() if _marked(process, mark)]
        if not strays:
            return
        for process in strays:
            with contextlib.suppress(psutil.Error):
                process.kill()


def _marked(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


def _outside(entry: str, forbidden: Path | None) -> bool:
    if not os.path.isabs(entry):
        return False
    return forbidden is None or not Path(entry).resolve().is_relative_to(forbidden.resolve())
