"""The machine, a job, a talk and a delegation tree in DOT, for Graphviz; SVG and PNG are made of these.

Every label is an HTML-like one: colours tell who acts, words tell it too, and what came from outside is text in it and never
markup. The paper is part of the picture, so that it reads the same on a light page and a dark one.
"""

from collections.abc import Iterable, Sequence
from html import escape

from lifecycle.diagrams import arrows
from lifecycle.diagrams.arrows import COLOURS, FAINT, INK, PAPER
from lifecycle.law.log import Entry, Row
from lifecycle.law.states import FINAL, Role, State
from lifecycle.law.table import LAW, Law

START, WIDE = "start", 30
_LEGEND = (Role.REQUESTER, Role.WORKER, Role.REVIEWER, Role.NEEDED, Role.CLOCK)
_LANE, _STEP = 3.2, 0.85
"""Inches between two lifelines, and between two messages."""


def machine(law: Law) -> str:
    """Every edge: the nine states as the frame, their stages inside, one arrow per pair of stages."""
    lines = _opening("machine", "nodesep=0.35 ranksep=0.7")
    for state in State:
        boxes = [
            _box(stage, stage.value.rpartition(".")[2], arrows.waits(stage), arrows.turn(stage))
            for stage in arrows.stages_of(state)
        ]
        if not arrows.nested(state):
            lines += boxes
            continue
        look = f'label=<<b>{state}</b>> fontsize=15 style="rounded,filled" color="#9ca3af" fillcolor="#fafafa" margin=14'
        lines += [f'  subgraph "cluster_{state}" {{', f"    graph [{look}]", *(f"  {box}" for box in boxes), "  }"]
    lines += [_ball(START)]
    for arrow in arrows.between_stages(law):
        told = [(arrows.CLASSES[row.by], line) for row in arrow.rows for line in arrows.broken(arrows.label(row), WIDE)]
        why = "; ".join(f"{row.act}: {row.why}" for row in arrow.rows if row.why)
        lines.append(_edge(arrow, told, why))
    return "\n".join([*lines, "}"]) + "\n"


def overview(law: Law) -> str:
    """The nine states: one arrow per pair of them, labelled with the acts that lead there and whose acts they are."""
    lines = _opening("overview", "nodesep=0.45 ranksep=0.55")
    lines += [_box(state, state, hint, colour) for state, (colour, hint) in arrows.HINTS.items()]
    lines += [_ball(START)]
    for arrow in arrows.between_states(law):
        told = [(_coloured(line), line) for line in arrows.by_party(arrow.rows)]
        lines.append(_edge(arrow, told))
    return "\n".join([*lines, "}"]) + "\n"


def job(entries: Sequence[Entry]) -> str:
    """One job's path through the nine states: thick where it went, with steps, parties and times; dotted where it might have."""
    (legs, within), now, born = arrows.path(entries), entries[-1].stage, entries[0]
    been = {leg.to for leg in legs}
    goal = arrows.words(str(getattr(born.act, "goal", "")))
    title = f"<b>{escape(arrows.words(born.job, arrows.PARTY_CHARS))}</b>: {escape(goal)}"
    lines = _opening("job", "nodesep=0.4 ranksep=0.6", title)
    for state, (colour, _) in arrows.HINTS.items():
        here = state is now.state
        told = arrows.told(within.get(state, ())) + ([f"{'ended' if now in FINAL else 'now'}: {now}"] if here else [])
        lines.append(_box(state, state, "\n".join(told), colour if state in been else "", 3.0 if here else 1.2))
    lines.append(_ball(START))
    for leg in legs:
        label = _label((leg.colour, line) for line in arrows.told(leg.steps))
        look = f'color="{COLOURS[leg.colour].ink}" penwidth=2.6'
        lines.append(f'  "{leg.origin or START}" -> "{leg.to}" [{look} label={label}]')
    faint = f'color="{FAINT}" style=dotted arrowsize=0.6'
    lines += [f'  "{origin}" -> "{to}" [{faint}]' for origin, to in arrows.untaken(LAW, legs)]
    return "\n".join([*lines, "}"]) + "\n"


def sequence(entries: Sequence[Entry]) -> str:
    """Who said what to whom, and when: lifelines and arrows, every point pinned."""
    who = arrows.lifelines(entries)
    column = {name: n * _LANE for n, (name, _) in enumerate(who)}
    bottom = -_STEP * (len(entries) + 1)
    lines = _opening("sequence", "layout=neato notranslate=true splines=line")
    for n, (name, part) in enumerate(who):
        told = f"<b>{escape(arrows.words(name, arrows.PARTY_CHARS))}</b><br/>{part}"
        tint = COLOURS[_coloured(f"({part})")]
        lines.append(f'  "p{n}" [pos="{column[name]:g},0!" label=<{told}> color="{tint.ink}" fillcolor="{tint.tint}"]')
        lines.append(f'  "p{n}.end" [pos="{column[name]:g},{bottom:g}!" shape=point width=0.01 color="{FAINT}"]')
        lines.append(f'  "p{n}" -> "p{n}.end" [arrowhead=none style=dashed color="{FAINT}"]')
    for n, entry in enumerate(entries, 1):
        y, left = -_STEP * n, column[entry.by]
        right = column.get(arrows.hears(entry, entries), 0)
        ink = COLOURS[arrows.CLASSES[arrows.role(entry)]].ink
        right = right if right != left else left + _LANE / 3
        told = f'<font color="{ink}"><b>{entry.seq}. {entry.act.act}</b></font><br/>to {entry.stage}<br/>{arrows.when(entry)}'
        for end, x in (("from", left), ("to", right)):
            lines.append(f'  "s{n}.{end}" [pos="{x:g},{y:g}!" shape=point width=0.04 color="{ink}"]')
        lines.append(f'  "s{n}.from" -> "s{n}.to" [color="{ink}" penwidth=1.6]')
        look = f'shape=plaintext style=filled fillcolor="{PAPER}" margin="0.02,0" fontsize=10'
        lines.append(f'  "s{n}" [pos="{(left + right) / 2:g},{y:g}!" {look} label=<{told}>]')
    return "\n".join([*lines, "}"]) + "\n"


def tree(rows: Sequence[Row]) -> str:
    """Who delegated what to whom: a box per job, its parent above it."""
    ids = {row.job: f"j{n}" for n, row in enumerate(rows)}
    lines = _opening("tree", "nodesep=0.35 ranksep=0.5")
    for row in rows:
        goal = "<br/>".join(escape(line) for line in arrows.broken(arrows.words(row.goal), WIDE))
        name, worker = (escape(arrows.words(text, arrows.PARTY_CHARS)) for text in (row.job, row.worker))
        told = f"<b>{name}</b><br/>{goal}<br/><i>{row.stage}</i><br/>worker: {worker}"
        colour = COLOURS[arrows.turn(row.stage)]
        look = f'color="{colour.ink}" fillcolor="{colour.tint}"{_rim(row.stage in FINAL)}'
        lines.append(f'  "{ids[row.job]}" [label=<{told}> {look}]')
    lines += [f'  "{ids[row.parent]}" -> "{ids[row.job]}" [color="{INK}"]' for row in rows if row.parent in ids]
    return "\n".join([*lines, "}"]) + "\n"


def _opening(name: str, look: str, title: str = "") -> list[str]:
    legend = "   ".join(f'<font color="{COLOURS[arrows.CLASSES[role]].ink}"><b>{_legend(role)}</b></font>' for role in _LEGEND)
    head = f"{title}<br/>" if title else ""
    return [
        f'digraph "{name}" {{',
        f'  graph [rankdir=TB bgcolor="{PAPER}" pad=0.3 fontname="Helvetica" fontsize=12 labelloc=t {look}',
        f"    label=<{head}who acts, and whose turn it is:   {legend}>]",
        f'  node [shape=box style="rounded,filled" fontname="Helvetica" fontsize=12 fontcolor="{INK}" penwidth=1.2]',
        f'  edge [fontname="Helvetica" fontsize=10 fontcolor="{INK}" arrowsize=0.8 penwidth=1.2]',
    ]


def _legend(role: Role) -> str:
    return "reviewer, verifier, approver" if role is Role.REVIEWER else arrows.party(role)


def _box(id: str, name: str, told: str, colour: str, pen: float = 1.2) -> str:
    """A place. A final one has a double rim; one without a colour was not visited."""
    label = f"<b>{name}</b>" + (f'<br/><font point-size="10">{escape(told).replace(chr(10), "<br/>")}</font>' if told else "")
    final = id in FINAL or id in arrows.ends()
    if not colour:
        return f'  "{id}" [label=<{label}> style="rounded,dashed" color="{FAINT}" fontcolor="{COLOURS["over"].ink}"]'
    look = f'color="{COLOURS[colour].ink}" fillcolor="{COLOURS[colour].tint}" penwidth={pen}'
    return f'  "{id}" [label=<{label}> {look}{_rim(final)}]'


def _rim(final: bool) -> str:
    return " peripheries=2" if final else ""


def _ball(id: str) -> str:
    return f'  "{id}" [shape=circle style=filled width=0.18 fixedsize=true label="" color="{INK}" fillcolor="{INK}"]'


def _edge(arrow: arrows.Arrow, told: list[tuple[str, str]], why: str = "") -> str:
    ink = COLOURS[arrow.colour].ink
    dashes = " style=dashed" if arrow.colour == "clock" else ""
    hover = f' edgetooltip="{why}" labeltooltip="{why}"' if why else ""
    return f'  "{arrow.origin or START}" -> "{arrow.to}" [color="{ink}"{dashes} label={_label(told)}{hover}]'


def _label(told: Iterable[tuple[str, str]]) -> str:
    rows = "<br/>".join(f'<font color="{COLOURS[colour].ink}">&#160;{escape(line)}&#160;</font>' for colour, line in told)
    return f"<{rows}>"


def _coloured(line: str) -> str:
    """The colour of the party that a label names in brackets."""
    return next((arrows.CLASSES[role] for role in Role if f"({arrows.party(role)})" in line), "asked")
