"""What is judged before the work and after it: the tree held against what must hold, and the verdict on a delivery.

The checks are the contract's, run by the verifier's side; what a worker says of itself decides nothing. People are asked where no
check decides, and what nobody answers stays open.
"""

from collections.abc import Iterable

from lifecycle import checks
from lifecycle.law import acts
from lifecycle.law.contract import Contract, Criterion
from lifecycle.law.door import shown
from lifecycle.law.errors import LifecycleError
from lifecycle.law.job import Job
from lifecycle.law.terms import Condition, PersonCheck
from lifecycle.run.people import People


class PreconditionFailed(LifecycleError):
    """What must hold before the work does not. Remedy: mend the tree, or the contract; nothing was begun."""

    def __init__(self, records: Iterable[acts.CheckRecord]) -> None:
        self.records = tuple(records)
        told = "; ".join(f"`{record.id}` {record.status}: {shown(record.seen, 300)}" for record in self.records)
        super().__init__(f"not begun: {told}; to mend it, mend the tree or the contract")


def hold(contract: Contract, workspace: checks.Workspace) -> None:
    """Hold the tree against the preconditions and invariants; PreconditionFailed if one does not hold."""
    records = checks.run_before(contract, workspace)
    if wrong := [record for record in records if record.status not in ("passed", "skipped")]:
        raise PreconditionFailed(wrong)


def judged(job: Job, workspace: checks.Workspace, people: People, rework: bool) -> acts.Act | None:
    """Run what decides, ask whom it asks, and give the verdict; None while something waits for a person."""
    artifact = workspace.artifact if decides(job) else ""
    answers = {}
    for criterion in _criteria(job):
        if isinstance(check := criterion.check, PersonCheck) and (said := people.answer(criterion.id, check)) is not None:
            answers[criterion.id] = checks.Answer(check.party, said.met, artifact, said.why)
    records = checks.run_after(job, workspace, answers=answers)
    asked = {one.id: people.word(one) for one in job.terms.conditions if not one.typed}
    words = {id: word for id, word in asked.items() if word is not None}
    try:
        return checks.verdict(job, records, words=words, rework=rework)
    except checks.Undecided:
        return None


def decides(job: Job) -> bool:
    """Whether anything is judged by a check, and so on what lies in the tree."""
    contract = job.brief.contract
    typed = any(one.check is not None and not isinstance(one.check, str) for one in _criteria(job))
    return typed or (contract is not None and bool(contract.terms.exclusions))


def _criteria(job: Job) -> list[Condition | Criterion]:
    contract = job.brief.contract
    return [*job.terms.conditions, *(contract.invariants if contract is not None else ())]
