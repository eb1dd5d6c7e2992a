"""Best values: the best value of a metric by batch size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from losslake.figures import theme
from losslake.figures.axes import Scale
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, ends_in_words, legend_labels, summary
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, COUNT, DECIMAL, Plot, tip
from losslake.figures.panel import Panel, Series, drawable_rows

_COLUMNS = ("batch_size", "best_value", "step", "trial_id")
_TOOLTIP = [
    BATCH_SIZE,
    tip("best_value", "Best value", DECIMAL),
    tip("step", "at step", COUNT),
    tip("trial_id", "of trial"),
]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the best value of a metric by batch size, within a budget.

    A series for each workload.
    """
    metric = request.facts["metric"]
    request, unsized = request.by_batch_size()
    common, series = request.series_by_workload()
    notes = ["Points: the best value of any trial and evaluation.", *unsized]
    panel = request.panel(f"Best {metric}{_budget(request.facts)}", common, legend_labels(series), notes, has_ends=True)
    chart = best_chart(series, replace(panel, y_title=metric))
    return ChartPanels([chart], notes, summary=summary(series, lambda one: ends_in_words(one, "best_value")))


KIND = Kind("best", "/v1/best", draw)


def best_chart(series: Sequence[Series], panel: Panel, *, is_ordered: bool = False) -> Plot:
    """Return the best value by batch size, a line for each series.

    series: rows with batch_size and best_value; for tooltips, step and trial_id. is_ordered: the series have an order,
    such as that of budgets, which their colours show.
    """
    rows = [row for row in drawable_rows(series, _COLUMNS) if "best_value" in row]
    x = Scale.over(rows, "batch_size", panel.batch_title, panel.x_limits)
    y = Scale.over(rows, "best_value", "Best value", panel.y_limits, base=None)
    frame = Frame(panel, x, y, [one.label for one in series], is_ordered)
    points = frame.points(rows, _TOOLTIP, 24 if is_ordered else theme.POINT)
    layers = [frame.lines(rows), points.linked(panel.link_to("trials", series)), *frame.names(rows)]
    return frame.plot(layers, "" if rows else "Nothing was measured within the budget.")


def _budget(facts: Mapping[str, Any]) -> str:
    """Return the budgets in words: within 1,000 steps; empty without any."""
    units = (("step_budget", "steps"), ("example_budget", "examples"))
    budgets = [f"{facts[name]:,} {unit}" for name, unit in units if facts[name] is not None]
    return f" within {' and '.join(budgets)}" if budgets else ""
