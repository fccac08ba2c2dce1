"""The review as a picture: four panels that a person can take in at a glance. Needs the extra `report`."""

from collections.abc import Mapping
from datetime import date
from io import BytesIO
from typing import Any, Literal

from lifecycle.law.errors import LifecycleError
from lifecycle.review import Review

MOST = 12
"""Bars in one panel: the rest are told as one."""

FEWEST = 5
"""Bars that a panel has room for, however few there are."""

BLUE, ORANGE, GREY = "#1d4ed8", "#b45309", "#4b5563"


class NotPlotted(LifecycleError):
    """What draws is not installed. Remedy: install the extra."""


def plot(review: Review, form: Literal["svg", "png"] = "svg") -> bytes:
    """The picture of a review. NotPlotted without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NotPlotted("no package `matplotlib`; to mend it, pip install 'lifecycle[report]'") from error
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    ((ended, refused), (asked, days)) = figure.subplots(2, 2)
    _bars(ended, review.ended, f"why {review.jobs} jobs stopped, and what came of it", BLUE)
    _bars(refused, review.refusals, "what the law said no to", ORANGE)
    _bars(asked, _hidden(review), "choices that came up, and digests that were stale", GREY)
    _days(days, review.unchecked)
    made = BytesIO()
    figure.savefig(made, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return made.getvalue()


def _hidden(review: Review) -> dict[str, int]:
    told = {f"choice: {choice}": count for choice, count in review.escalations.items()}
    return told | {f"stale: {scope}": count for scope, count in review.stale.items()}


def _bars(axes: Any, counts: Mapping[str, int], title: str, colour: str) -> None:
    """Counts as bars, the longest on top, each with its number."""
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_xticks([])
    if not counts:
        _nothing(axes)
        return
    rows = sorted(counts.items(), key=lambda item: -item[1])
    if len(rows) > MOST:
        rows = [*rows[: MOST - 1], (f"{len(rows) - MOST + 1} others", sum(count for _, count in rows[MOST - 1 :]))]
    bars = axes.barh([_short(name) for name, _ in rows], [count for _, count in rows], color=colour, height=0.6)
    axes.bar_label(bars, padding=3, fontsize=9)
    axes.tick_params(axis="y", labelsize=9, length=0)
    axes.set_ylim(max(len(rows), FEWEST) - 0.5, -0.5)  # few bars are not broad ones
    axes.margins(x=0.15)


def _days(axes: Any, kinds: Mapping[str, Mapping[date, int]]) -> None:
    """Skipped and unavailable checks over time."""
    axes.set_title("checks skipped or unavailable, by day", fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if not any(kinds.values()):
        _nothing(axes)
        return
    for (kind, days), (colour, mark) in zip(kinds.items(), ((BLUE, "o"), (ORANGE, "s")), strict=True):
        if days:
            axes.plot(list(days), list(days.values()), color=colour, marker=mark, label=kind)
    axes.set_ylim(bottom=0)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.tick_params(axis="x", labelrotation=30, labelsize=8)
    axes.legend(frameon=False, fontsize=9)


def _nothing(axes: Any) -> None:
    axes.set_axis_off()
    axes.text(0.0, 0.9, "nothing", va="top", transform=axes.transAxes, color=GREY)


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"
