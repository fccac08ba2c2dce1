"""The main job, on real data: 216 delegation episodes told to the law, and the paper's table computed back from the log.

    python examples/speech_acts.py ../shared/corpus [--store jobs.db]

Every episode is a job, and its acts are submitted as they happened: a promise accepts, a counter_offer counters, a report delivers,
an outcome is a verdict. Then `speech_acts_table` reads the store, and nothing else. What the law has no word for is told like this:

- The delegation contract and the class of the task are constraints of the request. (The experiment hid the class from its worker.)
- Every request has one condition, `asked`: that what is asked for is done. The judge's outcome is the check record of it: work
  judged failed is rejected, any other confirmed. The worker reports nothing on it, and so the report has it as unverifiable.
- Conditions and exclusions get their ids where they are declared, c1 and x1 first, and the report answers these, in whatever words.
  One that it answers part by part was several: c6a, c6b, c6c. An exclusion reported as a condition is an exclusion honoured.
- What the audit of a report found is a check record of the verdict: passed where the condition is met. Where the audit could not
  decide there is none. The law knows no records of exclusions, so the verdict's words say what the audit found of those.
- Contracts A and Bp have no typed acts. Work that was executed was accepted. Where none was, the worker had said what stood in the
  way and stopped there, all 18 times: a decline, as nothing was attempted that could have failed.
- A counter binds nobody, as the corpus does not say that it does; nobody answered it there, so its job stays open.
- Tokens are known per episode, so they are spent by the worker's last act.
"""

import argparse
import csv
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Literal

from attrs import frozen
from pydantic import BaseModel
from speech_acts_table import ASKED, JUDGE, REQUESTER, WORKER, show

import lifecycle
from lifecycle import Jobs, Reason, Refused, acts, terms

CONTRACTS = {"A": "accept, and do it", "Bp": "deliberate first, then do it", "B": "answer by a typed act before anything is done"}

# What the files of the corpus hold


class Contract(BaseModel):
    """A worker's typed act."""

    speech_act: Literal["promise", "counter_offer", "decline"]
    conditions_of_satisfaction: list[str]
    scope_exclusions: list[str]
    concern: str


class Assertion(BaseModel):
    """What a worker says of one condition, which it names by its text."""

    cos: str
    status: Literal["met", "not_met"]
    evidence: str


class Report(BaseModel):
    """A worker's report."""

    assertions: list[Assertion]
    assessment: str


class Audited(BaseModel):
    """A report, and what its audit says to each assertion in it: true, false or unverifiable."""

    report: Report
    audit: list[str]


@frozen
class Episode:
    """One run of one task under one delegation contract: its row of episodes.csv, and what the other files have on it."""

    row: Mapping[str, str]
    task: Mapping[str, str]
    contract: Contract | None
    audited: Audited | None
    files: tuple[str, ...]

    @property
    def job(self) -> str:
        """The id of its job, as `rep1-t01-A`."""
        return self.row["episode"].replace("/", "-")

    @property
    def executed(self) -> bool:
        """Whether the work was done."""
        return self.row["executed"] == "True"

    @property
    def spent(self) -> terms.Spent:
        """What all of it took."""
        return terms.Spent(tokens=int(self.row["tokens_total"]))


def read(corpus: Path) -> list[Episode]:
    """Every episode, in the order of its file."""

    def lines(file: str) -> list[dict[str, Any]]:
        with (corpus / file).open(encoding="utf-8") as text:
            return [json.loads(line) for line in text]

    def rows(file: str) -> list[dict[str, str]]:
        with (corpus / file).open(encoding="utf-8", newline="") as text:
            return list(csv.DictReader(text))

    tasks = {line["task"]: line for line in lines("tasks.jsonl")}
    contracts = {line["episode"]: Contract(**line["contract"]) for line in lines("contracts.jsonl")}
    audited = {line["episode"]: Audited(report=line["report"], audit=line["audit"]) for line in lines("reports.jsonl")}
    files = {row["episode"]: tuple(row["files_changed"].split(";")) for row in rows("files_changed.csv")}
    return [
        Episode(row, tasks[row["task"]], contracts.get(row["episode"]), audited.get(row["episode"]), files.get(row["episode"], ()))
        for row in rows("episodes.csv")
    ]


# What an episode is to the law


def declared(episode: Episode) -> tuple[dict[str, str], dict[str, str]]:
    """The conditions and the exclusions of a typed act, their texts by the ids they are given here."""
    if episode.contract is None:
        return {}, {}
    said = {assertion.cos for assertion in episode.audited.report.assertions} if episode.audited else set()
    conditions: dict[str, str] = {}
    for number, text in enumerate(episode.contract.conditions_of_satisfaction, 1):
        parts = text.split("; ")
        if text not in said and said.issuperset(parts):
            conditions |= {f"c{number}{letter}": part for letter, part in zip(ascii_lowercase, parts, strict=False)}
        else:
            conditions[f"c{number}"] = text
    return conditions, {f"x{number}": text for number, text in enumerate(episode.contract.scope_exclusions, 1)}


def reported(episode: Episode) -> Iterator[tuple[str, Assertion, str]]:
    """What the report says, by the id of what it says it of, and what the audit says to that."""
    if episode.audited is None:
        return
    conditions, exclusions = declared(episode)
    assertions = episode.audited.report.assertions
    ids = {text: id for id, text in (conditions | exclusions).items()}
    said = {assertion.cos for assertion in assertions}
    reworded = [id for id, text in conditions.items() if text not in said]
    for assertion, audit in zip(assertions, episode.audited.audit, strict=True):
        yield ids.get(assertion.cos) or reworded.pop(0), assertion, audit


def request(episode: Episode) -> acts.Request:
    """What the worker was asked."""
    task, contract = episode.task, episode.row["condition"]
    return acts.Request(
        goal=task["request"],
        worker=WORKER,
        verifier=JUDGE,
        conditions=(terms.Condition(ASKED, "what is asked for is done, as it was meant"),),
        constraints=(f"contract {contract}: {CONTRACTS[contract]}", f"class {task['class']}: {task['class_name']}"),
    )


def answer(episode: Episode) -> acts.Act:
    """What the worker answered, or what its doing came to where no answer was asked for."""
    job, spent = episode.job, episode.spent
    conditions, exclusions = declared(episode)
    named = tuple(terms.Condition(id, text) for id, text in conditions.items())
    left_alone = tuple(terms.Exclusion(id, text) for id, text in exclusions.items())
    match episode.contract:
        case Contract(speech_act="promise"):
            return acts.Accept(answers=job, conditions=(*request(episode).conditions, *named), exclusions=left_alone)
        case Contract(speech_act="counter_offer", concern=concern):
            offer = terms.Terms(named, left_alone) if named or left_alone else None
            return acts.Counter(answers=job, terms=offer, concern=concern, spent=spent)
        case Contract(speech_act="decline", concern=concern):
            return acts.Decline(answers=job, reason=concern, spent=spent)
        case _ if episode.executed:
            return acts.Accept(answers=job)
        case _:
            return acts.Decline(answers=job, reason="not executed: it said what stood in the way, and stopped there", spent=spent)


def delivery(episode: Episode) -> acts.Deliver:
    """What the worker handed over: the files it changed, its report, and its own word on the whole."""
    artifacts = tuple(acts.Artifact(name) for name in episode.files)
    if episode.audited is None:
        return acts.Deliver(artifacts=artifacts, spent=episode.spent)
    conditions, exclusions = [acts.Finding(ASKED, "unverifiable")], []
    for id, said, _ in reported(episode):
        if id.startswith("x"):
            exclusions.append(acts.Observance(id, "honoured" if said.status == "met" else "broken", said.evidence))
        else:
            conditions.append(acts.Finding(id, said.status, said.evidence))
    report = acts.Report(tuple(conditions), tuple(exclusions))
    return acts.Deliver(artifacts=artifacts, value=episode.audited.report.assessment, report=report, spent=episode.spent)


def verdict(episode: Episode) -> acts.Confirm | acts.Reject:
    """What judge and audit made of it: the judge decides, and the audit's findings stand beside."""
    row = episode.row
    reason = f"judged {row['job3_outcome']}, {row['job3_gradient']}"
    failed = row["judged_failure"] == "True"
    records = [acts.CheckRecord(ASKED, "failed" if failed else "passed", reason)]
    for id, said, audit in reported(episode):
        if id.startswith("x"):
            reason += f"; by the audit {id} {audit}"
        elif audit != "unverifiable":
            met = (said.status == "met") is (audit == "true")
            records.append(acts.CheckRecord(id, "passed" if met else "failed", f"the audit: `{said.status}` is {audit}"))
    kind = acts.Reject if failed else acts.Confirm
    return kind(answers="deliver", reason=reason, checks=tuple(records))


# What the law makes of it


def tell(jobs: Jobs, episode: Episode) -> None:
    """Submit what happened, each act under its own name as id; told again, an episode is told once."""
    job = episode.job
    jobs.submit(job, request(episode), by=REQUESTER)
    if jobs.job(job).ended:
        return
    told: list[tuple[str, acts.Act]] = [(WORKER, answer(episode))]
    if episode.executed:
        told += [(WORKER, delivery(episode)), (JUDGE, verdict(episode))]
    for by, act in told:
        try:
            jobs.submit(job, act, by=by, id=act.act)
        except Refused as refused:
            jobs.submit(job, instead(act, refused), by=by)


def instead(act: acts.Act, refused: Refused) -> acts.Act:
    """What the law lets a party say, for what it refuses. The refusal is kept."""
    match act, refused.reason:
        case acts.Counter(), Reason.NO_TERMS:
            return acts.Decline(answers=act.answers, reason=act.concern, spent=act.spent)
        case acts.Confirm(), Reason.CHECK_NOT_PASSED:
            return acts.Reject(answers=act.answers, reason=act.reason, checks=act.checks)
        case _:
            raise refused


def main() -> None:
    """Tell the corpus to a store, then compute the table from the store."""
    parser = argparse.ArgumentParser(description="216 delegation episodes told to the law; the paper's table from the log alone.")
    parser.add_argument("corpus", type=Path, help="the folder with episodes.csv and the other files")
    parser.add_argument("--store", type=Path, help="the SQLite file to write (default: a new temporary one)")
    args = parser.parse_args()
    if not (args.corpus / "episodes.csv").is_file():
        parser.error(f"no episodes.csv in `{args.corpus}`; to mend it, name the folder of the corpus")
    store: Path = args.store or Path(tempfile.mkdtemp(prefix="speech-acts-")) / "jobs.db"
    episodes = read(args.corpus)
    with lifecycle.open(f"sqlite:///{store}") as jobs:
        before, began = sum(1 for _ in jobs.watch()), time.perf_counter()
        for episode in episodes:
            tell(jobs, episode)
        took, count = time.perf_counter() - began, sum(1 for _ in jobs.watch()) - before
        print(f"{len(episodes)} jobs told to {store}: {count} acts in {took:.1f} s, each a commit, {count / took:,.0f} acts/s\n")
        show(jobs)
        print(f"\naudit: {len(jobs.audit()) or 'no'} faults")


if __name__ == "__main__":
    main()
