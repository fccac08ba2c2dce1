"""One trial: steps taken by the subject and by the law in lockstep, and held against each other after every one.

A step is data, and what it says depends only on how the job stands, so that any list of steps can be taken again: that is how a
counterexample is made short. The first thing that is wrong ends the trial with a `Fault`, which says which sentence does not hold.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta

from attrs import asdict, define, field, frozen

from lifecycle import machine
from lifecycle.conformance.fuzz.reference import Reference
from lifecycle.conformance.fuzz.sayings import BY, JOB, OTHER, PARENT, act_of
from lifecycle.conformance.fuzz.sayings import LIMITS as TIGHT
from lifecycle.conformance.fuzz.subject import Answer, Subject
from lifecycle.law.acts import Act
from lifecycle.law.decide import answerable
from lifecycle.law.errors import Reason
from lifecycle.law.job import Job
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.states import ENDED, PAUSED, Stage, Status

TICK = timedelta(microseconds=1)
EDGE, END, PARTY, STRANGER = (
    "only an edge of the table is taken", "nothing leaves an end", "every act is made by its own party",
    "a stranger knows of no job",
)  # fmt: skip
STALE, IDENTITY, DEMANDS = (
    "an answer names what stands", "an act id is one act, made once", "every act meets the demands of its row",
)  # fmt: skip
LET, WHY, RAISED, WHERE = (
    "every edge of the table may be taken", "a refusal says why", "every act is answered", "the job is where the law has it",
)  # fmt: skip
UNCHANGED, PASSED, ENDS, KEPT, PAUSE, GROWS, ONCE, FACTS, FAMILY = (
    "a refused act changes nothing", "passed means that a verifier accepted it", "an ended job has a termination, an open one none",
    "a termination never changes", "a pause names its decision and its party", "what is spent never decreases",
    "an act is one entry, a deadline lapses once", "the facts are those that the log tells",
    "the children of an ended job end with it",
)  # fmt: skip

_BY_REASON: Mapping[str, str] = {
    Reason.CLOSED: END, Reason.ILLEGAL: EDGE, Reason.NOT_AUTHORISED: PARTY, Reason.JOB_NOT_FOUND: STRANGER,
    Reason.STALE_OFFER: STALE, Reason.ACT_ID_REUSED: IDENTITY,
    **dict.fromkeys((Reason.ALREADY_DECIDED, Reason.EXPIRED, Reason.UNKNOWN_SET), STALE),
}  # fmt: skip


@define(eq=False)
class Fault(Exception):
    """A sentence that does not hold, what was seen instead, and the steps that led there.

    The last `together` steps belong together: clients at once, or an act and where it was killed. `replay` takes steps as they were
    taken then; without one they are taken one after the other.
    """

    law: str
    seen: str
    steps: tuple["Step", ...] = ()
    check: str = ""
    together: int = 1
    replay: Callable[[Subject, tuple["Step", ...]], object] | None = None

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.steps))}: {self.law}; {self.seen}"


@frozen
class Step:
    """One step. `what` is an act, or one of `wait` (until the next deadline), `almost` (until just before it), `restart`.

    `manner` is how the act is made, `by` who makes it if it is not its own party. `back` takes the id of the act that was submitted
    so many acts before: to repeat it, or in the manner `again` to say something else under its id. `stale` answers what stood
    before.
    """

    what: str
    manner: str = ""
    by: str = ""
    job: str = JOB
    back: int = 0
    stale: bool = False

    def __str__(self) -> str:
        words = [f"{self.what}:{self.manner}" if self.manner else self.what]
        words += [f"of {self.job}"] * (self.job != JOB) + [f"by {self.by}"] * bool(self.by) + ["to what was replaced"] * self.stale
        return " ".join(words + [f"with the id of {self.back} before"] * bool(self.back))


def steps(text: str) -> tuple[Step, ...]:
    """Plain steps from words: `request:review accept clear wait`."""
    words = (word.partition(":") for word in text.split())
    return tuple(Step(what, manner) for what, _, manner in words)


@frozen
class Sent:
    """One act as it was submitted, so that it can be submitted again."""

    job: str
    act: Act
    by: str
    id: str


@define
class Trial:
    """A subject and the law, both fresh, and the steps they took together. Without a subject, the law goes alone."""

    subject: Subject | None = None
    reference: Reference = field(factory=lambda: Reference(limits=TIGHT))
    taken: list[Step] = field(factory=list)
    sent: list[Sent] = field(factory=list)
    minted: int = 0
    """How many act ids were given."""
    answer: Answer = None
    """What the law answered to the last act."""
    acts: int = 0
    """How many steps were taken in all, forgotten ones too."""
    _seen: dict[str, Mapping[str, object]] = field(factory=dict)
    """What the subject told of each job after the last step."""

    @classmethod
    def of(cls, subject: Subject) -> "Trial":
        """A new trial of this subject."""
        trial = cls(subject, Reference(limits=limits_of(subject)))
        trial.begin()
        return trial

    def begin(self) -> None:
        """Both begin anew."""
        self.reference.reset()
        if self.subject is not None:
            self.subject.reset()
        self.taken, self.sent, self.minted, self._seen = [], [], 0, {}

    def take(self, *these: Step) -> "Trial":
        """Take these steps; Fault if one of them shows a fault."""
        for step in these:
            self.taken.append(step)
            self.acts += 1
            try:
                if step.what in _OTHERS:
                    _OTHERS[step.what](self, step)
                else:
                    self.submit(self.sentence(step))
            except Fault as fault:
                fault.steps = tuple(self.taken)
                raise
        return self

    def probe(self, *these: Step) -> Answer:
        """Take these steps, of which the last changes nothing, and forget that they were taken; what the last was answered."""
        taken, sent = len(self.taken), len(self.sent)
        self.take(*these)
        answer = self.answer
        del self.taken[taken:], self.sent[sent:]
        return answer

    def alone(self) -> "Trial":
        """The same trial of the law alone, to go on with in another way."""
        return Trial(None, self.reference.copy(), list(self.taken), list(self.sent), self.minted)

    def until(self, step: Step) -> timedelta:
        """How long it is to the next deadline of the step's job; an hour, if it has none."""
        due = self.reference.falls_due(step.job)
        return max(timedelta(0), due - self.reference.disk.now) if due is not None else timedelta(hours=1)

    def wait(self, delta: timedelta) -> None:
        """Both let time pass."""
        self.reference.advance(delta)
        if self.subject is None:
            return
        try:
            self.subject.advance(delta)
        except Exception as error:
            raise Fault(RAISED, f"to let time pass raised {type(error).__name__}: {error}") from error
        self.look()

    def restart(self) -> None:
        """The subject is killed and started again."""
        if self.subject is not None:
            self.subject.restart()
            self.look()

    def sentence(self, step: Step) -> Sent:
        """The act that a step makes now."""
        job = self.reference.job(step.job)
        answers = answerable(job, step.what) if job is not None else None
        if step.stale and answers is not None:
            answers = next((one.id for one in self.sent if one.job == step.job and one.id != answers), "nothing")
        act = act_of(step.what, step.manner, job, self.reference.disk.now, answers)
        if step.back and step.back <= len(self.sent):
            old = self.sent[-step.back]
            return Sent(old.job, act if step.manner == "again" else old.act, old.by, old.id)
        self.minted += 1
        return Sent(step.job, act, step.by or by_of(step), f"a{self.minted}")

    def submit(self, one: Sent) -> Answer:
        """Both are given an act; what they answer, and how the jobs then stand, is held against each other."""
        before = self.reference.stage(one.job)
        expected = self.reference.submit(one.job, one.act, by=one.by, id=one.id)
        known = any(one.id == other.id for other in self.sent)
        self.sent.append(one)
        self.answer = expected
        if self.subject is None:
            return expected
        try:
            answer = self.subject.submit(one.job, one.act, by=one.by, id=one.id)
        except Exception as error:
            raise Fault(RAISED, f"`{one.act.act}` raised {type(error).__name__}: {error}") from error
        self._answers_agree(one.act.act, before, expected, answer, IDENTITY if known else LET)
        self.look(refused=expected is not None)
        return expected

    def look(self, refused: bool = False) -> None:
        """Hold every job against the law's, as it stands now."""
        if self.subject is None:
            return
        for job in self.reference.disk.logs:
            self._stands(self.subject, job, refused)

    def _answers_agree(self, name: str, before: str | None, expected: Answer, answer: Answer, law: str) -> None:
        if expected is None and answer is not None:
            raise Fault(law, f"`{name}` in `{before}` was refused as {answer}")
        if expected is None:
            return
        if answer is None:
            raise Fault(_BY_REASON.get(expected, DEMANDS), f"`{name}` in `{before}` was accepted, it is {expected}")
        if answer in _REASONS and answer != expected:
            raise Fault(WHY, f"`{name}` in `{before}` was refused as {answer}, it is {expected}")

    def _stands(self, subject: Subject, job: str, refused: bool) -> None:
        """The sentences that hold of one job at any time, and then the law's own facts."""
        now, before = shown(subject, job), self._seen.get(job, {})
        stage = now["stage"]
        self._seen[job] = now
        if refused and job == self.sent[-1].job and before and now != before:
            raise Fault(UNCHANGED, _differing(now, before))
        for law, seen in sentences(before, now):
            raise Fault(law, seen)
        wanted = {"stage": self.reference.stage(job), **self.reference.facts(job)}
        if stage != wanted["stage"]:
            law = FAMILY if wanted["cause"] == "parent" else WHERE
            raise Fault(law, f"`{job}` is in `{stage}`, the law has it in `{wanted['stage']}`")
        for name, fact in now.items():
            if name in wanted and fact != wanted[name]:
                law = ONCE if name in ("seq", "log") else FACTS
                raise Fault(law, f"{name} of `{job}`: {_short(fact)}, the law has {_short(wanted[name])}")
        self._oracle_agrees(job)

    def _oracle_agrees(self, job: str) -> None:
        """The last edges are edges of the other machine too, which is built from the table by other code."""
        for entry in self.reference.disk.logs[job][-2:]:
            if entry.stage not in machine.leads(entry.origin, entry.act.act):
                raise Fault(EDGE, f"no `{entry.act.act}` leads from `{entry.origin}` to `{entry.stage}`, says the other machine")


def shown(subject: Subject, job: str) -> Mapping[str, object]:
    """What the subject tells of a job now: its stage, and its facts if it tells any."""
    try:
        stage, tells = subject.stage(job), getattr(subject, "facts", None)
        return {"stage": stage, **tells(job)} if tells is not None else {"stage": stage}
    except Exception as error:
        raise Fault(RAISED, f"to read `{job}` raised {type(error).__name__}: {error}") from error


def sentences(before: Mapping[str, object], now: Mapping[str, object]) -> list[tuple[str, str]]:
    """What the facts of one job show to be wrong by themselves, whatever the law's code says."""
    stage, found = now["stage"], []
    if stage is None:
        return []
    if "status" in now and (now["status"] == Status.PASSED) != (stage == Stage.ACCEPTED):
        found.append((PASSED, f"status {now['status']} in `{stage}`"))
    if "reason" in now and (now["reason"] is not None) != (stage in ENDED):
        found.append((ENDS, f"reason {now['reason']} in `{stage}`"))
    if before.get("reason") and any(before.get(name) != now.get(name) for name in ("reason", "status", "cause", "owed_by")):
        found.append((KEPT, f"it was {before['reason']} / {before.get('status')}, it is {now.get('reason')} / {now.get('status')}"))
    if "decision" in now and (bool(now["decision"]) and bool(now.get("waits_for", True))) != (stage in PAUSED):
        found.append((PAUSE, f"`{stage}` waits for {now['decision']}, owed by {now.get('waits_for')}"))
    was, is_ = before.get("spent"), now.get("spent")
    if isinstance(was, tuple) and isinstance(is_, tuple | None) and (is_ is None or any(map(_less, is_, was))):
        found.append((GROWS, f"{_short(was)}, then {_short(is_)}"))
    return found


def limits_of(subject: Subject) -> Limits:
    """The limits the subject holds jobs to; the usual ones, unless it says otherwise."""
    found = getattr(subject, "limits", LIMITS)
    assert isinstance(found, Limits)
    return found


def by_of(step: Step) -> str:
    """Whose act it is to make: of the job its cast, of the others whoever was named there."""
    if step.job in (PARENT, OTHER):
        return "ann" if step.what == "accept" else "top"
    if step.job == JOB:
        return BY[step.what]
    above, worker = ("wes", "sub") if not step.job.startswith("level-") else _line(int(step.job.rpartition("-")[2]))
    return above if BY[step.what] == "ann" else worker


def _line(depth: int) -> tuple[str, str]:
    """Who asks, and who works, so many levels below the job."""
    return f"sub-{depth - 1}" if depth > 1 else "wes", f"sub-{depth}"


_REASONS = frozenset(Reason)


def _less(one: object, other: object) -> bool:
    return one < other  # type: ignore[operator, no-any-return]


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) < 200 else f"{text[:90]} … {text[-90:]}"


def _differing(now: Mapping[str, object], before: Mapping[str, object]) -> str:
    one, other = now.get("job"), before.get("job")
    if isinstance(one, Job) and isinstance(other, Job):
        now, before = asdict(one, recurse=False), asdict(other, recurse=False)
    names = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    return "; ".join(f"{name}: {_short(before.get(name))}, then {_short(now.get(name))}" for name in names)


_OTHERS: Mapping[str, Callable[[Trial, Step], None]] = {
    "wait": lambda trial, step: trial.wait(trial.until(step)),
    "almost": lambda trial, step: trial.wait(max(timedelta(0), trial.until(step) - TICK)),
    "tick": lambda trial, step: trial.wait(TICK),
    "restart": lambda trial, step: trial.restart(),
}
"""The steps that are no acts."""
