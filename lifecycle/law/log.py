"""The log of a job: entries, how they are sealed into a chain, and what is asked of a store that keeps them.

An entry is an accepted act as it stands in the log. Its hash covers the previous entry's hash and the stored bytes. Here lives
the stored form and nothing that decides; a store keeps entries and refuses a taken seq, it holds no rule of the lifecycle.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, cast

from attrs import define, field, frozen
from pydantic import ValidationError
from pydantic_core import from_json

from lifecycle.law.acts import ACTS, Act
from lifecycle.law.errors import CorruptLog, KeptRefusal
from lifecycle.law.states import Stage
from lifecycle.law.values import instant

_ENVELOPE = {"id", "at"}


@frozen
class Lineage:
    """A job's place in its delegation tree, fixed by its request: the root, the depth below it, and what the parent imposes."""

    root: str
    depth: int
    exclusions: tuple[str, ...]
    requirements: tuple[str, ...]


@frozen
class Proof:
    """Room for a signature: its scheme and its bytes, inside the entry's hash."""

    scheme: str
    data: str


@frozen
class Receipt:
    """What a party holds of an accepted act: its place in the log and the hash of the log up to it."""

    job: str
    seq: int
    id: str
    act: str
    stage: Stage
    at: datetime
    hash: str


@define(weakref_slot=False)
class Draft:
    """An entry while it is being made; `Entry` is the same, frozen. Fresh from the law it has no `body` and no `hash` yet.

    `at` is the engine's time, aware and in UTC; `act.at` is what the sender claimed. `origin` is the stage left (None for a new
    job), `stage` the one entered.
    """

    job: str
    seq: int
    id: str
    act: Act
    by: str
    at: datetime
    origin: Stage | None
    stage: Stage
    law: int
    lineage: Lineage | None = None
    proof: Proof | None = None
    prev: str = ""
    hash: str = ""
    body: bytes = field(default=b"", repr=False)

    def close(self) -> "Entry":
        """This very draft as an entry: nothing changes it any more. (Four times as fast as filling a frozen one.)"""
        self.__class__ = Entry
        return cast(Entry, self)


@frozen(weakref_slot=False)
class Entry(Draft):
    """An accepted act as it stands in the log."""

    @property
    def receipt(self) -> Receipt:
        """What the party that made the act is given, and given again for every retry."""
        return Receipt(self.job, self.seq, self.id, self.act.act, self.stage, self.at, self.hash)


def chained(prev: str, body: bytes) -> str:
    """The hash of an entry: sha256, in hex, over the previous entry's hash and the stored bytes."""
    return hashlib.sha256(prev.encode() + b"\n" + body).hexdigest()


def written(act: Act) -> str:
    """What an act says, as JSON: ASCII, absent fields left out, without the id and the time its sender claims.

    The form that is stored, measured and hashed. Two acts say the same if this is the same.
    """
    return act.__pydantic_serializer__.to_json(act, exclude=_ENVELOPE, exclude_none=True, ensure_ascii=True).decode()


def seal(entry: Entry, prev: str, content: str) -> Entry:
    """The entry with its stored bytes, chained to the one before it; `content` is its act as `written`."""
    origin = f'"{entry.origin}"' if entry.origin is not None else "null"
    more = ""
    if entry.lineage is not None:
        line = entry.lineage
        tree = {"root": line.root, "depth": line.depth, "exclusions": line.exclusions, "requirements": line.requirements}
        more = f',"lineage":{json.dumps(tree, separators=(",", ":"))}'
    if entry.proof is not None:
        more += f',"proof":{json.dumps([entry.proof.scheme, entry.proof.data])}'
    if entry.act.at is not None:
        more += f',"claimed":"{instant(entry.act.at)}"'
    body = (
        f'{{"job":"{entry.job}","seq":{entry.seq},"id":"{entry.id}","by":"{entry.by}","at":"{instant(entry.at)}",'
        f'"from":{origin},"to":"{entry.stage}","law":{entry.law},"act":{content}{more}}}'
    ).encode()
    return Draft(
        entry.job, entry.seq, entry.id, entry.act, entry.by, entry.at, entry.origin, entry.stage, entry.law, entry.lineage,
        entry.proof, prev, chained(prev, body), body,
    ).close()  # fmt: skip


_STAGES: Mapping[str, Stage] = {stage.value: stage for stage in Stage}
_ORIGINS: Mapping[str | None, Stage | None] = {stage.value: stage for stage in Stage} | {None: None}


def unseal(job: str, seq: int, prev: str, hash: str, body: bytes) -> Entry:
    """The entry that these stored bytes are; CorruptLog if they are no entry. The chain itself is `audit`'s to check."""
    try:
        held = from_json(body)
        said, line, proof = held["act"], held.get("lineage"), held.get("proof")
        said["id"], said["at"] = held["id"], held.get("claimed")
        return Draft(
            held["job"],
            held["seq"],
            held["id"],
            ACTS[said["act"]].__pydantic_validator__.validate_python(said),
            held["by"],
            datetime.fromisoformat(held["at"]),
            _ORIGINS[held["from"]],
            _STAGES[held["to"]],
            held["law"],
            line and Lineage(line["root"], line["depth"], tuple(line["exclusions"]), tuple(line["requirements"])),
            proof and Proof(*proof),
            prev,
            hash,
            body,
        ).close()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ValidationError) as error:
        raise CorruptLog(job, seq, f"its bytes are no entry ({type(error).__name__})") from error


@frozen
class Head:
    """Where a job's log stands: what a writer must have read for its write to count."""

    seq: int
    hash: str
    children: int = 0
    """How many jobs were ever delegated from this one."""
    renewed_at: datetime | None = None
    """The last renewal of the worker's lease, which leaves no entry."""


@frozen
class Row:
    """What a store shows of a job without reading its log. Thrown away and rebuilt at will.

    `due` is never later than the job's due time; it may be earlier, for whoever acts on it judges the job anew.
    """

    job: str
    stage: Stage
    requester: str
    worker: str
    goal: str
    parent: str | None
    requested_at: datetime
    updated_at: datetime
    due: datetime | None


@frozen
class Change:
    """One job's new entries, the head they were decided on (None: a new job) and the row that shows them."""

    head: Head | None
    entries: Sequence[Entry]
    row: Row


@frozen
class Query:
    """Which rows: every filter given must hold. In the order in which the jobs were made, or of due time if `due_by` is given."""

    stages: frozenset[Stage] | None = None
    requester: str | None = None
    worker: str | None = None
    parent: str | None = None
    due_by: datetime | None = None
    after: str = ""
    """Only jobs made after this one: the last of the page before. After a job that is not there comes nothing."""
    limit: int = 1000


GONE = "gone"
"""The shelf on which a store keeps what is left of jobs that were purged: by id, one text each. No new job takes such an id."""


def owner(shelf: str) -> str:
    """The job that a shelf belongs to: its name is `what/JOB` or `what/JOB/which`; nothing if it belongs to none."""
    return shelf.partition("/")[2].partition("/")[0]


class Store(Protocol):
    """What is asked of a store. It keeps; it does not decide. Safe for threads; in a file or a database, for processes.

    Every write is durable before the call returns, all of it or none. A write whose head is not the job's head any more is a
    Conflict and writes nothing. What cannot be written is a StoreError, and the store goes on as it was.
    """

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """Append all changes in one commit, if every head, also of the jobs merely read, is still as given.

        A change that makes a job with a parent counts as one more child in the parent's head. One that makes a job whose id is
        on the shelf `gone` is a Conflict.
        """

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        """The job's head and its entries after a seq, from one moment; None if there is no such job."""

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        """Entries of all jobs after a position, each with its own, each job's in seq order.

        No entry ever appears behind a position that was given out.
        """

    def find(self, query: Query) -> Sequence[Row]:
        """The rows that the query asks for."""

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        """Keep a renewal and a due time, neither of which is an entry; a Conflict if the head is another."""

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """Keep a refusal, unless the job has `cap` of them already (None: keep it always)."""

    def refusals(self, job: str) -> Sequence[KeptRefusal]:
        """The refusals kept for a job, oldest first."""

    def put(self, shelf: str, key: str, text: str | None, was: str | None) -> bool:
        """Set a text beside the log (None: remove it) if it still is `was` (None: absent); say whether it was."""

    def get(self, shelf: str, key: str) -> str | None:
        """One text of a shelf; None if it is absent."""

    def shelf(self, shelf: str) -> dict[str, str]:
        """All texts of a shelf by key: hook positions, failures, claims; never what the log could tell."""

    def shelves(self) -> Sequence[str]:
        """The names of all shelves that hold something. What is of one job is on `what/JOB`, `what/JOB/which`, or under JOB."""

    def renewals_since(self) -> datetime:
        """Since when renewals were kept without a loss: a lease older than that is given one lease of grace."""

    def reindex(self, row: Callable[[Sequence[Entry]], Row]) -> None:
        """Throw all rows away and make them anew from the log; renewals are lost with them."""

    def purge(self, jobs: Sequence[tuple[str, Head, str]]) -> None:
        """Take jobs away whole, in one commit, if each head is still as given: log, row, refusals, what is on shelves.

        The text given is left of each, on the shelf `gone`, by its id. No position of theirs is given out again.
        """

    def listen(self, wake: Callable[[], None]) -> bool:
        """Call `wake` soon after another process has written; False if this store cannot tell."""

    def now(self) -> datetime:
        """The time, by the store's own authority: aware, in UTC."""

    def close(self) -> None:
        """Let go of files and connections; twice is once."""


def end(store: Store) -> int:
    """The last position that a store has given out: doubled to, then halved to, as a long feed is not read through."""
    low, high = 0, 1
    while store.feed(high, 1):
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if store.feed(middle, 1) else (low, middle)
    return low
