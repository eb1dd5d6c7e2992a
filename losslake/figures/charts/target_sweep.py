"""Target sweep: where the regimes of scaling end, against the target.

Draws the answer of /v1/analysis/target-sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow.compute as pc

from losslake.figures import theme
from losslake.figures.axes import linear_limits, log_limits
from losslake.figures.channels import DECIMAL, told
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.frame import Frame, Scale
from losslake.figures.layers import Plot, Row, layer, layered, words
from losslake.figures.layout import columns_of, grid_panels
from losslake.figures.panel import Panel, Series, rows_of
from losslake.questions.workload_facts import workload_labels


@dataclass(frozen=True)
class _Quantity:
    """A batch size that depends on the target: its field, its words, and the field that says whether it is a bound."""

    field: str
    words: str
    censored: str = ""


QUANTITIES = (
    _Quantity("perfect_scaling_end", "End of perfect scaling", "perfect_scaling_end_censoring"),
    _Quantity("critical_batch_size", "Critical batch size"),
    _Quantity("max_useful_batch_size", "Largest useful batch size", "max_useful_batch_size_censoring"),
)


def target_sweep_chart(
    series: Series, panel: Panel, *, x_title: str = "Target", hardest_for_all: float | None = None
) -> Plot:
    """The ends of the regimes as batch sizes, and the critical batch size with its interval, by target.

    series: rows with target and, null where unknown, the fields of QUANTITIES; their *_censored fields (left or right:
    the true one may lie outside of the batch sizes); critical_batch_size_lower and _upper. Open marks are censored.
    hardest_for_all: a line at the hardest target that every batch size reaches.
    """
    drawn = list(rows_of([series], _COLUMNS))
    rows = [point for row in drawn for point in _points(row)]
    sizes = [row[name] for row in rows for name in ("size", "lower", "upper") if row.get(name)]
    x_limits = panel.x_limits or linear_limits(row["target"] for row in drawn)
    y_limits = panel.y_limits or log_limits(sizes)
    names = [quantity.words for quantity in QUANTITIES]
    frame = Frame(panel, Scale("target", x_limits, x_title, base=None), Scale("size", y_limits, "Batch size"), names)
    known, bounds = ([row for row in rows if bool(row["is_bound"]) is flag] for flag in (False, True))
    marks = frame.place | frame.colour | frame.shape | {"tooltip": _TOOLTIP}
    band = [row for row in rows if "lower" in row and "upper" in row]
    ends = frame.colour | {"x": frame.x, "y": frame.y_of("lower"), "y2": {"field": "upper"}}
    hardest = [] if hardest_for_all is None else [{"target": hardest_for_all}]
    dashed: dict[str, Any] = {"strokeDash": [5, 4], "strokeWidth": 1.3, "color": theme.FAINT}
    layers = [
        layer(band, "area", ends, opacity=1, fillOpacity=0.18, clip=True),
        layer(hardest, "rule", {"x": frame.x}, clip=True, **dashed),
        layer(rows, "line", frame.place | frame.colour, strokeWidth=1.2, clip=True),
        layer(bounds, "point", marks, size=24, filled=False, fill=theme.GROUND, opacity=1, clip=True),
        layer(known, "point", marks, size=24, filled=True, opacity=1, clip=True),
    ]
    if not rows:
        layers.append(words("No batch size reached any of the targets.", panel))
    return layered([*layers, *frame.labels()], panel)


_COLUMNS = (
    "target",
    *(
        name
        for quantity in QUANTITIES
        for name in (quantity.field, quantity.censored, f"{quantity.field}_lower", f"{quantity.field}_upper")
    ),
)
_TOOLTIP = [
    told("series", "Quantity"),
    told("target", "Target", DECIMAL),
    told("size", "Batch size", DECIMAL),
    told("bound", "Known"),
]


def _points(row: Row) -> list[Row]:
    """A point for each quantity that the row knows."""
    found = []
    for quantity in QUANTITIES:
        size = row.get(quantity.field)
        if size:
            ends = {end: row[name] for end in ("lower", "upper") if (name := f"{quantity.field}_{end}") in row}
            is_bound = bool(quantity.censored and row.get(quantity.censored))
            point = {"series": quantity.words, "target": row["target"], "size": size, "is_bound": is_bound}
            point["bound"] = "the true one may lie outside of the batch sizes" if is_bound else "within the batch sizes"
            found.append(point | ends)
    return found


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
