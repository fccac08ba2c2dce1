"""The machine, a job and a talk in PlantUML.

Every character of a text from outside that Creole or the preprocessor could take for its own is a code point (`<U+0023>`).
"""

from collections.abc import Sequence

from lifecycle.diagrams import arrows
from lifecycle.diagrams.arrows import COLOURS, FAINT, INK
from lifecycle.law.log import Entry
from lifecycle.law.states import FINAL, Stage, State
from lifecycle.law.table import LAW, Law

_START = "[*]"


def machine(law: Law) -> str:
    """Every edge: the nine states as the frame, their stages inside, one arrow per pair of stages."""
    lines = _opening()
    for state in State:
        boxes = [_stage(stage) for stage in arrows.stages_of(state)]
        lines += [f"state {state} {{", *(f"  {box}" for box in boxes), "}"] if arrows.nested(state) else boxes
    for arrow in arrows.between_stages(law):
        told = "\\n".join(arrows.label(row) for row in arrow.rows)
        lines.append(f"{_id(arrow.origin)} -[{COLOURS[arrow.colour].ink}]-> {_id(arrow.to)} : {told}")
    lines += [f"{_id(stage)} --> [*]" for stage in Stage if stage in FINAL]
    return "\n".join([*lines, "@enduml"]) + "\n"


def overview(law: Law) -> str:
    """The nine states: one arrow per pair of them, labelled with the acts that lead there and whose acts they are."""
    lines = _opening()
    lines += [_state(state, state.value, hint, colour) for state, (colour, hint) in arrows.HINTS.items()]
    for arrow in arrows.between_states(law):
        told = "\\n".join(arrows.by_party(arrow.rows))
        lines.append(f"{_id(arrow.origin)} -[{COLOURS[arrow.colour].ink}]-> {arrow.to} : {told}")
    lines += [f"{state} --> [*]" for state in arrows.ends()]
    return "\n".join([*lines, "@enduml"]) + "\n"


def job(entries: Sequence[Entry]) -> str:
    """One job's path through the nine states: thick where it went, with steps, parties and times; dotted where it might have."""
    legs, now = arrows.legs(entries), entries[-1].stage
    been, taken = {leg.to for leg in legs}, {(leg.origin, leg.to) for leg in legs}
    lines = _opening()
    for state, (colour, _) in arrows.HINTS.items():
        told = f"{'ended' if now in FINAL else 'now'}: {now}" if state is now.state else ""
        lines.append(_state(state, state.value, told, colour if state in been else "over"))
    for leg in legs:
        told = "\\n".join(_text(line) for line in leg.told)
        lines.append(f"{_id(leg.origin)} -[{COLOURS[leg.colour].ink},thickness=3]-> {leg.to} : {told}")
    for arrow in arrows.between_states(LAW):
        if arrow.origin and (arrow.origin, arrow.to) not in taken:
            lines.append(f"{arrow.origin} -[{FAINT},dotted]-> {arrow.to}")
    return "\n".join([*lines, "@enduml"]) + "\n"


def sequence(entries: Sequence[Entry]) -> str:
    """Who said what to whom, and when: a lifeline per party, notes where the state changes."""
    who = {name: f"p{n}" for n, (name, _) in enumerate(arrows.lifelines(entries))}
    lines = ["@startuml", "hide footbox", "skinparam shadowing false"]
    for name, part in arrows.lifelines(entries):
        lines.append(f'participant "{_text(arrows.words(name, arrows.PARTY_CHARS))}\\n({part})" as {who[name]}')
    for entry in entries:
        to = who.get(arrows.hears(entry, entries), "p0")
        ink = COLOURS[arrows.CLASSES[arrows.role(entry)]].ink
        lines.append(f"{who[entry.by]} -[{ink}]> {to} : {entry.seq}. {entry.act.act}\\n{_text(arrows.when(entry))}")
        if entry.origin is not entry.stage:
            lines.append(f"note over p0, p{len(who) - 1} : {entry.stage}" if len(who) > 1 else f"note over p0 : {entry.stage}")
    return "\n".join([*lines, "@enduml"]) + "\n"


def _opening() -> list[str]:
    fonts = f"skinparam state {{\n  FontColor {INK}\n  BorderColor {FAINT}\n  BackgroundColor #fafafa\n}}"
    return ["@startuml", "hide empty description", "skinparam shadowing false", fonts]


def _id(place: str | None) -> str:
    """A place as an identifier. A dot would be taken for a package, so it is two underscores."""
    return _START if place is None else place.replace(".", "__")


def _stage(stage: Stage) -> str:
    return _state(_id(stage), stage.value.rpartition(".")[2], arrows.waits(stage), arrows.turn(stage))


def _state(id: str, name: str, told: str, colour: str) -> str:
    look = COLOURS[colour]
    return f'state "**{name}**' + (f"\\n{told}" if told else "") + f'" as {id} {look.tint};line:{look.ink.removeprefix("#")}'


def _text(text: str) -> str:
    return "".join(c if c.isalnum() or c in " ," else f"<U+{ord(c):04X}>" for c in text)
