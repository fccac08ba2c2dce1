"""The people of a run, at the terminal: what each is asked is shown on stderr, with nothing in it taken for a command.

Where there is no terminal everybody is away, and what waits for a person is left pending.
"""

import sys
from typing import Literal

import click

from lifecycle import terminal
from lifecycle.checks import Word
from lifecycle.law.door import shown as printable
from lifecycle.law.terms import Condition, Need, PersonCheck
from lifecycle.run import Verdicts
from lifecycle.toolhost import Pending


class AtTerminal:
    """People at the terminal; without one, everybody is away."""

    def decide(self, pending: Pending) -> Verdicts | None:
        """Show each call, and ask for a word on it."""
        if not sys.stdin.isatty():
            return None
        verdicts: dict[str, Literal["approved", "denied"]] = {}
        for call in pending.calls:
            if call.gated:
                click.echo(f"{printable(pending.approver)} is asked: {printable(call.tool)}", err=True)
                click.echo("\n".join(f"    {line}" for line in terminal.lines(call.preview)), err=True)
                verdicts[call.id] = "approved" if click.confirm("let it run?", err=True) else "denied"
        return verdicts

    def resolve(self, need: Need) -> str | None:
        """Ask for what the worker needs."""
        if not sys.stdin.isatty():
            return None
        told: str = click.prompt(printable(f"{need.whom} is asked: {need.what}"), err=True)
        return told

    def word(self, condition: Condition) -> Word | None:
        """Ask for the verifier's own word."""
        return self._word(f"verifier, is it met? {condition.id}: {condition.text}")

    def answer(self, id: str, check: PersonCheck) -> Word | None:
        """Ask a named party."""
        return self._word(f"{check.party} is asked: {check.question}")

    def _word(self, question: str) -> Word | None:
        if not sys.stdin.isatty():
            return None
        met = click.confirm(printable(question, 1_000), err=True)
        why: str = click.prompt("why", err=True)
        return Word(met, why)
