"""A fault made short: the fewest and plainest steps that still break the same sentence.

Whatever can be left out is left out, the longest runs first; then each step is said as plainly as still shows the fault. Nothing
here knows what the steps do.
"""

from collections.abc import Iterator

from attrs import evolve

from lifecycle.conformance.fuzz.sayings import JOB
from lifecycle.conformance.fuzz.subject import Subject
from lifecycle.conformance.fuzz.trial import Fault, Step, Trial

Steps = tuple[Step, ...]


def shortest(subject: Subject, fault: Fault) -> Fault:
    """The same fault, shown by steps of which none can be left out or said more plainly."""
    best: Fault | None = fault
    while best is not None:
        fault, best = best, next(_smaller(subject, best), None)
    return fault


def _smaller(subject: Subject, fault: Fault) -> Iterator[Fault]:
    """Faults that break the same sentence in fewer or plainer steps."""
    for these in _candidates(fault.steps, fault.together):
        try:
            if fault.replay is not None:
                fault.replay(subject, these)
            else:
                Trial.of(subject).take(*these)
        except Fault as found:
            if found.law == fault.law:
                found.check = fault.check
                yield found
        except Exception:
            continue  # a step that makes no sense without one that was left out


def _candidates(these: Steps, together: int) -> Iterator[Steps]:
    """What may be tried instead, the boldest first."""
    body, last = these[: len(these) - together], these[len(these) - together :]
    if any(step.job != JOB for step in these):
        yield tuple(_childless(step) for step in these if step.job == JOB)
    for size in range(len(body), 0, -1):
        for start in range(len(body) - size + 1):
            yield body[:start] + body[start + size :] + last
    for place, step in enumerate(these):
        for plainer in _plainer(step):
            yield (*these[:place], plainer, *these[place + 1 :])


def _childless(step: Step) -> Step:
    """The step, without a parent job."""
    words = step.manner.split("+")
    return evolve(step, manner="+".join(word for word in words if word != "child")) if "child" in words else step


def _plainer(step: Step) -> Iterator[Step]:
    """The same step, said with one word less."""
    words = [word for word in step.manner.split("+") if word]
    for place in range(len(words)):
        yield evolve(step, manner="+".join(words[:place] + words[place + 1 :]))
