"""What every format says, before it is written in any: arrows, labels, colours, the path of a job.

One arrow per pair of stages (or of states), labelled with its edges as `act (party) [guard]`. Who acts is told by word and by
colour. No format's syntax lives here, and nothing is escaped here but what can be shown nowhere: see `words`.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from lifecycle.law.door import shown
from lifecycle.law.log import Entry
from lifecycle.law.states import FINAL, Role, Stage, State
from lifecycle.law.table import LAWS, Law, Row

GOAL_CHARS = 60
"""As much of a goal as a box holds."""
PARTY_CHARS = 24
"""As much of a party's name, or of a job's id, as a label holds."""
STEPS_SHOWN = 3
"""So many steps of a job along one arrow are told one by one; of more, the first and the last."""

CLASSES: Mapping[Role, str] = {
    Role.REQUESTER: "requester",
    Role.WORKER: "worker",
    Role.REVIEWER: "judge",
    Role.VERIFIER: "judge",
    Role.APPROVER: "judge",
    Role.NEEDED: "asked",
    Role.CLOCK: "clock",
}
"""The colour a party acts in: the three that judge share one."""


@frozen
class Colour:
    """Ink for lines and words, tint for areas under black words: told apart in print by their darkness."""

    ink: str
    tint: str


COLOURS: Mapping[str, Colour] = {
    "requester": Colour("#1d4ed8", "#dbeafe"),
    "worker": Colour("#047857", "#d1fae5"),
    "judge": Colour("#7e22ce", "#f3e8ff"),
    "asked": Colour("#b45309", "#fef3c7"),
    "clock": Colour("#57606a", "#f3f4f6"),
    "over": Colour("#4b5563", "#e5e7eb"),
}
INK, PAPER, FAINT = "#111827", "#ffffff", "#b6bcc6"

TURNS: Mapping[Stage, Role] = {
    Stage.REQUESTED: Role.WORKER,
    Stage.DEFERRED: Role.WORKER,
    Stage.COUNTERED: Role.REQUESTER,
    Stage.UNDER_REVIEW: Role.REVIEWER,
    Stage.READY: Role.WORKER,
    Stage.WORKING: Role.WORKER,
    Stage.BLOCKED: Role.NEEDED,
    Stage.AWAITING_APPROVAL: Role.APPROVER,
    Stage.RENEGOTIATING: Role.REQUESTER,
    Stage.DELIVERED: Role.VERIFIER,
    Stage.STOPPING: Role.WORKER,
}
"""Whose move is waited for; in a final stage, nobody's."""

HINTS: Mapping[State, tuple[str, str]] = {
    State.REQUESTED: ("worker", "the worker answers"),
    State.DEFERRED: ("worker", "the worker will answer later"),
    State.COUNTERED: ("requester", "the requester answers"),
    State.ACCEPTED: ("worker", "the terms are agreed"),
    State.PROGRESSING: ("worker", "the worker works, or waits"),
    State.RESULT: ("judge", "the verifier judges"),
    State.DECLINED: ("over", "the worker said no"),
    State.ERROR: ("over", "the work failed or ran out"),
    State.CANCELLED: ("over", "called off, or timed out"),
}
"""One line for each state, for whoever sees the machine for the first time, and the colour of whose turn it mostly is."""


@frozen
class Arrow:
    """All edges from one place to another; `origin` is None where a job begins. Places are stages, or states."""

    origin: str | None
    to: str
    rows: tuple[Row, ...]

    @property
    def colour(self) -> str:
        """The colour of whoever acts; where the clock may too, of the other; where several may, the first's."""
        return next((CLASSES[row.by] for row in self.rows if row.by is not Role.CLOCK), "clock")


@frozen
class Leg:
    """All steps that one job took from one state to another."""

    origin: State | None
    to: State
    steps: tuple[Entry, ...]

    @property
    def colour(self) -> str:
        """The colour of whoever acted first."""
        return CLASSES[role(self.steps[0])]


def party(role: Role) -> str:
    """A role as labels name it."""
    return "whoever is asked" if role is Role.NEEDED else role.value


def label(row: Row) -> str:
    """An edge as labels tell it; the guard stands where the table asks one before it takes this edge."""
    return f"{row.act} ({party(row.by)})" + (f" [{row.why}]" if row.when else "")


def between_stages(law: Law) -> list[Arrow]:
    """Every edge of the law, one arrow per pair of stages, in the table's order."""
    found: dict[tuple[Stage | None, Stage], list[Row]] = {}
    for row in law.rows:
        found.setdefault((row.origin, row.to), []).append(row)
    return [Arrow(origin, to, tuple(rows)) for (origin, to), rows in found.items()]


def between_states(law: Law) -> list[Arrow]:
    """The edges that change the state, one arrow per pair of states; each act of a party stands once."""
    found: dict[tuple[State | None, State], dict[str, Row]] = {}
    for row in law.rows:
        origin = row.origin.state if row.origin else None
        if origin != row.to.state:
            found.setdefault((origin, row.to.state), {}).setdefault(row.act, row)
    return [Arrow(origin, to, tuple(rows.values())) for (origin, to), rows in found.items()]


def by_party(rows: Iterable[Row]) -> list[str]:
    """The acts of an arrow, one line per party: `counter, progress, block (worker)`."""
    acts: dict[str, list[str]] = {}
    for row in rows:
        acts.setdefault(party(row.by), []).append(row.act)
    return [f"{', '.join(names)} ({whose})" for whose, names in acts.items()]


def stages_of(state: State) -> list[Stage]:
    """The stages of a state; one that has none is its own."""
    return [stage for stage in Stage if stage.state is state]


def nested(state: State) -> bool:
    """Whether a state has stages of its own."""
    return stages_of(state) != [state.value]


def ends() -> list[State]:
    """The states in which a job can be over."""
    over = {stage.state for stage in FINAL}
    return [state for state in State if state in over]


def turn(stage: Stage) -> str:
    """The colour of whose move is waited for in a stage."""
    return "over" if stage in FINAL else CLASSES[TURNS[stage]]


def waits(stage: Stage) -> str:
    """Whose move is waited for in a stage, in words."""
    return "final" if stage in FINAL else f"{party(TURNS[stage])}'s turn" if stage is not Stage.BLOCKED else "waits for a need"


def words(text: str, most: int = GOAL_CHARS) -> str:
    """A text from outside, on one line, with control and bidirectional characters told and not obeyed."""
    return shown(text, most)


def broken(text: str, wide: int) -> list[str]:
    """A text in lines of no more than so many characters, but for words that are longer."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= wide:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def role(entry: Entry) -> Role:
    """In which part the party of an entry acted, by the law the entry was made under."""
    return LAWS[entry.law].ways[entry.origin][entry.act.act].by


def when(entry: Entry) -> str:
    """The time of an entry, in UTC, to the second."""
    return entry.at.strftime("%Y-%m-%d %H:%M:%S")


def said(entry: Entry) -> str:
    """A step as labels tell it: its place in the log, the act, whose it was, as what."""
    return f"{entry.seq}. {entry.act.act} ({words(entry.by, PARTY_CHARS)}, {party(role(entry))})"


def told(steps: Sequence[Entry]) -> list[str]:
    """Steps as lines: what was done, and when; of many, the first and the last."""
    if len(steps) > STEPS_SHOWN:
        return [*told(steps[:1]), f"and {len(steps) - 2} more", *told(steps[-1:])]
    return [line for step in steps for line in (said(step), when(step))]


def path(entries: Sequence[Entry]) -> tuple[list[Leg], dict[State, list[Entry]]]:
    """The path of a job: its legs between states, in the order first taken, and the steps it took within each state."""
    found: dict[tuple[State | None, State], list[Entry]] = {}
    within: dict[State, list[Entry]] = {}
    for entry in entries:
        origin, to = entry.origin.state if entry.origin else None, entry.stage.state
        (within.setdefault(to, []) if origin is to else found.setdefault((origin, to), [])).append(entry)
    return [Leg(origin, to, tuple(steps)) for (origin, to), steps in found.items()], within


def untaken(law: Law, taken: Iterable[Leg]) -> list[tuple[str, str]]:
    """The ways between states that a job has not gone."""
    gone = {(leg.origin, leg.to) for leg in taken}
    return [(arrow.origin, arrow.to) for arrow in between_states(law) if arrow.origin and (arrow.origin, arrow.to) not in gone]


def lifelines(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """The parties that acted, and their part: first the requester and the worker, then in the order they came in."""
    request = entries[0]
    known = {request.by: Role.REQUESTER.value, str(getattr(request.act, "worker", "")): Role.WORKER.value}
    for entry in entries:
        known.setdefault(entry.by, party(role(entry)))
    return list(known.items())


def hears(entry: Entry, entries: Sequence[Entry]) -> str:
    """To whom an act is addressed: the worker's acts to whoever's turn it makes, the others' to the worker."""
    request, worker = entries[0], str(getattr(entries[0].act, "worker", ""))
    if entry.by != worker:
        return worker
    asked = TURNS.get(entry.stage, Role.REQUESTER)
    chosen = getattr(request.act, asked.value, None) if asked in (Role.REVIEWER, Role.VERIFIER, Role.APPROVER) else None
    need = getattr(entry.act, "need", None) if asked is Role.NEEDED else None
    return str(chosen or getattr(need, "whom", None) or request.by)
