"""Does a worker conform? Twenty musts, each tried on its process, from outside.

    from lifecycle.conformance.workers import conform

    def test_my_worker_conforms():
        conform(["./my-worker"]).check()

or one test for each must, by the plugin beside this file: `pytest -p lifecycle.conformance.workers.plugin --worker ./my-worker`.

Each must is passed, failed with what was seen, or not checked with why: what cannot be seen from outside is never passed. Every
exchange has ANSWER seconds, every job that is neither slow nor waiting ENDS; no worker can hang the harness.
"""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from attrs import asdict, field, frozen
from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from lifecycle.conformance.workers.bench import ANSWER, ENDS, LEDGER, TOKEN, Bench, Goals, NotChecked, Unfit
from lifecycle.conformance.workers.probes import MUSTS, PROBES, UNSEEN, Probe
from lifecycle.worker import WorkerError

__all__ = [
    "ANSWER",
    "ENDS",
    "LEDGER",
    "MUSTS",
    "PROBES",
    "TOKEN",
    "UNSEEN",
    "Bench",
    "Conformance",
    "Goals",
    "NotChecked",
    "Outcome",
    "Unfit",
    "conform",
    "program",
]

Verdict = Literal["passed", "failed", "not checked"]


@frozen
class Outcome:
    """One must: what it says, what became of it, what was seen or why it was not checked, and the seconds it took."""

    number: int
    must: str
    verdict: Verdict
    saw: str
    seconds: float

    @property
    def line(self) -> str:
        """All of it in one line."""
        saw = f": {self.saw}" if self.saw else ""
        return f"{self.number:2}. {self.verdict:11}  {self.must}{saw}"


@frozen
class Conformance:
    """What a worker was found to keep, must by must."""

    worker: str
    outcomes: tuple[Outcome, ...]
    unseen: tuple[str, ...] = field(default=UNSEEN)
    """What nobody can see from outside, whatever the outcomes."""

    @property
    def passed(self) -> bool:
        """Whether no must was found broken."""
        return not self.of("failed")

    def of(self, verdict: Verdict) -> tuple[Outcome, ...]:
        """The musts of which this is the verdict."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict == verdict)

    def check(self) -> None:
        """AssertionError with every broken must and what was seen, if there is one."""
        if broken := self.of("failed"):
            raise AssertionError("\n".join([f"{self.worker} does not conform", *(outcome.line for outcome in broken)]))

    @property
    def ending(self) -> str:
        """The sum, and what was out of sight, in words."""
        told = ", ".join(f"{len(self.of(verdict))} {verdict}" for verdict in ("passed", "failed", "not checked"))
        return f"{self.worker}: {told}\ncannot be seen from outside: {'; '.join(self.unseen)}"

    @property
    def text(self) -> str:
        """The whole report as lines."""
        return "\n".join([*(outcome.line for outcome in self.outcomes), self.ending])

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        outcomes = [asdict(outcome) for outcome in self.outcomes]
        return {"worker": self.worker, "passed": self.passed, "outcomes": outcomes, "unseen": list(self.unseen)}

    def junit(self) -> str:
        """As JUnit XML: one case for each must; what was not checked is skipped."""
        suite = TestSuite(f"worker conformance of {self.worker}")
        for outcome in self.outcomes:
            case = TestCase(f"{outcome.number:02} {outcome.must}", "worker", outcome.seconds)
            if outcome.verdict == "failed":
                case.result = [Failure(outcome.saw)]
            elif outcome.verdict == "not checked":
                case.result = [Skipped(outcome.saw)]
            suite.add_testcase(case)
        whole = JUnitXml()
        whole.add_testsuite(suite)
        return str(whole.tostring().decode())  # type: ignore[no-untyped-call]


def conform(
    argv: Sequence[str] = (), *, url: str = "", token: str = "", goals: Goals | None = None, ledger: str | Path | None = None,
    environment: Mapping[str, str] | None = None, only: Iterable[int] = (), finished: Callable[[Outcome], None] | None = None,
) -> Conformance:  # fmt: skip
    """Try a worker: a program (`argv`), one at a `url`, or a program that answers at a URL (both).

    A fresh process in an empty directory for each must. `only` are the numbers of the musts to try; `finished` is told each
    outcome as it comes. WorkerError (`not_started`) if there is no such program.
    """
    wanted = sorted(set(only) or PROBES)
    if unknown := [number for number in wanted if number not in PROBES]:
        raise ValueError(f"there is no must {unknown[0]}; there are 1 to {len(PROBES)}")
    outcomes = []
    for number in wanted:
        known = {**(environment or {}), **({TOKEN: token} if token else {})}
        bench = Bench(argv, url, token, goals or Goals(), known)
        if ledger is not None:
            bench.ledger = Path(ledger)
        outcomes.append(_tried(number, PROBES[number], bench))
        if finished is not None:
            finished(outcomes[-1])
    return Conformance(" ".join(argv) or url, tuple(outcomes))


def program(target: str) -> list[str]:
    """The program that puts `package.module:object` behind stdio: a function of a desk, or a Served made with its way to call."""
    return [sys.executable, "-m", "lifecycle.worker", target]


def _tried(number: int, probe: Probe, bench: Bench) -> Outcome:
    begun, verdict, saw = time.monotonic(), "passed", ""
    try:
        probe(bench)
    except Unfit as unfit:
        verdict, saw = "failed", str(unfit)
    except NotChecked as why:
        verdict, saw = "not checked", str(why)
    except WorkerError as error:
        if error.why == "not_started":
            raise
        verdict, saw = "failed", str(error)
    finally:
        bench.close()
    return Outcome(number, MUSTS[number], verdict, saw, time.monotonic() - begun)  # type: ignore[arg-type]
