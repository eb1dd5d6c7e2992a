"""A paper's figure drawn from a release: its specification, its rows, and sentences about missing data."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from losslake.figures import theme
from losslake.figures.axes import log_limits
from losslake.figures.charts.best import best_chart
from losslake.figures.charts.learning_rate_momentum import learning_rate_momentum_chart
from losslake.figures.charts.metaparameters import learning_rates_chart
from losslake.figures.charts.scaling import scaling_chart
from losslake.figures.figure import IMAGES, figure, to_json
from losslake.figures.layers import Plot, category, layer, plot_layers, px
from losslake.figures.panel import Limits, Series, caption, wrap
from losslake.figures.panel import Panel as Frame
from losslake.figures.papers.listing import check_collection, figure_path
from losslake.figures.papers.paper import Figure, Panel, Paper
from losslake.figures.papers.rows import ROWS, CurveRows, PanelRows, all_rows, figure_rows
from losslake.figures.theme import Document, Theme, in_theme
from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from losslake.questions.release.view import ReleaseView
from losslake_schema.reached import goal_text

PNG_SCALE = 2.0
# How many missing workloads are named in the caption, and in a plot.
_MOST_IN_CAPTION, _MOST_IN_PLOT = 4, 3
_MOST_IN_LEGEND_BELOW = 4
_WIDTHS = {1: 500, 2: 860, 3: 980}
# Width of the figure, and width and height of its plots, in px, by columns of the figure.
_PLOT_SIZES = {1: (420, 300), 2: (330, 235), 3: (260, 215)}
# At most the px beside a plot and of a legend there; about the px above and below a plot, and of the caption.
_BESIDE, _LEGEND_BESIDE, _BELOW, _CAPTION = 85, 100, 95, 90
# The factor by which limits of logarithmic axes are widened, so that marks at the edge are whole.
_MARGIN = 1.12
_NOTES = {
    "steps-to-result": "Fewest steps of any trial to the goal, by batch size.",
    "best-value": "Best value of any trial, by batch size.",
    "effective-learning-rate": (
        "Learning rate / (1 \u2212 momentum) of the trial with the fewest steps to the goal, by batch size. "
        "Lines from the first point: dashed, proportional to the batch size; dotted, to its square root."
    ),
    "learning-rate-momentum": (
        "One mark per trial; a ring marks the one with the fewest steps. "
        "Lines: equal learning rate / (1 \u2212 momentum)."
    ),
}
_DRAWN = [
    "batch_size", "trial_id", "steps", "value", "normalized_steps", "learning_rate", "momentum",
    "effective_learning_rate", "outcome", "is_best",
]  # fmt: skip


def drawn_figure(view: ReleaseView, paper: Paper, number: str, trials: int | None = None) -> DrawnFigure:
    """Return a figure with the data of a release; raises UnknownName.

    number: of the figure. trials: uses the first trials of each study up to this number, instead of the paper's.
    """
    chosen = paper.figure(number)
    check_collection(view, paper)
    return DrawnFigure(paper, chosen, view, figure_rows(view, chosen, trials), trials)


def approximate_size(chosen: Figure) -> tuple[int, int]:
    """Return about the width and height of a figure in px, before it is drawn; its width is at most this."""
    width, height = _PLOT_SIZES[chosen.columns]
    beside = _BESIDE + (_LEGEND_BESIDE if any(map(_has_legend_beside, chosen.panels)) else 0)
    n_rows = math.ceil(len(chosen.panels) / chosen.columns)
    return chosen.columns * (width + beside), n_rows * (height + _BELOW) + _CAPTION


@dataclass(frozen=True)
class DrawnFigure:
    """A figure of a paper, with the data of one release."""

    paper: Paper
    figure: Figure
    view: ReleaseView
    panels: tuple[PanelRows, ...]
    trials: int | None

    @property
    def rows(self) -> pa.Table:
        """All rows that are drawn."""
        return all_rows(self.panels)

    @property
    def curves(self) -> list[CurveRows]:
        """The curves of all panels."""
        return [curve for panel in self.panels for curve in panel.curves]

    @property
    def n_missing(self) -> int:
        """The number of panels without any data."""
        return sum(panel.is_missing for panel in self.panels)

    @property
    def notes(self) -> list[str]:
        """Distinct sentences about missing data and studies with fewer trials."""
        return list(dict.fromkeys(words for curve in self.curves for words in curve.words))

    def specification(self, query: str) -> Document:
        """Return the Vega-Lite specification. query: the URL of the rows, for the caption."""
        lines = caption(list(self._notes()), self.view.number, query)
        columns = self.figure.columns
        drawn = figure(_charts(self), columns, lines, _WIDTHS[columns], description=lines[0])
        facts = {"paper": self.paper.name, "figure": self.figure.number, "notes": self.notes}
        return drawn | {"usermeta": {"losslake": facts}}

    def _notes(self) -> Iterator[str]:
        paper, title = self.paper, self.figure.title
        source = f"{paper.authors}: {paper.title}. {paper.published}"
        yield f"Figure {self.figure.number}, {title[:1].lower()}{title[1:]}; after {source}."
        for kind in dict.fromkeys(panel.panel.kind for panel in self.panels):
            marks = self._marks_of_steps() if kind == "steps-to-result" else ()
            yield " ".join([_NOTES[kind], *marks])
        yield self._trials_drawn()
        yield from self._lacking()

    def _marks_of_steps(self) -> Iterator[str]:
        """Yield notes on the other marks of steps to result."""
        rows = [row for curve in self.curves for row in curve.rows]
        if any(row.get("perfect_scaling") is not None for row in rows):
            yield "Dashed: perfect scaling, half the steps for twice the batch."
        if any(row.get("n_reached") == 0 for row in rows):
            yield "Open triangles: no trial reached the goal."

    def _trials_drawn(self) -> str:
        """Return a sentence about the trials that count."""
        curves = [curve.curve for curve in self.curves]
        statuses = " and ".join(dict.fromkeys(status for curve in curves for status in curve.statuses))
        counts = sorted({self.trials or curve.trials for curve in curves} - {None}, key=lambda count: -(count or 0))
        drawn = f"the first {' or '.join(map(str, counts))}" if counts else "all"
        short = {curve.curve.workload for curve in self.curves if curve.too_few}
        fewer = f"; {len(short)} of {len({c.workload for c in curves})} workloads have fewer" if short else ""
        return f"Trials: {drawn} {statuses} of each study{fewer}."

    def _lacking(self) -> Iterator[str]:
        """Yield sentences about the data that the release lacks."""
        reasons = [curve.nothing.why for curve in self.curves if curve.nothing is not None and curve.is_missing]
        named = list(dict.fromkeys(why.removeprefix("no data for ") for why in reasons))
        if named:
            more = f" and {len(named) - _MOST_IN_CAPTION} more" if len(named) > _MOST_IN_CAPTION else ""
            yield f"No data for {', '.join(named[:_MOST_IN_CAPTION])}{more}."
        notes = dict.fromkeys(note for curve in self.curves for note in curve.notes)
        yield from (f"{note[:1].upper()}{note[1:]}." for note in notes)


def figure_bytes(drawn: DrawnFigure, ending: str) -> bytes:
    """Return a figure as vl.json, svg, png, pdf or csv, rendered in this process."""
    if ending == "csv":
        return b"".join(FORMATS["csv"].encode(rows_answer(drawn)))
    specification = specification_bytes(drawn, rows_path(drawn))
    if ending == "vl.json":
        return specification
    # Imported here, since a service renders in another process and doesn't need the renderer.
    from losslake.figures.rendering import render_image

    return render_image(specification, IMAGES[ending], PNG_SCALE)


def specification_bytes(drawn: DrawnFigure, query: str, theme: Theme = "light") -> bytes:
    """Return the Vega-Lite specification as JSON. query: the URL of the rows, for the caption."""
    return to_json(in_theme(drawn.specification(query), theme))


def rows_answer(drawn: DrawnFigure) -> Answer:
    """Return the rows of a figure as an answer."""
    return Answer({"release": drawn.view.number}, ROWS.schema, iter(drawn.rows.to_batches()))


def rows_path(drawn: DrawnFigure) -> str:
    """Return the service's path and query of a figure's rows, pinned to the release."""
    chosen = "" if drawn.trials is None else f"&trials={drawn.trials}"
    return f"{figure_path(drawn.paper.name, drawn.figure.number)}.csv?release={drawn.view.number}{chosen}"


def _charts(drawn: DrawnFigure) -> list[Plot]:
    """Return the plots of a figure's panels, in order."""
    panels, columns = drawn.panels, drawn.figure.columns
    # Panels with the same marks share one legend.
    first_below = len(panels) - 1 - (len(panels) - 1) % columns
    outcomes = {row["outcome"] for curve in drawn.curves for row in curve.rows if "outcome" in row}
    plots = []
    for place, panel in enumerate(panels):
        frame = _frame(panel, columns, has_key=place == first_below)
        plot = _without_data(panel, frame) if panel.is_missing else _chart(panel, frame, outcomes)
        # An invisible mark at the height of the topmost axis label aligns headings side by side.
        room = layer([{}], "point", {"x": px(0), "y": px(-5)}, size=60, opacity=0, tooltip=None)
        plots.append(replace(plot, layers=[*plot.layers, room]))
    return plots


def _frame(drawn: PanelRows, columns: int, has_key: bool) -> Frame:
    panel = drawn.panel
    width, height = _PLOT_SIZES[columns]
    chosen = panel.choices
    frame = Frame(panel.title, _subtitle(drawn), width, height, chosen.x_limits, chosen.y_limits, chosen.y_title)
    match panel.kind:
        case "best-value":
            beside = _has_legend_beside(panel)
            return replace(frame, x_limits=_wider(chosen.x_limits), legend="right" if beside else "bottom")
        case "learning-rate-momentum":
            return replace(frame, legend="bottom" if has_key else "none")
        case "effective-learning-rate":
            y_title = chosen.y_title or "Learning rate / (1 \u2212 momentum)"
            y_limits = chosen.y_limits or _limits_of_heuristics(drawn)
            return replace(frame, y_title=y_title, y_limits=y_limits, legend="none")
    y_title = "Steps" if chosen.normalize_to is None else f"Steps / steps at B = {chosen.normalize_to}"
    return replace(
        frame, x_limits=_wider(chosen.x_limits), y_limits=_wider(chosen.y_limits), y_title=chosen.y_title or y_title
    )


def _has_legend_beside(panel: Panel) -> bool:
    return panel.kind == "best-value" and len(panel.curves) > _MOST_IN_LEGEND_BELOW


def _subtitle(drawn: PanelRows) -> str:
    """Return the goal of the panel's series, val/classification_error < 0.01, or their metrics if goals differ.

    Never empty, so that headings side by side are aligned.
    """
    metrics = dict.fromkeys(curve.curve.metric for curve in drawn.curves)
    goals = {(row["direction"], row["goal"]) for curve in drawn.curves for row in curve.rows}
    if len(metrics) > 1 or len(goals) != 1:
        return ", ".join(metrics)
    (metric,) = metrics
    direction, goal = goals.pop()
    return metric if goal is None else goal_text(metric, direction, goal)


def _wider(limits: Limits | None) -> Limits | None:
    return None if limits is None else (limits[0] / _MARGIN, limits[1] * _MARGIN)


def _limits_of_heuristics(drawn: PanelRows) -> Limits:
    """Return limits that contain the lines of the heuristics."""
    names = ("effective_learning_rate", "linear_heuristic", "square_root_heuristic")
    rates = [row.get(name) for curve in drawn.curves for row in curve.rows for name in names]
    return log_limits(rate for rate in rates if rate is not None)


def _chart(drawn: PanelRows, frame: Frame, outcomes: Collection[str]) -> Plot:
    panel, curves = drawn.panel, drawn.curves
    series = [_series(curve, panel) for curve in curves if curve.rows or curve.is_missing]
    match panel.kind:
        case "best-value":
            first = curves[0].curve
            return best_chart(series, frame, is_ordered=bool(first.step_budget or first.example_budget))
        case "effective-learning-rate":
            return learning_rates_chart(series, frame, heuristics_of=_label(curves[0]))
        case "learning-rate-momentum":
            return learning_rate_momentum_chart(series[0], frame, outcomes=outcomes)
    line = next((_label(curve) for curve in curves if curve.curve.has_perfect_scaling), None)
    return scaling_chart(series, frame, perfect_scaling_of=line, is_normalized=panel.choices.normalize_to is not None)


def _without_data(drawn: PanelRows, frame: Frame) -> Plot:
    """Return a plot that names the missing data; the caption has the full names."""
    missing = dict.fromkeys(curve.nothing.why for curve in drawn.curves if curve.nothing is not None)
    names = [why.removeprefix("no data for ").partition("/")[2] for why in missing]
    more = [f"and {len(names) - _MOST_IN_PLOT} more"] if len(names) > _MOST_IN_PLOT else []
    lines = wrap(["no data for", *names[:_MOST_IN_PLOT], *more], frame.width - 20, theme.LABEL)
    height = theme.LABEL + 4
    place = {"x": px(frame.width / 2), "y": px(frame.height / 2 - len(lines) * height / 2), "text": category("text")}
    style: dict[str, Any] = {"fontSize": theme.LABEL, "color": theme.FAINT, "lineHeight": height}
    return plot_layers([layer([{"text": lines}], "text", place, baseline="middle", **style)], frame)


def _series(curve: CurveRows, panel: Panel) -> Series:
    """Return a curve as a series, without previous evaluations, since the paper has no bars."""
    rows = curve.table
    if panel.choices.normalize_to is not None and rows["normalized_steps"].null_count == len(rows):
        rows = rows.slice(0, 0)
    return Series(_label(curve), rows.select(_DRAWN).rename_columns({"value": "best_value"}))


def _label(curve: CurveRows) -> str:
    return f"{curve.curve.label} (no data)" if curve.is_missing else curve.curve.label
