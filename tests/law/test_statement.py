"""The library and the second statement of the law agree: on what may be done, on what is due, on what a job then is.

Hypothesis writes stories: requests of every kind, then steps that let time pass, renew the lease, end the parent, and make acts
with right and wrong parties, answers and contents. After every step both are asked the same, and must say the same.
"""

from datetime import datetime, timedelta

import pytest
from attrs import define, field, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from law import statement as law
from law.script import (
    ADVERT, ARTIFACT, ATOMIC, BUILDS, BY, CALL, CAST, CONTRACT, CONTRARY, DAY, GUARDED, HOUR, LOOKS, MENDABLE, MINUTE, NO_NET,
    NO_ROOT, NOON, OTHER_RULES, PARTIES, POINTER, READ, READS, RULES, SHIPS, TICK, act_of,
)  # fmt: skip
from law.statement import Said

from lifecycle.law import acts
from lifecycle.law.capability import Guard, Requirement
from lifecycle.law.contract import Contract
from lifecycle.law.deadlines import deadline, due
from lifecycle.law.decide import answerable, begin, decide, lapse, may
from lifecycle.law.errors import Reason, Refusal
from lifecycle.law.fold import learn, replay
from lifecycle.law.guards.move import World
from lifecycle.law.job import Job
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.log import Entry
from lifecycle.law.states import Cause, Stage
from lifecycle.law.table import LAW
from lifecycle.law.terms import Budget, Condition, Intervals, Need, Spent, Terms

TIGHT = Limits(
    revisions=1, deferrals=1, vetoes=1, reworks=1, conditions=3, calls=1, counters=1, blocks=1, proposals=1, entries=9,
    depth=1, breadth=1,
)  # fmt: skip
NAMES = [name for name in CAST if name != "clock"]
EMPTY = Contract("none", "1", "build it")
FORGED = Guard("ledger", grounded=True)
FOURTH = (BUILDS, READS, LOOKS, Condition("fourth", "one too many"))


# What may be said


def said_of(conditions: tuple[Condition, ...], status: str, evidence: str = "seen") -> tuple[acts.Finding, ...]:
    """One finding of this status for each condition."""
    return tuple(acts.Finding(condition.id, status, evidence) for condition in conditions)


def records(history: law.History, status: str, **more: object) -> tuple[acts.CheckRecord, ...]:
    """One record of this status for each check that is required."""
    return tuple(acts.CheckRecord(check, status, **more) for check in sorted(law.required(history)))


def stronger(terms: Terms, **changes: object) -> Terms:
    """The same terms, whole, with these changed."""
    return Terms(**{name: changes.get(name, getattr(terms, name)) for name in Terms.__dataclass_fields__})


def waived(*ids: str, by: str) -> tuple[acts.Waiver, ...]:
    """A waiver of each of these, by one authority."""
    return tuple(acts.Waiver(id, by, "never mind") for id in ids)


def contents(name: str, history: law.History, now: datetime) -> list[dict[str, object]]:
    """What an act of this name may say, here and now: the first is plain, the others ask one question each."""
    asked, terms = law.asked(history), law.in_force(history)
    spends = [{"spent": Spent(tokens, seconds=seconds)} for tokens, seconds in ((10, 0), (90, 1), (500, 2), (5, 9e6))]
    findings, broken = said_of(terms.conditions, "met"), acts.Observance("no-net", "broken")
    held = law.respond_due(history) + LIMITS.deferral if history else now
    forged = tuple(Requirement(r.id, r.invariant, r.value, guard=FORGED) for r in asked.requirements)
    reworded = tuple(Condition(c.id, c.text + "!", c.check) for c in asked.conditions)
    told = law.reported(history, "not_met", "broken")
    more: dict[str, list[dict[str, object]]] = {
        "accept": [
            {}, {"advertisement": ADVERT}, {"advertisement": CONTRARY}, {"exclusions": ()}, {"requirements": ()},
            {"exclusions": (*asked.exclusions, NO_ROOT), "alongside": True}, {"requirements": forged}, {"conditions": reworded},
            {"requirements": tuple({r.id: r for r in (*asked.requirements, ATOMIC)}.values()), "advertisement": ADVERT}, {"conditions": asked.conditions[1:]},
            {"conditions": (*asked.conditions, LOOKS)}, {"conditions": (*asked.conditions, SHIPS)}, {"conditions": FOURTH},
            *spends,
        ],
        "decline": [{}, *spends],
        "counter": [
            {"terms": stronger(asked, complete_by=now + 2 * DAY)}, {"terms": Terms()}, {"terms": None, "binding": False},
            {"terms": stronger(asked, conditions=(SHIPS,)), "binding": False}, {"terms": Terms(FOURTH)}, {"terms": asked},
            {"terms": stronger(terms, requirements=(ATOMIC,))}, {"terms": stronger(terms, budget=Budget(tokens=20))},
            {"terms": stronger(terms, requirements=(ATOMIC,)), "advertisement": ADVERT}, {"terms": asked, "binding": False},
            *spends,
        ],
        "defer": [
            {"until": now + HOUR}, {"until": now}, {"until": held}, {"until": held + TICK}, {"until": now + TICK},
            {"until": now + HOUR, "looking_into": None}, *({"until": now + 3 * HOUR, "need": Need("a key", who)} for who in NAMES),
            *spends,
        ],
        "revise": [
            {}, {"conditions": ()}, {"conditions": (BUILDS, LOOKS)}, {"exclusions": ()}, {"requirements": ()}, {"goal": "less"},
            {"requirements": (ATOMIC,)}, {"complete_by": now + DAY}, {"budget": Budget(tokens=1000)}, {"conditions": FOURTH},
            {"intervals": Intervals(respond=HOUR, lease=2 * HOUR)}, {"constraints": ("be quiet",)},
        ],
        "clear": [{"rules": RULES}, {}, {"rules": OTHER_RULES}],
        "veto": [{"rules": RULES}, {}, {"rules": OTHER_RULES}],
        "progress": [
            {}, {"points_at": (), "nothing_new": True}, {"points_at": ()}, {"points_at": (POINTER,), "nothing_new": True},
            *({"points_at": (), "nothing_new": True, **spent} for spent in spends),
        ],
        "block": [*({"need": Need("a key", who)} for who in NAMES), {"need": None}, *spends],
        "propose": [
            {}, {"calls": (READ,)}, {"calls": ()}, {"calls": (CALL, READ)}, {"expires_at": now + HOUR}, {"expires_at": now},
            *spends,
        ],
        "decide": [{}, {"decisions": None}, {"decisions": "yes"}],
        "deliver": [
            {"report": acts.Report(findings)}, {}, {"artifacts": (ARTIFACT,)}, {"value": 7}, {"report": acts.Report(findings[1:])},
            {"report": acts.Report((*findings, acts.Finding("more", "met", "seen")))},
            {"report": acts.Report(said_of(terms.conditions, "met", ""))},
            {"report": acts.Report(said_of(terms.conditions, "not_met")), "artifacts": (ARTIFACT,)},
            {"report": acts.Report(said_of(terms.conditions, "unverifiable", ""), (broken,))},
            *spends,
        ],
        "confirm": [
            {"checks": records(history, "passed"), "waivers": waived(*told, by="ann")}, {}, {"checks": records(history, "passed")},
            *({"checks": records(history, "skipped", authority=who)} for who in ("ann", "own", "wes", None)),
            {"checks": records(history, "passed", artifact=ARTIFACT.digest, contract=CONTRACT.digest)},
            {"checks": records(history, "passed", artifact="sha256:dd")}, {"checks": records(history, "failed")},
            {"checks": records(history, "unavailable")}, {"checks": records(history, "pending")},
            {"checks": records(history, "passed", contract="sha256:dd")}, {"checks": records(history, "passed")[1:]},
            {"checks": records(history, "passed"), "waivers": waived(*told, by="vic")},
        ],
        "reject": [{}, {"checks": records(history, "failed")}, {"checks": records(history, "unavailable")}],
        "rework": [{"mend": tuple(c.id for c in terms.conditions) or ("reads",)}, {"mend": ("reads",)}, {"mend": ("more",)}],
        "fail": [{"reason": "withdrawn"}, {"reason": "approval_denied", "work": "reverted"}, *spends],
        "cancel": [{}, {"reason": "superseded"}],
        "halt": [{"work": "untouched"}, {"work": "complete", "spent": Spent(95)}, *spends],
        "lapse": [{"cause": cause, "due": now} for cause in Cause],
    }  # fmt: skip
    return more.get(name, [{}])


# Where it begins


def tale(*names: str, **fields: object) -> law.History:
    """What was said of another job: its request, and plain acts after it."""
    told: law.History = (Said("a0", act_of("request", **fields), "ann", NOON - HOUR),)
    for name in names:
        more = {"answers": law.answered(told, name)} if "answers" in acts.ACTS[name].model_fields else {}
        told += (Said(f"a{len(told)}", act_of(name, **more), BY[name], NOON - HOUR),)
    return told


def job_of(history: law.History, world: World = World()) -> Job | None:  # noqa: B008
    """The library's own job for a history."""
    entries: list[Entry] = []
    job = None
    for said in history:
        if job is None:
            entry = begin("other", said.act, id=said.id, by=said.by, now=said.at, world=world)
        else:
            entry = decide(job, said.act, id=said.id, by=said.by, now=said.at)
        assert isinstance(entry, Entry), entry
        entries.append(entry)
        job = learn(job, entry)
    return job


STRICT = {"exclusions": (NO_NET,), "requirements": (GUARDED,)}
PARENTS = {
    "none": (),
    "ready": tale("accept", **STRICT),
    "working": tale("accept", "progress"),
    "under review": tale("accept", review=True),
    "requested": tale(**STRICT),
    "delivered": tale("accept", "deliver", conditions=(READS,)),
}
OLD = {
    "none": (),
    "declined": tale("decline"),
    "open": tale("accept"),
    "another's": (Said("a0", act_of("request"), "eve", NOON), Said("a1", act_of("decline", answers="a0"), "wes", NOON)),
}


@frozen
class Start:
    """A request, and the world it is made in."""

    fields: dict[str, object]
    by: str
    parent: str
    old: str
    children: int
    limits: Limits


def some(**choices: list[object]) -> st.SearchStrategy[dict[str, object]]:
    """Each of these fields with one of its values; None leaves it out."""
    return st.fixed_dictionaries({name: st.sampled_from(values) for name, values in choices.items()}).map(
        lambda fields: {name: value for name, value in fields.items() if value is not None}
    )


REQUESTS = some(
    conditions=[(), (), (READS,), (BUILDS, READS), (BUILDS, READS), FOURTH],
    exclusions=[(), (NO_NET,)],
    requirements=[(), (), (), (ATOMIC,), (GUARDED,), (MENDABLE, GUARDED)],
    contract=[None, None, None, None, None, None, CONTRACT, CONTRACT, EMPTY],
    budget=[None, None, Budget(tokens=100), Budget(seconds=5400.0)],
    review=[False, True],
    rules=[None, RULES],
    verdict=[None, None, True, False],
    respond_by=[None, None, NOON + 20 * MINUTE, NOON + 5 * DAY],
    complete_by=[None, None, NOON, NOON + HOUR, NOON + 3 * HOUR, NOON + 3 * DAY],
    intervals=[None, Intervals(respond=30 * MINUTE, stall=90 * MINUTE), Intervals(answer=HOUR, review=HOUR, lease=2 * HOUR, stop=HOUR)],
    verifier=["vic"] * 12 + ["wes"],
    approver=["app"] * 12 + ["wes", None],
    authorities=[("ann", "aut"), None],
)


def shaped(fields: dict[str, object]) -> dict[str, object]:
    """The same request as one that passes the door: conditions or a contract, never both."""
    if "contract" in fields:
        fields = {**fields, "conditions": (), "exclusions": ()}
    return fields


STARTS = st.builds(
    Start,
    REQUESTS.map(shaped),
    st.sampled_from(["ann"] * 9 + ["wes"]),
    st.sampled_from([*["none"] * 12, *PARENTS]),
    st.sampled_from([*["none"] * 12, *OLD]),
    st.sampled_from([0, 0, 1]),
    st.sampled_from([LIMITS, LIMITS, TIGHT]),
)


@frozen
class Step:
    """Time that passes, and then a move: one that may be made (by its place among those), or any."""

    wait: str
    legal: bool
    pick: int
    content: int
    answers: str
    world: str


WAITS = {
    "none": timedelta(0), "tick": TICK, "minute": MINUTE, "half an hour": 30 * MINUTE, "an hour": HOUR, "a day": DAY, "back": -HOUR,
}  # fmt: skip
ENDS = ("decline", "cancel", "fail")

STEPS = st.builds(
    Step,
    st.sampled_from([*["none", "tick", "minute"] * 24, *WAITS, "just before it is due", "until it is due"]),
    st.sampled_from([*[True] * 5, False]),
    st.integers(0, 9999),
    st.sampled_from([*[0] * 10, *range(18)]),
    st.sampled_from([*["right"] * 9, "none", "old", "first"]),
    st.sampled_from([*["same"] * 16, "renewed", "renewed", "children", "parent ends"]),
)


# The comparison


def disagree(story: "Story", act: acts.Act, by: str, said: Reason | Stage, found: Reason | Stage) -> None:
    """The two do not say the same of a move."""
    raise AssertionError(f"{act!r} by {by} in {law.stage(story.history)}: the statement says {said}, the library {found}")


@define
class Story:
    """One job, told to both."""

    start: Start
    job: Job
    history: law.History
    now: datetime = NOON
    renewed_at: datetime | None = None
    parent_ended_at: datetime | None = None
    children_open: tuple[str, ...] = ()
    entries: list[Entry] = field(factory=list)
    knocks: int = 0
    met: set[object] = field(factory=set)
    """Which edges were taken and which reasons given, so that a test can tell that the stories reach everything."""

    @property
    def told(self) -> bool:
        """Whether nothing more can come of it: the job is final, and three moves have met a closed door."""
        return law.stage(self.history) not in law.OPEN and self.knocks > 2

    def takes(self, step: Step) -> None:
        """Let time pass, let lapse what is due, make the move; compare after each."""
        self._wait(step)
        self._sweep()
        name, by = self._move(step)
        choices = contents(name, self.history, self.now)
        fields = choices[step.content % len(choices)]
        if "answers" in acts.ACTS[name].model_fields:
            fields = {**fields, "answers": self._answers(step, name)}
        self._judge(act_of(name, **fields), by)

    def _wait(self, step: Step) -> None:
        first = law.deadline(self.history, self.renewed_at, self.parent_ended_at)
        if step.wait in WAITS:
            self.now += WAITS[step.wait]
        elif first is not None:
            self.now = max(self.now, first[0] - (TICK if step.wait.startswith("just") else timedelta(0)))
        match step.world:
            case "renewed":
                self.renewed_at = max(self.now, self.history[-1].at)
            case "children":
                self.children_open = () if self.children_open else ("child",)
            case "parent ends" if self.start.parent != "none":
                self.parent_ended_at = self.parent_ended_at or self.now

    def _sweep(self) -> None:
        for _ in range(20):
            first = law.deadline(self.history, self.renewed_at, self.parent_ended_at)
            assert deadline(self.job, self.renewed_at, self.parent_ended_at) == first
            act = due(self.job, self.now, self.renewed_at, self.parent_ended_at)
            if first is None or first[0] > self.now:
                assert act is None
                return
            assert act is not None
            assert (act.due, act.cause) == first
            assert act.renewed_at == (self.renewed_at if act.cause is Cause.LEASE else None)
            self._learns(lapse(self.job, act, id=f"a{len(self.history)}", now=self.now))
        raise AssertionError("a job that lapses for ever")

    def _move(self, step: Step) -> tuple[str, str]:
        able = sorted((name, by) for by in CAST for name in law.may(self.history, by))
        moves = [move for move in able for _ in range(1 if move[0] in ENDS else 12)]
        if not step.legal or not moves:
            moves = sorted((name, by) for name in acts.ACTS for by in CAST)
        return moves[step.pick % len(moves)]

    def _answers(self, step: Step, name: str) -> str | None:
        match step.answers:
            case "none":
                return None
            case "old":
                return self.history[step.pick % len(self.history)].id
            case "first":
                sets = law.named(self.history, "propose") or self.history
                return sets[0].id
        return law.answered(self.history, name)

    def _judge(self, act: acts.Act, by: str) -> None:
        limits = self.start.limits
        said = law.answer(law.Case(self.history, act, by, self.now, law.World(children_open=self.children_open), limits))
        world = World(children_open=self.children_open)
        before = self.job
        told = decide(self.job, act, id=f"a{len(self.history)}", by=by, now=self.now, world=world, limits=limits)
        found = told.reason if isinstance(told, Refusal) else told.stage
        if found is not said:
            disagree(self, act, by, said, found)
        if isinstance(told, Refusal):
            self.knocks += told.reason is Reason.CLOSED
            assert (told.act, told.stage, told.by, set(told.may)) == (act.act, before.stage, by, law.may(self.history, by))
            assert told.detail and told.mend
            self.met.add(told.reason)
        else:
            self._learns(told)

    def _learns(self, entry: Entry) -> None:
        at = max(self.now, self.history[-1].at)
        assert (entry.seq, entry.origin, entry.at) == (self.job.seq + 1, self.job.stage, at)
        self.met.add((entry.act.act, entry.origin, entry.stage))
        self.history += (Said(entry.id, entry.act, entry.by, at),)
        self.entries.append(entry)
        self.job = learn(self.job, entry)
        self.agrees()

    def agrees(self) -> None:
        """Both tell the same of the job as it stands."""
        job, history = self.job, self.history
        assert job.stage is law.stage(history)
        assert (job.open, job.ended) == (not law.ended(history), law.ended(history))
        assert job.terms == law.in_force(history)
        assert job.brief.terms == law.asked(history)
        assert job.spent == law.spent(history)
        assert job.over_budget == law.over_budget(history)
        assert job.work == law.work(history)
        owed = law.owed_by(history)
        assert (job.pause.owed_by, job.pause.since) == (owed, history[-1].at) if owed else job.pause is None
        said, end = job.termination, law.end(history)
        assert (said and law.End(said.reason, said.status, said.at, said.cause, said.owed_by)) == end
        for by in CAST:
            assert set(may(job, by)) == law.may(history, by)
        for name in acts.ACTS:
            if law.legal(history, name):
                assert answerable(job, name) == law.answered(history, name)


def begun(start: Start, met: set[object]) -> Story | None:
    """A job just begun, by both; None if both refuse it."""
    parent, old = PARENTS[start.parent], OLD[start.old]
    names = {"parent": "p" if parent else None, "supersedes": "o" if old else None}
    act = act_of("request", **{**start.fields, **names})
    world = law.World(parent, old, start.children)
    theirs = World(job_of(parent), job_of(old), start.children)
    said = law.answer(law.Case((), act, start.by, NOON, world, start.limits))
    told = begin("job", act, id="a0", by=start.by, now=NOON, world=theirs, limits=start.limits)
    if isinstance(told, Refusal):
        assert told.reason is said, str(told)
        assert (told.act, told.stage, told.may) == ("request", None, ("request",))
        met.add(told.reason)
        return None
    assert told.stage is said
    story = Story(start, replay([told]), (Said("a0", act, start.by, NOON, parent),), met=met, entries=[told])
    met.add(("request", None, told.stage))
    story.agrees()
    return story


def test_the_library_and_the_statement_agree_on_every_story() -> None:
    met: set[object] = set()

    @settings(max_examples=400, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(STARTS, st.lists(STEPS, min_size=10, max_size=24))
    def told(start: Start, steps: list[Step]) -> None:
        story = begun(start, met)
        for step in steps:
            if story and not story.told:
                story.takes(step)
        if story:
            assert replay(story.entries) == story.job

    told()
    edges = {(row.act, row.origin, row.to) for row in LAW.rows}
    assert edges - met == set(), "the stories must reach every edge"
    assert set(law.PRECEDENCE) - met == set(), "and every reason"


@pytest.mark.parametrize("stage", Stage)
def test_the_orders_of_precedence_are_the_same(stage: Stage) -> None:
    assert [reason for reason in Reason if reason in law.PRECEDENCE] == list(law.PRECEDENCE)
