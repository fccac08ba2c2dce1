"""The machine, a job and a delegation tree in Mermaid, as GitHub and most documentation tools draw it.

Mermaid's own marks stand in the law's words only; every other character of a text from outside is an entity (`#35;`).
"""

from collections.abc import Sequence

from lifecycle.diagrams import arrows
from lifecycle.diagrams.arrows import COLOURS, FAINT, INK
from lifecycle.law.log import Entry, Row
from lifecycle.law.states import FINAL, Stage, State
from lifecycle.law.table import LAW, Law

PLAIN = frozenset(" .,_-()")
"""What may stand in a label beside letters and digits; the brackets of a guard may too."""
WIDE = 34
"""Characters of a label before it is broken."""
_ORDER = ("requested", "deferred", "countered", "declined", "accepted", "progressing", "result", "error", "cancelled")
"""Of a hundred orders tried with Mermaid 11, one of the few in which no two labels collide."""


def machine(law: Law) -> str:
    """Every edge: the nine states as the frame, their stages inside, one arrow per pair of stages."""
    lines = ["stateDiagram-v2", "    direction TB", *_classes("    ")]
    for state in State:
        if arrows.nested(state):
            lines += [f"    state {state} {{", *(f"    {_stage(stage)}" for stage in arrows.stages_of(state)), "    }"]
        else:
            lines.append(_stage(Stage(state.value)))
    for arrow in arrows.between_stages(law):
        told = "<br/>".join(_text(line, PLAIN | {*"[]"}) for row in arrow.rows for line in arrows.broken(arrows.label(row), WIDE))
        lines.append(f"    {_id(arrow.origin)} --> {_id(arrow.to)}: {told}")
    lines += [f"    {_id(stage)} --> [*]" for stage in Stage if stage in FINAL]
    lines += [f"    class {_id(stage)} {arrows.turn(stage)}" for stage in Stage]
    return "\n".join(lines) + "\n"


def overview(law: Law) -> str:
    """The nine states: one arrow per pair of them, labelled with the acts that lead there and whose acts they are."""
    lines = ["stateDiagram-v2", "    direction TB", *_classes("    ")]
    lines += [f"    {state}: <b>{state}</b><br/>{hint}" for state, (_, hint) in arrows.HINTS.items()]
    for arrow in sorted(arrows.between_states(law), key=_place):
        told = "<br/>".join(arrows.by_party(arrow.rows))
        if len(arrow.rows) == 1:
            told = told.replace(" (", "<br/>(")
        lines.append(f"    {_id(arrow.origin)} --> {arrow.to}: {told}")
    lines += [f"    {state} --> [*]" for state in arrows.ends()]
    lines += [f"    class {state} {colour}" for state, (colour, _) in arrows.HINTS.items()]
    return "\n".join(lines) + "\n"


def job(entries: Sequence[Entry]) -> str:
    """One job's path through the nine states: thick where it went, with steps, parties and times; dotted where it might have."""
    (legs, within), now = arrows.path(entries), entries[-1].stage
    been, untaken = {leg.to for leg in legs}, arrows.untaken(LAW, legs)
    lines = ["flowchart TB", *_classes("    ", line="stroke-width:2px")]
    lines += [f"    classDef unseen fill:#ffffff00,stroke:{FAINT},stroke-dasharray:3 3", '    start(("●"))']
    for state in State:
        told = [f"<b>{state}</b>" if state in been else state.value, *map(_text, arrows.told(within.get(state, ())))]
        here = state is now.state
        told += [f"<b>{'ended' if now in FINAL else 'now'}: {now}</b>"] if here else []
        box = f'"{"<br/>".join(told)}"'
        lines.append(f"    {state}[[{box}]]" if here else f"    {state}[{box}]")
    lines += [f'    {leg.origin or "start"} ==>|"{"<br/>".join(map(_text, arrows.told(leg.steps)))}"| {leg.to}' for leg in legs]
    lines += [f"    {origin} -.-> {to}" for origin, to in untaken]
    lines += [f"    linkStyle {n} stroke:{COLOURS[leg.colour].ink},stroke-width:3px" for n, leg in enumerate(legs)]
    lines += [f"    linkStyle {n} stroke:{FAINT}" for n in range(len(legs), len(legs) + len(untaken))]
    lines += [f"    class {state} {arrows.HINTS[state][0] if state in been else 'unseen'}" for state in State]
    return "\n".join(lines) + "\n"


def sequence(entries: Sequence[Entry]) -> str:
    """Who said what to whom, and when: a lifeline per party, notes where the state changes."""
    who = {name: f"p{n}" for n, (name, _) in enumerate(arrows.lifelines(entries))}
    lines = ["sequenceDiagram"]
    for name, part in arrows.lifelines(entries):
        lines.append(f"    participant {who[name]} as {_text(arrows.words(name, arrows.PARTY_CHARS))}<br/>({part})")
    left, right = "p0", f"p{len(who) - 1}"
    for entry in entries:
        to = who.get(arrows.hears(entry, entries), "p0")
        lines.append(f"    {who[entry.by]}->>{to}: {entry.seq}. {entry.act.act}<br/>{_text(arrows.when(entry))}")
        if entry.origin is None or entry.origin is not entry.stage:
            lines.append(f"    Note over {left},{right}: {entry.stage}")
    return "\n".join(lines) + "\n"


def tree(rows: Sequence[Row]) -> str:
    """Who delegated what to whom: a box per job, its parent above it."""
    ids = {row.job: f"j{n}" for n, row in enumerate(rows)}
    lines = ["flowchart TB", *_classes("    ")]
    for row in rows:
        name, worker = (_text(arrows.words(text, arrows.PARTY_CHARS)) for text in (row.job, row.worker))
        told = (f"<b>{name}</b>", _text(arrows.words(row.goal)), f"<i>{row.stage}</i>", f"worker: {worker}")
        lines.append(f'    {ids[row.job]}["{"<br/>".join(told)}"]')
    lines += [f"    {ids[row.parent]} --> {ids[row.job]}" for row in rows if row.parent in ids]
    lines += [f"    class {ids[row.job]} {arrows.turn(row.stage)}" for row in rows]
    return "\n".join(lines) + "\n"


def _place(arrow: arrows.Arrow) -> tuple[int, int]:
    """Where an arrow stands in the overview: Mermaid lays arrows out in the order of the text."""
    return (_ORDER.index(arrow.origin) if arrow.origin else -1, -_ORDER.index(arrow.to))


def _classes(indent: str, line: str = "stroke-width:1.5px") -> list[str]:
    return [f"{indent}classDef {name} fill:{c.tint},stroke:{c.ink},color:{INK},{line}" for name, c in COLOURS.items()]


def _id(place: str | None) -> str:
    """A place as an identifier. `class` takes a name with a dot for the part before it, so the dot is two underscores."""
    return "[*]" if place is None else place.replace(".", "__")


def _stage(stage: Stage) -> str:
    return f"    {_id(stage)}: <b>{stage.value.rpartition('.')[2]}</b><br/>{arrows.waits(stage)}"


def _text(text: str, plain: frozenset[str] = PLAIN) -> str:
    return "".join(c if c.isalnum() or c in plain else f"#{ord(c)};" for c in text)
