"""How acts are committed: judged on what is known, appended if nothing moved meanwhile, else judged again.

A decision to append is guarded by the heads it was made on; a decision to refuse is made on a fresh read. Whatever is due lapses
before an act is judged. Acts of one batch are committed together or not at all; each is judged on what those before it made.
"""

import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from attrs import Factory, define, frozen

from lifecycle.engine.records import ATTEMPTS, Known, Records, restless
from lifecycle.law import acts, door
from lifecycle.law.decide import ALONE, begin, decide, lapse, refuse
from lifecycle.law.errors import Conflict, CorruptLog, JobNotFound, Reason, Refusal, Refused, StoreError
from lifecycle.law.fold import learn
from lifecycle.law.guards.move import Fault, World
from lifecycle.law.limits import ID_CHARS, Limits
from lifecycle.law.log import Change, Entry, Head, Query, Receipt, seal, written
from lifecycle.law.states import OPEN
from lifecycle.law.table import Law

_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{ID_CHARS}}}")


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
    known: dict[str, Known] = Factory(dict)
    heads: dict[str, Head | None] = Factory(dict)
    entries: dict[str, list[Entry]] = Factory(dict)
    reads: dict[str, Head] = Factory(dict)

    def planned(self, job: str, id: str) -> Entry | None:
        """The entry with this act id, if this plan would write it."""
        return next((entry for entry in self.entries.get(job, ()) if entry.id == id), None)


class Clerk:
    """Commits acts to the jobs of one store."""

    def __init__(self, records: Records, limits: Limits, law: Law, prefix: str = "") -> None:
        """`law` is what new jobs are made under; `prefix` begins every id that is minted."""
        self.records, self.limits, self.law, self.prefix = records, limits, law, prefix

    def mint(self) -> str:
        """A new id."""
        return self.prefix + secrets.token_hex(12)

    def commit(self, batch: Sequence[Submission]) -> tuple[list[Receipt], list[Entry]]:
        """The receipts of all these acts, committed together, and what was written; Refused, JobNotFound or Conflict if not."""
        contents = [self._weighed(one) for one in batch]
        fresh = False
        for _ in range(ATTEMPTS):
            plan = _Plan(self.records.store.now(), fresh)
            try:
                receipts = [self._judge(plan, one, content) for one, content in zip(batch, contents, strict=True)]
                self._append(plan)
            except Conflict:
                if fresh and any(one.expect is not None for one in batch):
                    raise
                fresh = True
            except (Refused, JobNotFound):
                if fresh:
                    raise
                fresh = True
            else:
                return receipts, self._after(plan)
        raise restless(batch[0].job)

    def _weighed(self, one: Submission) -> str:
        """The act as it will be written, if it may come in at all."""
        fault: Fault | None = None
        content = written(one.act)
        for what, id in (("job id", one.job), ("party", one.by), ("act id", one.id or one.act.id or "-")):
            if not _ID.fullmatch(id):
                fault = Fault(Reason.MALFORMED, f"{what} `{door.shown(id)}` is no id", "use 1 to 128 letters, digits, _ and -")
        if isinstance(one.act, acts.Request) and one.by == "clock":
            fault = Fault(Reason.MALFORMED, "`clock` is the engine itself", "give the requester another name")
        fault = door.weigh(content, one.act, self.limits) or fault
        if fault is not None:
            raise Refused(Refusal(fault.reason, one.act.act, one.job, one.by, None, (), fault.detail, fault.mend))
        return content

    def _judge(self, plan: _Plan, one: Submission, content: str) -> Receipt:
        """The receipt of one act, now planned; or of the entry that it already is."""
        known = plan.known.get(one.job) or self.records.read(one.job, fresh=plan.fresh)
        if isinstance(one.act, acts.Request):
            return self._begin(plan, one, one.act, content) if known is None else self._again(plan, known, None, one, content)
        if known is None or one.by not in known.job.parties:
            raise JobNotFound(one.job)
        id = one.id or one.act.id
        if id is not None and (id in known.ids or plan.planned(one.job, id)):
            return self._again(plan, known, id, one, content)
        if one.expect is not None and one.expect != known.job.seq:
            raise Conflict(one.job, one.expect, known.job.seq)
        if one.job not in plan.entries:
            known, _ = self.records.settle(known, plan.now)
        job = known.job
        entry = decide(
            job, one.act, id=id or self.mint(), by=one.by, now=plan.now, world=self._world(known, one.act), limits=self.limits,
            law=self.records.law(job),
        )  # fmt: skip
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

    def _again(self, plan: _Plan, known: Known, id: str | None, one: Submission, content: str) -> Receipt:
        """The first receipt of an act that is in the log already; act_id_reused if that was another. A job id is such an id."""
        planned = plan.planned(one.job, id or plan.entries[one.job][0].id) if one.job in plan.entries else None
        stored = None if planned else self.records.store.read(one.job, (known.ids[id] if id is not None else 0) - 1)
        entry = planned or (stored[1][0] if stored else None)
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
        plan.entries[name].append(sealed)
        moved = Head(sealed.seq, sealed.hash, head.children if head else 0, head.renewed_at if head else None)
        plan.known[name] = Known(learn(known.job if known else None, sealed), moved, known.ids if known else {})
        return plan.known[name], sealed

    def _lapse_at_once(self, plan: _Plan, known: Known) -> None:
        """What this act itself made due (a budget overrun, a completion long past) lapses with it."""
        while True:
            ended_at, parent = self.records.parent_ended(known.job)
            if parent is not None and parent.job.id not in plan.entries:
                plan.reads[parent.job.id] = parent.head
            act = self.records.due(known, plan.now, ended_at)
            if act is None:
                return
            entry = lapse(known.job, act, id=self.mint(), now=plan.now, law=self.records.law(known.job))
            known, _ = self._add(plan, known, entry, written(act))

    def _world(self, known: Known, act: acts.Act) -> World:
        """What the law may know of the job's children; only a delivery asks."""
        if not known.head.children or not isinstance(act, acts.Deliver):
            return ALONE
        rows = self.records.store.find(Query(stages=OPEN, parent=known.job.id, limit=self.limits.breadth))
        return World(children=known.head.children, children_open=tuple(row.job for row in rows))

    def _world_of_request(self, plan: _Plan, act: acts.Request, by: str) -> World:
        """What the law may know of the parent and of the job superseded: nothing that the requester may not."""
        parent = old = None
        if act.parent is not None:
            parent = plan.known.get(act.parent) or self.records.read(act.parent)
            if parent is not None and by in parent.job.parties:
                if act.parent not in plan.entries:
                    parent, _ = self.records.settle(parent, plan.now)
                    plan.reads[act.parent] = parent.head
            else:
                parent = None
        if act.supersedes is not None:
            old = plan.known.get(act.supersedes) or self.records.read(act.supersedes)
        children = parent.head.children if parent else 0
        return World(parent.job if parent else None, old.job if old else None, children)

    def _append(self, plan: _Plan) -> None:
        """Write what is planned, in one commit."""
        changes = []
        for name, entries in plan.entries.items():
            known = plan.known[name]
            ended_at, _ = self.records.parent_ended(known.job)
            row = self.records.row(known.job, known.head.renewed_at, ended_at, known.head.children)
            changes.append(Change(plan.heads[name], entries, row))
        if changes:
            self.records.store.append(changes, tuple(plan.reads.items()))

    def _after(self, plan: _Plan) -> list[Entry]:
        """Remember what was written; end the children of what it ended. All that was written, in order."""
        wrote: list[Entry] = []
        for name, entries in plan.entries.items():
            known = plan.known[name]
            known.ids.update((entry.id, entry.seq) for entry in entries)
            self.records.remember(known)
            if known.job.brief.parent is not None and plan.heads[name] is None:
                self.records.forget(known.job.brief.parent)
            wrote += entries
        for name in plan.entries:
            with suppress(StoreError, CorruptLog):  # the acts are written, and the ended job stays due until a sweep ends them
                wrote += self.records.end_children(plan.known[name], plan.now)
        return wrote
