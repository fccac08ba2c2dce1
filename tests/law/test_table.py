"""THE TABLE is the document's, edge by edge; what is not in it is refused, and why; a declaration with a fault is not enacted."""

from collections.abc import Iterator

import pytest

from lifecycle.law import acts, door
from lifecycle.law.decide import decide
from lifecycle.law.errors import Reason, Refusal
from lifecycle.law.log import Entry
from lifecycle.law.states import ENDED, FINAL, OPEN, PAUSED, Role, Stage, State
from lifecycle.law.table import LAW, TABLE, Row, Rows, enact
from lifecycle.law.terms import Need
from tests.law.script import BY, CAST, NOON, Script, act_of, at

DOCUMENT = """
| request | requester | (no job) | requested | |
| revise | requester | countered | requested | |
| adopt | requester | countered | accepted.ready | the offer is binding, no review asked |
| adopt | requester | countered | accepted.under_review | the offer is binding, review asked |
| adopt | requester | progressing.renegotiating | progressing.working | the offer's terms replace the terms, no review asked |
| adopt | requester | progressing.renegotiating | accepted.under_review | the same, review asked |
| insist | requester | progressing.renegotiating | progressing.working | the old terms stand |
| accept | worker | requested, deferred | accepted.ready | no review asked |
| accept | worker | requested, deferred | accepted.under_review | review asked |
| decline | worker | requested, deferred, countered | declined | |
| counter | worker | requested, deferred | countered | |
| counter | worker | accepted.ready, progressing.working | progressing.renegotiating | the job is bound |
| defer | worker | requested | deferred | |
| clear | reviewer | accepted.under_review | accepted.ready | |
| veto | reviewer | accepted.under_review | requested | |
| progress | worker | accepted.ready, progressing.working | progressing.working | |
| block | worker | accepted.ready, progressing.working | progressing.blocked | |
| resolve | whoever the need names, or the requester | progressing.blocked | progressing.working | |
| resolve | whoever the need names, or the requester | deferred | requested | the deferral names a need |
| propose | worker | progressing.working | progressing.awaiting_approval | |
| decide | approver | progressing.awaiting_approval | progressing.working | |
| deliver | worker | accepted.ready, progressing.working | result.delivered | a verdict is asked |
| deliver | worker | accepted.ready, progressing.working | result.unverified | none is asked |
| confirm | verifier | result.delivered | result.accepted | |
| reject | verifier | result.delivered | result.rejected | |
| rework | verifier | result.delivered | progressing.working | |
| fail | worker | accepted.*, progressing.* | error | |
| cancel | requester | requested, deferred, countered, accepted.under_review | cancelled.stopped | no work was begun |
| cancel | requester | accepted.ready, progressing.* | cancelled.stopping | |
| halt | worker | cancelled.stopping | cancelled.stopped | |
| lapse | clock | requested, deferred, countered | cancelled.stopped | respond_by, until or answer due, or the parent ended |
| lapse | clock | accepted.under_review | cancelled.stopped | review or completion due, or the parent ended |
| lapse | clock | accepted.ready, progressing.* | cancelled.stopping | the parent ended |
| lapse | clock | accepted.ready, progressing.* | error | completion, lease, stall or budget due |
| lapse | clock | progressing.renegotiating | progressing.working | answer due: the old terms stand |
| lapse | clock | progressing.awaiting_approval | progressing.working | approval due: every call of the bundle rejected as expired |
| lapse | clock | result.delivered | result.unverified | verdict due |
| lapse | clock | cancelled.stopping | cancelled.stopped | stop due: condition of the work unknown |
"""
"""The table of the document, to the letter."""

STAGES = """
requested: requested
deferred: deferred
countered: countered
declined: declined
accepted: accepted.under_review accepted.ready
progressing: progressing.working progressing.blocked progressing.awaiting_approval progressing.renegotiating
result: result.delivered result.unverified result.accepted result.rejected
error: error
cancelled: cancelled.stopping cancelled.stopped
"""

Edge = tuple[str, Role, Stage | None, Stage, str]


def stages(words: str) -> Iterator[Stage | None]:
    """The stages that one cell names: a list, `accepted.*` for all of a state, or none yet."""
    for word in words.split(", "):
        if word == "(no job)":
            yield None
        elif word.endswith(".*"):
            yield from (stage for stage in Stage if stage.state == word[:-2])
        else:
            yield Stage(word)


def documented() -> list[Edge]:
    """The document's edges, one by one."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in DOCUMENT.strip().splitlines()]
    return [(act, Role(who), origin, Stage(to), why) for act, who, origins, to, why in cells for origin in stages(origins)]


def test_the_table_has_the_documents_edges_in_the_documents_order() -> None:
    assert [(row.act, row.by, row.origin, row.to, row.why) for row in LAW.rows] == documented()


def test_there_are_seventeen_stages_twenty_three_acts_and_seventy_edges() -> None:
    assert (len(Stage), len(acts.ACTS), len(LAW.rows)) == (17, 23, 70)


def test_every_state_has_the_documents_stages() -> None:
    lines = [line.split(": ") for line in STAGES.strip().splitlines()]
    assert {state: [stage for stage in Stage if stage.state == state] for state in State} == {
        State(state): [Stage(stage) for stage in names.split()] for state, names in lines
    }


def test_open_paused_ended_and_final_are_the_documents() -> None:
    paused = "deferred countered accepted.under_review progressing.blocked progressing.awaiting_approval"
    assert {Stage(name) for name in [*paused.split(), "progressing.renegotiating", "result.delivered"]} == PAUSED
    assert PAUSED | {Stage(name) for name in ("requested", "accepted.ready", "progressing.working")} == OPEN
    assert frozenset(Stage) - OPEN == ENDED
    assert ENDED - {Stage.STOPPING} == FINAL


def test_nothing_leaves_a_final_stage_and_every_other_is_left_by_the_clock() -> None:
    assert {row.origin for row in LAW.rows} & FINAL == set()
    assert {row.origin for row in LAW.rows if row.act == "lapse"} == frozenset(Stage) - FINAL


def test_every_stage_is_reached_from_the_request() -> None:
    reached: set[Stage | None] = {None}
    while more := {row.to for row in LAW.rows if row.origin in reached} - reached:
        reached |= more
    assert reached == {None, *Stage}


def expected(script: Script, name: str, by: str) -> Reason | set[Stage]:
    """What the document says of this act by this party: the reason of the refusal, or where it may lead."""
    edges = [edge for edge in documented() if edge[0] == name and edge[2] is script.stage]
    if not edges and script.stage in ENDED:
        return Reason.CLOSED
    if not edges:
        return Reason.UNKNOWN_SET if name == "decide" else Reason.ILLEGAL
    needed = {Role.NEEDED: {"ann", "vic"}, Role.CLOCK: set[str]()}
    if by not in needed.get(edges[0][1], {BY[name]}):
        return Reason.NOT_AUTHORISED
    return {edge[3] for edge in edges}


def standing_in(stage: Stage) -> Script:
    """A job in this stage; a deferral asks the verifier for something, as a block does."""
    return Script().does("defer", need=Need("a key", "vic")) if stage is Stage.DEFERRED else at(stage)


@pytest.mark.parametrize("stage", Stage)
def test_every_act_by_every_party_is_answered_as_the_document_says(stage: Stage) -> None:
    script = standing_in(stage)
    before = script.job
    for name in acts.ACTS:
        for by in CAST:
            told, said = script.tries(name, by), expected(script, name, by)
            if isinstance(told, Entry):
                assert isinstance(said, set) and told.stage in said, f"{name} by {by}"
            else:
                assert told.reason is said, f"{name} by {by}: {told}"
    assert script.job == before


@pytest.mark.parametrize("name", ["to_result", "__class__", "state", "trigger", "Request", "requested", ""])
def test_a_name_that_is_no_act_is_unknown_and_never_looked_up(name: str) -> None:
    told = door.read(f'{{"act": "{name}"}}')
    assert not isinstance(told, acts.Act)
    assert told.reason is Reason.UNKNOWN_ACT
    assert told.mend.endswith(", ".join(acts.ACTS))


@pytest.mark.parametrize("name", ["to_result", "__class__"])
def test_an_unknown_act_that_came_past_the_door_is_refused_all_the_same(name: str) -> None:
    script = at(Stage.WORKING)
    told = decide(script.job, acts.Act(act=name), id="a9", by="wes", now=NOON)
    assert isinstance(told, Refusal)
    assert told.reason is Reason.ILLEGAL


def test_an_illegal_pair_and_an_unknown_name_are_two_different_reasons() -> None:
    unknown = door.read('{"act": "to_result"}')
    assert not isinstance(unknown, acts.Act)
    assert {unknown.reason, at(Stage.WORKING).refused("accept").reason} == {Reason.UNKNOWN_ACT, Reason.ILLEGAL}


WORKER = Role.WORKER
FAULTY = {
    "a duplicate edge": Rows("decline", WORKER, (Stage.REQUESTED,), Stage.DECLINED),
    "an edge to another stage for no other reason": Rows("decline", WORKER, (Stage.COUNTERED,), Stage.ERROR),
    "an unknown target": Rows("halt", WORKER, (Stage.WORKING,), "nowhere"),  # type: ignore[arg-type]
    "an unknown origin": Rows("halt", WORKER, ("nowhere",), Stage.STOPPED),  # type: ignore[arg-type]
    "an edge out of a final stage": Rows("progress", WORKER, (Stage.ERROR,), Stage.WORKING),
    "an unknown act": Rows("to_result", WORKER, (Stage.WORKING,), Stage.UNVERIFIED),  # type: ignore[arg-type]
    "an edge with no condition beside one": Rows("accept", WORKER, (Stage.REQUESTED,), Stage.UNDER_REVIEW),
    "an edge with a condition beside one without": Rows(
        "halt", WORKER, (Stage.STOPPING,), Stage.STOPPED, "", (lambda job, act: True,)
    ),
    "the act of another party": Rows("progress", Role.REQUESTER, (Stage.READY,), Stage.BLOCKED, "", (lambda job, act: True,)),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_declaration_with_a_fault_is_not_enacted_and_the_edge_is_named(fault: str) -> None:
    rows = FAULTY[fault]
    with pytest.raises(ValueError, match=f"`{rows.act}` from `{rows.origins[0]}` to `{rows.to}`"):
        enact(2, (*TABLE, rows))


@pytest.mark.parametrize("stage", sorted(FINAL))
def test_no_act_at_all_leaves_a_final_stage(stage: Stage) -> None:
    with pytest.raises(ValueError, match="a final stage has no edges"):
        enact(2, (*TABLE, Rows("progress", WORKER, (stage,), Stage.WORKING)))


def test_the_table_itself_is_enacted_again_to_the_same_rows() -> None:
    assert enact(1, TABLE).rows == LAW.rows
    assert all(isinstance(row, Row) for row in LAW.rows)


def test_a_request_begins_a_job_and_is_no_act_on_one_that_exists() -> None:
    for stage in Stage:
        assert standing_in(stage).refused("request").reason is (Reason.CLOSED if stage in ENDED else Reason.ILLEGAL)


def test_lapse_is_nobodys_act_from_anywhere() -> None:
    for stage in frozenset(Stage) - FINAL:
        script = standing_in(stage)
        refused = {decide(script.job, act_of("lapse"), id="a9", by=by, now=NOON) for by in CAST}
        assert all(isinstance(told, Refusal) and told.reason is Reason.NOT_AUTHORISED for told in refused)
