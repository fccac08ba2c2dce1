"""Which drawing: by kind and by format. What is drawn by no format is said in one line, with what there is instead."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from lifecycle.diagrams import dot, markdown, mermaid, plantuml, scxml
from lifecycle.diagrams.render import NotDrawn, render
from lifecycle.law.fold import replay
from lifecycle.law.job import Job
from lifecycle.law.log import Entry, Row
from lifecycle.law.table import LAW, LAWS, Law

OfLaw: TypeAlias = Callable[[Law], str]
OfJob: TypeAlias = Callable[[Sequence[Entry]], str]
OfTree: TypeAlias = Callable[[Sequence[Row]], str]

Children: TypeAlias = Callable[[str], Sequence[Row]]
"""The jobs delegated from one, by its id."""

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
PICTURES = ("svg", "png")
"""Formats that are rendered, each of the kind's DOT text."""
FORMATS = (*OF_LAW["machine"], *PICTURES)

JOBS_DRAWN = 1_000
"""As many jobs of a tree as are drawn: more can be read by nobody."""


def draw(kind: str, form: str, entries: Sequence[Entry] = (), children: Children = lambda parent: ()) -> bytes:
    """A drawing of a kind in a format: of the law, of the job these entries tell, or of all that was delegated from it.

    NotDrawn if there is no such drawing, if it is of a job and there is none, or if nothing here can render it.
    """
    text_form = "dot" if form in PICTURES else form
    there = {**OF_LAW, **OF_JOB, **OF_TREE}[kind]
    if text_form not in there:
        raise NotDrawn(f"no `{kind}` is drawn as `{form}`; to mend it, take one of: {', '.join((*there, *PICTURES))}")
    if kind in OF_LAW:
        text = OF_LAW[kind][text_form](LAWS[entries[0].law] if entries else LAW)
    elif not entries:
        raise NotDrawn(f"a `{kind}` is drawn of one job; to mend it, name the job")
    else:
        text = OF_JOB[kind][text_form](entries) if kind in OF_JOB else OF_TREE[kind][text_form](family(replay(entries), children))
    return text.encode() if form == text_form else render(text, form)


def plain(kind: str, form: str, drawn: bytes) -> bytes:
    """A drawing as JSON for a program: a PNG in base64, anything else as its text."""
    held = {"base64": b64encode(drawn).decode()} if form == "png" else {"text": drawn.decode()}
    return json.dumps({"kind": kind, "format": form, **held}, indent=2, ensure_ascii=False).encode() + b"\n"


def family(job: Job, children: Children) -> list[Row]:
    """A job and all that was delegated from it, level by level, as far as a picture can hold."""
    brief, parties = job.brief, job.parties
    top = Row(job.id, job.stage, parties.requester, parties.worker, brief.goal, brief.parent, brief.requested_at, job.at, None)
    found = [top]
    for parent in found:
        if len(found) < JOBS_DRAWN:
            found += children(parent.job)
    return found[:JOBS_DRAWN]
