"""THE TABLE: every edge there is, and what each act is held to.

A literal, and whole: a pair of stage and act that is not here is refused. Diagrams, documents, tests and the fuzz kit read it;
nothing decides elsewhere. The declaration is validated when it is imported. Which row applies when two have the same stage and
act, its `when` tells; what a move must satisfy before it may be made at all, `DEMANDS`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Never, TypeAlias, get_args

from attrs import frozen

from lifecycle.law.acts import ACTS, Act
from lifecycle.law.guards import asking, bounds, choices, judging, working
from lifecycle.law.guards.move import Fault, Move
from lifecycle.law.job import Job
from lifecycle.law.states import BOUND, FINAL, ActName, Role, Stage

Choice: TypeAlias = Callable[[Job, Act], bool]
Demand: TypeAlias = Callable[[Move[Never]], Fault | None]

R, W, CLOCK = Role.REQUESTER, Role.WORKER, Role.CLOCK
NONE: tuple[None, ...] = (None,)
FRESH = (Stage.REQUESTED, Stage.DEFERRED)
AT_WORK = (Stage.READY, Stage.WORKING)
UNDONE = (Stage.READY, Stage.WORKING, Stage.BLOCKED, Stage.AWAITING_APPROVAL, Stage.RENEGOTIATING)
TAKEN = (Stage.UNDER_REVIEW, *UNDONE)
REVIEW, NO_REVIEW = (choices.review_asked,), (choices.no_review_asked,)
BINDING, BINDING_REVIEW = (choices.offer_binding, *NO_REVIEW), (choices.offer_binding, *REVIEW)


@frozen
class Rows:
    """Edges that differ in nothing but the stage they leave."""

    act: ActName
    by: Role
    origins: tuple[Stage | None, ...]
    to: Stage
    why: str = ""
    when: tuple[Choice, ...] = ()


TABLE = (
    Rows("request", R, NONE, Stage.REQUESTED),
    Rows("revise", R, (Stage.COUNTERED,), Stage.REQUESTED),
    Rows("adopt", R, (Stage.COUNTERED,), Stage.READY, "the offer is binding, no review asked", BINDING),
    Rows("adopt", R, (Stage.COUNTERED,), Stage.UNDER_REVIEW, "the offer is binding, review asked", BINDING_REVIEW),
    Rows("adopt", R, (Stage.RENEGOTIATING,), Stage.WORKING, "the offer's terms replace the terms, no review asked", BINDING),
    Rows("adopt", R, (Stage.RENEGOTIATING,), Stage.UNDER_REVIEW, "the same, review asked", BINDING_REVIEW),
    Rows("insist", R, (Stage.RENEGOTIATING,), Stage.WORKING, "the old terms stand"),
    Rows("accept", W, FRESH, Stage.READY, "no review asked", NO_REVIEW),
    Rows("accept", W, FRESH, Stage.UNDER_REVIEW, "review asked", REVIEW),
    Rows("decline", W, (*FRESH, Stage.COUNTERED), Stage.DECLINED),
    Rows("counter", W, FRESH, Stage.COUNTERED),
    Rows("counter", W, AT_WORK, Stage.RENEGOTIATING, "the job is bound"),
    Rows("defer", W, (Stage.REQUESTED,), Stage.DEFERRED),
    Rows("clear", Role.REVIEWER, (Stage.UNDER_REVIEW,), Stage.READY),
    Rows("veto", Role.REVIEWER, (Stage.UNDER_REVIEW,), Stage.REQUESTED),
    Rows("progress", W, AT_WORK, Stage.WORKING),
    Rows("block", W, AT_WORK, Stage.BLOCKED),
    Rows("resolve", Role.NEEDED, (Stage.BLOCKED,), Stage.WORKING),
    Rows("resolve", Role.NEEDED, (Stage.DEFERRED,), Stage.REQUESTED, "the deferral names a need", (choices.need_named,)),
    Rows("propose", W, (Stage.WORKING,), Stage.AWAITING_APPROVAL),
    Rows("decide", Role.APPROVER, (Stage.AWAITING_APPROVAL,), Stage.WORKING),
    Rows("deliver", W, AT_WORK, Stage.DELIVERED, "a verdict is asked", (choices.verdict_asked,)),
    Rows("deliver", W, AT_WORK, Stage.UNVERIFIED, "none is asked", (choices.no_verdict_asked,)),
    Rows("confirm", Role.VERIFIER, (Stage.DELIVERED,), Stage.ACCEPTED),
    Rows("reject", Role.VERIFIER, (Stage.DELIVERED,), Stage.REJECTED),
    Rows("rework", Role.VERIFIER, (Stage.DELIVERED,), Stage.WORKING),
    Rows("fail", W, TAKEN, Stage.ERROR),
    Rows("cancel", R, (*FRESH, Stage.COUNTERED, Stage.UNDER_REVIEW), Stage.STOPPED, "no work was begun"),
    Rows("cancel", R, UNDONE, Stage.STOPPING),
    Rows("halt", W, (Stage.STOPPING,), Stage.STOPPED),
    Rows("lapse", CLOCK, (*FRESH, Stage.COUNTERED), Stage.STOPPED, "respond_by, until or answer due, or the parent ended"),
    Rows("lapse", CLOCK, (Stage.UNDER_REVIEW,), Stage.STOPPED, "review or completion due, or the parent ended"),
    Rows("lapse", CLOCK, UNDONE, Stage.STOPPING, "the parent ended", (choices.parent_ended,)),
    Rows("lapse", CLOCK, UNDONE, Stage.ERROR, "completion, lease, stall or budget due", (choices.work_ran_out,)),
    Rows("lapse", CLOCK, (Stage.RENEGOTIATING,), Stage.WORKING, "answer due: the old terms stand", (choices.wait_ran_out,)),
    Rows("lapse", CLOCK, (Stage.AWAITING_APPROVAL,), Stage.WORKING,
         "approval due: every call of the bundle rejected as expired", (choices.wait_ran_out,)),
    Rows("lapse", CLOCK, (Stage.DELIVERED,), Stage.UNVERIFIED, "verdict due"),
    Rows("lapse", CLOCK, (Stage.STOPPING,), Stage.STOPPED, "stop due: condition of the work unknown"),
)  # fmt: skip

DEMANDS: Mapping[ActName, tuple[Demand, ...]] = {
    "request": (
        asking.judged_by_others, asking.acceptance_listed, asking.ids_told_apart, asking.parent_active, asking.parents_terms_kept,
        asking.superseded_ended, bounds.few_conditions, bounds.tree_shallow, bounds.tree_narrow,
    ),
    "revise": (
        asking.acceptance_listed, asking.ids_told_apart, asking.parents_terms_kept, bounds.few_revisions, bounds.few_conditions,
        bounds.few_entries,
    ),
    "adopt": (asking.grounded, asking.offer_is_binding, bounds.few_restated),
    "insist": (),
    "accept": (
        working.spent_grows, asking.ids_told_apart, asking.covers_request, asking.grounded, asking.checks_requesters,
        bounds.few_restated, bounds.few_conditions, bounds.few_entries,
    ),
    "decline": (working.spent_grows,),
    "counter": (
        working.spent_grows, asking.ids_told_apart, asking.counter_keeps_parents, asking.terms_given, asking.counter_binding,
        bounds.few_conditions, bounds.few_counters, bounds.few_entries,
    ),
    "defer": (
        working.spent_grows, asking.until_in_range, asking.need_or_search, working.need_of_a_party, bounds.few_deferrals,
        bounds.few_entries,
    ),
    "clear": (judging.rules_agree,),
    "veto": (judging.rules_agree,),
    "progress": (working.spent_grows, working.points_somewhere, bounds.few_entries),
    "block": (working.spent_grows, working.need_given, working.need_of_a_party, bounds.few_blocks, bounds.few_entries),
    "resolve": (working.asks_something,),
    "propose": (
        working.spent_grows, working.something_gated, bounds.few_calls, bounds.few_proposals, bounds.few_entries,
    ),
    "decide": (),
    "deliver": (
        working.spent_grows, working.children_ended, working.report_complete, working.report_names_terms,
        working.met_with_evidence, bounds.few_redelivered,
    ),
    "confirm": (judging.records_known, judging.authorities_named, judging.checks_passed, judging.faults_waived),
    "reject": (judging.records_known, judging.authorities_named),
    "rework": (judging.records_known, judging.authorities_named),
    "fail": (working.spent_grows,),
    "cancel": (),
    "halt": (working.spent_grows,),
    "lapse": (),
}  # fmt: skip
"""What each act is held to, in the order in which it is asked; the first fault is the refusal's reason."""


ANSWERS_BRIEF = frozenset({"accept", "decline", "counter", "defer"})
"""Acts that answer the request or the revision in force."""

ANSWERS_STANDING = frozenset({
    "revise", "adopt", "insist", "clear", "veto", "resolve", "decide", "confirm", "reject", "rework",
})  # fmt: skip
"""Acts that answer what stands: the counter, the acceptance, the block or deferral, the set, the delivery."""


@frozen
class Row:
    """One edge of the table."""

    act: ActName
    by: Role
    origin: Stage | None
    to: Stage
    why: str
    when: tuple[Choice, ...]


@frozen
class Way:
    """What the table says of one stage and act: whose act it is, what it is held to, the rows to choose from."""

    act: ActName
    by: Role
    rows: tuple[Row, ...]
    demands: tuple[Demand, ...]
    answers: bool
    sole: Row | None
    """The only row there is, if it asks nothing."""

    def choose(self, job: Job, act: Act) -> Row | None:
        """The one row that takes this job by this act, or none."""
        for row in self.rows:
            for choice in row.when:
                if not choice(job, act):
                    break
            else:
                return row
        return None


@frozen
class Law:
    """One version of the law: its edges, the way each act goes from each stage, and whose turn it may be there."""

    version: int
    rows: tuple[Row, ...]
    ways: Mapping[Stage | None, Mapping[str, Way]]
    seats: Mapping[Stage | None, frozenset[Role]]

    def choose(self, job: Job, act: Act) -> Row | None:
        """The one row that takes this job by this act, or none."""
        way = self.ways[job.stage].get(act.act)
        return way.choose(job, act) if way is not None else None


def edges(table: Iterable[Rows]) -> tuple[Row, ...]:
    """The table, one row per edge, in its order."""
    return tuple(Row(r.act, r.by, origin, r.to, r.why, r.when) for r in table for origin in r.origins)


def enact(version: int, table: Iterable[Rows], final: frozenset[Stage] = FINAL) -> Law:
    """Validate a declaration and compile it; a ValueError names the first edge that cannot stand."""
    rows = edges(table)
    seen: set[tuple[object, ...]] = set()
    ways: dict[Stage | None, dict[str, Way]] = {None: {}} | {stage: {} for stage in Stage}
    for row in rows:
        edge = f"`{row.act}` from `{row.origin}` to `{row.to}`"
        if row.act not in ACTS or row.act not in DEMANDS:
            raise ValueError(f"{edge}: no such act")
        if not {row.to, row.origin} <= {*Stage, None}:
            raise ValueError(f"{edge}: no such stage")
        if row.origin in final:
            raise ValueError(f"{edge}: a final stage has no edges")
        if (row.origin, row.act, row.when) in seen:
            raise ValueError(f"{edge}: another edge leaves there by the same act for the same reason")
        seen.add((row.origin, row.act, row.when))
        before = ways[row.origin].get(row.act)
        if before is not None and not all(other.when for other in (*before.rows, row)):
            raise ValueError(f"{edge}: an edge with no condition leaves nothing to the others of its act there")
        if before is not None and before.by is not row.by:
            raise ValueError(f"{edge}: the same act there is another party's")
        answers = row.act in ANSWERS_BRIEF | ANSWERS_STANDING
        together = (*(before.rows if before else ()), row)
        sole = None if before or row.when else row
        ways[row.origin][row.act] = Way(row.act, row.by, together, DEMANDS[row.act], answers, sole)
    seats = {stage: frozenset(way.by for way in there.values()) for stage, there in ways.items()}
    return Law(version, rows, ways, seats)


assert set(ACTS) == set(get_args(ActName)) == set(DEMANDS) and set(TAKEN) == BOUND, "the words and the table agree"

LAW = enact(1, TABLE)
"""The law that new jobs are made under."""

LAWS: Mapping[int, Law] = {LAW.version: LAW}
"""Every version this build knows: a job stays on the one its log was begun under."""
