"""Probes: what a remote really does, tried on it in a scratch space. The verdict is what is read back, never what it says.

A probe is a function of a remote and a workload that gives a `Probe` of the law: passed, failed, or inconclusive (the remote could
not be asked), with what was seen and the sizes it holds for. Its traffic looks like the caller's work, and is bounded: at most
`traffic(probe, size)` records are written.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from attrs import frozen

from lifecycle.handshake.remote import Record, Remote, RemoteError
from lifecycle.law.capability import Advertisement, Invariant, Probe

VALID = timedelta(hours=1)
"""For how long a pass holds."""


@frozen
class Workload:
    """What the caller plans to write, so that probes look like it.

    `records(n)` gives n records as they will be; `poison` makes one that the remote will not store, out of one that it would.
    `space` gives the name of a fresh scratch space. `retry_after`: the seconds after which an operation is tried again.
    """

    size: int
    records: Callable[[int], Sequence[Record]]
    poison: Callable[[Record], Record] | None = None
    space: Callable[[], str] = lambda: f"batch-{secrets.token_hex(6)}"
    retry_after: float = 0.0

    @property
    def bytes(self) -> int:
        """The size of the planned batch."""
        return sum(len(one.data.encode()) for one in self.records(self.size))


class Inconclusive(Exception):
    """It could not be told: why."""


Seen = tuple[bool, str, dict[str, int]]
"""Whether it holds, what was seen, and up to which sizes."""


def atomicity(remote: Remote, work: Workload) -> Seen:
    """The planned batch with one poison record in its middle leaves nothing and is not called ok; without it, all is there."""
    if work.poison is None:
        raise Inconclusive("the workload has no poison record")
    planned, space = list(work.records(work.size)), work.space()
    middle = len(planned) // 2
    spoiled = [*planned[:middle], work.poison(planned[middle]), *planned[middle + 1 :]]
    ack, left = remote.write(space, spoiled), remote.read(space)
    if len(left) == len(spoiled) and list(left) == spoiled:
        raise Inconclusive("the poison record was stored: it is none for this remote")
    if left:
        return False, f"{len(left)} of {len(spoiled)} records stand after a batch that was not whole; it said `{ack.status}`", {}
    if ack.status == "ok":
        return False, "nothing stands after a batch with a poison record, and it said `ok`", {}
    space = work.space()
    ack, left = remote.write(space, planned), remote.read(space)
    if list(left) != planned:
        return False, f"{len(left)} of {len(planned)} good records stand; it said `{ack.status}`", {}
    return True, f"{len(planned)} records, all or nothing", _sizes(work)


def idempotency(remote: Remote, work: Workload) -> Seen:
    """One key twice stores once and gives one receipt; the same key with something else is a conflict and changes nothing.

    It holds for retries that come as late as this one did, and no later: who remembers a key may forget it.
    """
    space, key = work.space(), secrets.token_hex(8)
    planned = list(work.records(2))
    first = remote.write(space, planned[:1], key)
    time.sleep(work.retry_after)
    again = remote.write(space, planned[:1], key)
    left = list(remote.read(space))
    if left != planned[:1]:
        return False, f"one key twice, and {len(left)} records stand", {}
    if (first.status, first.receipt) != (again.status, again.receipt):
        return False, f"one key twice, and two receipts: `{first.receipt}`, `{again.receipt}`", {}
    other = remote.write(space, planned[1:], key)
    if list(remote.read(space)) != planned[:1] or other.status == "ok":
        return False, f"one key with two contents, and it said `{other.status}`", {}
    return True, f"one key, one effect, tried again after {work.retry_after:g} s", {"seconds": int(work.retry_after)}


def ordering(remote: Remote, work: Workload) -> Seen:
    """What is written in one batch, and in as many calls with one retried, is read back in that order."""
    planned, space = list(work.records(work.size)), work.space()
    remote.write(space, planned)
    if list(remote.read(space)) != planned:
        return False, f"{len(planned)} records in one batch are read back otherwise", {}
    few, space = planned[: min(len(planned), 16)], work.space()
    for place, one in enumerate(few):
        remote.write(space, [one], f"{space}-{place}")
        if place == len(few) // 2:
            remote.write(space, [one], f"{space}-{place}")
    left = list(remote.read(space))
    if list(dict.fromkeys(left)) != few:
        return False, f"{len(few)} calls, one of them retried, are read back otherwise", {}
    return True, f"{len(planned)} records in order", {"batch": work.size}


def bound(remote: Remote, work: Workload) -> Seen:
    """The planned maximum is stored whole; if not, halved until something is: that is the envelope."""
    size = work.size
    while size:
        planned, space = list(work.records(size)), work.space()
        try:
            remote.write(space, planned)
            whole = list(remote.read(space)) == planned
        except RemoteError:
            whole = False
        if whole:
            told = f"{size} of {work.size} records are stored whole"
            return size == work.size, told, {"batch": size, "bytes": sum(len(one.data.encode()) for one in planned)}
        size //= 2
    return False, "not even one record is stored whole", {}


def read_only(remote: Remote, work: Workload) -> Seen:
    """What can be observed is the same before and after it is asked for."""
    space = work.space()
    before = _state(remote, space)
    remote.write(space, list(work.records(1)))
    after = _state(remote, space)
    return before == after, "the state is the same" if before == after else "the state is another than before", {}


PROBES: Mapping[Invariant, Callable[[Remote, Workload], Seen]] = {
    "atomicity": atomicity,
    "idempotency": idempotency,
    "ordering": ordering,
    "bound": bound,
    "read_only": read_only,
}
"""One probe for each invariant."""


def probe(
    invariant: Invariant, remote: Remote, work: Workload, advertisement: Advertisement | None, now: datetime,
    valid: timedelta = VALID,
) -> Probe:  # fmt: skip
    """Run a probe; its result is tied to the advertisement, to the sizes that were tried, and to a time."""
    tied = advertisement.digest if advertisement is not None else None
    try:
        holds, seen, upto = PROBES[invariant](remote, work)
    except (Inconclusive, RemoteError) as why:
        return Probe("inconclusive", tied, seen=str(why))
    return Probe("passed" if holds else "failed", tied, upto, now + valid, seen)


def traffic(invariant: Invariant, size: int) -> int:
    """The most records that a probe writes for a planned batch of that size."""
    calls = {"atomicity": 2 * size, "idempotency": 3, "ordering": size + 17, "bound": 2 * size, "read_only": 1}
    return calls[invariant]


def _sizes(work: Workload) -> dict[str, int]:
    return {"batch": work.size, "bytes": work.bytes}


def _state(remote: Remote, space: str) -> str:
    return sha256(repr([(one.id, one.data) for one in remote.read(space)]).encode()).hexdigest()
