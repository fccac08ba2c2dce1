"""A worker behind stdin and stdout, one frame a line.

    from lifecycle.worker import serve

    def work(desk):
        report = desk.call("edit", path="a.py", digest=None, patch="...")
        return desk.done(report, met={"c1": "a.py:3"})

    serve(work)

Whatever the work prints to stdout goes to stderr, as stdout is the wire.
"""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from lifecycle.worker.frames import FRAME, Called, Frame, Look, written
from lifecycle.worker.journal import Journal
from lifecycle.worker.serving import Estimates, Job, Served, Take, accepts


def serve(work: Job, take: Take = accepts, journal: str | Path | None = None, estimate: Estimates | None = None) -> None:
    """Answer the seven exchanges on stdin and stdout, until stdin ends; with a journal, across restarts."""
    kept = Journal(journal) if journal is not None else None
    on_stdio(lambda send: Served(work, take, send, kept, estimate))


def on_stdio(make: Callable[[Callable[[Called | Look], object]], Served]) -> None:
    """Put a worker of one's own making behind stdin and stdout; it is made with its way to ask for tools."""
    wire, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr
    os.dup2(2, 1)
    lock = threading.Lock()

    def send(frame: Frame) -> None:
        with lock:
            wire.write(written(frame))
            wire.flush()

    served = make(send)
    while line := sys.stdin.buffer.readline(FRAME + 1):
        if (reply := served.reply(line)) is not None:
            send(reply)
