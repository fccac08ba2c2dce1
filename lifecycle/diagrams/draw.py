"""Which drawing: by kind and by format. What is drawn by no format is said in one line, with what there is instead."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from lifecycle.diagrams import dot, markdown, mermaid, plantuml, scxml
from lifecycle.diagrams.render import NotDrawn, render
from lifecycle.law.log import Entry, Row
from lifecycle.law.table import LAW, Law

OfLaw: TypeAlias = Callable[[Law], str]
OfJob: TypeAlias = Callable[[Sequence[Entry]], str]
OfTree: TypeAlias = Callable[[Sequence[Row]], str]

OF_LAW: Mapping[str, Mapping[str, OfLaw]] = {
    "machine": {
        "mermaid": mermaid.machine,
        "dot": dot.machine,
        "plantuml": plantuml.machine,
        "scxml": scxml.machine,
        "markdown": markdown.machine,
    },
    "overview": {
        "mermaid": mermaid.overview,
        "dot": dot.overview,
        "plantuml": plantuml.overview,
        "markdown": markdown.overview,
    },
}
OF_JOB: Mapping[str, Mapping[str, OfJob]] = {
    "job": {"mermaid": mermaid.job, "dot": dot.job, "plantuml": plantuml.job, "markdown": markdown.job},
    "sequence": {"mermaid": mermaid.sequence, "dot": dot.sequence, "plantuml": plantuml.sequence, "markdown": markdown.job},
}
OF_TREE: Mapping[str, Mapping[str, OfTree]] = {"tree": {"mermaid": mermaid.tree, "dot": dot.tree, "markdown": markdown.tree}}

KINDS = (*OF_LAW, *OF_JOB, *OF_TREE)
FORMATS = (*OF_LAW["machine"], "svg", "png")

JOBS_DRAWN = 1_000
"""As many jobs of a tree as are drawn: more can be read by nobody."""


def draw(
    kind: str,
    form: str,
    entries: Callable[[], Sequence[Entry]],
    rows: Callable[[], Sequence[Row]],
    law: Law = LAW,
) -> bytes:
    """A drawing of a kind in a format; `entries` and `rows` are read only if the kind needs them. NotDrawn if there is none."""
    text_form = "dot" if form in ("svg", "png") else form
    if (of_law := OF_LAW.get(kind, {}).get(text_form)) is not None:
        text = of_law(law)
    elif (of_job := OF_JOB.get(kind, {}).get(text_form)) is not None:
        text = of_job(entries())
    elif (of_tree := OF_TREE.get(kind, {}).get(text_form)) is not None:
        text = of_tree(rows())
    else:
        there = {**OF_LAW, **OF_JOB, **OF_TREE}.get(kind, {})
        raise NotDrawn(f"no `{kind}` is drawn as `{form}`; to mend it, take one of: {', '.join((*there, 'svg', 'png'))}")
    return render(text, "svg" if form == "svg" else "png") if form in ("svg", "png") else text.encode()


def family(job: str, row: Callable[[str], Row | None], children: Callable[[str, int], Sequence[Row]]) -> list[Row]:
    """A job and all that was delegated from it, level by level, as far as a picture can hold."""
    first = row(job)
    found = [first] if first else []
    for parent in found:
        if len(found) >= JOBS_DRAWN:
            break
        found += children(parent.job, JOBS_DRAWN - len(found))
    return found
