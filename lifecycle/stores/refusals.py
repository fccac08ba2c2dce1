"""A kept refusal as one JSON text, ASCII, and back: what every store but memory keeps."""

import json
from datetime import datetime

from lifecycle.law.errors import KeptRefusal, Reason, Refusal
from lifecycle.law.states import Stage
from lifecycle.law.values import instant


def to_text(kept: KeptRefusal) -> str:
    """The whole of it, any character in it escaped that a database might refuse."""
    refusal = kept.refusal
    return json.dumps({
        "reason": refusal.reason.value, "act": refusal.act, "job": refusal.job, "by": refusal.by,
        "stage": refusal.stage and refusal.stage.value, "may": refusal.may, "detail": refusal.detail, "mend": refusal.mend,
        "guard": refusal.guard, "at": instant(kept.at), "payload": kept.payload,
    })  # fmt: skip


def from_text(text: str) -> KeptRefusal:
    """The refusal that was kept as this text."""
    held = json.loads(text)
    refusal = Refusal(
        Reason(held["reason"]), held["act"], held["job"], held["by"], held["stage"] and Stage(held["stage"]), tuple(held["may"]),
        held["detail"], held["mend"], held["guard"],
    )  # fmt: skip
    return KeptRefusal(refusal, datetime.fromisoformat(held["at"]), held["payload"])
