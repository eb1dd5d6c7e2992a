"""Conversion of logged rows to the curve of one trial: one row per step, with the last value of each metric.

Steps are computed from whatever the log counts (`steps.py`). The formula is stored with the trial, to tell computed
steps from logged ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule, mapping_lacks, shown
from losslake_ingest.contracts.run_log import Fields, LoggedRows, RunLog, TextCell, check_size
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER, Curves
from losslake_ingest.mapping.mapping import Axis, LogMapping, MetricLine, mapping_for
from losslake_ingest.mapping.metrics import ColumnMetric, metric_line, metric_of
from losslake_ingest.mapping.repeats import Measured, Piece, check_repeated, check_steps_differ, concatenate_pieces
from losslake_ingest.mapping.restarts import check_one_run, fall_of_times
from losslake_ingest.mapping.row_fields import check_fields
from losslake_ingest.mapping.steps import StepRule, check_first, may_be_nth, stated_number, step_rule
from losslake_ingest.mapping.template import Template, UnknownField
from losslake_ingest.mapping.toml import toml_string
from losslake_ingest.mapping.witnesses import check_calls, check_restarts, check_steps
from losslake_schema.reached import Flags, Floats, Integers
from losslake_schema.registry import Direction
from losslake_schema.statuses import COMPLETE

OVERWRITTEN = "measurement written again for the same step, with the same value or after a restart: the last one counts"
NO_STEP = (
    "measurement without a step left out: if a row above has it, carried = true under [[axis]] (csv, jsonl) uses that"
)
NAN_MISSING = "NaN that says that there is no value, by the mapping: left out"
_LEFT_OUT = MetricLine(Template(""))


@dataclass(frozen=True)
class TrialCurve:
    """The curve of a trial, and how it was derived.

    computed_steps: the formulas of its steps, none if they were logged. computed_values: those of metrics. columns: the
    metric of each logged column that has one metric.
    directions: stated for its metrics. left_out: columns that nothing maps to a metric. remarks: decisions, with their
    counts.
    """

    curve: Curves
    computed_steps: Sequence[str]
    computed_values: Mapping[str, str]
    columns: Mapping[str, ColumnMetric]
    directions: Collection[tuple[str, Direction]]
    left_out: Sequence[str]
    remarks: Mapping[str, int]


def curve_of(log: RunLog, mapping: LogMapping, batch_size: int, fields: Fields) -> TrialCurve:
    """Return the curve of a run. Raises Refusal if there is none."""
    return _CurveReader(log, mapping, batch_size, fields).curve()


def on_common_steps(series: Mapping[str, Measured]) -> Curves:
    """Return the curve of one trial from its metrics, each with its own steps; at least one must have some.

    The time of a step is the latest time of any metric at that step. Raises Refusal if it is too large.
    """
    measured = {metric: rows for metric, rows in series.items() if len(rows[0])}
    steps = _union([metric_steps for metric_steps, _, _ in measured.values()])
    check_size(len(steps), len(measured))
    elapsed = np.full(len(steps), np.nan)
    values: dict[str, Floats] = {}
    missing: dict[str, Flags] = {}
    for metric, (metric_steps, metric_values, metric_elapsed) in measured.items():
        if len(metric_steps) == len(steps):
            values[metric] = metric_values
            elapsed = np.fmax(elapsed, metric_elapsed)
        else:
            at = np.searchsorted(steps, metric_steps)
            elapsed[at] = np.fmax(elapsed[at], metric_elapsed)
            values[metric] = np.full(len(steps), np.nan)
            values[metric][at] = metric_values
            missing[metric] = np.ones(len(steps), np.bool_)
            missing[metric][at] = False
    offsets = np.array([0, len(steps)], np.int64)
    return Curves(offsets, steps, values, missing, elapsed if np.isfinite(elapsed).any() else None)


def _with_times(curve: Curves, marks: Sequence[tuple[Integers, Floats]]) -> Curves:
    """Return the curve with the times of other rows at those of its steps that have none."""
    if not any(len(steps) for steps, _ in marks):
        return curve
    elapsed = np.full(len(curve.steps), np.nan) if curve.elapsed_s is None else curve.elapsed_s.copy()
    for steps, times in marks:
        at = np.searchsorted(curve.steps, steps).clip(max=len(curve.steps) - 1)
        fits = (curve.steps[at] == steps) & np.isnan(elapsed[at])
        elapsed[at[fits]] = times[fits]
    return replace(curve, elapsed_s=elapsed if np.isfinite(elapsed).any() else None)


def _union(steps: Sequence[Integers]) -> Integers:
    """Return all steps in ascending order. Usually every metric has the same steps."""
    first = steps[0]
    if all(other is first or np.array_equal(other, first) for other in steps[1:]):
        return first
    return np.unique(np.concatenate(steps))


# The positions of some rows on an axis: steps, flags of known steps, times.
_Positions = tuple[Integers, Flags, Floats]


class _CurveReader:
    """Converts the rows of one run to a curve."""

    def __init__(self, log: RunLog, mapping: LogMapping, batch_size: int, fields: Fields) -> None:
        self._log, self._mapping, self._batch_size, self._fields = log, mapping, batch_size, fields
        self._entry = ""  # the fields of the rows that are being read, if they have some
        self._axes = {*mapping.time.columns, *(axis.column for axis in mapping.axis)}
        self._series: dict[str, list[Piece]] = {}  # of each metric, in the order written
        self._metrics: dict[tuple[str, str], ColumnMetric | None] = {}
        self._formulas: dict[str, None] = {}
        self._completed: dict[tuple[int, int], Axis] = {}
        self._rules: dict[tuple[int, str], StepRule] = {}  # by the identity of the axis, and entry
        self._unstated: dict[tuple[str, str, str], tuple[Axis, list[Floats]]] = {}  # by column, metric and axis
        self._assumed: dict[str, list[str]] = {}  # columns that are stored by an axis that nobody stated
        self._calls: dict[str, None] = {}  # the axes that count calls of a logger
        self._counted: dict[str, dict[str, None]] = {}  # columns by the axis that counts steps or examples
        self._lowest = LARGEST_EXACT_INTEGER  # the lowest step of the log
        self._has_times = True
        self._marks: list[tuple[Integers, Floats]] = []  # steps and times of rows without a metric
        self._unplaced: dict[str, None] = {}
        self._left_out: list[str] = []
        self._remarks: Counter[str] = Counter()

    def curve(self) -> TrialCurve:
        """Return the curve. Raises Refusal if there is no measurement."""
        of_run = self._mapping, self._fields
        for rows in self._log.rows:
            self._mapping, self._fields = of_run
            self._entry = ", ".join(f"{name} = {shown(value)}" for name, value in rows.fields.items())
            if rows.fields:
                self._fields = {**self._fields, **rows.fields}
                self._mapping = mapping_for(self._fields, self._mapping)
            places: dict[int, _Positions] = {}
            self._check_texts(rows)
            metrics = {column: metric for column in rows.columns if (metric := self._known_metric(column)) is not None}
            for column, metric in metrics.items():
                self._add(metric, column, rows, places)
            self._mark(rows, metrics, places)
        self._check_places()
        if not any(len(piece.measured[0]) for pieces in self._series.values() for piece in pieces):
            raise self._no_curve()
        self._remarks.update(dict.fromkeys(check_fields(self._series, self._mapping, self._log.beyond_words), 1))
        series = {metric: self._last_written(metric, pieces) for metric, pieces in sorted(self._series.items())}
        for name, pieces in self._series.items():
            pieces[0].metric.check_best(series[name][1])
            check_one_run(name, pieces, self._lowest, self._log)
        left_out = sorted(set(self._left_out))
        curve = _with_times(on_common_steps(series), self._marks)
        curve = curve if self._has_times else replace(curve, elapsed_s=None)
        if len(curve.steps) == 1:
            for name, pieces in self._series.items():
                check_steps_differ(name, pieces, sum(len(piece.measured[0]) for piece in pieces))
        formulas = sorted({(each.name, each.formula) for each in self._metrics.values() if each and each.formula})
        computed = {name: formula for name, formula in formulas if name in curve.values}
        return TrialCurve(
            curve, list(self._formulas), computed, self._columns(), self._directions(curve), left_out, self._remarks
        )

    def _check_places(self) -> None:
        """Raise Refusal for counters that aren't known to count updates; remark columns without a place."""
        for counter, columns in self._counted.items():
            if (np.diff(self._on_axis(counter)) < 0).any():
                check_restarts(self._log, counter, columns, self._mapping)
        status = self._mapping.status.get(self._log.status or "", self._log.status or COMPLETE)
        for counter, stored in self._assumed.items():
            check_steps(self._log, counter, stored, self._batch_size, self._fields, status == COMPLETE)
        for counter in self._calls:
            check_calls(self._log, counter, self._batch_size, self._fields)
        for (column, *_), (axis, parts) in self._unstated.items():
            check_first(axis, column, concatenate_pieces(parts), column in self._log.doubtful_epochs)
        for column in self._unplaced:
            self._remarks[f"column {column!r} left out: no [[axis]] applies to it"] += 1

    def _directions(self, curve: Curves) -> Collection[tuple[str, Direction]]:
        stated = {(each.name, each.direction) for each in self._metrics.values() if each}
        return frozenset((name, direction) for name, direction in stated if direction and name in curve.values)

    def _columns(self) -> dict[str, ColumnMetric]:
        columns: dict[str, set[ColumnMetric | None]] = {}
        for (column, _), metric in self._metrics.items():
            columns.setdefault(column, set()).add(metric)
        return {column: metric for column, (metric, *others) in columns.items() if metric is not None and not others}

    def _check_texts(self, rows: LoggedRows) -> None:
        """Raise Refusal for text in a column that is a metric or a time."""
        times = self._mapping.time.columns
        for column, cell in rows.texts.items():
            if not cell.text:
                continue
            is_named = column in rows.columns or column in self._mapping.metrics
            if (is_named and self._known_metric(column)) or column in times:
                raise not_a_number(column, cell)
            if not is_named and self._fits_metric(column):
                self._remarks[f"column {column!r} left out: it holds text, such as {shown(cell.text)}"] = 1

    def _fits_metric(self, column: str) -> bool:
        """Return True if a column would be a metric if it held numbers."""
        try:
            return column not in self._axes and metric_of(column, self._mapping.metrics, self._fields) is not None
        except (KeyError, UnknownField, Refusal):
            return False

    def _known_metric(self, column: str) -> ColumnMetric | None:
        key = column, self._entry
        if key not in self._metrics:
            self._metrics[key] = self._metric(column)
        return self._metrics[key]

    def _metric(self, column: str) -> ColumnMetric | None:
        if column in self._axes and column not in self._mapping.metrics:
            return None
        try:
            return metric_of(column, self._mapping.metrics, self._fields)
        except KeyError:
            self._left_out.append(column)
        except UnknownField as unknown:
            self._remarks[f"column {column!r} left out: its metric needs {{{unknown}}}, which is unknown"] += 1
        return None

    def _mark(self, rows: LoggedRows, columns: Collection[str], places: Mapping[int, _Positions]) -> None:
        """Keep the times of rows that have a step but no metric, such as the line that ends a log."""
        for steps, has_step, elapsed in [*places.values()][:1]:
            is_bare = has_step & ~np.isnan(elapsed)
            for column in columns if is_bare.any() else ():
                is_bare &= ~rows.known(column)
            if is_bare.any():
                self._marks.append((steps[is_bare], elapsed[is_bare]))

    def _add(self, metric: ColumnMetric, column: str, rows: LoggedRows, places: dict[int, _Positions]) -> None:
        """Add a column to its metric. places: the positions of these rows by axis, computed once."""
        axis = self._axis_for(column, rows)
        if axis is None:
            self._unplaced[column] = None
            return
        _check_axis(axis, rows, self._fields)
        self._keep_unstated(axis, metric, column, rows)
        positions = places.get(id(axis))
        if positions is None:
            positions = places[id(axis)] = self._places(rows, axis)
        if axis.counts != "epochs" and not metric.repeated:
            self._counted.setdefault(axis.column, {})[column] = None
        if axis.assumed:
            self._assumed.setdefault(axis.column, []).append(column)
        if self._rule(axis).are_calls:
            self._calls[axis.column] = None
        if formula := self._rule(axis).formula:
            self._formulas[formula] = None
        row_steps, has_step, elapsed = positions
        usable = self._usable(has_step, self._missing(metric, column, rows))
        steps, values = row_steps[usable], metric.values(rows.columns[column][usable])
        metric.check(values, steps)
        writer = f"{column} with {self._entry}" if self._entry else column
        measured = steps, values, elapsed[usable]
        self._series.setdefault(metric.name, []).append(Piece(metric, writer, measured, rows, usable))

    def _missing(self, metric: ColumnMetric, column: str, rows: LoggedRows) -> Flags | None:
        """Return flags of the cells without a value, None if all have one."""
        missing = rows.missing.get(column)
        if not metric.is_nan_missing:
            return missing
        is_nan: Flags = np.isnan(rows.columns[column]) & rows.known(column)
        self._remarks += Counter({NAN_MISSING: int(is_nan.sum())})
        return is_nan if missing is None else missing | is_nan

    def _keep_unstated(self, axis: Axis, metric: ColumnMetric, column: str, rows: LoggedRows) -> None:
        """Keep the positions of a column whose axis doesn't state its offset, as far as they may be from 0."""
        if not self._rule(axis).is_unstated:
            return
        measured = rows.columns[axis.column][rows.known(axis.column) & rows.known(column)]
        if axis.counts != "epochs" and not may_be_nth(measured):
            return
        self._unstated.setdefault((column, metric.name, axis.column), (axis, []))[1].append(measured)
        if measured.min(initial=0.0) < 0:
            check_first(axis, column, measured, is_doubtful=False)

    def _axis_for(self, column: str, rows: LoggedRows) -> Axis | None:
        """Return the first axis of the mapping that these rows have, even empty, and that applies to a logged column.

        What it doesn't state is that of the next such axis of the same column and unit: a format's own.
        """
        others = (rows.columns.keys() | rows.texts.keys()) - {column}
        holding = [axis for axis in self._mapping.axis if axis.column in others and axis.holds(column)]
        if not holding:
            return None
        first = holding[0]
        same = [axis for axis in holding[1:] if (axis.column, axis.counts) == (first.column, first.counts)]
        return self._completed.setdefault((id(first), id(same[0])), first.completed(same[0])) if same else first

    def _places(self, rows: LoggedRows, axis: Axis) -> _Positions:
        """Return the positions of rows on an axis. Raises Refusal for an invalid step or an unknown conversion."""
        has_step, elapsed = rows.known(axis.column), self._elapsed(rows)
        steps = self._rule(axis).steps(rows.columns[axis.column], has_step)
        self._lowest = min(self._lowest, int(steps.min(where=has_step, initial=LARGEST_EXACT_INTEGER)))
        self._check_times(steps, elapsed, has_step)
        return steps, has_step, elapsed

    def _rule(self, axis: Axis) -> StepRule:
        """Return the rule of an axis for the rows that are being read. Raises Refusal for an unknown conversion."""
        key = id(axis), self._entry
        rule = self._rules.get(key)
        if rule is None:
            rule = self._rules[key] = step_rule(axis, self._batch_size, self._fields)
            self._check_epochs(axis)
            if rule.warning:
                self._remarks[rule.warning] = 1
        return rule

    def _on_axis(self, column: str) -> Floats:
        """Return all known positions of the run on an axis."""
        parts = [rows.columns[column][rows.known(column)] for rows in self._log.rows if column in rows.columns]
        return concatenate_pieces(parts)

    def _check_epochs(self, axis: Axis) -> None:
        highest = float(np.nanmax(self._on_axis(axis.column), initial=0.0)) if axis.counts == "epochs" else 0.0
        if highest > self._log.most_epochs:
            what = f"{axis.column} reaches {highest:,.0f}, too many for epochs"
            raise _unknown_axis(what, axis.column, "examples", 'or "steps"')

    def _elapsed(self, rows: LoggedRows) -> Floats:
        """Return the seconds since the start of each row by the first column that it has, NaN if unknown.

        The clock counts only where a log has no time since its start.
        """
        time = self._mapping.time
        names = [name for name in time.columns if name is not None and name in rows.columns]
        since_start = [name for name in names if name != time.wall_time or name == time.elapsed_s]
        elapsed = np.full(len(next(iter(rows.columns.values()))), np.nan)
        for name in since_start or names:
            elapsed = np.where(np.isnan(elapsed), self._seconds(name, rows), elapsed)
        return elapsed

    def _seconds(self, column: str, rows: LoggedRows) -> Floats:
        """Return the seconds since the start in a column with times, NaN if unknown."""
        time = self._mapping.time
        times = rows.columns[column]
        if column == time.wall_time != time.elapsed_s:
            times = times - (np.nan if self._log.started_at is None else self._log.started_at)
        if column == time.elapsed_ms:
            times = times / 1000
        elif column == time.elapsed_min:
            times = times * 60
        missing = rows.missing.get(column)
        unknown = times < 0 if missing is None else missing | (times < 0)
        return np.where(unknown, np.nan, times)

    def _check_times(self, steps: Integers, elapsed: Floats, has_step: Flags) -> None:
        """Leave the times out if they fall, or raise Refusal if the author states them."""
        fall = fall_of_times(steps, elapsed, has_step)
        if fall is None:
            return
        time = self._mapping.time
        what = f"{next(filter(None, time.columns), None)} {fall}"
        if not time.assumed:
            add = 'elapsed_s = ""   # under [time]: leaves the times out; or the name of another column'
            raise mapping_lacks(Rule.BAD_FACT, what, add)
        self._has_times = False
        self._remarks["run whose time falls: stored without times"] = 1

    def _usable(self, has_step: Flags, missing: Flags | None) -> Flags | slice:
        """Return the rows that have a value and a step."""
        if missing is None and has_step.all():
            return slice(None)
        measured = ~missing if missing is not None else np.ones(len(has_step), np.bool_)
        usable: Flags = measured & has_step
        self._remarks += Counter({NO_STEP: int(measured.sum() - usable.sum())})
        return usable

    def _last_written(self, metric: str, pieces: Sequence[Piece]) -> Measured:
        """Return a metric's measurements by ascending step; of several at one step, the last one written.

        Raises Refusal if values at one step differ, unless one column was written again from an earlier step on, or the
        mapping says which counts.
        """
        steps = concatenate_pieces([piece.measured[0] for piece in pieces])
        values = concatenate_pieces([piece.measured[1] for piece in pieces])
        elapsed = concatenate_pieces([piece.measured[2] for piece in pieces])
        if len(steps) < 2 or (steps[1:] > steps[:-1]).all():
            return steps, values, elapsed
        order = np.argsort(steps, kind="stable")
        ordered = steps[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        self._remarks += Counter({OVERWRITTEN: int((~last).sum())})
        check_repeated(metric, pieces, steps, values, order, last)
        chosen = np.flatnonzero(last)
        if any(piece.metric.repeated == "first" for piece in pieces):
            sessions = np.cumsum(np.append(False, steps[1:] < steps[:-1]))[order]
            begins = np.append(True, (ordered[1:] != ordered[:-1]) | (sessions[1:] != sessions[:-1]))
            chosen = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))[chosen]
        rows = order[chosen]
        return steps[rows], values[rows], elapsed[rows]

    def _no_curve(self) -> Refusal:
        """Return the reason why there is no curve: no metric, no axis for it, or no value."""
        logged_columns = {column for rows in self._log.rows for column in rows.columns} - self._axes
        left_out = {column for column in logged_columns if self._mapping.metrics.get(column) == _LEFT_OUT}
        candidates = sorted(logged_columns - left_out or logged_columns)
        if self._unplaced:
            what = f"no axis of the mapping is among the columns of {_join_names(list(self._unplaced))}"
            measured = {column for column, _ in self._metrics}
            axis = next((column for column in candidates if column not in measured), "NAME")
            return _unknown_axis(what, axis, "steps", 'or "examples" or "epochs"')
        if self._series or not candidates:
            return Refusal(Rule.NO_MEASUREMENTS, "the log contains no measurements")
        unmapped = candidates  # none has a metric, or there would be a series
        what = f"none of the columns ({_join_names(unmapped)}) is known as a metric"
        missing = tuple(MissingField(what, metric_line(column)) for column in unmapped[:20])
        return Refusal(Rule.MISSING_FACT, f"{what}: add to the mapping: {missing[0].add}", missing=missing)


def _check_axis(axis: Axis, rows: LoggedRows, fields: Fields) -> None:
    """Raise Refusal for an axis that holds text, or nothing, or numbers that may be thousands."""
    cell = rows.texts.get(axis.column)
    if cell is not None and cell.text:
        raise not_a_number(axis.column, cell)
    is_scaled = stated_number(axis.scale, "scale", f"axis {axis.column}", fields) is not None
    if axis.column in rows.thousands and not is_scaled and axis.counts != "epochs":
        what = f"every {axis.column} is written like 1.000, which is one, or one thousand"
        add = f"[[axis]]\ncolumn = {toml_string(axis.column)}\nscale = 1000   # or 1"
        raise mapping_lacks(Rule.STEP_UNKNOWN, what, add, rows.line_of(0))
    if axis.column not in rows.columns:
        message = f"the axis {axis.column} is an empty column: choose another [[axis]] in the mapping"
        raise Refusal(Rule.STEP_UNKNOWN, message)


def _unknown_axis(what: str, column: str, counts: str, others: str) -> Refusal:
    add = f'[[axis]]\ncolumn = {toml_string(column)}\ncounts = "{counts}"   # {others}'
    return mapping_lacks(Rule.STEP_UNKNOWN, what, add)


def not_a_number(column: str, cell: TextCell) -> Refusal:
    """Return the reason why a column with text among its numbers can't be stored."""
    message = f"{column} is {shown(cell.text)}, neither a number nor a word for a missing value"
    return Refusal(Rule.NOT_A_NUMBER, message, cell.line)


def _join_names(names: Sequence[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(name if len(name) <= 60 else f"{name[:60]}…" for name in names[:limit]) + more
