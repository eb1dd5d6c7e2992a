"""From logged rows to the curve of one trial: one row per step, the last word of the log on each metric.

Steps from whatever a log counts: steps themselves, examples or epochs.

steps = examples / batch_size and examples = epochs x epoch_size, to the nearest integer; the axis that was used is kept
with the trial, so that nobody mistakes a computed step for a logged one.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from losslake_ingest.mapping.guess import metric_line
from losslake_ingest.mapping.mapping import Axis, Lack, LogMapping, Refusal
from losslake_ingest.mapping.metrics import metric_of
from losslake_ingest.mapping.template import UnknownField
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import LoggedRows, RunLog, Scalar
from losslake_ingest.study import LARGEST_EXACT_INTEGER, Curves
from losslake_schema.reached import Flags, Floats, Integers


@dataclass(frozen=True)
class Steps:
    """The steps of some rows, the rows that have one, and the formula with its numbers if they are not as logged."""

    steps: Integers
    known: Flags
    computed: str | None = None


def axis_for(column: str, rows: LoggedRows, axes: Sequence[Axis]) -> Axis | None:
    """The first axis of the mapping that these rows have and that holds for a logged column."""
    for axis in axes:
        holds = not axis.metrics or any(fnmatch.fnmatchcase(column, pattern) for pattern in axis.metrics)
        if holds and axis.column in rows.columns and axis.column != column:
            return axis
    return None


def steps_of(rows: LoggedRows, axis: Axis, batch_size: int, fields: Mapping[str, Scalar]) -> Steps:
    """The steps of rows by an axis; raises Refusal when a position is no step or the epoch's size is unknown."""
    positions = rows.columns[axis.column]
    missing = rows.missing.get(axis.column)
    known = ~missing if missing is not None else np.ones(len(positions), np.bool_)
    computed = None
    if axis.counts == "steps":
        steps = positions
    elif axis.counts == "examples":
        steps = np.floor(positions / batch_size + 0.5)
        computed = f"{axis.column} / {batch_size}"
    else:
        size = _epoch_size(axis, fields)
        with np.errstate(over="ignore"):
            steps = np.floor(positions * size / batch_size + 0.5)
        computed = f"{axis.column} x {size:.17g} / {batch_size}"
    return Steps(_checked(steps, positions, known, axis), known, computed)


def _checked(steps: Floats, positions: Floats, known: Flags, axis: Axis) -> Integers:
    good = (steps >= 0) & (steps < LARGEST_EXACT_INTEGER) & (steps == np.floor(steps))
    bad = np.flatnonzero(known & ~good)
    if len(bad):
        row = int(bad[0])
        position = float(positions[row])
        rule = Rule.NEGATIVE_STEP if position < 0 else Rule.BAD_STEP
        message = f"{axis.column} is {position:g} in row {row + 1:,}: this is no step from 0 to 2^53"
        raise Refusal(rule, f"{message}; choose another [[axis]] in the mapping")
    return np.where(known, steps, 0).astype(np.int64)


def _epoch_size(axis: Axis, fields: Mapping[str, Scalar]) -> float:
    assert axis.epoch_size is not None
    try:
        size = float(axis.epoch_size.fill(fields))
    except UnknownField as unknown:
        add = f"{unknown.alternatives[0]} = NUMBER   # under [fields]: examples in an epoch"
        what = f"{axis.column} counts epochs, and nothing says how many examples are in one"
        raise Refusal(Rule.STEP_UNKNOWN, f"{what}: add to the mapping: {add}", (Lack(what, add),)) from None
    except ValueError:
        size = 0.0
    if not (np.isfinite(size) and size > 0):
        raise Refusal(Rule.BAD_FACT, f"the epoch_size of the axis {axis.column} is not a number above 0")
    return size


Measured = tuple[Integers, Floats, Floats]
"""Of one metric: steps, strictly ascending; values; seconds since the start, NaN where unknown."""
_Placed = dict[int, tuple[Steps, Floats]]
Array = TypeVar("Array", Integers, Floats)
OVERWRITTEN = "measurement written again for the same step: the last one counts"
NO_STEP = "measurement without a step left out"


@dataclass
class _Series:
    """What was logged of one metric, piece by piece in the order written."""

    steps: list[Integers] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    elapsed: list[Floats] = field(default_factory=list)


@dataclass(frozen=True)
class TrialCurve:
    """The curve of a trial, and how it came about.

    computed_steps: the formulas behind its steps, none if they are as logged. columns: the metric of each logged
    column. left_out: columns of which nothing says what they are. remarks: what had to be decided.
    """

    curve: Curves
    computed_steps: Sequence[str]
    columns: Mapping[str, str]
    left_out: Sequence[str]
    remarks: Mapping[str, int]


def curve_of(log: RunLog, mapping: LogMapping, batch_size: int, fields: Mapping[str, Scalar]) -> TrialCurve:
    """The curve that a run's rows make; raises Refusal when they make none."""
    return _Reading(log, mapping, batch_size, fields).curve()


class _Reading:
    def __init__(self, log: RunLog, mapping: LogMapping, batch_size: int, fields: Mapping[str, Scalar]) -> None:
        self._log = log
        self._mapping = mapping
        self._batch_size = batch_size
        self._fields = fields
        self._series: dict[str, _Series] = {}
        self._computed: dict[str, None] = {}
        self._remarks: dict[str, int] = {}
        self._metrics: dict[str, str | None] = {}
        self._unplaced: list[str] = []
        self._left_out: list[str] = []
        self._own: set[str | None] = {axis.column for axis in mapping.axes}
        self._own |= {mapping.elapsed_column, mapping.wall_time_column}

    def curve(self) -> TrialCurve:
        for rows in self._log.rows:
            placed: _Placed = {}
            for column in rows.columns:
                metric = self._metric(column)
                if metric is not None:
                    self._add(metric, column, rows, placed)
        for column in dict.fromkeys(self._unplaced):
            self._remark(f"column {column!r} left out: no [[axis]] holds for it")
        if not any(len(steps) for series in self._series.values() for steps in series.steps):
            raise self._nothing()
        columns = {column: metric for column, metric in self._metrics.items() if metric is not None}
        curve = on_common_steps({metric: self._last_words(parts) for metric, parts in sorted(self._series.items())})
        return TrialCurve(curve, list(self._computed), columns, sorted(self._left_out), self._remarks)

    def _metric(self, column: str) -> str | None:
        if column not in self._metrics:
            self._metrics[column] = self._looked_up(column)
        return self._metrics[column]

    def _looked_up(self, column: str) -> str | None:
        if column in self._own and column not in self._mapping.metrics:
            return None
        try:
            return metric_of(column, self._mapping.metrics, self._fields)
        except KeyError:
            self._left_out.append(column)
        except UnknownField as unknown:
            self._remark(f"column {column!r} left out: its metric takes {{{unknown}}}, which nothing says")
        return None

    def _add(self, metric: str, column: str, rows: LoggedRows, placed: _Placed) -> None:
        """Add a column of rows to its metric. placed: the steps and times of these rows, by axis, computed once."""
        axis = axis_for(column, rows, self._mapping.axes)
        if axis is None:
            self._unplaced.append(column)
            return
        if id(axis) not in placed:
            placed[id(axis)] = (steps_of(rows, axis, self._batch_size, self._fields), self._elapsed(rows))
        found, elapsed = placed[id(axis)]
        kept = self._kept(found, rows.missing.get(column))
        if found.computed:
            self._computed[found.computed] = None
        series = self._series.setdefault(metric, _Series())
        series.steps.append(found.steps[kept])
        series.values.append(rows.columns[column][kept])
        series.elapsed.append(elapsed[kept])

    def _kept(self, found: Steps, missing: Flags | None) -> Flags | slice:
        """The rows that have a value and a step."""
        if missing is None and found.known.all():
            return slice(None)
        measured = ~missing if missing is not None else np.ones(len(found.steps), np.bool_)
        kept: Flags = measured & found.known
        lost = int(measured.sum() - kept.sum())
        if lost:
            self._remark(NO_STEP, lost)
        return kept

    def _elapsed(self, rows: LoggedRows) -> Floats:
        """Seconds since the start by row, NaN where unknown."""
        elapsed, wall = self._mapping.elapsed_column, self._mapping.wall_time_column
        column = elapsed if elapsed in rows.columns else wall
        if column is None or column not in rows.columns:
            return np.full(len(next(iter(rows.columns.values()))), np.nan)
        times = rows.columns[column]
        if column == wall and column != elapsed:
            started = self._log.started_at
            if started is None:
                return np.full(len(times), np.nan)
            times = times - started
        missing = rows.missing.get(column)
        unknown = times < 0 if missing is None else missing | (times < 0)
        return np.where(unknown, np.nan, times)

    def _last_words(self, series: _Series) -> Measured:
        """A metric's measurements by ascending step; of several at one step the one written last."""
        steps, values, elapsed = _one(series.steps), _one(series.values), _one(series.elapsed)
        if len(steps) < 2 or (steps[1:] > steps[:-1]).all():
            return steps, values, elapsed
        order = np.argsort(steps, kind="stable")
        ordered = steps[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        if not last.all():
            self._remark(OVERWRITTEN, int((~last).sum()))
        kept = order[last]
        return steps[kept], values[kept], elapsed[kept]

    def _remark(self, sentence: str, count: int = 1) -> None:
        self._remarks[sentence] = self._remarks.get(sentence, 0) + count

    def _nothing(self) -> Refusal:
        """Why there is no curve: no metric, no axis for it, or no value."""
        columns = [column for rows in self._log.rows for column in rows.columns]
        candidates = sorted({column for column in columns if column not in self._own})
        if self._unplaced:
            what = f"no axis of the mapping is among the columns of {_shown([*dict.fromkeys(self._unplaced)])}"
            axis = next((column for column in candidates if column not in self._metrics), "NAME")
            add = f'[[axis]] column = "{axis}"   # and counts = "steps", "examples" or "epochs"'
            return Refusal(Rule.STEP_UNKNOWN, f"{what}: add to the mapping: {add}", (Lack(what, add),))
        if self._series or not candidates:
            return Refusal(Rule.NO_MEASUREMENTS, "there is not one measurement in it")
        unmapped = [column for column in candidates if self._metrics.get(column) is None]
        what = f"none of its columns ({_shown(unmapped)}) is known as a metric"
        lacks = tuple(Lack(what, metric_line(column)) for column in unmapped[:20])
        return Refusal(Rule.MISSING_FACT, f"{what}: add to the mapping: {lacks[0].add}", lacks)


def on_common_steps(series: Mapping[str, Measured]) -> Curves:
    """The curve of one trial from its metrics, each measured at steps of its own; one of them at least is measured.

    A step's time is the latest that any metric has there.
    """
    measured = {metric: own for metric, own in series.items() if len(own[0])}
    steps = _union([own_steps for own_steps, _, _ in measured.values()])
    elapsed = np.full(len(steps), np.nan)
    values: dict[str, Floats] = {}
    missing: dict[str, Flags] = {}
    for metric, (own_steps, own_values, own_elapsed) in measured.items():
        if len(own_steps) == len(steps):
            values[metric] = own_values
            elapsed = np.fmax(elapsed, own_elapsed)
        else:
            at = np.searchsorted(steps, own_steps)
            elapsed[at] = np.fmax(elapsed[at], own_elapsed)
            values[metric] = np.full(len(steps), np.nan)
            values[metric][at] = own_values
            missing[metric] = np.ones(len(steps), np.bool_)
            missing[metric][at] = False
    offsets = np.array([0, len(steps)], np.int64)
    return Curves(offsets, steps, values, missing, elapsed if np.isfinite(elapsed).any() else None)


def _one(pieces: Sequence[Array]) -> Array:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _union(steps: Sequence[Integers]) -> Integers:
    """All steps, ascending; most often every metric has the same."""
    first = steps[0]
    if all(other is first or np.array_equal(other, first) for other in steps[1:]):
        return first
    return np.unique(np.concatenate(steps))


def _shown(names: Sequence[str], at_most: int = 5) -> str:
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(name if len(name) <= 60 else f"{name[:60]}…" for name in names[:at_most]) + more
