"""Draws the answer of /v1/curves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import altair as alt
import pyarrow as pa
import pyarrow.compute as pc

from service.errors import BadParameter
from service.figures.charts.curves import curves_chart
from service.figures.drawing import Drawing, Drawn
from service.figures.layout import columns_of, grid_panels
from service.figures.panel import Panel, Series
from service.workload_labels import workload_labels

_MOST_PANELS = 12
_MOST_NAMED = 7


def draw(drawing: Drawing) -> Drawn:
    """A panel for each metric; coloured by trial if there are few, else by study."""
    rows = drawing.rows
    metrics = rows["metric"].unique().to_pylist()
    if len(metrics) > _MOST_PANELS:
        raise BadParameter("metric", f"{len(metrics)} metrics are too many for a figure: name up to {_MOST_PANELS}")
    named = _named(rows)
    columns = {"line": _lines(rows), "label": pa.array(named.labels, pa.string())}
    drawn = pa.table({name: rows[name] for name in ("step", "value", "metric")} | columns)
    explained = _explained(drawing, drawn)
    charts = []
    for metric in metrics or [""]:
        own = drawn.filter(pc.equal(drawn["metric"], metric))
        series = [
            Series(name, own.filter(pc.equal(own["label"], name)).select(["step", "value", "line"]))
            for name in named.names
        ]
        charts.append(_chart(drawing, series, metric, named.common, len(metrics), explained, named.is_ordered))
    return Drawn(charts, explained, columns_of(drawing.width, len(charts)), shares_legend=True)


def _lines(rows: pa.Table) -> pa.Array:
    """A number for each line: rows of a trial follow each other, for each metric."""
    keys = zip(*(rows[name].to_pylist() for name in ("workload", "batch_size", "trial_id")), strict=True)
    numbers: dict[tuple[object, ...], int] = {}
    return pa.array([numbers.setdefault(key, len(numbers)) for key in keys], pa.int64())


def _chart(
    drawing: Drawing, series: list[Series], metric: str, common: str, n: int, explained: list[str], is_ordered: bool
) -> alt.LayerChart:
    names = [one.label for one in series]
    panel: Panel = drawing.panel(metric, common, names if any(names) else [], explained)
    if n > 1:
        grid = grid_panels(drawing.width, n, drawing.height)
        panel = replace(grid, title=metric, subtitle=common, y_title="")
    is_log: bool = drawing.parameters.axis == "log"
    return curves_chart(series, panel, y_title=metric, is_log=is_log, is_ordered=is_ordered)


@dataclass(frozen=True)
class _Named:
    """What all rows have in common, the label of each row, all labels in order, and whether that order means much."""

    common: str
    labels: list[str]
    names: list[str]
    is_ordered: bool


def _named(rows: pa.Table) -> _Named:
    workloads, sizes, trials = (rows[name].to_pylist() for name in ("workload", "batch_size", "trial_id"))
    found = workload_labels(list(dict.fromkeys(workloads)))
    keys = list(zip(workloads, sizes, trials, strict=True))
    several_sizes = len(set(sizes)) > 1
    by_trial = len(set(keys)) <= _MOST_NAMED and (len(set(trials)) > 1 or not several_sizes)
    texts = {}
    for workload, size, trial in sorted(set(keys)):
        parts = [found.own[workload]] if found.own[workload] else []
        parts += [f"batch size {size}"] if several_sizes else []
        parts += [f"trial {trial}"] if by_trial else []
        texts[workload, size, trial] = ", ".join(parts)
    common = found.common + (f"/{sizes[0]}" if sizes and not several_sizes else "")
    is_ordered = several_sizes and not by_trial and len(found.own) == 1
    return _Named(common, [texts[key] for key in keys], list(dict.fromkeys(texts.values())), is_ordered)


def _explained(drawing: Drawing, rows: pa.Table) -> list[str]:
    n = pc.count_distinct(rows["line"]).as_py()
    found = [f"{n:,} trial{'s' if n != 1 else ''}, a line each."]
    if drawing.facts.get("thinned"):
        found[0] = f"{found[0][:-1]}, thinned so that no crossing of a target moves."
    values = [value for value in rows["value"].to_pylist() if value is not None]
    n_odd = sum(value != value or abs(value) == float("inf") for value in values)
    if n_odd:
        found.append(f"{n_odd:,} values that are not finite are not drawn.")
    return found
