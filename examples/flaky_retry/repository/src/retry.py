"""Call something until it succeeds, waiting a little longer each time."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

ATTEMPTS = 3
DELAY = 0.01

T = TypeVar("T")


def retry(
    call: Callable[[], T],
    attempts: int = ATTEMPTS,
    sleep: Callable[[float], object] = time.sleep,
    jitter: Callable[[], float] = random.random,
) -> T:
    """What `call` returns; what it raised the last time, if it fails `attempts` times."""
    for attempt in range(attempts):
        try:
            return call()
        except Exception:
            if attempt + 1 == attempts:
                raise
            sleep(DELAY * 2**attempt * (1 + jitter()))
    raise ValueError("no attempt at all")
