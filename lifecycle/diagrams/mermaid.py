"""The machine, a job and a delegation tree in Mermaid, as GitHub and most documentation tools draw it.

Mermaid's own marks stand in the law's words only; every other character of a text from outside is an entity (`#35;`).
"""

from collections.abc import Sequence

from lifecycle.diagrams import arrows
from lifecycle.diagrams.arrows import COLOURS, FAINT, INK
from lifecycle.law.log import Entry, Row
from lifecycle.law.states import FINAL, Stage, State
from lifecycle.law.table import LAW, Law

PLAIN = frozenset(" .,-_()[]")
"""What may stand in a label beside letters and digits."""
WIDE = 34
"""Characters of a label before it is broken."""


def machine(law: Law) -> str:
    """Every edge: the nine states as the frame, their stages inside, one arrow per pair of stages."""
    lines = ["stateDiagram-v2", "    direction TB", *_classes("    ")]
    for state in State:
        if arrows.nested(state):
            lines += [f"    state {state} {{", *(f"    {_stage(stage)}" for stage in arrows.stages_of(state)), "    }"]
        else:
            lines.append(_stage(Stage(state.value)))
    for arrow in arrows.between_stages(law):
        told = "<br/>".join(_broken(arrows.label(row)) for row in arrow.rows)
        lines.append(f"    {_id(arrow.origin)} --> {_id(arrow.to)}: {told}")
    lines += [f"    {_id(stage)} --> [*]" for stage in Stage if stage in FINAL]
    lines += [f"    class {_id(stage)} {arrows.turn(stage)}" for stage in Stage]
    return "\n".join(lines) + "\n"


def overview(law: Law) -> str:
    """The nine states: one arrow per pair of them, labelled with the acts that lead there and whose acts they are."""
    lines = ["stateDiagram-v2", "    direction TB", *_classes("    ")]
    lines += [f"    {state}: <b>{state}</b><br/>{hint}" for state, (_, hint) in arrows.HINTS.items()]
    for arrow in arrows.between_states(law):
        told = "<br/>".join(arrows.by_party(arrow.rows)).replace(" (", "<br/>(" if arrow.colour and len(arrow.rows) == 1 else " (")
        lines.append(f"    {_id(arrow.origin)} --> {arrow.to}: {told}")
    lines += [f"    {state} --> [*]" for state in arrows.ends()]
    lines += [f"    class {state} {colour}" for state, (colour, _) in arrows.HINTS.items()]
    return "\n".join(lines) + "\n"


def job(entries: Sequence[Entry]) -> str:
    """One job's path through the nine states: thick where it went, with steps, parties and times; dotted where it might have."""
    legs, now = arrows.legs(entries), entries[-1].stage
    been = {leg.to for leg in legs}
    lines = ["flowchart TB", *_classes("    ", line="stroke-width:2px")]
    lines += [f"    classDef unseen fill:#ffffff00,stroke:{FAINT},stroke-dasharray:3 3", '    start(("●"))']
    for state in State:
        here = f"<br/>{'ended' if now in FINAL else 'now'}: {now}" if state is now.state else ""
        shape = (f'["<b>{state}</b>{here}"]' if state in been else f'["{state}"]') if not here else f'[["<b>{state}</b>{here}"]]'
        lines.append(f"    {state}{shape}")
    for leg in legs:
        told = "<br/>".join(_text(line) for line in leg.told)
        lines.append(f'    {leg.origin or "start"} ==>|"{told}"| {leg.to}')
    taken = {(leg.origin, leg.to) for leg in legs}
    open_ways = [arrow for arrow in arrows.between_states(LAW) if (arrow.origin, arrow.to) not in taken and arrow.origin]
    lines += [f"    {arrow.origin} -.-> {arrow.to}" for arrow in open_ways]
    lines += [f"    linkStyle {n} stroke:{COLOURS[leg.colour].ink},stroke-width:3px" for n, leg in enumerate(legs)]
    lines += [f"    linkStyle {n} stroke:{FAINT}" for n in range(len(legs), len(legs) + len(open_ways))]
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
        goal, worker = arrows.words(row.goal), arrows.words(row.worker, arrows.PARTY_CHARS)
        told = (f"<b>{_text(arrows.words(row.job, arrows.PARTY_CHARS))}</b>", _text(goal), f"{row.stage}", f"worker: {_text(worker)}")
        lines.append(f'    {ids[row.job]}["{"<br/>".join(told)}"]')
    lines += [f"    {ids[row.parent]} --> {ids[row.job]}" for row in rows if row.parent in ids]
    lines += [f"    class {ids[row.job]} {arrows.turn(row.stage)}" for row in rows]
    return "\n".join(lines) + "\n"


def _classes(indent: str, line: str = "stroke-width:1.5px") -> list[str]:
    return [f"{indent}classDef {name} fill:{c.tint},stroke:{c.ink},color:{INK},{line}" for name, c in COLOURS.items()]


def _id(place: str | None) -> str:
    """A place as an identifier. `class` takes a name with a dot for the part before it, so the dot is two underscores."""
    return "[*]" if place is None else place.replace(".", "__")


def _stage(stage: Stage) -> str:
    return f"    {_id(stage)}: <b>{stage.value.rpartition('.')[2]}</b><br/>{arrows.waits(stage)}"


def _text(text: str) -> str:
    return "".join(c if c.isalnum() or c in PLAIN else f"#{ord(c)};" for c in text)


def _broken(text: str) -> str:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= WIDE:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br/>".join(_text(line) for line in lines)
