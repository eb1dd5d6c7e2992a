"""The charts of the report on the published collections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake.figures.charts.profile import profile_chart
from losslake.figures.charts.scaling import scaling_chart
from losslake.figures.figure import figure, to_json
from losslake.figures.layers import Plot
from losslake.figures.panel import Panel, Series
from losslake.figures.rendering import render_image
from losslake.questions.profiles import profile_rows
from studies.reports.algoperf import Standing
from studies.reports.benchmarks import Benchmark

MOST_PROFILES = 6
_MOST_ROUNDS, _FEWEST_SIZES = 5, 5
_WIDTH = 520


def rounds_chart(benchmark: Benchmark) -> bytes:
    """Return the steps to the goal by batch size as SVG, a series for every other round, the last one included."""
    drawn = [name for name, rows in benchmark.rounds.items() if len(rows) >= _FEWEST_SIZES][::-2][:_MOST_ROUNDS][::-1]
    series = [Series(f"v{name}", pa.Table.from_pylist(benchmark.rounds[name])) for name in drawn]
    panel = Panel(f"Steps to {benchmark.goal_text}", f"{benchmark.name}, by round of MLPerf", _WIDTH - 80, 300)
    notes = ["Points: median steps of the best setting. Thick bars: down to the previous evaluation."]
    notes.append("Dashed: perfect scaling, half the steps for twice the batch.")
    return _svg(scaling_chart(series, panel, perfect_scaling_of=series[0].label), notes)


def profiles_chart(entries: Sequence[Standing]) -> bytes:
    """Return the performance profiles of the best submissions as SVG."""
    names = [each.name for each in entries]
    parts = profile_rows(names, np.array([each.ratios for each in entries]))
    rows = pa.Table.from_batches(part.batch() for part in parts)
    series = [Series(name, rows.filter(pc.equal(rows["competitor"], name))) for name in names[:MOST_PROFILES]]
    panel = Panel("AlgoPerf: share of workloads", "external tuning, validation targets", _WIDTH - 80, 260)
    chart = profile_chart(series, panel, of="least seconds")
    return _svg(chart, ["Share of workloads with at most τ times the least seconds of any submission."])


def _svg(plot: Plot, notes: Sequence[str]) -> bytes:
    lines = [" ".join(notes)]
    specification = to_json(figure([plot], 1, lines, _WIDTH, description=f"{' '.join(plot.heading)}. {lines[0]}"))
    return render_image(specification, "svg")
