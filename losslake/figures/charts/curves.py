"""Curves: values of a metric against steps, a line for each trial; colours tell trials, studies or outcomes apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

from losslake.figures import theme
from losslake.figures.axes import Scale, decade_limits, linear_limits
from losslake.figures.charts.learning_rate_momentum import OUTCOMES
from losslake.figures.drawing import Drawing, Drawn, Kind
from losslake.figures.frame import Frame, colour_scale, legend
from losslake.figures.layers import Channel, Plot, category, layer
from losslake.figures.lines import MOST_AS_DATA, Lines, as_data, as_outlines, lines_of
from losslake.figures.links import Transform
from losslake.figures.panel import Panel, Series
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import workload_labels
from losslake_schema.names import Study, Workload
from losslake_schema.reached import Floats, hits, sign_of
from losslake_schema.tables import STATUSES

_MOST_PANELS = 12
_MOST_NAMED = 7
_MOST_IN_A_LEGEND = 24
_ROOM_FOR_OUTLIERS = 3.0
_KEYS = ("workload", "batch_size", "trial_id", "metric")
_OF_STATUS = {"COMPLETE": "reached", "INCOMPLETE": "incomplete", "INFEASIBLE": "infeasible"}
Look = tuple[str, tuple[int, ...]]
"""How the lines of a series are drawn: colour, and px of line and gap by turns."""
ColourBy = Literal["trial", "study", "status", "outcome"]


class CurveColours(BaseModel):
    """What the colours of curves tell apart."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    colour_by: Annotated[ColourBy | None, Field(examples=["status"])] = None
    """What colours tell apart: trials; studies; the statuses of trials; or outcomes: which trials reached a target, did
    not, stopped or diverged. Default: trial where there are up to 7, else study."""
    target: Annotated[float | None, Field(allow_inf_nan=False, examples=[0.05])] = None
    """Draw a line at this value of the metric, and by it tell what became of each trial, with colour_by=outcome."""


def draw(drawing: Drawing) -> Drawn:
    """The measurements of some trials, or of all trials of some studies: a plot for each metric."""
    parameters, rows = drawing.parameters, drawing.rows
    lines = _lines(rows, drawing.view)
    metrics = list(dict.fromkeys(line.metric for line in lines))
    if len(metrics) > _MOST_PANELS:
        raise BadParameter("metric", f"{len(metrics)} metrics are too many for a figure: name up to {_MOST_PANELS}")
    if parameters.target is not None and len(metrics) > 1:
        raise BadParameter("metric", f"a target is of one metric, and there are {len(metrics)}: name one")
    is_by_outcome = parameters.colour_by == "outcome"
    outcomes = _outcomes(rows, lines, drawing.view, parameters.target) if is_by_outcome else {}
    groups = _groups(lines, parameters.colour_by, outcomes)
    explained = _explained(drawing, lines)
    if len(metrics) > 1:
        panel = replace(drawing.grid(len(metrics)), subtitle=groups.common, y_title="")
        panels = {metric: replace(panel, title=metric) for metric in metrics}
    else:
        metric = metrics[0] if metrics else ""
        panel = drawing.panel(metric, groups.common, groups.in_legend, explained)
        panels = {metric: replace(panel, y_title=metric)}
    drawn = _with_facts(rows, lines)
    charts = [_chart(drawing, drawn, lines, groups, metric, panel) for metric, panel in panels.items()]
    return Drawn(charts, explained, shares_legend=True, summary=_summary(rows, lines, groups, explained))


KIND = Kind(
    "curves",
    "/v1/curves",
    draw,
    defaults={"points": 50},
    unless=("points", "every"),
    most_rows=300_000,
    parameters=CurveColours,
)


def curves_chart(
    series: Sequence[Series],
    panel: Panel,
    *,
    is_log: bool = False,
    is_ordered: bool = False,
    looks: Mapping[str, Look] | None = None,
    target: float | None = None,
) -> Plot:
    """Return a line for each trial of each series, coloured by series.

    series: rows with step, value and line, which tells one line from another: its rows follow each other; for tooltips,
    of each line the same, trial_id, batch_size, status and, where lines are of several, workload.
    is_log: steps on a logarithmic axis, where step 0 has no place. is_ordered: the series have an order, such as batch
    sizes, and colours that show it. looks: by label, in place of colours of the palette. target: a line across.
    Values that are not finite interrupt nothing and are not drawn. More than MOST_AS_DATA points are drawn as outlines.
    """
    lines = lines_of(series, is_log)
    steps = _ends(lines.step.astype(np.float64))
    values = [*_ends(within_reason(lines.value)), *([] if target is None else [target])]
    x_limits = panel.x_limits or (decade_limits(steps) if is_log else linear_limits(steps, 0.02))
    y_limits = panel.y_limits or linear_limits(values)
    x = Scale("step", x_limits, "Steps", base=10 if is_log else None)
    labels = [one.label for one in series]
    frame = Frame(panel, x, Scale("value", y_limits, "Value", base=None), labels, is_ordered)
    look = _look(labels, panel, is_ordered, looks or {})
    linked = _linked(lines, series, panel)
    layers = (as_outlines if len(lines.step) > MOST_AS_DATA else as_data)(lines, frame, look, linked)
    if target is not None:
        across = {"y": frame.y_of("target")}
        layers.append(layer([{"target": target}], "rule", across, strokeDash=[5, 4], color=theme.FAINT, tooltip=None))
    return frame.plot(layers, "" if lines.facts else "Nothing was measured.")


def within_reason(values: Floats) -> Floats:
    """Return the values without outliers, which would press all else together: those of trials that diverge."""
    if not len(values):
        return values
    low, high = np.quantile(values, [0.02, 0.98])
    room = _ROOM_FOR_OUTLIERS * (high - low)
    within: Floats = values[(low - room <= values) & (values <= high + room)]
    return within


def _ends(values: Floats) -> list[float]:
    """Return the least and the greatest, and the least above 0: what limits depend on."""
    above = values[values > 0]
    return [float(each) for own in (above, values) if len(own) for each in (own.min(), own.max())]


def _look(labels: Sequence[str], panel: Panel, is_ordered: bool, looks: Mapping[str, Look]) -> dict[str, Channel]:
    """Return the colours of series, and dashes where there are looks."""
    key = legend(labels, panel)
    if key is not None:
        key |= {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 300}
    scales = {"color": colour_scale(labels, is_ordered)}
    if looks:
        scales["color"] = {"domain": list(labels), "range": [looks[label][0] for label in labels]}
        scales["strokeDash"] = {"domain": list(labels), "range": [list(looks[label][1]) for label in labels]}
    return {channel: category("series", scale=scale, legend=key) for channel, scale in scales.items()}


def _linked(lines: Lines, series: Sequence[Series], panel: Panel) -> Transform | None:
    """Return the links of lines to their trials; None without."""
    if panel.links is None or not lines.facts or "trial_id" not in lines.facts[0]:
        return None
    if "workload" not in lines.facts[0]:
        return panel.to_trials(series)
    workloads = sorted({facts["workload"] for facts in lines.facts})
    return panel.links.to_trials({workload: workload for workload in workloads}, by="workload")


@dataclass(frozen=True)
class _Line:
    """The rows start:end of an answer: those of one trial and metric. number: of the trial, for all of its metrics."""

    workload: str
    batch_size: int
    trial_id: int
    metric: str
    status: str
    number: int
    start: int
    end: int


def _lines(rows: pa.Table, view: ReleaseView) -> list[_Line]:
    """Return the lines of the rows, in their order: the rows of each follow each other."""
    if not rows.num_rows:
        return []
    differs = reduce(pc.or_, (pc.not_equal(rows[name][1:], rows[name][:-1]) for name in _KEYS))
    bounds = np.r_[0, np.flatnonzero(differs.to_numpy()) + 1, rows.num_rows]
    firsts = rows.select(_KEYS).take(bounds[:-1]).to_pylist()
    numbers: dict[tuple[str, int, int], int] = {}
    lines = []
    for row, start, end in zip(firsts, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        trial = row["workload"], row["batch_size"], row["trial_id"]
        number = numbers.setdefault(trial, len(numbers))
        lines.append(_Line(*trial, row["metric"], _status(view, *trial), number, start, end))
    return lines


def _status(view: ReleaseView, workload: str, batch_size: int, trial_id: int) -> str:
    facts, index = view.study(Study(Workload.parse(workload), batch_size))
    own = facts.rows_of(index)
    place = own.start + np.searchsorted(facts.trials.trial_id[own], trial_id)
    return STATUSES[facts.trials.status[place]]


def _outcomes(rows: pa.Table, lines: Sequence[_Line], view: ReleaseView, target: float | None) -> dict[int, str]:
    """Return what became of each trial by its number, as /v1/analysis/metaparameter-map calls it."""
    if target is None:
        raise BadParameter("target", "colour_by=outcome tells which trials reached a target: give target=…")
    values = rows["value"].to_numpy().astype(np.float64)
    outcomes = {}
    for line in lines:
        facts, index = view.study(Study(Workload.parse(line.workload), line.batch_size))
        direction = view.metric(facts, line.metric, index).direction
        if direction is None:
            why = f"which way {line.metric} is better is not known: colour by something else"
            raise BadParameter("colour_by", why)
        sign = sign_of(direction)
        is_reached = bool(hits(values[line.start : line.end] * sign, target * sign).any())
        complete = "reached" if is_reached else "not reached"
        outcomes[line.number] = complete if line.status == STATUSES[0] else line.status.lower()
    return outcomes


@dataclass(frozen=True)
class _Groups:
    """Groups of lines: the name of each trial's by its number, and all names in order.

    common: what all lines have in common. is_ordered: whether the order of names means much. looks: by name, where they
    are not of the palette.
    """

    common: str
    by_number: Mapping[int, str]
    names: Sequence[str]
    is_ordered: bool = False
    looks: Mapping[str, Look] = field(default_factory=dict)

    @property
    def in_legend(self) -> Sequence[str]:
        """The names that a legend has; none where there are too many, or but one without a name."""
        return self.names if any(self.names) and len(self.names) <= _MOST_IN_A_LEGEND else []


def _groups(lines: Sequence[_Line], colour_by: ColourBy | None, outcomes: Mapping[int, str]) -> _Groups:
    """Return groups by what colours tell apart; None: by trial where there are few, else by study.

    outcomes: by number of the trial, for colour_by=outcome.
    """
    sizes = {line.batch_size for line in lines}
    workloads = workload_labels(list(dict.fromkeys(line.workload for line in lines)))
    common = workloads.common + (f"/{min(sizes)}" if len(sizes) == 1 else "")
    if colour_by == "status":
        words = {value: status.capitalize() for status, value in _OF_STATUS.items()}
        return _by_outcome(common, {line.number: _OF_STATUS[line.status] for line in lines}, words)
    if colour_by == "outcome":
        return _by_outcome(common, outcomes, {each.value: each.words for each in OUTCOMES})
    several_sizes = len(sizes) > 1
    several_trials = len({line.trial_id for line in lines}) > 1
    few = len({line.number for line in lines}) <= _MOST_NAMED
    by_trial = colour_by == "trial" or (colour_by is None and few and (several_trials or not several_sizes))
    texts = {}
    for line in sorted(lines, key=lambda line: (line.workload, line.batch_size, line.trial_id)):
        parts = [workloads.own[line.workload]] if workloads.own[line.workload] else []
        parts += [f"batch size {line.batch_size}"] if several_sizes else []
        parts += [f"trial {line.trial_id}"] if by_trial else []
        texts[line.number] = ", ".join(parts)
    is_ordered = several_sizes and not by_trial and len(workloads.own) == 1
    return _Groups(common, texts, list(dict.fromkeys(texts.values())), is_ordered)


def _by_outcome(common: str, outcomes: Mapping[int, str], words: Mapping[str, str]) -> _Groups:
    """Return a group for each of OUTCOMES that there is, with its number of trials; the last are above the others."""
    counts = Counter(outcomes.values())
    names = {
        each.value: f"{words[each.value]} ({counts[each.value]:,})" for each in OUTCOMES[::-1] if counts[each.value]
    }
    looks = {
        names[each.value]: (each.colour, dash)
        for each, dash in zip(OUTCOMES[::-1], theme.DASHES, strict=True)
        if each.value in names
    }
    by_number = {number: names[value] for number, value in outcomes.items()}
    return _Groups(common, by_number, list(names.values()), looks=looks)


def _chart(
    drawing: Drawing, rows: pa.Table, lines: Sequence[_Line], groups: _Groups, metric: str, panel: Panel
) -> Plot:
    """rows: as `_with_facts` gives them."""
    own: dict[str, list[_Line]] = {name: [] for name in groups.names}
    for line in lines:
        if line.metric == metric:
            own[groups.by_number[line.number]].append(line)
    workload = "" if "workload" in rows.column_names else lines[0].workload
    return curves_chart(
        [_series(rows, members, name, workload) for name, members in own.items()],
        panel if groups.in_legend else replace(panel, legend="none"),
        is_log=drawing.parameters.axis == "log",
        is_ordered=groups.is_ordered,
        looks=groups.looks,
        target=drawing.parameters.target,
    )


def _series(rows: pa.Table, lines: Sequence[_Line], label: str, workload: str) -> Series:
    """Return lines of one metric as a series. workload: of all of them; empty: each says its own."""
    parts = [rows.slice(line.start, line.end - line.start) for line in lines]
    return Series(label, pa.concat_tables(parts or [rows.slice(0, 0)]), workload)


def _with_facts(rows: pa.Table, lines: Sequence[_Line]) -> pa.Table:
    """Return the rows with the number and the status of their trial; with its workload only where there are several."""
    which = np.repeat(np.arange(len(lines)), [line.end - line.start for line in lines])
    numbers = np.array([line.number for line in lines], np.int64)[which]
    statuses = pa.array([line.status for line in lines], pa.string()).take(pa.array(which))
    rows = rows.append_column("line", pa.array(numbers)).append_column("status", statuses)
    return rows.drop_columns("workload") if len({line.workload for line in lines}) == 1 else rows


def _explained(drawing: Drawing, lines: Sequence[_Line]) -> list[str]:
    n = len({line.number for line in lines})
    explained = [f"{n:,} trial{'s' if n != 1 else ''}, a line each."]
    if drawing.facts.get("thinned"):
        explained[0] = f"{explained[0][:-1]}, thinned so that no crossing of a target moves."
    if drawing.parameters.target is not None:
        explained.append(f"Dashed across: {drawing.parameters.target:g}.")
    n_odd = pc.sum(pc.invert(pc.is_finite(drawing.rows["value"]))).as_py()
    if n_odd:
        explained.append(f"{n_odd:,} values that are not finite are not drawn.")
    return explained


def _summary(rows: pa.Table, lines: Sequence[_Line], groups: _Groups, explained: Sequence[str]) -> list[str]:
    """Return how many trials there are, of which groups, and where they end."""
    summary = [*explained, f"{', '.join(groups.in_legend)}."] if groups.in_legend else list(explained)
    last: dict[str, list[float]] = {}
    values = rows["value"].to_numpy()
    for line in lines:
        if np.isfinite(values[line.end - 1]):
            last.setdefault(line.metric, []).append(float(values[line.end - 1]))
    ends = {metric: dict.fromkeys(f"{end:.4g}" for end in (min(own), max(own))) for metric, own in last.items()}
    return summary + [f"Last {metric}: {' to '.join(texts)}." for metric, texts in ends.items()]
