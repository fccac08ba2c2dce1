"""What an engine remembers of the jobs it has read, and the lapses that it writes.

A copy, never the truth: whoever appends on it names the head it was read at, and a store refuses a head that has moved on. Here
lives reading, remembering and lapsing; judging acts lives in `clerk`.
"""

import json
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime

from attrs import field, frozen

from lifecycle.law.acts import Lapse
from lifecycle.law.deadlines import deadline, due
from lifecycle.law.decide import lapse
from lifecycle.law.errors import Conflict, CorruptLog, JobGone, JobNotFound, StoreError, UnknownLaw
from lifecycle.law.fold import learn, replay
from lifecycle.law.job import Job
from lifecycle.law.log import GONE, Change, Entry, Head, Query, Row, Store, chained, seal, written
from lifecycle.law.states import ENDED, OPEN, Cause, Stage, State
from lifecycle.law.table import Law

REMEMBERED = 20_000
"""Jobs an engine remembers: some tens of megabytes, and enough for every job that is at work on one machine."""

ATTEMPTS = 1_000
"""Writes to one job that may lose against others in a row: each loss is another's success, so this many mean a broken store."""


@frozen
class Known:
    """A job as last read, the head it stood at, and the seq of every act id in its log (shared, and only ever added to)."""

    job: Job
    head: Head
    ids: dict[str, int]
    falls: tuple[datetime, Cause] | None = field(init=False)
    """When the job is due, as long as its parent has not ended; asked for several times an act, so found out once."""

    @falls.default
    def _(self) -> tuple[datetime, Cause] | None:
        return deadline(self.job, self.head.renewed_at)


class Records:
    """The jobs of one store, as one engine knows them. Safe for threads: what is remembered is replaced, never changed."""

    def __init__(self, store: Store, laws: Mapping[int, Law]) -> None:
        self.store = store
        self.laws = laws
        self._known: OrderedDict[str, Known] = OrderedDict()

    def law(self, job: Job) -> Law:
        """The law that a job was begun under, and stays on."""
        return self.laws[job.law]

    def read(self, job: str, *, fresh: bool = True) -> Known | None:
        """The job as the store has it now; not `fresh`, as last read, which only a write can prove."""
        known = self._known.get(job)
        if known is not None and not fresh:
            return known
        found = self.store.read(job, known.job.seq if known else -1)
        if found is None:
            self._known.pop(job, None)
            return None
        head, entries = found
        if known is not None and not entries and head == known.head:
            return known
        if known is not None and known.head.hash != (entries[0].prev if entries else head.hash):
            self._known.pop(job, None)  # the log was put back to an earlier copy: read it whole
            return self.read(job)
        return self.remember(self.learnt(job, known, head, entries))

    def remembered(self, job: str) -> Known | None:
        """The job as last read, if it was: no store is asked."""
        return self._known.get(job)

    def missing(self, job: str, by: str | None) -> JobNotFound:
        """What to say of a job that is not there: to those whose it was, that it was purged."""
        text = self.store.get(GONE, job)
        last = json.loads(text) if text is not None else {}
        return JobGone(job, last) if last and (by is None or by in last["parties"]) else JobNotFound(job)

    def taken(self, job: str) -> bool:
        """Whether the id was a purged job's."""
        return self.store.get(GONE, job) is not None

    def remember(self, known: Known) -> Known:
        """Keep this as what is known of its job."""
        self._known.pop(known.job.id, None)
        self._known[known.job.id] = known
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return known

    def forget(self, job: str) -> None:
        """Read the job from the store next time."""
        self._known.pop(job, None)

    def learnt(self, name: str, known: Known | None, head: Head, entries: Sequence[Entry]) -> Known:
        """What is known once these entries are; CorruptLog if they do not follow one another up to the head."""
        prev = known.head.hash if known else ""
        for entry in entries:
            if entry.law not in self.laws:
                raise UnknownLaw(name, entry.law, sorted(self.laws))
            if entry.job != name or entry.prev != prev or chained(prev, entry.body) != entry.hash:
                raise CorruptLog(name, entry.seq, "its hash does not follow from the entry before it")
            prev = entry.hash
        if known is None and not entries:
            raise CorruptLog(name, 0, "it is missing, and so is every other")
        job = replay(entries, known.job if known else None)
        if (job.seq, prev) != (head.seq, head.hash):
            raise CorruptLog(name, job.seq + 1, f"it is missing: the head is entry {head.seq}")
        ids = {} if known is None else known.ids
        ids.update((entry.id, entry.seq) for entry in entries)
        return Known(job, head, ids)

    # ---- time

    def parent_ended(self, job: Job) -> tuple[datetime | None, Known | None]:
        """When the parent ended otherwise than by delivering, if it did; and what that was read from."""
        if job.brief.parent is None:
            return None, None
        parent = self.read(job.brief.parent)
        return (undelivered_end(parent.job) if parent else None), parent

    def due(self, known: Known, now: datetime, parent_ended_at: datetime | None) -> Lapse | None:
        """What is due. Where renewals were lost since the worker was last heard, the loss counts as one: the lease of grace."""
        now = moment(known.job, now, parent_ended_at)
        if parent_ended_at is None and (known.falls is None or known.falls[0] > now):
            return None
        act = due(known.job, now, known.head.renewed_at, parent_ended_at)
        if act is None or act.cause is not Cause.LEASE or known.head.renewed_at is not None:
            return act
        since = self.store.renewals_since()
        return due(known.job, now, since, parent_ended_at) if since > known.job.heard_at else act

    def row(self, known: Known, parent_ended_at: datetime | None = None, children: int = 0) -> Row:
        """How the job is listed. An ended job whose children must end with it stays due until they have."""
        job, brief = known.job, known.job.brief
        first = known.falls if parent_ended_at is None else deadline(job, known.head.renewed_at, parent_ended_at)
        falls = job.at if children and _drags(job) else first[0] if first else None
        return Row(
            job.id, job.stage, brief.parties.requester, brief.parties.worker, brief.goal, brief.parent, brief.requested_at, job.at,
            falls,
        )  # fmt: skip

    def listed(self, entries: Sequence[Entry]) -> Row:
        """How a whole log's job is listed when all rows are made anew: due at once if it may have children to end with it."""
        job = replay(entries)
        return self.row(Known(job, Head(job.seq, entries[-1].hash), {}), children=1)

    def settle(self, known: Known, now: datetime) -> tuple[Known, list[Entry]]:
        """Lapse whatever is due on a job, each in a commit of its own, and then on its children if it ended.

        Conflict if the job or its parent moved on meanwhile: then nothing more was written, and it must be read again.
        """
        lapsed: list[Entry] = []
        while True:
            ended_at, parent = self.parent_ended(known.job)
            act = self.due(known, now, ended_at)
            if act is None:
                return known, lapsed
            at = moment(known.job, now, ended_at)
            entry = lapse(known.job, act, id=secrets.token_hex(12), now=at, law=self.law(known.job))
            sealed = seal(entry, known.head.hash, written(act))
            head = Head(sealed.seq, sealed.hash, known.head.children, known.head.renewed_at)
            moved = Known(learn(known.job, sealed), head, known.ids)
            change = Change(known.head, [sealed], self.row(moved, ended_at, head.children))
            self.store.append([change], [(parent.job.id, parent.head)] if parent else [])
            known.ids[sealed.id] = sealed.seq
            lapsed.append(sealed)
            known = self.remember(moved)
            lapsed += self.end_children(known, now)

    def end_children(self, known: Known, now: datetime) -> list[Entry]:
        """Lapse the open children of a job that ended otherwise than by delivering, and so on below; then it is due no more."""
        if not known.head.children or not _drags(known.job):
            return []
        lapsed: list[Entry] = []
        after = ""
        while rows := self.store.find(Query(stages=OPEN - {Stage.DELIVERED}, parent=known.job.id, after=after)):
            after = rows[-1].job
            for row in rows:
                lapsed += self.sweep(row.job, now)
        return lapsed

    def sweep(self, job: str, now: datetime) -> list[Entry]:
        """Lapse what is due on one job, read afresh, however often others write to it meanwhile; then note when it is due."""
        lapsed: list[Entry] = []
        for _ in range(ATTEMPTS):
            known = self.read(job)
            if known is None:
                return lapsed
            try:
                known, entries = self.settle(known, now)
                lapsed += entries
                if not entries:
                    lapsed += self.end_children(known, now)
                    falls = self.row(known, self.parent_ended(known.job)[0]).due
                    if falls is not None and falls <= now and known.head.renewed_at is None:
                        grace = deadline(known.job, self.store.renewals_since())  # or it would stay due until then
                        falls = grace[0] if grace else None
                    self.store.mark(job, known.head, known.head.renewed_at, falls)
                return lapsed
            except Conflict:
                continue
        raise restless(job)


def restless(job: str) -> StoreError:
    """The error of a job that could not be written to for conflicts alone."""
    return StoreError(f"job `{job}` moved on before each of {ATTEMPTS} writes; to mend it, check the store, then act again")


def moment(job: Job, now: datetime, parent_ended_at: datetime | None) -> datetime:
    """Now, which is never before what is already written, whatever the clock says."""
    return max(now, job.at, parent_ended_at or now)


def undelivered_end(job: Job) -> datetime | None:
    """When the job ended otherwise than by delivering, if it did: its children end with it."""
    return job.termination.at if job.termination is not None and job.state is not State.RESULT else None


def _drags(job: Job) -> bool:
    """Whether the children of this job end with it."""
    return job.stage in ENDED and job.state is not State.RESULT
