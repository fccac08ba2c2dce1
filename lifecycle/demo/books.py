"""The book that the demo's jobs are about, and the one check that decides whether its totals are right.

The planner's side of the work, and on purpose another program than the worker's: a verdict is only worth something if it does
not ask the one who is judged. A worker's word is never read here, only the file it left, as bytes.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from pydantic import JsonValue

from lifecycle import acts, terms
from lifecycle.law.values import sha256

BOOK, REPORT = "sales.csv", "report.csv"

RATES = {"USD": Decimal(1), "EUR": Decimal("0.92")}
"""What one dollar is worth. The planner knows; a worker has to ask."""

TOTALS_AGREE = "lifecycle.demo.books:totals_agree"
"""The check, as terms name it."""

REPORT_BYTES = 1 << 16
"""The longest report that is read: a thousand times what any honest one has."""

CENT = Decimal("0.01")


REGIONS, PRODUCTS = ("north", "east", "south", "west"), ("tea", "coffee", "sugar")


def sales() -> Iterator[dict[str, str]]:
    """The year 2024: every month, four regions, three products, and some refunds."""
    for number in range(144):
        cents = (number * 7_919) % 90_000 + 1_000
        yield {
            "month": f"2024-{number // 12 + 1:02}",
            "region": REGIONS[number % len(REGIONS)],
            "product": PRODUCTS[number % len(PRODUCTS)],
            "amount": str(Decimal(-cents if number % 11 == 5 else cents) / 100),
        }


def lay_out(desk: Path) -> None:
    """Make a worker's desk, with a copy of the book on it: what a worker does to its copy changes no verdict."""
    desk.mkdir(parents=True)
    with (desk / BOOK).open("w", newline="") as book:
        writer = csv.DictWriter(book, ("month", "region", "product", "amount"))
        writer.writeheader()
        writer.writerows(sales())


def conditions(by: str, year: int = 2024, currency: str = "USD") -> tuple[terms.Condition, ...]:
    """What is asked for: a report, and that its totals are those of the book."""
    arguments: dict[str, JsonValue] = {"by": by, "year": year, "currency": currency}
    text = f"{REPORT} has one line per {by} of {year}: its name and its total in {currency}, to the cent"
    return (
        terms.Condition("report", f"{REPORT} is there", terms.FileCheck(REPORT)),
        terms.Condition("totals", text, terms.CallableCheck(TOTALS_AGREE, arguments=arguments)),
    )


def examine(asked: Sequence[terms.Condition], desk: Path) -> list[acts.CheckRecord]:
    """Hold what lies on a desk against the terms, condition by condition; a check that is none of ours is unavailable."""
    found = _read(desk / REPORT)
    digest = sha256(found)
    records = []
    for condition in asked:
        match condition.check:
            case terms.FileCheck(path=path) if path == REPORT:
                fault, fine = ("" if found else f"no {REPORT}, or nothing in it"), f"{REPORT} is there"
            case terms.CallableCheck(entry_point=name, arguments=dict(wanted)) if name == TOTALS_AGREE:
                fault, fine = totals_agree(found, wanted), "every total is that of the book"
            case _:
                records.append(acts.CheckRecord(condition.id, "unavailable", seen="no check of the planner's"))
                continue
        records.append(acts.CheckRecord(condition.id, "failed" if fault else "passed", seen=fault or fine, artifact=digest))
    return records


def totals_agree(report: bytes, wanted: Mapping[str, JsonValue]) -> str:
    """What is wrong with a report: the first total that is not that of the book; empty if nothing is."""
    column, rate = str(wanted["by"]), RATES[str(wanted["currency"])]
    expected: dict[str, Decimal] = {}
    for sale in sales():
        if sale["month"].startswith(f"{wanted['year']}-"):
            key = sale.get(column, f"no {column}")
            expected[key] = expected.get(key, Decimal(0)) + Decimal(sale["amount"])
    try:
        told = {key: Decimal(total) for key, total in csv.reader(report.decode().splitlines())}
    except (ValueError, InvalidOperation):
        return f"{REPORT} is no lines of a name and a total"
    for key in sorted(expected.keys() | told.keys()):
        right = str((expected[key] * rate).quantize(CENT)) if key in expected else "nothing"
        if str(told.get(key, "nothing")) != right:
            return f"{key} is {right}, {REPORT} says {told.get(key, 'nothing')}"
    return ""


def _read(path: Path) -> bytes:
    """A file's bytes; none if it is no plain file, or longer than is sensible."""
    if path.is_symlink() or not path.is_file():
        return b""
    with path.open("rb") as file:
        found = file.read(REPORT_BYTES + 1)
    return found if len(found) <= REPORT_BYTES else b""
