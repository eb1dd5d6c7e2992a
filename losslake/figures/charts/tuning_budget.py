"""Tuning budget: the steps that the best of n trials takes, against n.

Draws the answer of /v1/analysis/tuning-budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow.compute as pc

from losslake.figures.axes import log_limits
from losslake.figures.channels import COUNT, told
from losslake.figures.drawing import Drawing, Drawn, goal_text
from losslake.figures.frame import Frame, Scale, colours
from losslake.figures.layers import Links, Plot, Row, layer, layered, words
from losslake.figures.layout import columns_of, grid_panels
from losslake.figures.panel import Panel, Series, rows_of
from losslake.questions.workload_facts import workload_labels

MOST_BANDS = 3


def tuning_budget_chart(series: Sequence[Series], panel: Panel, *, links: Links | None = None) -> Plot:
    """The median of the best of n trials by n, a line for each series, which are in an order: batch sizes.

    series: rows with budget, steps_q50, steps_q05, steps_q95; null where the target is reached less often than that.
    For links to the studies, batch_size. Up to MOST_BANDS series have a band from the 5% to the 95% quantile.
    """
    rows = [row for row in map(_row, rows_of(series, _COLUMNS)) if row.get("steps_q50", 0) > 0]
    ends = [row[name] for row in rows for name in ("steps_q50", "steps_q05", "steps_q95") if row.get(name)]
    x_limits = panel.x_limits or log_limits(row["budget"] for row in rows)
    y_limits = panel.y_limits or log_limits(ends)
    x, y = Scale("budget", x_limits, "Tuning budget: trials"), Scale("steps_q50", y_limits, "Steps to target")
    labels = [one.label for one in series]
    frame = Frame(panel, x, y, labels)
    colour = colours(labels, panel, is_ordered=True)
    banded = [row for row in rows if row.get("steps_q05") and row.get("steps_q95")]
    marks = frame.place | {"color": colour}
    ends_of_band = marks | {"y": frame.y_of("steps_q05"), "y2": {"field": "steps_q95"}}
    points = layer(rows, "point", marks | frame.tooltip(_TOOLTIP), size=26, filled=True, opacity=1, clip=True)
    layers = [
        layer(
            banded if len(labels) <= MOST_BANDS else [], "area", ends_of_band, opacity=1, fillOpacity=0.18, clip=True
        ),
        layer(rows, "line", marks, strokeWidth=1.6, clip=True),
        points.linked(links.to_studies(series) if links else None),
    ]
    if not rows:
        layers.append(words("No search reaches the target half of the time.", panel))
    return layered([*layers, *frame.labels()], panel)


def _row(row: Row) -> Row:
    """A row with words where a quantile is not known."""
    return row | {f"known_{end}": row.get(f"steps_{end}", "not reached so often") for end in ("q05", "q95")}


_QUANTILES = ("steps_q05", "steps_q50", "steps_q95")
_COLUMNS = ("batch_size", "budget", *_QUANTILES)
_TOOLTIP = [
    told("budget", "Trials", COUNT),
    told("known_q05", "Steps, 5% quantile"),
    told("steps_q50", "Steps, median", COUNT),
    told("known_q95", "Steps, 95% quantile"),
]


_POPULATION = "launched"


def draw(drawing: Drawing) -> Drawn:
    """A panel for each workload, a series for each batch size; of all trials launched, diverged ones included."""
    labels = workload_labels(drawing.facts["workloads"])
    rows = drawing.rows.filter(pc.equal(drawing.rows["population"], _POPULATION))
    sizes = sorted(set(rows["batch_size"].to_pylist()))
    names = [f"B = {size}" for size in sizes]
    goal = goal_text(drawing.facts)
    explained = ["Points: median steps of the best of so many trials, of all launched, diverged ones included."]
    if len(sizes) <= MOST_BANDS:
        explained.append("Bands: 5% to 95% quantile.")
    single = drawing.panel(f"What a search finds: {goal}", labels.common, names, explained)
    grid = grid_panels(drawing.width, len(labels.own), drawing.height)
    charts = []
    for workload, label in labels.own.items():
        own = rows.filter(pc.equal(rows["workload"], workload))
        series = [
            Series(name, own.filter(pc.equal(own["batch_size"], size)), workload)
            for name, size in zip(names, sizes, strict=True)
        ]
        panel = single if len(labels.own) == 1 else replace(grid, title=label, subtitle=labels.common)
        charts.append(tuning_budget_chart(series, panel, links=drawing.links))
    return Drawn(charts, explained, columns_of(drawing.width, len(charts)), shares_legend=True)
