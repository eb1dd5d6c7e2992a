"""Curves: values of a metric by step, one line per trial; colours distinguish trials, studies or outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake.figures import theme
from losslake.figures.axes import Scale, decade_limits, linear_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, filter_rows
from losslake.figures.fact_colours import groups_by_fact
from losslake.figures.frame import Frame, colour_scale, legend
from losslake.figures.layers import Channel, Plot, category, layer
from losslake.figures.line_groups import (
    CurveColours,
    Groups,
    Line,
    LineStyle,
    groups_by_setting,
    groups_of_facts,
    groups_of_highlighted,
    groups_of_lines,
)
from losslake.figures.lines import MOST_AS_DATA, Lines, as_data, as_outlines, lines_of
from losslake.figures.links import Transform
from losslake.figures.outliers import largest_usual
from losslake.figures.panel import ChartRow, Limits, Panel, Series
from losslake.figures.setting_means import mean_layers, mean_notes, mean_rows, numbered_settings
from losslake.index.frontiers import COUNTED
from losslake.questions.declaration.parameters import check_targets
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.step_amounts import measure_noun
from losslake_schema.names import CHANGES, Study, Trial, Workload
from losslake_schema.quantities import capitalized
from losslake_schema.reached import Floats, hits, sign_of
from losslake_schema.statuses import STATUSES

_MOST_PANELS = 12
_KEYS = ("workload", "batch_size", "trial_id", "metric")


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the measurements of some trials, or of all trials of some studies: a plot for each metric."""
    parameters, rows = request.parameters, _counted(request)
    lines = _lines(rows, request.view)
    metrics = list(dict.fromkeys(line.metric for line in lines))
    if len(metrics) > _MOST_PANELS:
        raise BadParameter("metric", f"{len(metrics)} metrics are too many for a figure: name up to {_MOST_PANELS}")
    if parameters.target is not None and len(metrics) > 1:
        raise BadParameter("metric", f"a target belongs to one metric, and there are {len(metrics)}: name one")
    for metric in metrics:
        check_targets(metric, target=parameters.target)
    outcomes = _outcomes(rows, lines, request.view, parameters.target) if parameters.colour_by == "outcome" else {}
    trials = {line.number: line.trial for line in lines}
    settings = _settings(request, trials)
    if parameters.highlight:
        groups = groups_of_highlighted(lines, parameters)
    elif settings is not None and parameters.colour_by is None:
        groups = groups_by_setting(lines, settings)
    elif parameters.colour_by == "fact":
        groups = groups_of_facts(lines, groups_by_fact(request.view, trials, parameters.fact))
    else:
        groups = groups_of_lines(lines, parameters.colour_by, outcomes)
    limits = {metric: _limits(rows, lines, metric, request) for metric in metrics}
    drawn = _with_facts(rows, lines)
    means = {}
    if settings is not None:
        means = {each: mean_rows(filter_rows(drawn, metric=each), settings, groups.by_number) for each in metrics}
    notes = [*_notes(request, rows, lines), *_beyond(rows, lines, limits)]
    if settings is not None:
        notes += mean_notes([row for each in means.values() for row in each], settings, _noun(request))
    if len(metrics) > 1:
        panel = replace(request.grid(len(metrics)), subtitle=groups.common, y_title="")
        panels = {metric: replace(panel, title=metric) for metric in metrics}
    else:
        metric = metrics[0] if metrics else ""
        is_one_each = len(lines) == len(groups.names)
        panel = request.panel(metric, groups.common, groups.in_legend, notes, has_ends=is_one_each)
        panels = {metric: replace(panel, y_title=metric)}
    panels = {metric: replace(panel, y_limits=limits.get(metric)) for metric, panel in panels.items()}
    charts = [
        _chart(request, drawn, lines, groups, metric, panel, means.get(metric, ())) for metric, panel in panels.items()
    ]
    return ChartPanels(charts, notes, shares_legend=True, summary=_summary(rows, lines, groups, notes))


KIND = Kind(
    "curves",
    "/v1/curves",
    draw,
    defaults={"points": 50},
    unless=("points", "every", "mean"),
    most_rows=300_000,
    parameters=CurveColours,
)


def _noun(request: ChartRequest) -> str:
    """Return what is counted: steps, seconds."""
    return measure_noun(request.facts.get("measure", "steps"))


def _counted(request: ChartRequest) -> pa.Table:
    """Return the rows with what is counted as their steps, without those where it isn't known.

    evaluation: the steps as they were.
    """
    rows = request.rows.append_column("evaluation", request.rows["step"])
    if _noun(request) == "steps":
        return rows
    rows = rows.filter(pc.is_valid(rows["amount"]))
    return rows.set_column(rows.column_names.index("step"), "step", rows["amount"])


def curves_chart(
    series: Sequence[Series],
    panel: Panel,
    *,
    noun: str = "steps",
    is_log: bool = False,
    is_ordered: bool = False,
    styles: Mapping[str, LineStyle] | None = None,
    target: float | None = None,
    means: Sequence[ChartRow] = (),
) -> Plot:
    """Return a line for each trial of each series, coloured by series.

    noun: what counts as a step.
    series: rows with step, value and line, the number of the line; the rows of a line are contiguous. For tooltips,
    constant within each line: trial_id, batch_size, status and, if there are several, workload.
    is_log: logarithmic steps, without step 0. is_ordered: the series have an order, such as batch sizes, which their
    colours show. styles: by label, instead of the palette. target: a horizontal line. means: from `mean_rows`, drawn
    over the lines, which are then faint.
    Values that are not finite are skipped. More than MOST_AS_DATA points are drawn as outlines.
    """
    lines = replace(lines_of(series, is_log, noun), is_faint=bool(means))
    shown = [row for row in means if row["step"] > 0 or not is_log]
    steps = _ends(lines.step.astype(np.float64))
    values = [*_ends(lines.value), *([] if target is None else [target])]
    x_limits = panel.x_limits or (decade_limits(steps) if is_log else linear_limits(steps, 0.02))
    y_limits = panel.y_limits or linear_limits(values)
    x = Scale("step", x_limits, capitalized(noun), base=10 if is_log else None)
    labels = [one.label for one in series]
    frame = Frame(panel, x, Scale("value", y_limits, "Value", base=None), labels, is_ordered)
    channels = _style_channels(labels, panel, is_ordered, styles or {})
    linked = _linked(lines, series, panel)
    layers = (as_outlines if len(lines.step) > MOST_AS_DATA else as_data)(lines, frame, channels, linked)
    if shown:
        bands, bold = mean_layers(
            sorted(shown, key=lambda row: labels.index(row["series"])), frame, channels["color"], lines.at("step")
        )
        layers = [bands, *layers, *bold]
    if target is not None:
        across = {"y": frame.y_of("target")}
        layers.append(layer([{"target": target}], "rule", across, strokeDash=[5, 4], color=theme.FAINT, tooltip=None))
    ends = np.cumsum(lines.lengths) - 1
    points = zip(lines.facts, lines.step[ends].tolist(), lines.value[ends].tolist(), strict=True)
    rows = [{"series": facts["series"], "step": step, "value": value} for facts, step, value in points]
    layers += frame.names(rows, channels["color"])
    return frame.plot(layers, "" if lines.facts else "Nothing was measured.")


def _ends(values: Floats) -> list[float]:
    """Return the values that limits depend on: the least, the greatest, and the least above 0."""
    above = values[values > 0]
    return [float(each) for part in (above, values) if len(part) for each in (part.min(), part.max())]


def _style_channels(
    labels: Sequence[str], panel: Panel, is_ordered: bool, styles: Mapping[str, LineStyle]
) -> dict[str, Channel]:
    """Return the channels of the series' colours, and of their dashes if there are styles."""
    key = legend(labels, panel)
    if key is not None:
        key |= {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 300}
    scales = {"color": colour_scale(labels, is_ordered)}
    if styles:
        scales["color"] = {"domain": list(labels), "range": [styles[label][0] for label in labels]}
        scales["strokeDash"] = {"domain": list(labels), "range": [list(styles[label][1]) for label in labels]}
    return {channel: category("series", scale=scale, legend=key) for channel, scale in scales.items()}


def _linked(lines: Lines, series: Sequence[Series], panel: Panel) -> Transform | None:
    """Return the transform of links from lines to their trials; None without links."""
    if panel.links is None or not lines.facts or "trial_id" not in lines.facts[0]:
        return None
    if "workload" not in lines.facts[0]:
        return panel.link_to("trials", series)
    workloads = sorted({facts["workload"] for facts in lines.facts})
    return panel.links.to("trials", {workload: workload for workload in workloads}, by="workload")


def _lines(rows: pa.Table, view: ReleaseView) -> list[Line]:
    """Return the lines of the rows, in order. The rows of a line are contiguous."""
    if not rows.num_rows:
        return []
    keys = rows.select(_KEYS)
    keys = keys.set_column(_KEYS.index("batch_size"), "batch_size", keys["batch_size"].fill_null(CHANGES))
    differs = reduce(pc.or_, (pc.not_equal(keys[name][1:], keys[name][:-1]) for name in _KEYS))
    bounds = np.r_[0, np.flatnonzero(differs.to_numpy()) + 1, rows.num_rows]
    firsts = keys.take(bounds[:-1]).to_pylist()
    numbers: dict[tuple[str, int, int], int] = {}
    lines = []
    for row, start, end in zip(firsts, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        trial = row["workload"], row["batch_size"], row["trial_id"]
        number = numbers.setdefault(trial, len(numbers))
        lines.append(Line(*trial, row["metric"], _status(view, *trial), number, start, end))
    return lines


def _status(view: ReleaseView, workload: str, batch_size: int, trial_id: int) -> str:
    facts, index = view.study(Study(Workload.parse(workload), batch_size))
    study_rows = facts.rows_of(index)
    place = study_rows.start + np.searchsorted(facts.trials.trial_id[study_rows], trial_id)
    return STATUSES[facts.trials.status[place]]


def _outcomes(rows: pa.Table, lines: Sequence[Line], view: ReleaseView, target: float | None) -> dict[int, str]:
    """Return the outcome of each trial by its number, as in /v1/analysis/metaparameter-map."""
    if target is None:
        raise BadParameter("target", "colour_by=outcome shows which trials reached a target: give target=…")
    values = rows["value"].to_numpy().astype(np.float64)
    outcomes = {}
    for line in lines:
        direction = _direction(line, view)
        if direction is None:
            raise BadParameter("colour_by", f"the direction of {line.metric} is not known: choose another colour_by")
        sign = sign_of(direction)
        is_reached = bool(hits(values[line.start : line.end] * sign, target * sign).any())
        complete = "reached" if is_reached else "not reached"
        outcomes[line.number] = complete if line.status in COUNTED else line.status.lower()
    return outcomes


def _direction(line: Line, view: ReleaseView) -> str | None:
    facts, index = view.study(Study(Workload.parse(line.workload), line.batch_size))
    return view.metric(facts, line.metric, index).direction


def _limits(rows: pa.Table, lines: Sequence[Line], metric: str, request: ChartRequest) -> Limits | None:
    """Return the limits of the axis of a metric, if some losses would compress the rest; None for all values."""
    of_metric = [line for line in lines if line.metric == metric]
    parts = pa.concat_tables(rows.slice(line.start, line.end - line.start) for line in of_metric)
    values, steps = parts["value"].to_numpy().astype(np.float64), parts["step"].to_numpy()
    starts = np.cumsum([0, *(line.end - line.start for line in of_metric[:-1])])
    direction = _direction(of_metric[0], request.view)
    is_shown = np.isfinite(values)
    for sign in (1, -1) if direction is None else (sign_of(direction),):
        is_shown &= sign * values <= largest_usual(sign * values, steps, starts)
    if is_shown.sum() == np.isfinite(values).sum():
        return None
    target = request.parameters.target
    return linear_limits([*_ends(values[is_shown]), *([] if target is None else [target])])


def _beyond(rows: pa.Table, lines: Sequence[Line], limits: Mapping[str, Limits | None]) -> list[str]:
    """Say how many values are beyond the axes."""
    values, n = rows["value"].to_numpy().astype(np.float64), 0
    for line in lines:
        if (ends := limits[line.metric]) is not None:
            of_line = values[line.start : line.end]
            n += int((np.isfinite(of_line) & ((of_line < ends[0]) | (of_line > ends[1]))).sum())
    return [f"{n:,} value{'s are' if n > 1 else ' is'} beyond the axis."] if n else []


def _settings(request: ChartRequest, trials: Mapping[int, Trial]) -> dict[int, int] | None:
    """Return the setting of each trial by its number, if means of settings are asked for; raises BadParameter."""
    parameters = request.parameters
    if parameters.mean is None:
        return None
    if parameters.points is not None:
        raise BadParameter("points", "thinned curves have few steps in common: leave out points, or mean=settings")
    if parameters.highlight or parameters.colour_by not in (None, "study", "fact"):
        name = "highlight" if parameters.highlight else "colour_by"
        raise BadParameter(name, "a mean of a setting has the colour of all its trials: give colour_by=study or fact")
    return numbered_settings(request.view, trials)


def _chart(
    request: ChartRequest,
    rows: pa.Table,
    lines: Sequence[Line],
    groups: Groups,
    metric: str,
    panel: Panel,
    means: Sequence[ChartRow],
) -> Plot:
    """Return the plot of a metric. rows: from `_with_facts`. means: from `mean_rows`."""
    by_name: dict[str, list[Line]] = {name: [] for name in groups.names}
    for line in lines:
        if line.metric == metric:
            by_name[groups.by_number[line.number]].append(line)
    workload = "" if "workload" in rows.column_names else lines[0].workload
    return curves_chart(
        [_series(rows, members, name, workload) for name, members in by_name.items()],
        panel if groups.in_legend else replace(panel, legend="none"),
        noun=_noun(request),
        is_log=request.parameters.axis == "log",
        is_ordered=groups.is_ordered,
        styles=groups.styles,
        target=request.parameters.target,
        means=means,
    )


def _series(rows: pa.Table, lines: Sequence[Line], label: str, workload: str) -> Series:
    """Return lines of one metric as a series. workload: of all lines; empty: each row has its own."""
    parts = [rows.slice(line.start, line.end - line.start) for line in lines]
    return Series(label, pa.concat_tables(parts or [rows.slice(0, 0)]), workload)


def _with_facts(rows: pa.Table, lines: Sequence[Line]) -> pa.Table:
    """Return the rows with the number and the status of their trial, without the workload if there is only one."""
    which = np.repeat(np.arange(len(lines)), [line.end - line.start for line in lines])
    numbers = np.array([line.number for line in lines], np.int64)[which]
    statuses = pa.array([line.status for line in lines], pa.string()).take(pa.array(which))
    rows = rows.append_column("line", pa.array(numbers)).append_column("status", statuses)
    return rows.drop_columns("workload") if len({line.workload for line in lines}) == 1 else rows


def _notes(request: ChartRequest, rows: pa.Table, lines: Sequence[Line]) -> list[str]:
    n = len({line.number for line in lines})
    thinned = ", thinned so that no crossing of a target moves" if request.facts.get("thinned") else ""
    notes = [f"1 trial{thinned}." if n == 1 else f"{n:,} trials, one line each{thinned}."]
    if request.parameters.target is not None:
        notes.append(f"Dashed line: {request.parameters.target:g}.")
    if rows.num_rows < request.rows.num_rows:
        n_unknown = request.rows.num_rows - rows.num_rows
        notes.append(f"{n_unknown:,} values without {_noun(request)} are not drawn.")
    n_odd = pc.sum(pc.invert(pc.is_finite(rows["value"]))).as_py()
    if n_odd:
        notes.append(f"{n_odd:,} values that are not finite are not drawn.")
    return [*notes, *request.measure_notes]


def _summary(rows: pa.Table, lines: Sequence[Line], groups: Groups, notes: Sequence[str]) -> list[str]:
    """Return the text alternative: the notes, the groups, and the range of the last values."""
    summary = [*notes, f"{', '.join(groups.in_legend)}."] if groups.in_legend else list(notes)
    last: dict[str, list[float]] = {}
    values = rows["value"].to_numpy()
    for line in lines:
        if np.isfinite(values[line.end - 1]):
            last.setdefault(line.metric, []).append(float(values[line.end - 1]))
    ends = {metric: dict.fromkeys(f"{end:.4g}" for end in (min(each), max(each))) for metric, each in last.items()}
    return summary + [f"Last {metric}: {' to '.join(texts)}." for metric, texts in ends.items()]
