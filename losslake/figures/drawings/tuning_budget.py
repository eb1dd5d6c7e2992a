"""Draws the answer of /v1/analysis/tuning-budget."""

from __future__ import annotations

from dataclasses import replace

import pyarrow.compute as pc

from losslake.figures.charts.tuning_budget import MOST_BANDS, tuning_budget_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.drawings.series import goal_text
from losslake.figures.layout import columns_of, grid_panels
from losslake.figures.panel import Series
from losslake.questions.workload_facts import workload_labels

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
