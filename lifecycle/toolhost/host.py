"""The host: proposes a turn's calls, and runs each that may run, once.

Order is everything here: a turn is kept before it is proposed, decided before anything of it is claimed, claimed before its
effect, and its result is kept after. Whatever dies in between is found by `settle`, in any process, at any time.
"""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from datetime import datetime, timedelta

from attrs import frozen
from pydantic import JsonValue

from lifecycle.engine import Engine
from lifecycle.law import acts
from lifecycle.law.door import shown
from lifecycle.law.errors import Refused
from lifecycle.law.job import Job
from lifecycle.law.states import ENDED, Stage
from lifecycle.law.values import canonical
from lifecycle.toolhost.approvals import Approvals, Ruling, ancestry, results
from lifecycle.toolhost.calls import Call, Claim, Reason, Result, Slot, Turn
from lifecycle.toolhost.errors import Misproposed, NotStarted, ProposalError
from lifecycle.toolhost.gate import Gate, Unfit
from lifecycle.toolhost.policy import InForce, Policy, Profile, Question
from lifecycle.toolhost.registry import Operation, Registry, Tool
from lifecycle.toolhost.running import Outcome, judged, run, within

ATTEMPTS = 4
"""How often a call that may be retried is started: once, and three times more. All have one operation id."""

GRACE = timedelta(seconds=5)
"""How long after an executor's time is up its process may take to say so; after that its process counts as dead."""


@frozen
class Asked:
    """What a worker is told of its turn: the set's id, the calls that wait for the approver, and the results so far."""

    set: str
    pending: tuple[str, ...]
    results: Mapping[str, Result]


class Host(Approvals):
    """Tools for the jobs of one store. Any number of hosts, in any processes, may share it; each call is still run once."""

    def __init__(
        self, jobs: Engine, registry: Registry, policy: Policy | None = None, *, question: Question | None = None,
        grace: timedelta = GRACE, on_step: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        """`policy` is put into force if none is, or if it is stricter: PolicyRefused if it is looser. None: the one in force.

        `question` says which calls must be asked for where the mode is `policy`. `on_step` is told each durable step, after it.
        """
        super().__init__(jobs)
        self.registry, self.in_force = registry, InForce.begin(jobs.store, policy)
        self._gate = Gate(registry, self.in_force, question, _minted)
        self._grace, self._on_step, self._name = grace, on_step or _unheard, _minted()

    # ---- policy

    @property
    def policy(self) -> Policy:
        """The policy in force on this store."""
        return self.in_force.policy()

    def change_policy(self, policy: Policy, *, by: str) -> None:
        """Put another policy into force; a looser one only for an owner of the one in force. Open sets are then a mismatch."""
        self.in_force.change(policy, by=by)

    def restrict(self, job: str, profile: Profile) -> None:
        """Hold a job, and all that is delegated from it, to a profile. It is only ever tightened."""
        self.jobs.job(job)
        self.in_force.restrict(job, profile)

    # ---- a turn

    def turn(self, job: str, calls: Iterable[Call], *, id: str | None = None, expires_at: datetime | None = None) -> Asked:
        """Propose one turn's calls. What needs no approval and only reads runs at once; the rest waits, if anything is gated.

        All calls are validated before anything is kept: ProposalError names what is wrong. Refused is the law's own word on the
        proposal. With an `id`, the same turn asked again goes on where it was.
        """
        asked = list(calls)
        turn = self.book.turn(job, id) if id is not None else None
        if turn is None:
            turn = self._made(self.jobs.job(job), asked, id or _minted())
            if not self.book.begin(turn):
                turn = self.turn_of(job, turn.id)
        if [(one.id, one.tool, one.arguments) for one in asked] != [(s.call.id, s.call.tool, s.asked) for s in turn.slots]:
            raise ProposalError(job, "turn_id_reused", (), f"turn `{turn.id}` had other calls", "take a new id for other calls")
        self._on_step("kept turn")
        self._propose(turn, expires_at)
        found = self._advance(turn)
        return Asked(turn.id, tuple(call.id for call in turn.proposed if call.gated and call.id not in found), found)

    def decide(self, job: str, set_id: str, decisions: JsonValue, *, by: str) -> dict[str, Result]:
        """Send an approver's decisions, as `Approvals.decide`, and run what they approve."""
        self.send(job, set_id, decisions, by=by)
        self._on_step("decided")
        settled = self.settle(job)
        if set_id in settled:
            return settled[set_id]
        return self.results(job, set_id) if self.book.turn(job, set_id) is not None else {}

    def settle(self, job: str) -> dict[str, dict[str, Result]]:
        """Run all that may run of the job's open turns, and look after what died on the way: the results, by turn.

        Any process may call it at any time; twice is once. A call whose tool is not registered here is left to another process.
        """
        return {turn.id: self._advance(turn) for turn in self.book.open(job)}

    # ---- parts

    def _made(self, job: Job, calls: Sequence[Call], id: str) -> Turn:
        if job.stage is not Stage.WORKING:
            mend = "propose while the job is in `progressing.working`"
            raise ProposalError(job.id, "not_working", (), f"the job is in `{job.stage}`", mend)
        if not calls:
            raise ProposalError(job.id, "no_calls", (), "there is no call in it", "leave the turn out")
        if twice := sorted({call.id for call in calls if [other.id for other in calls].count(call.id) > 1}):
            told = ", ".join(f"`{shown(id)}`" for id in twice)
            raise ProposalError(job.id, "call_id_twice", twice, f"call ids stand twice: {told}", "give each call an id of its own")
        if (size := sum(_size(call.arguments) for call in calls)) > self.jobs.limits.payload_bytes:
            what = f"arguments of {size} bytes, {self.jobs.limits.payload_bytes} are the limit"
            raise ProposalError(job.id, "too_large", [call.id for call in calls], what, "put them into files and point at those")
        line, slots, unfit = ancestry(self.jobs, job), [], list[tuple[str, Misproposed, str]]()
        for call in calls:
            try:
                slots.append(self._gate.slot(call, line))
            except Unfit as fault:
                unfit.append((call.id, fault.reason, fault.what))
        if unfit:
            what = "; ".join(told for _, _, told in unfit)
            raise ProposalError(job.id, unfit[0][1], [call for call, _, _ in unfit], what, "mend these calls")
        return Turn(id, job.id, job.seq, tuple(slots))

    def _propose(self, turn: Turn, expires_at: datetime | None) -> None:
        """Put the gated calls before the approver, in one act, if that was not done yet."""
        if not turn.proposed or self.ruling(turn).calls:
            return
        worker = self.jobs.job(turn.job).parties.worker
        try:
            self.jobs.submit(turn.job, acts.Propose(calls=turn.proposed, expires_at=expires_at), by=worker, id=turn.id)
        except Refused:
            if not self.ruling(turn).calls:
                self.book.drop(turn)
                raise
        self._on_step("proposed")

    def _advance(self, turn: Turn) -> dict[str, Result]:
        """Do for each call of a turn what can be done now."""
        job, ruling = self.jobs.job(turn.job), self.ruling(turn)
        if turn.proposed and not ruling.calls:
            if job.ended:
                self.book.drop(turn)
            return {}
        kept = self.book.kept(turn)
        for slot in turn.slots:
            self._one(job, turn, slot, ruling, kept.get(slot.call.id))
        found = results(turn, ruling, self.book.kept(turn))
        if len(found) == len(turn.slots) and all(result.final for result in found.values()):
            self.book.close(turn)
            self._on_step("closed")
        return found

    def _one(self, job: Job, turn: Turn, slot: Slot, ruling: Ruling, kept: Claim | Result | None) -> None:
        if isinstance(kept, Result) and kept.final:
            return
        if isinstance(kept, Claim) and self.jobs.store.now() < kept.until:
            return  # another process is at it
        if kept is not None:
            self._recover(job, turn, slot, kept)
        elif _may_run(turn, slot, ruling):
            if job.stage in ENDED:
                self._reject(turn, slot, "ended", f"the job ended as {job.termination} before it was started")
            elif _turn_to_run(job, slot) and (tool := self.registry.get(slot.call.tool)) is not None:
                record = next((call for call in ruling.calls if call.id == slot.call.id), slot.call)
                reason, what = self._gate.changed(slot, tool, ancestry(self.jobs, job))
                if record != slot.call:
                    reason, what = "mismatch", "the record that was decided is another than the host's own"
                if reason:
                    self._reject(turn, slot, reason, what)
                else:
                    self._start(turn, slot, tool, 1, None)

    def _start(self, turn: Turn, slot: Slot, tool: Tool, attempt: int, was: Result | Claim | None) -> None:
        """Claim, run, keep the result. Whoever is not first with the claim leaves it be."""
        call, now, seconds = slot.call.id, self.jobs.store.now(), tool.contract.timeout
        claim = Claim(attempt, now, now + timedelta(seconds=seconds) + self._grace, self._name)
        if not self.book.put(turn, call, claim, was):
            return
        self._on_step("claimed")
        operation = Operation(slot.operation, turn.job, call, attempt, tool.contract.identity, seconds)
        try:
            outcome = run(tool, grant := tool.grant(deepcopy(slot.arguments), operation))
        except NotStarted:
            tool.withdraw(grant)
            self.book.put(turn, call, was, claim)  # nothing was changed: it stands as it stood
            return
        self._on_step("executed")
        result = self._result(slot, outcome, attempt, now)
        if not self.book.put(turn, call, result, claim):
            late = self.book.kept(turn).get(call)  # taken for dead while it ran: what is known now is better than unknown
            if isinstance(late, Result) and not late.final:
                self.book.put(turn, call, result, late)
        self._on_step("kept result")

    def _recover(self, job: Job, turn: Turn, slot: Slot, kept: Claim | Result) -> None:
        """Look by its operation id for a call whose outcome is not known; run it again only if that is safe."""
        attempts = kept.attempt if isinstance(kept, Claim) else kept.attempts
        tool = self.registry.get(slot.call.tool)
        if tool is not None and (receipt := _receipt(tool, slot.operation)) is not None:
            outcome = judged(tool, deepcopy(slot.arguments), receipt)
            self.book.put(turn, slot.call.id, self._result(slot, outcome, attempts, _begun(kept), True), kept)
        elif tool is not None and attempts < ATTEMPTS and _turn_to_run(job, slot) and self._again(job, slot, tool):
            self._start(turn, slot, tool, attempts + 1, kept)
        elif isinstance(kept, Claim):
            what = Outcome("unknown", "crash", "its process died between its claim and its result; it is not run again blindly")
            self.book.put(turn, slot.call.id, self._result(slot, what, attempts, kept.at), kept)

    def _again(self, job: Job, slot: Slot, tool: Tool) -> bool:
        """Whether a call may be run once more: its contract says so, and nothing has changed."""
        contract = tool.contract
        safe = contract.effect == "read" or contract.retry_safe or contract.idempotency_key
        return safe and not self._gate.changed(slot, tool, ancestry(self.jobs, job))[0]

    def _reject(self, turn: Turn, slot: Slot, reason: Reason, what: str) -> None:
        self.book.put(turn, slot.call.id, Result(slot.call.id, "rejected", reason, what, operation=slot.operation), None)

    def _result(self, slot: Slot, outcome: Outcome, attempts: int, begun: datetime | None, reconciled: bool = False) -> Result:
        return Result(
            slot.call.id, outcome.status, outcome.reason, outcome.detail, outcome.output, slot.operation, attempts, begun,
            self.jobs.store.now(), reconciled,
        )  # fmt: skip


def _may_run(turn: Turn, slot: Slot, ruling: Ruling) -> bool:
    """Whether nobody's word stands between a call and its run: it was approved, or needs no word and need not wait.

    What the gate rejected is never approved, as nobody is asked. That a write waits is asked of the ruling too, and not of the
    stage alone: that may have been read a moment before another process proposed.
    """
    if slot.call.gated:
        return ruling.verdicts.get(slot.call.id) == "approved"
    return slot.read or not turn.proposed or ruling.closed


def _turn_to_run(job: Job, slot: Slot) -> bool:
    """Whether it is the worker's turn; what only reads need not wait for the approver."""
    return job.stage is Stage.WORKING or (slot.read and job.stage is Stage.AWAITING_APPROVAL)


def _receipt(tool: Tool, operation: str) -> JsonValue:
    """What the tool knows of an operation; None if it knows nothing, cannot tell, or raises."""
    reconcile = tool.reconcile
    if reconcile is None:
        return None
    try:
        return within(tool.contract.timeout, lambda: reconcile(operation))
    except Exception:
        return None


def _begun(kept: Claim | Result) -> datetime | None:
    return kept.at if isinstance(kept, Claim) else kept.started


def _size(arguments: JsonValue) -> int:
    try:
        return len(canonical(arguments))
    except (TypeError, ValueError, RecursionError):
        return 0  # no JSON at all: the gate says so


def _minted() -> str:
    return secrets.token_hex(12)


def _unheard(step: str) -> None:
    """Nobody listens."""
