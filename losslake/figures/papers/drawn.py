"""A paper's figure from a release: its specification, its rows, and in words what the release lacks.

The panels of a paper's figure, drawn by the charts of `losslake.figures`.
A paper's figure as a file of each kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from losslake.figures import theme
from losslake.figures.axes import log_limits
from losslake.figures.charts.best import best_chart
from losslake.figures.charts.learning_rate_momentum import learning_rate_momentum_chart
from losslake.figures.charts.metaparameters import learning_rates_chart
from losslake.figures.charts.scaling import scaling_chart
from losslake.figures.figure import IMAGES
from losslake.figures.layers import Channel, Layer, Plot, category, layer, layered, px
from losslake.figures.panel import Limits, Series, wrapped
from losslake.figures.panel import Panel as Frame
from losslake.figures.papers.listing import figure_path, has_collection
from losslake.figures.papers.paper import Figure, Panel, Paper
from losslake.figures.papers.rows import ROWS, CurveRows, PanelRows, all_rows, figure_rows
from losslake.figures.theme import Document, Theme, in_theme
from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from losslake.questions.errors import UnknownName
from losslake.questions.release_view import ReleaseView
from losslake_schema.registry import collections

MOST_NAMED = 4
_WIDTHS = {1: 500, 2: 860, 3: 980}
_EXPLAINED = {
    "steps-to-result": "Fewest steps of any trial to the goal, by batch size.",
    "best-value": "Best value of any trial, by batch size.",
    "effective-learning-rate": (
        "Learning rate / (1 \u2212 momentum) of the trial with the fewest steps to the goal, by batch size. "
        "From the first on, dashed: in proportion to the batch size; dotted: to its square root."
    ),
    "learning-rate-momentum": (
        "A mark for each trial, a ring around the one with the fewest steps. "
        "Lines: equal learning rate / (1 \u2212 momentum)."
    ),
}


@dataclass(frozen=True)
class DrawnFigure:
    """A figure of a paper, with the numbers of one release.

    trials: of each study the first so many, instead of the paper's number.
    """

    paper: Paper
    figure: Figure
    view: ReleaseView
    panels: tuple[PanelRows, ...]
    trials: int | None

    @property
    def rows(self) -> pa.Table:
        """All that is drawn."""
        return all_rows(self.panels)

    @property
    def n_lacking(self) -> int:
        """Panels without any data."""
        return sum(panel.is_lacking for panel in self.panels)

    @property
    def notes(self) -> list[str]:
        """What a reader has to know, each once: what the release lacks, and where it has fewer trials."""
        return list(dict.fromkeys(words for panel in self.panels for words in panel.words))

    def specification(self, query: str) -> Document:
        """The Vega-Lite specification. query: the URL of the rows, for the caption."""
        # What draws takes half a second to import, which those who want the rows need not wait for.
        from losslake.figures.figure import figure
        from losslake.figures.panel import caption

        lines = caption(list(self._explained()), self.view.number, query)
        made = figure(
            charts(self.figure, self.panels),
            self.figure.columns,
            lines,
            _WIDTHS[self.figure.columns],
            description=lines[0],
        )
        return made | {
            "usermeta": {"losslake": {"paper": self.paper.name, "figure": self.figure.number, "notes": self.notes}}
        }

    def _explained(self) -> Iterator[str]:
        paper = self.paper
        source = f"{paper.authors}: {paper.title}. {paper.published}"
        yield f"Figure {self.figure.number}, {self.figure.title[:1].lower()}{self.figure.title[1:]}; after {source}."
        for kind in dict.fromkeys(panel.panel.kind for panel in self.panels):
            marks = self._marks_of_steps() if kind == "steps-to-result" else ()
            yield " ".join([_EXPLAINED[kind], *marks])
        yield self._trials_taken()
        yield from self._lacking()

    def _marks_of_steps(self) -> Iterator[str]:
        """What else there is to see of steps to result."""
        rows = [row for panel in self.panels for curve in panel.curves for row in curve.rows]
        if any(row.get("perfect_scaling") is not None for row in rows):
            yield "Dashed: perfect scaling, half the steps for twice the batch."
        if any(row.get("n_reached") == 0 for row in rows):
            yield "Open triangles: no trial reached the goal."

    def _trials_taken(self) -> str:
        """Which trials count, in a sentence."""
        curves = [curve.curve for panel in self.panels for curve in panel.curves]
        statuses = " and ".join(dict.fromkeys(status for curve in curves for status in curve.statuses))
        counts = sorted({self.trials or curve.trials for curve in curves} - {None}, key=lambda count: -(count or 0))
        taken = f"the first {' or '.join(map(str, counts))}" if counts else "all"
        short = {curve.curve.workload for panel in self.panels for curve in panel.curves if curve.too_few}
        fewer = f"; {len(short)} of {len({c.workload for c in curves})} workloads have fewer" if short else ""
        return f"Trials: {taken} {statuses} of each study{fewer}."

    def _lacking(self) -> Iterator[str]:
        """What the release lacks, in a sentence."""
        missing = [
            curve.nothing.why.removeprefix("no data for ")
            for panel in self.panels
            for curve in panel.curves
            if curve.nothing is not None and curve.is_lacking
        ]
        named = list(dict.fromkeys(missing))
        if named:
            more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
            yield f"No data for {', '.join(named[:MOST_NAMED])}{more}."
        others = [note for panel in self.panels for curve in panel.curves for note in curve.notes]
        yield from (f"{note[:1].upper()}{note[1:]}." for note in dict.fromkeys(others))


def drawn_figure(view: ReleaseView, paper: Paper, number: str, trials: int | None = None) -> DrawnFigure:
    """The figure of that number with the numbers of a release; raises UnknownName."""
    figure = paper.figure(number)
    check_collection(view, paper)
    return DrawnFigure(paper, figure, view, figure_rows(view, figure, trials), trials)


def check_collection(view: ReleaseView, paper: Paper) -> None:
    """Raise UnknownName where a release has nothing at all of a paper."""
    if not has_collection(view, paper):
        known = list(dict.fromkeys(workload.collection for workload in view.workloads))
        raise MissingCollection(paper.collection, view.number, known)


class MissingCollection(UnknownName):
    """A release has nothing of a collection."""

    def __init__(self, collection: str, release: int, known: Sequence[str]) -> None:
        super().__init__("collection", collection, known, f"release {release}")
        self.args = (f"release {release} has no data of the collection '{collection}': {how_to_get(collection)}",)


def how_to_get(collection: str) -> str:
    """What brings a collection into the lake, in words."""
    path = "'losslake ingest PATH' takes in its archive"
    if any(known.collection == collection and known.archive_url for known in collections()):
        return f"'losslake fetch {collection}' gets it from the web, {path} from a disk"
    return path


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


PNG_SCALE = 2.0


def rows_answer(drawn: DrawnFigure) -> Answer:
    """The rows of a figure as an answer."""
    return Answer({"release": drawn.view.number}, ROWS.schema, iter(drawn.rows.to_batches()))


def rows_path(drawn: DrawnFigure) -> str:
    """The path and query of a figure's rows, pinned to the release, as a service has them."""
    chosen = "" if drawn.trials is None else f"&trials={drawn.trials}"
    return f"{figure_path(drawn.paper.name, drawn.figure.number)}.csv?release={drawn.view.number}{chosen}"


def figure_bytes(drawn: DrawnFigure, ending: str) -> bytes:
    """A figure in the format of an ending: vl.json, svg, png, pdf or csv; rendered by this process."""
    if ending == "csv":
        return b"".join(FORMATS["csv"].encode(rows_answer(drawn)))
    specification = specification_bytes(drawn, rows_path(drawn))
    if ending == "vl.json":
        return specification
    from losslake.figures.rendering import rendered

    return rendered(specification, IMAGES[ending], PNG_SCALE)


def specification_bytes(drawn: DrawnFigure, query: str, theme: Theme = "light") -> bytes:
    """The Vega-Lite specification as JSON. query: the URL of the rows, for the caption."""
    from losslake.figures.figure import encoded

    return encoded(in_theme(drawn.specification(query), theme))
