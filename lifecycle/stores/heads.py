"""What every store asks before it writes: is each head still as given, and do the entries follow it without a gap or a fork.

Pure: a store brings what it keeps and what it was given. Whether an act may be made is no question of a store.
"""

from collections.abc import Sequence

from lifecycle.law.errors import Conflict
from lifecycle.law.log import Change, Head


def still(job: str, given: Head | None, kept: Head | None) -> None:
    """Conflict if the head kept is not the one given; None is the head of a job that does not exist."""
    if given != kept:
        raise Conflict(job, given.seq if given else None, kept.seq if kept else None)


def follows(change: Change) -> None:
    """Conflict if a change's entries do not follow its head one by one; ValueError if it brings none, or another job's."""
    job, head = change.row.job, change.head
    seq, last = (head.seq, head.hash) if head is not None else (-1, "")
    if not change.entries:
        raise ValueError(f"the change of job `{job}` brings no entry; append what was decided")
    for entry in change.entries:
        if entry.job != job:
            raise ValueError(f"the change of job `{job}` brings an entry of job `{entry.job}`; give each job its own change")
        if entry.seq != seq + 1 or entry.prev != last:
            raise Conflict(job, entry.seq - 1, seq if seq >= 0 else None)
        seq, last = entry.seq, entry.hash


def once_each(changes: Sequence[Change]) -> None:
    """Conflict if one job is changed twice: the second head would not be as given any more."""
    seen: set[str] = set()
    for change in changes:
        if change.row.job in seen:
            raise Conflict(change.row.job, change.head.seq if change.head else None, change.entries[-1].seq)
        seen.add(change.row.job)
