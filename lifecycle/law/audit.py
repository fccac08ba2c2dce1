"""Whether a log is what was written: its hashes, its seqs, its law, its receipts.

Pure: what was read comes in, what is wrong comes out. Only the first bad entry of a job is named, as whatever follows it hangs on
it.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from lifecycle.law.fold import learn
from lifecycle.law.job import Job
from lifecycle.law.log import Entry, Head, Receipt, chained
from lifecycle.law.table import Law


@frozen
class Finding:
    """The first entry of a job that is not what was written, and why."""

    job: str
    seq: int
    what: str

    def __str__(self) -> str:
        return f"job `{self.job}`, entry {self.seq}: {self.what}"


def examine(
    name: str, head: Head | None, entries: Sequence[Entry], laws: Mapping[int, Law], receipts: Iterable[Receipt] = ()
) -> Finding | None:
    """The first thing wrong with a whole log, held against its head and the receipts somebody holds; None if nothing is."""
    job: Job | None = None
    prev = ""
    for seq, entry in enumerate(entries):
        what = _wrong(name, seq, prev, entry, job, laws)
        if what:
            return Finding(name, seq, what)
        job, prev = learn(job, entry), entry.hash
    for receipt in sorted(receipts, key=lambda held: held.seq):
        if receipt.seq >= len(entries):
            return Finding(name, len(entries), f"it is missing: a receipt shows entry {receipt.seq}")
        if entries[receipt.seq].hash != receipt.hash:
            return Finding(name, receipt.seq, "its hash is not the one on its receipt")
    if head is None or not entries:
        return Finding(name, 0, "there is no such log") if receipts else None
    if (head.seq, head.hash) != (len(entries) - 1, prev):
        return Finding(name, len(entries), f"it is missing: the head is entry {head.seq}")
    return None


def _wrong(name: str, seq: int, prev: str, entry: Entry, job: Job | None, laws: Mapping[int, Law]) -> str:
    if entry.seq != seq:
        return f"its seq is {entry.seq}"
    if entry.job != name:
        return f"it is of job `{entry.job}`"
    if entry.prev != prev or chained(prev, entry.body) != entry.hash:
        return "its hash does not follow from its bytes and the entry before it"
    law = laws.get(entry.law)
    if law is None:
        return f"law {entry.law} is not known here"
    if entry.origin is not (job.stage if job else None):
        return f"it leaves `{entry.origin}`, where the job is not"
    way = law.ways[entry.origin].get(entry.act.act)
    if way is None or all(row.to is not entry.stage for row in way.rows):
        return f"law {law.version} has no `{entry.act.act}` from `{entry.origin}` to `{entry.stage}`"
    if job is not None and entry.at < job.at:
        return "it is older than the entry before it"
    return ""
