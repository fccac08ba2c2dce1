"""The paper's table, from the log alone: the second half of `speech_acts.py`, and a program of its own.

    python examples/speech_acts_table.py STORE

No file of the corpus is in hand here. What was executed is what was delivered; tokens are the last `spent`; work judged failed has
a verdict whose record of the condition `asked` failed. Reported is a condition found met or not_met, or an exclusion said to be
honoured or broken; decidable is what the verdict tells of as well. A typed act is the worker's first answer, accepted or refused:
a counter without terms is none to the law, and a counter_offer to the paper. What is no act at all would be found in neither.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

import lifecycle
from lifecycle import Entry, Job, Jobs, KeptRefusal, Stage, acts

REQUESTER, WORKER, JUDGE = "experiment", "model", "judge"
"""The parties of every episode."""
ASKED = "asked"
"""The one condition of every request, that what is asked for is done: the judge's question, and not the worker's."""
ANSWERS = {"accept": "promise", "counter": "counter_offer", "decline": "decline", "defer": "commit_to_commit"}
"""The answers to a request, and what the paper calls them."""
WELL_FORMED, INFEASIBLE = "1", "3"
CONTRACTS = ("A", "Bp", "B")


@frozen
class Finding:
    """What the worker said of one condition or exclusion, and what the verdict says: None where the audit could not decide."""

    exclusion: bool
    met: bool
    holds: bool | None


@frozen
class Episode:
    """One job, as the paper looks at it."""

    job: str
    contract: str
    kind: str
    answer: str | None
    tokens: int
    executed: bool
    failed: bool
    findings: tuple[Finding, ...]
    unreported: int
    """Conditions that the worker declared and then said nothing of."""
    refused: tuple[KeptRefusal, ...]
    last: str
    """Its last act."""
    stage: Stage
    ended: str
    """As what, or what it is still waiting for."""


# From the log to the episodes


def episodes(jobs: Jobs) -> Iterator[Episode]:
    """The experiment's jobs, in order of id."""
    page = jobs.find(requester=REQUESTER)
    while page:
        yield from (episode(jobs.job(row.job), jobs.log(row.job), jobs.refusals(row.job)) for row in page)
        page = jobs.find(requester=REQUESTER, after=page[-1].job)


def episode(job: Job, log: Sequence[Entry], refusals: Sequence[KeptRefusal]) -> Episode:
    """What one log, and what was refused beside it, tell; `job` is the fold of the log."""
    contract, kind = (words.partition(": ")[0].split()[1] for words in job.brief.terms.constraints)
    answers = [kept.refusal.act for kept in refusals if kept.refusal.stage is Stage.REQUESTED]
    answers += [entry.act.act for entry in log if entry.origin is Stage.REQUESTED]
    holds = {id: told for entry in log for id, told in _verdict(entry.act)}
    report = (job.delivery and job.delivery.report) or acts.Report()
    said = [(False, finding.id, finding.status == "met") for finding in report.conditions if finding.status != "unverifiable"]
    said += [(True, one.id, one.status == "honoured") for one in report.exclusions if one.status != "unverifiable"]
    return Episode(
        job=job.id,
        contract=contract,
        kind=kind,
        answer=ANSWERS.get(answers[0]) if answers else None,
        tokens=job.spent.tokens if job.spent else 0,
        executed=job.delivery is not None,
        failed=holds.get(ASKED) is False,
        findings=tuple(Finding(exclusion, met, holds.get(id)) for exclusion, id, met in said),
        unreported=sum(finding.status == "unverifiable" and finding.id != ASKED for finding in report.conditions),
        refused=tuple(refusals),
        last=log[-1].act.act,
        stage=job.stage,
        ended=str(job.termination) if job.pause is None else f"open: `{job.pause.owed_by}` owes {job.pause.decision}",
    )


def _verdict(act: acts.Act) -> Iterator[tuple[str, bool]]:
    """What a verdict says of conditions, by its check records, and of exclusions, which have none, in words: `x1 true`."""
    if isinstance(act, acts.Confirm | acts.Reject):
        yield from ((record.id, record.status == "passed") for record in act.checks)
        yield from ((id, word == "true") for id, word in re.findall(r"\b(x\d+) (true|false)\b", act.reason))


# From the episodes to the table


def table(told: Sequence[Episode]) -> list[tuple[str, str]]:
    """Every figure of the paper, by its name."""
    infeasible = [[e for e in told if (e.contract, e.kind) == (contract, INFEASIBLE)] for contract in CONTRACTS]
    a, b = ([e for e in told if (e.contract, e.kind) == (contract, WELL_FORMED)] for contract in ("A", "B"))
    typed = [e for e in told if e.contract == "B"]
    answers = Counter(e.answer for e in typed if e.answer)
    findings = [finding for e in typed for finding in e.findings]
    met = [finding for finding in findings if finding.met]
    decidable = [finding for finding in met if finding.holds is not None]
    false = sum(not finding.holds for finding in decidable)
    audited = f'{false} of {len(decidable)} decidable "met" are false ({_percent(false, len(decidable))})'
    return [
        ("executed on infeasible tasks, A / Bp / B", ", ".join(map(_executed, infeasible))),
        ("mean tokens on infeasible tasks, A / Bp / B", " / ".join(f"{_mean(group):,.0f}" for group in infeasible)),
        ("share of tokens spent on work judged failed, infeasible, A / Bp / B", " / ".join(map(_wasted, infeasible))),
        ("token overhead of B over A on well-formed tasks", _percent(_mean(b) - _mean(a), _mean(a))),
        ("typed acts valid against the schema", f"{answers.total()}/{len(typed)}"),
        ("acts", ", ".join(f"{name} {answers[name]}" for name in ("promise", "counter_offer", "decline", "commit_to_commit"))),
        ("conditions reported", f"{len(findings)}: {len(met)} met, {len(findings) - len(met)} not_met; {audited}"),
    ]


def _executed(group: Sequence[Episode]) -> str:
    count = sum(e.executed for e in group)
    return f"{count}/{len(group)} ({_percent(count, len(group), 0)})"


def _wasted(group: Sequence[Episode]) -> str:
    return _percent(sum(e.tokens for e in group if e.failed), sum(e.tokens for e in group))


def _mean(group: Sequence[Episode]) -> float:
    return sum(e.tokens for e in group) / len(group)


def _percent(part: float, whole: float, decimals: int = 1) -> str:
    return f"{100 * part / whole:.{decimals}f} %"


def oddities(told: Sequence[Episode]) -> Iterator[str]:
    """What the law makes of what the experiment let pass."""
    for e in told:
        for kept in e.refused:
            refusal = kept.refusal
            yield f"{e.job}: {refusal.act} refused as {refusal.reason}: {refusal.detail}; kept, then recorded as {e.last}"
    typed = [e for e in told if e.contract == "B"]
    offers, declines = (sum(e.answer == ANSWERS[act] for e in typed) for act in ("counter", "decline"))
    law = Counter(e.stage for e in typed)
    yield f"counter_offer: {offers} in log and refusals, {law[Stage.COUNTERED]} of them in the log"
    yield f"decline: {declines} that began as one, of {law[Stage.DECLINED]} in the log"
    findings = [finding for e in typed for finding in e.findings]
    excluded, silent = sum(finding.exclusion for finding in findings), sum(e.unreported for e in typed)
    yield f"{excluded} of the {len(findings)} conditions reported are scope exclusions, and stand among the report's exclusions"
    yield f"{silent} of the {len(findings) - excluded + silent} conditions declared went unreported: each is answered by its id"


def show(jobs: Jobs) -> None:
    """Print the table, what was odd, and how the jobs ended."""
    told = list(episodes(jobs))
    if not told:
        sys.exit("no episodes there; to mend it, run speech_acts.py with --store on that file first")
    print("What the paper reports, computed from the log alone\n")
    for figure, value in table(told):
        print(f"  {figure:<68} " + f";\n{'':71}".join(value.split("; ")))
    print("\nWhat the law makes of the oddities\n")
    for line in oddities(told):
        print(f"  {line}")
    print(f"\nHow the {len(told)} jobs ended\n")
    for (stage, ended), count in sorted(Counter((e.stage, e.ended) for e in told).items()):
        print(f"  {count:>4}  {stage:<16}  {ended}")


def main() -> None:
    """Read a store that `speech_acts.py --store` has written."""
    parser = argparse.ArgumentParser(description="The paper's table, from a store that `speech_acts.py --store` has written.")
    parser.add_argument("store", type=Path, help="the SQLite file")
    store: Path = parser.parse_args().store
    if not store.is_file():
        parser.error(f"no file `{store}`; to mend it, run speech_acts.py with --store {store} first")
    with lifecycle.open(f"sqlite:///{store}") as jobs:
        show(jobs)


if __name__ == "__main__":
    main()
