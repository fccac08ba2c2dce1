"""The seven exchanges over HTTP: a real server, the same port as a pipe's, and what comes over the wire that should not."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
import uvicorn

from lifecycle.worker import EXCHANGES, FRAME, Came, Desk, Free, Given, Served, Status, Taken, Task, WorkerError
from lifecycle.worker.http import Http, app, on_http, openapi


def work(desk: Desk) -> object:
    return desk.done(str(desk.call("add", a=1))) if desk.task.goal == "calls" else {"made": desk.task.goal}


@pytest.fixture
def url() -> Iterator[str]:
    made = app(lambda send: Served(work, send=send), token="secret", party="ann")
    server = uvicorn.Server(uvicorn.Config(made, port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


def task(goal: str, requester: str = "ann") -> Task:
    return Task(job=goal.replace(" ", "-"), goal=goal, requester=requester, worker="wes")


def test_a_job_goes_over_http_with_a_call_of_a_tool_in_its_middle(url: str) -> None:
    with Http(url, "secret") as worker:
        assert worker.ask("free") == Free(free=True)
        assert isinstance(taken := worker.ask("take", task=task("calls")), Taken) and taken.act.act == "accept"
        called = worker.call(5.0)
        assert called is not None and (called.tool, called.arguments) == ("add", {"a": 1})
        assert worker.call() is None
        worker.give(Given(call=called.call, status="executed", output=3))
        while isinstance(told := worker.ask("status", job="calls"), Status) and told.status == "working":
            pass
        came = worker.ask("result", job="calls")
        assert isinstance(came, Came) and came.deliver is not None
        assert [one.name for one in came.deliver.artifacts] == ["3"]


@pytest.mark.parametrize(
    ("token", "goal", "requester", "why"),
    [("guessed", "g", "ann", "does not know this token"), ("secret", "g", "eve", "the token is `ann`'s, and the task `eve`'s")],
)
def test_a_token_stands_for_one_party(url: str, token: str, goal: str, requester: str, why: str) -> None:
    with Http(url, token) as worker, pytest.raises(WorkerError, match=why) as caught:
        worker.ask("take", task=task(goal, requester))
    assert caught.value.why == "refused"


@pytest.mark.parametrize(
    ("path", "body", "status", "why"),
    [
        ("/price", b'{"worker":"worker/0.2","ask":"price","nonce":"n"}', 404, "there is no exchange `price`"),
        ("/free", b'{"worker":"worker/0.3","ask":"free","nonce":"n"}', 422, "version `worker/0.3` is not spoken here"),
        ("/free", b'{"worker":"worker/0.2","ask":"stop","nonce":"n"}', 422, "there is no `free` in this frame"),
        ("/free", b'{"worker":', 422, "no JSON"),
        ("/free", b"[]", 422, "no JSON object"),
        ("/free", b"x" * (FRAME + 1), 413, f"more than {FRAME} bytes"),
    ],
)
def test_what_is_no_ask_is_refused_by_name(url: str, path: str, body: bytes, status: int, why: str) -> None:
    told = httpx.post(url + path, content=body, headers={"authorization": "Bearer secret"})
    assert told.status_code == status
    assert why in told.json()["refused"]
    assert httpx.post(url + "/free", content=body[:100]).status_code == 401


def test_nobody_there_and_a_redirect_are_typed() -> None:
    with Http("http://127.0.0.1:9", "secret", deadline=2.0) as worker, pytest.raises(WorkerError) as caught:
        worker.ask("free")
    assert caught.value.why == "gone"


def test_there_is_no_worker_without_a_token() -> None:
    with pytest.raises(ValueError, match="no token"):
        on_http(Served, token="")


def test_the_document_has_every_exchange(url: str) -> None:
    document = httpx.get(url + "/openapi.json").json()
    assert document == openapi()
    assert set(document["paths"]) == {f"/{name}" for name in (*EXCHANGES, "calls", "given")}
    refs = {ref for ref in str(document).split("'") if ref.startswith("#/")}
    assert {ref.rpartition("/")[2] for ref in refs} <= set(document["components"]["schemas"])


def test_a_worker_that_says_look_ends_the_wait_for_its_calls(tmp_path: object) -> None:
    program = "import time\nfrom lifecycle.worker.http import serve_http\nserve_http(lambda desk: time.sleep(1), token='t')"
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        with Http(child.stdout.readline().strip(), token="t") as worker:
            worker.ask("take", task=Task(job="j", goal="g", requester="ann", worker="wes"))
            begun = time.monotonic()
            while worker.ask("result", job="j").came == "not_yet":  # type: ignore[union-attr]
                assert worker.call(20.0) is None
                assert time.monotonic() - begun < 15
        child.kill()
