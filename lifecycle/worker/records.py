"""A worker of the seven exchanges as a remote of the handshake: each write and each read is a small job that it is given.

The goal of such a job is one JSON object: `{"write": {"space", "key", "records": [[id, data], …]}}`, delivered as
`{"status", "stored", "receipt"}`; or `{"read": {"space"}}`, delivered as `[[id, data], …]`. A worker that stores records speaks
this beside its trade, and cannot tell a probe from work.
"""

import json
import secrets
import time
from collections.abc import Sequence

from attrs import define
from pydantic import JsonValue

from lifecycle.handshake.remote import Ack, Record, RemoteError
from lifecycle.law import acts
from lifecycle.law.terms import Terms
from lifecycle.worker.frames import Came, Taken, Task
from lifecycle.worker.port import Worker, WorkerError

WITHIN = 30.0
"""Seconds for which one write or read is waited for."""
LOOKS = 0.01, 0.5
"""Seconds between two looks at whether it is done: at first, and at most."""


@define
class WorkerRemote:
    """A worker that stores records."""

    worker: Worker
    requester: str = "requester"
    within: float = WITHIN

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        """What it delivers. RemoteError if it declines, fails, or is silent: then whether it has written is unknown."""
        told = self._done({"write": {"space": space, "key": key, "records": [[one.id, one.data] for one in records]}})
        try:
            assert isinstance(told, dict)
            return Ack(str(told["status"]), tuple(map(str, told.get("stored", ()))), str(told.get("receipt", "")))  # type: ignore[arg-type]
        except (AssertionError, KeyError, TypeError) as error:
            raise self._none("what it delivered is no acknowledgement", "read back") from error

    def read(self, space: str) -> Sequence[Record]:
        """What it delivers. RemoteError if it cannot be asked."""
        told = self._done({"read": {"space": space}})
        try:
            assert isinstance(told, list)
            return [Record(str(one[0]), str(one[1])) for one in told if isinstance(one, list)]
        except (AssertionError, IndexError) as error:
            raise self._none("what it delivered are no records", "ask again") from error

    def _done(self, goal: dict[str, JsonValue]) -> JsonValue:
        job = f"records-{secrets.token_hex(8)}"
        task = Task(job=job, requester=self.requester, worker=self.worker.name, goal=json.dumps(goal), terms=Terms())
        try:
            taken = self.worker.ask("take", task=task, within=self.within)
            if not isinstance(taken, Taken) or not isinstance(taken.act, acts.Accept):
                raise self._none("it does not take it", "ask another")
            return self._delivered(job)
        except WorkerError as error:
            raise self._none(str(error), "read back") from error

    def _delivered(self, job: str) -> JsonValue:
        until, pause = time.monotonic() + self.within, LOOKS[0]
        while time.monotonic() < until:
            came = self.worker.ask("result", job=job, within=self.within)
            assert isinstance(came, Came)
            if came.came == "done" and came.deliver is not None:
                return came.deliver.value
            if came.came != "not_yet":
                raise self._none(came.fail.words if came.fail is not None else came.came, "read back")
            time.sleep(pause)
            pause = min(pause * 1.5, LOOKS[1])
        raise self._none(f"it was not done within {self.within:g} s", "read back")

    def _none(self, what: str, mend: str) -> RemoteError:
        return RemoteError(f"worker `{self.worker.name}`: {what}; to mend it, {mend}")
