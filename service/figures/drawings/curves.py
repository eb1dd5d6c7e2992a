"""Draws the answer of /v1/curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from service.errors import BadParameter
from service.figures.charts.curves import curves_chart
from service.figures.drawing import Drawing, Drawn
from service.figures.drawings.curve_lines import Line, lines_of, series_of
from service.figures.layers import Plot
from service.figures.layout import columns_of, grid_panels
from service.figures.panel import Panel
from service.workload_labels import workload_labels

_MOST_PANELS = 12
_MOST_NAMED = 7


def draw(drawing: Drawing) -> Drawn:
    """A panel for each metric; coloured by trial if there are few, else by study."""
    lines = lines_of(drawing.rows, drawing.view)
    metrics = list(dict.fromkeys(line.metric for line in lines))
    if len(metrics) > _MOST_PANELS:
        raise BadParameter("metric", f"{len(metrics)} metrics are too many for a figure: name up to {_MOST_PANELS}")
    named = _named(lines)
    explained = _explained(drawing, lines)
    charts = [_chart(drawing, lines, named, metric, len(metrics), explained) for metric in metrics or [""]]
    return Drawn(charts, explained, columns_of(drawing.width, len(charts)), shares_legend=True)


@dataclass(frozen=True)
class _Named:
    """What all lines have in common, the labels of lines by number, all labels, and whether their order means much."""

    common: str
    by_number: dict[int, str]
    names: list[str]
    is_ordered: bool


def _chart(drawing: Drawing, lines: Sequence[Line], named: _Named, metric: str, n: int, explained: list[str]) -> Plot:
    panel: Panel = drawing.panel(metric, named.common, named.names if any(named.names) else [], explained)
    if n > 1:
        grid = grid_panels(drawing.width, n, drawing.height)
        panel = replace(grid, title=metric, subtitle=named.common, y_title="")
    own: dict[str, list[Line]] = {name: [] for name in named.names}
    for line in lines:
        if line.metric == metric:
            own[named.by_number[line.number]].append(line)
    workloads = {line.workload for line in lines}
    workload = next(iter(workloads)) if len(workloads) == 1 else ""
    series = [series_of(drawing.rows, members, name, workload) for name, members in own.items()]
    is_log: bool = drawing.parameters.axis == "log"
    return curves_chart(series, panel, y_title=metric, is_log=is_log, is_ordered=named.is_ordered, links=drawing.links)


def _named(lines: Sequence[Line]) -> _Named:
    found = workload_labels(list(dict.fromkeys(line.workload for line in lines)))
    sizes, trials = {line.batch_size for line in lines}, {line.trial_id for line in lines}
    several_sizes = len(sizes) > 1
    by_trial = len({line.number for line in lines}) <= _MOST_NAMED and (len(trials) > 1 or not several_sizes)
    texts = {}
    for line in sorted(lines, key=lambda line: (line.workload, line.batch_size, line.trial_id)):
        parts = [found.own[line.workload]] if found.own[line.workload] else []
        parts += [f"batch size {line.batch_size}"] if several_sizes else []
        parts += [f"trial {line.trial_id}"] if by_trial else []
        texts[line.number] = ", ".join(parts)
    common = found.common + (f"/{min(sizes)}" if len(sizes) == 1 else "")
    is_ordered = several_sizes and not by_trial and len(found.own) == 1
    return _Named(common, texts, list(dict.fromkeys(texts.values())), is_ordered)


def _explained(drawing: Drawing, lines: Sequence[Line]) -> list[str]:
    n = len({line.number for line in lines})
    found = [f"{n:,} trial{'s' if n != 1 else ''}, a line each."]
    if drawing.facts.get("thinned"):
        found[0] = f"{found[0][:-1]}, thinned so that no crossing of a target moves."
    n_odd = _n_not_finite(drawing.rows["value"])
    if n_odd:
        found.append(f"{n_odd:,} values that are not finite are not drawn.")
    return found


def _n_not_finite(values: pa.ChunkedArray) -> int:
    return int(pc.sum(pc.invert(pc.is_finite(values))).as_py() or 0)
