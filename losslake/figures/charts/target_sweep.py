"""Target sweep: the ends of the regimes of scaling by target."""

from __future__ import annotations

from losslake.analysis.measured_levels import stated
from losslake.figures import theme
from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, filter_rows
from losslake.figures.frame import Frame
from losslake.figures.layers import DECIMAL, Plot, layer, tip
from losslake.figures.panel import ChartRow, Panel, Series, drawable_rows

# The drawn batch sizes, by field.
QUANTITIES = {
    "perfect_scaling_end": "End of perfect scaling",
    "critical_batch_size": "Critical batch size",
    "max_useful_batch_size": "Largest useful batch size",
}
_NAMES = list(QUANTITIES.values())
_COLUMNS = {"target", *(field + end for field in QUANTITIES for end in ("", "_censoring", "_lower", "_upper"))}
_TOOLTIP = [
    tip("series", "Quantity"),
    tip("target", "Target", DECIMAL),
    tip("size", "Batch size", DECIMAL),
    tip("bound", "True value"),
]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the ends of the regimes of scaling and the critical batch size, by target.

    A panel for each workload.
    """
    facts = request.facts
    hardest = {each["workload"]: each["hardest_for_all"] for each in facts["summaries"]}
    interval = stated("critical-batch-size interval")
    notes = [
        f"Open marks: the true end may be beyond the batch sizes. Band: {interval} interval of the critical batch size",
        "Dashed: the hardest target that every batch size reaches.",
    ]
    panels = request.panels(f"Regimes by target of {facts['metric']}", _NAMES, notes)
    charts = [
        target_sweep_chart(
            Series("", filter_rows(request.rows, workload=workload)), panel, hardest_for_all=hardest.get(workload)
        )
        for workload, panel in panels.items()
    ]
    return ChartPanels(charts, notes, shares_legend=True)


KIND = Kind("target-sweep", "/v1/analysis/target-sweep", draw)


def target_sweep_chart(series: Series, panel: Panel, *, hardest_for_all: float | None = None) -> Plot:
    """Return the ends of the regimes and the critical batch size with its interval, by target.

    series: rows with target and, null where unknown, the fields of QUANTITIES; their *_censoring fields (left or right:
    the true one may lie outside the batch sizes); critical_batch_size_lower and _upper. Open marks are censored.
    hardest_for_all: a line at the hardest target that every batch size reaches.
    """
    drawn = list(drawable_rows([series], _COLUMNS))
    rows = [point for row in drawn for point in _points(row)]
    sizes = [row[name] for row in rows for name in ("size", "lower", "upper") if row.get(name)]
    y_limits = panel.y_limits or log_limits(sizes)
    x = Scale.over(drawn, "target", "Target", panel.x_limits, base=None)
    frame = Frame(panel, x, Scale("size", y_limits, panel.batch_title), _NAMES)
    points, bounds = ([row for row in rows if row["is_bound"] is flag] for flag in (False, True))
    marks = frame.place | frame.colour | frame.shape | {"tooltip": _TOOLTIP}
    band = [row for row in rows if "lower" in row and "upper" in row]
    ends = frame.colour | {"x": frame.x, "y": frame.y_of("lower"), "y2": {"field": "upper"}}
    hardest = [] if hardest_for_all is None else [{"target": hardest_for_all}]
    layers = [
        layer(band, "area", ends, opacity=1, fillOpacity=0.18, clip=True),
        layer(hardest, "rule", {"x": frame.x}, clip=True, strokeDash=[5, 4], strokeWidth=1.3, color=theme.FAINT),
        frame.lines(rows, width=1.2),
        layer(bounds, "point", marks, size=24, filled=False, fill=theme.GROUND, opacity=1, clip=True),
        layer(points, "point", marks, size=24, filled=True, opacity=1, clip=True),
    ]
    return frame.plot(layers, "" if rows else "No batch size reached any of the targets.")


def _points(row: ChartRow) -> list[ChartRow]:
    """Return a point for each quantity that the row has."""
    points = []
    for field, name in QUANTITIES.items():
        if row.get(field):
            is_bound = bool(row.get(f"{field}_censoring"))
            point = {"series": name, "target": row["target"], "size": row[field], "is_bound": is_bound}
            point["bound"] = "may lie outside the batch sizes" if is_bound else "within the batch sizes"
            points.append(point | {end: row[f"{field}_{end}"] for end in ("lower", "upper") if f"{field}_{end}" in row})
    return points
