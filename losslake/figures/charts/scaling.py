"""Scaling: steps to a target against batch size, both axes in powers of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from losslake.figures import theme
from losslake.figures.axes import log_limits
from losslake.figures.channels import COUNT, DECIMAL, category, quantity, told
from losslake.figures.charts.frame import Frame, Scale
from losslake.figures.layers import Layer, Plot, Row, layer, layered, words
from losslake.figures.links import Links
from losslake.figures.panel import Limits, Panel, Series, rows_of

X_TITLE, Y_TITLE, Y_NORMALIZED = "Batch size", "Steps to target", "Steps to target, relative"
_PX_OF_A_NAME = 58
_DOWN = quantity("down", scale=None, axis=None)
"""A place in px from the top."""


@dataclass(frozen=True)
class Regimes:
    """The batch sizes over which each regime is known to reach; None for one that isn't known."""

    perfect_scaling: Limits | None = None
    diminishing_returns: Limits | None = None
    maximal_parallelism: Limits | None = None


def scaling_chart(
    series: Sequence[Series],
    panel: Panel,
    *,
    perfect_scaling_of: str | None = None,
    is_normalized: bool = False,
    regimes: Regimes | None = None,
    links: Links | None = None,
) -> Plot:
    """Steps to target by batch size: points at the first step seen to reach it, bars down to the evaluation before.

    series: rows with batch_size, steps (null: never reached), previous_step; with normalized_steps if is_normalized;
    and, for a bar of its own, low_steps and high_steps: what another search of half that size would give;
    for tooltips, trial_id, value, best_value, n_trials and n_reached.
    perfect_scaling_of: the label of the series from whose first result the line of slope -1 starts; None: no line.
    A batch size at which nothing reached the target has an open mark at the top; 0 steps have no place on the axis.
    links: from points to trials, and from marks of what was never reached to studies.
    """
    drawn = [_row(row, is_normalized) for row in rows_of(series, _COLUMNS)]
    reached = [row for row in drawn if "y" in row]
    never = [row for row in drawn if "steps" not in row]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in drawn)
    y_limits = panel.y_limits or _y_limits(reached, bool(never))
    y_title = Y_NORMALIZED if is_normalized else Y_TITLE
    x, y = Scale("batch_size", x_limits, X_TITLE), Scale("y", y_limits, y_title)
    frame = Frame(panel, x, y, [one.label for one in series])
    layers: list[Layer] = []
    if regimes is not None:
        layers += _shades(regimes, x_limits, frame)
    layers += _perfect_scaling(reached, perfect_scaling_of, x_limits, frame)
    layers += _intervals(reached, y_limits[0], frame)
    layers.append(layer(reached, "line", frame.place | frame.colour, strokeWidth=1.6, clip=True))
    marks = frame.place | frame.colour | frame.shape | frame.tooltip(_OF_REACHED)
    points = layer(reached, "point", marks, size=theme.POINT, filled=True, opacity=1, clip=True)
    layers.append(points.linked(links.to_trials(series) if links else None))
    layers += [each.linked(links.to_studies(series) if links else None) for each in _never(never, frame)]
    if not reached:
        at_once = any("steps" in row for row in drawn)
        told = "The target is reached at step 0." if at_once else "No batch size reached the target."
        layers.append(words(told, panel))
    layers += frame.labels()
    return layered(layers, panel)


_COLUMNS = (
    "batch_size", "steps", "previous_step", "normalized_steps", "low_steps", "high_steps", "trial_id", "value",
    "best_value", "n_trials", "n_reached",
)  # fmt: skip
_OF_REACHED = [
    told("batch_size", "Batch size", COUNT),
    told("steps", "Steps to target", COUNT),
    told("before", "Evaluation before"),
    told("value", "Value", DECIMAL),
    told("trial_id", "Trial"),
    told("reached", "Reached by"),
]
_OF_NEVER = [
    told("batch_size", "Batch size", COUNT),
    told("reached", "Reached by"),
    told("best", "Best value"),
]


def _row(row: Row, is_normalized: bool) -> Row:
    """A row with y, with the ends of its bars in the same unit, and with what its tooltip says."""
    row |= {
        "reached": f"{row['n_reached']:,} of {row['n_trials']:,} trials" if "n_trials" in row else "no trial",
        "before": f"{row['previous_step']:,}" if "previous_step" in row else "none",
        "best": f"{row['best_value']:.6g}" if "best_value" in row else "none",
    }
    steps, y = row.get("steps"), row.get("normalized_steps" if is_normalized else "steps")
    if not steps or not y:
        return {name: row[name] for name in ("series", "batch_size", "steps", "reached", "best") if name in row}
    names = (("previous_step", "lower"), ("low_steps", "low"), ("high_steps", "high"))
    return row | {"y": y} | {end: row[name] * y / steps for name, end in names if name in row}


def _y_limits(reached: Sequence[Row], has_never: bool) -> Limits:
    ends = [row[name] for row in reached for name in ("y", "low", "high") if name in row]
    low, high = log_limits(ends)
    return low, high * 2 if has_never else high


def _shades(regimes: Regimes, limits: Limits, frame: Frame) -> list[Layer]:
    """The regimes that are known, behind everything, each with its name."""
    low, high = limits
    spans = (regimes.perfect_scaling, regimes.diminishing_returns, regimes.maximal_parallelism)
    names = (["perfect", "scaling"], ["diminishing", "returns"], ["maximal", "parallelism"])
    # Steps fall: there is room below at first, and above later on.
    downs = (frame.panel.height - 28, 20, 20)
    shown: list[tuple[Row, str]] = [
        ({"from": max(span[0], low), "to": min(span[1], high), "name": name, "down": down}, colour)
        for span, name, colour, down in zip(spans, names, theme.SHADES, downs, strict=True)
        if span is not None and max(span[0], low) < min(span[1], high)
    ]
    ends = {"x": quantity("from", scale=frame.x_scale), "x2": {"field": "to"}}
    shades = [layer([row], "rect", ends, fillOpacity=0.5, color=colour) for row, colour in shown]
    px = frame.panel.width / math.log(high / low)
    named = [
        row | {"middle": math.sqrt(row["from"] * row["to"])}
        for row, _ in shown
        if math.log(row["to"] / row["from"]) * px >= _PX_OF_A_NAME
    ]
    place = {"x": quantity("middle", scale=frame.x_scale), "y": _DOWN, "text": category("name")}
    return [*shades, layer(named, "text", place, baseline="top", fontSize=10, color=theme.FAINT)]


def _perfect_scaling(reached: Sequence[Row], label: str | None, limits: Limits, frame: Frame) -> list[Layer]:
    """From the first result of a series on: half the steps for twice the batch size."""
    own = sorted((row for row in reached if row["series"] == label), key=lambda row: float(row["batch_size"]))
    if not own:
        return []
    start = own[0]
    if "normalized_steps" in start and any(row["y"] == 1 for row in own):
        start = next(row for row in own if row["y"] == 1)
    examples = start["y"] * start["batch_size"]
    ends = [{"batch_size": size, "y": examples / size} for size in limits]
    return [layer(ends, "line", frame.place, strokeDash=[5, 4], strokeWidth=1.3, color=theme.FAINT, clip=True)]


def _intervals(reached: Sequence[Row], bottom: float, frame: Frame) -> list[Layer]:
    """Thick: from the evaluation before to the step that reached the target. Thin: the range of other searches."""
    measured = [row | {"lower": max(row["lower"], bottom)} for row in reached if "lower" in row]
    searched = [row | {"low": max(row["low"], bottom)} for row in reached if "low" in row and "high" in row]
    found = []
    for rows, ends, width in ((searched, ("low", "high"), 1.2), (measured, ("lower", "y"), 3.5)):
        if rows:
            place = {"x": frame.x, "y": frame.y_of(ends[0]), "y2": {"field": ends[1]}}
            found.append(layer(rows, "rule", place | frame.colour, strokeWidth=width, strokeOpacity=0.55, clip=True))
    return found


def _never(never: Sequence[Row], frame: Frame) -> list[Layer]:
    """An open triangle at the top, side by side where several series never reached it."""
    if not never:
        return []
    labels = list(dict.fromkeys(row["series"] for row in never))
    rows = [row | {"down": 9 + 9 * labels.index(row["series"])} for row in never]
    marks = {"x": frame.x, "y": _DOWN} | frame.colour | frame.tooltip(_OF_NEVER)
    style: dict[str, Any] = {"shape": "triangle-up", "filled": False, "size": theme.POINT, "strokeWidth": 1.6}
    return [layer(rows, "point", marks, opacity=1, clip=True, **style)]
