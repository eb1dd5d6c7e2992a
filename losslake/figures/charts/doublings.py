"""Doublings: what each doubling of the batch size leaves of the steps, both axes in powers of two."""

from __future__ import annotations

from collections.abc import Sequence

from losslake.figures import theme
from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import Drawing, Drawn, Kind, goal_text, names_of
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, COUNT, Plot, layer, tip
from losslake.figures.panel import Panel, Series, rows_of

_PERFECT, _NO_GAIN = 0.5, 1.0
_LEAST, _MOST = 1 / 4, 4.0
"""What is farther out is drawn here, at the edge."""
_COLUMNS = ("batch_size", "saved", "lower", "upper", "since", "steps")
_TOOLTIP = [
    BATCH_SIZE,
    tip("since", "Since batch size", COUNT),
    tip("saved", "Saved by a doubling", ".0%"),
    tip("lower", "At least", ".0%"),
    tip("upper", "At most", ".0%"),
    tip("steps", "Steps", COUNT),
]


def draw(drawing: Drawing) -> Drawn:
    """What each doubling of the batch size leaves of the steps, with rules at perfect scaling and at no gain.

    A series for each workload.
    """
    common, series = drawing.series_by_workload()
    explained = [
        "Points: steps relative to the batch size before, per doubling.",
        "Thin bars: what the distance of evaluations allows. Dashed: no gain (1), perfect scaling (0.5).",
    ]
    shares = [1 - share for one in series for share in one.rows["saved"].to_pylist() if share is not None]
    if any(not _LEAST <= share <= _MOST for share in shares):
        explained.append(f"At the edge: below {_LEAST:g} or above {_MOST:g}.")
    panel = drawing.panel(f"Steps per doubling: {goal_text(drawing.facts)}", common, names_of(series), explained)
    return Drawn([doublings_chart(series, panel)], explained)


KIND = Kind("doublings", "/v1/analysis/doublings", draw)


def doublings_chart(series: Sequence[Series], panel: Panel) -> Plot:
    """Return the share of steps that is left by batch size, a line for each series, bars from upper to lower.

    series: rows with batch_size and saved; lower and upper, null where nothing bounds them; for tooltips since, steps.
    """
    studies = list(rows_of(series, _COLUMNS))
    rows = [row | {"left": min(max(1 - row["saved"], _LEAST), _MOST)} for row in studies if "saved" in row]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in studies)
    y_limits = panel.y_limits or log_limits([_PERFECT, _NO_GAIN, *(row["left"] for row in rows)], margin=0.35)
    low, high = y_limits
    bars = [
        row | {"from": max(1 - row["upper"], low), "to": min(1 - row["lower"], high) if "lower" in row else high}
        for row in rows
        if "upper" in row
    ]
    y = Scale("left", y_limits, "Steps per doubling", has_numbers=True)
    frame = Frame(panel, Scale("batch_size", x_limits, "Batch size"), y, [one.label for one in series])
    rules = [{"batch_size": at, "left": share, "rule": share} for share in (_PERFECT, _NO_GAIN) for at in x_limits]
    marks = frame.place | frame.colour | frame.shape | frame.tooltip(_TOOLTIP)
    ends = {"x": frame.x, "y": frame.y_of("from"), "y2": {"field": "to"}} | frame.colour
    layers = [
        layer(
            rules if rows else [], "line", frame.place | {"detail": {"field": "rule"}}, strokeDash=[4, 3], strokeWidth=1
        ),
        layer(bars, "rule", ends, strokeWidth=1.6, strokeOpacity=0.55, clip=True),
        layer(rows, "line", frame.place | frame.colour, strokeWidth=1.6, clip=True),
        layer(rows, "point", marks, size=theme.POINT, filled=True, opacity=1, clip=True).linked(
            panel.to_studies(series)
        ),
    ]
    return frame.plot(layers, "" if rows else "Fewer than two batch sizes reached the target.")
