"""Draws the answer of /v1/curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake.figures.charts.curves import curves_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.drawings.curve_groups import Groups, groups_of, outcomes_of
from losslake.figures.drawings.curve_lines import Line, lines_of, series_of
from losslake.figures.layers import Plot
from losslake.figures.layout import columns_of, grid_panels
from losslake.questions.errors import BadParameter

_MOST_PANELS = 12


def draw(drawing: Drawing) -> Drawn:
    """A panel for each metric; colours tell apart what was asked for."""
    parameters = drawing.parameters
    lines = lines_of(drawing.rows, drawing.view)
    metrics = list(dict.fromkeys(line.metric for line in lines))
    if len(metrics) > _MOST_PANELS:
        raise BadParameter("metric", f"{len(metrics)} metrics are too many for a figure: name up to {_MOST_PANELS}")
    if parameters.target is not None and len(metrics) > 1:
        raise BadParameter("metric", f"a target is of one metric, and there are {len(metrics)}: name one")
    is_by_outcome = parameters.colour_by == "outcome"
    outcomes = outcomes_of(drawing.rows, lines, drawing.view, parameters.target) if is_by_outcome else {}
    groups = groups_of(lines, parameters.colour_by, outcomes)
    explained = _explained(drawing, lines)
    charts = [_chart(drawing, lines, groups, metric, len(metrics), explained) for metric in metrics or [""]]
    told = _told(drawing.rows, lines, groups, explained)
    return Drawn(charts, explained, columns_of(drawing.width, len(charts)), shares_legend=True, told=told)


def _chart(
    drawing: Drawing, lines: Sequence[Line], groups: Groups, metric: str, n: int, explained: Sequence[str]
) -> Plot:
    panel = drawing.panel(metric, groups.common, groups.in_legend, explained)
    if n > 1:
        grid = grid_panels(drawing.width, n, drawing.height)
        panel = replace(grid, title=metric, subtitle=groups.common, y_title="")
    own: dict[str, list[Line]] = {name: [] for name in groups.names}
    for line in lines:
        if line.metric == metric:
            own[groups.by_number[line.number]].append(line)
    workloads = {line.workload for line in lines}
    workload = next(iter(workloads)) if len(workloads) == 1 else ""
    return curves_chart(
        [series_of(drawing.rows, members, name, workload) for name, members in own.items()],
        panel if groups.in_legend else replace(panel, legend="none"),
        y_title=metric,
        is_log=drawing.parameters.axis == "log",
        is_ordered=groups.is_ordered,
        looks=groups.looks,
        target=drawing.parameters.target,
        links=drawing.links,
    )


def _explained(drawing: Drawing, lines: Sequence[Line]) -> list[str]:
    n = len({line.number for line in lines})
    found = [f"{n:,} trial{'s' if n != 1 else ''}, a line each."]
    if drawing.facts.get("thinned"):
        found[0] = f"{found[0][:-1]}, thinned so that no crossing of a target moves."
    if drawing.parameters.target is not None:
        found.append(f"Dashed across: {drawing.parameters.target:g}.")
    n_odd = _n_not_finite(drawing.rows["value"])
    if n_odd:
        found.append(f"{n_odd:,} values that are not finite are not drawn.")
    return found


def _told(rows: pa.Table, lines: Sequence[Line], groups: Groups, explained: Sequence[str]) -> list[str]:
    """How many trials, of which groups, and where they end."""
    found = [*explained, f"{', '.join(groups.in_legend)}."] if groups.in_legend else list(explained)
    last: dict[str, list[float]] = {}
    values = rows["value"].to_numpy()
    for line in lines:
        if np.isfinite(values[line.end - 1]):
            last.setdefault(line.metric, []).append(float(values[line.end - 1]))
    ends = {metric: dict.fromkeys(f"{end:.4g}" for end in (min(own), max(own))) for metric, own in last.items()}
    return found + [f"Last {metric}: {' to '.join(texts)}." for metric, texts in ends.items()]


def _n_not_finite(values: pa.ChunkedArray) -> int:
    return int(pc.sum(pc.invert(pc.is_finite(values))).as_py() or 0)
