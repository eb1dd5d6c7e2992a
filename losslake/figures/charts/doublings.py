"""Doublings: the share of steps that remains after each doubling of the batch size, on axes in powers of two."""

from __future__ import annotations

from collections.abc import Sequence

from losslake.figures import theme
from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, goal_text, legend_labels
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, COUNT, Plot, layer, tip
from losslake.figures.panel import Panel, Series, drawable_rows

_PERFECT, _NO_GAIN = 0.5, 1.0
# The range of the axis; marks outside it are drawn at the edge.
_LEAST, _MOST = 1 / 4, 4.0
_COLUMNS = ("batch_size", "saved", "lower", "upper", "since", "steps")
_TOOLTIP = [
    BATCH_SIZE,
    tip("since", "Previous batch size", COUNT),
    tip("saved", "Saved by a doubling", ".0%"),
    tip("lower", "At least", ".0%"),
    tip("upper", "At most", ".0%"),
    tip("steps", "Steps", COUNT),
]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the share of steps that remains after each doubling of the batch size, with perfect scaling and no gain.

    A series for each workload.
    """
    common, series = request.series_by_workload()
    notes = [
        "Points: steps relative to the previous batch size, per doubling.",
        "Thin bars: uncertainty from gaps between evaluations. Dashed: no gain (1), perfect scaling (0.5).",
    ]
    shares = [1 - share for one in series for share in one.rows["saved"].to_pylist() if share is not None]
    if any(not _LEAST <= share <= _MOST for share in shares):
        notes.append(f"Marks at the edge: below {_LEAST:g} or above {_MOST:g}.")
    panel = request.panel(f"Steps per doubling: {goal_text(request.facts)}", common, legend_labels(series), notes)
    return ChartPanels([doublings_chart(series, panel)], notes)


KIND = Kind("doublings", "/v1/analysis/doublings", draw)


def doublings_chart(series: Sequence[Series], panel: Panel) -> Plot:
    """Return the share of steps that remains by batch size: a line for each series, bars from upper to lower.

    series: rows with batch_size and saved; lower and upper, null where unbounded; for tooltips, since and steps.
    """
    studies = list(drawable_rows(series, _COLUMNS))
    rows = [row | {"remaining": min(max(1 - row["saved"], _LEAST), _MOST)} for row in studies if "saved" in row]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in studies)
    y_limits = panel.y_limits or log_limits([_PERFECT, _NO_GAIN, *(row["remaining"] for row in rows)], margin=0.35)
    low, high = y_limits
    bars = [
        row | {"from": max(1 - row["upper"], low), "to": min(1 - row["lower"], high) if "lower" in row else high}
        for row in rows
        if "upper" in row
    ]
    y = Scale("remaining", y_limits, "Steps per doubling")
    frame = Frame(panel, Scale("batch_size", x_limits, panel.batch_title), y, [one.label for one in series])
    rules = [{"batch_size": at, "remaining": share, "rule": share} for share in (_PERFECT, _NO_GAIN) for at in x_limits]
    marks = frame.place | frame.colour | frame.shape | frame.tooltip(_TOOLTIP)
    layers = [
        layer(
            rules if rows else [], "line", frame.place | {"detail": {"field": "rule"}}, strokeDash=[4, 3], strokeWidth=1
        ),
        frame.bars(bars, "from", "to"),
        frame.lines(rows),
        layer(rows, "point", marks, size=theme.POINT, filled=True, opacity=1, clip=True).linked(
            panel.link_to("studies", series)
        ),
    ]
    return frame.plot(layers, "" if rows else "Fewer than two batch sizes reached the target.")
