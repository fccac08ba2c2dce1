"""The engine: read, decide, append. The one room where the law meets a store.

It holds no rule of the lifecycle, and nothing that the store does not have. `records` is what it remembers, `clerk` commits acts.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TypeVar

from attrs import frozen

from lifecycle.engine.clerk import ID, Clerk, Submission
from lifecycle.engine.records import ATTEMPTS, Known, Records, restless
from lifecycle.law import acts, door
from lifecycle.law.audit import Finding, examine
from lifecycle.law.decide import may, refuse
from lifecycle.law.errors import Conflict, CorruptLog, JobNotFound, KeptRefusal, LifecycleError, Reason, Refusal, Refused
from lifecycle.law.guards.move import Fault
from lifecycle.law.job import Job
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.log import Entry, Head, Query, Receipt, Row, Store, end
from lifecycle.law.states import ENDED, OPEN, RUNNING, Stage, State
from lifecycle.law.table import LAW, LAWS, Law

POLL = 0.05
"""Seconds between looks for what other processes wrote, while somebody watches a store that cannot tell."""

IDLE = 1.0
"""The same, of a store that wakes whoever watches: for the ring that is lost."""

PAGE = 1_000
"""Jobs or entries read at a time."""

_E = TypeVar("_E", bound="Engine")


@frozen
class Notice:
    """An entry, and its place among all entries of the store: come back with `after=position`."""

    position: int
    entry: Entry


class Engine:
    """Jobs in a store, each obeying the law. Safe for threads; several engines, in several processes, may share a store."""

    def __init__(
        self, store: Store, *, limits: Limits = LIMITS, law: Law = LAW, laws: Mapping[int, Law] = LAWS, ids: str = ""
    ) -> None:
        """`law` is what new jobs are made under, `laws` all that are known; `ids` begins every id that is minted here."""
        self.store, self.limits = store, limits
        self._records = Records(store, {**laws, law.version: law})
        self._clerk = Clerk(self._records, limits, law, ids)
        self._news = threading.Condition()
        self._told = 0
        self._poll = 0.0
        self.turned_away: Counter[Reason] = self._clerk.turned_away
        """How many acts were malformed, or named no job that their party may know of: counted, not stored."""

    def __enter__(self: _E) -> _E:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store; twice is once."""
        self.store.close()

    # ---- acts

    def submit(self, job: str, act: acts.Act, *, by: str, id: str | None = None, expect: int | None = None) -> Receipt:
        """Make an act. The receipt is given after the commit; the same id again gives the same receipt again.

        Refused says why not, JobNotFound that this party knows no such job, Conflict that the log is not at `expect` any more.
        """
        return self.submit_all([Submission(job, act, by, id, expect)])[0]

    def submit_all(self, batch: Iterable[Submission | tuple[str, acts.Act, str]]) -> list[Receipt]:
        """Make all these acts in one commit, or none of them; each is judged on what those before it made."""
        one_each = [item if isinstance(item, Submission) else Submission(*item) for item in batch]
        if not one_each:
            return []
        receipts, wrote = self._clerk.commit(one_each)
        if wrote:
            self._announce()
        return receipts

    def submit_json(
        self, job: str, text: str | bytes, *, by: str, answers: Mapping[str, str | None] | None = None, id: str | None = None,
        expect: int | None = None,
    ) -> Receipt:  # fmt: skip
        """Make the act that a JSON text is, as `{"act": "accept", …}`; `answers`: what an act answers, if the text does not say."""
        act = door.read(text, self.limits, answers)
        if isinstance(act, Fault):
            raise self._turned_away(job, by, act)
        return self.submit(job, act, by=by, id=id, expect=expect)

    def renew(self, job: str, *, by: str) -> None:
        """Renew the worker's lease, on the agent's own answer and on nothing else. It leaves no entry."""
        for _ in range(ATTEMPTS):
            known = self._known(job, by)
            now = self.store.now()
            try:
                known, wrote = self._records.settle(known, now)
                if wrote:
                    self._announce()
                now = max(now, known.head.renewed_at or now)
                if fault := _not_renewable(known.job, by):
                    may_now = self._may(known, by)
                    raise Refused(Refusal(fault.reason, "renew", job, by, known.job.stage, may_now, fault.detail, fault.mend))
                ended_at, _ = self._records.parent_ended(known.job)
                head = Head(known.head.seq, known.head.hash, known.head.children, now)
                renewed = Known(known.job, head, known.ids)
                self.store.mark(job, known.head, now, self._records.row(renewed, ended_at).due)
            except Conflict:
                continue
            self._records.remember(renewed)
            return
        raise restless(job)

    def sweep(self, limit: int = PAGE) -> list[Receipt]:
        """Lapse what is due, on at most `limit` jobs, each on a fresh read: the receipts of the lapses.

        A job that fails is left for the next sweep; the first such error is raised once all the others were swept.
        """
        now = self.store.now()
        lapsed: list[Entry] = []
        failed: LifecycleError | None = None
        for row in self.store.find(Query(due_by=now, limit=limit)):  # what was due first comes first: its children end with it
            try:
                lapsed += self._records.sweep(row.job, now)
            except LifecycleError as error:
                failed = failed or error
        if lapsed:
            self._announce()
        if failed is not None:
            raise failed
        return [entry.receipt for entry in lapsed]

    def reindex(self) -> None:
        """Make all that the store lists of its jobs anew from their logs. Renewals are lost: each lease is given one of grace."""
        self.store.reindex(self._records.listed)

    # ---- reads

    @property
    def laws(self) -> Mapping[int, Law]:
        """Every law that is known here, by its version."""
        return self._records.laws

    def forget(self, job: str) -> None:
        """Remember a job no longer: it was taken away."""
        self._records.forget(job)

    def law(self, job: Job) -> Law:
        """The law that a job was begun under, and stays on."""
        return self._records.law(job)

    def job(self, job: str, *, by: str | None = None) -> Job:
        """The job as its log tells it now. With `by`, only if that party may know of it."""
        return self._known(job, by).job

    def log(self, job: str, *, by: str | None = None, after: int = -1) -> Sequence[Entry]:
        """The job's entries after a seq, oldest first."""
        self._known(job, by)
        found = self.store.read(job, after)
        return found[1] if found else ()

    def refusals(self, job: str, *, by: str | None = None) -> Sequence[KeptRefusal]:
        """What was refused on this job and kept, oldest first; late deliveries are here, whole."""
        self._known(job, by)
        return self.store.refusals(job)

    def may(self, job: str, *, by: str) -> tuple[str, ...]:
        """The acts that a party may take now."""
        return self._may(self._known(job, by), by)

    def find(
        self,
        *,
        state: State | str | None = None,
        stage: Stage | str | None = None,
        open: bool | None = None,
        requester: str | None = None,
        worker: str | None = None,
        parent: str | None = None,
        after: str = "",
        limit: int = PAGE,
    ) -> Sequence[Row]:
        """Jobs by what they are and whose they are, oldest first; the next page comes `after` the last id of this one."""
        stages = {s for s in Stage if (state is None or s.state == State(state)) and (stage is None or s == Stage(stage))}
        if open is not None:
            stages &= OPEN if open else ENDED
        wanted = frozenset(stages) if len(stages) < len(Stage) else None
        return self.store.find(Query(wanted, requester, worker, parent, None, after, limit))

    def watch(self, after: int = 0, *, wait: float | None = 0.0) -> Iterator[Notice]:
        """Every entry after a position, once, each job's in order; ends when nothing new comes within `wait` seconds.

        `wait=None` waits for ever. Come back with the last position: nothing is missed and nothing told twice.
        """
        while True:
            told, poll = self._told, self._pace()
            seen = self.store.feed(after, PAGE)
            for position, entry in seen:
                after = position
                yield Notice(position, entry)
            if not seen and not self._await_news(after, wait, told, poll):
                return

    def position(self) -> int:
        """Where the store's entries end now: `watch(after=position())` tells only what is new."""
        return end(self.store)

    def audit(self, job: str | None = None, *, receipts: Iterable[Receipt] = ()) -> list[Finding]:
        """Hold one log, or all, against hashes, law and receipts: the first bad entry of each bad job; empty if all is well."""
        held: dict[str, list[Receipt]] = {}
        for receipt in receipts:
            held.setdefault(receipt.job, []).append(receipt)
        found = [self._examined(name, held.pop(name, [])) for name in ([job] if job is not None else self._all_jobs())]
        if job is None:
            found += [self._examined(name, kept) for name, kept in held.items()]
        return [finding for finding in found if finding is not None]

    # ---- parts

    def _known(self, job: str, by: str | None) -> Known:
        known = self._known_to(job, by)
        if known is None:
            self.turned_away[Reason.JOB_NOT_FOUND] += 1
            raise self._records.missing(job, by) if ID.fullmatch(job) else JobNotFound(job)
        return known

    def _known_to(self, job: str, by: str | None) -> Known | None:
        """The job, if it is there and the party may know of it. What is no id names no job, and is not asked of any store."""
        known = self._records.read(job) if ID.fullmatch(job) else None
        return known if known is not None and (by is None or by in known.job.parties) else None

    def _may(self, known: Known, by: str) -> tuple[str, ...]:
        return may(known.job, by, self._records.law(known.job))

    def _turned_away(self, job: str, by: str, fault: Fault) -> LifecycleError:
        """The answer to a text that is no act."""
        known = self._known_to(job, by)
        if fault.reason is not Reason.UNKNOWN_ACT or known is None:
            self.turned_away[fault.reason] += 1
            return Refused(Refusal(fault.reason, "", job, by, None, (), fault.detail, fault.mend))
        refusal = refuse(known.job, acts.Act(act=""), by, fault, self._records.law(known.job))
        self.store.keep_refusal(KeptRefusal(refusal, self.store.now(), ""), self.limits.refusals)
        return Refused(refusal)

    def _examined(self, job: str, receipts: Sequence[Receipt]) -> Finding | None:
        try:
            found = self.store.read(job)
        except CorruptLog as error:
            return Finding(job, error.seq, error.what)
        head, entries = found or (None, ())
        return examine(job, head, entries, self._records.laws, receipts)

    def _all_jobs(self) -> Iterator[str]:
        rows = self.store.find(Query(limit=PAGE))
        while rows:
            yield from (row.job for row in rows)
            rows = self.store.find(Query(after=rows[-1].job, limit=PAGE))

    def _announce(self) -> None:
        with self._news:
            self._told += 1
            self._news.notify_all()

    def _await_news(self, after: int, wait: float | None, told: int, poll: float) -> bool:
        """Wait until there are entries after a position, at most `wait` seconds; say whether there are. `told`: the news known."""
        until = None if wait is None else time.monotonic() + wait
        while until is None or time.monotonic() < until:
            with self._news:
                if self._told == told:
                    self._news.wait(poll if until is None else min(poll, max(0.0, until - time.monotonic())))
                told = self._told
            if self.store.feed(after, 1):
                return True
        return False

    def _pace(self) -> float:
        """Seconds between looks for what other processes wrote; asked first by whoever watches."""
        with self._news:
            if not self._poll:
                self._poll = IDLE if self.store.listen(self._announce) else POLL
        return self._poll


def _not_renewable(job: Job, by: str) -> Fault | None:
    """Why a lease cannot be renewed: only its worker renews it, and only while it runs."""
    if job.ended:
        return Fault(Reason.CLOSED, f"it ended as {job.termination}", "stop the work")
    if by != job.parties.worker:
        return Fault(Reason.NOT_AUTHORISED, "a lease is renewed by the worker alone", "let the agent answer for itself")
    if job.stage not in RUNNING:
        return Fault(Reason.ILLEGAL, f"no lease runs in `{job.stage}`", "go on once it is the worker's turn")
    return None
