"""The law in memory: what every subject is held against, and what the broken ones are broken from.

It asks the pure law and keeps what comes of it: no engine, no store, no cache that could be stale. One method for each thing that
an implementation must do, so that a fault is planted by replacing one. What is written is on `disk`, which outlives a restart.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from attrs import define, field

from lifecycle.conformance.fuzz.subject import NOON, Answer, Turn, told
from lifecycle.law.acts import Act, Lapse, Request
from lifecycle.law.deadlines import deadline, due
from lifecycle.law.decide import begin, decide, lapse
from lifecycle.law.errors import Reason, Refusal
from lifecycle.law.fold import learn
from lifecycle.law.guards.move import World
from lifecycle.law.job import Job
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.log import Entry, written
from lifecycle.law.states import OPEN, State
from lifecycle.law.table import LAW, Law


class Moved(Exception):
    """Somebody else wrote to the job since it was read."""


@define
class Disk:
    """What outlives a restart: the entries of each job. And the clock, which is the world's and not the process's."""

    logs: dict[str, tuple[Entry, ...]] = field(factory=dict)
    now: datetime = NOON


def _no_turn(step: str) -> None:
    """Nobody comes between."""


class Reference:
    """The machine as the law has it, behind the port that every implementation is driven through."""

    def __init__(self, law: Law = LAW, limits: Limits = LIMITS) -> None:
        self.law, self.limits = law, limits
        self.disk = Disk()
        self.refused: Refusal | None = None
        """The last refusal, whole: it names the demand that was not met."""
        self._jobs: dict[str, tuple[Entry, Job]] = {}
        """Each job as last learnt, and the entry up to which."""
        self._turn: Turn = _no_turn

    # ---- the port

    def reset(self) -> None:
        """Begin anew."""
        self.disk = Disk()
        self._jobs, self.refused = {}, None

    def submit(self, job: str, act: Act, *, by: str, id: str) -> Answer:
        """Make an act."""
        self.refused = None
        while True:
            try:
                return self._try(job, act, by, id)
            except Moved:
                continue

    def stage(self, job: str) -> str | None:
        """The stage that the job is in."""
        found = self.job(job)
        return found.stage.value if found else None

    def facts(self, job: str) -> Mapping[str, object]:
        """All that is known of a job."""
        found = self.job(job)
        return told(found, self.disk.logs[job]) if found else {}

    def restart(self) -> None:
        """Forget what is not on disk, and read it again."""
        self._jobs = {}

    def advance(self, delta: timedelta) -> None:
        """Let time pass, and everything lapse that is due."""
        self.disk.now += delta
        for name in list(self.disk.logs):
            self.swept(name)

    def clients(self, turns: Sequence[Turn]) -> Sequence["Reference"]:
        """Callers with a memory of their own, on one disk."""
        return [self._sharing(turn) for turn in turns]

    # ---- what an implementation must do, one method each

    def read(self, name: str) -> tuple[Entry, ...]:
        """The log as it is on disk."""
        self._turn("read")
        return self.disk.logs.get(name, ())

    def write(self, name: str, seen: int, entries: Sequence[Entry]) -> None:
        """Append to a log that has not moved on since `seen` entries were read, all or nothing; Moved if it has."""
        self._turn("write")
        log = self.disk.logs.get(name, ())
        if len(log) != seen:
            raise Moved
        self.disk.logs[name] = (*log, *entries)
        self._turn("written")

    def entitled(self, job: Job | None, act: Act, by: str) -> bool:
        """Whether this party may know of the job."""
        return isinstance(act, Request) if job is None else isinstance(act, Request) or by in job.parties

    def before(self, log: Sequence[Entry], act: Act, id: str) -> Entry | None:
        """The entry that this act may be once more: of its id, or the request that made the job."""
        return log[0] if log and isinstance(act, Request) else next((entry for entry in log if entry.id == id), None)

    def same(self, entry: Entry, act: Act, by: str) -> bool:
        """Whether the entry is this very act."""
        return entry.by == by and type(entry.act) is type(act) and written(entry.act) == written(act)

    def judge(self, job: Job | None, name: str, act: Act, by: str, id: str) -> Entry | Refusal:
        """The law's own answer."""
        if job is None:
            assert isinstance(act, Request)
            return begin(name, act, id=id, by=by, now=self.disk.now, world=self._above(act, by), limits=self.limits, law=self.law)
        world = World(children=len(self.children(name)), children_open=self.open_children(name))
        return decide(job, act, id=id, by=by, now=self.disk.now, world=world, limits=self.limits, law=self.law)

    def learn(self, job: Job | None, entry: Entry) -> Job:
        """The job with one more entry."""
        return learn(job, entry)

    def due(self, job: Job) -> Lapse | None:
        """What is due on a job now."""
        return due(job, self.disk.now, None, self.parent_ended(job))

    def turn_away(self, job: Job, act: Act, reason: str) -> Answer:
        """Answer an act that is refused, changing nothing."""
        return reason

    def ended(self, job: Job) -> None:
        """End the children of a job that ended otherwise than by delivering."""
        if undelivered_end(job) is not None:
            for child in self.children(job.id):
                self.swept(child)

    # ---- how that hangs together

    def job(self, name: str) -> Job | None:
        """The job as its log tells it, each entry learnt once."""
        log = self.disk.logs.get(name)
        return self._told(log) if log else None

    def falls_due(self, name: str) -> datetime | None:
        """When the job's next deadline is, if it has one."""
        job = self.job(name)
        first = deadline(job, None, self.parent_ended(job)) if job else None
        return first[0] if first else None

    def children(self, name: str) -> list[str]:
        """The jobs delegated from this one."""
        return [child for child, log in self.disk.logs.items() if isinstance(log[0].act, Request) and log[0].act.parent == name]

    def open_children(self, name: str) -> tuple[str, ...]:
        """Those of them that have not ended."""
        return tuple(child for child in self.children(name) if self.stage(child) in OPEN)

    def parent_ended(self, job: Job) -> datetime | None:
        """When the parent ended otherwise than by delivering, if it did."""
        parent = self.job(job.brief.parent) if job.brief.parent else None
        return undelivered_end(parent) if parent else None

    def swept(self, name: str) -> None:
        """Lapse whatever is due on a job, each by itself, and what hangs on it."""
        while True:
            log = self.read(name)
            job = self._told(log)
            act = self.due(job)
            if act is None:
                return
            try:
                self._commit(name, len(log), [self._lapse(job, act)])
            except Moved:
                continue

    def _try(self, name: str, act: Act, by: str, id: str) -> Answer:
        log = self.read(name)
        job = self._told(log) if log else None
        if not self.entitled(job, act, by):
            return Reason.JOB_NOT_FOUND
        if (entry := self.before(log, act, id)) is not None:
            return None if self.same(entry, act, by) else Reason.ACT_ID_REUSED
        if job is not None and self.due(job) is not None:
            self.swept(name)
            raise Moved  # it is not the job that was read any more
        entry_or_not = self.judge(job, name, act, by, id)
        if isinstance(entry_or_not, Refusal):
            self.refused = entry_or_not
            return self.turn_away(job, act, entry_or_not.reason) if job else entry_or_not.reason
        entries = [entry_or_not]
        job = self.learn(job, entries[0])
        while (lapsed := self.due(job)) is not None:  # what the act itself made due goes with it
            entries.append(self._lapse(job, lapsed))
            job = self.learn(job, entries[-1])
        self._commit(name, len(log), entries)
        return None

    def _lapse(self, job: Job, act: Lapse) -> Entry:
        ended = self.parent_ended(job) or job.at
        return lapse(job, act, id=f"lapse-{job.seq + 1}", now=max(self.disk.now, ended), law=self.law)

    def _commit(self, name: str, seen: int, entries: Sequence[Entry]) -> None:
        job = self._jobs[name][1] if seen else None
        self.write(name, seen, entries)
        for entry in entries:
            job = self.learn(job, entry)
        assert job is not None
        self._jobs[name] = entries[-1], job
        self.ended(job)

    def _told(self, log: Sequence[Entry]) -> Job:
        last, job = self._jobs.get(log[0].job, (None, None))
        if last is not log[-1] or job is None:
            job = None
            for entry in log:
                job = self.learn(job, entry)
            assert job is not None
            self._jobs[log[0].job] = log[-1], job
        return job

    def _above(self, act: Request, by: str) -> World:
        parent = self.job(act.parent) if act.parent else None
        if parent is not None and by not in parent.parties:
            parent = None
        old = self.job(act.supersedes) if act.supersedes else None
        return World(parent, old, len(self.children(parent.id)) if parent else 0)

    def copy(self) -> "Reference":
        """The same machine with the same jobs on a disk of its own, to go on with in another way."""
        other = self._sharing(_no_turn)
        other.disk = Disk(dict(self.disk.logs), self.disk.now)
        other._jobs = dict(self._jobs)
        return other

    def _sharing(self, turn: Turn) -> "Reference":
        """Another process on the same disk."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._jobs, other._turn, other.refused = {}, turn, None
        return other


def undelivered_end(job: Job) -> datetime | None:
    """When the job ended otherwise than by delivering, if it did."""
    return job.termination.at if job.termination is not None and job.state is not State.RESULT else None
