"""From logged rows to the curve of one trial: one row per step, and of each metric the value that was written last.

Steps come from whatever a log counts: steps = examples / batch_size and examples = epochs x epoch_size, to the nearest
integer. The formula that was used is kept with the trial, so that nobody mistakes a computed step for a logged one.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from losslake_ingest.mapping.mapping import Axis, LogMapping
from losslake_ingest.mapping.metrics import metric_line, metric_of
from losslake_ingest.mapping.template import UnknownField
from losslake_ingest.rules import MissingField, Refusal, Rule
from losslake_ingest.run_log import LoggedRows, RunLog, Scalar
from losslake_ingest.study import LARGEST_EXACT_INTEGER, Curves
from losslake_schema.reached import Flags, Floats, Integers

Measured = tuple[Integers, Floats, Floats]
"""Of one metric: steps, strictly ascending; values; seconds since the start, NaN where unknown."""
Array = TypeVar("Array", Integers, Floats)
OVERWRITTEN = "measurement written again for the same step: the last one counts"
NO_STEP = "measurement without a step left out"


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
    """Return the curve that a run's rows make; raises Refusal when they make none."""
    return _CurveReader(log, mapping, batch_size, fields).curve()


def on_common_steps(series: Mapping[str, Measured]) -> Curves:
    """Return the curve of one trial from its metrics, each measured at steps of its own, at least one of them at all.

    A step's time is the latest that any metric has there.
    """
    measured = {metric: rows for metric, rows in series.items() if len(rows[0])}
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


def _union(steps: Sequence[Integers]) -> Integers:
    """All steps, ascending; most often every metric has the same."""
    first = steps[0]
    if all(other is first or np.array_equal(other, first) for other in steps[1:]):
        return first
    return np.unique(np.concatenate(steps))


@dataclass(frozen=True)
class _Places:
    """The steps of some rows by an axis, which rows have one, their times, and the formula if steps are computed."""

    steps: Integers
    known: Flags
    elapsed: Floats
    formula: str | None


class _CurveReader:
    def __init__(self, log: RunLog, mapping: LogMapping, batch_size: int, fields: Mapping[str, Scalar]) -> None:
        self._log, self._mapping, self._batch_size, self._fields = log, mapping, batch_size, fields
        self._axes = {mapping.time.elapsed_s, mapping.time.wall_time, *(axis.column for axis in mapping.axis)}
        self._series: dict[str, list[Measured]] = {}  # of each metric the pieces, in the order written
        self._metrics: dict[str, str | None] = {}
        self._formulas: dict[str, None] = {}
        self._unplaced: dict[str, None] = {}
        self._left_out: list[str] = []
        self._remarks: Counter[str] = Counter()

    def curve(self) -> TrialCurve:
        for rows in self._log.rows:
            places: dict[int, _Places] = {}
            for column in rows.columns:
                if column not in self._metrics:
                    self._metrics[column] = self._metric(column)
                metric = self._metrics[column]
                if metric is not None:
                    self._add(metric, column, rows, places)
        for column in self._unplaced:
            self._remarks[f"column {column!r} left out: no [[axis]] holds for it"] += 1
        if not any(len(steps) for pieces in self._series.values() for steps, _, _ in pieces):
            raise self._nothing()
        columns = {column: metric for column, metric in self._metrics.items() if metric is not None}
        curve = on_common_steps({metric: self._last_written(pieces) for metric, pieces in sorted(self._series.items())})
        return TrialCurve(curve, list(self._formulas), columns, sorted(self._left_out), self._remarks)

    def _metric(self, column: str) -> str | None:
        if column in self._axes and column not in self._mapping.metrics:
            return None
        try:
            return metric_of(column, self._mapping.metrics, self._fields)
        except KeyError:
            self._left_out.append(column)
        except UnknownField as unknown:
            self._remarks[f"column {column!r} left out: its metric takes {{{unknown}}}, which nothing says"] += 1
        return None

    def _add(self, metric: str, column: str, rows: LoggedRows, places: dict[int, _Places]) -> None:
        """Add a column of rows to its metric. places: of these rows by axis, computed once."""
        axis = _axis_for(column, rows, self._mapping.axis)
        if axis is None:
            self._unplaced[column] = None
            return
        here = places.get(id(axis))
        if here is None:
            here = places[id(axis)] = self._places(rows, axis)
        if here.formula:
            self._formulas[here.formula] = None
        kept = self._kept(here.known, rows.missing.get(column))
        piece = (here.steps[kept], rows.columns[column][kept], here.elapsed[kept])
        self._series.setdefault(metric, []).append(piece)

    def _places(self, rows: LoggedRows, axis: Axis) -> _Places:
        """The places of rows by an axis; raises Refusal when one is no step or the epoch's size is unknown."""
        positions = rows.columns[axis.column]
        missing = rows.missing.get(axis.column)
        known = ~missing if missing is not None else np.ones(len(positions), np.bool_)
        steps, formula = positions, None
        if axis.counts == "examples":
            steps = np.floor(positions / self._batch_size + 0.5)
            formula = f"{axis.column} / {self._batch_size}"
        elif axis.counts == "epochs":
            size = _epoch_size(axis, self._fields)
            with np.errstate(over="ignore"):
                steps = np.floor(positions * size / self._batch_size + 0.5)
            formula = f"{axis.column} x {size:.17g} / {self._batch_size}"
        return _Places(_checked(steps, positions, known, axis), known, self._elapsed(rows), formula)

    def _elapsed(self, rows: LoggedRows) -> Floats:
        """Seconds since the start by row, NaN where unknown."""
        elapsed, wall = self._mapping.time.elapsed_s, self._mapping.time.wall_time
        column = elapsed if elapsed in rows.columns else wall
        started = self._log.started_at if column == wall != elapsed else 0.0
        if column is None or column not in rows.columns or started is None:
            return np.full(len(next(iter(rows.columns.values()))), np.nan)
        times = rows.columns[column] - started if started else rows.columns[column]
        missing = rows.missing.get(column)
        unknown = times < 0 if missing is None else missing | (times < 0)
        return np.where(unknown, np.nan, times)

    def _kept(self, known: Flags, missing: Flags | None) -> Flags | slice:
        """The rows that have a value and a step."""
        if missing is None and known.all():
            return slice(None)
        measured = ~missing if missing is not None else np.ones(len(known), np.bool_)
        kept: Flags = measured & known
        self._remarks += Counter({NO_STEP: int(measured.sum() - kept.sum())})
        return kept

    def _last_written(self, pieces: Sequence[Measured]) -> Measured:
        """A metric's measurements by ascending step; of several at one step the one written last."""
        steps, values = _one([piece[0] for piece in pieces]), _one([piece[1] for piece in pieces])
        elapsed = _one([piece[2] for piece in pieces])
        if len(steps) < 2 or (steps[1:] > steps[:-1]).all():
            return steps, values, elapsed
        order = np.argsort(steps, kind="stable")
        ordered = steps[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        self._remarks += Counter({OVERWRITTEN: int((~last).sum())})
        kept = order[last]
        return steps[kept], values[kept], elapsed[kept]

    def _nothing(self) -> Refusal:
        """Why there is no curve: no metric, no axis for it, or no value."""
        candidates = sorted({column for rows in self._log.rows for column in rows.columns if column not in self._axes})
        if self._unplaced:
            what = f"no axis of the mapping is among the columns of {_listed(list(self._unplaced))}"
            axis = next((column for column in candidates if column not in self._metrics), "NAME")
            add = f'[[axis]] column = "{axis}"   # and counts = "steps", "examples" or "epochs"'
            message = f"{what}: add to the mapping: {add}"
            return Refusal(Rule.STEP_UNKNOWN, message, missing=(MissingField(what, add),))
        if self._series or not candidates:
            return Refusal(Rule.NO_MEASUREMENTS, "there is not one measurement in it")
        unmapped = [column for column in candidates if self._metrics.get(column) is None]
        what = f"none of its columns ({_listed(unmapped)}) is known as a metric"
        missing = tuple(MissingField(what, metric_line(column)) for column in unmapped[:20])
        return Refusal(Rule.MISSING_FACT, f"{what}: add to the mapping: {missing[0].add}", missing=missing)


def _axis_for(column: str, rows: LoggedRows, axes: Sequence[Axis]) -> Axis | None:
    """The first axis of the mapping that these rows have and that holds for a logged column."""
    for axis in axes:
        holds = not axis.metrics or any(fnmatch.fnmatchcase(column, pattern) for pattern in axis.metrics)
        if holds and axis.column in rows.columns and axis.column != column:
            return axis
    return None


def _epoch_size(axis: Axis, fields: Mapping[str, Scalar]) -> float:
    assert axis.epoch_size is not None
    try:
        size = float(axis.epoch_size.fill(fields))
    except UnknownField as unknown:
        add = f"{unknown.alternatives[0]} = NUMBER   # under [fields]: examples in an epoch"
        what = f"{axis.column} counts epochs, and nothing says how many examples are in one"
        message = f"{what}: add to the mapping: {add}"
        raise Refusal(Rule.STEP_UNKNOWN, message, missing=(MissingField(what, add),)) from None
    except ValueError:
        size = 0.0
    if not (np.isfinite(size) and size > 0):
        raise Refusal(Rule.BAD_FACT, f"the epoch_size of the axis {axis.column} is not a number above 0")
    return size


def _checked(steps: Floats, positions: Floats, known: Flags, axis: Axis) -> Integers:
    """The steps as integers, 0 where unknown; raises Refusal."""
    good = (steps >= 0) & (steps < LARGEST_EXACT_INTEGER) & (steps == np.floor(steps))
    bad = np.flatnonzero(known & ~good)
    if len(bad):
        row = int(bad[0])
        position = float(positions[row])
        rule = Rule.NEGATIVE_STEP if position < 0 else Rule.BAD_STEP
        message = f"{axis.column} is {position:g} in row {row + 1:,}: this is no step from 0 to 2^53"
        raise Refusal(rule, f"{message}; choose another [[axis]] in the mapping")
    return np.where(known, steps, 0).astype(np.int64)


def _one(pieces: Sequence[Array]) -> Array:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _listed(names: Sequence[str], at_most: int = 5) -> str:
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(name if len(name) <= 60 else f"{name[:60]}…" for name in names[:at_most]) + more
