"""The panels of a paper's figure, drawn by the charts of `losslake.figures`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from losslake.figures import theme
from losslake.figures.axes import log_limits
from losslake.figures.caption import wrapped
from losslake.figures.channels import Channel, category, px
from losslake.figures.charts.best import best_chart
from losslake.figures.charts.learning_rate_momentum import learning_rate_momentum_chart
from losslake.figures.charts.learning_rates import learning_rates_chart
from losslake.figures.charts.scaling import scaling_chart
from losslake.figures.layers import Layer, Plot, layer, layered
from losslake.figures.panel import Limits, Series
from losslake.figures.panel import Panel as Frame
from losslake.figures.papers.paper import Figure, Panel
from losslake.figures.papers.rows import CurveRows, PanelRows

_PLOT_SIZES = {1: (420, 300), 2: (330, 235), 3: (260, 215)}
"""By columns of the figure, width and height of its plots in px."""
_DRAWN = [
    "batch_size", "trial_id", "steps", "value", "normalized_steps", "learning_rate", "momentum",
    "effective_learning_rate", "outcome", "is_best",
]  # fmt: skip
_MANY = 4
_MOST_NAMED = 3
_MARGIN = 1.12
"""By how much a limit of a logarithmic axis is moved outwards, so that marks on it are whole."""


def charts(figure: Figure, panels: Sequence[PanelRows]) -> list[Plot]:
    """The charts of a figure's panels, in their order."""
    first_below = len(panels) - 1 - (len(panels) - 1) % figure.columns
    outcomes = {row["outcome"] for found in panels for curve in found.curves for row in curve.rows if "outcome" in row}
    return [
        _chart(found, _frame(found, figure.columns, has_key=place == first_below), outcomes)
        for place, found in enumerate(panels)
    ]


def _frame(found: PanelRows, columns: int, has_key: bool) -> Frame:
    """has_key: where panels have the same marks, one of them explains these."""
    panel = found.panel
    width, height = _PLOT_SIZES[columns]
    frame = Frame(panel.title, _subtitle(found), width, height, panel.x_limits, panel.y_limits, y_title=panel.y_title)
    match panel.kind:
        case "best-value":
            beside = len(panel.curves) > _MANY
            return replace(frame, x_limits=_wider(panel.x_limits), legend="right" if beside else "bottom")
        case "learning-rate-momentum":
            return replace(frame, legend="bottom" if has_key else "none")
        case "effective-learning-rate":
            y_title = panel.y_title or "Learning rate / (1 \u2212 momentum)"
            return replace(frame, y_title=y_title, legend="none")
    y_title = "Steps" if panel.normalize_to is None else f"Steps / steps at B = {panel.normalize_to}"
    return replace(
        frame, x_limits=_wider(panel.x_limits), y_limits=_wider(panel.y_limits), y_title=panel.y_title or y_title
    )


def _subtitle(found: PanelRows) -> str:
    """The goal of the panel's series, val/classification_error < 0.01, or their metrics where goals differ.

    Never empty, so that headings side by side are at one height.
    """
    metrics = dict.fromkeys(curve.curve.metric for curve in found.curves)
    goals = {(row["direction"], row["goal"]) for curve in found.curves for row in curve.rows}
    if len(metrics) > 1 or len(goals) != 1:
        return ", ".join(metrics)
    (metric,) = metrics
    direction, goal = goals.pop()
    return metric if goal is None else f"{metric} {'<' if direction == 'minimize' else '>'} {goal:g}"


def _wider(limits: Limits | None) -> Limits | None:
    return None if limits is None else (limits[0] / _MARGIN, limits[1] * _MARGIN)


def _chart(found: PanelRows, frame: Frame, outcomes: Collection[str]) -> Plot:
    made = _without_data(found, frame) if found.is_lacking else _drawn(found, frame, outcomes)
    return replace(made, layers=[*made.layers, _headroom()])


def _headroom() -> Layer:
    """Nothing to be seen, where the highest label of an axis may be: so headings side by side are at one height."""
    return layer([{}], "point", {"x": px(0), "y": px(-5)}, size=60, opacity=0, tooltip=None)


def _drawn(found: PanelRows, frame: Frame, outcomes: Collection[str]) -> Plot:
    panel = found.panel
    series = [_series(curve, panel) for curve in found.curves if curve.rows or curve.is_lacking]
    first = found.curves[0].curve
    match panel.kind:
        case "best-value":
            return best_chart(series, frame, is_ordered=bool(first.step_budget or first.example_budget))
        case "effective-learning-rate":
            frame = replace(frame, y_limits=frame.y_limits or _limits_of_heuristics(found))
            return learning_rates_chart(series, frame, heuristics_of=_label(found.curves[0]))
        case "learning-rate-momentum":
            return learning_rate_momentum_chart(series[0], frame, outcomes=outcomes)
    line = next((_label(curve) for curve in found.curves if curve.curve.has_perfect_scaling), None)
    return scaling_chart(series, frame, perfect_scaling_of=line, is_normalized=panel.normalize_to is not None)


def _without_data(found: PanelRows, frame: Frame) -> Plot:
    """What there are no data for, in lines that fit into the plot; the caption has whole names."""
    missing = dict.fromkeys(curve.nothing.why for curve in found.curves if curve.nothing is not None)
    names = [why.removeprefix("no data for ").partition("/")[2] for why in missing]
    more = [f"and {len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    lines = wrapped(["no data for", *names[:_MOST_NAMED], *more], frame.width - 20, theme.LABEL)
    place: dict[str, Channel] = {
        "x": px(frame.width / 2),
        "y": px(frame.height / 2 - len(lines) * (theme.LABEL + 4) / 2),
        "text": category("text"),
    }
    style: dict[str, Any] = {"fontSize": theme.LABEL, "color": theme.FAINT, "lineHeight": theme.LABEL + 4}
    return layered([layer([{"text": lines}], "text", place, baseline="middle", **style)], frame)


def _series(curve: CurveRows, panel: Panel) -> Series:
    """The columns that charts draw; not the evaluation before each step, since the paper has no bars."""
    rows = curve.table
    if panel.normalize_to is not None and rows["normalized_steps"].null_count == len(rows):
        rows = rows.slice(0, 0)
    return Series(_label(curve), rows.select(_DRAWN).rename_columns({"value": "best_value"}))


def _limits_of_heuristics(found: PanelRows) -> Limits:
    """Limits that hold the lines of the heuristics too."""
    names = ("effective_learning_rate", "linear_heuristic", "square_root_heuristic")
    rates = [row.get(name) for curve in found.curves for row in curve.rows for name in names]
    return log_limits(rate for rate in rates if rate is not None)


def _label(curve: CurveRows) -> str:
    return f"{curve.curve.label} (no data)" if curve.is_lacking else curve.curve.label
