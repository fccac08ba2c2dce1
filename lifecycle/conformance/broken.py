"""Machines that are broken, each in one way: what shows that the fuzz kit finds what it is meant to find.

    lifecycle fuzz lifecycle.conformance.broken:end_can_be_left

Each is the law in memory with one thing done wrong, or another table, and says what. None may be used for anything else.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from attrs import evolve

from lifecycle.conformance.fuzz.reference import Reference
from lifecycle.conformance.fuzz.sayings import LIMITS
from lifecycle.conformance.fuzz.subject import Answer
from lifecycle.law.acts import Act, Cancel, Halt, Lapse
from lifecycle.law.deadlines import due
from lifecycle.law.decide import answerable, lapse
from lifecycle.law.errors import Refusal
from lifecycle.law.job import Job
from lifecycle.law.log import Entry
from lifecycle.law.states import FINAL, Ending, Role, Stage, Status
from lifecycle.law.table import LAW, TABLE, Rows, enact

# Another table


def end_can_be_left() -> Reference:
    """A declined job can be accepted after all."""
    back = Rows("accept", Role.WORKER, (Stage.DECLINED,), Stage.READY)
    return Reference(enact(1, (*TABLE, back), FINAL - {Stage.DECLINED}), LIMITS)


def missing_edge() -> Reference:
    """A blocked worker cannot fail."""
    less = [evolve(row, origins=tuple(o for o in row.origins if (row.act, o) != ("fail", Stage.BLOCKED))) for row in TABLE]
    return Reference(enact(1, less), LIMITS)


def edge_too_many() -> Reference:
    """A blocked worker reports progress, and so lifts its own block."""
    return Reference(enact(1, (*TABLE, Rows("progress", Role.WORKER, (Stage.BLOCKED,), Stage.WORKING))), LIMITS)


def guard_not_asked() -> Reference:
    """Progress need not point at anything."""
    ways = {
        stage: {
            act: evolve(way, demands=tuple(demand for demand in way.demands if demand.__name__ != "points_somewhere"))
            for act, way in there.items()
        }
        for stage, there in LAW.ways.items()
    }
    return Reference(evolve(LAW, ways=ways), LIMITS)


# Acts that are judged wrongly


def wrong_party_let_through() -> Reference:
    """Whoever sits at the table may cancel."""

    class Broken(Reference):
        def judge(self, job: Job | None, name: str, act: Act, by: str, id: str) -> Entry | Refusal:
            anyone = job is not None and isinstance(act, Cancel)
            made = super().judge(job, name, act, job.parties.requester if job is not None and anyone else by, id)
            return evolve(made, by=by) if isinstance(made, Entry) else made

    return Broken(LAW, LIMITS)


def stale_offer_accepted() -> Reference:
    """An answer counts for whatever stands, whatever it was meant for."""

    class Broken(Reference):
        def judge(self, job: Job | None, name: str, act: Act, by: str, id: str) -> Entry | Refusal:
            if job is None or act.answered is None:
                return super().judge(job, name, act, by, id)
            made = super().judge(job, name, act.model_copy(update={"answers": answerable(job, act.act)}), by, id)
            return evolve(made, act=act) if isinstance(made, Entry) else made

    return Broken(LAW, LIMITS)


def lapse_from_outside() -> Reference:
    """Whoever says that a deadline has lapsed is believed."""

    class Broken(Reference):
        def judge(self, job: Job | None, name: str, act: Act, by: str, id: str) -> Entry | Refusal:
            if job is not None and isinstance(act, Lapse) and self.law.choose(job, act):
                return lapse(job, act, id=id, now=self.disk.now, law=self.law)
            return super().judge(job, name, act, by, id)

    return Broken(LAW, LIMITS)


def stranger_told() -> Reference:
    """A stranger is told that there is such a job, but not for them."""

    class Broken(Reference):
        def entitled(self, job: Job | None, act: Act, by: str) -> bool:
            return job is not None or super().entitled(job, act, by)

    return Broken(LAW, LIMITS)


def act_id_reused() -> Reference:
    """An act id that is known answers for whatever comes under it."""

    class Broken(Reference):
        def same(self, entry: Entry, act: Act, by: str) -> bool:
            return True

    return Broken(LAW, LIMITS)


# What is learnt, told and timed wrongly


def termination_rewritten() -> Reference:
    """A worker that stops when told to is put down as having withdrawn."""

    class Broken(Reference):
        def learn(self, job: Job | None, entry: Entry) -> Job:
            job = super().learn(job, entry)
            if isinstance(entry.act, Halt) and job.termination is not None:
                return evolve(job, termination=evolve(job.termination, reason=Ending.WITHDRAWN))
            return job

    return Broken(LAW, LIMITS)


def passed_without_verdict() -> Reference:
    """A delivery on which nobody was asked for a verdict has passed."""

    class Broken(Reference):
        def learn(self, job: Job | None, entry: Entry) -> Job:
            job = super().learn(job, entry)
            if job.stage is Stage.UNVERIFIED and job.termination is not None:
                return evolve(job, termination=evolve(job.termination, status=Status.PASSED))
            return job

    return Broken(LAW, LIMITS)


def spending_decreases() -> Reference:
    """An act that tells no spending sets it back, but for a lapse."""

    class Broken(Reference):
        def learn(self, job: Job | None, entry: Entry) -> Job:
            job = super().learn(job, entry)
            return job if isinstance(entry.act, Lapse) or getattr(entry.act, "spent", None) else evolve(job, spent=None)

    return Broken(LAW, LIMITS)


def pause_without_name() -> Reference:
    """A countered job waits, and does not say for whom."""

    class Broken(Reference):
        def facts(self, job: str) -> Mapping[str, object]:
            told = super().facts(job)
            return {**told, "waits_for": None} if self.stage(job) == Stage.COUNTERED else told

    return Broken(LAW, LIMITS)


def refusal_that_changes() -> Reference:
    """A refused act of the worker counts as a sign of life."""

    class Broken(Reference):
        def turn_away(self, job: Job, act: Act, reason: str) -> Answer:
            last, _ = self._jobs[job.id]
            self._jobs[job.id] = last, evolve(job, heard_at=self.disk.now + timedelta(seconds=1))
            return reason

    return Broken(LAW, LIMITS)


def deadline_too_early() -> Reference:
    """What is due within the second lapses now."""

    class Broken(Reference):
        def due(self, job: Job) -> Lapse | None:
            return due(job, self.disk.now + timedelta(seconds=1), None, self.parent_ended(job))

    return Broken(LAW, LIMITS)


def deadline_fires_twice() -> Reference:
    """A lapse is written twice."""

    class Broken(Reference):
        def write(self, name: str, seen: int, entries: Sequence[Entry]) -> None:
            again = [evolve(one, seq=one.seq + 1, origin=one.stage) for one in entries[-1:] if isinstance(one.act, Lapse)]
            super().write(name, seen, (*entries, *again))

    return Broken(LAW, LIMITS)


def child_left_open() -> Reference:
    """A job ends, and what was delegated from it goes on."""

    class Broken(Reference):
        def parent_ended(self, job: Job) -> None:
            return None

    return Broken(LAW, LIMITS)


# What is written wrongly


def lost_update() -> Reference:
    """A write does not look whether somebody wrote since it read."""

    class Broken(Reference):
        def write(self, name: str, seen: int, entries: Sequence[Entry]) -> None:
            self._turn("write")
            self.disk.logs[name] = (*self.disk.logs.get(name, ())[:seen], *entries)
            self._turn("written")

    return Broken(LAW, LIMITS)


def half_written() -> Reference:
    """What an act makes due is written after it, in a write of its own."""

    class Broken(Reference):
        def write(self, name: str, seen: int, entries: Sequence[Entry]) -> None:
            for place, entry in enumerate(entries):
                super().write(name, seen + place, [entry])

    return Broken(LAW, LIMITS)


def receipt_before_commit() -> Reference:
    """The last write is acknowledged before it is kept: a crash takes it back."""

    class Broken(Reference):
        def reset(self) -> None:
            super().reset()
            self._before: dict[str, tuple[Entry, ...]] = {}

        def write(self, name: str, seen: int, entries: Sequence[Entry]) -> None:
            before = dict(self.disk.logs)
            super().write(name, seen, entries)
            self._before.clear()
            self._before.update(before, **{name: before.get(name, ())})

        def restart(self) -> None:
            super().restart()
            self.disk.logs.update(self._before)
            self._before.clear()

    return Broken(LAW, LIMITS)


def act_id_forgotten() -> Reference:
    """Which acts were made before a restart is not known after it."""

    class Broken(Reference):
        def reset(self) -> None:
            super().reset()
            self._old: dict[str, int] = {}

        def before(self, log: Sequence[Entry], act: Act, id: str) -> Entry | None:
            return super().before(log[self._old.get(log[0].job, 0) :] if log else log, act, id)

        def restart(self) -> None:
            super().restart()
            self._old.update({name: len(log) for name, log in self.disk.logs.items()})

    return Broken(LAW, LIMITS)
