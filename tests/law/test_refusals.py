"""Why not: every reason of the law has a move that meets it, and of two that apply at once the earlier is the one given.

A refusal carries the reason, the act, the stage, what the party may do instead and what would mend it; and it changes nothing.
"""

from collections.abc import Callable, Iterator
from itertools import combinations

import pytest

from lifecycle.law import acts, door
from lifecycle.law.capability import Guard, Probe, Requirement
from lifecycle.law.contract import Contract
from lifecycle.law.decide import begin, may
from lifecycle.law.errors import Reason, Refusal
from lifecycle.law.guards.move import Fault, World
from lifecycle.law.job import Job
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.log import Entry
from lifecycle.law.states import Stage
from lifecycle.law.terms import Condition, Exclusion, Need, Spent, Terms
from tests.law.script import (
    ADVERT,
    ARTIFACT,
    ATOMIC,
    BUILDS,
    BY,
    CALL,
    CONTRACT,
    CONTRARY,
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
    Script,
    act_of,
    at,
)

Told = Entry | Refusal
ELSEWHERE = {Reason.JOB_NOT_FOUND, Reason.ACT_ID_REUSED}
"""What only an engine can know: whether there is such a job, and whether an id was used."""

AT_THE_DOOR = {Reason.PAYLOAD_TOO_LARGE, Reason.TEXT_TOO_LONG, Reason.MALFORMED, Reason.UNKNOWN_ACT}


def asks(by: str = "ann", limits: Limits = LIMITS, world: World | None = None, **fields: object) -> Told:
    """What the law answers to a request."""
    act = act_of("request", **fields)
    assert isinstance(act, acts.Request)
    return begin("new", act, id="n0", by=by, now=NOON, limits=limits, world=world or World())


def parent(stage: Stage = Stage.READY, **fields: object) -> Job:
    """A job of `wes` that others may delegate from."""
    return at(stage, **fields).job


def below(**fields: object) -> Script:
    """A job that `wes` delegated to `sub`, with an exclusion that its own parent imposes."""
    above = World(parent=parent(exclusions=(NO_NET,)))
    return Script(by="wes", worker="sub", parent="p", exclusions=(NO_NET,), world=above, **fields)


def limited(script: Script, **limits: int) -> Script:
    """The same story, held to these limits from here on."""
    script.limits = Limits(**limits)
    return script


# Rows: a reason, and a move that it is given for

CASES: dict[Reason, Callable[[], Told]] = {
    Reason.CLOSED: lambda: at(Stage.ERROR).tries("progress"),
    Reason.ILLEGAL: lambda: at(Stage.REQUESTED).tries("progress"),
    Reason.ALREADY_DECIDED: lambda: at(Stage.AWAITING_APPROVAL).does("decide").tries("decide", answers="a3"),
    Reason.EXPIRED: lambda: at(Stage.AWAITING_APPROVAL).falls_due().tries("decide", answers="a3"),
    Reason.UNKNOWN_SET: lambda: at(Stage.AWAITING_APPROVAL).tries("decide", answers="a9"),
    Reason.NOT_AUTHORISED: lambda: at(Stage.REQUESTED).tries("accept", "ann"),
    Reason.STALE_OFFER: lambda: at(Stage.COUNTERED).does("revise").tries("accept", answers="a0"),
    Reason.SPENT_DECREASED: lambda: at(Stage.WORKING).does("progress", spent=Spent(9)).tries("progress", spent=Spent(8)),
    Reason.SELF_JUDGED: lambda: asks(verifier="wes"),
    Reason.EMPTY_ACCEPTANCE: lambda: asks(contract=Contract("c", "1", "build it"), verdict=True),
    Reason.DUPLICATE_ID: lambda: asks(conditions=(READS,), exclusions=(Exclusion("reads", "nobody reads"),)),
    Reason.PARENT_NOT_ACTIVE: lambda: asks("wes", worker="sub", parent="p", world=World(parent=parent(Stage.REQUESTED))),
    Reason.NOT_PARENTS_WORKER: lambda: asks("ann", worker="sub", parent="p", world=World(parent=parent())),
    Reason.PARENT_TERMS: lambda: asks("wes", worker="sub", parent="p", world=World(parent=parent(exclusions=(NO_NET,)))),
    Reason.NOT_ENDED: lambda: asks(supersedes="o", world=World(superseded=parent())),
    Reason.WEAKER_TERMS: lambda: Script(exclusions=(NO_NET,)).tries("accept", exclusions=()),
    Reason.UNGROUNDED: lambda: Script(requirements=(ATOMIC,)).tries("accept"),
    Reason.FOREIGN_CHECK: lambda: Script().tries("accept", conditions=(SHIPS,)),
    Reason.NO_TERMS: lambda: Script().tries("counter", terms=None),
    Reason.NOT_BINDING: lambda: at(Stage.WORKING).tries("counter", binding=False),
    Reason.OTHER_RULES: lambda: at(Stage.UNDER_REVIEW, rules=RULES).tries("clear", rules=OTHER_RULES),
    Reason.UNTIL_OUT_OF_RANGE: lambda: Script().tries("defer", until=NOON),
    Reason.NOTHING_TO_POINT_AT: lambda: at(Stage.WORKING).tries("progress", points_at=()),
    Reason.NO_NEED: lambda: at(Stage.WORKING).tries("block", need=None),
    Reason.UNKNOWN_PARTY: lambda: at(Stage.WORKING).tries("block", need=Need("a key", "eve")),
    Reason.NOTHING_GATED: lambda: at(Stage.WORKING).tries("propose", calls=(READ,)),
    Reason.CHILDREN_OPEN: lambda: with_open_child(at(Stage.WORKING)).tries("deliver"),
    Reason.REPORT_INCOMPLETE: lambda: at(Stage.READY, conditions=(READS,)).tries("deliver", report=acts.Report()),
    Reason.UNKNOWN_CONDITION: lambda: at(Stage.READY).tries("deliver", report=report("more")),
    Reason.NO_EVIDENCE: lambda: at(Stage.READY, conditions=(READS,)).tries("deliver", report=report("reads", evidence="")),
    Reason.NO_AUTHORITY: lambda: delivered(BUILDS).tries("confirm", checks=(skipped("builds", "vic"),)),
    Reason.CHECK_NOT_PASSED: lambda: delivered(BUILDS).tries("confirm"),
    Reason.NOT_WAIVED: lambda: delivered(READS, status="not_met").tries("confirm"),
    Reason.TOO_MANY_REVISIONS: lambda: limited(at(Stage.COUNTERED), revisions=0).tries("revise"),
    Reason.TOO_MANY_DEFERRALS: lambda: limited(Script(), deferrals=0).tries("defer"),
    Reason.TOO_MANY_VETOES: lambda: limited(at(Stage.UNDER_REVIEW).does("veto"), vetoes=0).tries("accept"),
    Reason.TOO_MANY_REWORKS: lambda: limited(at(Stage.DELIVERED).does("rework"), reworks=0).tries("deliver"),
    Reason.TOO_MANY_CONDITIONS: lambda: asks(conditions=(READS, LOOKS), limits=Limits(conditions=1)),
    Reason.TOO_MANY_CALLS: lambda: limited(at(Stage.WORKING), calls=1).tries("propose", calls=(CALL, READ)),
    Reason.TOO_MANY_COUNTERS: lambda: limited(at(Stage.WORKING), counters=0).tries("counter"),
    Reason.TOO_MANY_BLOCKS: lambda: limited(at(Stage.WORKING), blocks=0).tries("block"),
    Reason.TOO_MANY_PROPOSALS: lambda: limited(at(Stage.WORKING), proposals=0).tries("propose"),
    Reason.TOO_MANY_ENTRIES: lambda: limited(at(Stage.WORKING), entries=3).tries("progress"),
    Reason.TREE_TOO_DEEP: lambda: asks("wes", worker="sub", parent="p", world=World(parent=parent()), limits=Limits(depth=0)),
    Reason.TREE_TOO_BROAD: lambda: asks(
        "wes", worker="sub", parent="p", world=World(parent=parent(), children=1), limits=Limits(breadth=1)
    ),
}


def with_open_child(script: Script) -> Script:
    """The same story, with one child that has not ended."""
    script.world = World(children_open=("child",))
    return script


def report(*ids: str, status: str = "met", evidence: str = "seen") -> acts.Report:
    """A report that says the same of each of these conditions."""
    return acts.Report(tuple(acts.Finding(id, status, evidence) for id in ids))


def skipped(check: str, authority: str | None) -> acts.CheckRecord:
    """The record of a check that somebody let be skipped."""
    return acts.CheckRecord(check, "skipped", authority=authority)


def delivered(*conditions: Condition, status: str = "met", **fields: object) -> Script:
    """A delivery that says the same of each condition."""
    told = report(*(condition.id for condition in conditions), status=status)
    return at(Stage.READY, conditions=conditions, **fields).does("deliver", report=told, artifacts=(ARTIFACT,))


def test_every_reason_of_the_law_has_a_case() -> None:
    assert set(CASES) == set(Reason) - ELSEWHERE - AT_THE_DOOR


@pytest.mark.parametrize("reason", CASES)
def test_the_move_is_refused_for_this_reason(reason: Reason) -> None:
    told = CASES[reason]()
    assert isinstance(told, Refusal)
    assert told.reason is reason
    assert told.act and told.detail and told.mend
    assert f"`{told.act}` refused" in str(told) and reason in str(told) and told.mend in str(told)
    assert "\n" not in str(told)


DOOR = {
    Reason.PAYLOAD_TOO_LARGE: '{"act": "decline", "reason": "' + "no " * 40 + '", "odd": 1}',
    Reason.TEXT_TOO_LONG: '{"act": "decline", "reason": "much too long"}',
    Reason.MALFORMED: '{"act": "decline"}',
    Reason.UNKNOWN_ACT: '{"act": "dance"}',
}


@pytest.mark.parametrize("reason", AT_THE_DOOR)
def test_the_door_turns_it_away_for_this_reason(reason: Reason) -> None:
    limits = Limits(payload_bytes=100, text_chars=8)
    told = door.read(DOOR[reason], limits)
    if isinstance(told, acts.Act):
        told = door.weigh(DOOR[reason], told, limits)
    assert isinstance(told, Fault)
    assert told.reason is reason
    assert told.detail and told.mend


@pytest.mark.parametrize("stage", Stage)
def test_a_refusal_tells_the_act_the_stage_and_what_the_party_may_do_instead(stage: Stage) -> None:
    script = at(stage)
    before, dumped = script.job, [entry.act for entry in script.entries]
    for by in ("ann", "wes", "rev", "vic", "app", "eve"):
        told = script.refused("request", by)
        assert (told.act, told.job, told.by, told.stage) == ("request", "job", by, stage)
        assert told.may == may(script.job, by)
    assert (script.job, [entry.act for entry in script.entries]) == (before, dumped)


def test_a_refused_request_stands_nowhere_and_may_be_made_again() -> None:
    told = asks(verifier="wes")
    assert isinstance(told, Refusal)
    assert (told.stage, told.may, told.job, told.by) == (None, ("request",), "new", "ann")


def test_a_late_act_is_told_what_the_job_ended_as() -> None:
    assert "cancelled" in at(Stage.STOPPED).refused("cancel").detail
    assert "delivered" in at(Stage.UNVERIFIED).refused("cancel").detail
    assert "accepted" in at(Stage.ACCEPTED).refused("deliver").detail
    assert at(Stage.STOPPING).refused("deliver").reason is Reason.CLOSED


# Precedence: for each act, in order, what may be wrong with it; and the act with some of it wrong

Wrong = set[Reason]
EARLY = [Reason.NOT_AUTHORISED, Reason.STALE_OFFER, Reason.SPENT_DECREASED]


def made(script: Script, name: str, wrong: Wrong, **fields: object) -> Told:
    """The act, by a stranger, to something replaced, or with less spent than before, if that is what is to be wrong."""
    if Reason.STALE_OFFER in wrong:
        fields["answers"] = "a77"
    if Reason.SPENT_DECREASED in wrong:
        fields["spent"] = Spent(1)
    return script.tries(name, "eve" if Reason.NOT_AUTHORISED in wrong else None, **fields)


def bounds(script: Script, wrong: Wrong, **limits: int) -> None:
    """Hold the story to these limits where they are to be wrong, and to its own length where that is."""
    names = {reason.removeprefix("too_many_"): reason for reason in Reason}
    held = {name: limit for name, limit in limits.items() if names[name] in wrong}
    if Reason.TOO_MANY_ENTRIES in wrong:
        held["entries"] = len(script.entries)
    script.limits = Limits(**held)


def namesake(wrong: Wrong, id: str) -> tuple[Exclusion, ...]:
    """An exclusion that bears the id of another term, if that is what is to be wrong."""
    return (Exclusion(id, "a namesake"),) if Reason.DUPLICATE_ID in wrong else ()


def request(wrong: Wrong) -> Told:
    above = parent(Stage.DEFERRED if Reason.PARENT_NOT_ACTIVE in wrong else Stage.READY, exclusions=(NO_NET,))
    empty = {"contract": Contract("c", "1", "build it"), "verdict": True}
    return asks(
        "rev" if Reason.NOT_PARENTS_WORKER in wrong else "wes",
        worker="sub",
        reviewer="sub" if Reason.SELF_JUDGED in wrong else "vic",
        parent="p",
        supersedes="o" if Reason.NOT_ENDED in wrong else None,
        exclusions=(*(() if Reason.PARENT_TERMS in wrong else (NO_NET,)), *namesake(wrong, "guarded")),
        requirements=(GUARDED,),
        limits=Limits(
            conditions=0 if Reason.TOO_MANY_CONDITIONS in wrong else 9,
            depth=0 if Reason.TREE_TOO_DEEP in wrong else 9,
            breadth=0 if Reason.TREE_TOO_BROAD in wrong else 9,
        ),
        world=World(parent=above),
        **(empty if Reason.EMPTY_ACCEPTANCE in wrong else {}),
    )


def revise(wrong: Wrong) -> Told:
    script = below(verdict=True).does("counter", "sub", terms=Terms(exclusions=(NO_NET,)))
    bounds(script, wrong, revisions=0, conditions=0)
    empty = {"contract": Contract("c", "1", "build it")} if Reason.EMPTY_ACCEPTANCE in wrong else {}
    exclusions = (*(() if Reason.PARENT_TERMS in wrong else (NO_NET,)), *namesake(wrong, "guarded"))
    by = "eve" if Reason.NOT_AUTHORISED in wrong else "wes"
    stale = {"answers": "a77"} if Reason.STALE_OFFER in wrong else {}
    return script.tries("revise", by, exclusions=exclusions, requirements=(GUARDED,), **empty, **stale)


def adopt(wrong: Wrong) -> Told:
    terms = Terms(requirements=(ATOMIC,) if Reason.UNGROUNDED in wrong else ())
    script = Script(review=True)
    if Reason.TOO_MANY_VETOES in wrong:
        script.tells("accept veto")
    bounds(script, wrong, vetoes=0)
    return made(script.does("counter", terms=terms, binding=Reason.NOT_BINDING not in wrong), "adopt", wrong)


def accept(wrong: Wrong) -> Told:
    script = Script(conditions=(READS,), requirements=(ATOMIC,), review=True).does("counter", spent=Spent(9)).does("revise")
    if Reason.TOO_MANY_VETOES in wrong:
        script.does("accept", advertisement=ADVERT).does("veto")
    bounds(script, wrong, vetoes=0, conditions=0)
    kept, more = () if Reason.WEAKER_TERMS in wrong else (READS,), (SHIPS,) if Reason.FOREIGN_CHECK in wrong else (LOOKS,)
    advertisement = None if Reason.UNGROUNDED in wrong else ADVERT
    stated = {"conditions": (*kept, *more), "exclusions": namesake(wrong, "atomic")}
    return made(script, "accept", wrong, **stated, advertisement=advertisement)


def counter(wrong: Wrong) -> Told:
    script = below().does("accept", "sub", spent=Spent(9))
    bounds(script, wrong, conditions=0, counters=0)
    kept = () if Reason.WEAKER_TERMS in wrong else (NO_NET,)
    by = "eve" if Reason.NOT_AUTHORISED in wrong else "sub"
    more = {"answers": "a77"} if Reason.STALE_OFFER in wrong else {}
    more |= {"spent": Spent(1)} if Reason.SPENT_DECREASED in wrong else {}
    terms = None if Reason.NO_TERMS in wrong else Terms((READS,), (*kept, *namesake(wrong, "reads")))
    return script.tries("counter", by, terms=terms, binding=Reason.NOT_BINDING not in wrong, **more)


def defer(wrong: Wrong) -> Told:
    script = Script().does("counter", spent=Spent(9)).does("revise")
    bounds(script, wrong, deferrals=0)
    until = NOON if Reason.UNTIL_OUT_OF_RANGE in wrong else NOON + HOUR
    looking_into = None if Reason.NO_NEED in wrong else "the index"
    need = Need("a key", "eve") if Reason.UNKNOWN_PARTY in wrong else None
    return made(script, "defer", wrong, until=until, looking_into=looking_into, need=need)


def review(name: str) -> Callable[[Wrong], Told]:
    def judged(wrong: Wrong) -> Told:
        rules = OTHER_RULES if Reason.OTHER_RULES in wrong else RULES
        return made(at(Stage.UNDER_REVIEW, rules=RULES), name, wrong, rules=rules)

    return judged


def progress(wrong: Wrong) -> Told:
    script = at(Stage.WORKING).does("progress", spent=Spent(9))
    bounds(script, wrong)
    return made(script, "progress", wrong, points_at=() if Reason.NOTHING_TO_POINT_AT in wrong else (POINTER,))


def block(wrong: Wrong) -> Told:
    script = at(Stage.WORKING).does("progress", spent=Spent(9))
    bounds(script, wrong, blocks=0)
    need = Need("a key", "eve" if Reason.UNKNOWN_PARTY in wrong else "ann")
    return made(script, "block", wrong, need=None if Reason.NO_NEED in wrong else need)


def propose(wrong: Wrong) -> Told:
    script = at(Stage.WORKING).does("progress", spent=Spent(9))
    bounds(script, wrong, calls=0, proposals=0)
    return made(script, "propose", wrong, calls=(READ,) if Reason.NOTHING_GATED in wrong else (CALL,))


def deliver(wrong: Wrong) -> Told:
    script = at(Stage.READY, conditions=(READS, LOOKS)).does("progress", spent=Spent(9)).tells("deliver rework")
    bounds(script, wrong, reworks=0)
    if Reason.CHILDREN_OPEN in wrong:
        with_open_child(script)
    ids = ["reads", *([] if Reason.REPORT_INCOMPLETE in wrong else ["looks"])]
    ids += ["more"] if Reason.UNKNOWN_CONDITION in wrong else []
    return made(script, "deliver", wrong, report=report(*ids, evidence="" if Reason.NO_EVIDENCE in wrong else "seen"))


def confirm(wrong: Wrong) -> Told:
    script = delivered(READS, BUILDS, SHIPS, status="not_met" if Reason.NOT_WAIVED in wrong else "met")
    checks = [acts.CheckRecord("builds", "failed" if Reason.CHECK_NOT_PASSED in wrong else "passed")]
    checks += [skipped("ships", "vic" if Reason.NO_AUTHORITY in wrong else "aut")]
    checks += [acts.CheckRecord("more", "passed")] if Reason.UNKNOWN_CONDITION in wrong else []
    return made(script, "confirm", wrong, checks=tuple(checks))


def verdict(name: str) -> Callable[[Wrong], Told]:
    def judged(wrong: Wrong) -> Told:
        check = skipped("more" if Reason.UNKNOWN_CONDITION in wrong else "builds", "vic" if Reason.NO_AUTHORITY in wrong else "aut")
        return made(delivered(READS, BUILDS), name, wrong, checks=(check,))

    return judged


def decision(wrong: Wrong) -> Told:
    script = at(Stage.AWAITING_APPROVAL).does("decide")
    set_id = "a3" if Reason.ALREADY_DECIDED in wrong else "a9"
    return script.tries("decide", "eve" if Reason.NOT_AUTHORISED in wrong else "app", answers=set_id)


def ended(wrong: Wrong) -> Told:
    script = at(Stage.ERROR if Reason.CLOSED in wrong else Stage.REQUESTED if Reason.ILLEGAL in wrong else Stage.UNDER_REVIEW)
    return script.tries("clear", "eve" if Reason.NOT_AUTHORISED in wrong else "rev", answers="a77")


LAWS = {
    "an act on an ended job": (ended, [Reason.CLOSED, Reason.ILLEGAL, Reason.NOT_AUTHORISED, Reason.STALE_OFFER]),
    "a decision on a decided set": (decision, [Reason.ALREADY_DECIDED, Reason.NOT_AUTHORISED]),
    "a decision on no set": (decision, [Reason.UNKNOWN_SET, Reason.NOT_AUTHORISED]),
    "request": (
        request,
        [
            *(Reason.SELF_JUDGED, Reason.EMPTY_ACCEPTANCE, Reason.DUPLICATE_ID, Reason.PARENT_NOT_ACTIVE),
            *(Reason.NOT_PARENTS_WORKER, Reason.PARENT_TERMS, Reason.NOT_ENDED),
            *(Reason.TOO_MANY_CONDITIONS, Reason.TREE_TOO_DEEP, Reason.TREE_TOO_BROAD),
        ],
    ),
    "revise": (
        revise,
        [
            *(Reason.NOT_AUTHORISED, Reason.STALE_OFFER, Reason.EMPTY_ACCEPTANCE, Reason.DUPLICATE_ID, Reason.PARENT_TERMS),
            *(Reason.TOO_MANY_REVISIONS, Reason.TOO_MANY_CONDITIONS, Reason.TOO_MANY_ENTRIES),
        ],
    ),
    "adopt": (
        adopt,
        [Reason.NOT_AUTHORISED, Reason.STALE_OFFER, Reason.UNGROUNDED, Reason.NOT_BINDING, Reason.TOO_MANY_VETOES],
    ),
    "accept": (
        accept,
        [
            *(*EARLY, Reason.DUPLICATE_ID, Reason.WEAKER_TERMS, Reason.UNGROUNDED, Reason.FOREIGN_CHECK),
            *(Reason.TOO_MANY_VETOES, Reason.TOO_MANY_CONDITIONS, Reason.TOO_MANY_ENTRIES),
        ],
    ),
    "counter": (
        counter,
        [
            *(*EARLY, Reason.DUPLICATE_ID, Reason.WEAKER_TERMS, Reason.NOT_BINDING),
            *(Reason.TOO_MANY_CONDITIONS, Reason.TOO_MANY_COUNTERS, Reason.TOO_MANY_ENTRIES),
        ],
    ),
    "counter without terms": (
        counter,
        [*EARLY, Reason.NO_TERMS, Reason.NOT_BINDING, Reason.TOO_MANY_COUNTERS, Reason.TOO_MANY_ENTRIES],
    ),
    "defer": (defer, [*EARLY, Reason.UNTIL_OUT_OF_RANGE, Reason.UNKNOWN_PARTY, Reason.TOO_MANY_DEFERRALS, Reason.TOO_MANY_ENTRIES]),
    "defer for nothing": (defer, [*EARLY, Reason.UNTIL_OUT_OF_RANGE, Reason.NO_NEED, Reason.TOO_MANY_DEFERRALS]),
    "clear": (review("clear"), [Reason.NOT_AUTHORISED, Reason.STALE_OFFER, Reason.OTHER_RULES]),
    "veto": (review("veto"), [Reason.NOT_AUTHORISED, Reason.STALE_OFFER, Reason.OTHER_RULES]),
    "progress": (
        progress,
        [Reason.NOT_AUTHORISED, Reason.SPENT_DECREASED, Reason.NOTHING_TO_POINT_AT, Reason.TOO_MANY_ENTRIES],
    ),
    "block": (
        block,
        [Reason.NOT_AUTHORISED, Reason.SPENT_DECREASED, Reason.UNKNOWN_PARTY, Reason.TOO_MANY_BLOCKS, Reason.TOO_MANY_ENTRIES],
    ),
    "block for nothing": (block, [Reason.NOT_AUTHORISED, Reason.SPENT_DECREASED, Reason.NO_NEED, Reason.TOO_MANY_BLOCKS]),
    "propose": (
        propose,
        [
            *(Reason.NOT_AUTHORISED, Reason.SPENT_DECREASED, Reason.NOTHING_GATED),
            *(Reason.TOO_MANY_CALLS, Reason.TOO_MANY_PROPOSALS, Reason.TOO_MANY_ENTRIES),
        ],
    ),
    "deliver": (
        deliver,
        [
            *(Reason.NOT_AUTHORISED, Reason.SPENT_DECREASED, Reason.CHILDREN_OPEN, Reason.REPORT_INCOMPLETE),
            *(Reason.UNKNOWN_CONDITION, Reason.NO_EVIDENCE, Reason.TOO_MANY_REWORKS),
        ],
    ),
    "confirm": (
        confirm,
        [
            *(Reason.NOT_AUTHORISED, Reason.STALE_OFFER, Reason.UNKNOWN_CONDITION, Reason.NO_AUTHORITY),
            *(Reason.CHECK_NOT_PASSED, Reason.NOT_WAIVED),
        ],
    ),
    "reject": (verdict("reject"), [Reason.NOT_AUTHORISED, Reason.STALE_OFFER, Reason.UNKNOWN_CONDITION, Reason.NO_AUTHORITY]),
    "rework": (verdict("rework"), [Reason.NOT_AUTHORISED, Reason.STALE_OFFER, Reason.UNKNOWN_CONDITION, Reason.NO_AUTHORITY]),
}


def pairs() -> Iterator[tuple[str, Reason, Reason]]:
    """Every two things that may be wrong with one act at once, the earlier first."""
    for name, (_, reasons) in LAWS.items():
        for first, second in combinations(reasons, 2):
            yield name, first, second


@pytest.mark.parametrize(("name", "first", "second"), [*pairs()])
def test_of_two_reasons_the_earlier_is_given(name: str, first: Reason, second: Reason) -> None:
    told = LAWS[name][0]({first, second})
    assert isinstance(told, Refusal)
    assert told.reason is first
    order = list(Reason)
    assert order.index(first) < order.index(second), "and `Reason` lists it earlier"


@pytest.mark.parametrize("name", LAWS)
def test_with_everything_wrong_the_first_is_given_and_with_nothing_the_act_is_accepted(name: str) -> None:
    attempt, reasons = LAWS[name]
    told = attempt(set(reasons))
    assert isinstance(told, Refusal)
    assert told.reason is reasons[0]
    if not name.startswith(("an act on", "a decision on")):
        assert isinstance(attempt(set()), Entry)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"act": "dance", "reason": "' + "x" * 99 + '"}', Reason.PAYLOAD_TOO_LARGE),
        ('{"act": "decline", "reason": "' + "x" * 99, Reason.PAYLOAD_TOO_LARGE),
        ('{"act": 1}', Reason.MALFORMED),
        ('["dance"]', Reason.MALFORMED),
        ('{"act": "dance", "odd": 1}', Reason.UNKNOWN_ACT),
    ],
)
def test_at_the_door_the_size_is_asked_first_and_the_name_before_the_fields(text: str, reason: Reason) -> None:
    told = door.read(text, Limits(payload_bytes=100))
    assert isinstance(told, Fault)
    assert told.reason is reason


# The acts' own laws, one sentence each


@pytest.mark.parametrize("role", ["verifier", "reviewer", "approver"])
def test_nobody_judges_their_own_work(role: str) -> None:
    told = asks(**{role: "wes"})
    assert isinstance(told, Refusal)
    assert told.reason is Reason.SELF_JUDGED


def test_who_asks_itself_judges_itself_where_it_names_nobody_else() -> None:
    told = asks("wes", reviewer=None, verifier=None, approver=None, authorities=())
    assert isinstance(told, Refusal)
    assert told.reason is Reason.SELF_JUDGED


def test_a_contract_that_lists_nothing_is_an_error_only_when_a_verdict_is_asked() -> None:
    empty = Contract("c", "1", "build it")
    assert isinstance(asks(contract=empty, verdict=False), Entry)
    assert isinstance(asks(contract=empty, verdict=True), Refusal)
    assert isinstance(asks(contract=empty), Entry)


@pytest.mark.parametrize("stage", [Stage.UNDER_REVIEW, Stage.READY, Stage.WORKING, Stage.BLOCKED, Stage.AWAITING_APPROVAL])
def test_any_accepted_or_progressing_job_may_be_delegated_from(stage: Stage) -> None:
    assert isinstance(asks("wes", worker="sub", parent="p", world=World(parent=parent(stage))), Entry)


@pytest.mark.parametrize("stage", [Stage.REQUESTED, Stage.COUNTERED, Stage.DELIVERED, Stage.ERROR, Stage.STOPPING])
def test_no_other_job_may_be_delegated_from(stage: Stage) -> None:
    told = asks("wes", worker="sub", parent="p", world=World(parent=parent(stage)))
    assert isinstance(told, Refusal)
    assert told.reason is Reason.PARENT_NOT_ACTIVE


def test_what_a_parent_imposes_is_named_when_it_is_missing() -> None:
    above = World(parent=parent(exclusions=(NO_NET, NO_ROOT), requirements=(GUARDED,)))
    told = asks("wes", worker="sub", parent="p", world=above, exclusions=(NO_ROOT,))
    assert isinstance(told, Refusal)
    assert "no-net" in told.detail and "guarded" in told.detail and "no-root" not in told.detail


def test_what_a_parent_imposes_may_neither_be_reworded_nor_made_reversible() -> None:
    above = World(parent=parent(exclusions=(NO_NET,), requirements=(GUARDED,)))
    other = Exclusion(NO_NET.id, "little network")
    loose = Requirement(GUARDED.id, GUARDED.invariant, GUARDED.value, irreversible=False, guard=GUARDED.guard)
    for terms in ({"exclusions": (other,), "requirements": (GUARDED,)}, {"exclusions": (NO_NET,), "requirements": (loose,)}):
        told = asks("wes", worker="sub", parent="p", world=above, **terms)
        assert isinstance(told, Refusal)
        assert told.reason is Reason.PARENT_TERMS


def test_a_revision_may_not_reword_what_the_parent_imposes() -> None:
    script = below().does("counter", "sub", terms=Terms(exclusions=(NO_NET,)))
    assert script.refused("revise", "wes", exclusions=(Exclusion(NO_NET.id, "little network"),)).reason is Reason.PARENT_TERMS


def test_a_grandparents_terms_are_imposed_through_the_parent() -> None:
    script = below().does("accept", "sub")
    told = asks("sub", worker="own", parent="p", world=World(parent=script.job))
    assert isinstance(told, Refusal)
    assert told.reason is Reason.PARENT_TERMS


def test_only_an_ended_job_of_the_same_requester_is_superseded() -> None:
    old = World(superseded=parent(Stage.DECLINED))
    assert isinstance(asks(supersedes="o", world=old), Entry)
    assert isinstance(asks(supersedes="o"), Refusal)
    assert isinstance(asks("own", supersedes="o", world=old), Refusal)


REQUEST = {"conditions": (READS, BUILDS), "exclusions": (NO_NET,), "requirements": (GUARDED,)}


@pytest.mark.parametrize(
    "less",
    [
        {"conditions": (READS,)},
        {"conditions": (READS, Condition(BUILDS.id, "the package nearly builds", BUILDS.check))},
        {"conditions": (READS, Condition(BUILDS.id, BUILDS.text))},
        {"conditions": (READS, Condition("built", BUILDS.text, BUILDS.check))},
        {"exclusions": ()},
        {"exclusions": (Exclusion(NO_NET.id, "little network"),)},
        {"requirements": ()},
        {"requirements": (Requirement(GUARDED.id, GUARDED.invariant, "by_luck", guard=GUARDED.guard),)},
        {"requirements": (Requirement(GUARDED.id, GUARDED.invariant, GUARDED.value, irreversible=False, guard=GUARDED.guard),)},
    ],
)
def test_an_acceptance_that_states_less_than_was_asked_is_a_counter(less: dict[str, object]) -> None:
    assert Script(**REQUEST).refused("accept", **less).reason is Reason.WEAKER_TERMS


@pytest.mark.parametrize(
    ("asked", "stated", "taken"),
    [
        ({"batch": 100}, {"batch": 100}, True),
        ({"batch": 100}, {"batch": 512}, True),
        ({"batch": 100}, {}, True),
        ({"batch": 100}, {"batch": 99}, False),
        ({"batch": 100}, {"batch": 100, "bytes": 1}, False),
        ({}, {"batch": 10**9}, False),
    ],
)
def test_an_invariant_that_is_stated_as_wide_or_wider_is_no_less(
    asked: dict[str, int], stated: dict[str, int], taken: bool
) -> None:
    """Entailment is by meaning: what holds up to 512 holds up to 100, and only what is unbounded holds for an unbounded ask."""
    script = Script(requirements=(Requirement("whole", "atomicity", "all_or_nothing", asked),))
    says = {"requirements": (Requirement("whole", "atomicity", "all_or_nothing", stated),), "advertisement": ADVERT}
    if taken:
        assert script.does("accept", **says).job.stage is Stage.READY
    else:
        assert script.refused("accept", **says).reason is Reason.WEAKER_TERMS


def test_an_acceptance_may_add_and_may_state_only_some_of_the_kinds() -> None:
    script = Script(**REQUEST).does("accept", conditions=(BUILDS, READS, LOOKS), exclusions=(NO_NET, NO_ROOT))
    assert script.job.terms == Terms((BUILDS, READS, LOOKS), (NO_NET, NO_ROOT), (GUARDED,))


def test_an_acceptance_without_conditions_takes_the_terms_as_they_are() -> None:
    assert Script(**REQUEST).does("accept").job.terms == Terms((READS, BUILDS), (NO_NET,), (GUARDED,))


def test_an_ungrounded_acceptance_names_the_invariant_and_the_fix_and_a_stronger_one_may_follow() -> None:
    script = Script(requirements=(ATOMIC,))
    told = script.refused("accept", advertisement=CONTRARY)
    assert "atomic" in told.detail and any(fix in told.detail + told.mend for fix in ("advertise", "probe", "amend_schema"))
    assert script.does("accept", advertisement=ADVERT).stage is Stage.READY


@pytest.mark.parametrize(
    "evidence",
    [{"guard": Guard("ledger", grounded=True)}, {"probe": Probe("passed")}],
)
def test_a_worker_grounds_nothing_by_its_own_word(evidence: dict[str, object]) -> None:
    forged = Requirement(ATOMIC.id, ATOMIC.invariant, ATOMIC.value, **evidence)
    assert Script(requirements=(ATOMIC,)).refused("accept", requirements=(forged,)).reason is Reason.UNGROUNDED
    assert Script().refused("accept", requirements=(forged,)).reason is Reason.UNGROUNDED
    assert Script().does("counter", terms=Terms(requirements=(forged,))).refused("adopt").reason is Reason.UNGROUNDED


def test_an_unverified_reversible_invariant_may_be_accepted_on() -> None:
    assert Script(requirements=(MENDABLE,)).does("accept").stage is Stage.READY


def test_a_workers_own_check_is_text_until_the_requester_adopts_it() -> None:
    assert Script().does("accept", conditions=(LOOKS,)).stage is Stage.READY
    assert Script().does("counter", terms=Terms((SHIPS,))).does("adopt").job.terms.conditions == (SHIPS,)


def test_a_question_is_no_counter() -> None:
    assert Script().refused("counter", terms=None, binding=True).reason is Reason.NO_TERMS


def test_a_counter_that_is_no_commitment_can_only_be_revised_to() -> None:
    script = Script().does("counter", binding=False)
    assert script.refused("adopt").reason is Reason.NOT_BINDING
    assert "adopt" not in may(script.job, "ann")
    assert script.does("revise").stage is Stage.REQUESTED


def test_an_adopted_counter_is_held_to_the_same_grounding_as_an_acceptance() -> None:
    offer = {"terms": Terms(requirements=(ATOMIC,))}
    assert Script().does("counter", **offer).refused("adopt").reason is Reason.UNGROUNDED
    assert Script().does("counter", **offer, advertisement=ADVERT).does("adopt").stage is Stage.READY


@pytest.mark.parametrize("name", ["clear", "veto"])
def test_a_review_names_the_rules_it_held_the_acceptance_against(name: str) -> None:
    assert at(Stage.UNDER_REVIEW, rules=RULES).does(name, rules=RULES).job.seq == 2
    assert at(Stage.UNDER_REVIEW).does(name).job.seq == 2
    assert at(Stage.UNDER_REVIEW, rules=RULES).refused(name).reason is Reason.OTHER_RULES


def test_a_deferral_lasts_at_most_the_limit_past_the_reply_that_is_due() -> None:
    script = Script(respond_by=NOON + HOUR)
    latest = NOON + HOUR + LIMITS.deferral
    assert script.refused("defer", until=latest + TICK).reason is Reason.UNTIL_OUT_OF_RANGE
    assert script.does("defer", until=latest).stage is Stage.DEFERRED


def test_a_deferral_that_ends_before_the_last_entry_is_not_in_the_future() -> None:
    script = Script().later(10 * MINUTE).does("counter").does("revise").later(-5 * MINUTE)
    assert script.refused("defer", until=NOON + 7 * MINUTE).reason is Reason.UNTIL_OUT_OF_RANGE


@pytest.mark.parametrize("whom", ["ann", "rev", "vic", "app", "aut", "own"])
def test_a_need_may_be_asked_of_any_party_and_of_an_owner_of_the_contract(whom: str) -> None:
    script = at(Stage.WORKING, contract=CONTRACT).does("block", need=Need("a key", whom))
    assert script.job.pause is not None and script.job.pause.owed_by == whom
    assert script.does("resolve", whom).stage is Stage.WORKING


@pytest.mark.parametrize("whom", ["wes", "eve"])
@pytest.mark.parametrize(("stage", "name"), [(Stage.WORKING, "block"), (Stage.REQUESTED, "defer")])
def test_a_need_is_never_asked_of_the_worker_nor_of_a_stranger(stage: Stage, name: str, whom: str) -> None:
    assert at(stage).refused(name, need=Need("a key", whom)).reason is Reason.UNKNOWN_PARTY


def test_only_the_named_party_or_the_requester_resolves() -> None:
    script = at(Stage.BLOCKED)
    assert {by for by in ("ann", "wes", "rev", "vic", "app", "aut", "eve") if "resolve" in may(script.job, by)} == {"ann", "vic"}
    assert script.refused("resolve", "wes").reason is Reason.NOT_AUTHORISED


def test_a_decision_is_not_parsed_at_the_door() -> None:
    for decisions in (None, "yes", {"set": "a3"}, [1, 2], {"set": "a3", "decisions": [{"call": "c1", "verdict": True}]}):
        assert at(Stage.AWAITING_APPROVAL).does("decide", decisions=decisions).stage is Stage.WORKING


def test_a_decision_by_another_party_leaves_the_set_open() -> None:
    script = at(Stage.AWAITING_APPROVAL)
    for by in ("ann", "wes", "rev", "vic", "eve"):
        assert script.refused("decide", by).reason is Reason.NOT_AUTHORISED
    assert script.does("decide").stage is Stage.WORKING


def test_a_decision_for_a_set_never_issued_leaves_the_open_one_alone() -> None:
    script = at(Stage.AWAITING_APPROVAL)
    assert script.refused("decide", answers="a1").reason is Reason.UNKNOWN_SET
    assert script.does("decide").stage is Stage.WORKING


def test_a_closed_set_is_remembered_while_another_is_open() -> None:
    script = at(Stage.AWAITING_APPROVAL).does("decide").does("propose").falls_due().does("propose")
    assert script.refused("decide", answers="a3").reason is Reason.ALREADY_DECIDED
    assert script.refused("decide", answers="a5").reason is Reason.EXPIRED


def test_a_second_proposal_on_one_job_is_illegal() -> None:
    assert at(Stage.AWAITING_APPROVAL).refused("propose").reason is Reason.ILLEGAL


def test_the_hold_is_not_lifted_by_the_worker() -> None:
    assert at(Stage.AWAITING_APPROVAL).refused("progress").reason is Reason.ILLEGAL


def test_a_report_that_leaves_one_of_three_out_names_it() -> None:
    script = at(Stage.READY, conditions=(READS, LOOKS, BUILDS))
    told = script.refused("deliver", report=report("reads", "builds"))
    assert told.reason is Reason.REPORT_INCOMPLETE
    assert "looks" in told.detail and "reads" not in told.detail


def test_unverifiable_is_legal_and_stays_visible() -> None:
    script = at(Stage.READY, conditions=(READS,)).does("deliver", report=report("reads", status="unverifiable", evidence=""))
    assert script.job.delivery is not None and script.job.delivery.report is not None
    assert script.job.delivery.report.conditions[0].status == "unverifiable"


def test_no_report_at_all_is_no_refusal() -> None:
    assert at(Stage.READY, conditions=(READS, BUILDS)).does("deliver").stage is Stage.DELIVERED


def test_an_exclusion_that_is_not_in_force_is_named() -> None:
    told = at(Stage.READY).refused("deliver", report=acts.Report((), (acts.Observance("no-net", "honoured"),)))
    assert told.reason is Reason.UNKNOWN_CONDITION
    assert "no-net" in told.detail


def test_blank_words_are_no_evidence() -> None:
    script = at(Stage.READY, conditions=(READS,))
    assert script.refused("deliver", report=report("reads", evidence=" ")).reason is Reason.NO_EVIDENCE


PASSED = (acts.CheckRecord("builds", "passed"),)


@pytest.mark.parametrize("status", ["pending", "failed", "unavailable"])
def test_a_check_that_did_not_pass_is_never_confirmed(status: str) -> None:
    script = delivered(BUILDS)
    assert script.refused("confirm", checks=(acts.CheckRecord("builds", status),)).reason is Reason.CHECK_NOT_PASSED


@pytest.mark.parametrize("elsewhere", [{"artifact": "sha256:ee"}, {"contract": "sha256:ee"}])
def test_a_record_made_elsewhere_is_pending_again(elsewhere: dict[str, object]) -> None:
    script = delivered(BUILDS)
    assert script.refused("confirm", checks=(acts.CheckRecord("builds", "passed", **elsewhere),)).reason is Reason.CHECK_NOT_PASSED


@pytest.mark.parametrize("authority", ["ann", "aut"])
def test_a_check_is_skipped_only_with_authority(authority: str) -> None:
    assert delivered(BUILDS).does("confirm", checks=(skipped("builds", authority),)).stage is Stage.ACCEPTED


@pytest.mark.parametrize("authority", ["vic", "rev", "wes", "eve", None])
def test_a_required_check_skipped_with_no_authority_is_not_confirmed(authority: str | None) -> None:
    assert delivered(BUILDS).refused("confirm", checks=(skipped("builds", authority),)).reason is Reason.NO_AUTHORITY


def test_an_invariant_of_the_contract_and_a_guard_are_required_checks_too() -> None:
    script = at(Stage.READY, contract=CONTRACT, requirements=(GUARDED,)).does("deliver")
    records = [acts.CheckRecord(name, "passed") for name in ("builds", "stays", "guarded")]
    for missing in records:
        told = script.refused("confirm", checks=tuple(record for record in records if record is not missing))
        assert told.reason is Reason.CHECK_NOT_PASSED and missing.id in told.detail
    assert script.does("confirm", checks=tuple(records)).stage is Stage.ACCEPTED


def test_a_contract_lets_whom_it_names_skip_that_check_but_never_the_worker() -> None:
    script = at(Stage.READY, contract=CONTRACT).does("deliver")
    stays = acts.CheckRecord("stays", "passed")
    assert script.refused("confirm", checks=(skipped("builds", "wes"), stays)).reason is Reason.NO_AUTHORITY
    assert script.refused("confirm", checks=(skipped("builds", "own"), skipped("stays", "own"))).reason is Reason.NO_AUTHORITY
    assert script.does("confirm", checks=(skipped("builds", "own"), stays)).stage is Stage.ACCEPTED


def test_a_condition_with_no_typed_check_is_confirmed_by_the_verifiers_own_word() -> None:
    assert delivered(READS, LOOKS, status="unverifiable").does("confirm").stage is Stage.ACCEPTED


def waived(*ids: str, by: str = "aut") -> tuple[acts.Waiver, ...]:
    """A waiver of each, by one authority."""
    return tuple(acts.Waiver(id, by, "never mind") for id in ids)


def test_what_was_reported_not_met_or_broken_is_waived_by_name_or_not_confirmed() -> None:
    told = acts.Report((acts.Finding("reads", "not_met"),), (acts.Observance("no-net", "broken"),))
    script = at(Stage.READY, conditions=(READS,), exclusions=(NO_NET,)).does("deliver", report=told)
    assert "no-net" in script.refused("confirm", waivers=waived("reads")).detail
    assert "reads" in script.refused("confirm", waivers=waived("no-net")).detail
    assert script.refused("confirm", waivers=waived("reads", "no-net", by="vic")).reason is Reason.NO_AUTHORITY
    assert script.does("confirm", waivers=waived("reads", "no-net")).stage is Stage.ACCEPTED


def test_a_waiver_does_not_pass_a_check() -> None:
    script = delivered(BUILDS, status="not_met")
    assert script.refused("confirm", waivers=waived("builds")).reason is Reason.CHECK_NOT_PASSED
    assert script.does("confirm", waivers=waived("builds"), checks=(skipped("builds", "aut"),)).stage is Stage.ACCEPTED


def test_who_may_skip_a_check_may_not_waive_its_condition() -> None:
    told = report("builds", "reads", status="not_met")
    script = at(Stage.READY, contract=CONTRACT, exclusions=()).does("deliver", report=told)
    checks = (skipped("builds", "own"), acts.CheckRecord("stays", "passed"))
    waivers = (*waived("reads"), *waived("builds", by="own"))
    assert script.refused("confirm", checks=checks, waivers=waivers).reason is Reason.NO_AUTHORITY


def test_a_term_and_an_invariant_of_its_contract_are_told_apart_by_their_ids() -> None:
    stays = Exclusion("stays", "nothing stays")
    assert asks(contract=CONTRACT, exclusions=(stays,)).reason is Reason.DUPLICATE_ID
    governed = Script(contract=CONTRACT)
    assert governed.refused("accept", exclusions=(NO_NET, stays)).reason is Reason.DUPLICATE_ID
    countered = governed.does("counter")
    assert countered.refused("revise", exclusions=(stays,)).reason is Reason.DUPLICATE_ID
    own = countered.does("revise", conditions=(Condition("stays", "it stays"),))
    assert own.stage is Stage.REQUESTED, "the invariants went with the contract"


def test_rework_names_conditions_in_force() -> None:
    told = at(Stage.DELIVERED).refused("rework", mend=("reads", "more"))
    assert told.reason is Reason.UNKNOWN_CONDITION
    assert "more" in told.detail


# Bounds: the mover is counted, never the judge


def test_a_reviewer_may_always_veto_and_the_worker_may_not_restate_for_ever() -> None:
    script = at(Stage.UNDER_REVIEW)
    for _ in range(LIMITS.vetoes):
        script.tells("veto accept")
    assert script.does("veto").refused("accept").reason is Reason.TOO_MANY_VETOES


def test_vetoed_terms_are_not_brought_back_for_ever_by_adopting_them_either() -> None:
    script = at(Stage.UNDER_REVIEW)
    for _ in range(LIMITS.vetoes):
        script.tells("veto counter adopt")
    told = script.tells("veto counter").refused("adopt")
    assert (told.reason, "revise" in told.mend) == (Reason.TOO_MANY_VETOES, True)
    assert script.does("revise").stage is Stage.REQUESTED


def test_a_verifier_may_always_ask_for_rework_and_the_worker_may_not_deliver_for_ever() -> None:
    script = at(Stage.DELIVERED)
    for _ in range(LIMITS.reworks):
        script.tells("rework deliver")
    assert script.does("rework").refused("deliver").reason is Reason.TOO_MANY_REWORKS


@pytest.mark.parametrize(
    ("stage", "rounds", "name", "reason", "limit"),
    [
        (Stage.COUNTERED, "revise counter", "revise", Reason.TOO_MANY_REVISIONS, LIMITS.revisions),
        (Stage.WORKING, "counter insist", "counter", Reason.TOO_MANY_COUNTERS, LIMITS.counters),
        (Stage.WORKING, "block resolve", "block", Reason.TOO_MANY_BLOCKS, LIMITS.blocks),
        (Stage.WORKING, "propose decide", "propose", Reason.TOO_MANY_PROPOSALS, LIMITS.proposals),
    ],
)
def test_so_many_and_no_more(stage: Stage, rounds: str, name: str, reason: Reason, limit: int) -> None:
    script = at(stage)
    for _ in range(limit):
        script.tells(rounds)
    assert script.refused(name).reason is reason


def test_so_many_deferrals_and_no_more() -> None:
    script = Script()
    for _ in range(LIMITS.deferrals):
        script.does("defer", need=Need("a key", "ann")).does("resolve")
    assert script.refused("defer").reason is Reason.TOO_MANY_DEFERRALS


def test_counters_before_the_work_are_not_counted_with_those_at_work() -> None:
    script = limited(Script().tells("counter revise accept"), counters=1).tells("counter insist")
    assert script.refused("counter").reason is Reason.TOO_MANY_COUNTERS


ALWAYS_HEARD = {
    Stage.REQUESTED: ["decline", "cancel"],
    Stage.COUNTERED: ["adopt", "decline", "cancel"],
    Stage.UNDER_REVIEW: ["clear", "veto", "fail", "cancel"],
    Stage.WORKING: ["deliver", "fail", "cancel"],
    Stage.BLOCKED: ["resolve", "fail", "cancel"],
    Stage.AWAITING_APPROVAL: ["decide", "fail", "cancel"],
    Stage.RENEGOTIATING: ["adopt", "insist", "fail", "cancel"],
    Stage.DELIVERED: ["confirm", "reject", "rework"],
    Stage.STOPPING: ["halt"],
}


@pytest.mark.parametrize(("stage", "name"), [(stage, name) for stage, names in ALWAYS_HEARD.items() for name in names])
def test_what_ends_or_judges_a_job_is_heard_however_long_its_log(stage: Stage, name: str) -> None:
    assert isinstance(limited(at(stage), entries=1).tries(name), Entry)


@pytest.mark.parametrize(
    ("stage", "name"),
    [
        *((Stage.REQUESTED, name) for name in ("accept", "counter", "defer")),
        *((Stage.COUNTERED, name) for name in ("revise",)),
        *((Stage.WORKING, name) for name in ("progress", "block", "propose", "counter")),
    ],
)
def test_what_only_prolongs_a_job_is_not_heard_once_its_log_is_full(stage: Stage, name: str) -> None:
    script = at(stage)
    assert limited(script, entries=len(script.entries)).refused(name).reason is Reason.TOO_MANY_ENTRIES
    assert isinstance(limited(script, entries=len(script.entries) + 1).tries(name), Entry)


@pytest.mark.parametrize("kind", ["conditions", "exclusions", "requirements"])
def test_conditions_exclusions_and_invariants_are_counted_each_on_its_own(kind: str) -> None:
    held = {"conditions": (READS, LOOKS), "exclusions": (NO_NET, NO_ROOT), "requirements": (GUARDED, MENDABLE)}
    assert isinstance(asks(limits=Limits(conditions=2), **held), Entry)
    told = asks(limits=Limits(conditions=1), **{kind: held[kind]})
    assert isinstance(told, Refusal)
    assert told.reason is Reason.TOO_MANY_CONDITIONS


def test_the_root_of_a_tree_is_level_nought() -> None:
    one = World(parent=parent())
    assert isinstance(asks("wes", worker="sub", parent="p", world=one, limits=Limits(depth=1)), Entry)
    two = World(parent=below().does("accept", "sub").job)
    told = asks("sub", worker="own", parent="p", world=two, exclusions=(NO_NET,), limits=Limits(depth=1))
    assert isinstance(told, Refusal)
    assert told.reason is Reason.TREE_TOO_DEEP


def test_who_makes_each_act_in_these_stories_is_who_may() -> None:
    for stage in Stage:
        script = at(stage)
        for name in acts.ACTS:
            if isinstance(script.tries(name) if name != "request" else None, Entry):
                assert name in may(script.job, BY[name])
