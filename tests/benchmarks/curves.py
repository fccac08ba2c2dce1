"""Curves: what one act costs against jobs in the store, length of the log, size of the payload; and rate against processes."""

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lifecycle import acts
from lifecycle.engine import Engine
from lifecycle.law.limits import LIMITS
from lifecycle.stores.postgres import PostgresStore
from lifecycle.stores.sqlite import SqliteStore
from tests.benchmarks import postgres, sqlite
from tests.benchmarks.places import database, server

Curve = list[tuple[float, float]]
TRIES = 25


def over_jobs(sizes: Sequence[int]) -> dict[str, Curve]:
    """Milliseconds against the number of jobs in a SQLite store."""
    curves: dict[str, Curve] = {}
    for size, taken in sqlite.growth(tuple(sizes)):
        for name, cost in taken.items():
            curves.setdefault(name, []).append((size, cost))
    return curves


def over_length(lengths: Sequence[int]) -> dict[str, Curve]:
    """Milliseconds an act, by an engine that has read the job and by one that has not, against the entries in its log."""
    warm: Curve = []
    cold: Curve = []
    with tempfile.TemporaryDirectory() as folder:
        for length in lengths:
            path = Path(folder) / f"{length}.db"
            with Engine(SqliteStore(path)) as engine:
                engine.submit("j", acts.Request(goal="g", worker="wes"), by="ann")
                engine.submit("j", acts.Accept(answers="j"), by="wes")
                said = [("j", acts.Progress(line="no news", nothing_new=True), "wes") for _ in range(length - 2)]
                for at in range(0, len(said), 500):
                    engine.submit_all(said[at : at + 500])
                warm.append((length, _median(lambda engine=engine: _progress(engine))))
            engines = [Engine(SqliteStore(path)) for _ in range(5)]
            cold.append((length, _median(*(lambda engine=engine: _progress(engine) for engine in engines))))
            for engine in engines:
                engine.close()
    return {"job in memory": warm, "first read of the job": cold}


def over_payload(sizes: Sequence[int]) -> dict[str, Curve]:
    """Milliseconds an act against the bytes it says, on both stores."""
    curves: dict[str, Curve] = {"SQLite": [], "PostgreSQL": []}
    with tempfile.TemporaryDirectory() as folder, server() as at:
        stores = {"SQLite": SqliteStore(Path(folder) / "p.db"), "PostgreSQL": PostgresStore(database(at))}
        for name, store in stores.items():
            with Engine(store) as engine:
                engine.submit("j", acts.Request(goal="g", worker="wes"), by="ann")
                engine.submit("j", acts.Accept(answers="j"), by="wes")
                for size in sizes:
                    curves[name].append((size, _median(lambda engine=engine, size=size: _progress(engine, "x" * size))))
    return curves


def over_processes(counts: Sequence[int]) -> dict[str, Curve]:
    """Acts a second against processes on one PostgreSQL, ours and raw psycopg."""
    rows = sqlite.bodies(postgres.JOBS)
    curves: dict[str, Curve] = {"ours": [], "raw psycopg": []}
    with server() as at:
        for count in counts:
            for name, kind in (("ours", "ours"), ("raw psycopg", "raw")):
                crew = postgres.Crew(kind, at, rows, count)
                crew()
                rates = []
                for _ in range(3):
                    begun = time.perf_counter()
                    rates.append(crew() / (time.perf_counter() - begun))
                curves[name].append((count, statistics.median(rates)))
    return curves


def draw(curves: dict[str, dict[str, Curve]], path: Path) -> None:
    """All of them on one page."""
    from matplotlib.figure import Figure

    page = Figure(figsize=(11, 7), layout="constrained")
    for place, (title, lines) in zip(page.subplots(2, 2).flat, curves.items(), strict=True):
        for name, points in lines.items():
            place.plot(*zip(*points, strict=True), marker="o", label=name)
        place.set_title(title)
        at = [x for x, _ in next(iter(lines.values()))]
        place.set_xscale("log")
        place.set_xticks(at, [f"{x:,.0f}" for x in at])
        place.set_xticks([], minor=True)
        place.margins(y=0.25)
        place.set_ylim(bottom=0)
        place.grid(alpha=0.3)
        place.legend()
    page.savefig(path)


def all_of_them(quick: bool) -> dict[str, dict[str, Curve]]:
    """Every curve, by what it shows."""
    longest = LIMITS.entries - 100
    return {
        "ms against jobs in the store": over_jobs((1_000, 10_000) if quick else (10_000, 100_000, 1_000_000)),
        "ms an act against entries in its log": over_length([n for n in (10, 100, 1_000, longest) if n <= longest]),
        "ms an act against bytes it says": over_payload((100, 1_000, 4_000, 16_000)),
        "acts a second against processes": over_processes((1, 2) if quick else (1, 2, 4, 8)),
    }


def _progress(engine: Engine, line: str = "no news") -> None:
    engine.submit("j", acts.Progress(line=line, nothing_new=True), by="wes")


def _median(*works: object) -> float:
    """Milliseconds: the median of the works, or of as many tries of the only one."""
    taken = []
    for work in works if len(works) > 1 else works * TRIES:
        begun = time.perf_counter()
        work()  # type: ignore[operator]
        taken.append((time.perf_counter() - begun) * 1_000)
    return statistics.median(taken)
