"""What an exchange with a worker costs: over a pipe beside bare JSON lines, over HTTP beside a bare request to the same server.

Bare means: the same process, the same bytes, no nonce that is held against the answer, no type that is checked, no deadline.
"""

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

from lifecycle.worker import Pipe
from lifecycle.worker.http import Http
from tests.benchmarks.measure import Figure, race

COUNT = 400
SERVES = "from lifecycle.worker import serve; serve(lambda desk: 1)"
BARE = """\
import json, sys
for line in sys.stdin:
    ask = json.loads(line)
    sys.stdout.write(json.dumps({"worker": "worker/0.2", "nonce": ask["nonce"], "answer": {"free": True}}) + "\\n")
    sys.stdout.flush()
"""
BEHIND = "from lifecycle.worker.http import serve_http; serve_http(lambda desk: 1, token='t')"


def piped(worker: Pipe) -> Callable[[], int]:
    """So many exchanges."""

    def run() -> int:
        for _ in range(COUNT):
            worker.ask("free")
        return COUNT

    return run


def bare() -> Callable[[], int]:
    """As many lines to a child that answers each."""
    child = subprocess.Popen([sys.executable, "-c", BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None and child.stdout is not None
    into, out = child.stdin, child.stdout

    def run() -> int:
        for _ in range(COUNT):
            into.write(json.dumps({"worker": "worker/0.2", "ask": "free", "nonce": secrets.token_hex(8)}) + "\n")
            into.flush()
            json.loads(out.readline())
        return COUNT

    return run


@contextmanager
def behind() -> Iterator[str]:
    """A worker behind HTTP; where it is."""
    with subprocess.Popen([sys.executable, "-c", BEHIND], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield child.stdout.readline().strip()
        child.kill()


def requested(url: str) -> Callable[[], int]:
    """As many bare requests, the same bytes to the same place."""
    client = httpx.Client(base_url=url, trust_env=False, headers={"authorization": "Bearer t"})

    def run() -> int:
        for _ in range(COUNT):
            ask = {"worker": "worker/0.2", "ask": "free", "nonce": secrets.token_hex(8)}
            client.post("/free", json=ask).json()
        return COUNT

    return run


def figures() -> Iterator[Figure]:
    """Every figure of the wires."""
    worker = Pipe([sys.executable, "-c", SERVES])
    yield race("an exchange over a pipe", piped(worker), "bare JSON lines", bare(), None)
    worker.close()
    with behind() as url:
        held = Http(url, token="t")

        def asked() -> int:
            for _ in range(COUNT):
                held.ask("free")
            return COUNT

        yield race("an exchange over HTTP", asked, "a bare request to the same server", requested(url), None)
