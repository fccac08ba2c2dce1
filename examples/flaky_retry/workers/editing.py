"""What these workers share: an edit of one file as the host's tool takes it."""

import difflib
import hashlib
from pathlib import Path

from pydantic import JsonValue

from lifecycle.worker import Desk

TEST = "tests/test_retry.py"

FLAKY = """\
    begun = time.perf_counter()
    with pytest.raises(OSError):
        retry(fails)
    assert len(calls) == 3
    assert 0.03 <= time.perf_counter() - begun < 0.04
"""


def edit(desk: Desk, path: str, text: str) -> JsonValue:
    """Have the host make `text` of a file in the tree; what its tool gives back."""
    old = Path(path).read_bytes()
    patch = "".join(difflib.unified_diff(old.decode().splitlines(True), text.splitlines(True), f"a/{path}", f"b/{path}"))
    return desk.call("edit", path=path, digest=f"sha256:{hashlib.sha256(old).hexdigest()}", patch=patch)
