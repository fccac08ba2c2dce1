"""How acts are committed: judged on what is known, appended if nothing moved meanwhile, else judged again.

A decision to append is guarded by the heads it was made on; a decision to refuse is made on a fresh read. Whatever is due lapses
before an act is judged. Acts of one batch are committed together or not at all; each is judged on what those before it made.
"""

import re
import secrets
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from attrs import Factory, define, evolve, frozen

from lifecycle.engine.records import ATTEMPTS, Known, Records, moment, restless, undelivered_end
from lifecycle.law import acts, door
from lifecycle.law.decide import ALONE, begin, decide, lapse, refuse
from lifecycle.law.errors import Conflict, JobGone, JobNotFound, KeptRefusal, LifecycleError, Reason, Refusal, Refused
from lifecycle.law.fold import learn
from lifecycle.law.guards.move import Fault, World
from lifecycle.law.limits import ID_CHARS, Limits
from lifecycle.law.log import Change, Entry, Head, Query, Receipt, seal, written
from lifecycle.law.states import OPEN
from lifecycle.law.table import Law

ID = re.compile(rf"[A-Za-z0-9_-]{{1,{ID_CHARS}}}")
"""What the id of a job, an act or a party matches."""

_COUNTED = frozenset({Reason.MALFORMED, Reason.PAYLOAD_TOO_LARGE, Reason.TEXT_TOO_LONG})


@frozen
class Submission:
    """One act, as it is handed in: whose job, whose act; its id if the caller chose one; the seq that the caller has read."""

    job: str
    act: acts.Act
    by: str
    id: str | None = None
    expect: int | None = None


@define
class _Plan:
    """What one attempt would write: per job the entries and the head they were decided on; and the heads merely read."""

    now: datetime
    fresh: bool
    begun_on: dict[str, Known | None] = Factory(dict)
    """The jobs that acts were judged on, as first read."""
    assumed: set[str] = Factory(set)
    """The jobs that are requested and were not looked for: if they are there, the append is a Conflict."""
    known: dict[str, Known] = Factory(dict)
    """The jobs as this plan would leave them."""
    heads: dict[str, Head | None] = Factory(dict)
    entries: dict[str, list[Entry]] = Factory(dict)
    reads: dict[str, Head] = Factory(dict)
    born: dict[str, list[str]] = Factory(dict)
    """The jobs that this plan would make, by parent."""

    def children(self, known: Known) -> int:
        """How many jobs will ever have been delegated from this one."""
        return known.head.children + len(self.born.get(known.job.id, ()))

    def planned(self, job: str, id: str) -> Entry | None:
        """The entry with this act id, if this plan would write it."""
        return next((entry for entry in self.entries.get(job, ()) if entry.id == id), None)


def _misnamed(one: Submission) -> Fault | None:
    """Why a submission is malformed besides its act: what names it is no id, no act, or reserved."""
    if type(one.act) is not acts.ACTS.get(one.act.act):
        return Fault(Reason.UNKNOWN_ACT, f"there is no act `{door.shown(one.act.act)}`", "make one of the classes in `acts`")
    for what, id in (("job id", one.job), ("party", one.by), ("act id", one.id)):
        if id is not None and not ID.fullmatch(id):
            return Fault(Reason.MALFORMED, f"{what} `{door.shown(id)}` is no id", "use 1 to 128 letters, digits, _ and -")
    if one.by == "clock" and type(one.act) is acts.Request:
        return Fault(Reason.MALFORMED, "`clock` is the engine itself", "give the requester another name")
    return None


class Clerk:
    """Commits acts to the jobs of one store."""

    def __init__(self, records: Records, limits: Limits, law: Law, prefix: str = "") -> None:
        """`law` is what new jobs are made under; `prefix` begins every id that is minted."""
        self.records, self.limits, self.law, self.prefix = records, limits, law, prefix
        self.turned_away: Counter[Reason] = Counter()

    def mint(self) -> str:
        """A new id."""
        return self.prefix + secrets.token_hex(12)

    def commit(self, batch: Sequence[Submission]) -> tuple[list[Receipt], list[Entry]]:
        """The receipts of all these acts, committed together, and what was written; Refused, JobNotFound or Conflict if not."""
        contents = [self._weighed(one) for one in batch]
        fresh = False
        for _ in range(ATTEMPTS):
            plan, receipts = _Plan(self.records.store.now(), fresh), []
            try:
                for one, content in zip(batch, contents, strict=True):
                    receipts.append(self._judge(plan, one, content))
                self._append(plan)
            except Conflict as moved:
                if fresh and any(one.job == moved.job and one.expect == moved.expected != moved.actual for one in batch):
                    raise
            except JobNotFound:
                if fresh or self._current(plan):
                    self.turned_away[Reason.JOB_NOT_FOUND] += 1
                    raise
            except Refused as refused:
                if fresh or self._current(plan):
                    self._keep(plan, one, refused.refusal)
                    self._keep_late(plan, one, batch, refused.refusal)
                    raise
            else:
                return receipts, self._after(plan)
            fresh = True
        raise restless(batch[0].job)

    def _current(self, plan: _Plan) -> bool:
        """Whether every job that acts were judged on still stands as it was read: then a refusal stands too."""
        if plan.assumed:
            return False
        return all(known is None or self.records.read(job) is known for job, known in plan.begun_on.items())

    def _keep(self, plan: _Plan, one: Submission, refusal: Refusal) -> None:
        """Keep a refusal beside the log, if its job exists and its party may know of it; else only count it."""
        if refusal.reason in _COUNTED or refusal.stage is None or plan.begun_on[one.job] is None:
            self.turned_away[refusal.reason] += 1
            return
        late = refusal.reason is Reason.CLOSED and isinstance(one.act, acts.Deliver)
        kept = KeptRefusal(refusal, self.records.store.now(), one.act.model_dump_json(exclude_none=True))
        self.records.store.keep_refusal(kept, None if late else self.limits.refusals)

    def _keep_late(self, plan: _Plan, one: Submission, batch: Sequence[Submission], refusal: Refusal) -> None:
        """Where a job had ended before a batch came, file the deliveries that the batch would have gone on to."""
        if refusal.reason is Reason.CLOSED and one.job not in plan.entries:
            for late in batch:
                if late is not one and (late.job, late.by) == (one.job, one.by) and type(late.act) is acts.Deliver:
                    self._keep(plan, late, evolve(refusal, act=late.act.act))

    def _weighed(self, one: Submission) -> str:
        """The act as it will be written, if it may come in at all."""
        content = written(one.act)
        if (fault := door.weigh(content, one.act, self.limits) or _misnamed(one)) is not None:
            self.turned_away[fault.reason] += 1
            raise Refused(Refusal(fault.reason, one.act.act, one.job, one.by, None, (), fault.detail, fault.mend))
        return content

    def _judge(self, plan: _Plan, one: Submission, content: str) -> Receipt:
        """The receipt of one act, now planned; or of the entry that it already is."""
        known = plan.known.get(one.job)
        if known is None and type(one.act) is acts.Request and not plan.fresh:
            known = plan.begun_on[one.job] = self.records.remembered(one.job)
            if known is None:
                plan.assumed.add(one.job)
        elif known is None:
            known = plan.begun_on[one.job] = self.records.read(one.job, fresh=plan.fresh)
        if type(one.act) is acts.Request:
            if known is None and plan.fresh and self.records.taken(one.job):
                raise self._gone(one)
            return self._begin(plan, one, one.act, content) if known is None else self._again(plan, known, None, one, content)
        if known is None or one.by not in known.job.parties:
            raise self.records.missing(one.job, one.by) if known is None else JobNotFound(one.job)
        id = one.id or one.act.id
        if id is not None and (id in known.ids or plan.planned(one.job, id)):
            return self._again(plan, known, id, one, content)
        if one.expect is not None and one.expect != known.job.seq:
            raise Conflict(one.job, one.expect, known.job.seq)
        if one.job not in plan.entries:
            known, _ = self.records.settle(known, plan.now)
        if known.job.brief.parent in plan.entries:
            known = self._lapse_at_once(plan, known)
        job, world = known.job, self._world(plan, known, one.act)
        entry = decide(
            job, one.act, id=id or self.mint(), by=one.by, now=plan.now, world=world, limits=self.limits, law=self.records.law(job)
        )
        if isinstance(entry, Refusal):
            raise Refused(entry)
        known, sealed = self._add(plan, known, entry, content)
        self._lapse_at_once(plan, known)
        return sealed.receipt

    def _begin(self, plan: _Plan, one: Submission, act: acts.Request, content: str) -> Receipt:
        """The receipt of a new job, now planned."""
        world = ALONE
        if act.parent is not None or act.supersedes is not None:
            world = self._world_of_request(plan, act, one.by)
        id = one.id or act.id or one.job
        entry = begin(one.job, act, id=id, by=one.by, now=plan.now, world=world, limits=self.limits, law=self.law)
        if isinstance(entry, Refusal):
            raise Refused(entry)
        return self._add(plan, None, entry, content)[1].receipt

    def _gone(self, one: Submission) -> LifecycleError:
        """The answer to a request under the id of a purged job: to those whose it was, what it was; to others, that it is taken."""
        if isinstance(gone := self.records.missing(one.job, one.by), JobGone):
            return gone
        what = f"job id `{one.job}` is another act's"
        return Refused(Refusal(Reason.ACT_ID_REUSED, one.act.act, one.job, one.by, None, (), what, "take a new id"))

    def _again(self, plan: _Plan, known: Known, id: str | None, one: Submission, content: str) -> Receipt:
        """The first receipt of an act that is in the log already; act_id_reused if that was another. A job id is such an id."""
        if id is not None:
            entry = plan.planned(one.job, id)
        else:
            entry = plan.entries[one.job][0] if plan.begun_on[one.job] is None else None
        if entry is None:
            stored = self.records.store.read(one.job, (known.ids[id] if id is not None else 0) - 1)
            entry = stored[1][0] if stored and stored[1] else None
        if entry is None:
            raise JobNotFound(one.job)
        if entry.by == one.by and type(entry.act) is type(one.act) and written(entry.act) == content:
            return entry.receipt
        what = f"act id `{id}`" if id is not None else f"job id `{one.job}`"
        fault = Fault(Reason.ACT_ID_REUSED, f"{what} is another act's", "send that act as it was, or take a new id")
        if one.by in known.job.parties:
            raise Refused(refuse(known.job, one.act, one.by, fault, self.records.law(known.job)))
        raise Refused(Refusal(fault.reason, one.act.act, one.job, one.by, None, (), fault.detail, fault.mend))

    def _add(self, plan: _Plan, known: Known | None, entry: Entry, content: str) -> tuple[Known, Entry]:
        """Plan an entry, and what is known of its job once it is written."""
        name, head = entry.job, known.head if known else None
        sealed = seal(entry, head.hash if head else "", content)
        if name not in plan.entries:
            plan.heads[name], plan.entries[name] = head, []
            if entry.lineage is not None and isinstance(entry.act, acts.Request) and entry.act.parent is not None:
                plan.born.setdefault(entry.act.parent, []).append(name)
        plan.entries[name].append(sealed)
        moved = Head(sealed.seq, sealed.hash, head.children if head else 0, head.renewed_at if head else None)
        plan.known[name] = Known(learn(known.job if known else None, sealed), moved, known.ids if known else {})
        return plan.known[name], sealed

    def _lapse_at_once(self, plan: _Plan, known: Known) -> Known:
        """What this act itself made due (a budget overrun, a completion long past), or one before it, lapses with it."""
        while True:
            ended_at = self._parent_ended(plan, known)
            act = self.records.due(known, plan.now, ended_at)
            if act is None:
                return known
            now = moment(known.job, plan.now, ended_at)
            entry = lapse(known.job, act, id=self.mint(), now=now, law=self.records.law(known.job))
            known, _ = self._add(plan, known, entry, written(act))

    def _parent_ended(self, plan: _Plan, known: Known) -> datetime | None:
        """When the parent ended otherwise than by delivering, if it did, or would by this plan."""
        parent = known.job.brief.parent
        if parent in plan.entries:
            return undelivered_end(plan.known[parent].job)
        ended_at, read = self.records.parent_ended(known.job)
        if read is not None:
            plan.reads.setdefault(read.job.id, read.head)
        return ended_at

    def _world(self, plan: _Plan, known: Known, act: acts.Act) -> World:
        """What the law may know of the job's children; only a delivery asks."""
        name, children = known.job.id, plan.children(known)
        if not children or type(act) is not acts.Deliver:
            return ALONE
        stored = self.records.store.find(Query(stages=OPEN, parent=name, limit=self.limits.breadth))
        rows = [row.job for row in stored] + plan.born.get(name, [])
        return World(
            children=children, children_open=tuple(row for row in rows if row not in plan.known or plan.known[row].job.open)
        )

    def _world_of_request(self, plan: _Plan, act: acts.Request, by: str) -> World:
        """What the law may know of the parent and of the job superseded: nothing that the requester may not."""
        parent = old = None
        if act.parent is not None:
            parent = plan.known.get(act.parent) or self.records.read(act.parent)
            if parent is not None and by in parent.job.parties:
                if act.parent not in plan.entries:
                    parent, _ = self.records.settle(parent, plan.now)
                    plan.reads.setdefault(act.parent, parent.head)
            else:
                parent = None
        if act.supersedes is not None:
            old = plan.known.get(act.supersedes) or self.records.read(act.supersedes)
        children = plan.children(parent) if parent else 0
        return World(parent.job if parent else None, old.job if old else None, children)

    def _append(self, plan: _Plan) -> None:
        """Write what is planned, in one commit."""
        changes = []
        for name, entries in plan.entries.items():
            known = plan.known[name]
            ended_at = self._parent_ended(plan, known)
            changes.append(Change(plan.heads[name], entries, self.records.row(known, ended_at, plan.children(known))))
        if changes:
            self.records.store.append(changes, tuple(plan.reads.items()))

    def _after(self, plan: _Plan) -> list[Entry]:
        """Remember what was written; end the children of what it ended. All that was written, in order."""
        wrote: list[Entry] = []
        for name, entries in plan.entries.items():
            known = plan.known[name]
            for entry in entries:
                known.ids[entry.id] = entry.seq
            if name in plan.born:
                head = known.head
                moved = Head(head.seq, head.hash, plan.children(known), head.renewed_at)
                known = plan.known[name] = Known(known.job, moved, known.ids)
            self.records.remember(known)
            wrote += entries
        for parent in plan.born.keys() - plan.entries.keys():
            self.records.forget(parent)
        for name in plan.entries:
            with suppress(LifecycleError):  # the acts are written, and the ended job stays due until a sweep ends them
                wrote += self.records.end_children(plan.known[name], plan.now)
        return wrote
