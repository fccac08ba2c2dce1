"""The machine, a job and a talk in PlantUML.

Every character of a text from outside that Creole or the preprocessor could take for its own is a code point (`<U+0023>`).
"""

from collections.abc import Iterable, Sequence

from lifecycle.diagrams import arrows
from lifecycle.diagrams.arrows import COLOURS, FAINT, INK, PAPER
from lifecycle.law.log import Entry
from lifecycle.law.states import FINAL, Stage, State
from lifecycle.law.table import LAW, Law

_START, WIDE = "[*]", 30


def machine(law: Law) -> str:
    """Every edge: the nine states as the frame, their stages inside, one arrow per pair of stages."""
    lines = _opening()
    for state in State:
        boxes = [_stage(stage) for stage in arrows.stages_of(state)]
        lines += [f"state {state} {{", *(f"  {box}" for box in boxes), "}"] if arrows.nested(state) else boxes
    for arrow in arrows.between_stages(law):
        told = [line for row in arrow.rows for line in arrows.broken(arrows.label(row), WIDE)]
        lines.append(_arrow(arrow.origin, arrow.to, COLOURS[arrow.colour].ink, told))
    lines += [f"{_id(stage)} --> [*]" for stage in Stage if stage in FINAL]
    return "\n".join([*lines, "@enduml"]) + "\n"


def overview(law: Law) -> str:
    """The nine states: one arrow per pair of them, labelled with the acts that lead there and whose acts they are."""
    lines = _opening()
    lines += [_state(state, state.value, hint, colour) for state, (colour, hint) in arrows.HINTS.items()]
    for arrow in arrows.between_states(law):
        lines.append(_arrow(arrow.origin, arrow.to, COLOURS[arrow.colour].ink, arrows.by_party(arrow.rows)))
    lines += [f"{state} --> [*]" for state in arrows.ends()]
    return "\n".join([*lines, "@enduml"]) + "\n"


def job(entries: Sequence[Entry]) -> str:
    """One job's path through the nine states: thick where it went, with steps, parties and times; dotted where it might have."""
    (legs, within), now = arrows.path(entries), entries[-1].stage
    been = {leg.to for leg in legs}
    lines = _opening()
    for state, (colour, _) in arrows.HINTS.items():
        told = [_text(line) for line in arrows.told(within.get(state, ()))]
        told += [f"{'ended' if now in FINAL else 'now'}: {now}"] if state is now.state else []
        lines.append(_state(state, state.value, "\\n".join(told), colour if state in been else ""))
    for leg in legs:
        lines.append(_arrow(leg.origin, leg.to, f"{COLOURS[leg.colour].ink},thickness=3", map(_text, arrows.told(leg.steps))))
    lines += [_arrow(origin, to, f"{FAINT},dotted", ()) for origin, to in arrows.untaken(LAW, legs)]
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


def _arrow(origin: str | None, to: str, look: str, told: Iterable[str]) -> str:
    words = "\\n".join(told)
    return f"{_id(origin)} -[{look}]-> {_id(to)}" + (f" : {words}" if words else "")


def _stage(stage: Stage) -> str:
    return _state(_id(stage), stage.value.rpartition(".")[2], arrows.waits(stage), arrows.turn(stage))


def _state(id: str, name: str, told: str, colour: str) -> str:
    ink, tint = (COLOURS[colour].ink, COLOURS[colour].tint) if colour else (FAINT, PAPER)
    return f'state "**{name}**' + (f"\\n{told}" if told else "") + f'" as {id} {tint};line:{ink.removeprefix("#")}'


def _text(text: str) -> str:
    return "".join(c if c.isalnum() or c in " ," else f"<U+{ord(c):04X}>" for c in text)
