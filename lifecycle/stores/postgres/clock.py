"""The database's time, without asking for it each time.

It is asked once a second and counted on from there, by a clock of the machine that nobody sets: what the machine believes the time
of day to be is never looked at. So engines on machines whose clocks are an hour apart agree to within a round trip.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

ASKS = 1.0
"""Seconds for which the last answer is counted on from."""


class Counted:
    """A time that is asked now and then."""

    def __init__(self, ask: Callable[[], datetime]) -> None:
        self._ask = ask
        self._answer: tuple[datetime, float] | None = None

    def __call__(self) -> datetime:
        answer, at = self._answer, _counter()
        if answer is None or not 0 <= at - answer[1] < ASKS:
            told = self._ask()
            until = _counter()
            self._answer = answer = told, (at + until) / 2  # it was said about halfway
            at = until
        return answer[0] + timedelta(seconds=at - answer[1])


def _counter() -> float:
    """Seconds, counted also while the machine sleeps, where that can be had."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
