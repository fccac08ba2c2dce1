"""Test cases, counted from the cases of a JUnit file. What its header says of their number is not read: a header can lie."""

from pathlib import Path
from typing import Literal

from attrs import frozen
from junitparser import Error, Failure, JUnitXml, JUnitXmlError, Skipped, TestCase, TestSuite

from lifecycle.law.door import shown

BYTES = 64 << 20
"""The largest JUnit file that is read."""


@frozen
class Case:
    """One test case that a run reports. An expected failure counts as skipped: it shows nothing."""

    group: str
    name: str
    status: Literal["passed", "failed", "error", "skipped"]

    @property
    def id(self) -> str:
        """As a record keeps it: `tests.test_retry.TestBackoff::test_doubles`."""
        return shown(f"{self.group}::{self.name}")


class NoCases(Exception):
    """There is no JUnit file, or none that can be read."""


def cases_in(file: Path) -> list[Case]:
    """Every case of a JUnit file, in its order; NoCases if there is none that can be read."""
    if file.is_symlink() or not file.is_file():
        raise NoCases("the run wrote no JUnit file")
    if file.stat().st_size > BYTES:
        raise NoCases(f"the JUnit file is larger than {BYTES} bytes")
    try:
        tree = JUnitXml.fromfile(str(file))
        return [_case(case) for case in _flat(tree)]
    except (JUnitXmlError, ValueError, SyntaxError, RecursionError) as error:
        raise NoCases(f"the JUnit file cannot be read: {shown(str(error))}") from None


def named(cases: list[Case], id: str) -> list[Case]:
    """The cases that an id names: a pytest node id (without `[...]` all of its parameters), or `group::name`, `group.name`."""
    path, _, rest = id.partition("::")
    *classes, name = rest.split("::", rest.partition("[")[0].count("::")) if rest else [path]
    groups = {".".join([path, *classes]), ".".join([path.removesuffix(".py").replace("/", "."), *classes])}

    def fits(case: Case) -> bool:
        same = case.name == name or ("[" not in name and case.name.startswith(f"{name}["))
        return (same and case.group in groups) if rest else f"{case.group}.{case.name}" == id

    return [case for case in cases if fits(case)]


def _flat(tree: JUnitXml | TestSuite) -> list[TestCase]:
    found: list[TestCase] = []
    for item in tree:
        if isinstance(item, TestCase):
            found.append(item)
        else:
            found += _flat(item)
    return found


def _case(case: TestCase) -> Case:
    results = case.result or []
    status: Literal["passed", "failed", "error", "skipped"] = "passed"
    if any(isinstance(result, Error) for result in results):
        status = "error"
    elif any(isinstance(result, Failure) for result in results):
        status = "failed"
    elif any(isinstance(result, Skipped) for result in results):
        status = "skipped"
    return Case(case.classname or "", case.name or "", status)
