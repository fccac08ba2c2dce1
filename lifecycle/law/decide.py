"""The whole interpreter: may this party make this act now, and what becomes of the job.

Pure: time, ids and what is known of other jobs come in as arguments. The order of the questions is the order of precedence of
`Reason`. What the questions are stands in `table`; how an accepted act is learnt, in `fold`.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter

from lifecycle.law.acts import Act, Lapse, Request
from lifecycle.law.errors import Reason, Refusal
from lifecycle.law.guards.move import Fault, Move, World
from lifecycle.law.job import Job, Wait
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.log import Draft, Entry, Lineage
from lifecycle.law.states import ENDED, Role
from lifecycle.law.table import ANSWERS_BRIEF, ANSWERS_STANDING, DEMANDS, LAW, LAWS, Law

ALONE = World()
"""A job with no parent, no children, nothing superseded."""


def decide(
    job: Job,
    act: Act,
    *,
    id: str,
    by: str,
    now: datetime,
    world: World = ALONE,
    limits: Limits = LIMITS,
    law: Law | None = None,
) -> Entry | Refusal:
    """The entry that this act becomes, unsealed, or why it is refused. `lapse` makes the clock's own.

    `id` is the act's, `by` a party's, `now` the engine's time: aware, in UTC. Whatever is due has lapsed before.
    """
    law = law or LAWS[job.law]
    way = law.ways[job.stage].get(act.act)
    if way is None:
        return refuse(job, act, by, _unmoved(job, act), law)
    if not _holds(job, way.by, by):
        return refuse(job, act, by, Fault(Reason.NOT_AUTHORISED, *_whose(way.by, way.act)), law)
    if way.answers and act.answered != (standing := answerable(job, way.act)):
        return refuse(job, act, by, _stale(job, act, standing), law)
    if way.demands:
        move = Move(job, act, by, now, world, limits)
        for demand in way.demands:
            fault = demand(move)  # type: ignore[arg-type]  # the demands of a way are those of its act
            if fault is not None:
                return refuse(job, act, by, fault, law, demand.__name__)
    row = way.sole or way.choose(job, act)
    if row is None:
        return refuse(job, act, by, Fault(Reason.ILLEGAL, "no edge of the table fits", "take another act"), law)
    at = now if now > job.at else job.at
    return Draft(job.id, job.seq + 1, id, act, by, at, job.stage, row.to, job.law).close()


def begin(
    job: str, act: Request, *, id: str, by: str, now: datetime, world: World = ALONE, limits: Limits = LIMITS, law: Law = LAW
) -> Entry | Refusal:
    """The first entry of a new job, unsealed, or why the request is refused."""
    move = Move(None, act, by, now, world, limits)
    for demand in DEMANDS["request"]:
        fault = demand(move)  # type: ignore[arg-type]
        if fault is not None:
            return Refusal(fault.reason, act.act, job, by, None, ("request",), fault.detail, fault.mend, demand.__name__)
    parent = world.parent
    lineage = None
    if parent is not None:
        line, terms = parent.brief.lineage, parent.terms
        exclusions, requirements = tuple(e.id for e in terms.exclusions), tuple(r.id for r in terms.requirements)
        lineage = Lineage(line.root, line.depth + 1, exclusions, requirements)
    (row,) = law.ways[None]["request"].rows
    return Draft(job, 0, id, act, by, now, None, row.to, law.version, lineage).close()


def lapse(job: Job, act: Lapse, *, id: str, now: datetime, law: Law | None = None) -> Entry:
    """The entry that a due lapse becomes. Only `deadlines.due` makes a lapse, and only an engine asks for this."""
    row = (law or LAWS[job.law]).choose(job, act)
    if row is None:
        raise ValueError(f"`{act.cause}` does not fall due in `{job.stage}`; ask `due` what does")
    return Draft(job.id, job.seq + 1, id, act, Role.CLOCK.value, max(now, job.at), job.stage, row.to, job.law).close()


def may(job: Job, by: str, law: Law | None = None) -> tuple[str, ...]:
    """The acts that a party may take now, in the order of the table."""
    law, stage = law or LAWS[job.law], job.stage
    held = [role for role in law.seats[stage] if _holds(job, role, by)]
    return tuple([
        way.act for way in law.ways[stage].values() if way.by in held and (way.sole or way.choose(job, _NO_ACT))
    ])  # fmt: skip


def answerable(job: Job, name: str) -> str | None:
    """The id that an act of this name must answer now; None if nothing stands, or the act answers nothing."""
    if name in ANSWERS_BRIEF:
        return job.brief.id
    return job.standing.id if name in ANSWERS_STANDING and job.standing is not None else None


def refuse(job: Job, act: Act, by: str, fault: Fault, law: Law | None = None, guard: str = "") -> Refusal:
    """The refusal of an act on a job that stands as it stands."""
    return Refusal(fault.reason, act.act, job.id, by, job.stage, may(job, by, law), fault.detail, fault.mend, guard)


_NO_ACT = Act.model_construct(act="")
"""What a choice is given where only the job matters. Constructed: validating it would build pydantic's schema at import."""


def _holds(job: Job, role: Role, by: str) -> bool:
    """Whether the party holds the role at this job. Nobody holds the clock's: its lapses do not come this way."""
    chair = _CHAIRS.get(role)
    if chair is not None:
        return chair(job) == by
    if role is not _NEEDED:
        return False
    need = job.standing.need if isinstance(job.standing, Wait) else None
    return by == job.brief.parties.requester or (need is not None and by == need.whom)


_NEEDED = Role.NEEDED
_CHAIRS: Mapping[Role, Callable[[Job], str]] = {
    role: attrgetter(f"brief.parties.{role}") for role in (Role.REQUESTER, Role.WORKER, Role.REVIEWER, Role.VERIFIER, Role.APPROVER)
}


def _whose(role: Role, act: str) -> tuple[str, str]:
    who = "the engine's clock" if role is Role.CLOCK else f"the {role}" if role is not Role.NEEDED else str(role)
    return f"`{act}` is for {who}", "let that party act, or take an act of your own"


def _stale(job: Job, act: Act, standing: str | None) -> Fault:
    if act.act == "decide" and (closed := _closed_set(job, act)) is not None:
        return closed
    named = f"answers `{act.answered}`" if act.answered else "names nothing it answers"
    return Fault(Reason.STALE_OFFER, f"{named}, `{standing}` stands", f"read it and answer `{standing}`")


def _unmoved(job: Job, act: Act) -> Fault:
    """Why there is no edge: the job has ended, or the stage has no such act."""
    if job.stage in ENDED:
        ended = job.termination
        how = f"ended as {ended}" + (f" ({ended.cause} due, owed by `{ended.owed_by}`)" if ended and ended.cause else "")
        return Fault(Reason.CLOSED, f"it {how}", "ask anew with a request that supersedes it")
    if act.act == "decide" and (closed := _closed_set(job, act)) is not None:
        return closed
    waits = job.pause
    owed = f"it waits for {waits.decision}, owed by `{waits.owed_by}`" if waits else "it waits for its worker"
    return Fault(Reason.ILLEGAL, f"no `{act.act}` leaves `{job.stage}`; {owed}", "take an act that this stage has")


def _closed_set(job: Job, act: Act) -> Fault | None:
    """What became of a set that is not the open one: decided, expired, or never issued."""
    for set_id, how in job.tally.sets:
        if set_id == act.answered:
            reason = Reason.EXPIRED if how == "expired" else Reason.ALREADY_DECIDED
            return Fault(reason, f"set `{set_id}` is {how}", "propose the calls anew")
    return Fault(Reason.UNKNOWN_SET, f"no set `{act.answered}` was issued here", "answer the set that is open, by its id")
