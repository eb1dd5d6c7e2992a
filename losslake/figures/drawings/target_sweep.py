"""Draws the answer of /v1/analysis/target-sweep."""

from __future__ import annotations

from dataclasses import replace

import pyarrow.compute as pc

from losslake.figures.charts.target_sweep import QUANTITIES, target_sweep_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.layout import columns_of, grid_panels
from losslake.figures.panel import Series
from losslake.questions.workload_facts import workload_labels


def draw(drawing: Drawing) -> Drawn:
    """A panel for each workload."""
    facts, rows = drawing.facts, drawing.rows
    labels = workload_labels(facts["workloads"])
    hardest = {each["workload"]: each["hardest_for_all"] for each in facts["summaries"]}
    explained = [
        "Open: the true end may lie outside of the batch sizes. Band: 90% interval of the critical batch size.",
        "Dashed: the hardest target that every batch size reaches.",
    ]
    names = [quantity.words for quantity in QUANTITIES]
    single = drawing.panel(f"Regimes by target of {facts['metric']}", labels.common, names, explained)
    grid = grid_panels(drawing.width, len(labels.own), drawing.height)
    charts = [
        target_sweep_chart(
            Series("", rows.filter(pc.equal(rows["workload"], workload))),
            single if len(labels.own) == 1 else replace(grid, title=label, subtitle=labels.common),
            x_title="Target",
            hardest_for_all=hardest.get(workload),
        )
        for workload, label in labels.own.items()
    ]
    return Drawn(charts, explained, columns_of(drawing.width, len(charts)), shares_legend=True)
