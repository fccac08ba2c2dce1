"""Jobs under jobs: what a parent imposes, what it waits for, and how its end reaches everyone below."""

from collections.abc import Sequence
from functools import partial

import pytest

from lifecycle import Engine, Handle, Jobs, Limits, Reason, Stage, StoreError, acts
from lifecycle.law.capability import Requirement
from lifecycle.law.log import Change, Head, Query
from lifecycle.law.states import ENDED
from lifecycle.law.terms import Exclusion, Terms

from .conftest import Place
from .relay import Between, Failing, Relay
from .stories import (
    ASKED,
    DAY,
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    STEPS,
    Clock,
    at,
    attempt,
    child,
    counted,
    ended,
    lines,
    refused,
    request,
)

NO_NEWS = acts.Progress(line="no news", nothing_new=True)


def under(jobs: Jobs, parent: str, id: str = "child", by: str = "wes", worker: str = "kim", **fields: object) -> Handle:
    """A job that the worker of another delegates from it."""
    return request(jobs, id, requester=by, worker=worker, parent=parent, **fields)


def family(jobs: Jobs) -> dict[str, Handle]:
    """A parent at work with three children, one of them at work with a child of its own, one requested, one delivered."""
    parent = at(jobs, Stage.WORKING, "parent")
    working, asked, done = (under(jobs, "parent", name) for name in ("working", "asked", "done"))
    working.seat("kim").accept()
    done.seat("kim").accept()
    done.seat("kim").deliver("a.py")
    below = under(jobs, "working", "below", by="kim", worker="lee")
    delivered = under(jobs, "parent", "delivered", **ASKED)
    delivered.seat("kim").accept()
    delivered.seat("kim").deliver("a.py")
    return {"parent": parent, "working": working, "asked": asked, "done": done, "below": below, "delivered": delivered}


WITH_PARENT = {
    "working": ("parent_closed / none", Stage.STOPPING),
    "asked": ("parent_closed / none", Stage.STOPPED),
    "below": ("parent_closed / none", Stage.STOPPED),
    "done": ("delivered / unresolved", Stage.UNVERIFIED),
    "delivered": ("None", Stage.DELIVERED),
}
"""What becomes of the family when the parent ends without delivering."""


def became(jobs: Jobs) -> dict[str, tuple[str, Stage]]:
    """How each member stands."""
    return {name: (str(jobs.job(name).termination), jobs.job(name).stage) for name in WITH_PARENT}


# What a parent imposes


def test_a_child_carries_what_its_parent_imposes(jobs: Jobs) -> None:
    """A request that leaves out an exclusion or an invariant of its parent is refused, naming it; so is a revision, a counter."""
    excluded, atomic = Exclusion("no-net", "no network"), Requirement("atomic", "atomicity", "all_or_nothing", irreversible=False)
    at(jobs, Stage.WORKING, "parent", exclusions=[excluded], requirements=[atomic])
    for fields, missing in (({}, "no-net"), ({"exclusions": [excluded]}, "atomic"), ({"requirements": [atomic]}, "no-net")):
        refusal = refused(under, jobs, "parent", **fields)
        assert (refusal.reason, missing in refusal.detail) == (Reason.PARENT_TERMS, True)
    changed = Exclusion("no-net", "no network, but for the weather")
    assert refused(under, jobs, "parent", exclusions=[changed], requirements=[atomic]).reason is Reason.PARENT_TERMS
    job = under(jobs, "parent", exclusions=[excluded], requirements=[atomic])
    less = Terms()
    assert refused(job.seat("kim").counter, "too much", less, binding=True).reason is Reason.WEAKER_TERMS
    job.seat("kim").counter("a little more", Terms((), (excluded,), (atomic,)), binding=True)
    assert refused(job.seat("wes").revise, exclusions=[]).reason is Reason.PARENT_TERMS
    job.seat("wes").adopt()
    assert job.job.brief.lineage.root == "parent"


@pytest.mark.parametrize("stage", Stage)
def test_only_the_worker_of_a_job_at_work_delegates_from_it(jobs: Jobs, stage: Stage) -> None:
    """A parent is accepted or progressing; its worker alone may delegate; to a stranger it is not there."""
    at(jobs, stage, "parent")
    if stage.state in ("accepted", "progressing"):
        assert under(jobs, "parent").job.brief.lineage.depth == 1
        assert refused(under, jobs, "parent", "other", by="ann").reason is Reason.NOT_PARENTS_WORKER
    else:
        assert refused(under, jobs, "parent").reason is Reason.PARENT_NOT_ACTIVE
    assert refused(under, jobs, "parent", "other", by="eve").reason is Reason.PARENT_NOT_ACTIVE
    assert refused(under, jobs, "nowhere", "other").reason is Reason.PARENT_NOT_ACTIVE


def test_a_tree_is_neither_deep_nor_broad(jobs: Jobs) -> None:
    """Levels and children are bounded, each with a refusal of its own; ended children count, also those of one batch."""
    tight = Jobs(jobs.store, sweep_every=None, limits=Limits(depth=2, breadth=2))
    at(tight, Stage.WORKING, "l0")
    for depth in (1, 2):
        by = "wes" if depth == 1 else f"w{depth - 1}"
        under(tight, f"l{depth - 1}", f"l{depth}", by=by, worker=f"w{depth}").seat(f"w{depth}").accept()
    assert refused(under, tight, "l2", "l3", by="w2", worker="w3").reason is Reason.TREE_TOO_DEEP
    under(tight, "l0", "second").seat("wes").cancel()
    assert refused(under, tight, "l0", "third").reason is Reason.TREE_TOO_BROAD
    at(tight, Stage.WORKING, "other")
    three = [(f"c{n}", acts.Request(goal="g", worker="kim", parent="other"), "wes") for n in range(3)]
    assert refused(tight.submit_all, three).reason is Reason.TREE_TOO_BROAD
    assert len(tight.submit_all(three[:2])) == 2


# What a parent waits for


def test_a_job_with_open_children_is_not_delivered(place: Place, jobs: Jobs) -> None:
    """Refused as long as a child is open, naming it; a child that has ended, or been cancelled, holds up nobody."""
    members = family(jobs)
    refusal = refused(place.open().submit, "parent", acts.Deliver(value=1), by="wes")
    assert (refusal.reason, "`working`" in refusal.detail, "`done`" in refusal.detail) == (Reason.CHILDREN_OPEN, True, False)
    members["below"].seat("kim").cancel()
    members["working"].seat("wes").cancel()
    members["asked"].seat("wes").cancel()
    assert refused(STEPS["deliver"], members["parent"].seat).reason is Reason.CHILDREN_OPEN
    members["delivered"].seat("vic").confirm()
    STEPS["deliver"](members["parent"].seat)
    assert members["parent"].stage is Stage.UNVERIFIED


def test_within_one_batch_children_count_as_the_batch_leaves_them(jobs: Jobs) -> None:
    """A child asked for in the batch holds up the delivery; one cancelled in it does not."""
    at(jobs, Stage.WORKING, "parent")
    ask, deliver = ("child", acts.Request(goal="g", worker="kim", parent="parent"), "wes"), ("parent", acts.Deliver(value=1), "wes")
    assert refused(jobs.submit_all, [ask, deliver]).reason is Reason.CHILDREN_OPEN
    assert [row.job for row in jobs.find()] == ["parent"]
    jobs.submit_all([ask])
    jobs.submit_all([("child", acts.Cancel(), "wes"), deliver])
    assert jobs.job("parent").stage is Stage.UNVERIFIED


@pytest.mark.parametrize("order", ["child first", "parent first"])
def test_a_batch_may_touch_a_child_and_its_parent(jobs: Jobs, order: str) -> None:
    """A child is asked for, and its parent moved, in one commit, in either order; what is remembered of both is true."""
    at(jobs, Stage.WORKING, "parent")
    both = [("child", acts.Request(goal="g", worker="kim", parent="parent"), "wes"), ("parent", NO_NEWS, "wes")]
    jobs.submit_all(both if order == "child first" else both[::-1])
    again = [("child", acts.Accept(answers="child"), "kim"), ("parent", NO_NEWS, "wes")]
    jobs.submit_all(again if order == "child first" else again[::-1])
    assert refused(jobs.submit, "parent", acts.Deliver(value=1), by="wes").reason is Reason.CHILDREN_OPEN
    jobs.submit("parent", acts.Cancel(), by="ann")
    assert jobs.job("child").stage is Stage.STOPPING


@pytest.mark.parametrize("mine", ["child", "parent"])
def test_no_job_is_delivered_over_a_child_that_comes_between(place: Place, jobs: Jobs, mine: str) -> None:
    """A child is asked for while its parent is being delivered, in every interleaving: one of the two is refused."""
    inner = place.open().store
    for n in counted():
        at(jobs, Stage.WORKING, f"p{n}")
        moves = [("wes", acts.Request(goal="g", worker="kim", parent=f"p{n}"), f"c{n}"), ("wes", acts.Deliver(value=1), f"p{n}")]
        first, second = moves if mine == "child" else moves[::-1]
        came = []
        theirs = partial(attempt, jobs, second[2], second[0], second[1])
        between = Between(inner, n, lambda came=came, theirs=theirs: came.append(theirs()))
        outcome = attempt(Engine(between), first[2], first[0], first[1])
        if not between.taken:
            break
        made = {outcome[0], came[0][0]}
        assert made == {"made", "refused"}
        reason = next(one[1] for one in (outcome, came[0]) if one[0] == "refused")
        assert reason in (Reason.CHILDREN_OPEN, Reason.PARENT_NOT_ACTIVE)
    assert n > 1


# How its end reaches everyone below


class Commits(Relay):
    """A store that tells what was written together."""

    def __init__(self, inner: Relay) -> None:
        super().__init__(inner)
        self.told: list[list[str]] = []

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        super().append(changes, reads)
        self.told.append([f"{entry.job} {entry.act.act}" for change in changes for entry in change.entries])


@pytest.mark.parametrize("how", ["cancel", "fail", "sweep"])
def test_with_a_parent_its_open_children_end_each_in_a_commit_of_its_own(place: Place, jobs: Jobs, clock: Clock, how: str) -> None:
    """Cancelled, failed or abandoned: the open ones below lapse one by one, at once; results keep what they have come to."""
    family(jobs)
    commits = Commits(jobs.store)
    engine = place.over(commits)
    if how == "sweep":
        clock.ticks(50 * MINUTE)
        for name in ("asked", "below", "delivered"):
            engine.job(name)
        engine.renew("working", by="kim")
        clock.ticks(10 * MINUTE)
        engine.sweep()
    else:
        STEPS[how](engine.handle("parent").seat)
    assert became(engine) == WITH_PARENT
    assert commits.told[0] == [f"parent {'lapse' if how == 'sweep' else how}"]
    assert sorted(commits.told[1:]) == [["asked lapse"], ["below lapse"], ["working lapse"]]
    lapse = engine.log("working")[-1].act
    assert isinstance(lapse, acts.Lapse)
    assert (lapse.cause, engine.job("working").termination.owed_by) == ("parent", None)
    assert engine.sweep() == []
    assert [row.job for row in jobs.store.find(Query(due_by=clock()))] == []


def test_a_result_under_an_ended_parent_keeps_its_verdict(jobs: Jobs, clock: Clock) -> None:
    """A child delivered before its parent was cancelled may still be confirmed; sent back to work, it ends with its parent."""
    parent = at(jobs, Stage.WORKING, "parent")
    children = [under(jobs, "parent", name, **ASKED) for name in ("a", "b", "c")]
    for one in children:
        one.seat("kim").accept()
        one.seat("kim").deliver("a.py")
    STEPS["cancel"](parent.seat)
    confirmed, reworked, left = children
    confirmed.seat("vic").confirm()
    receipt = reworked.seat("vic").rework("not yet", "c1")
    assert (str(confirmed.termination), receipt.stage) == ("accepted / passed", Stage.WORKING)
    assert (lines(reworked)[-2:], str(reworked.termination)) == (["rework", "lapse"], "parent_closed / none")
    clock.ticks(7 * DAY)
    jobs.sweep()
    assert str(left.termination) == "delivered / unresolved"


def test_a_batch_that_ends_a_parent_ends_what_the_batch_began_below_it(jobs: Jobs) -> None:
    """A child is asked for and its parent cancelled in one batch: the child ends with it, at once, and nothing stays due."""
    at(jobs, Stage.WORKING, "parent")
    ask = ("child", acts.Request(goal="g", worker="kim", parent="parent"), "wes")
    jobs.submit_all([ask, ("parent", acts.Cancel(), "ann")])
    assert str(jobs.job("child").termination) == "parent_closed / none"
    jobs.sweep()
    assert jobs.store.find(Query(due_by=NOON)) == []


def test_a_batch_that_ends_a_parent_refuses_what_comes_after_on_its_child(jobs: Jobs) -> None:
    """In one batch the parent is cancelled, then the child reports progress: refused as closed, nothing of it is made."""
    at(jobs, Stage.WORKING, "parent")
    under(jobs, "parent").seat("kim").accept()
    refusal = refused(jobs.submit_all, [("parent", acts.Cancel(), "ann"), ("child", NO_NEWS, "kim")])
    assert (refusal.reason, refusal.job) == (Reason.CLOSED, "child")
    assert (jobs.job("parent").stage, jobs.job("child").stage) == (Stage.WORKING, Stage.READY)
    receipts = jobs.submit_all([("parent", acts.Cancel(), "ann"), ("child", acts.Halt(work="partial"), "kim")])
    assert [receipt.stage for receipt in receipts] == [Stage.STOPPING, Stage.STOPPED]
    assert [entry.act.act for entry in jobs.log("child")][-2:] == ["lapse", "halt"]


def test_a_child_of_an_ended_parent_ends_although_the_clock_went_back(jobs: Jobs, clock: Clock) -> None:
    """The parent ends by a clock that then jumps back: the child's next act is refused all the same."""
    parent = at(jobs, Stage.WORKING, "parent")
    one = under(jobs, "parent")
    one.seat("kim").accept()
    clock.ticks(30 * MINUTE)
    STEPS["progress"](parent.seat)
    clock.ticks(-HOUR)
    STEPS["cancel"](parent.seat)
    assert refused(one.seat("kim").progress, "on", nothing_new=True).reason is Reason.CLOSED
    assert one.log[-1].at == parent.job.at == NOON + 30 * MINUTE


@pytest.mark.parametrize("spares", range(4))
@pytest.mark.parametrize("after", [False, True])
def test_what_a_failing_store_left_open_the_next_sweep_ends(
    place: Place, jobs: Jobs, clock: Clock, spares: int, after: bool
) -> None:
    """The store fails between the parent's commit and its children's: the cancel is receipted, and the next sweep ends the rest."""
    family(jobs)
    failing = place.over(Failing(jobs.store, "append", after=after, spares=spares))
    if spares == 0:
        with pytest.raises(StoreError):
            STEPS["cancel"](failing.handle("parent").seat)
        assert (jobs.job("parent").stage is Stage.STOPPING) is after
        STEPS["cancel"](failing.handle("parent").seat) if not after else None
    else:
        STEPS["cancel"](failing.handle("parent").seat)
    another = place.open()
    clock.ticks(SECOND)
    another.sweep()
    assert became(another) == WITH_PARENT
    assert [len([line for line in lines(jobs.handle(name)) if line == "lapse"]) for name in WITH_PARENT] == [1, 1, 1, 0, 0]
    assert another.sweep() == []
    assert another.store.find(Query(due_by=clock())) == []


def test_a_process_that_dies_anywhere_while_a_family_ends_leaves_it_to_the_next_sweep(shared: Place, clock: Clock) -> None:
    """Killed at every moment of ending a family of four: once the parent has ended, the next sweep ends all below."""
    jobs = shared.open()
    dies = """
        from tests.engine.test_families import under

        def cancels(n):
            jobs = lifecycle.open(sys.argv[1], clock=Clock())
            lifecycle.Engine(Deadly(jobs.store, n)).submit(f"{n}-parent", lifecycle.acts.Cancel(), by="ann")

        jobs = lifecycle.open(sys.argv[1], clock=Clock())
        for n in range(100):
            at(jobs, Stage.WORKING, f"{n}-parent")
            under(jobs, f"{n}-parent", f"{n}-working").seat("kim").accept()
            under(jobs, f"{n}-parent", f"{n}-asked")
            under(jobs, f"{n}-working", f"{n}-below", by="kim", worker="lee")
            jobs.close()
            (status,) = forked(cancels, [n])
            jobs = lifecycle.open(sys.argv[1], clock=Clock())
            stood = sum(row.job.startswith(f"{n}-") for row in jobs.find(open=True))
            jobs.sweep()
            left = sum(row.job.startswith(f"{n}-") for row in jobs.find(open=True))
            print(status, stood, left, len(jobs.sweep()), jobs.audit())
            if status == 0:
                break
        """
    told = [line.split(" ") for line in ended(child(dies, shared.url)).splitlines()]
    assert [status for status, *_ in told] == ["9"] * (len(told) - 1) + ["0"]
    assert {stood for _, stood, *_ in told} == {"4", "3", "2", "1", "0"}  # it died before each of the commits, and after all
    assert {left for _, _, left, *_ in told} == {"4", "0"}
    assert all((stood == "4") is (left == "4") and rest == ["0", "[]"] for _, stood, left, *rest in told)
    assert jobs.audit() == []


def test_a_family_of_more_than_a_page_ends_whole(clock: Clock) -> None:
    """More children than a store lists at a time: all of them end."""
    many = 1_100
    jobs = Jobs(Place("memory:", clock).open().store, sweep_every=None, limits=Limits(breadth=many))
    at(jobs, Stage.WORKING, "parent")
    jobs.submit_all([(f"c{n}", acts.Request(goal="g", worker="kim", parent="parent"), "wes") for n in range(many)])
    jobs.submit("parent", acts.Cancel(), by="ann")
    assert len(jobs.find(parent="parent", open=True)) == 0
    assert len(jobs.find(state="cancelled", limit=many * 2)) == many + 1
    assert all(stage in ENDED for stage in {row.stage for row in jobs.find()})


# Superseding


def test_only_an_ended_job_of_ones_own_is_superseded(jobs: Jobs) -> None:
    """`supersedes` names an ended job of the same requester."""
    at(jobs, Stage.DECLINED, "old")
    at(jobs, Stage.WORKING, "open")
    for old, by in (("open", "ann"), ("old", "bob"), ("none", "ann")):
        assert refused(request, jobs, "new", requester=by, supersedes=old).reason is Reason.NOT_ENDED
    assert request(jobs, "new", supersedes="old").job.brief.supersedes == "old"
