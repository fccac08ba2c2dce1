"""Any story of turns, words, restarts, faults, time and endings: what must hold at every step of it.

A machine plays at random; the world is counted by the executors themselves, and what was approved is read from the log alone.
"""

import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pydantic import JsonValue

from lifecycle import LifecycleError, acts
from lifecycle.law.terms import Intervals
from lifecycle.toolhost import Call, NotStarted, Operation, Registry, Result
from tests.engine.stories import DAY, MINUTE, Clock

from .stage import Effects, House, contract, working

JOBS = ("a", "b")
jobs = st.sampled_from(JOBS)
KINDS = ("gate", "keyed", "traced", "write", "look")
MOODS = ("lost", "well", "lost before", "not started")


PATIENT = Intervals(lease=20 * DAY, stall=20 * DAY)
"""So that time lets sets lapse, and seldom jobs."""


class Hosts(RuleBasedStateMachine):
    """Two jobs, one host at a time; executors that are well, do not start, or get lost before or after their effect."""

    @initialize(file=st.booleans())
    def begins(self, file: bool) -> None:
        """A store in memory, or on a file that survives restarts."""
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name)
        self.house = House(f"sqlite:///{path}/jobs.db" if file else "memory:", Clock(), Effects(path / "effects"))
        self.mood, self.count = "well", 0
        self.ended: dict[tuple[str, str, str], Result] = {}
        self.sets: list[tuple[str, str]] = []
        for job in JOBS:
            working(self.house.jobs, job, intervals=PATIENT)
        self.host = self.house.host(self.tools())

    def tools(self) -> Registry:
        """One tool of each kind; each effect is told with the operation, the call and the tool."""
        registry = Registry()

        def execute(arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
            if self.mood == "not started":
                raise NotStarted("not now")
            if self.mood == "lost before":
                raise ConnectionError("lost")
            line = f"{operation.job} {operation.call} {operation.id} {arguments['text']}"
            if arguments["text"] != "keyed" or line not in self.house.effects.all:
                self.house.effects.add(line)
            if self.mood == "lost":
                raise ConnectionError("lost")
            return {"done": operation.id}

        def found(id: str) -> JsonValue:
            return {"found": id} if any(id in line for line in self.house.effects.all) else None

        registry.register(contract("gate"), execute)
        registry.register(contract("keyed", idempotency_key=True), execute)
        registry.register(contract("traced"), execute, reconcile=found)
        registry.register(contract("write", approval="none"), execute)
        registry.register(contract("look", effect="read", approval="none"), execute)
        return registry

    @rule(job=jobs, kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    def proposes(self, job: str, kinds: list[str]) -> None:
        """A turn, or a refusal if the job is not at work."""
        self.count += 1
        calls = [Call(f"c{self.count}-{n}", kind, {"text": kind}) for n, kind in enumerate(kinds)]
        with suppress(LifecycleError):
            self.sets.append((job, self.host.turn(job, calls).set))

    @rule(job=jobs, word=st.sampled_from(["approved", "approved", "denied", "perhaps"]), by=st.sampled_from(["app", "app", "wes"]))
    def decides(self, job: str, word: str, by: str) -> None:
        """The same word on every gated call of what is pending; through the host, which runs it."""
        for pending in self.host.pending(job):
            bundle = pending.bundle({one.id: word for one in pending.calls if one.gated})  # type: ignore[misc]
            with suppress(LifecycleError):
                self.host.decide(job, pending.set, bundle, by=by)

    @rule(
        job=jobs, kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3), mood=st.sampled_from(MOODS),
        words=st.sampled_from(["approved", "approved", "approved", "denied"]), restart=st.booleans(),
    )  # fmt: skip
    def goes_through(self, job: str, kinds: list[str], mood: str, words: str, restart: bool) -> None:
        """A whole turn while executors fare in one way, and a look after it once they fare in another."""
        self.proposes(job, kinds)
        was, self.mood = self.mood, mood
        self.decides(job, words, "app")
        self.mood = was
        if restart:
            self.restarts()
        self.settles(job)

    @rule(job=jobs)
    def decides_past_the_host(self, job: str) -> None:
        """Approved from the approver's own seat; nothing is run until somebody settles."""
        for pending in self.host.pending(job):
            word = pending.bundle({one.id: "approved" for one in pending.calls if one.gated})
            self.house.jobs.seat(job, "app").decide(word)

    @rule(mood=st.sampled_from(MOODS))
    def executors_are(self, mood: str) -> None:
        """How executors fare from now on."""
        self.mood = mood

    @rule(job=jobs)
    def settles(self, job: str) -> None:
        """All that may be run is run."""
        self.host.settle(job)

    @rule()
    def restarts(self) -> None:
        """Nothing is left but what the store and the world keep."""
        self.host = self.house.restart(self.tools())

    @rule(minutes=st.sampled_from([1, 20, 60 * 24]))
    def time_goes_by(self, minutes: int) -> None:
        """What is due lapses: sets, and jobs."""
        self.house.clock.ticks(minutes * MINUTE)
        self.house.jobs.sweep()

    @precondition(lambda self: self.count > 6)
    @rule(job=jobs)
    def ends(self, job: str) -> None:
        """The job is cancelled, whatever is open."""
        with suppress(LifecycleError):
            self.house.jobs.seat(job, "ann").cancel()

    def _effects(self) -> Counter[tuple[str, str]]:
        return Counter((line.split()[0], line.split()[1]) for line in self.house.effects.all if not line.endswith(" look"))

    @invariant()
    def no_call_has_two_effects(self) -> None:
        """Whatever gets lost, and however often it is tried again."""
        assert all(count == 1 for count in self._effects().values())

    @invariant()
    def only_what_was_approved_was_done(self) -> None:
        """Every effect of a gated call stands on an approval in the log."""
        approved = set()
        for job in JOBS:
            for entry in self.house.jobs.log(job):
                if isinstance(entry.act, acts.Decide) and isinstance(entry.act.decisions, dict):
                    words: list[dict[str, str]] = entry.act.decisions["decisions"]  # type: ignore[assignment]
                    approved |= {(job, one["call"]) for one in words if one["verdict"] == "approved"}
                    assert entry.by == "app"
        lines = [line.split() for line in self.house.effects.all]
        assert {(job, call) for job, call, _, kind in lines if kind in ("gate", "keyed", "traced")} <= approved

    @invariant()
    def a_result_is_one_and_stays(self) -> None:
        """What has ended stays as it ended; only unknown may become what is found out. An effect is never silent."""
        done = self._effects()
        for job, set_id in self.sets:
            for call, result in self.host.results(job, set_id).items():
                before = self.ended.get((job, set_id, call))
                assert before is None or before == result or not before.final
                self.ended[job, set_id, call] = result
                if result.status == "rejected":
                    assert done[job, call] == 0

    def teardown(self) -> None:
        """At the end everybody is well, and looks once more: every call of an ended job has exactly one result."""
        self.mood = "well"
        for job in JOBS:
            with suppress(LifecycleError):
                self.house.jobs.seat(job, "ann").cancel()
            self.host.settle(job)
        for job, set_id in self.sets:
            turn = self.host.turn_of(job, set_id)
            assert [slot.call.id for slot in turn.slots] == [*self.host.results(job, set_id)]
        self.house.jobs.close()
        self.folder.cleanup()


Hosts.TestCase.settings = settings(max_examples=60, stateful_step_count=15, deadline=None)
TestHosts = Hosts.TestCase
