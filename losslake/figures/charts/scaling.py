"""Scaling: steps to a target against batch size, both axes in powers of two, with the regimes of a single workload."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.analysis.best_of_n import range_of_best
from losslake.analysis.break_points import PERFECT_WITHIN, USEFUL_WITHIN, max_useful_batch_size, perfect_scaling_end
from losslake.figures import theme
from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import Drawing, Drawn, Kind, ends_in_words, goal_text, names_of, summary
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, DECIMAL, STEPS, TRIAL, Layer, Plot, category, layer, quantity, tip
from losslake.figures.panel import Limits, Panel, Row, Series, rows_of
from losslake.questions.tuning_budget import DIVERGED, NON_DIVERGENT, populations

_PX_OF_A_NAME = 58
_MOST_SIZES = 6
_DOWN = quantity("down", scale=None, axis=None)
"""A place in px from the top."""
_COLUMNS = (
    "batch_size", "steps", "previous_step", "normalized_steps", "low_steps", "high_steps", "trial_id", "value",
    "best_value", "n_trials", "n_reached",
)  # fmt: skip
_REACHED = tip("reached", "Reached by")
_OF_REACHED = [BATCH_SIZE, STEPS, tip("before", "Evaluation before"), tip("value", "Value", DECIMAL), TRIAL, _REACHED]
_OF_NEVER = [BATCH_SIZE, _REACHED, tip("best", "Best value")]


def draw(drawing: Drawing) -> Drawn:
    """Steps to a target by batch size, both in powers of two, with perfect scaling and the regimes.

    A series for each workload.
    """
    facts, rows = drawing.facts, _with_other_searches(drawing)
    common, series = replace(drawing, rows=rows).series_by_workload()
    is_normalized = facts["normalize_to"] is not None
    known = known_regimes(rows) if len(series) == 1 and not is_normalized else Regimes()
    unit = "relative to those at the batch size of normalize_to" if is_normalized else "of any trial"
    explained = [f"Points: fewest steps {unit}. Thick bars: since the evaluation before."]
    if "low_steps" in rows.column_names and rows["low_steps"].null_count < rows.num_rows:
        explained.append("Thin bars: 5% to 95% range of the best of half as many trials.")
    if rows["steps"].null_count < rows.num_rows:
        explained.append("Dashed: perfect scaling, half the steps for twice the batch.")
    if rows["steps"].null_count:
        explained.append("Open triangles: no trial reached the target.")
    n_at_once = rows["steps"].to_pylist().count(0)
    if n_at_once:
        explained.append(f"Not drawn: {n_at_once} that reach it at step 0, which has no logarithm.")
    explained += known.explained
    chart = scaling_chart(
        series,
        drawing.panel(f"Steps to {goal_text(facts)}", common, names_of(series), explained),
        perfect_scaling_of=series[0].label if series else None,
        is_normalized=is_normalized,
        regimes=known,
    )
    ends = summary(series, lambda one: ends_in_words(one, "steps", " steps"))
    return Drawn([chart], explained, summary=[*ends, *summary(series, _never_in_words), *known.explained])


KIND = Kind("scaling", "/v1/scaling", draw)


@dataclass(frozen=True)
class Regimes:
    """The batch sizes over which each regime is known to reach; None for one that isn't known.

    explained: in sentences, what their ends are.
    """

    perfect_scaling: Limits | None = None
    diminishing_returns: Limits | None = None
    maximal_parallelism: Limits | None = None
    explained: tuple[str, ...] = ()


def scaling_chart(
    series: Sequence[Series],
    panel: Panel,
    *,
    perfect_scaling_of: str | None = None,
    is_normalized: bool = False,
    regimes: Regimes | None = None,
) -> Plot:
    """Return steps to target by batch size: points at the first step that reaches it, bars to the evaluation before.

    series: rows with batch_size, steps (null: never reached), previous_step; with normalized_steps if is_normalized;
    and, for a bar of its own, low_steps and high_steps: what another search of half that size would give;
    for tooltips, trial_id, value, best_value, n_trials and n_reached.
    perfect_scaling_of: the label of the series from whose first result the line of slope -1 starts; None: no line.
    A batch size at which nothing reached the target has an open mark at the top; 0 steps have no place on the axis.
    Links lead from points to trials, and from marks of what was never reached to studies.
    """
    drawn = [_row(row, is_normalized) for row in rows_of(series, _COLUMNS)]
    reached = [row for row in drawn if "y" in row]
    never = [row for row in drawn if "steps" not in row]
    x = Scale.over(drawn, "batch_size", "Batch size", panel.x_limits)
    low, high = log_limits(row[name] for row in reached for name in ("y", "low", "high") if name in row)
    y_limits = panel.y_limits or (low, high * 2 if never else high)
    y = Scale("y", y_limits, "Steps to target, relative" if is_normalized else "Steps to target")
    frame = Frame(panel, x, y, [one.label for one in series])
    layers = [
        *(_shades(regimes, frame) if regimes is not None else ()),
        *_perfect_scaling(reached, perfect_scaling_of, frame),
        *_intervals(reached, frame),
        frame.lines(reached),
        frame.points(reached, _OF_REACHED).linked(panel.to_trials(series)),
    ]
    if never:
        layers.append(_never(never, frame).linked(panel.to_studies(series)))
    at_once = any("steps" in row for row in drawn)
    nothing = "The target is reached at step 0." if at_once else "No batch size reached the target."
    return frame.plot(layers, "" if reached else nothing)


def _row(row: Row, is_normalized: bool) -> Row:
    """Return the row with y, with the ends of its bars in the same unit, and with what its tooltip says."""
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


def _shades(regimes: Regimes, frame: Frame) -> list[Layer]:
    """Return the regimes that are known, behind everything, each with its name."""
    low, high = frame.x_axis.limits
    spans = (regimes.perfect_scaling, regimes.diminishing_returns, regimes.maximal_parallelism)
    names = (["perfect", "scaling"], ["diminishing", "returns"], ["maximal", "parallelism"])
    # Steps fall: there is room below at first, and above later on.
    downs = (frame.panel.height - 28, 20, 20)
    shown: list[tuple[Row, str]] = [
        ({"from": max(span[0], low), "to": min(span[1], high), "name": name, "down": down}, colour)
        for span, name, colour, down in zip(spans, names, theme.SHADES, downs, strict=True)
        if span is not None and max(span[0], low) < min(span[1], high)
    ]
    ends = {"x": quantity("from", scale=frame.x_axis.scale), "x2": {"field": "to"}}
    shades = [layer([row], "rect", ends, fillOpacity=0.5, color=colour) for row, colour in shown]
    px = frame.panel.width / math.log(high / low)
    named = [
        row | {"middle": math.sqrt(row["from"] * row["to"])}
        for row, _ in shown
        if math.log(row["to"] / row["from"]) * px >= _PX_OF_A_NAME
    ]
    place = {"x": quantity("middle", scale=frame.x_axis.scale), "y": _DOWN, "text": category("name")}
    return [*shades, layer(named, "text", place, baseline="top", fontSize=10, color=theme.FAINT)]


def _perfect_scaling(reached: Sequence[Row], label: str | None, frame: Frame) -> list[Layer]:
    """Return the line from the first result of a series on: half the steps for twice the batch size."""
    own = sorted((row for row in reached if row["series"] == label), key=lambda row: float(row["batch_size"]))
    if not own:
        return []
    start = own[0]
    if "normalized_steps" in start:
        start = next((row for row in own if row["y"] == 1), start)
    examples = start["y"] * start["batch_size"]
    ends = [{"batch_size": size, "y": examples / size} for size in frame.x_axis.limits]
    return [layer(ends, "line", frame.place, strokeDash=[5, 4], strokeWidth=1.3, color=theme.FAINT, clip=True)]


def _intervals(reached: Sequence[Row], frame: Frame) -> list[Layer]:
    """Return bars. Thick: from the evaluation before to the step that reached the target. Thin: other searches."""
    bottom = frame.y_axis.limits[0]
    measured = [row | {"lower": max(row["lower"], bottom)} for row in reached if "lower" in row]
    searched = [row | {"low": max(row["low"], bottom)} for row in reached if "low" in row and "high" in row]
    bars = []
    for rows, ends, width in ((searched, ("low", "high"), 1.2), (measured, ("lower", "y"), 3.5)):
        if rows:
            place = {"x": frame.x, "y": frame.y_of(ends[0]), "y2": {"field": ends[1]}}
            bars.append(layer(rows, "rule", place | frame.colour, strokeWidth=width, strokeOpacity=0.55, clip=True))
    return bars


def _never(never: Sequence[Row], frame: Frame) -> Layer:
    """Return open triangles at the top, side by side where several series never reached the target."""
    labels = list(dict.fromkeys(row["series"] for row in never))
    rows = [row | {"down": 9 + 9 * labels.index(row["series"])} for row in never]
    marks = {"x": frame.x, "y": _DOWN} | frame.colour | frame.tooltip(_OF_NEVER)
    style: dict[str, Any] = {"shape": "triangle-up", "filled": False, "size": theme.POINT, "strokeWidth": 1.6}
    return layer(rows, "point", marks, opacity=1, clip=True, **style)


def known_regimes(rows: pa.Table) -> Regimes:
    """Return the regimes of rows of /v1/scaling of one workload; an end outside of its batch sizes bounds no shade."""
    sizes, steps, censored_at = (
        np.array([math.nan if value is None else value for value in rows[name].to_pylist()], np.float64)
        for name in ("batch_size", "steps", "censored_at")
    )
    is_used = sizes > 0
    if not is_used.any():
        return Regimes()
    sizes, limits = sizes[is_used], np.nan_to_num(censored_at[is_used])
    steps = np.where(np.isnan(steps[is_used]), np.inf, steps[is_used])
    # A target that is reached before training tells nothing of it.
    steps[steps == 0] = np.nan
    perfect = perfect_scaling_end(sizes, steps, censored_at=limits)
    useful = max_useful_batch_size(sizes, steps, censored_at=limits)
    end = perfect.batch_size if perfect.censoring != "left" else float(sizes[0])
    plateau = useful.batch_size if useful.censoring != "right" else None
    if end is None:
        return Regimes()
    words = []
    if perfect.lower is not None:
        words.append(f"perfect scaling up to {end:g} (within {PERFECT_WITHIN:.0%})")
    if plateau is not None:
        words.append(f"no fewer steps beyond {plateau:g} (within {USEFUL_WITHIN:.0%})")
    until = plateau if plateau is not None else float(sizes[-1])
    return Regimes(
        perfect_scaling=(0, min(end, until)) if perfect.lower is not None else None,
        diminishing_returns=(end, until) if perfect.censoring != "right" and end < until else None,
        maximal_parallelism=(plateau, math.inf) if plateau is not None else None,
        explained=(f"Shaded: {'; '.join(words)}.",) if words else (),
    )


def _with_other_searches(drawing: Drawing) -> pa.Table:
    """Return the rows with low_steps and high_steps: what other searches of half the size find.

    Null where half the trials reach the target too seldom. The same as /v1/analysis/tuning-budget says. Trials that
    diverged are no part of a search here: with their status, there are no such columns.
    """
    parameters, rows = drawing.parameters, drawing.rows
    if DIVERGED in parameters.status:
        return rows
    ranges = {}
    for workload in parameters.selection().workloads:
        for study in populations(drawing.view, parameters.selection(), parameters.goal(), workload, (NON_DIVERGENT,)):
            best = range_of_best(study.steps, len(study.steps) // 2)
            if best is not None and best.upper is not None:
                ranges[str(workload), study.batch_size] = best.lower, best.upper
    studies = zip(rows["workload"].to_pylist(), rows["batch_size"].to_pylist(), strict=True)
    ends = [ranges.get(study, (None, None)) for study in studies]
    for place, column in enumerate(("low_steps", "high_steps")):
        rows = rows.append_column(column, pa.array([pair[place] for pair in ends], pa.float64()).cast(pa.int64()))
    return rows


def _never_in_words(series: Series) -> str:
    """Return the batch sizes at which no trial reached the target, in words; empty without any."""
    sizes = [row["batch_size"] for row in series.rows.to_pylist() if row["steps"] is None]
    if not sizes:
        return ""
    named = ", ".join(f"{size:,}" for size in sizes[:_MOST_SIZES])
    return f"no trial reached it at batch size {named}{' and others' if len(sizes) > _MOST_SIZES else ''}"
