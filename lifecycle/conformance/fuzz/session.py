"""What a check is given, and what it leaves: a subject to try, and how much of what there is was tried.

A check is a function of a session; it raises the `Fault` it finds. Nothing here knows what is checked.
"""

from collections import Counter
from collections.abc import Callable, Iterable

from attrs import define, field, frozen

from lifecycle.conformance.fuzz.subject import Scope, Subject, scope_of
from lifecycle.conformance.fuzz.trial import Trial


@frozen
class Covered:
    """How much of what there is was tried, and nothing wrong seen: `done` of `of`.

    `missing` names what could be and was not, `infeasible` what cannot be, each with why. `unchecked` says why a check was left
    out.
    """

    check: str
    done: int
    of: int
    missing: tuple[str, ...] = ()
    infeasible: tuple[tuple[str, str], ...] = ()
    unchecked: str = ""

    @property
    def percent(self) -> float:
        """Of what is feasible."""
        return 100.0 if self.of == 0 else 100.0 * self.done / self.of

    @property
    def explained(self) -> str:
        """What the check came to, and why the rest is not feasible or was not tried: one line."""
        told = [f"{count} infeasible: {why}" for why, count in Counter(why for _, why in self.infeasible).items()]
        told += [f"not tried: {', '.join(self.missing)}"] if self.missing else []
        return f"{self} ({'; '.join(told)})" if told else str(self)

    def __str__(self) -> str:
        if self.unchecked:
            return f"{self.check} not checked: {self.unchecked}"
        return f"{self.check} {self.done}/{self.of}"


@define
class Session:
    """One subject, tried by one check after the other."""

    subject: Subject
    seed: int = 0
    progress: Callable[[str, int, int], None] = lambda check, done, of: None
    """Called with the check's name, and how far it is."""
    steps: int = 0
    """Steps taken by what makes its own trials."""
    _trials: list[Trial] = field(factory=list)

    @property
    def scope(self) -> Scope:
        """What the subject claims to do."""
        return scope_of(self.subject)

    @property
    def taken(self) -> int:
        """Steps taken so far, by all checks."""
        return self.steps + sum(trial.acts for trial in self._trials)

    def trial(self) -> Trial:
        """A new trial, whose steps are counted."""
        self.steps, self._trials = self.taken, [Trial.of(self.subject)]
        return self._trials[0]


Check = Callable[[Session], Covered]


def covered(check: str, done: set[str], want: Iterable[str], infeasible: Iterable[tuple[str, str]] = ()) -> Covered:
    """What was done of what was wanted, by name."""
    wanted = list(dict.fromkeys(want))
    missing = tuple(name for name in wanted if name not in done)
    return Covered(check, len(wanted) - len(missing), len(wanted), missing, tuple(infeasible))
