"""The machine in Mermaid, as GitHub and most documentation tools draw it."""

from lifecycle.law.states import FINAL, Role, State
from lifecycle.law.table import Law


def overview(law: Law) -> str:
    """The nine states: one arrow per pair of them, labelled with the acts that lead there and whose acts they are."""
    arrows: dict[tuple[str, str], dict[str, None]] = {}
    for row in law.rows:
        origin = row.origin.state.value if row.origin is not None else "[*]"
        if origin != row.to.state:
            arrows.setdefault((origin, row.to.state.value), {})[f"{row.act} ({_party(row.by)})"] = None
    lines = ["stateDiagram-v2", "    direction LR"]
    lines += [f"    {origin} --> {to}: {', '.join(labels)}" for (origin, to), labels in arrows.items()]
    ends = {stage.state for stage in FINAL}
    lines += [f"    {state} --> [*]" for state in State if state in ends]
    return "\n".join(lines) + "\n"


def _party(role: Role) -> str:
    return "whoever is asked" if role is Role.NEEDED else role.value
