"""An orchestrator's own machine, written with python-statemachine, and tried by the fuzz kit through five methods.

    python examples/own_machine.py                 # both of these
    lifecycle fuzz examples.own_machine:Desk       # nothing wrong is found in what it claims to do
    lifecycle fuzz examples.own_machine:Hasty      # request, accept, block, deliver

The desk speaks a part of the acts and says so in its `scope`; no deadlines, no act ids. What it decides it writes down in a file,
which is all that a restart leaves it.
"""

import json
import tempfile
from datetime import timedelta
from pathlib import Path

from statemachine import State, StateMachine
from statemachine.exceptions import TransitionNotAllowed

from lifecycle import acts
from lifecycle.conformance.fuzz import Scope, fuzz

WHO = {
    **dict.fromkeys(("accept", "decline", "progress", "block", "deliver", "fail", "halt"), "worker"),
    **dict.fromkeys(("resolve", "cancel"), "requester"),
    **dict.fromkeys(("confirm", "reject", "rework"), "verifier"),
}
"""Whose act it is."""


class Ticket(StateMachine):
    """One job: its states bear the names of the law's stages, so that the two can be held against each other."""

    requested = State(initial=True, value="requested")
    ready = State(value="accepted.ready")
    working = State(value="progressing.working")
    blocked = State(value="progressing.blocked")
    stopping = State(value="cancelled.stopping")
    delivered = State(value="result.delivered")
    declined = State(final=True, value="declined")
    unverified = State(final=True, value="result.unverified")
    accepted = State(final=True, value="result.accepted")
    rejected = State(final=True, value="result.rejected")
    error = State(final=True, value="error")
    stopped = State(final=True, value="cancelled.stopped")

    accept = requested.to(ready)
    decline = requested.to(declined)
    progress = ready.to(working) | working.to(working)
    block = ready.to(blocked) | working.to(blocked)
    resolve = blocked.to(working)
    deliver = (
        ready.to(delivered, cond="judged") | working.to(delivered, cond="judged")
        | ready.to(unverified, unless="judged") | working.to(unverified, unless="judged")
    )  # fmt: skip
    confirm = delivered.to(accepted)
    reject = delivered.to(rejected)
    rework = delivered.to(working)
    fail = ready.to(error) | working.to(error) | blocked.to(error)
    cancel = requested.to(stopped) | ready.to(stopping) | working.to(stopping) | blocked.to(stopping)
    halt = stopping.to(stopped)

    def __init__(self, stage: str = "requested", judged: bool = False) -> None:
        self.asked_for_a_verdict = judged
        super().__init__(start_value=stage)

    def judged(self) -> bool:
        """Whether the request asked for a verdict."""
        return self.asked_for_a_verdict


class Desk:
    """All tickets there are, and who may do what with them: what the fuzz kit drives."""

    scope = Scope(acts=frozenset({"request", *WHO}), demands=False, time=False, identity=False)

    def __init__(self) -> None:
        self._file = Path(tempfile.mkdtemp()) / "tickets.json"
        self.reset()

    def reset(self) -> None:
        """No tickets."""
        self._file.write_text("{}")
        self.restart()

    def restart(self) -> None:
        """What is in the file is all there is."""
        self._kept = json.loads(self._file.read_text())
        self._tickets = {job: Ticket(kept["stage"], kept["judged"]) for job, kept in self._kept.items()}

    def submit(self, job: str, act: acts.Act, *, by: str, id: str) -> str | None:
        """None for what was done; else why not, in words of its own."""
        if isinstance(act, acts.Request):
            if job in self._kept:
                return "there is a ticket of this name"
            roles = {"requester": by, "worker": act.worker, "verifier": act.verifier or by}
            self._kept[job] = {"roles": roles, "judged": bool(act.verdict), "stage": "requested", "asked": None}
            self._tickets[job] = Ticket(judged=bool(act.verdict))
            self._keep(job)
            return None
        if job not in self._kept:
            return "there is no such ticket"
        kept = self._kept[job]
        entitled = {kept["roles"][WHO[act.act]], kept["asked"] if act.act == "resolve" else None}
        if by not in entitled:
            return f"`{act.act}` is not for {by}"
        try:
            self._tickets[job].send(act.act)
        except TransitionNotAllowed as error:
            return str(error)
        kept["asked"] = act.need.whom if isinstance(act, acts.Block) and act.need else None
        self._keep(job)
        return None

    def stage(self, job: str) -> str | None:
        """Where the ticket is."""
        return self._kept[job]["stage"] if job in self._kept else None

    def advance(self, delta: timedelta) -> None:
        """Nothing lapses here."""

    def _keep(self, job: str) -> None:
        self._kept[job]["stage"] = str(self._tickets[job].current_state_value)
        self._file.write_text(json.dumps(self._kept))


class Hasty(Desk):
    """The same desk, with a fault: a worker that delivers lifts its own block, and whom it asked is not heard."""

    def submit(self, job: str, act: acts.Act, *, by: str, id: str) -> str | None:
        """As the desk does, but for a delivery while the ticket is blocked."""
        if isinstance(act, acts.Deliver) and self.stage(job) == "progressing.blocked":
            self._tickets[job].send("resolve")
        return super().submit(job, act, by=by, id=id)


if __name__ == "__main__":
    for name, desk in {"the desk": Desk(), "the hasty desk": Hasty()}.items():
        outcome = fuzz(desk, finished=lambda one: print(f"  {one}"))
        print(f"{name}:", *outcome.ending, sep="\n  ")
