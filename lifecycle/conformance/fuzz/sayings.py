"""What is said: a cast, a plain act of every name, and for every demand of the law an act that does not meet it.

A manner is a way of making an act, by name: the plain one is empty. What an act says may depend on the job as it stands and on the
time, and on nothing else, so that a counterexample is a list of words. Here is what is said, not whether the law lets it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

from lifecycle.conformance.fuzz.subject import NOON
from lifecycle.law import acts
from lifecycle.law.capability import Guard, Requirement
from lifecycle.law.contract import Contract
from lifecycle.law.guards.judging import required
from lifecycle.law.job import Job, Proposal
from lifecycle.law.limits import Limits
from lifecycle.law.terms import Budget, Condition, Exclusion, FileCheck, Intervals, Need, Spent, Terms
from lifecycle.law.tools import ProposedCall

JOB, PARENT, OTHER = "job", "parent", "other"
"""The job that all is about, the one it may be delegated from, and one that merely exists."""

HOUR = timedelta(hours=1)
AGES = timedelta(days=300)

CAST = {"ann": "requester", "wes": "worker", "rev": "reviewer", "vic": "verifier", "app": "approver", "eve": "stranger"}
"""Who acts, each in a part of its own. The parent's requester is `top`, its worker `ann`; a grandchild's worker is `sub`."""

BY = {
    **dict.fromkeys(("request", "revise", "adopt", "insist", "resolve", "cancel"), "ann"),
    **dict.fromkeys(("accept", "decline", "counter", "defer", "progress", "block", "propose", "deliver", "fail", "halt"), "wes"),
    **dict.fromkeys(("clear", "veto"), "rev"),
    **dict.fromkeys(("confirm", "reject", "rework"), "vic"),
    "decide": "app",
    "lapse": "eve",
}
"""Whose act it is to make. A lapse is nobody's: whoever sends one is not its party."""

LIMITS = Limits(
    revisions=7, deferrals=7, vetoes=7, reworks=7, conditions=6, calls=3, counters=7, blocks=7, proposals=7, entries=40, depth=3,
    breadth=3,
)  # fmt: skip
"""Limits that can be come to, and not by any walk that is about something else. A subject that takes limits is best given these."""

BUILDS = Condition("builds", "the package builds", FileCheck("dist/it.whl"))
READS = Condition("reads", "the page reads well")
SHIPS = Condition("ships", "the package ships", FileCheck("dist/shipped"))
NO_NET = Exclusion("no-net", "no network")
NAMESAKE = Exclusion("reads", "nobody reads the page")
ATOMIC = Requirement("atomic", "atomicity", "all_or_nothing")
GUARDED = Requirement("guarded", "idempotency", "by_key", guard=Guard("ledger", grounded=True))
MANY = tuple(Condition(f"c{n}", "one of too many") for n in range(LIMITS.conditions + 1))
CALL = ProposedCall("c1", "edit", "sha256:01", "sha256:02", {"path": "a"})
READ = ProposedCall("c1", "read", "sha256:03", "sha256:02", {"path": "a"}, gated=False)
ARTIFACT, POINTER = acts.Artifact("it.whl", "sha256:cc"), acts.Pointer("it.whl")
RULES = "sha256:aa"
EMPTY = Contract("empty", "1", "build it")
ASKED = Terms((BUILDS, READS), (NO_NET,), (), (), Budget(tokens=1_000))
"""What the job asks for, and what a counter offers."""

Fields: TypeAlias = Mapping[str, object]
Saying: TypeAlias = Callable[[Job | None, datetime], Fields]


def _just(**fields: object) -> Saying:
    """The same, however the job stands."""
    return lambda job, now: fields


def _request(
    *, review: bool = False, verdict: bool = True, child: bool = False, within: float | None = None, **more: object
) -> Saying:
    """A request of the job: reviewed, judged, delegated, due before anything else is."""

    def say(job: Job | None, now: datetime) -> Fields:
        return {
            "goal": "build it", "worker": "wes", "reviewer": "rev", "verifier": "vic", "approver": "app", "rules": RULES,
            "conditions": ASKED.conditions, "exclusions": ASKED.exclusions, "budget": ASKED.budget, "review": review,
            "verdict": verdict, "parent": PARENT if child else None, "complete_by": NOON + within * HOUR if within else None,
            **more,
        }  # fmt: skip

    return say


_LONG = Intervals(respond=AGES, lease=AGES, stall=AGES)
_WITHIN = {"": None, "short": 2, "sooner": 30, "soon": 80}
"""Hours to completion: last of all, before any wait is over, after the first for an approval, after the first for an answer."""

_REQUESTS: dict[str, Saying] = {
    "+".join(word for word in (review, verdict, child, within) if word): _request(
        review=bool(review), verdict=bool(verdict), child=bool(child), within=_WITHIN[within]
    )
    for child, within in (("child", ""), *(("", within) for within in _WITHIN))
    for verdict in ("", "verdict")
    for review in ("", "review")
}
ASKED_HOW = tuple(_REQUESTS)
"""How a job may be asked for, by words: `request:review+verdict`. What is not said is not asked for."""


def _contents(job: Job | None) -> Terms:
    return job.terms if job is not None else ASKED


def _deliver(status: str = "met", evidence: str = "seen", leave: int = 0, more: tuple[str, ...] = (), **fields: object) -> Saying:
    """A delivery that reports the same of each condition in force, but for some left out or added."""

    def say(job: Job | None, now: datetime) -> Fields:
        told = [condition.id for condition in _contents(job).conditions][leave:]
        findings = tuple(acts.Finding(id, status, evidence) for id in (*told, *more))  # type: ignore[arg-type]
        return {"artifacts": (ARTIFACT,), "report": acts.Report(findings), **fields}

    return say


def _confirm(status: str = "passed", authority: str | None = None, **fields: object) -> Saying:
    """A verdict with one record of this status for each check that is required."""

    def say(job: Job | None, now: datetime) -> Fields:
        checks = sorted(required(job)) if job is not None else []
        records = tuple(acts.CheckRecord(check, status, authority=authority) for check in checks)  # type: ignore[arg-type]
        return {"checks": records, **fields}

    return say


def _decide(verdict: str) -> Saying:
    """A word on every gated call of the set that is open."""

    def say(job: Job | None, now: datetime) -> Fields:
        standing = job.standing if job is not None else None
        if not isinstance(standing, Proposal):
            return {"decisions": {"set": "none", "decisions": []}}
        words = [{"call": call.id, "digest": call.digest, "verdict": verdict} for call in standing.calls if call.gated]
        return {"decisions": {"set": standing.id, "decisions": words}}

    return say


def _spends(plain: Saying) -> dict[str, Saying]:
    """The same act with what it cost so far: a little; more than the budget; less than was told before."""

    def spending(tokens: int) -> Saying:
        return lambda job, now: {**plain(job, now), "spent": Spent(tokens)}

    return {"": plain, "spent": spending(100), "overspent": spending(5_000), "refunded": spending(1)}


def _until(delta: timedelta) -> Saying:
    return lambda job, now: {"until": now + delta, "looking_into": "the index"}


_LAPSE = _just(cause="lease", due=NOON)

SAYINGS: Mapping[str, Mapping[str, Saying]] = {
    "request": _REQUESTS | {
        "other": _just(goal="something else", worker="wes"),
        "self-judged": _request(verifier="wes"),
        "empty": _request(conditions=(), contract=EMPTY),
        "namesake": _request(exclusions=(NO_NET, NAMESAKE)),
        "bare-child": _request(child=True, exclusions=()),
        "supersedes": _request(supersedes=OTHER),
        "many": _request(conditions=MANY),
        "atomic": _request(requirements=(ATOMIC,)),
        "guarded": _request(requirements=(GUARDED,)),
        "parent": _just(goal="all of it", worker="ann", exclusions=(NO_NET,), intervals=_LONG, complete_by=NOON + AGES),
        "below": _just(goal="a part", worker="sub", exclusions=(NO_NET,), parent=JOB),
        **{
            f"level-{n}": _just(goal="a part", worker=f"sub-{n}", exclusions=(NO_NET,), parent=f"level-{n - 1}" if n > 1 else JOB)
            for n in range(1, LIMITS.depth + 2)
        },
        "hurried": _request(budget=Budget(seconds=60)),
        "stalling": _request(intervals=Intervals(stall=HOUR / 2)),
        "again": _request(goal="build it otherwise"),
    },
    "revise": {
        "": _just(goal="build less"), "empty": _just(contract=EMPTY), "bare": _just(exclusions=()),
        "namesake": _just(exclusions=(NO_NET, NAMESAKE)), "many": _just(conditions=MANY),
        "again": _just(goal="build more"),
    },
    "adopt": {"": _just()},
    "insist": {"": _just()},
    "accept": _spends(_just()) | {
        "weaker": _just(exclusions=()), "foreign": _just(conditions=(*ASKED.conditions, SHIPS)), "many": _just(conditions=(
            *ASKED.conditions, *MANY)), "again": _just(alongside=True), "namesake": _just(exclusions=(NO_NET, NAMESAKE)),
    },
    "decline": _spends(_just(reason="no time")) | {"again": _just(reason="no tools")},
    "counter": _spends(lambda job, now: {"terms": _contents(job), "concern": "too much", "binding": True}) | {
        "wish": _just(terms=ASKED, concern="too much"), "question": _just(concern="what for?"),
        "bare": _just(terms=Terms(), concern="too much", binding=True),
        "namesake": _just(terms=Terms(ASKED.conditions, (NO_NET, NAMESAKE)), concern="too much", binding=True),
        "many": _just(terms=Terms(MANY, (NO_NET,)), concern="too much", binding=True),
        "atomic": _just(terms=Terms(ASKED.conditions, (NO_NET,), (ATOMIC,)), concern="too much", binding=True),
        "again": _just(terms=ASKED, concern="too little", binding=True),
    },
    "defer": _spends(_until(HOUR)) | {
        "asking": lambda job, now: {"until": now + HOUR, "need": Need("a key", "vic")},
        "asking-spent": lambda job, now: {"until": now + HOUR, "need": Need("a key", "vic"), "spent": Spent(100)},
        "past": _until(timedelta(0)), "nothing": lambda job, now: {"until": now + HOUR}, "again": _until(2 * HOUR),
        "stranger": lambda job, now: {"until": now + HOUR, "need": Need("a key", "eve")},
    },
    "clear": {"": _just(rules=RULES), "unruled": _just()},
    "veto": {"": _just(offending=("all",), mend="less", rules=RULES), "unruled": _just(offending=("all",), mend="less")},
    "progress": _spends(_just(line="half done", points_at=(POINTER,))) | {
        "pointless": _just(line="all is well"), "idle": _just(line="nothing new", nothing_new=True),
        "again": _just(line="done", points_at=(POINTER,)),
    },
    "block": _spends(_just(need=Need("a key", "vic"))) | {
        "nothing": _just(), "stranger": _just(need=Need("a key", "eve")), "itself": _just(need=Need("a key", "wes")),
        "again": _just(need=Need("a lock", "vic")),
    },
    "resolve": {"": _just(answer="here"), "again": _just(answer="there")},
    "propose": _spends(_just(calls=(CALL,))) | {
        "ungated": _just(calls=(READ,)), "many": _just(calls=tuple(
            ProposedCall(f"c{n}", "edit", "sha256:01", "sha256:02") for n in range(LIMITS.calls + 1))),
        "again": _just(calls=(CALL, ProposedCall("c2", "edit", "sha256:01", "sha256:02"))),
    },
    "decide": {"": _decide("approved"), "denied": _decide("denied"), "vague": _decide("yes"), "again": _just(decisions=7)},
    "deliver": _spends(_deliver()) | {
        "short": _deliver(leave=1), "more": _deliver(more=("more",)), "unproven": _deliver(evidence=""),
        "failed": _deliver("not_met"), "again": _deliver(value=7),
    },
    "confirm": {
        "": _confirm(), "unchecked": _just(), "failed": _confirm("failed"), "unavailable": _confirm("unavailable"),
        "skipped": _confirm("skipped", "vic"), "unknown": _just(checks=(acts.CheckRecord("more", "passed"),)),
        "again": _confirm(reason="well done"),
    },
    "reject": {
        "": _just(reason="not it"), "skipped": _confirm("skipped", "vic", reason="not it"),
        "unknown": _just(reason="not it", checks=(acts.CheckRecord("more", "failed"),)), "again": _just(reason="no"),
    },
    "rework": {
        "": _just(reason="not yet", mend=("reads",)), "unknown": _just(reason="not yet", mend=("more",)),
        "skipped": _confirm("skipped", "vic", reason="not yet", mend=("reads",)), "again": _just(reason="no", mend=("reads",)),
    },
    "fail": _spends(_just(words="it cannot be done")) | {"again": _just(words="it can")},
    "cancel": {"": _just(), "again": _just(words="at once")},
    "halt": _spends(_just(work="partial")) | {"again": _just(work="reverted")},
    "lapse": {"": _LAPSE},
}  # fmt: skip
"""Every act, in every manner. `again` is what an act says that takes the id of another."""


def act_of(name: str, manner: str, job: Job | None, now: datetime, answers: str | None) -> acts.Act:
    """The act of this name in this manner; an answer names what it answers."""
    fields = dict(SAYINGS[name][manner](job, now))
    model = acts.ACTS[name]
    if "answers" in model.model_fields:
        fields["answers"] = answers
    return model.model_validate(fields)
