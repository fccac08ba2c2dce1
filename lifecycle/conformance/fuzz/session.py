"""What a check is given, and what it leaves: a subject to try, and how much of what there is was tried.

A check is a function of a session; it raises the `Fault` it finds. Nothing here knows what is checked.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random

from attrs import define, field, frozen

from lifecycle.conformance.fuzz.subject import Scope, Subject, scope_of
from lifecycle.conformance.fuzz.trial import Trial


@frozen
class Covered:
    """How much of what there is was tried, and nothing wrong seen: `done` of `of`.

    `missing` names what could be and was not, `infeasible` what cannot be, each with why. `unchecked` says why a check was left out.
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
    """Steps taken so far, by all checks."""
    _trials: list[Trial] = field(factory=list)

    @property
    def scope(self) -> Scope:
        """What the subject claims to do."""
        return scope_of(self.subject)

    def trial(self) -> Trial:
        """A new trial, whose steps are counted."""
        trial = Trial.of(self.subject)
        self._trials = [trial]
        return trial

    def chance(self) -> Random:
        """Chance that is the same in every run with this seed."""
        return Random(self.seed)

    def along(self, check: str, all_: Sequence[object], of: int | None = None) -> Iterable[object]:
        """The same things, one by one, telling the progress."""
        for done, one in enumerate(all_):
            self.progress(check, done, of or len(all_))
            yield one


Check = Callable[[Session], Covered]


def covered(check: str, done: set[str], want: Iterable[str], infeasible: Iterable[tuple[str, str]] = ()) -> Covered:
    """What was done of what was wanted, by name."""
    wanted = list(dict.fromkeys(want))
    missing = tuple(name for name in wanted if name not in done)
    return Covered(check, len(wanted) - len(missing), len(wanted), missing, tuple(infeasible))
