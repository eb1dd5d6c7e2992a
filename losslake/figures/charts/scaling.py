"""Scaling: steps to a target by batch size, on axes in powers of two, with the regimes of a single workload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake.analysis.best_of_n import range_of_best
from losslake.analysis.break_points import (
    PERFECT_WITHIN,
    USEFUL_WITHIN,
    dominated,
    max_useful_batch_size,
    perfect_scaling_end,
)
from losslake.figures import theme
from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, ends_in_words, goal_text, legend_labels, summary
from losslake.figures.frame import Frame
from losslake.figures.layers import (
    BATCH_SIZE,
    DECIMAL,
    STEPS,
    TRIAL,
    Channel,
    Layer,
    Plot,
    category,
    layer,
    quantity,
    tip,
)
from losslake.figures.panel import ChartRow, Limits, Panel, Series, drawable_rows
from losslake.questions.declaration.summary import results_in_words
from losslake.questions.trials.result_rule import undertuned_tau
from losslake.questions.trials.step_amounts import measure_noun
from losslake.questions.tuning_budget import NON_DIVERGENT, populations
from losslake_schema.quantities import capitalized
from losslake_schema.reached import Floats
from losslake_schema.statuses import INFEASIBLE

_PX_OF_A_NAME = 58
_MOST_SIZES = 6
# The channel of a position in px from the top.
_DOWN = quantity("down", scale=None, axis=None)
_COLUMNS = (
    "batch_size", "steps", "previous_step", "normalized_steps", "low_steps", "high_steps", "trial_id", "value",
    "best_value", "n_trials", "n_reached", "n_seeds", "n_settings", "is_dominated", "accelerator",
)  # fmt: skip
_REFERENCE_MARK: dict[str, Any] = {
    "shape": "square", "filled": True, "size": 30, "color": theme.FAINT, "opacity": 1, "clip": True,
}  # fmt: skip
_REACHED = tip("reached", "Reached by")
_OF_REACHED = [BATCH_SIZE, STEPS, tip("before", "Previous evaluation"), tip("value", "Value", DECIMAL), TRIAL, _REACHED]
_OF_NEVER = [BATCH_SIZE, _REACHED, tip("best", "Best value")]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the steps to a target by batch size, both in powers of two, with perfect scaling and the regimes.

    A series for each workload. What is counted may be something else than steps: then neither is known.
    """
    request, unsized = request.by_batch_size()
    if request.facts["measure"] != "steps":
        return _draw_amounts(request, unsized)
    facts, rows = request.facts, _with_dominated(request, _with_range(request))
    common, series = replace(request, rows=rows).series_by_workload()
    is_normalized = facts["normalize_to"] is not None
    regimes = known_regimes(rows) if len(series) == 1 and not is_normalized else Regimes()
    unit = f", relative to those at batch size {facts['normalize_to']}" if is_normalized else ""
    notes = [f"Points: {results_in_words(facts)}{unit}. Thick bars: down to the previous evaluation.", *unsized]
    if "low_steps" in rows.column_names and rows["low_steps"].null_count < rows.num_rows:
        notes.append(f"Thin bars: {_range_in_words(facts)}.")
    if pc.any(rows["is_dominated"]).as_py():
        notes.append("Hollow points: tuned worse than other batch sizes, not counted.")
    if rows["steps"].null_count < rows.num_rows:
        notes.append("Dashed: perfect scaling, half the steps for twice the batch, from the fewest examples.")
    if rows["steps"].null_count:
        notes.append("Open triangles: the target wasn't reached.")
    n_at_once = rows["steps"].to_pylist().count(0)
    if n_at_once:
        notes.append(f"Not drawn: {n_at_once} that reach the target at step 0, which has no logarithm.")
    references = [row for row in facts["reference"] if row["median_steps"]] if not is_normalized else []
    if references:
        names = ", ".join(dict.fromkeys(row["workload"] for row in references))
        notes.append(f"Grey squares: median steps of reference runs to their own goal, {names}.")
    chart = scaling_chart(
        series,
        request.panel(
            f"Steps to {goal_text(facts)}", common, legend_labels(series), [*notes, *regimes.notes], has_ends=True
        ),
        perfect_scaling_of=series[0].label if series else None,
        is_normalized=is_normalized,
        regimes=regimes,
        references=references,
    )
    ends = summary(series, lambda one: ends_in_words(one, "steps", " steps"))
    said = [*ends, *summary(series, _never_in_words), *regimes.notes]
    return ChartPanels([chart], notes, summary=said, results=regimes.notes)


KIND = Kind("scaling", "/v1/scaling", draw)


def _draw_amounts(request: ChartRequest, unsized: Sequence[str]) -> ChartPanels:
    """Draw the least amount to the target by batch size, in what was counted. unsized: notes."""
    noun, rows = measure_noun(request.facts["measure"]), request.rows
    is_known = pc.or_(pc.is_valid(rows["amount"]), pc.equal(rows["n_reached"], 0))
    counted = rows.filter(is_known).drop_columns(["steps", "trial_id", "trial_workload", "value", "previous_step"])
    amounts = {"amount": "steps", "amount_trial_id": "trial_id", "amount_trial_workload": "trial_workload"}
    facts = request.facts
    common, series = replace(request, rows=counted.rename_columns(amounts)).series_by_workload()
    notes = [f"Points: {results_in_words(facts, noun)}.", *request.measure_notes, *unsized]
    if counted["accelerator"].null_count < counted.num_rows:
        notes.append("Lines join batch sizes on the same accelerator only: elsewhere the hardware differs, too.")
    if counted["amount"].null_count:
        notes.append("Open triangles: the target wasn't reached.")
    if n_unknown := rows.num_rows - counted.num_rows:
        notes.append(f"Not drawn, as the {noun} aren't known: {n_unknown} of {rows.num_rows} batch sizes.")
    what = f"{capitalized(noun)} to target"
    title = f"{capitalized(noun)} to {goal_text(request.facts)}"
    panel = request.panel(title, common, legend_labels(series), notes, has_ends=True)
    ends = summary(series, lambda one: ends_in_words(one, "steps", f" {noun}"))
    return ChartPanels([scaling_chart(series, panel, what=what)], notes, summary=[*ends])


@dataclass(frozen=True)
class Regimes:
    """The range of batch sizes of each regime; None for an unknown one. notes: sentences about the ends."""

    perfect_scaling: Limits | None = None
    diminishing_returns: Limits | None = None
    maximal_parallelism: Limits | None = None
    notes: tuple[str, ...] = ()


def scaling_chart(
    series: Sequence[Series],
    panel: Panel,
    *,
    perfect_scaling_of: str | None = None,
    is_normalized: bool = False,
    regimes: Regimes | None = None,
    references: Sequence[ChartRow] = (),
    what: str = "Steps to target",
) -> Plot:
    """Return steps to target by batch size: points at the first step that reaches it, bars to the previous evaluation.

    series: rows with batch_size, steps (null: never reached), previous_step; normalized_steps if is_normalized; for
    thin bars, low_steps and high_steps: the range of other searches of half the size; for tooltips, trial_id, value,
    best_value, n_trials and n_reached; is_dominated for a hollow mark.
    perfect_scaling_of: the label of the series whose fewest examples the line of slope -1 has; None: no line.
    references: points of references, with workload, batch_size, median_steps, n_trials and n_reached.
    what: the title of the axis; `steps` is in that.
    A batch size at which no trial reached the target has an open mark at the top; 0 steps are not drawn.
    Marks link to the trials of their batch size.
    """
    drawn = [_row(row, is_normalized) for row in drawable_rows(series, _COLUMNS)]
    reached = [row for row in drawn if "y" in row]
    never = [row for row in drawn if "steps" not in row]
    tuned = [row for row in reached if not row.get("is_dominated")]
    hollow = [row for row in reached if row.get("is_dominated")]
    x = Scale.over(drawn, "batch_size", panel.batch_title, panel.x_limits)
    low, high = log_limits(row[name] for row in reached for name in ("y", "low", "high") if name in row)
    y_limits = panel.y_limits or (low, high * 2 if never else high)
    y = Scale("y", y_limits, f"{what}, relative" if is_normalized else what, base=10)
    frame = Frame(panel, x, y, [one.label for one in series])
    linked = panel.link_to("studies", series)
    layers = [
        *(_shades(regimes, frame) if regimes is not None else ()),
        *_perfect_scaling(reached, perfect_scaling_of, frame),
        *_references(references, frame),
        *_intervals(reached, frame),
        frame.lines(tuned, within="accelerator"),
        frame.points(tuned, _tips(what)).linked(linked),
        *frame.names(reached),
    ]
    if hollow:
        layers.append(frame.points(hollow, _tips(what), is_hollow=True).linked(linked))
    if never:
        layers.append(_never(never, frame).linked(linked))
    at_once = any("steps" in row for row in drawn)
    nothing = "The target is reached at step 0." if at_once else "No batch size reached the target."
    return frame.plot(layers, "" if reached else nothing)


def _tips(what: str) -> list[Channel]:
    """Return the lines of the tooltip of a point."""
    if what == "Steps to target":
        return _OF_REACHED
    return [BATCH_SIZE, tip("steps", what.removesuffix(" to target"), DECIMAL), TRIAL, _REACHED]


def _row(row: ChartRow, is_normalized: bool) -> ChartRow:
    """Return the row with y, the ends of its bars in the same unit, and the texts of its tooltip."""
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
    """Return the layers of the known regimes, shaded and named."""
    low, high = frame.x_axis.limits
    spans = (regimes.perfect_scaling, regimes.diminishing_returns, regimes.maximal_parallelism)
    names = (["perfect", "scaling"], ["diminishing", "returns"], ["maximal", "parallelism"])
    # Steps fall, so there is room below at first, and above later.
    downs = (frame.panel.height - 28, 20, 20)
    shown: list[tuple[ChartRow, str]] = [
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


def _perfect_scaling(reached: Sequence[ChartRow], label: str | None, frame: Frame) -> list[Layer]:
    """Return the line of perfect scaling through the fewest examples: half the steps for twice the batch."""
    rows = [row for row in reached if row["series"] == label and row["batch_size"] > 0]
    if not rows:
        return []
    examples = min(row["y"] * row["batch_size"] for row in rows)
    ends = [{"batch_size": size, "y": examples / size} for size in frame.x_axis.limits]
    return [layer(ends, "line", frame.place, strokeDash=[5, 4], strokeWidth=1.3, color=theme.FAINT, clip=True)]


def _references(points: Sequence[ChartRow], frame: Frame) -> list[Layer]:
    """Return a line and marks for each reference, which may leave the chart."""
    layers = []
    for name in dict.fromkeys(row["workload"] for row in points):
        rows = [
            {
                "batch_size": row["batch_size"],
                "y": row["median_steps"],
                "reference": name,
                "reached": f"{row['n_reached']:,} of {row['n_trials']:,} runs",
            }
            for row in points
            if row["workload"] == name
        ]
        texts = frame.tooltip([tip("reference", "Reference"), BATCH_SIZE, tip("y", "Median steps", DECIMAL), _REACHED])
        layers.append(layer(rows, "line", frame.place, strokeWidth=1.3, color=theme.FAINT, clip=True))
        layers.append(layer(rows, "point", frame.place | texts, **_REFERENCE_MARK))
    return layers


def _intervals(reached: Sequence[ChartRow], frame: Frame) -> list[Layer]:
    """Return bars. Thick: from the previous evaluation to the step that reached the target. Thin: other searches."""
    bottom = frame.y_axis.limits[0]
    measured = [row | {"lower": max(row["lower"], bottom)} for row in reached if "lower" in row]
    searched = [row | {"low": max(row["low"], bottom)} for row in reached if "low" in row and "high" in row]
    bars = (frame.bars(searched, "low", "high", 1.2), frame.bars(measured, "lower", "y", 3.5))
    return [each for each in bars if each.rows]


def _never(never: Sequence[ChartRow], frame: Frame) -> Layer:
    """Return open triangles at the top, stacked where several series never reached the target."""
    labels = list(dict.fromkeys(row["series"] for row in never))
    rows = [row | {"down": 9 + 9 * labels.index(row["series"])} for row in never]
    marks = {"x": frame.x, "y": _DOWN} | frame.colour | frame.tooltip(_OF_NEVER)
    style: dict[str, Any] = {"shape": "triangle-up", "filled": False, "size": theme.POINT, "strokeWidth": 1.6}
    return layer(rows, "point", marks, opacity=1, clip=True, **style)


def known_regimes(rows: pa.Table) -> Regimes:
    """Return the regimes in the rows of /v1/scaling of one workload, with is_dominated.

    Ends outside the batch sizes stay unknown.
    """
    sizes, steps, censored_at = (_floats(rows[name]) for name in ("batch_size", "steps", "censored_at"))
    is_used = sizes > 0
    if not is_used.any():
        return Regimes()
    sizes, limits = sizes[is_used], np.nan_to_num(censored_at[is_used])
    steps = np.where(np.isnan(steps[is_used]), np.inf, steps[is_used])
    # A target that is reached before training says nothing about training.
    steps[steps == 0] = np.nan
    steps[np.asarray(rows["is_dominated"])[is_used]] = np.nan
    perfect = perfect_scaling_end(sizes, steps, censored_at=limits)
    useful = max_useful_batch_size(sizes, steps, censored_at=limits)
    end = perfect.batch_size
    plateau = useful.batch_size if useful.censoring != "right" else None
    if end is None:
        return Regimes()
    words = []
    since = None
    if perfect.since is not None and perfect.lower is not None:
        since = perfect.since if perfect.since > sizes[np.isfinite(steps)].min() else 0.0
        words.append(
            f"perfect scaling {f'from {since:,.12g} ' if since else ''}up to {end:,.12g} (within {PERFECT_WITHIN:.0%})"
        )
    if plateau is not None:
        words.append(f"no fewer steps beyond {plateau:,.12g} (within {USEFUL_WITHIN:.0%})")
    until = plateau if plateau is not None else float(sizes[-1])
    return Regimes(
        perfect_scaling=(since, min(end, until)) if since is not None else None,
        diminishing_returns=(end, until) if perfect.censoring != "right" and end < until else None,
        maximal_parallelism=(plateau, math.inf) if plateau is not None else None,
        notes=(f"Shaded: {'; '.join(words)}.",) if words else (),
    )


def _range_in_words(facts: Mapping[str, Any]) -> str:
    is_of_settings = [each["seeds"] is not None for each in facts["results"]]
    quartiles, half = "the middle half of its trials", "5% to 95% range of the best of half as many trials"
    return quartiles if all(is_of_settings) else f"{quartiles}, or {half}" if any(is_of_settings) else half


def _with_dominated(request: ChartRequest, rows: pa.Table) -> pa.Table:
    """Return the rows with is_dominated, by workload, as /v1/analysis/regimes has it."""
    sizes, steps, previous = (_floats(rows[name]) for name in ("batch_size", "steps", "previous_step"))
    is_usable, flags = (sizes > 0) & (steps > 0), np.zeros(rows.num_rows, np.bool_)
    for each in request.facts["results"]:
        at = np.flatnonzero(is_usable & pc.equal(rows["workload"], each["workload"]).to_numpy())
        tau = undertuned_tau(each["seeds"] is not None)
        flags[at] = dominated(sizes[at], steps[at], tau, previous[at]).is_dominated[0]
    return rows.append_column("is_dominated", pa.array(flags))


def _floats(column: pa.ChunkedArray) -> Floats:
    """Return the numbers of a column; NaN for null."""
    return np.array([math.nan if value is None else value for value in column.to_pylist()], np.float64)


def _with_range(request: ChartRequest) -> pa.Table:
    """Return the rows with low_steps and high_steps: the quartiles of a setting, else the range of other searches.

    That is of searches of half the size, the same numbers as in /v1/analysis/tuning-budget; null if half as many trials
    reach the target too rarely. A search excludes diverged trials: if the request includes them, it has no range.
    """
    parameters, rows = request.parameters, request.rows
    of_settings = {each["workload"] for each in request.facts["results"] if each["seeds"] is not None}
    studies = list(zip(rows["workload"].to_pylist(), rows["batch_size"].to_pylist(), strict=True))
    quartiles = zip(rows["steps_q25"].to_pylist(), rows["steps_q75"].to_pylist(), strict=True)
    ranges = {study: ends for study, ends in zip(studies, quartiles, strict=True) if None not in ends}
    drawn = {workload for workload, _ in studies}
    for workload in parameters.selection().workloads if INFEASIBLE not in parameters.status else ():
        if str(workload) in of_settings or str(workload) not in drawn:
            continue
        for study in populations(request.view, parameters.selection(), parameters.goal, workload, (NON_DIVERGENT,)):
            best = range_of_best(study.drawn, len(study.drawn) // 2)
            if best is not None and best.upper is not None:
                ranges[str(workload), study.batch_size] = best.lower, best.upper
    if not ranges and INFEASIBLE in parameters.status:
        return rows
    both = [ranges.get(study, (None, None)) for study in studies]
    for place, column in enumerate(("low_steps", "high_steps")):
        rows = rows.append_column(column, pa.array([pair[place] for pair in both], pa.float64()).cast(pa.int64()))
    return rows


def _never_in_words(series: Series) -> str:
    """Return the batch sizes that didn't reach the target, in words; empty if there are none."""
    sizes = [row["batch_size"] for row in series.rows.to_pylist() if row["steps"] is None]
    if not sizes:
        return ""
    named = ", ".join(f"{size:,}" for size in sizes[:_MOST_SIZES])
    return f"it wasn't reached at batch size {named}{' and others' if len(sizes) > _MOST_SIZES else ''}"
