"""Running the checks of a contract, or of a job on its terms in force: preconditions and invariants before, the rest after.

All of one call are run on one snapshot, and each record names its digest. Only checks of the terms in force and of the contract are
run: what a worker calls its check is a text, and stays one.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from attrs import frozen

from lifecycle.checks.checkout import snapshot
from lifecycle.checks.faults import NoAuthority
from lifecycle.checks.looks import Untouched, look_at_diff, look_at_file, look_at_person, look_at_untouched
from lifecycle.checks.outcome import Answer, Ground, Outcome
from lifecycle.checks.programs import run_callable, run_command, run_metric
from lifecycle.checks.scope import pattern_fault
from lifecycle.checks.workspace import Workspace
from lifecycle.law.acts import CheckRecord
from lifecycle.law.contract import Contract, Criterion
from lifecycle.law.guards import judging
from lifecycle.law.job import Job
from lifecycle.law.terms import CallableCheck, Check, CommandCheck, Condition, DiffCheck, FileCheck, MetricCheck

Runnable: TypeAlias = Check | Untouched
Records: TypeAlias = tuple[CheckRecord, ...]


@frozen
class Skip:
    """An authority's word that a check is not run, and why."""

    authority: str
    why: str


@frozen
class Plan:
    """Which checks are run before the work and after it, by id; what may be written; who may skip which."""

    before: Mapping[str, Runnable]
    after: Mapping[str, Runnable]
    scope: tuple[str, ...]
    contract: str | None
    skippers: Mapping[str, frozenset[str]]


def planned(source: Contract | Job) -> Plan:
    """What is to be run for a contract, or for a job: on its terms in force, with its contract's invariants and write scope.

    A write scope, and every non-goal that is a path, is a check too, under the id of its exclusion.
    """
    contract = source if isinstance(source, Contract) else source.brief.contract
    conditions = source.acceptance if isinstance(source, Contract) else source.terms.conditions
    invariants = _typed(contract.invariants) if contract else {}
    exclusions = _kept(contract) if contract else {}
    after: dict[str, Runnable] = {**exclusions, **invariants, **_typed(conditions)}
    before: dict[str, Runnable] = {**(_typed(contract.preconditions) if contract else {}), **invariants}
    rules = contract.evidence if contract else ()
    named = {rule.id: frozenset(rule.skip) for rule in rules}
    if isinstance(source, Job):
        named = {id: judging.may_skip(source, id) for id in (*before, *after)}
    return Plan(before, after, contract.write_scope if contract else (), contract.digest if contract else None, named)


def run_before(
    source: Contract | Job, workspace: Workspace, *, answers: Mapping[str, Answer] | None = None,
    skips: Mapping[str, Skip] | None = None,
) -> Records:  # fmt: skip
    """Run preconditions and invariants, on the tree as it lies now. Their records are no part of a verdict."""
    plan = planned(source)
    return _run_all(plan, plan.before, workspace, answers or {}, skips or {})


def run_after(
    source: Contract | Job, workspace: Workspace, *, answers: Mapping[str, Answer] | None = None,
    skips: Mapping[str, Skip] | None = None,
) -> Records:  # fmt: skip
    """Run acceptance, invariants, write scope and path non-goals, on the tree as it lies now: the records a verdict rests on.

    `skips` are held against the contract's evidence rules (and a job's authorities) before anything is run: NoAuthority.
    """
    plan = planned(source)
    return _run_all(plan, plan.after, workspace, answers or {}, skips or {})


def run(
    check: Check, workspace: Workspace, *, id: str = "check", scope: Iterable[str] = (), answer: Answer | None = None
) -> CheckRecord:
    """Run one check on the tree as it lies now; outside `scope`, if there is one, the base's files are tested."""
    answers = {id: answer} if answer is not None else {}
    return _run_all(Plan({}, {}, tuple(scope), None, {}), {id: check}, workspace, answers, {})[0]


def _run_all(
    plan: Plan, checks: Mapping[str, Runnable], workspace: Workspace, answers: Mapping[str, Answer], skips: Mapping[str, Skip]
) -> Records:
    for id, skip in skips.items():
        entitled = plan.skippers.get(id, frozenset())
        if skip.authority not in entitled:
            raise NoAuthority(id, skip.authority, sorted(entitled))
    if not checks:
        return ()
    with snapshot(workspace.root, workspace.base, plan.scope) as tree:
        ground = Ground(workspace, tree, plan.scope, answers)
        return tuple(_record(id, _outcome(id, check, ground, skips.get(id)), ground, plan) for id, check in checks.items())


def _outcome(id: str, check: Runnable, ground: Ground, skip: Skip | None) -> Outcome:
    if skip is not None:
        return Outcome("skipped", skip.why, authority=skip.authority)
    match check:
        case CommandCheck():
            return run_command(check, ground)
        case MetricCheck():
            return run_metric(check, ground)
        case CallableCheck():
            return run_callable(check, ground)
        case FileCheck():
            return look_at_file(check, ground)
        case DiffCheck():
            return look_at_diff(check, ground)
        case Untouched():
            return look_at_untouched(check, ground)
        case _:
            return look_at_person(id, check, ground)


def _record(id: str, outcome: Outcome, ground: Ground, plan: Plan) -> CheckRecord:
    return CheckRecord(
        id, outcome.status, outcome.seen, outcome.authority, ground.snapshot.artifact, plan.contract, outcome.argv, outcome.cwd,
        ground.workspace.environment, outcome.cases, outcome.exit, outcome.output, outcome.output_digest, outcome.started,
        outcome.ended,
    )  # fmt: skip


def _typed(items: Iterable[Condition | Criterion]) -> dict[str, Runnable]:
    return {item.id: item.check for item in items if item.check is not None and not isinstance(item.check, str)}


def _kept(contract: Contract) -> dict[str, Runnable]:
    """The exclusions of a contract that can be run: its write scope, and non-goals that are a path rather than words."""
    own = {exclusion.id for exclusion in contract.non_goals}
    found: dict[str, Runnable] = {
        one.id: Untouched(one.text)
        for one in contract.non_goals
        if one.kind == "path" and " " not in one.text and pattern_fault(one.text) is None
    }
    found |= {one.id: DiffCheck() for one in contract.terms.exclusions if one.id not in own}
    return found
