"""What a negotiation costs without probes, and what each guard adds to a write, beside the bare write on the same remote."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lifecycle.handshake import Ack, Batches, Calls, Ledger, Record, Remote, Sequenced, negotiate
from lifecycle.handshake.guards import Acks
from lifecycle.law.capability import Advertisement, Clause, Requirement
from tests.benchmarks.measure import Figure, race

MOST = 50e-6
"""Seconds that a negotiation without probes may take."""
COUNT = 2_000
WANTED = [
    Requirement("whole", "atomicity", "all_or_nothing", {"batch": 512}),
    Requirement("once", "idempotency", "keyed"),
    Requirement("bound", "bound", "batch", {"batch": 100}),
]
SAID = Advertisement(
    "write", "1",
    clauses=(
        Clause("atomicity", "all_or_nothing", {"batch": 512}), Clause("idempotency", "keyed"),
        Clause("bound", "batch", {"batch": 512}),
    ),
)  # fmt: skip


def negotiated() -> int:
    """Three requirements, an advertisement with three clauses."""
    for _ in range(COUNT):
        assert negotiate(WANTED, SAID).outcome == "accept"
    return COUNT


class Limit:
    """What may not be exceeded, as something that can be raced with: it takes exactly as long as is allowed."""

    def __call__(self) -> int:
        until = time.perf_counter() + COUNT * MOST
        while time.perf_counter() < until:
            pass
        return COUNT


def _remote() -> Remote:
    spaces: dict[str, list[Record]] = {}

    def write(space: str, records: Sequence[Record], key: str) -> Ack:
        spaces.setdefault(space, []).extend(records)
        return Ack("ok", tuple(one.id for one in records))

    return Calls(write, lambda space: spaces.get(space, [])[-1:])


def writes(remote: Remote, count: int) -> Callable[[], int]:
    """So many writes of one record."""
    number = iter(range(10**9))

    def run() -> int:
        for _ in range(count):
            n = next(number)
            remote.write("s", [Record(f"r{n}", "x" * 100)], f"k{n}")
        return count

    return run


def figures() -> Iterator[Figure]:
    """Every figure of the handshake."""
    yield race("negotiation of three requirements, no probe", negotiated, f"its limit, {MOST * 1e6:.0f} us", Limit(), 1.0)
    with tempfile.TemporaryDirectory() as folder:
        for name, count, guard in (
            ("bounded batches", 20_000, Batches(_remote(), 10)),
            ("per-record acks", 20_000, Acks(_remote())),
            ("one in flight", 20_000, Sequenced(_remote())),
            ("operation ledger, two commits", 200, Ledger(_remote(), Path(folder) / "ledger.db")),
        ):
            yield race(
                f"a write under a guard: {name}", writes(guard, count), "the bare write in memory", writes(_remote(), count), None
            )
