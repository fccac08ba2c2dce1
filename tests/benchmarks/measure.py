"""How a figure is taken: rounds that alternate between us and the other, the median of the ratios, and what was to be reached."""

import gc
import statistics
import time
from collections.abc import Callable

from attrs import frozen

ROUNDS = 5


@frozen
class Figure:
    """One line of the table: our rate, the other's, the median of their ratios, and the ratio to reach."""

    what: str
    ours: float
    other: float
    against: str
    ratio: float
    reach: float | None
    unit: str = "/s"

    @property
    def verdict(self) -> str:
        """Whether it was reached."""
        return "" if self.reach is None else "reached" if self.ratio >= self.reach else "NOT reached"


def rate(work: Callable[[], int]) -> float:
    """Things done per second by a function that says how many it did."""
    gc.collect()
    begun = time.perf_counter()
    done = work()
    return done / (time.perf_counter() - begun)


def race(
    what: str, ours: Callable[[], int], against: str, other: Callable[[], int], reach: float | None, rounds: int = ROUNDS
) -> Figure:
    """Our rate beside the other's: median of at least five rounds, each round measuring both."""
    pairs = [(rate(ours), rate(other)) for _ in range(rounds)]
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Figure(what, mine, theirs, against, statistics.median(a / b for a, b in pairs), reach)
