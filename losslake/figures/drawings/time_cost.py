"""Draws the answer of /v1/analysis/time-cost."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from losslake.figures.charts.time_cost import time_cost_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.drawings.series import goal_text, names_of, series_by_workload
from losslake.figures.panel import Series


def draw(drawing: Drawing) -> Drawn:
    """Time against cost by batch size, a series for each workload; steps in place of time where logs have no times."""
    reached = drawing.rows.filter(pc.is_valid(drawing.rows["steps"]))
    is_timed = reached.num_rows > 0 and reached["fastest_elapsed_s"].null_count == 0
    common, found = series_by_workload(drawing)
    series = [Series(one.label, _placed(one.rows, is_timed), one.workload) for one in found]
    explained = [
        "Numbers: batch sizes. Filled and joined: no other takes at most as much time and examples, and less of one."
    ]
    if not is_timed:
        explained.append("Steps stand for time: not all logs have times.")
    panel = drawing.panel(f"Time and cost of {goal_text(drawing.facts)}", common, names_of(series), explained)
    y_title = "Time to target, s" if is_timed else "Steps to target"
    return Drawn([time_cost_chart(series, panel, y_title=y_title, links=drawing.links)], explained)


def _placed(rows: pa.Table, is_timed: bool) -> pa.Table:
    names = ("fastest_examples", "fastest_elapsed_s") if is_timed else ("examples", "steps")
    trial = rows["fastest_trial_id" if is_timed else "trial_id"]
    columns = {"cost": rows[names[0]], "time": rows[names[1]].cast(pa.float64()), "trial_id": trial}
    return pa.table({name: rows[name] for name in ("batch_size", "is_on_front")} | columns)
