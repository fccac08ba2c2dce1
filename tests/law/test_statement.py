"""The library and the second statement of the law agree: on what may be done, on what is due, on what a job then is.

Hypothesis writes stories: requests of every kind, then steps that let time pass, renew the lease, end the parent, and make acts
with right and wrong parties, answers and contents. After every step both are asked the same, and must say the same.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import TypeVar

from attrs import define, field, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifecycle.law import acts
from lifecycle.law.capability import Guard
from lifecycle.law.contract import Contract
from lifecycle.law.deadlines import deadline, due
from lifecycle.law.decide import answerable, begin, decide, lapse, may
from lifecycle.law.errors import Reason, Refusal
from lifecycle.law.fold import learn, replay
from lifecycle.law.guards.move import World
from lifecycle.law.job import Job
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.log import Entry
from lifecycle.law.snapshot import dump, load
from lifecycle.law.states import Cause, Stage
from lifecycle.law.table import LAW
from lifecycle.law.terms import Budget, Condition, Exclusion, Intervals, Need, Spent, Terms
from lifecycle.law.values import Named
from tests.law import statement as law
from tests.law.script import (
    ADVERT,
    ARTIFACT,
    ATOMIC,
    BUILDS,
    CALL,
    CAST,
    CONTRACT,
    CONTRARY,
    DAY,
    GUARDED,
    HOUR,
    LOOKS,
    MENDABLE,
    MINUTE,
    NO_NET,
    NO_ROOT,
    NOON,
    OTHER_RULES,
    POINTER,
    READ,
    READS,
    RULES,
    SHIPS,
    TICK,
    act_of,
)  # fmt: skip
from tests.law.statement import Said

TIGHT = Limits(
    revisions=1, deferrals=1, vetoes=1, reworks=1, conditions=3, calls=1, counters=1, blocks=1, proposals=1, entries=9,
    depth=1, breadth=1,
)  # fmt: skip
EXAMPLES = 1000
NAMES = [name for name in CAST if name != "clock"]
EMPTY = Contract("none", "1", "build it")
FORGED = Guard("ledger", grounded=True)
FOURTH = (BUILDS, READS, LOOKS, Condition("fourth", "one too many"))


N = TypeVar("N", bound=Named)

# What may be said


def found(conditions: tuple[Condition, ...], status: str, evidence: str = "seen") -> tuple[acts.Finding, ...]:
    """One finding of this status for each condition."""
    return tuple(acts.Finding(condition.id, status, evidence) for condition in conditions)


def records(history: law.History, status: str, **more: object) -> tuple[acts.CheckRecord, ...]:
    """One record of this status for each check that is required."""
    return tuple(acts.CheckRecord(check, status, **more) for check in sorted(law.required(history)))


def plus(items: tuple[N, ...], item: N) -> tuple[N, ...]:
    """The same items and this one."""
    return (*(other for other in items if other.id != item.id), item)


def changed(terms: Terms, **changes: object) -> Terms:
    """The same terms, whole, with these changed."""
    return Terms(**{name: changes.get(name, getattr(terms, name)) for name in Terms.__dataclass_fields__})


Contents = list[dict[str, object]]
"""What an act may say, here and now: the first is plain, each of the others asks one question."""

SPENDS: Contents = [{"spent": Spent(tokens, seconds=seconds)} for tokens, seconds in ((10, 0), (90, 1), (500, 2), (5, 9e6))]
RULED: Contents = [{"rules": RULES}, {}, {"rules": OTHER_RULES}]
SMALL = Budget(tokens=20)
NEW = Condition("fourth", "one too many")
NAMESAKE = Exclusion("builds", "nothing that builds")


def accepts(history: law.History, now: datetime) -> Contents:
    asked = law.asked(history)
    conditions = asked.conditions
    return [
        {}, {"advertisement": ADVERT}, {"advertisement": CONTRARY}, {"exclusions": ()}, {"requirements": ()},
        {"requirements": tuple(replace(one, irreversible=False) for one in asked.requirements)},
        {"exclusions": plus(asked.exclusions, NO_ROOT), "alongside": True},
        {"requirements": plus(asked.requirements, ATOMIC), "advertisement": ADVERT},
        {"requirements": tuple(replace(one, guard=FORGED) for one in asked.requirements)},
        {"conditions": tuple(Condition(c.id, c.text + "!", c.check) for c in conditions)}, {"conditions": conditions[1:]},
        {"conditions": plus(conditions, NEW)}, {"conditions": plus(conditions, SHIPS)}, {"conditions": FOURTH},
        {"exclusions": plus(asked.exclusions, NAMESAKE)}, *SPENDS,
    ]  # fmt: skip


def counters(history: law.History, now: datetime) -> Contents:
    asked, terms = law.asked(history), law.in_force(history)
    atomic = changed(terms, requirements=(ATOMIC,))
    return [
        {"terms": changed(asked, complete_by=now + 2 * DAY)}, {"terms": Terms()}, {"terms": asked}, {"terms": None},
        {"terms": changed(asked, conditions=(SHIPS,)), "binding": False}, {"terms": Terms(FOURTH)}, {"terms": atomic},
        {"terms": atomic, "advertisement": ADVERT}, {"terms": atomic, "binding": False}, {"terms": asked, "binding": False},
        {"terms": None, "binding": False}, {"terms": Terms(), "binding": False}, {"terms": changed(terms, budget=SMALL)},
        {"terms": changed(terms, requirements=(replace(ATOMIC, guard=FORGED), replace(MENDABLE, guard=FORGED)))},
        {"terms": changed(asked, exclusions=plus(asked.exclusions, NAMESAKE))}, *SPENDS,
    ]  # fmt: skip


def defers(history: law.History, now: datetime) -> Contents:
    held = law.respond_due(history) + LIMITS.deferral
    return [
        {"until": now + HOUR}, {"until": now}, {"until": held}, {"until": held + TICK}, {"until": now + TICK},
        {"until": now + HOUR, "looking_into": None}, {"until": now, "looking_into": None},
        *({"until": now + 3 * HOUR, "need": Need("a key", who)} for who in NAMES), *SPENDS,
    ]  # fmt: skip


def revisions(history: law.History, now: datetime) -> Contents:
    return [
        {}, {"conditions": ()}, {"conditions": (BUILDS, LOOKS)}, {"exclusions": ()}, {"requirements": ()}, {"goal": "less"},
        {"requirements": (ATOMIC,)}, {"complete_by": now + DAY}, {"budget": Budget(tokens=1000)}, {"conditions": FOURTH},
        {"intervals": Intervals(respond=HOUR, lease=2 * HOUR)}, {"constraints": ("be quiet",)}, {"contract": CONTRACT},
        {"contract": EMPTY}, {"exclusions": (NAMESAKE,)}, {"conditions": (Condition("stays", "it stays"),)},
    ]  # fmt: skip


def progresses(history: law.History, now: datetime) -> Contents:
    idle: dict[str, object] = {"points_at": (), "nothing_new": True}
    return [{}, idle, {"points_at": ()}, {"points_at": (POINTER,), "nothing_new": True}, *(idle | spent for spent in SPENDS)]


def blocks(history: law.History, now: datetime) -> Contents:
    return [*({"need": Need("a key", who)} for who in NAMES), {"need": None}, *SPENDS]


def proposals(history: law.History, now: datetime) -> Contents:
    sets: list[object] = [(CALL,), (READ,), (), (CALL, READ)]
    return [*({"calls": calls} for calls in sets), {"expires_at": now + HOUR}, {"expires_at": now}, *SPENDS]


def deliveries(history: law.History, now: datetime) -> Contents:
    conditions = law.in_force(history).conditions
    findings, missed, unseen = (found(conditions, status) for status in ("met", "not_met", "unverifiable"))
    more, broken = acts.Finding("more", "met", "seen"), acts.Observance("no-net", "broken")
    return [
        {"report": acts.Report(findings)}, {}, {"artifacts": (ARTIFACT,)}, {"value": 7}, {"report": acts.Report(findings[1:])},
        {"report": acts.Report((*findings, more))}, {"report": acts.Report((more,))},
        {"report": acts.Report(found(conditions, "met", ""))}, {"report": acts.Report(missed), "artifacts": (ARTIFACT,)},
        {"report": acts.Report(unseen, (broken,))}, *SPENDS,
    ]  # fmt: skip


def confirmations(history: law.History, now: datetime) -> Contents:
    told = law.reported(history, "not_met", "broken")
    passed = records(history, "passed")
    waivers = {by: tuple(acts.Waiver(id, by, "never mind") for id in told) for by in ("ann", "vic", "own")}
    ways: list[dict[str, object]] = [
        {"status": "passed", "artifact": ARTIFACT.digest, "contract": CONTRACT.digest},
        {"status": "passed", "artifact": "sha256:dd"}, {"status": "passed", "contract": "sha256:dd"},
        *({"status": status} for status in ("failed", "unavailable", "pending")),
        *({"status": "skipped", "authority": who} for who in ("ann", "own", "wes", None)),
    ]  # fmt: skip
    return [
        {"checks": passed, "waivers": waivers["ann"]}, {}, {"checks": passed}, {"checks": passed, "waivers": waivers["vic"]},
        {"checks": passed, "waivers": waivers["own"]},
        *({"checks": records(history, **way)} for way in ways), {"checks": passed[1:], "waivers": waivers["vic"]},
        {"checks": (*passed, acts.CheckRecord("more", "passed"))}, {"waivers": (acts.Waiver("more", "ann", "never mind"),)},
    ]  # fmt: skip


def rejections(history: law.History, now: datetime) -> Contents:
    skipped = records(history, "skipped", authority="eve")
    elsewhere = records(history, "failed", artifact="sha256:dd")
    return [
        {}, {"checks": records(history, "failed")}, {"checks": records(history, "unavailable")}, {"checks": skipped},
        {"checks": elsewhere},
    ]  # fmt: skip


def reworks(history: law.History, now: datetime) -> Contents:
    known = tuple(condition.id for condition in law.in_force(history).conditions)
    return [{"mend": known or ("reads",)}, {"mend": ("reads",)}, {"mend": ("more",)}, {"mend": ("no-net",)}, {"mend": ("stays",)}]


def others(*contents: dict[str, object]) -> Callable[[law.History, datetime], Contents]:
    """What is the same wherever the job stands."""
    return lambda history, now: [*contents]


CONTENTS = {
    "accept": accepts,
    "decline": others({}, *SPENDS),
    "counter": counters,
    "defer": defers,
    "revise": revisions,
    "clear": others(*RULED),
    "veto": others(*RULED),
    "progress": progresses,
    "block": blocks,
    "propose": proposals,
    "decide": others({}, {"decisions": None}, {"decisions": "yes"}),
    "deliver": deliveries,
    "confirm": confirmations,
    "reject": rejections,
    "rework": reworks,
    "fail": others({"reason": "withdrawn"}, {"reason": "approval_denied", "work": "reverted"}, *SPENDS),
    "cancel": others({}, {"reason": "superseded"}),
    "halt": others({"work": "untouched"}, {"work": "complete", "spent": Spent(95)}, *SPENDS),
    "lapse": others(*({"cause": cause} for cause in Cause)),
}


# Where it begins


def tale(*names: str, under: law.History = (), **fields: object) -> law.History:
    """What was said of another job: its request, and plain acts after it."""
    told: law.History = (Said("a0", act_of("request", **fields), "sub" if under else "ann", NOON - HOUR, under),)
    for name in names:
        more = {"answers": law.answered(told, name)} if "answers" in acts.ACTS[name].model_fields else {}
        told += (Said(f"a{len(told)}", act_of(name, **more), max(law.entitled(told, name)), NOON - HOUR),)
    return told


def job_of(history: law.History) -> Job | None:
    """The library's own job for a history."""
    job = None
    for said in history:
        if job is None:
            world = World(parent=job_of(said.under))
            entry = begin("other", said.act, id=said.id, by=said.by, now=said.at, world=world)
        else:
            entry = decide(job, said.act, id=said.id, by=said.by, now=said.at)
        assert isinstance(entry, Entry), entry
        job = learn(job, entry)
    return job


STRICT = {"exclusions": (NO_NET,), "requirements": (GUARDED,)}
PARENTS = {
    "none": (),
    "strict": tale("accept", **STRICT),
    "working": tale("accept", "progress"),
    "under review": tale("accept", review=True),
    "below": tale("accept", under=tale("accept", worker="sub"), parent="p"),
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


REQUESTS: dict[str, list[object]] = {
    "conditions": [(), (), (READS,), (BUILDS, READS), (BUILDS, READS), FOURTH],
    "exclusions": [(), (NO_NET,)],
    "requirements": [(), (), (), (ATOMIC,), (GUARDED,), (MENDABLE, GUARDED)],
    "contract": [*[None] * 6, CONTRACT, CONTRACT, EMPTY],
    "budget": [None, None, Budget(tokens=100), Budget(seconds=5400.0)],
    "review": [False, True],
    "rules": [None, RULES],
    "verdict": [None, None, True, False],
    "respond_by": [None, None, NOON + 20 * MINUTE, NOON + 5 * DAY],
    "complete_by": [None, None, None, NOON, NOON + HOUR, NOON + 3 * HOUR, NOON + 3 * DAY],
    "intervals": [None, Intervals(HOUR / 2, stall=HOUR * 1.5), Intervals(HOUR, HOUR, HOUR, HOUR, HOUR * 2, stop=HOUR)],
    "verifier": ["vic"] * 20 + ["wes"],
    "approver": ["app"] * 20 + ["wes", None],
    "authorities": [("ann", "aut"), None],
}
"""What a request may say; None leaves a field out."""

KINDS = [
    *[("ann", "wes", "none")] * 10,
    *[("wes", "sub", "strict"), ("wes", "sub", "working"), ("wes", "sub", "under review")] * 2,
    *[("wes", "sub", parent) for parent in ("below", "requested", "delivered")],
    *[("ann", "sub", "working"), ("wes", "wes", "none")],
]
"""Who asks whom, under which parent."""


def start(dice: Random) -> Start:
    """A request that passes the door, somewhere in a tree."""
    by, worker, parent = dice.choice(KINDS)
    fields = {name: value for name, choices in REQUESTS.items() if (value := dice.choice(choices)) is not None}
    fields["worker"] = worker
    if "contract" in fields:
        fields |= {"conditions": (), "exclusions": ()}
    elif parent == "strict" and dice.random() < 0.8:
        fields |= {"exclusions": (NO_NET,), "requirements": plus(fields["requirements"], GUARDED)}
    old, children = dice.choice([*["none"] * 20, *OLD]), dice.choice([0, 0, 0, 0, 1])
    return Start(fields, by, parent, old, children, dice.choice([LIMITS, TIGHT]))


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
    "none": timedelta(0),
    "tick": TICK,
    "minute": MINUTE,
    "half an hour": 30 * MINUTE,
    "an hour": HOUR,
    "a day": DAY,
    "back": -HOUR,
}
PATIENCE = [*["none", "tick", "minute"] * 24, *WAITS, *["just before it is due", "until it is due"] * 2]
ANSWERS = [*["right"] * 20, "none", "old", "first", "first"]
WORLDS = [*["same"] * 32, "renewed", "children", *["parent ends"] * 3]
ENDS = ("decline", "cancel", "fail", "reject")


def step(dice: Random) -> Step:
    """One step of a story, a plain one more often than not."""
    content = dice.randrange(20) if dice.random() < 0.5 else 0
    wait, answers, world = dice.choice(PATIENCE), dice.choice(ANSWERS), dice.choice(WORLDS)
    return Step(wait, dice.random() < 0.85, dice.randrange(10**6), content, answers, world)


BEFORE = """
    defer; defer decline; defer:9 resolve; defer:9 lapse; counter; counter revise; counter adopt
    accept; accept:11; accept veto; accept veto accept veto accept
"""
AFTER = """
    ; cancel lapse; fail; counter lapse; counter cancel; block; block resolve; counter block; counter insist
    counter; counter adopt; counter adopt clear; progress; progress propose; progress progress propose
    progress propose decide; progress propose lapse decide; progress propose decide propose:3; progress propose
    deliver; deliver confirm; deliver rework; deliver rework deliver rework deliver; deliver lapse; progress deliver
    orphan; block orphan; counter orphan; progress propose orphan; progress orphan
    deliver:7; deliver:8; deliver:8 confirm:2; deliver:9; progress propose decide decide
"""
PRELUDES = [
    *(names for names in re.split(r"[;\n]", BEFORE.strip())),
    *(f"accept clear {names}" for names in re.split(r"[;\n]", AFTER.strip())),
]
"""Acts to begin with, so that the stories do not all end early: plain ones, or with the content of that number.

One that cannot be made is refused; a lapse is waited for; an orphan's parent ends.
"""


@frozen
class Tale:
    """Requests, of which the first that is accepted begins the job; acts to begin with; and steps."""

    seed: int
    starts: list[Start]
    prelude: str
    steps: list[Step]


def tell(seed: int, length: int) -> Tale:
    """The tale of a seed, as far as its first steps. (Drawn one by one, its choices would not be spread as evenly.)"""
    dice = Random(seed)
    return Tale(seed, [start(dice) for _ in range(4)], dice.choice(PRELUDES), [step(dice) for _ in range(length)])


TALES = st.builds(tell, st.integers(0, 2**24 - 1), st.integers(6, 24))


# The comparison


def compare(act: acts.Act, by: str, history: law.History, said: Reason | Stage, found: Reason | Stage) -> None:
    """The two say the same of a move."""
    here = law.stage(history) if history else "no job"
    assert found is said, f"{act!r} by {by} in {here}: the statement says {said}, the library {found}"


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
        self._makes(self._act(name, step.content, self._answers(step, name)), by)

    def _act(self, name: str, content: int, answers: str | None) -> acts.Act:
        choices = CONTENTS.get(name, others({}))(self.history, self.now)
        fields = choices[content % len(choices)]
        return act_of(name, **({**fields, "answers": answers} if "answers" in acts.ACTS[name].model_fields else fields))

    def opens(self, prelude: str, dice: Random) -> None:
        """Make these acts, or be refused; and ask of another content of each what would become of it."""
        for act in prelude.split():
            name, _, content = act.partition(":")
            if name == "lapse":
                self.now = (law.deadline(self.history) or (self.now, None))[0]
                self._sweep()
            elif name == "orphan":
                self._loses_its_parent()
                self._sweep()
            else:
                by, answers = max(law.entitled(self.history, name)), self._right(name)
                self._asks(self._act(name, dice.randrange(20), answers), by)
                self._makes(self._act(name, int(content or 0), answers), by)

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
            case "parent ends":
                self._loses_its_parent()

    def _loses_its_parent(self) -> None:
        if self.start.parent != "none":
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
        moves = [move for move in able for _ in range(1 if move[0] in ENDS else 6)]
        if step.legal and moves:
            return moves[step.pick % len(moves)]
        theirs = sorted((name, by) for name in acts.ACTS for by in law.entitled(self.history, name))
        moves = [*theirs * 4, *((name, by) for name in acts.ACTS for by in CAST)]
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
        return self._right(name)

    def _right(self, name: str) -> str | None:
        """What an act of this name must answer; a decision where no set is open names a closed one."""
        closed = [] if law.legal(self.history, name) or name != "decide" else law.became_of(self.history)
        return next(iter(closed), law.answered(self.history, name))

    def _asks(self, act: acts.Act, by: str) -> Entry | Refusal:
        limits, world = self.start.limits, World(children_open=self.children_open)
        case = law.Case(self.history, act, by, self.now, law.World(children_open=self.children_open), limits)
        told = decide(self.job, act, id=f"a{len(self.history)}", by=by, now=self.now, world=world, limits=limits)
        compare(act, by, self.history, law.answer(case), told.reason if isinstance(told, Refusal) else told.stage)
        if isinstance(told, Refusal):
            self.met.add(told.reason)
            assert (told.act, told.stage, told.by, set(told.may)) == (act.act, self.job.stage, by, law.may(self.history, by))
            assert told.detail and told.mend
        return told

    def _makes(self, act: acts.Act, by: str) -> None:
        told = self._asks(act, by)
        if isinstance(told, Entry):
            self._learns(told)
        else:
            self.knocks += told.reason is Reason.CLOSED

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
        assert job.brief.contract == law.contract(history)
        assert job.spent == law.spent(history)
        assert job.over_budget == law.over_budget(history)
        assert job.work == law.work(history)
        for renewed_at in (None, self.now + 9 * DAY):  # with the lease out of the way, what else would be due
            assert deadline(job, renewed_at) == law.deadline(history, renewed_at)
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
    compare(act, start.by, (), said, told.reason if isinstance(told, Refusal) else told.stage)
    if isinstance(told, Refusal):
        assert (told.act, told.stage, told.may) == ("request", None, ("request",))
        met.add(told.reason)
        return None
    story = Story(start, replay([told]), (Said("a0", act, start.by, NOON, parent),), met=met, entries=[told])
    met.add(("request", None, told.stage))
    story.agrees()
    return story


def test_the_library_and_the_statement_agree_on_every_story() -> None:
    met: set[object] = set()

    @settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(TALES)
    def told(tale: Tale) -> None:
        story = next(filter(None, (begun(start, met) for start in tale.starts)), None)
        if story is None:
            return
        story.opens(tale.prelude, Random(tale.seed))
        for step in tale.steps:
            if not story.told:
                story.takes(step)
        assert load(dump(story.job)) == replay(story.entries) == story.job

    told()
    edges = {(row.act, row.origin, row.to) for row in LAW.rows}
    assert edges - met == set(), "the stories must reach every edge"
    assert set(law.PRECEDENCE) - met == set(), "and every reason"


def test_the_orders_of_precedence_are_the_same() -> None:
    assert [reason for reason in Reason if reason in law.PRECEDENCE] == list(law.PRECEDENCE)
