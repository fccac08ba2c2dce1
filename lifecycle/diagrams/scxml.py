"""The machine in SCXML (W3C), for whoever runs statecharts: stages nested in states, one transition per edge of the table.

A guard is a `cond` over names that the runner provides: they are the law's own, declared in the data model. What SCXML has no word
for (whose act it is, why) is in a namespace of its own, which every reader may skip.
"""

from xml.sax.saxutils import quoteattr

from lifecycle.diagrams import arrows
from lifecycle.law.states import FINAL, Stage, State
from lifecycle.law.table import Law, Row

SPACE = "urn:lifecycle:law"
BEFORE = "no_job"
"""The state before the request: SCXML begins in a state, a job with an act."""


def machine(law: Law) -> str:
    """Every edge: the nine states as the frame, their stages inside, finals as finals."""
    guards = sorted({choice.__name__ for row in law.rows for choice in row.when})
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<scxml xmlns="http://www.w3.org/2005/07/scxml" xmlns:law="{SPACE}" version="1.0" name="lifecycle"',
        f'       datamodel="ecmascript" initial="{BEFORE}" law:version="{law.version}">',
        "  <datamodel>",
        *(f'    <data id="{guard}" expr="false"/>' for guard in guards),
        "  </datamodel>",
        f'  <state id="{BEFORE}">',
        *(_transition(row, "    ") for row in law.rows if row.origin is None),
        "  </state>",
    ]
    for state in State:
        stages = arrows.stages_of(state)
        if arrows.nested(state):
            lines += [f'  <state id="{state}">', *(line for stage in stages for line in _place(law, stage, "    ")), "  </state>"]
        else:
            lines += _place(law, stages[0], "  ")
    return "\n".join([*lines, "</scxml>"]) + "\n"


def _place(law: Law, stage: Stage, indent: str) -> list[str]:
    if stage in FINAL:
        return [f'{indent}<final id="{stage}"/>']
    edges = [_transition(row, indent + "  ") for row in law.rows if row.origin is stage]
    return [f'{indent}<state id="{stage}">', *edges, f"{indent}</state>"]


def _transition(row: Row, indent: str) -> str:
    cond = f" cond={quoteattr(' && '.join(choice.__name__ for choice in row.when))}" if row.when else ""
    why = f" law:why={quoteattr(row.why)}" if row.why else ""
    return f'{indent}<transition event="{row.act}"{cond} target="{row.to}" law:by={quoteattr(row.by.value)}{why}/>'
