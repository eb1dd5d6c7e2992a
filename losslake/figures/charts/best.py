"""Best: the best value of a metric against batch size.

Draws the answer of /v1/best.
"""

from __future__ import annotations

from collections.abc import Sequence

from losslake.figures import theme
from losslake.figures.axes import linear_limits, log_limits
from losslake.figures.channels import COUNT, DECIMAL, told
from losslake.figures.drawing import Drawing, Drawn, budget_text, ends_in_words, names_of, series_by_workload
from losslake.figures.frame import Frame, Scale
from losslake.figures.layers import Links, Plot, layer, layered, words
from losslake.figures.panel import Panel, Series, rows_of

_SMALL_POINT = 24


def best_chart(
    series: Sequence[Series],
    panel: Panel,
    *,
    y_title: str = "Best value",
    is_ordered: bool = False,
    links: Links | None = None,
) -> Plot:
    """The best value by batch size, a line for each series.

    series: rows with batch_size and best_value; for tooltips, step and trial_id. is_ordered: whether the series have an
    order, such as that of budgets, which their colours show. links: to the trials.
    """
    rows = [row for row in rows_of(series, _COLUMNS) if "best_value" in row]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in rows)
    y_limits = panel.y_limits or linear_limits(row["best_value"] for row in rows)
    x, y = Scale("batch_size", x_limits, "Batch size"), Scale("best_value", y_limits, y_title, base=None)
    frame = Frame(panel, x, y, [one.label for one in series], is_ordered)
    marks = frame.place | frame.colour
    size = _SMALL_POINT if is_ordered else theme.POINT
    points = layer(
        rows, "point", marks | frame.shape | frame.tooltip(_TOOLTIP), size=size, filled=True, opacity=1, clip=True
    )
    layers = [
        layer(rows, "line", marks, strokeWidth=1.6, clip=True),
        points.linked(links.to_trials(series) if links else None),
    ]
    if not rows:
        layers.append(words("Nothing was measured within the budget.", panel))
    return layered([*layers, *frame.labels()], panel)


_COLUMNS = ("batch_size", "best_value", "step", "trial_id")
_TOOLTIP = [
    told("batch_size", "Batch size", COUNT),
    told("best_value", "Best value", DECIMAL),
    told("step", "at step", COUNT),
    told("trial_id", "of trial"),
]


def draw(drawing: Drawing) -> Drawn:
    """The best value by batch size, a series for each workload."""
    metric = drawing.facts["metric"]
    common, series = series_by_workload(drawing)
    explained = ["Points: the best value of any trial and evaluation."]
    panel = drawing.panel(f"Best {metric}{budget_text(drawing.facts)}", common, names_of(series), explained)
    return Drawn(
        [best_chart(series, panel, y_title=metric, links=drawing.links)],
        explained,
        told=ends_in_words(series, "best_value"),
    )
