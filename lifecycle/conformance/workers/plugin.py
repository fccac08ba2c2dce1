"""For pytest: one test for each must, of a worker that is named on the command line or in a test file.

    pytest -p lifecycle.conformance.workers.plugin --worker ./my-worker
    pytest -p lifecycle.conformance.workers.plugin --worker http://127.0.0.1:8100 --worker-token secret

    TestMyWorker = suite(["./my-worker"])          # in a file of one's own; the arguments are those of `conform`

A must that is not checked is skipped, with why; one that is broken fails with what was seen.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lifecycle.conformance.workers import MUSTS, Outcome, conform


def suite(argv: Sequence[str] = (), **named: Any) -> type:
    """A test class with one test for each must."""

    def test_of(number: int) -> Callable[[object], None]:
        def test(self: object) -> None:
            _held(conform(argv, only=[number], **named).outcomes[0])

        test.__doc__ = MUSTS[number]
        return test

    return type("Conforms", (), {f"test_must_{number:02}": test_of(number) for number in MUSTS})


class Must(pytest.Item):
    """One must of the worker on the command line."""

    number = 0

    def runtest(self) -> None:
        """Try it."""
        worker: str = self.config.getoption("--worker")
        known: dict[str, Any] = {"token": self.config.getoption("--worker-token"), "only": [self.number]}
        if worker.startswith(("http://", "https://")):
            _held(conform(url=worker, **known).outcomes[0])
        else:
            _held(conform(shlex.split(worker), **known).outcomes[0])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """What was seen, and nothing of how it was found."""
        return str(excinfo.value) if excinfo.errisinstance(AssertionError) else str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Where it stands in a report."""
        return "worker", None, self.name


def pytest_addoption(parser: pytest.Parser) -> None:
    """The worker to try."""
    group = parser.getgroup("lifecycle", "does a worker keep the twenty musts")
    group.addoption("--worker", default=None, metavar="CMD|URL", help="Try this worker: one test for each must.")
    group.addoption("--worker-token", default="", metavar="TOKEN", help="Its token, if it is behind HTTP.")


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """One test for each must, after all others."""
    for number, must in MUSTS.items() if config.getoption("--worker") is not None else ():
        item: Must = Must.from_parent(session, name=f"{number:02} {must}")
        item.number = number
        items.append(item)


def _held(outcome: Outcome) -> None:
    if outcome.verdict == "failed":
        raise AssertionError(outcome.line)
    if outcome.verdict == "not checked":
        pytest.skip(outcome.line)
