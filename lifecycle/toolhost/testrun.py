"""The tool `test`: a command that the job's contract lists, run for its record. Any other command is one to ask for.

What runs the command is given from outside: a function from a command check to its record. Nothing here starts a process.
"""

import posixpath
from collections.abc import Callable, Iterator

from attrs import frozen
from pydantic import JsonValue, TypeAdapter

from lifecycle.law.acts import CheckRecord
from lifecycle.law.contract import Contract
from lifecycle.law.terms import CommandCheck
from lifecycle.law.tools import ToolContract
from lifecycle.toolhost.registry import Operation, Registry, Tool

_TEXTS: JsonValue = {"type": "array", "items": {"type": "string"}}

TEST = ToolContract(
    name="test",
    input_schema={
        "type": "object",
        "description": "Run a command and keep its record. A command that the contract lists runs; any other is asked for.",
        "properties": {
            "argv": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
            "cwd": {"type": "string", "minLength": 1},
            "environment": {"type": ["string", "null"]},
            "cases": _TEXTS,
        },
        "required": ["argv"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {
            "status": {"enum": ["passed", "failed", "unavailable"]},
            "argv": _TEXTS,
            "cwd": {"type": "string"},
            "environment": {"type": ["string", "null"]},
            "cases": _TEXTS,
            "exit": {"type": ["integer", "null"]},
            "output": {"type": "string"},
            "output_digest": {"type": ["string", "null"]},
        },
        "required": ["status", "argv", "cwd", "cases", "exit", "output", "output_digest"],
    },
    effect="write",
    timeout=900.0,
    approval="policy",
    preview="$argv",
)
"""Its contract. Only what the job's contract lists is let run without asking; whoever lists a command answers for it."""

Runner = Callable[[str, CommandCheck], CheckRecord]
"""Runs a command check, under an id, and gives its record."""


@frozen
class TestRun:
    """The executor: the commands of one job's contract, and what runs them."""

    __test__ = False  # its name does not make it a test

    listed: frozenset[tuple[tuple[str, ...], str]]
    runner: Runner

    def __call__(self, arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
        """Run the command; its record says what came of it. A record that lacks a case asked for has not passed."""
        check = _check(arguments)
        record = self.runner(operation.id, check)
        held = _RECORD.dump_python(record, mode="json")
        if record.status == "passed" and (missing := sorted({*check.cases} - {*record.cases})):
            held |= {"status": "failed", "seen": f"not collected: {', '.join(missing)}"}
        return held  # type: ignore[no-any-return]  # a record dumps to an object

    def asks(self, arguments: dict[str, JsonValue]) -> bool:
        """Whether it must be asked for: the contract does not list this command, in this directory."""
        check = _check(arguments)
        return (check.argv, posixpath.normpath(check.cwd)) not in self.listed


def register_test(registry: Registry, contract: Contract, runner: Runner) -> Tool:
    """Register `test` for the commands that a job's contract lists."""
    run = TestRun(frozenset(commands(contract)), runner)
    return registry.register(TEST, run, asks=run.asks)


def commands(contract: Contract) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every command that a contract lists, with the directory it runs in."""
    checks = [criterion.check for criterion in (*contract.preconditions, *contract.invariants)]
    for check in (*checks, *(condition.check for condition in contract.acceptance)):
        if isinstance(check, CommandCheck):
            yield check.argv, posixpath.normpath(check.cwd)


_RECORD, _CHECK = TypeAdapter(CheckRecord), TypeAdapter(CommandCheck)


def _check(arguments: dict[str, JsonValue]) -> CommandCheck:
    return _CHECK.validate_python(arguments)
