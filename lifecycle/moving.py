"""What leaves a store whole, and what comes into one: export, import, and ended jobs that are purged by age.

    with open("jobs.jsonl", "w") as out:
        moving.export(jobs, out)
    with open("jobs.jsonl") as text:
        moving.bring(other, text)

The text is JSON Lines, in ASCII: every entry as its stored bytes and hashes, in the order of the feed, so that a log arrives with
every hash it had; then refusals, renewals and what lies on shelves; last a line that tells how much there was. What is read while
others write is, of each job, its log up to some entry. No rule of the lifecycle lives here.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TextIO

from attrs import Factory, define, frozen

from lifecycle.engine import PAGE, Engine
from lifecycle.engine.records import Known, Records
from lifecycle.hooks import POSITIONS
from lifecycle.law.door import shown
from lifecycle.law.errors import LifecycleError, StoreError
from lifecycle.law.fold import replay
from lifecycle.law.job import Job
from lifecycle.law.log import GONE, Change, Entry, Head, Query, Row, Store, unseal
from lifecycle.law.states import ENDED
from lifecycle.law.values import instant
from lifecycle.stores.refusals import from_text, to_text

FORMAT = 1
"""The version of the text."""

BATCH = 500
"""Entries that are brought in by one commit at most."""

TREE = 10_000
"""Jobs of one delegation tree that are purged together at most: a larger one is left."""


class BadExport(LifecycleError):
    """A text is no export, or not all of one. Remedy: what the message says; what was brought in before the line stays."""

    def __init__(self, line: int, what: str, mend: str) -> None:
        super().__init__(f"line {line}: {what}; to mend it, {mend}")
        self.line, self.what, self.mend = line, what, mend

    def __reduce__(self) -> tuple[type["BadExport"], tuple[int, str, str]]:
        return type(self), (self.line, self.what, self.mend)


@frozen
class Moved:
    """How much there was: jobs, and entries of their logs."""

    jobs: int
    entries: int


# Out


def export(jobs: Engine, out: TextIO, only: Iterable[str] | None = None) -> Moved:
    """Write all jobs of a store, or only these; how many there were. JobNotFound if one of these is not there."""
    store, written = jobs.store, _Written(out)
    written.line({"lifecycle": "export", "format": FORMAT, "at": instant(store.now()), "whole": only is None})
    seen: dict[str, int] = {}
    for position, entry in _all(store) if only is None else _some(jobs, only):
        seen[entry.job] = entry.seq
        hashes = {"prev": entry.prev, "hash": entry.hash, "body": entry.body.decode("ascii")}
        written.line({"entry": position, "job": entry.job, "seq": entry.seq, **hashes})
        written.entries += 1
    for job, seq in seen.items():
        for kept in store.refusals(job):
            written.line({"refusal": to_text(kept)})
        found = store.read(job, seq)
        if found is not None and found[0].renewed_at is not None:
            written.line({"renewed": job, "at": instant(found[0].renewed_at)})
    for name in store.shelves() if only is None else ():
        for key, text in sorted(store.shelf(name).items()):
            written.line({"shelf": name, "key": key, "text": text})
    written.end(len(seen))
    return Moved(len(seen), written.entries)


@define
class _Written:
    out: TextIO
    entries: int = 0
    _digest: Any = Factory(hashlib.sha256)

    def line(self, told: dict[str, object]) -> None:
        text = json.dumps(told, separators=(",", ":")) + "\n"
        self._digest.update(text.encode())
        self.out.write(text)

    def end(self, jobs: int) -> None:
        digest = self._digest.hexdigest()
        self.line({"end": digest, "jobs": jobs, "entries": self.entries})
        self.out.flush()


def _all(store: Store) -> Iterator[tuple[int, Entry]]:
    """Every entry there is now, in the order of the feed."""
    after = 0
    while page := store.feed(after, PAGE):
        yield from page
        after = page[-1][0]


def _some(jobs: Engine, only: Iterable[str]) -> Iterator[tuple[int, Entry]]:
    return ((0, entry) for job in only for entry in jobs.log(job))


# In


def bring(jobs: Engine, text: Iterable[str]) -> Moved:
    """Bring in what was exported: how much of it was not there yet. What is there already is compared, and left.

    So an import that was broken off is begun again, and goes on. BadExport names the line that is wrong; CorruptLog the entry that
    does not follow from the one before it; StoreError the job, or the text on a shelf, that is there and another.
    """
    return _Brought(jobs.store, Records(jobs.store, jobs.laws)).all(_read(text))


def _read(text: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines but the first and the last, each with its number, once each was seen to be one; BadExport if there are others."""
    digest, number, entries, ended = hashlib.sha256(), 0, 0, False
    for number, line in enumerate(text, 1):
        try:
            told = json.loads(line)
        except ValueError:
            told = None
        if not isinstance(told, dict) or not line.endswith("\n"):
            raise BadExport(number, "it is no whole line of JSON", "export again; the text was cut off or changed")
        if number == 1:
            if told.get("lifecycle") != "export" or told.get("format") != FORMAT:
                raise BadExport(1, f"it is no export of format {FORMAT}", "name a file that `export` has written")
        elif ended:
            raise BadExport(number, "something comes after the end", "export again")
        elif "end" in told:
            ended = True
            if told["end"] != digest.hexdigest() or told.get("entries") != entries:
                raise BadExport(number, "the lines before it are not what was written", "export again")
        else:
            entries += "entry" in told
            yield number, told
        digest.update(line.encode())
    if not ended:
        raise BadExport(number + 1, "it ends without its last line", "export again; the text was cut off")


@define
class _Brought:
    store: Store
    records: Records
    waiting: list[Entry] = Factory(list)
    jobs: set[str] = Factory(set)
    entries: int = 0
    places: list[tuple[int, str, int]] = Factory(list)
    """Positions in the store that it came from, in order, each with its entry's job and seq: where hooks may have stood."""

    def all(self, lines: Iterator[tuple[int, dict[str, Any]]]) -> Moved:
        stood: dict[str, int] = {}
        for number, told in lines:
            try:
                if "entry" in told:
                    self._entry(told)
                    continue
                self._flush()
                if "refusal" in told:
                    self._refusal(told["refusal"])
                elif "renewed" in told:
                    self._renewed(told["renewed"], datetime.fromisoformat(told["at"]))
                elif told["shelf"] == POSITIONS:
                    stood[told["key"]] = int(told["text"])
                else:
                    self._text(told["shelf"], told["key"], told["text"])
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                raise BadExport(number, f"it lacks something, or has it wrong ({type(error).__name__})", "export again") from error
        self._flush()
        self._hooks(stood)
        return Moved(len(self.jobs), self.entries)

    def _entry(self, told: dict[str, Any]) -> None:
        entry = unseal(told["job"], told["seq"], told["prev"], told["hash"], told["body"].encode("ascii"))
        if told["entry"]:
            self.places.append((told["entry"], entry.job, entry.seq))
        self.waiting.append(entry)
        if len(self.waiting) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        """Commit what waits."""
        logs: dict[str, list[Entry]] = {}
        for entry in self.waiting:
            logs.setdefault(entry.job, []).append(entry)
        self.waiting = []
        changes = [change for job, entries in logs.items() if (change := self._change(job, entries)) is not None]
        if changes:
            self.store.append(changes)
            self.jobs.update(change.row.job for change in changes)
            self.entries += sum(len(change.entries) for change in changes)

    def _change(self, job: str, entries: Sequence[Entry]) -> Change | None:
        """What of these entries is not there yet, as a change; StoreError if what is there is another's."""
        if self.store.get(GONE, job) is not None:
            raise StoreError(f"job `{shown(job)}` was purged here; to mend it, bring it into another store")
        known = self.records.read(job)
        stands = known.head.seq if known is not None else -1
        there = self.store.read(job, entries[0].seq - 1) if entries[0].seq <= stands else None
        for entry, kept in zip(entries, there[1] if there else (), strict=False):
            if entry.hash != kept.hash:
                raise StoreError(f"job `{shown(job)}` is another here; to mend it, bring it into another store")
        new = [entry for entry in entries if entry.seq > stands]
        if not new:
            return None
        learnt = self.records.learnt(job, known, Head(new[-1].seq, new[-1].hash), new)
        return Change(known.head if known else None, new, self.records.row(learnt, children=known.head.children if known else 0))

    def _refusal(self, text: str) -> None:
        kept = from_text(text)
        if kept not in self.store.refusals(kept.refusal.job):
            self.store.keep_refusal(kept, None)

    def _renewed(self, job: str, at: datetime) -> None:
        known = self.records.read(job)
        if known is not None and known.head.renewed_at is None:
            head = Head(known.head.seq, known.head.hash, known.head.children, at)
            self.store.mark(job, known.head, at, self.records.row(Known(known.job, head, known.ids)).due)

    def _text(self, shelf: str, key: str, text: str) -> None:
        if not self.store.put(shelf, key, text, None) and self.store.get(shelf, key) != text:
            where = f"`{shown(key)}` on shelf `{shown(shelf)}`"
            raise StoreError(f"{where} is another here; to mend it, bring it into a store that nobody has used")

    def _hooks(self, stood: dict[str, int]) -> None:
        """Let each hook stand behind the last entry it had seen: an entry that was committed with it may be told twice."""
        unseen = {name: {(job, seq) for place, job, seq in self.places if place > at} for name, at in stood.items()}
        last = 0
        for position, entry in _all(self.store) if stood else ():
            for name in [name for name, left in unseen.items() if (entry.job, entry.seq) in left]:
                self._text(POSITIONS, name, str(position - 1))
                del unseen[name]
            last = position
        for name in unseen:
            self._text(POSITIONS, name, str(last))


# Away


def purge(jobs: Engine, older: timedelta, archive: TextIO | None = None) -> Moved:
    """Take away what ended longer ago than that, whole delegation trees at a time; how much it was.

    With an `archive`, what goes is exported to it first. Whoever asks for a purged job is told JobGone and what it was last known
    as, if it was theirs; no new job takes its id. A tree with a job that is open, or that ended later, stays.
    """
    before = jobs.store.now() - older
    trees = [tree for root in _roots(jobs.store, before) if (tree := _tree(jobs.store, root, before)) is not None]
    if archive is not None:
        export(jobs, archive, [row.job for tree in trees for row in tree])
        with suppress(OSError):  # a text in memory has no file
            os.fsync(archive.fileno())
    entries = 0
    for tree in trees:
        logs = [(row.job, found) for row in tree if (found := jobs.store.read(row.job)) is not None]
        jobs.store.purge([(job, head, _left(replay(log), head, jobs.store.now())) for job, (head, log) in logs])
        for job, (_, log) in logs:
            jobs.forget(job)
            entries += len(log)
    return Moved(sum(map(len, trees)), entries)


def _roots(store: Store, before: datetime) -> list[Row]:
    return [row for row in _pages(store, Query(stages=ENDED, limit=PAGE)) if row.parent is None and row.updated_at < before]


def _tree(store: Store, root: Row, before: datetime) -> list[Row] | None:
    """A job and all below it; None if one of them must stay."""
    tree = [root]
    for row in tree:
        tree += _pages(store, Query(parent=row.job, limit=PAGE))
        if len(tree) > TREE:
            return None
    return tree if all(row.stage in ENDED and row.updated_at < before for row in tree) else None


def _pages(store: Store, query: Query) -> Iterator[Row]:
    while rows := store.find(query):
        yield from rows
        query = Query(query.stages, parent=query.parent, after=rows[-1].job, limit=query.limit)


def _left(job: Job, head: Head, now: datetime) -> str:
    """What is left of a purged job."""
    who = job.parties
    parties = {who.requester, who.worker, who.reviewer, who.verifier, who.approver, *who.authorities, *who.owners}
    told = {"stage": job.stage.value, "termination": str(job.termination), "seq": head.seq, "hash": head.hash}
    return json.dumps({**told, "parties": sorted(parties), "purged_at": instant(now)})
