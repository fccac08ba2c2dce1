"""The people of a run, as it meets them: who approves a call, answers a need, gives a word where no check decides.

Nothing here knows a terminal; `Away` is everybody gone: what waits for a person is left pending.
"""

from collections.abc import Mapping
from typing import Literal, Protocol

from lifecycle.checks import Word
from lifecycle.law.terms import Condition, Need, PersonCheck
from lifecycle.toolhost import Pending

Verdicts = Mapping[str, Literal["approved", "denied"]]


class People(Protocol):
    """Whoever is asked. None leaves it pending: the run then ends, and goes on when it is resumed."""

    def decide(self, pending: Pending) -> Verdicts | None:
        """A word on each gated call of a set, which is shown with its previews."""

    def resolve(self, need: Need) -> str | None:
        """The answer to what the worker needs."""

    def word(self, condition: Condition) -> Word | None:
        """The verifier's own word on a condition that no check decides."""

    def answer(self, id: str, check: PersonCheck) -> Word | None:
        """A named party's answer to a question."""


class Away:
    """Nobody is there."""

    def decide(self, pending: Pending) -> Verdicts | None:
        """Left pending."""
        return None

    def resolve(self, need: Need) -> str | None:
        """Left pending."""
        return None

    def word(self, condition: Condition) -> Word | None:
        """Left pending."""
        return None

    def answer(self, id: str, check: PersonCheck) -> Word | None:
        """Left pending."""
        return None
