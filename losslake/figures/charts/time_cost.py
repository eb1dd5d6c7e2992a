"""Time and cost: the time and the examples that training to a target takes, by batch size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from losslake.figures import theme
from losslake.figures.axes import Scale
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, goal_text, legend_labels
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, COUNT, DECIMAL, TRIAL, Plot, category, layer, tip
from losslake.figures.panel import Panel, Series, drawable_rows

_COLUMNS = ("batch_size", "cost", "time", "is_on_front", "trial_id", "accelerator")
_TOOLTIP = [BATCH_SIZE, tip("time", "Time", DECIMAL), tip("cost", "Examples", COUNT), TRIAL]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the time to a target by its cost in examples, for each batch size, with the Pareto front.

    A series for each workload. Steps replace time if logs have no times.
    """
    reached = request.rows.filter(pc.is_valid(request.rows["steps"]))
    is_timed = reached.num_rows > 0 and reached["fastest_elapsed_s"].null_count == 0
    common, answered = request.series_by_workload()
    series = [Series(one.label, _placed(one.rows, is_timed), one.workload) for one in answered]
    notes = ["Numbers: batch sizes. Filled: the Pareto front of time and examples, joined on the same accelerator."]
    if not is_timed:
        notes.append("Steps replace time, since not all logs have times.")
    panel = request.panel(f"Time and cost to {goal_text(request.facts)}", common, legend_labels(series), notes)
    if not is_timed:
        panel = replace(panel, y_title="Steps to target")
    return ChartPanels([time_cost_chart(series, panel)], notes)


KIND = Kind("time-cost", "/v1/analysis/time-cost", draw)


def time_cost_chart(series: Sequence[Series], panel: Panel) -> Plot:
    """Return a point for each batch size at its cost in examples and its time, labelled with its batch size.

    series: rows with batch_size, cost, time, is_on_front: no other has less of one and no more of the other; for
    tooltips and links, trial_id; accelerator. Points on the front are filled, and joined where that is the same.
    """
    rows = [row for row in drawable_rows(series, _COLUMNS) if row.get("cost", 0) > 0 and row.get("time", 0) > 0]
    x = Scale.over(rows, "cost", "Cost: examples to target", panel.x_limits, base=10)
    y = Scale.over(rows, "time", "Time to target, s", panel.y_limits, base=10)
    frame = Frame(panel, x, y, [one.label for one in series])
    front = [row for row in rows if row.get("is_on_front")]
    others = [row for row in rows if not row.get("is_on_front")]
    marks = frame.place | frame.colour | frame.shape | frame.tooltip(_TOOLTIP)
    linked = panel.link_to("trials", series)
    style: dict[str, Any] = {"size": theme.POINT, "opacity": 1, "strokeWidth": 1.6, "clip": True}
    named = frame.place | {"text": category("batch_size")}
    layers = [
        frame.lines(front, within="accelerator"),
        layer(others, "point", marks, filled=False, fill=theme.GROUND, **style).linked(linked),
        layer(front, "point", marks, filled=True, **style).linked(linked),
        layer(rows, "text", named, align="left", dx=6, dy=-6, fontSize=9, color=theme.FAINT),
    ]
    return frame.plot(layers, "" if rows else "No batch size reached the target.")


def _placed(rows: pa.Table, is_timed: bool) -> pa.Table:
    """Return the rows with the columns of the chart."""
    cost, time, trial = (
        ("fastest_examples", "fastest_elapsed_s", "fastest_trial_id") if is_timed else ("examples", "steps", "trial_id")
    )
    columns = {"cost": rows[cost], "time": rows[time].cast(pa.float64()), "trial_id": rows[trial]}
    if is_timed:
        columns["accelerator"] = rows["fastest_accelerator"]
    return pa.table({name: rows[name] for name in ("batch_size", "is_on_front")} | columns)
