"""Races: several clients act on one job at once, in every order in which their steps can come.

The outcome must be that of some serial order: what each was answered, and how the job then stands. Orders that differ only in
which of two reads came first are one order; all others are tried, one after the other, without threads.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import combinations_with_replacement, permutations
from typing import TypeAlias

from attrs import define, evolve, field, frozen
from greenlet import getcurrent, greenlet

from lifecycle.conformance.fuzz.sayings import BY, JOB
from lifecycle.conformance.fuzz.session import Covered, Session
from lifecycle.conformance.fuzz.subject import Answer, Client, Killed, Stepped, Subject
from lifecycle.conformance.fuzz.tours import Place, way_to, ways
from lifecycle.conformance.fuzz.trial import Fault, Sent, Step, Trial, shown
from lifecycle.law.states import FINAL, Stage
from lifecycle.machine import legal

_WAIT = Step("wait")
SERIAL = "the outcome of a race is that of some serial order"

Outcome: TypeAlias = tuple[tuple[Answer, ...], Mapping[str, object]]
"""What each client was answered, and what is then told of the job."""


@frozen
class Scene:
    """Steps that lead to a stage, and what clients do there at once. One `same` is sent by two clients under one id."""

    walk: tuple[Step, ...]
    at_once: tuple[Step, ...]
    same: bool = False

    def __str__(self) -> str:
        return " | ".join(map(str, self.at_once))


def races_of_two(session: Session) -> Covered:
    """Every two acts that may be made in a stage, at once; and every act twice, under one id and under two."""
    return _races(session, "races of two", 2)


def races_of_three(session: Session) -> Covered:
    """Every act that may be made in a stage, at once with every two that stand next to it in the table."""
    return _races(session, "races of three", 3)


def _races(session: Session, check: str, clients: int) -> Covered:
    if not isinstance(session.subject, Stepped):
        return Covered(check, 0, 0, unchecked="the subject has no steps to come between")
    scenes = list(_scenes(session, clients))
    orders = 0
    for done, scene in enumerate(scenes):
        session.progress(check, done, len(scenes))
        orders += race(session, scene)
    return Covered(check, orders, orders)


def race(session: Session, scene: Scene) -> int:
    """Every order in which a scene can go; how many there were. Its fault tells how to race again after other steps."""
    together = len(scene.at_once)

    def replay(subject: Subject, these: tuple[Step, ...]) -> int:
        return race(Session(subject), evolve(scene, walk=these[:-together], at_once=these[-together:]))

    try:
        return _race(session, scene)
    except Fault as fault:
        if fault.law == SERIAL:
            fault.together, fault.replay = together, replay
        raise


def _scenes(session: Session, clients: int) -> Iterator[Scene]:
    """Every stage that something leaves, and what may be done there; the clock is one of those who act."""
    scope = session.scope
    for stage in Stage:
        places = [place for place in ways(scope).arcs if place.stage is stage]
        if stage in FINAL or not places:
            continue
        walk = way_to(_busiest(places), scope)
        may = [Step(name) for name in BY if name in legal(stage) & scope.acts and name != "lapse"]
        may += [_WAIT] * scope.time
        if clients == 2:
            yield from (Scene(walk, pair) for pair in combinations_with_replacement(may, 2) if pair != (_WAIT, _WAIT))
            yield from (Scene(walk, (one, one), same=True) for one in may if one != _WAIT)
        else:
            yield from (Scene(walk, tuple(group)) for group in sorted({tuple(_around(may, n)) for n in range(len(may))}, key=str))


def _around(may: Sequence[Step], first: int) -> list[Step]:
    """Three neighbours in the circle of what may be done; all there is, if that is less. Twice the last of two."""
    at = [(first + n) % len(may) for n in range(3)]
    return [may[n] for n in sorted(set(at))]


def _busiest(places: Sequence[Place]) -> Place:
    """Of the places in a stage, one where all that may be done there may be done."""
    alone = [place for place in places if "child" not in place.asked]
    return max(alone or places, key=lambda place: (place.binding, place.need, "review" in place.asked, "verdict" in place.asked))


def _race(session: Session, scene: Scene) -> int:
    """Try every order of a scene's steps; how many there were."""
    orders = Orders()
    allowed: list[Outcome] | None = None
    while orders.more:
        trial = session.trial().take(*scene.walk)
        sent = _sent(trial, scene)
        if allowed is None:
            allowed = _serial(trial, scene, sent)
        outcome = _run(trial, scene, sent, orders)
        if outcome is not None and not any(_agrees(outcome, one) for one in allowed):
            answers = ", ".join(f"{step}: {answer or 'accepted'}" for step, answer in zip(scene.at_once, outcome[0], strict=True))
            seen = f"at once: {answers}; then the job is in `{outcome[1]['stage']}`; steps came as {orders}"
            raise Fault(SERIAL, seen, (*scene.walk, *scene.at_once))
    return orders.tried


def _sent(trial: Trial, scene: Scene) -> list[Sent | None]:
    """What each client submits; None for the clock."""
    sent = [None if step.what == "wait" else trial.sentence(step) for step in scene.at_once]
    return [sent[0]] * len(sent) if scene.same else sent


def _serial(trial: Trial, scene: Scene, sent: Sequence[Sent | None]) -> list[Outcome]:
    """The outcomes of all serial orders, by the law."""
    outcomes: list[Outcome] = []
    delta = trial.until(Step("wait"))
    for order in permutations(range(len(sent))):
        law = trial.reference.copy()
        answers: list[Answer] = [None] * len(sent)
        for client in order:
            one = sent[client]
            if one is None:
                law.advance(delta)
            else:
                answers[client] = law.submit(one.job, one.act, by=one.by, id=one.id)
        outcome = tuple(answers), {"stage": law.stage(JOB), **law.facts(JOB)}
        if outcome not in outcomes:
            outcomes.append(outcome)
    return outcomes


def _agrees(outcome: Outcome, allowed: Outcome) -> bool:
    return outcome[0] == allowed[0] and all(allowed[1].get(name) == fact for name, fact in outcome[1].items())


def _run(trial: Trial, scene: Scene, sent: Sequence[Sent | None], orders: "Orders") -> Outcome | None:
    """One run, its steps in the next order that was not tried."""
    subject = trial.subject
    assert isinstance(subject, Stepped)
    delta = trial.until(Step("wait"))
    hub = getcurrent()
    answers: list[Answer] = [None] * len(sent)

    def turn(step: str) -> None:
        if step != "written":  # nothing that another could see or change comes after it
            hub.switch(step)

    callers = subject.clients([turn] * len(sent))
    racers = {n: greenlet(_acting(callers[n], one, delta, answers, n), hub) for n, one in enumerate(sent)}
    waiting = {n: racer.switch() for n, racer in racers.items()}
    orders.begin()
    while waiting := {n: step for n, step in waiting.items() if not racers[n].dead}:
        chosen = orders.choose(waiting)
        if chosen is None:  # this order was tried already, but for which of two reads came first
            for n in waiting:
                racers[n].throw(Killed)
            break
        waiting[chosen] = racers[chosen].switch()
    if not orders.end():
        return None
    subject.advance(timedelta(0))
    return tuple(answers), shown(subject, JOB)


def _acting(caller: Client, one: Sent | None, delta: timedelta, answers: list[Answer], n: int) -> Callable[[], None]:
    def act() -> None:
        if one is None:
            caller.advance(delta)
        else:
            answers[n] = caller.submit(one.job, one.act, by=one.by, id=one.id)

    def race() -> None:
        with suppress(Killed):
            act()

    return race


@define
class Orders:
    """Every order in which steps can come, but for those that differ only in which of two reads came first (sleep sets)."""

    tried: int = 0
    more: bool = True
    _path: list["_Node"] = field(factory=list)
    _at: int = 0
    _redundant: bool = False

    def __str__(self) -> str:
        return " ".join(f"{node.chosen + 1}:{node.waiting[node.chosen]}" for node in self._path)

    def begin(self) -> None:
        """A run begins."""
        self._at, self._redundant = 0, False

    def choose(self, waiting: Mapping[int, str]) -> int | None:
        """Which client goes on; None if this run leads nowhere new."""
        if self._redundant:
            return None
        if self._at == len(self._path):
            asleep = self._path[-1].asleep_after() if self._path else frozenset[int]()
            awake = [n for n in waiting if n not in asleep]
            if not awake:
                self._redundant = True
                return None
            self._path.append(_Node(dict(waiting), asleep, awake[0]))
        node = self._path[self._at]
        self._at += 1
        return node.chosen

    def end(self) -> bool:
        """A run is over: go back to the last choice that can be made otherwise. Whether the run told anything new."""
        new = not self._redundant
        self.tried += new
        while self._path:
            node = self._path[-1]
            node.done.add(node.chosen)
            left = [n for n in node.waiting if n not in node.asleep and n not in node.done]
            if left:
                node.chosen = left[0]
                return new
            self._path.pop()
        self.more = False
        return new


@define
class _Node:
    """One choice: who waited before which step, who need not go first, who went."""

    waiting: dict[int, str]
    asleep: frozenset[int]
    chosen: int
    done: set[int] = field(factory=set)

    def asleep_after(self) -> frozenset[int]:
        """Who need not go first after this choice: whoever could have gone before it to the same effect."""
        if self.waiting[self.chosen] != "read":
            return frozenset()
        return frozenset(n for n in self.asleep | self.done if n != self.chosen and self.waiting[n] == "read")
