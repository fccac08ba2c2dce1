"""Acts that do not meet a demand of the law, one for every demand of every act; and what makes each deadline lapse.

Rows only: the words of the walk there, and the act at its end. Which demand refuses it is asked of the law when the row is tried.
"""

from collections.abc import Mapping

from lifecycle.conformance.fuzz.sayings import LIMITS, OTHER, PARENT
from lifecycle.conformance.fuzz.trial import Step, steps
from lifecycle.law.states import Cause

_PARENT = (Step("request", "parent", job=PARENT), Step("accept", job=PARENT))
_CHILD = (*_PARENT, Step("request", "child"))
_DELIVERED = "request:verdict accept deliver"
_BELOW = (*steps("request accept"), Step("request", "below", job="below"))


def _deep() -> tuple[Step, ...]:
    """A line of jobs, each delegated from the one before, down to one level more than the limit."""
    line = [*steps("request accept")]
    for depth in range(1, LIMITS.depth + 2):
        line += [Step("request", f"level-{depth}", job=f"level-{depth}"), Step("accept", job=f"level-{depth}")]
    return tuple(line[:-1])


def _broad() -> tuple[Step, ...]:
    """One child more than the limit."""
    children = (Step("request", "below", job=f"below-{n}") for n in range(LIMITS.breadth + 1))
    return (*steps("request accept"), *children)


def _long(before: str, last: str) -> tuple[Step, ...]:
    """A log as long as the limit lets it be, and one act more."""
    done = steps(before)
    return (*done, *steps("progress") * (LIMITS.entries - len(done)), *steps(last))


OFFENCES: Mapping[tuple[str, str], tuple[Step, ...]] = {
    ("request", "judged_by_others"): steps("request:self-judged"),
    ("request", "acceptance_listed"): steps("request:empty"),
    ("request", "ids_told_apart"): steps("request:namesake"),
    ("request", "parent_active"): (_PARENT[0], Step("request", "child")),
    ("request", "parents_terms_kept"): (*_PARENT, Step("request", "bare-child")),
    ("request", "superseded_ended"): (Step("request", "other", job=OTHER), Step("request", "supersedes")),
    ("request", "few_conditions"): steps("request:many"),
    ("request", "tree_shallow"): _deep(),
    ("request", "tree_narrow"): _broad(),
    ("revise", "acceptance_listed"): steps("request:verdict counter revise:empty"),
    ("revise", "ids_told_apart"): steps("request counter revise:namesake"),
    ("revise", "parents_terms_kept"): (*_CHILD, *steps("counter revise:bare")),
    ("revise", "few_revisions"): steps("request" + " counter revise" * (LIMITS.revisions + 1)),
    ("revise", "few_conditions"): steps("request counter revise:many"),
    ("adopt", "grounded"): steps("request counter:atomic adopt"),
    ("adopt", "offer_is_binding"): steps("request counter:wish adopt"),
    ("adopt", "few_restated"): steps("request:review accept veto" + " counter adopt veto" * LIMITS.vetoes + " counter adopt"),
    ("accept", "spent_grows"): steps("request defer:spent accept:refunded"),
    ("accept", "ids_told_apart"): steps("request accept:namesake"),
    ("accept", "covers_request"): steps("request accept:weaker"),
    ("accept", "grounded"): steps("request:atomic accept"),
    ("accept", "checks_requesters"): steps("request accept:foreign"),
    ("accept", "few_restated"): steps("request:review" + " accept veto" * (LIMITS.vetoes + 1) + " accept"),
    ("accept", "few_conditions"): steps("request accept:many"),
    ("decline", "spent_grows"): steps("request defer:spent decline:refunded"),
    ("counter", "spent_grows"): steps("request defer:spent counter:refunded"),
    ("counter", "ids_told_apart"): steps("request counter:namesake"),
    ("counter", "counter_keeps_parents"): (*_CHILD, *steps("counter:bare")),
    ("counter", "terms_given"): steps("request counter:question"),
    ("counter", "counter_binding"): steps("request accept counter:wish"),
    ("counter", "few_conditions"): steps("request counter:many"),
    ("counter", "few_counters"): steps("request accept" + " counter insist" * LIMITS.counters + " counter"),
    ("counter", "few_entries"): _long("request accept", "counter"),
    ("defer", "spent_grows"): steps("request defer:asking-spent resolve defer:refunded"),
    ("defer", "until_in_range"): steps("request defer:past"),
    ("defer", "need_or_search"): steps("request defer:nothing"),
    ("defer", "need_of_a_party"): steps("request defer:stranger"),
    ("defer", "few_deferrals"): steps("request" + " defer:asking resolve" * LIMITS.deferrals + " defer"),
    ("clear", "rules_agree"): steps("request:review accept clear:unruled"),
    ("veto", "rules_agree"): steps("request:review accept veto:unruled"),
    ("progress", "spent_grows"): steps("request accept progress:spent progress:refunded"),
    ("progress", "points_somewhere"): steps("request accept progress:pointless"),
    ("progress", "few_entries"): _long("request accept", "progress"),
    ("block", "spent_grows"): steps("request accept progress:spent block:refunded"),
    ("block", "need_given"): steps("request accept block:nothing"),
    ("block", "need_of_a_party"): steps("request accept block:itself"),
    ("block", "few_blocks"): steps("request accept" + " block resolve" * LIMITS.blocks + " block"),
    ("block", "few_entries"): _long("request accept", "block"),
    ("resolve", "asks_something"): steps("request defer resolve"),
    ("propose", "spent_grows"): steps("request accept progress:spent propose:refunded"),
    ("propose", "something_gated"): steps("request accept progress propose:ungated"),
    ("propose", "few_calls"): steps("request accept progress propose:many"),
    ("propose", "few_proposals"): steps("request accept progress" + " propose decide" * LIMITS.proposals + " propose"),
    ("propose", "few_entries"): _long("request accept", "propose"),
    ("deliver", "spent_grows"): steps("request accept progress:spent deliver:refunded"),
    ("deliver", "children_ended"): (*_BELOW, *steps("deliver")),
    ("deliver", "report_complete"): steps("request accept deliver:short"),
    ("deliver", "report_names_terms"): steps("request accept deliver:more"),
    ("deliver", "met_with_evidence"): steps("request accept deliver:unproven"),
    ("deliver", "few_redelivered"): steps("request:verdict accept" + " deliver rework" * (LIMITS.reworks + 1) + " deliver"),
    ("confirm", "records_known"): steps(f"{_DELIVERED} confirm:unknown"),
    ("confirm", "authorities_named"): steps(f"{_DELIVERED} confirm:skipped"),
    ("confirm", "checks_passed"): steps(f"{_DELIVERED} confirm:unchecked"),
    ("confirm", "faults_waived"): steps("request:verdict accept deliver:failed confirm"),
    ("reject", "records_known"): steps(f"{_DELIVERED} reject:unknown"),
    ("reject", "authorities_named"): steps(f"{_DELIVERED} reject:skipped"),
    ("rework", "records_known"): steps(f"{_DELIVERED} rework:unknown"),
    ("rework", "authorities_named"): steps(f"{_DELIVERED} rework:skipped"),
    ("fail", "spent_grows"): steps("request accept progress:spent fail:refunded"),
    ("halt", "spent_grows"): steps("request accept progress:spent cancel halt:refunded"),
}  # fmt: skip
"""For each act and each demand on it, a walk whose last step that demand refuses."""

NOT_TRIED: Mapping[tuple[str, str], str] = {
    ("revise", "few_entries"): "revisions are bounded long before entries are",
    ("accept", "few_entries"): "vetoes are bounded long before entries are",
    ("defer", "few_entries"): "deferrals are bounded long before entries are",
}
"""Demands that no walk can come to, and why."""

MORE_OFFENCES: tuple[tuple[Step, ...], ...] = (
    (*_PARENT, Step("request", "child", by="eve")),
    *(steps(f"{_DELIVERED} confirm:{manner}") for manner in ("failed", "unavailable")),
    *(steps(f"request accept progress propose {decided} decide") for decided in ("decide:vague", "decide:denied", "wait")),
)
"""What the law says no to besides, or takes for less than it seems."""

DEADLINES: Mapping[Cause, tuple[tuple[Step, ...], ...]] = {
    Cause.PARENT: tuple(
        (*_CHILD, *steps(walk), Step("cancel", job=PARENT))
        for walk in (
            "", "defer", "counter", "accept", "accept progress", "accept block", "accept progress propose", "accept counter",
        )
    ),
    Cause.COMPLETION: tuple(
        steps(walk)
        for walk in (
            "request:short accept block", "request:short accept counter", "request:sooner accept progress propose wait propose",
        )
    ),
    Cause.BUDGET: (steps("request:hurried accept"), steps("request accept progress:overspent")),
    Cause.LEASE: (steps("request accept"), steps("request accept progress")),
    Cause.STALL: (steps("request:stalling accept"), steps("request:stalling accept progress:idle")),
    Cause.RESPOND: (steps("request"), steps("request counter revise"), steps("request:review accept veto")),
    Cause.UNTIL: (steps("request defer"), steps("request defer:asking")),
    Cause.ANSWER: (steps("request counter"), steps("request accept counter"), steps("request accept progress counter")),
    Cause.REVIEW: (steps("request:review accept"), steps("request:review accept clear counter adopt")),
    Cause.APPROVAL: (steps("request accept progress propose"), steps("request accept progress propose wait propose")),
    Cause.VERDICT: (steps(_DELIVERED), steps(f"{_DELIVERED} rework deliver")),
    Cause.STOP: (steps("request accept cancel"), steps("request accept progress block cancel")),
}  # fmt: skip
"""Walks after which a deadline of each kind is the next to lapse. What has lapsed by then already is only looked at."""

FAMILIES: tuple[tuple[Step, ...], ...] = tuple(
    (*_BELOW, *([Step("accept", job="below")] * busy), *steps(end), *([Step("wait", job="below")] * 2))
    for busy in (0, 1)
    for end in ("cancel", "fail", "wait", "block cancel", "progress:overspent")
)
"""Ends of a job that has a child, idle or busy: the child ends with it."""
