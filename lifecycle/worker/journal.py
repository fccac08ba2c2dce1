"""A worker's journal: which jobs it has accepted, and what came of each. It outlives the worker's process.

A job is written down before "accept" is answered, so that one that was accepted is never forgotten: after a crash it is reported
failed. One file, one worker; SQLite, each line on the disk before it counts.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from lifecycle.law import acts
from lifecycle.law.states import Work
from lifecycle.worker.frames import Came

CRASHED = "its worker's process ended in the middle of the work"


class Journal:
    """The journal in a file. Safe for threads of one process; a second process with the same file sees what the first wrote."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with closing(self._open()) as held:
            held.execute("CREATE TABLE IF NOT EXISTS jobs (job TEXT PRIMARY KEY, came TEXT)")

    def accept(self, job: str) -> None:
        """Write down that a job is accepted; on the disk when this returns."""
        with closing(self._open()) as held, held:
            held.execute("INSERT OR IGNORE INTO jobs VALUES (?, NULL)", (job,))

    def end(self, job: str, came: Came) -> None:
        """Write down what came of it."""
        with closing(self._open()) as held, held:
            held.execute("UPDATE jobs SET came = ? WHERE job = ?", (came.model_dump_json(exclude_none=True), job))

    def recall(self) -> dict[str, Came]:
        """What came of each job; one that had not ended has failed, and is written down so."""
        with closing(self._open()) as held:
            rows = held.execute("SELECT job, came FROM jobs").fetchall()
        lost = Came(came="failed", fail=acts.Fail(words=CRASHED, work=Work.UNKNOWN))
        for job, came in rows:
            if came is None:
                self.end(job, lost)
        return {job: Came.model_validate_json(came) if came is not None else lost for job, came in rows}

    def _open(self) -> sqlite3.Connection:
        held = sqlite3.connect(self.path, timeout=10.0)
        held.execute("PRAGMA synchronous = FULL")
        return held
