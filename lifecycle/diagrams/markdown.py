"""The machine, a job and a delegation tree as Markdown tables: for a page, and for whoever cannot see a picture.

Every character of a text from outside that Markdown or HTML could take for its own is an entity (`&#124;`).
"""

from collections.abc import Iterable, Sequence

from lifecycle.diagrams import arrows
from lifecycle.law.log import Entry, Row
from lifecycle.law.states import FINAL, Stage, State
from lifecycle.law.table import Law


def machine(law: Law) -> str:
    """Every stage and whose turn it is, then every edge, whole: act, party, from, to, why."""
    stages = ([stage.state, f"`{stage}`", arrows.waits(stage), "final" if stage in FINAL else ""] for stage in Stage)
    edges = ([f"`{row.act}`", row.by, _place(row.origin), _place(row.to), row.why] for row in law.rows)
    return _table(("state", "stage", "whose turn", "mark"), stages) + "\n" + _table(("act", "by", "from", "to", "why"), edges)


def overview(law: Law) -> str:
    """The nine states, what each means, and the acts that lead out of it."""
    ways: dict[str | None, list[str]] = {}
    for arrow in arrows.between_states(law):
        ways.setdefault(arrow.origin, []).append(f"{' + '.join(arrows.by_party(arrow.rows))} → {arrow.to}")
    rows = ([f"**{state}**", arrows.HINTS[state][1], "; ".join(ways.get(state, ())) or "—"] for state in State)
    return _table(("state", "what it means", "ways out"), rows)


def job(entries: Sequence[Entry]) -> str:
    """One job's log: step, time, party, act, from, to."""
    rows = (
        [
            str(entry.seq), arrows.when(entry), _text(arrows.words(entry.by, arrows.PARTY_CHARS)), arrows.party(arrows.role(entry)),
            f"`{entry.act.act}`", _place(entry.origin), _place(entry.stage),
        ]
        for entry in entries
    )  # fmt: skip
    return _table(("step", "time (UTC)", "party", "as", "act", "from", "to"), rows)


def tree(rows: Sequence[Row]) -> str:
    """Who delegated what to whom: a line per job, its parent named."""
    told = (
        [*(_text(arrows.words(text)) for text in (row.job, row.parent or "", row.goal, row.worker)), f"`{row.stage}`"]
        for row in rows
    )
    return _table(("job", "parent", "goal", "worker", "stage"), told)


def _place(stage: Stage | None) -> str:
    return f"`{stage}`" if stage else "(no job)"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _text(text: str) -> str:
    return "".join(c if c.isalnum() or c in " ,-" else f"&#{ord(c)};" for c in text)
