"""Laws of critical batch sizes: points with intervals, the fitted law with its band, and published laws beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from losslake.analysis.measured_levels import stated
from losslake.analysis.power_law import PowerLaw
from losslake.figures.axes import Scale, decade_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind
from losslake.figures.frame import Frame
from losslake.figures.layers import COUNT, DECIMAL, Plot, layer, tip
from losslake.figures.panel import ChartRow, Panel
from losslake_schema.quantities import counted

_POINTS, _FIT = "Workloads", "Fitted law"
_TITLES = {
    "parameters": "Parameters of the model",
    "tokens": "Fewest tokens to the target",
    "loss": "Loss of the target, nats",
}
_IN_WORDS = {
    "parameters": "the parameters of the model",
    "tokens": "the fewest tokens to the target",
    "loss": "the loss of the target",
}
_STEPS = 40
_TOOLTIP = [
    tip("workload", "Workload"),
    tip("x", "At", DECIMAL),
    tip("size", "Critical batch size", COUNT),
    tip("lower", "Lower end", COUNT),
    tip("upper", "Upper end", COUNT),
]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw critical batch sizes with intervals against model size, tokens and loss, with fitted and published laws.

    A panel for each that workloads state.
    """
    rows, facts = request.rows.to_pylist(), request.facts
    laws = {law["variable"]: law for law in facts["laws"] if law["n_points"]}
    published = [law for law in facts["published"] if law["n_points"]]
    labels = [_POINTS, *([_FIT] if any(_is_fitted(law) for law in laws.values()) else [])]
    labels += [law["law"] for law in published]
    notes = [
        f"Points: critical batch sizes ({facts['by']}). Bars: {stated('critical-batch-size interval')} intervals.",
        "Line and band: the fitted law with its interval.",
        "Published laws: their values at the points.",
    ]
    notes += [f"No law in {name}: {law['refused']}." for name, law in laws.items() if law["refused"]]
    names = list(laws) or ["parameters"]
    title = "Critical batch sizes"
    panel = request.panel(title, "", labels, notes) if len(names) == 1 else request.grid(len(names))
    titles = {name: title if len(names) == 1 else _TITLES[name] for name in names}
    unit = "tokens" if facts["unit"] == "tokens" else panel.batch_unit
    panels = [
        critical_batch_law_chart(
            rows, replace(panel, title=titles[name], batch_unit=unit), labels, name, laws.get(name), published
        )
        for name in names
    ]
    return ChartPanels(panels, notes, shares_legend=True, summary=[law_in_words(law) for law in laws.values()])


KIND = Kind("critical-batch-law", "/v1/analysis/critical-batch-law", draw)


def critical_batch_law_chart(
    rows: Sequence[ChartRow],
    panel: Panel,
    labels: Sequence[str],
    variable: str,
    law: Mapping[str, Any] | None,
    published: Sequence[Mapping[str, Any]],
) -> Plot:
    """Return the critical batch sizes by one variable, with the laws.

    rows: of the answer, in its order. labels: of the series. law: of the variable, as of `laws`; None for no points.
    published: those that are compared, with their ratios by row.
    """
    points = [
        {"series": _POINTS, "x": row[variable], "size": row["critical_batch_size"], "row": place}
        | {name: row[name] for name in ("workload", "lower", "upper")}
        for place, row in enumerate(rows)
        if row["critical_batch_size"] is not None and row[variable] is not None
    ]
    theirs = [
        {"series": each["law"], "x": point["x"], "size": point["size"] / ratio}
        for each in published
        for point in sorted(points, key=lambda point: float(point["x"]))
        if (ratio := each["ratios"][point["row"]]) is not None
    ]
    band = _band(law) if law is not None and _is_fitted(law) else []
    ends = [row[name] for row in points for name in ("size", "lower", "upper") if row[name] is not None]
    y_limits = panel.y_limits or decade_limits([*ends, *(row["size"] for row in theirs)])
    base = None if variable == "loss" else 10
    x = Scale.over(points, "x", _TITLES[variable], panel.x_limits, base=base)
    frame = Frame(panel, x, Scale("size", y_limits, panel.batch_title, base=10), labels)
    area = frame.colour | {"x": frame.x, "y": frame.y_of("lower"), "y2": {"field": "upper"}}
    bars = [row for row in points if row["lower"] is not None and row["upper"] is not None]
    layers = [
        layer(band, "area", area, opacity=1, fillOpacity=0.18, clip=True),
        frame.lines(theirs, width=1.2),
        frame.lines(band),
        frame.bars(bars, "lower", "upper"),
        frame.points(points, _TOOLTIP),
    ]
    return frame.plot(layers, "" if points else "No workload has a critical batch size and says this.")


def _is_fitted(law: Mapping[str, Any]) -> bool:
    return law["refused"] is None


def _band(law: Mapping[str, Any]) -> list[ChartRow]:
    """Return the fitted law and the ends of its interval, from the smallest to the largest point."""
    both = (law["correlation"] or 0.0) * law["coefficient_error"] * law["exponent_error"]
    covariance = ((law["coefficient_error"] ** 2, both), (both, law["exponent_error"] ** 2))
    names = ("coefficient", "exponent", "scatter", "rms_log_residual", "n_points")
    fitted = PowerLaw(**{name: law[name] for name in names}, covariance=covariance)
    at = np.geomspace(law["smallest"], law["largest"], _STEPS)
    lower, upper = fitted.band(at / law["x_unit"])
    return [
        {"series": _FIT, "x": x, "size": size, "lower": low, "upper": high}
        for x, size, low, high in zip(
            *(each.tolist() for each in (at, fitted.at(at / law["x_unit"]), lower, upper)), strict=True
        )
    ]


def law_in_words(law: Mapping[str, Any]) -> str:
    """Return how the critical batch size depends on a variable in a sentence. law: an entry of `laws`."""
    what = _IN_WORDS[law["variable"]]
    if not _is_fitted(law):
        return f"No law of {counted(law['n_points'], 'workload')} in {what}: {law['refused']}."
    ends = f"{law['exponent_lower']:.2f} to {law['exponent_upper']:.2f}"
    verb = "grows as" if law["exponent"] > 0 else "varies as"
    power = f"{law['exponent']:.2f} ({ends})"
    return f"The critical batch size of {law['n_points']} workloads {verb} {what} to the power {power}."
