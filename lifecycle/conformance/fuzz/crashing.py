"""Crash points: a client is killed before, between and after the steps of every edge, and the machine is started again.

What was under way is then done or not done, never half; the same act with the same id makes it done, once.
"""

from collections.abc import Mapping
from datetime import timedelta

from attrs import define

from lifecycle.conformance.fuzz.sayings import JOB
from lifecycle.conformance.fuzz.session import Covered, Session, covered
from lifecycle.conformance.fuzz.subject import Killed, Stepped, Turn
from lifecycle.conformance.fuzz.tours import Edge, feasible, taken, walks
from lifecycle.conformance.fuzz.trial import Fault, Step, Trial, shown

HALF = "a crash leaves an act done or not done"
LOST = "what was acknowledged outlives a crash"
POINTS = 50
"""More steps than this has no act: whatever never comes to an end is given up."""


@define
class Dying:
    """A turn that lets so many steps pass, and then kills."""

    passes: int

    def __call__(self, step: str) -> None:
        if self.passes == 0:
            raise Killed
        self.passes -= 1


def crashes(session: Session) -> Covered:
    """Every edge, killed at every point of it."""
    if not isinstance(session.subject, Stepped):
        return Covered("crashes", 0, 0, unchecked="the subject has no steps to be killed between")
    ways = _ways(session)
    points = 0
    for done, walk in enumerate(ways.values()):
        session.progress("crashes", done, len(ways))
        for point in range(POINTS):
            if not killed_at(session.trial(), walk, point):
                break
            points += 1
    found = {str(edge) for edge in ways}
    told = covered("crashes", found, sorted(str(edge) for (edge,) in feasible(1, session.scope)))
    return Covered("crashes", points, points, told.missing)


def _ways(session: Session) -> Mapping[Edge, tuple[Step, ...]]:
    """For every edge, a walk that takes it last."""
    found: dict[Edge, tuple[Step, ...]] = {}
    for walk in walks(1, session.scope):
        trial = Trial()
        for at, step in enumerate(walk):
            come = len(taken(trial))
            trial.take(step)
            for edge in taken(trial)[come:]:
                found.setdefault(edge, walk[: at + 1])
    return found


def killed_at(trial: Trial, walk: tuple[Step, ...], point: int) -> bool:
    """Take a walk whose last step is killed at this point, and go on after a restart; False if it has no such point."""
    trial.take(*walk[:-1])
    last = walk[-1]
    try:
        return _killed(trial, last, Dying(point))
    except Fault as fault:
        fault.steps, fault.together = (*walk, Step(f"killed at step {point + 1} of it")), 2
        fault.replay = lambda subject, these: killed_at(Trial.of(subject), these[:-1], point)
        raise


def _killed(trial: Trial, last: Step, turn: Turn) -> bool:
    subject = trial.subject
    assert isinstance(subject, Stepped)
    (client,) = subject.clients([turn])
    before = shown(subject, JOB)
    one = trial.sentence(last) if last.what != "wait" else None
    delta = trial.until(last) if one is None else timedelta(0)
    after = trial.alone()
    died = False
    try:
        client.submit(one.job, one.act, by=one.by, id=one.id) if one else client.advance(delta)
    except Killed:
        died = True
    subject.restart()
    now = shown(subject, JOB)
    after.submit(one) if one else after.wait(delta)
    if died and now != before and not _is(now, after):
        raise Fault(HALF, f"it was in `{before['stage']}`, it is in `{now['stage']}`, done it is in `{after.reference.stage(JOB)}`")
    if not died and not _is(now, after):
        raise Fault(LOST, f"it is in `{now['stage']}`, acknowledged it was in `{after.reference.stage(JOB)}`")
    if one is None:
        trial.reference.advance(delta)
    subject.advance(timedelta(0))  # whatever hangs on it is finished by the next sweep
    if one is not None:
        trial.submit(one)  # by the law the first time, by the subject the second
    trial.look()
    return died


def _is(now: Mapping[str, object], after: Trial) -> bool:
    """Whether the job is as the law has it after the act."""
    wanted = {"stage": after.reference.stage(JOB), **after.reference.facts(JOB)}
    return all(wanted.get(name) == fact for name, fact in now.items())
