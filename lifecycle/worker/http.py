"""A worker behind HTTP: `Http` asks one, `serve_http` puts one there, `openapi` says what goes over the wire.

    POST /{exchange}    an ask; its reply. An exchange that there is not is refused by name, with 404
    GET  /calls?wait=S  the next call of a tool; 204 if there is none within so many seconds
    POST /given         what became of a call
    GET  /openapi.json  this, for programs

Loopback and a bearer token by default; the token stands for one party, and a task of another requester is refused. A body is
counted before it is parsed. No redirect is followed.
"""

import hmac
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import uvicorn
from pydantic import JsonValue
from pydantic.json_schema import models_json_schema
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lifecycle.law.door import shown
from lifecycle.worker.frames import (
    ANSWERS,
    DEADLINE,
    EXCHANGES,
    FRAME,
    VERSION,
    Answer,
    Ask,
    BadFrame,
    Called,
    Exchange,
    Frame,
    Given,
    Look,
    Reply,
    Task,
    answered,
    read_ask,
    read_reply,
    written,
)
from lifecycle.worker.journal import Journal
from lifecycle.worker.port import Calls, WorkerError
from lifecycle.worker.serving import Estimates, Job, Served, Take, accepts

LONGEST_WAIT = 30.0
"""Seconds that a question for the next call may wait."""


class Http:
    """A worker at a URL. Safe for threads."""

    def __init__(self, url: str, token: str = "", *, name: str = "", deadline: float = DEADLINE) -> None:
        """`url` is where its exchanges are, as `http://127.0.0.1:8100`."""
        self.name, self.deadline = name or url, deadline
        marks = {"authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=url, headers=marks, follow_redirects=False, trust_env=False, timeout=deadline)

    def ask(
        self, exchange: Exchange, *, job: str | None = None, task: Task | None = None, heard: Sequence[dict[str, JsonValue]] = (),
        within: float | None = None,
    ) -> Answer:  # fmt: skip
        """One exchange. WorkerError says why it came to nothing: `quiet`, `gone`, `malformed`, `refused`."""
        nonce = secrets.token_hex(8)
        reply = self.say(written(Ask(ask=exchange, nonce=nonce, job=job, task=task, heard=tuple(heard))), nonce, exchange, within)
        try:
            return answered(exchange, reply)
        except BadFrame as error:
            why = "refused" if reply.answer is None else "malformed"
            raise WorkerError(self.name, exchange, why, str(error)) from None

    def say(self, line: bytes, nonce: str, exchange: str, within: float | None = None) -> Reply:
        """Send one frame, whatever it says, and wait for the reply that repeats its nonce; as `ask` does, for whoever probes."""
        body = self._spoken("POST", f"/{exchange}", exchange, line, within or self.deadline)
        try:
            reply = read_reply(body)
        except BadFrame as error:
            raise WorkerError(self.name, exchange, "malformed", f"{error}: {shown(body.decode(errors='replace'), 120)}") from None
        if not isinstance(reply, Reply) or reply.nonce != nonce:
            raise WorkerError(self.name, exchange, "malformed", "its reply does not repeat the nonce")
        return reply

    def call(self, within: float = 0.0) -> Called | None:
        """The next call of a tool that the worker asks for; None if none comes in so many seconds, or it should be looked at."""
        wait = min(within, LONGEST_WAIT)
        body = self._spoken("GET", f"/calls?wait={wait:g}", "call", b"", wait + self.deadline)
        try:
            called = read_reply(body) if body else None
        except BadFrame as error:
            raise WorkerError(self.name, "call", "malformed", str(error)) from None
        return called if isinstance(called, Called) else None

    def give(self, given: Given) -> None:
        """Tell the worker what became of its call."""
        self._spoken("POST", "/given", "call", written(given), self.deadline)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> "Http":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _spoken(self, method: str, path: str, exchange: str, body: bytes, within: float) -> bytes:
        """The body of the response, no longer than a frame."""
        try:
            with self._http.stream(method, path, content=body, timeout=within) as response:
                held, until = b"", time.monotonic() + within
                for part in response.iter_bytes():
                    held += part
                    if time.monotonic() > until:
                        raise WorkerError(self.name, exchange, "quiet", f"no whole answer within {within:g} s")
                    if len(held) > FRAME:
                        raise WorkerError(self.name, exchange, "malformed", f"more than {FRAME} bytes")
                if response.is_redirect:
                    raise WorkerError(self.name, exchange, "malformed", "a redirect, and none is followed")
                if response.status_code == 401:
                    raise WorkerError(self.name, exchange, "refused", "it does not know this token")
                return held
        except httpx.TimeoutException:
            raise WorkerError(self.name, exchange, "quiet", f"no answer within {within:g} s") from None
        except httpx.HTTPError as error:
            raise WorkerError(self.name, exchange, "gone", f"{type(error).__name__}: {shown(str(error), 200)}") from None


def app(make: Callable[[Callable[[Called | Look], object]], Served], token: str, party: str | None = None) -> Starlette:
    """A worker as an ASGI application. With a party, only that requester's tasks are taken."""
    calls = Calls()
    served = make(calls.put)

    async def exchange(request: Request) -> Response:
        if not _known(request, token):
            return _told("", "no token, or one that is not known here", 401)
        if (body := await _body(request)) is None:
            return _told("", f"more than {FRAME} bytes", 413)
        named = request.path_params["exchange"]
        with suppress(BadFrame):
            frame = read_ask(body)
            if isinstance(frame, Given) or frame.ask != named:
                return _told("" if isinstance(frame, Given) else frame.nonce, f"there is no `{shown(named)}` in this frame", 422)
            if party is not None and frame.task is not None and frame.task.requester != party:
                return _told(frame.nonce, f"the token is `{party}`'s, and the task `{frame.task.requester}`'s", 403)
        reply = await run_in_threadpool(served.reply, body)
        assert reply is not None
        return _reply(reply, 200 if reply.answer is not None else 422 if named in EXCHANGES else 404)

    async def given(request: Request) -> Response:
        if not _known(request, token):
            return _told("", "no token, or one that is not known here", 401)
        body = await _body(request)
        try:
            frame = read_ask(body if body is not None else b"")
        except BadFrame as error:
            return _told("", str(error), 422)
        if isinstance(frame, Given):
            served.given(frame)
        return Response(status_code=204)

    async def waiting(request: Request) -> Response:
        if not _known(request, token):
            return _told("", "no token, or one that is not known here", 401)
        try:
            wait = min(max(float(request.query_params.get("wait", "0")), 0.0), LONGEST_WAIT)
        except ValueError:
            return _told("", "`wait` is no number of seconds", 422)
        called = await run_in_threadpool(calls.get, wait)
        return Response(status_code=204) if called is None else Response(written(called), media_type="application/json")

    async def document(request: Request) -> Response:
        return JSONResponse(openapi())

    routes = [
        Route("/openapi.json", document),
        Route("/calls", waiting),
        Route("/given", given, methods=["POST"]),
        Route("/{exchange}", exchange, methods=["POST"]),
    ]
    return Starlette(routes=routes)


def serve_http(
    work: Job, take: Take = accepts, *, token: str, port: int = 0, host: str = "127.0.0.1", party: str | None = None,
    journal: str | Path | None = None, estimate: Estimates | None = None,
) -> None:  # fmt: skip
    """Answer the seven exchanges over HTTP until the process is told to end. The URL is written to stdout, as one line."""
    kept = Journal(journal) if journal is not None else None
    on_http(lambda send: Served(work, take, send, kept, estimate), token=token, port=port, host=host, party=party)


def on_http(
    make: Callable[[Callable[[Called | Look], object]], Served], *, token: str, port: int = 0, host: str = "127.0.0.1",
    party: str | None = None,
) -> None:  # fmt: skip
    """Put a worker of one's own making behind HTTP; with port 0, a free one is taken."""
    if not token:
        raise ValueError("no token: whoever reaches the port could give it work; to mend it, give a long random one")
    server = uvicorn.Server(uvicorn.Config(app(make, token, party), log_level="warning", ws="none"))
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((host, port))
        print(f"http://{host}:{held.getsockname()[1]}", flush=True)
        server.run(sockets=[held])


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 document of the seven exchanges."""
    models: list[type[Frame]] = [Ask, Reply, Called, Given]
    _, held = models_json_schema([(model, "validation") for model in models], ref_template="#/components/schemas/{model}")
    schemas: dict[str, Any] = dict(held.get("$defs", {}))
    paths: dict[str, Any] = {}
    for name in EXCHANGES:
        answer = ANSWERS[name].json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(answer.pop("$defs", {}))
        schemas[f"{name}_answer"] = answer
        reply = {"allOf": [_ref("Reply"), {"properties": {"answer": _ref(f"{name}_answer")}}]}
        paths[f"/{name}"] = {"post": _operation(name, _ref("Ask"), {"200": _json(reply), "422": _json(_ref("Reply"))})}
    wait = {"name": "wait", "in": "query", "schema": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT}}
    calls = _operation("calls", None, {"200": _json(_ref("Called")), "204": {"description": "none"}})
    paths["/calls"] = {"get": {**calls, "parameters": [wait]}}
    paths["/given"] = {"post": _operation("given", _ref("Given"), {"204": {"description": "heard"}})}
    return {
        "openapi": "3.1.0",
        "info": {"title": "The seven exchanges of a worker", "version": VERSION.partition("/")[2]},
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "one frame", "content": {"application/json": {"schema": schema}}}


def _operation(name: str, takes: dict[str, Any] | None, gives: dict[str, Any]) -> dict[str, Any]:
    body = {"requestBody": {"required": True, "content": {"application/json": {"schema": takes}}}} if takes else {}
    refused = {"401": {"description": "no token, or one that is not known"}, "413": {"description": f"more than {FRAME} bytes"}}
    return {"operationId": name, **body, "responses": {**gives, **refused}}


def _known(request: Request, token: str) -> bool:
    return hmac.compare_digest(request.headers.get("authorization", "").encode(), f"Bearer {token}".encode())


async def _body(request: Request) -> bytes | None:
    """The body; None if it is longer than a frame."""
    held = b""
    async for part in request.stream():
        held += part
        if len(held) > FRAME:
            return None
    return held


def _told(nonce: str, why: str, status: int) -> Response:
    return _reply(Reply(nonce=nonce, refused=why), status)


def _reply(reply: Reply, status: int) -> Response:
    return Response(written(reply), status_code=status, media_type="application/json")
