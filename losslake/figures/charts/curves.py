"""Draws the answer of /v1/curves.

The lines of an answer of /v1/curves: one for each trial and metric.
Which lines of a figure of curves are drawn alike: those of a trial, a study, a status or an outcome.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake.figures import theme
from losslake.figures.charts.curve_lines import Look, curves_chart
from losslake.figures.charts.learning_rate_momentum import OUTCOMES
from losslake.figures.curve_colours import ColourBy
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.layers import Plot
from losslake.figures.layout import columns_of, grid_panels
from losslake.figures.panel import Series
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import workload_labels
from losslake_schema.names import Study, Workload
from losslake_schema.reached import Integers, hits, sign_of
from losslake_schema.tables import STATUSES

_KEYS = ("workload", "batch_size", "trial_id", "metric")


@dataclass(frozen=True)
class Line:
    """The rows start:end of an answer: those of one trial and metric. number: of the trial, for all of its metrics."""

    workload: str
    batch_size: int
    trial_id: int
    metric: str
    status: str
    number: int
    start: int
    end: int


def lines_by_trial(rows: pa.Table, view: ReleaseView) -> list[Line]:
    """The lines of the rows, in their order: the rows of each follow each other."""
    if not rows.num_rows:
        return []
    codes = [_codes(rows[name]) for name in _KEYS]
    changes = np.logical_or.reduce([np.diff(code) != 0 for code in codes])
    starts = np.flatnonzero(np.r_[True, changes])
    ends = [*starts[1:].tolist(), rows.num_rows]
    firsts = rows.select(list(_KEYS)).take(pa.array(starts)).to_pydict()
    keys = list(zip(*(firsts[name] for name in _KEYS), strict=True))
    statuses = _statuses({key[:3] for key in keys}, view)
    numbers: dict[tuple[str, int, int], int] = {}
    return [
        Line(key[0], key[1], key[2], key[3], statuses[key[:3]], numbers.setdefault(key[:3], len(numbers)), start, end)
        for key, start, end in zip(keys, starts.tolist(), ends, strict=True)
    ]


def series_of(rows: pa.Table, lines: Sequence[Line], label: str, workload: str) -> Series:
    """Lines of one metric as a series. workload: of all of them; empty: each says its own."""
    places = np.concatenate([np.arange(line.start, line.end) for line in lines]) if lines else np.zeros(0, np.int64)
    lengths = [line.end - line.start for line in lines]
    columns = {name: rows[name].take(pa.array(places)) for name in ("step", "value")}
    facts: dict[str, Sequence[object]] = {
        "line": [line.number for line in lines],
        "trial_id": [line.trial_id for line in lines],
        "batch_size": [line.batch_size for line in lines],
        "status": [line.status for line in lines],
    }
    if not workload:
        facts["workload"] = [line.workload for line in lines]
    which = pa.array(np.repeat(np.arange(len(lines)), lengths))
    for name, values in facts.items():
        columns[name] = pa.array(values).take(which)
    return Series(label, pa.table(columns), workload)


def _codes(column: pa.ChunkedArray) -> Integers:
    """Numbers that differ where values do."""
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(), np.int64)
    encoded = pc.dictionary_encode(column).combine_chunks()
    return np.asarray(encoded.indices.to_numpy(), np.int64)


def _statuses(trials: set[tuple[str, int, int]], view: ReleaseView) -> dict[tuple[str, int, int], str]:
    """The status of each trial."""
    found = {}
    for workload, size in {key[:2] for key in trials}:
        facts, index = view.study(Study(Workload.parse(workload), size))
        own = facts.rows_of(index)
        for trial, status in zip(facts.trials.trial_id[own].tolist(), facts.trials.status[own].tolist(), strict=True):
            found[workload, size, trial] = STATUSES[status]
    return found


MOST_NAMED = 7
_MOST_IN_A_LEGEND = 24
_OF_STATUS = {"COMPLETE": "reached", "INCOMPLETE": "incomplete", "INFEASIBLE": "infeasible"}


@dataclass(frozen=True)
class Groups:
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


def groups_of(lines: Sequence[Line], colour_by: ColourBy | None, outcomes: Mapping[int, str]) -> Groups:
    """Groups by what colours tell apart; None: by trial where there are few, else by study.

    outcomes: by number of the trial, for colour_by=outcome.
    """
    sizes = {line.batch_size for line in lines}
    workloads = workload_labels(list(dict.fromkeys(line.workload for line in lines)))
    common = workloads.common + (f"/{min(sizes)}" if len(sizes) == 1 else "")
    if colour_by == "status":
        return _by_fate(common, {line.number: _OF_STATUS[line.status] for line in lines}, _words_of_status())
    if colour_by == "outcome":
        return _by_fate(common, outcomes, {each.value: each.words for each in OUTCOMES})
    several_sizes = len(sizes) > 1
    several_trials = len({line.trial_id for line in lines}) > 1
    few = len({line.number for line in lines}) <= MOST_NAMED
    by_trial = colour_by == "trial" or (colour_by is None and few and (several_trials or not several_sizes))
    texts = {}
    for line in sorted(lines, key=lambda line: (line.workload, line.batch_size, line.trial_id)):
        parts = [workloads.own[line.workload]] if workloads.own[line.workload] else []
        parts += [f"batch size {line.batch_size}"] if several_sizes else []
        parts += [f"trial {line.trial_id}"] if by_trial else []
        texts[line.number] = ", ".join(parts)
    is_ordered = several_sizes and not by_trial and len(workloads.own) == 1
    return Groups(common, texts, list(dict.fromkeys(texts.values())), is_ordered)


def outcomes_of(rows: pa.Table, lines: Sequence[Line], view: ReleaseView, target: float | None) -> dict[int, str]:
    """What became of each trial by its number, as /v1/analysis/metaparameter-map calls it; raises BadParameter."""
    if target is None:
        raise BadParameter("target", "colour_by=outcome tells which trials reached a target: give target=…")
    if not lines:
        return {}
    values = rows["value"].to_numpy().astype(np.float64)
    found = {}
    for line in lines:
        facts, index = view.study(Study(Workload.parse(line.workload), line.batch_size))
        direction = view.metric(facts, line.metric, index).direction
        if direction is None:
            why = f"which way {line.metric} is better is not known: colour by something else"
            raise BadParameter("colour_by", why)
        own = values[line.start : line.end]
        sign = sign_of(direction)
        is_reached = bool(hits(own * sign, target * sign).any())
        complete = "reached" if is_reached else "not reached"
        found[line.number] = complete if line.status == STATUSES[0] else line.status.lower()
    return found


def _words_of_status() -> dict[str, str]:
    return {value: status.capitalize() for status, value in _OF_STATUS.items()}


def _by_fate(common: str, fates: Mapping[int, str], words: Mapping[str, str]) -> Groups:
    """A group for each of OUTCOMES that there is, with how many trials it has; the last are above the others."""
    counts = Counter(fates.values())
    present = [each for each in reversed(OUTCOMES) if counts[each.value]]
    names = {each.value: f"{words[each.value]} ({counts[each.value]:,})" for each in present}
    looks = {names[each.value]: Look(each.colour, theme.DASHES[OUTCOMES[::-1].index(each)]) for each in present}
    by_number = {number: names[value] for number, value in fates.items()}
    return Groups(common, by_number, list(names.values()), looks=looks)


_MOST_PANELS = 12


def draw(drawing: Drawing) -> Drawn:
    """A panel for each metric; colours tell apart what was asked for."""
    parameters = drawing.parameters
    lines = lines_by_trial(drawing.rows, drawing.view)
    metrics = list(dict.fromkeys(line.metric for line in lines))
    if len(metrics) > _MOST_PANELS:
        raise BadParameter("metric", f"{len(metrics)} metrics are too many for a figure: name up to {_MOST_PANELS}")
    if parameters.target is not None and len(metrics) > 1:
        raise BadParameter("metric", f"a target is of one metric, and there are {len(metrics)}: name one")
    is_by_outcome = parameters.colour_by == "outcome"
    outcomes = outcomes_of(drawing.rows, lines, drawing.view, parameters.target) if is_by_outcome else {}
    groups = groups_of(lines, parameters.colour_by, outcomes)
    explained = _explained(drawing, lines)
    charts = [_chart(drawing, lines, groups, metric, len(metrics), explained) for metric in metrics or [""]]
    told = _told(drawing.rows, lines, groups, explained)
    return Drawn(charts, explained, columns_of(drawing.width, len(charts)), shares_legend=True, told=told)


def _chart(
    drawing: Drawing, lines: Sequence[Line], groups: Groups, metric: str, n: int, explained: Sequence[str]
) -> Plot:
    panel = drawing.panel(metric, groups.common, groups.in_legend, explained)
    if n > 1:
        grid = grid_panels(drawing.width, n, drawing.height)
        panel = replace(grid, title=metric, subtitle=groups.common, y_title="")
    own: dict[str, list[Line]] = {name: [] for name in groups.names}
    for line in lines:
        if line.metric == metric:
            own[groups.by_number[line.number]].append(line)
    workloads = {line.workload for line in lines}
    workload = next(iter(workloads)) if len(workloads) == 1 else ""
    return curves_chart(
        [series_of(drawing.rows, members, name, workload) for name, members in own.items()],
        panel if groups.in_legend else replace(panel, legend="none"),
        y_title=metric,
        is_log=drawing.parameters.axis == "log",
        is_ordered=groups.is_ordered,
        looks=groups.looks,
        target=drawing.parameters.target,
        links=drawing.links,
    )


def _explained(drawing: Drawing, lines: Sequence[Line]) -> list[str]:
    n = len({line.number for line in lines})
    found = [f"{n:,} trial{'s' if n != 1 else ''}, a line each."]
    if drawing.facts.get("thinned"):
        found[0] = f"{found[0][:-1]}, thinned so that no crossing of a target moves."
    if drawing.parameters.target is not None:
        found.append(f"Dashed across: {drawing.parameters.target:g}.")
    n_odd = _n_not_finite(drawing.rows["value"])
    if n_odd:
        found.append(f"{n_odd:,} values that are not finite are not drawn.")
    return found


def _told(rows: pa.Table, lines: Sequence[Line], groups: Groups, explained: Sequence[str]) -> list[str]:
    """How many trials, of which groups, and where they end."""
    found = [*explained, f"{', '.join(groups.in_legend)}."] if groups.in_legend else list(explained)
    last: dict[str, list[float]] = {}
    values = rows["value"].to_numpy()
    for line in lines:
        if np.isfinite(values[line.end - 1]):
            last.setdefault(line.metric, []).append(float(values[line.end - 1]))
    ends = {metric: dict.fromkeys(f"{end:.4g}" for end in (min(own), max(own))) for metric, own in last.items()}
    return found + [f"Last {metric}: {' to '.join(texts)}." for metric, texts in ends.items()]


def _n_not_finite(values: pa.ChunkedArray) -> int:
    return int(pc.sum(pc.invert(pc.is_finite(values))).as_py() or 0)
