"""The remote as probes and guards see it: records written into a space, and read back.

An acknowledgement is what the remote says; what it did is what is read back.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import httpx
from attrs import frozen

from lifecycle.law.errors import LifecycleError


@frozen
class Record:
    """One record: its id, and its data."""

    id: str
    data: str


@frozen
class Ack:
    """What the remote answers to a write: `ok`, or a word for anything less; which ids it says it has stored; a receipt."""

    status: str
    stored: tuple[str, ...] = ()
    receipt: str = ""


class RemoteError(LifecycleError):
    """The remote could not be asked, or answered what is no answer. Remedy: ask again; whether it acted is unknown."""


class Remote(Protocol):
    """Something that stores records."""

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        """Store records in a space; with a key, once however often it is said."""

    def read(self, space: str) -> Sequence[Record]:
        """Everything in a space, in the order in which it is stored."""


Write = Callable[[str, Sequence[Record], str], Ack]
Read = Callable[[str], Sequence[Record]]


@frozen
class Calls:
    """Two functions of the caller's as a remote."""

    _write: Write
    _read: Read

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        """The function's own answer."""
        return self._write(space, records, key)

    def read(self, space: str) -> Sequence[Record]:
        """The function's own answer."""
        return self._read(space)


@frozen
class AsyncCalls:
    """Two coroutine functions as a remote. Not to be used inside a running event loop."""

    _write: Callable[[str, Sequence[Record], str], Awaitable[Ack]]
    _read: Callable[[str], Awaitable[Sequence[Record]]]

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        """The coroutine's own answer."""

        async def one() -> Ack:
            return await self._write(space, records, key)

        return asyncio.run(one())

    def read(self, space: str) -> Sequence[Record]:
        """The coroutine's own answer."""

        async def one() -> Sequence[Record]:
            return await self._read(space)

        return asyncio.run(one())


class HttpRemote:
    """A remote at a URL.

    `POST /write` with `{"space", "key", "records": [{"id", "data"}]}` answers `{"status", "stored", "receipt"}`;
    `GET /read?space=S` answers `[{"id", "data"}]`. No redirect is followed; an answer has `timeout` seconds.
    """

    def __init__(self, url: str, timeout: float = 30.0) -> None:
        self._http = httpx.Client(base_url=url, timeout=timeout, follow_redirects=False, trust_env=False)

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        """What it answers. RemoteError if it cannot be asked: then whether it has written is unknown."""
        body = {"space": space, "key": key, "records": [{"id": one.id, "data": one.data} for one in records]}
        try:
            told = self._http.post("/write", json=body).raise_for_status().json()
            return Ack(str(told["status"]), tuple(map(str, told.get("stored", ()))), str(told.get("receipt", "")))
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise RemoteError(f"write of {len(records)} records: {type(error).__name__}: {error}; to mend it, read back") from error

    def read(self, space: str) -> Sequence[Record]:
        """What is stored there. RemoteError if it cannot be asked."""
        try:
            told = self._http.get("/read", params={"space": space}).raise_for_status().json()
            return [Record(str(one["id"]), str(one["data"])) for one in told]
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise RemoteError(f"read of `{space}`: {type(error).__name__}: {error}; to mend it, ask again") from error

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()
