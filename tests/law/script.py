"""What the tests of the law tell their stories with: a cast, a plain act of every name, and a job that acts are done to.

Nothing here decides anything: `Script` hands every act to the law, and keeps what the law answers.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from lifecycle.law import acts
from lifecycle.law.capability import Advertisement, Clause, Guard, Requirement
from lifecycle.law.contract import Contract, Criterion, Escalation, EvidenceRule, Owners
from lifecycle.law.deadlines import deadline, due
from lifecycle.law.decide import ALONE, answerable, begin, decide, lapse
from lifecycle.law.errors import Refusal
from lifecycle.law.fold import replay
from lifecycle.law.guards.move import World
from lifecycle.law.job import Job
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.log import Entry
from lifecycle.law.states import Cause, Stage
from lifecycle.law.terms import Condition, Exclusion, FileCheck, Need, Terms
from lifecycle.law.tools import ProposedCall

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TICK = timedelta(microseconds=1)

CAST = {
    "ann": "the requester",
    "wes": "the worker",
    "rev": "the reviewer",
    "vic": "the verifier",
    "app": "the approver",
    "aut": "an authority",
    "own": "an owner whom the contract names",
    "sub": "a worker to whom the worker delegates",
    "eve": "a stranger",
    "clock": "a name that nobody may bear",
}

BUILDS = Condition("builds", "the package builds", FileCheck("dist/it.whl"))
READS = Condition("reads", "the page reads well")
LOOKS = Condition("looks", "the page looks well", "look at it")
SHIPS = Condition("ships", "the package ships", FileCheck("dist/shipped"))
NO_NET = Exclusion("no-net", "no network")
NO_ROOT = Exclusion("no-root", "no root")
ATOMIC = Requirement("atomic", "atomicity", "all_or_nothing")
GUARDED = Requirement("guarded", "idempotency", "by_key", guard=Guard("ledger", grounded=True))
MENDABLE = Requirement("mendable", "ordering", "total", irreversible=False)
ADVERT = Advertisement("exec", clauses=(Clause("atomicity", "all_or_nothing"),))
CONTRARY = Advertisement("exec", clauses=(Clause("atomicity", "per_record"),))
RULES, OTHER_RULES = "sha256:aa", "sha256:bb"
CALL = ProposedCall("c1", "edit", "sha256:01", "sha256:02", {"path": "a"})
READ = ProposedCall("c2", "read", "sha256:03", "sha256:02", {"path": "a"}, gated=False)
ARTIFACT = acts.Artifact("it.whl", "sha256:cc")
POINTER = acts.Pointer("it.whl")

CONTRACT = Contract(
    "task",
    "1",
    "build it",
    acceptance=(BUILDS, READS),
    invariants=(Criterion("stays", "it still builds", FileCheck("src")), Criterion("calm", "nobody is alarmed", "ask")),
    non_goals=(NO_NET,),
    evidence=(EvidenceRule("builds", "the wheel", ("own", "wes")),),
    escalation=(Escalation("which index", "own"),),
    owners=Owners(user="own"),
)

PARTIES = {"worker": "wes", "reviewer": "rev", "verifier": "vic", "approver": "app", "authorities": ("ann", "aut")}

PLAIN: Mapping[str, Mapping[str, object]] = {
    "request": {"goal": "build it", **PARTIES},
    "decline": {"reason": "no time"},
    "counter": {"terms": Terms(), "concern": "too much", "binding": True},
    "defer": {"until": NOON + 90 * MINUTE, "looking_into": "the index"},
    "veto": {"offending": ("all",), "mend": "less"},
    "progress": {"line": "half done", "points_at": (POINTER,)},
    "block": {"need": Need("a key", "vic")},
    "resolve": {"answer": "here"},
    "propose": {"calls": (CALL,)},
    "decide": {"decisions": {"set": "?", "decisions": []}},
    "reject": {"reason": "not it"},
    "rework": {"reason": "not yet", "mend": ("reads",)},
    "halt": {"work": "partial"},
    "lapse": {"cause": Cause.LEASE, "due": NOON},
}
"""What an act of each name must carry for nobody to object to it, but for what it answers."""

BY = {
    **dict.fromkeys(("request", "revise", "adopt", "insist", "resolve", "cancel"), "ann"),
    **dict.fromkeys(("accept", "decline", "counter", "defer", "progress", "block", "propose", "deliver", "fail", "halt"), "wes"),
    **dict.fromkeys(("clear", "veto"), "rev"),
    **dict.fromkeys(("confirm", "reject", "rework"), "vic"),
    "decide": "app",
    "lapse": "clock",
}
"""Who makes an act of each name in these stories."""


def act_of(name: str, **fields: object) -> acts.Act:
    """A plain act of this name, with these fields changed."""
    return acts.ACTS[name].model_validate({**PLAIN.get(name, {}), **fields})


class Script:
    """One job, from its request on; `now` moves only when it is told to, and nothing lapses by itself."""

    def __init__(self, *, by: str = "ann", now: datetime = NOON, limits: Limits = LIMITS, world: World = ALONE, **fields: object):
        self.now, self.limits = now, limits
        self.world = World()
        begun = begin("job", self.act("request", **fields), id="a0", by=by, now=now, world=world, limits=limits)
        assert isinstance(begun, Entry), begun
        self.entries: list[Entry] = [begun]
        self.job: Job = replay(self.entries)

    def act(self, name: str, **fields: object) -> acts.Act:
        """A plain act of this name; an answer names what stands, unless told otherwise."""
        if "answers" in acts.ACTS[name].model_fields and "answers" not in fields:
            fields["answers"] = answerable(self.job, name)
        return act_of(name, **fields)

    def tries(self, name: str, by: str | None = None, **fields: object) -> Entry | Refusal:
        """What the law answers to an act; nothing is kept of it."""
        act = self.act(name, **fields)
        where = {"world": self.world, "limits": self.limits}
        return decide(self.job, act, id=f"a{self.job.seq + 1}", by=by or BY[name], now=self.now, **where)

    def does(self, name: str, by: str | None = None, **fields: object) -> "Script":
        """The same story with one more act, which the law accepts."""
        entry = self.tries(name, by, **fields)
        assert isinstance(entry, Entry), entry
        return self.learns(entry)

    def refused(self, name: str, by: str | None = None, **fields: object) -> Refusal:
        """The refusal of an act that the law does not accept."""
        refusal = self.tries(name, by, **fields)
        assert isinstance(refusal, Refusal), refusal
        return refusal

    def tells(self, names: str) -> "Script":
        """The same story with these plain acts, one after the other."""
        for name in names.split():
            self.does(name)
        return self

    def later(self, delta: timedelta) -> "Script":
        """The same story, with time gone by and nothing swept."""
        self.now += delta
        return self

    def due(self, renewed_at: datetime | None = None, parent_ended_at: datetime | None = None) -> acts.Lapse | None:
        """The lapse that is due now."""
        return due(self.job, self.now, renewed_at, parent_ended_at)

    def falls_due(self, parent_ended_at: datetime | None = None) -> "Script":
        """The same story at the instant of its next deadline, which lapses."""
        first = deadline(self.job, None, parent_ended_at)
        assert first is not None
        self.now = max(self.now, first[0])
        act = self.due(None, parent_ended_at)
        assert act is not None
        return self.learns(lapse(self.job, act, id=f"a{self.job.seq + 1}", now=self.now))

    def learns(self, entry: Entry) -> "Script":
        """The same story with one more entry."""
        self.entries.append(entry)
        self.job = replay([entry], self.job)
        return self

    @property
    def stage(self) -> Stage:
        """Where the job stands."""
        return self.job.stage


WITH_VERDICT = {"conditions": (READS,)}
WITH_REVIEW = {"review": True}

WAYS: Mapping[Stage, tuple[Mapping[str, object], str]] = {
    Stage.REQUESTED: ({}, ""),
    Stage.DEFERRED: ({}, "defer"),
    Stage.COUNTERED: ({}, "counter"),
    Stage.DECLINED: ({}, "decline"),
    Stage.UNDER_REVIEW: (WITH_REVIEW, "accept"),
    Stage.READY: ({}, "accept"),
    Stage.WORKING: ({}, "accept progress"),
    Stage.BLOCKED: ({}, "accept block"),
    Stage.AWAITING_APPROVAL: ({}, "accept progress propose"),
    Stage.RENEGOTIATING: ({}, "accept counter"),
    Stage.DELIVERED: (WITH_VERDICT, "accept deliver"),
    Stage.UNVERIFIED: ({}, "accept deliver"),
    Stage.ACCEPTED: (WITH_VERDICT, "accept deliver confirm"),
    Stage.REJECTED: (WITH_VERDICT, "accept deliver reject"),
    Stage.ERROR: ({}, "accept fail"),
    Stage.STOPPING: ({}, "accept cancel"),
    Stage.STOPPED: ({}, "cancel"),
}
"""A shortest way to every stage: what the request adds, and the acts after it."""


def at(stage: Stage, **fields: object) -> Script:
    """A story that has come to this stage."""
    more, names = WAYS[stage]
    script = Script(**{**more, **fields}).tells(names)
    assert script.stage is stage
    return script
