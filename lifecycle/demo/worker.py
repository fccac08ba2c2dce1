"""A worker program: turns come in on stdin, acts go out on stdout, one JSON object a line.

It needs nothing of this library, only the standard one: any program in any language can be a worker. A turn tells the job's goal,
stage and terms, what the worker `may` do, what it `heard` (the last act, if another party made it), why its own last act was
`refused`, and at the end that it is `over`. The answer to a turn is one act. Who made it the act does not say: whoever reads
the pipe knows whose pipe it is.

    python -m lifecycle.demo.worker honest

Each personality is a generator that yields acts and is sent turns, so it reads as what that worker does, from first to last.
"""

import csv
import hashlib
import json
import sys
import time
from collections.abc import Callable, Generator, Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

Turn = dict[str, Any]
Act = dict[str, Any]
Script = Generator[Act, Turn, None]

BOOK, REPORT = Path("sales.csv"), Path("report.csv")
"""What it is given and what it makes, both on its desk: the directory it was started in."""

COARSER = {"customer": "region", "day": "month"}
"""What it offers where the book does not say what was asked for."""

ACCEPT: Act = {"act": "accept"}


def honest(turn: Turn) -> Script:
    """Takes the job, does it, and says what it did."""
    turn = yield ACCEPT
    yield from work(turn)


def sloppy(turn: Turn) -> Script:
    """Overlooks the refunds, claims that all is well and, asked for evidence, makes it up."""
    turn = yield ACCEPT
    write(add_up((row for row in rows() if Decimal(row["amount"]) > 0), asked(turn)))
    turn = yield deliver(turn, evidence="")
    if turn["refused"]:
        yield deliver(turn, evidence="looks right to me")


def decliner(turn: Turn) -> Script:
    """Looks into the book before it promises anything."""
    year = asked(turn)["year"]
    if any(row["month"].startswith(f"{year}-") for row in rows()):
        yield from honest(turn)
        return
    seen = sorted({row["month"][:4] for row in rows()})
    yield {
        "act": "decline",
        "kind": "infeasible_as_stated",
        "reason": f"{BOOK} has no row of {year}",
        "mend": f"ask for {' or '.join(seen)}",
    }


def counterer(turn: Turn) -> Script:
    """Commits itself to what it can do instead, and does it once that was adopted."""
    turn = yield counter(turn, binding=True)
    yield from work(turn)


def haggler(turn: Turn) -> Script:
    """Names what it could do instead, without committing itself, and takes the revised request."""
    turn = yield counter(turn, binding=False)
    yield from honest(turn)


def punctual(turn: Turn) -> Script:
    """Asks for time to look into the book, looks, and answers in time."""
    column = asked(turn)["by"]
    turn = yield defer(f"whether every row names its {column}", seconds=5)
    if all(row[column] for row in rows()):
        yield from honest(turn)
    else:
        yield {"act": "decline", "kind": "insufficient_spec", "reason": f"a row of {BOOK} names no {column}"}


def forgetful(turn: Turn) -> Script:
    """Promises an answer in a second and remembers when it is too late."""
    turn = yield defer("whether it has the time", seconds=1)
    time.sleep(1.5)
    yield from honest(turn)


def asker(turn: Turn) -> Script:
    """Takes the job, finds that something is missing, asks for it by name, and goes on with the answer."""
    turn = yield ACCEPT
    need = {"what": f"what is 1 USD in {asked(turn)['currency']}?", "whom": turn["requester"]}
    turn = yield {"act": "block", "need": need}
    yield from work(turn, Decimal(turn["heard"]["answer"]))


def steady(turn: Turn) -> Script:
    """Works step by step; when the job is cancelled under its hands it stops, and says what it leaves behind."""
    turn = yield ACCEPT
    totals = add_up(rows(), asked(turn))
    for done in range(1, len(totals) + 1):
        time.sleep(0.2)
        write(dict(list(totals.items())[:done]))
        turn = yield progress(f"{done} of {len(totals)} totals are written")
        if "halt" in turn["may"]:
            left = f"{REPORT} has {done} of {len(totals)} totals"
            yield {"act": "halt", "work": "partial", "artifacts": [artifact()], "words": left}
            return
    yield deliver(turn, evidence=f"{len(totals)} totals of {BOOK}")


PERSONALITIES: dict[str, Callable[[Turn], Script]] = {
    "honest": honest,
    "sloppy": sloppy,
    "decliner": decliner,
    "counterer": counterer,
    "haggler": haggler,
    "punctual": punctual,
    "forgetful": forgetful,
    "asker": asker,
    "steady": steady,
    "doomed": steady,  # what happens to it is not its doing
}


# ---- what they all know


def work(turn: Turn, rate: Decimal = Decimal(1)) -> Script:
    """Do what the terms in force ask for, and hand it over."""
    totals = add_up(rows(), asked(turn), rate)
    write(totals)
    turn = yield progress(f"{len(totals)} totals are written")
    yield deliver(turn, evidence=f"{len(totals)} totals, added up from {sum(1 for _ in rows())} rows of {BOOK}")


def asked(turn: Turn) -> dict[str, Any]:
    """What the check of the totals will be given: by which column, of which year, in which currency."""
    condition = next(condition for condition in turn["terms"]["conditions"] if condition["id"] == "totals")
    return dict(condition["check"]["arguments"])


def rows() -> Iterable[dict[str, str]]:
    """The rows of the book, as they stand there."""
    with BOOK.open(newline="") as book:
        yield from csv.DictReader(book)


def add_up(rows: Iterable[dict[str, str]], asked: dict[str, Any], rate: Decimal = Decimal(1)) -> dict[str, Decimal]:
    """The totals of one year by one column."""
    totals: dict[str, Decimal] = {}
    for row in rows:
        if row["month"].startswith(f"{asked['year']}-"):
            key = row[asked["by"]]
            totals[key] = totals.get(key, Decimal(0)) + Decimal(row["amount"])
    return {key: (total * rate).quantize(Decimal("0.01")) for key, total in totals.items()}


def write(totals: dict[str, Decimal]) -> None:
    """Write the report, whatever it said before."""
    with REPORT.open("w", newline="") as report:
        csv.writer(report).writerows(totals.items())


def artifact() -> Act:
    """The report as it lies on the desk now."""
    return {"name": REPORT.name, "digest": f"sha256:{hashlib.sha256(REPORT.read_bytes()).hexdigest()}"}


def progress(line: str) -> Act:
    """How it goes, and what shows it."""
    return {"act": "progress", "line": line, "points_at": [{"ref": REPORT.name, "kind": "file"}]}


def deliver(turn: Turn, evidence: str) -> Act:
    """Hand the report over and say of every condition that it is met."""
    met = [{"id": condition["id"], "status": "met", "evidence": evidence} for condition in turn["terms"]["conditions"]]
    return {"act": "deliver", "artifacts": [artifact()], "report": {"conditions": met}}


def counter(turn: Turn, *, binding: bool) -> Act:
    """Offer the same terms by a column that the book has."""
    wanted = asked(turn)["by"]
    instead = COARSER[wanted]
    terms = json.loads(json.dumps(turn["terms"]))
    for condition in terms["conditions"]:
        condition["text"] = condition["text"].replace(wanted, instead)
        if condition["id"] == "totals":
            condition["check"]["arguments"]["by"] = instead
    concern = f"{BOOK} names no {wanted}; by {instead} it can be done"
    return {"act": "counter", "concern": concern, "binding": binding, "terms": terms}


def defer(looking_into: str, *, seconds: float) -> Act:
    """Promise an answer."""
    return {"act": "defer", "until": (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(), "looking_into": looking_into}


def main(personality: str) -> None:
    """Answer turns, one line each, until the job is over or nobody speaks any more."""
    script: Script | None = None
    for line in sys.stdin:
        turn = json.loads(line)
        if turn["over"]:
            return
        if script is None:
            script = PERSONALITIES[personality](turn)
            act = next(script)
        else:
            act = script.send(turn)
        print(json.dumps(act), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] not in ([name] for name in PERSONALITIES):
        sys.exit(f"usage: worker {{{','.join(PERSONALITIES)}}}")
    main(sys.argv[1])
