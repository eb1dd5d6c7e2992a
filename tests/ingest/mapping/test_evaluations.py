"""From rows to a curve, against a plain reading of the rule: the last word of the log on each metric and step."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import LoggedRows, RunLog
from losslake_ingest.contracts.study import Curves
from losslake_ingest.mapping.evaluations import NO_STEP, OVERWRITTEN, curve_of
from losslake_ingest.mapping.mapping import Axis, LogMapping, MetricLine, TimeColumns
from losslake_ingest.mapping.template import Template


def line(metric: str) -> MetricLine:
    return MetricLine(Template(metric))


MAPPING = LogMapping(
    metrics={"a": line("val/loss"), "b": line("val/f1")}, axis=[Axis("step")], time=TimeColumns("time")
)
Cell = float | None
Written = list[tuple[Cell, dict[str, Cell]]]
cell = st.none() | st.integers(0, 2**16 - 1).map(lambda bits: float(np.uint16(bits).view(np.float16)))
row = st.tuples(
    st.none() | st.integers(0, 6).map(float),
    st.fixed_dictionaries({"a": cell, "b": cell, "time": st.none() | st.floats(0, 9)}),
)
tables = st.lists(st.lists(row, min_size=1, max_size=8), min_size=1, max_size=4)


def logged(rows: Written) -> LoggedRows:
    cells = {"step": [step for step, _ in rows], **{name: [values[name] for _, values in rows] for name in rows[0][1]}}
    columns = {name: np.array([math.nan if c is None else c for c in column]) for name, column in cells.items()}
    missing = {name: np.array([c is None for c in column]) for name, column in cells.items() if None in column}
    return LoggedRows(columns, missing)


def run_of(*pieces: Written) -> RunLog:
    return RunLog("run", {}, [logged(rows) for rows in pieces])


def plain(curve: Curves) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}
    for metric, values in curve.values.items():
        absent = curve.missing.get(metric, np.zeros(len(values), bool))
        found[metric] = [
            (int(step), repr(float(value)))
            for step, value, gone in zip(curve.steps, values, absent, strict=True)
            if not gone
        ]
    return found


def conflicts(pieces: list[Written], column: str) -> bool:
    """Two different values of a column at one step, with no earlier step and no new rows between them."""
    for rows in pieces:
        seen: dict[float, str] = {}
        before = -1.0
        for step, values in rows:
            value = values[column]
            if step is None or value is None:
                continue
            if step < before:
                seen = {}
            if seen.setdefault(step, repr(float(value) + 0.0)) != repr(float(value) + 0.0):
                return True
            before = step
    return False


def collapses(pieces: list[Written]) -> bool:
    """More than two values of a column that are all at one step, and differ, or are the whole curve."""
    rows = [row for piece in pieces for row in piece]
    cells = {c: [(s, repr(v[c] + 0.0)) for s, v in rows if s is not None and v[c] is not None] for c in ("a", "b")}  # type: ignore[operator]
    steps = {step for own in cells.values() for step, _ in own}
    return any(
        len(own) > 2 and len({step for step, _ in own}) == 1 and (len(steps) == 1 or len(set(own)) > 1)
        for own in cells.values()
    )


def begins_again(pieces: list[Written], column: str) -> bool:
    """Whether rows of a column follow that begin at the lowest step of all, and aren't some of those before."""
    lowest = min((step for rows in pieces for step, _ in rows if step is not None), default=0.0)
    sessions: list[dict[float, str]] = []
    are_beside: list[bool] = []  # the first rows of a piece
    before = math.inf
    for rows in pieces:
        is_first = True
        for step, values in rows:
            value = values[column]
            if step is not None and value is not None:
                if step < before:
                    sessions.append({})
                    are_beside.append(is_first)
                sessions[-1][step] = repr(float(value) + 0.0)
                before, is_first = step, False
    one: dict[float, str] = {}
    for (before_it, other), is_beside in zip(itertools.pairwise(sessions), are_beside[1:], strict=True):
        one |= before_it
        common = one.keys() & other.keys()
        is_apart = not is_beside and len(one) >= 4 and max(other) > min(one)
        is_other = any(one[step] != other[step] for step in common) if common else is_apart
        if is_other and min(len(one), len(other)) > 1 and min(other) <= lowest:
            return True
    return False


def time_falls(pieces: list[Written]) -> bool:
    """Whether a row is earlier than the one before, at a lower step, or after a restart than any at a lower step."""
    for rows in pieces:
        timed = [(step, values["time"]) for step, values in rows if step is not None and values["time"] is not None]
        for at in range(1, len(timed)):
            (before, then), (step, now) = timed[at - 1], timed[at]
            is_restart = step < before or (step == before and now < then)
            lower = [time for other, time in timed[:at] if other < step] if is_restart else []
            if any(time > now for time in lower) or (before < step and now < then):
                return True
    return False


@given(tables)
def test_curve_has_the_last_value_of_each_metric_and_step_unless_two_disagree(pieces: list[Written]) -> None:
    expected: dict[str, dict[int, str]] = {}
    overwritten = without_step = 0
    for column, metric in (("a", "val/loss"), ("b", "val/f1")):
        for rows in pieces:
            for step, values in rows:
                value = values[column]
                if value is not None and step is None:
                    without_step += 1
                elif value is not None and step is not None:
                    own = expected.setdefault(metric, {})
                    overwritten += int(step) in own
                    own[int(step)] = repr(float(value))
    if not expected:
        with pytest.raises(Refusal, match="contains no measurements"):
            curve_of(run_of(*pieces), MAPPING, 8, {})
        return
    disagree = any(found(pieces, column) for found in (conflicts, begins_again) for column in ("a", "b"))
    rules = {Rule.VALUES_DISAGREE} if disagree else set()
    rules |= {Rule.STEP_UNKNOWN} if collapses(pieces) else set()
    rules |= {Rule.BAD_FACT} if time_falls(pieces) else set()
    if rules:
        with pytest.raises(Refusal) as refusal:
            curve_of(run_of(*pieces), MAPPING, 8, {})
        assert refusal.value.rule in rules
        return
    found = curve_of(run_of(*pieces), MAPPING, 8, {})
    assert plain(found.curve) == {metric: sorted(own.items()) for metric, own in expected.items()}
    assert found.remarks.get(OVERWRITTEN, 0) == overwritten
    assert found.remarks.get(NO_STEP, 0) == without_step
    assert (np.diff(found.curve.steps) > 0).all()


def test_two_columns_of_one_metric_are_refused_where_they_differ_and_are_one_where_they_agree() -> None:
    both = replace(MAPPING, metrics={"a": line("val/loss"), "b": line("val/loss")})
    with pytest.raises(Refusal, match=r"val/loss has two values at step 1, 0.5 \(a\) and 0.25 \(b\)") as refusal:
        curve_of(run_of([(1.0, {"a": 0.5, "b": 0.25})]), both, 8, {})
    assert refusal.value.rule == Rule.VALUES_DISAGREE
    assert plain(curve_of(run_of([(1.0, {"a": 0.5, "b": 0.5})]), both, 8, {}).curve) == {"val/loss": [(1, "0.5")]}


def test_after_a_restart_from_an_earlier_step_the_last_value_counts() -> None:
    written = ((1.0, 0.9), (2.0, 0.8), (3.0, 0.7), (2.0, 0.6), (3.0, 0.5))
    rows: Written = [(step, {"a": value}) for step, value in written]
    assert plain(curve_of(run_of(rows), MAPPING, 8, {}).curve) == {"val/loss": [(1, "0.9"), (2, "0.6"), (3, "0.5")]}


def test_entries_that_are_all_at_one_step_are_refused() -> None:
    entries: list[Written] = [[(0.0, {"a": value})] for value in (0.9, 0.8, 0.7)]
    with pytest.raises(Refusal, match="all 3 measurements of val/loss are at step 0") as refusal:
        curve_of(run_of(*entries), MAPPING, 8, {})
    assert refusal.value.rule == Rule.STEP_UNKNOWN
    stated = replace(MAPPING, metrics={"a": MetricLine(Template("val/loss"), repeated="last")})
    assert plain(curve_of(run_of(*entries), stated, 8, {}).curve) == {"val/loss": [(0, "0.7")]}


POSITIONS = np.array([0.0, 0.5, 1.0, 2.0])
RUN = RunLog("run", {}, [LoggedRows({"epoch": POSITIONS, "a": np.arange(4.0), "lr": np.arange(4.0)})])


def by(axis: Axis) -> LogMapping:
    return replace(MAPPING, axis=[axis])


def test_steps_from_epochs_are_epochs_times_examples_by_batch_size_to_the_nearest() -> None:
    found = curve_of(RUN, by(Axis("epoch", "epochs", Template("{n}"))), 64, {"n": 1000})
    assert found.curve.steps.tolist() == [0, 8, 16, 31]
    assert found.computed_steps == ["epoch x 1000 / 64"]


def test_steps_from_examples_are_examples_by_batch_size() -> None:
    run = RunLog("run", {}, [LoggedRows({"samples": np.array([0.0, 12288.0, 24544.0]), "a": np.arange(3.0)})])
    found = curve_of(run, by(Axis("samples", "examples")), 32, {})
    assert found.curve.steps.tolist() == [0, 384, 767]
    assert found.computed_steps == ["samples / 32"]


def test_logged_steps_are_unchanged_and_have_no_formula() -> None:
    run = RunLog("run", {}, [LoggedRows({"step": np.array([3.0, 1.0]), "a": np.array([0.3, 0.1])})])
    found = curve_of(run, MAPPING, 32, {})
    assert (found.curve.steps.tolist(), found.computed_steps) == ([1, 3], [])


def test_unmapped_columns_are_dropped_and_listed() -> None:
    assert curve_of(RUN, by(Axis("epoch", "epochs", Template(2))), 1, {}).left_out == ["lr"]


def test_axis_can_apply_to_some_columns_only() -> None:
    rows = LoggedRows({"step": np.array([10.0]), "epoch": np.array([1.0]), "a": np.array([0.5]), "b": np.array([0.5])})
    axes = [Axis("epoch", "epochs", Template(100), ["b"]), Axis("step")]
    found = curve_of(RunLog("run", {}, [rows]), replace(MAPPING, axis=axes), 1, {})
    assert plain(found.curve) == {"val/loss": [(10, "0.5")], "val/f1": [(100, "0.5")]}


def test_one_column_can_be_two_axes() -> None:
    rows = LoggedRows({"x": np.array([1.0]), "a": np.array([0.5]), "b": np.array([0.5])})
    axes = [Axis("x", "epochs", Template(100), ["b"]), Axis("x")]
    found = curve_of(RunLog("run", {}, [rows]), replace(MAPPING, axis=axes), 1, {})
    assert plain(found.curve) == {"val/loss": [(1, "0.5")], "val/f1": [(100, "0.5")]}


def test_a_metric_without_an_axis_is_left_out_and_counted() -> None:
    rows = LoggedRows({"step": np.array([1.0]), "a": np.array([0.5])})
    other = LoggedRows({"time": np.array([1.0]), "b": np.array([0.5])})
    found = curve_of(RunLog("run", {}, [rows, other]), MAPPING, 1, {})
    assert list(found.curve.values) == ["val/loss"]
    assert found.remarks == {"column 'b' left out: no [[axis]] applies to it": 1}


def test_wall_time_counts_from_the_start_of_the_run_and_never_below_zero() -> None:
    rows = LoggedRows({"step": np.array([0.0, 1.0, 2.0]), "t": np.array([90.0, 105.0, 130.5]), "a": np.arange(3.0)})
    mapping = replace(MAPPING, time=TimeColumns(wall_time="t"))
    found = curve_of(RunLog("run", {}, [rows], started_at=100.0), mapping, 1, {})
    assert found.curve.elapsed_s is not None
    assert np.isnan(found.curve.elapsed_s[0])
    assert found.curve.elapsed_s[1:].tolist() == [5.0, 30.5]


def test_milliseconds_count_as_seconds_where_a_log_has_no_seconds() -> None:
    rows = {"step": np.array([0.0, 1.0]), "ms": np.array([250.0, 1500.0]), "a": np.arange(2.0)}
    mapping = replace(MAPPING, time=TimeColumns("s", "ms"))
    for seconds, expected in ({}, [0.25, 1.5]), ({"s": np.array([3.0, 4.0])}, [3.0, 4.0]):
        found = curve_of(RunLog("run", {}, [LoggedRows(rows | seconds)]), mapping, 1, {})
        assert found.curve.elapsed_s is not None
        assert found.curve.elapsed_s.tolist() == expected


@pytest.mark.parametrize(
    ("positions", "axis", "rule"),
    [
        ([-1.0], Axis("step"), Rule.NEGATIVE_STEP),
        ([0.5], Axis("step"), Rule.BAD_STEP),
        ([math.nan], Axis("step"), Rule.BAD_STEP),
        ([math.inf], Axis("step"), Rule.BAD_STEP),
        ([2.0**53], Axis("step"), Rule.BAD_STEP),
        ([1e300], Axis("step", "epochs", Template(1e9)), Rule.BAD_STEP),
        ([1.0], Axis("step", "epochs", Template("{unsaid}")), Rule.STEP_UNKNOWN),
        ([1.0], Axis("step", "epochs", Template("none")), Rule.BAD_FACT),
        ([1.0], Axis("step", "epochs", Template(0)), Rule.BAD_FACT),
        ([1.0], Axis("other"), Rule.STEP_UNKNOWN),
    ],
)
def test_a_position_that_is_no_step_refuses_the_run(positions: list[float], axis: Axis, rule: Rule) -> None:
    run = RunLog("run", {}, [LoggedRows({"step": np.array(positions), "a": np.zeros(len(positions))})])
    with pytest.raises(Refusal) as refusal:
        curve_of(run, by(axis), 1, {})
    assert refusal.value.rule == rule


def test_a_run_without_a_known_column_says_which_line_to_add() -> None:
    run = RunLog("run", {}, [LoggedRows({"step": np.array([1.0]), "eval_wer": np.array([0.5])})])
    with pytest.raises(Refusal) as refusal:
        curve_of(run, MAPPING, 1, {})
    assert refusal.value.missing[0].add.startswith('eval_wer = "val/word_error_rate"')


def test_a_run_without_measurements_is_refused() -> None:
    run = RunLog("run", {}, [LoggedRows({"step": np.zeros(0), "a": np.zeros(0)})])
    with pytest.raises(Refusal) as refusal:
        curve_of(run, MAPPING, 1, {})
    assert refusal.value.rule == Rule.NO_MEASUREMENTS


UNITS = replace(MAPPING, time=TimeColumns("s", "ms", "min", "clock"))
digit = st.none() | st.integers(0, 9).map(float)
timed = st.lists(st.fixed_dictionaries(dict.fromkeys(("a", "s", "ms", "min", "clock"), digit)), min_size=1, max_size=6)


def seconds(cells: dict[str, Cell]) -> float | None:
    """The time of a row: the first column that it has, apart from the clock."""
    for name, unit in (("s", 1.0), ("ms", 0.001), ("min", 60.0)):
        value = cells[name]
        if value is not None:
            return value / 1000 if name == "ms" else value * unit
    return None


@given(timed)
def test_a_step_has_the_first_time_of_its_row_or_that_of_rows_without_metrics(cells: list[dict[str, Cell]]) -> None:
    rows = [(float(at // 2), each) for at, each in enumerate(cells)]  # two rows at each step
    log = RunLog("run", {}, [logged([(step, {**each, "b": None}) for step, each in rows])], started_at=0.0)
    times = [time for _, each in rows if (time := seconds(each)) is not None]
    expected: dict[int, float | None] = {}
    for step in sorted({step for step, each in rows if each["a"] is not None}):
        at_step = [each for other, each in rows if other == step]
        if len({each["a"] for each in at_step} - {None}) > 1:
            return
        with_metric = [seconds(each) for each in at_step if each["a"] is not None]
        bare = [seconds(each) for each in at_step if each["a"] is None]
        known = [time for time in with_metric[-1:] or bare if time is not None] or [t for t in bare if t is not None]
        expected[int(step)] = known[-1] if known else None
    if not expected or times != sorted(times):
        return
    curve = curve_of(log, UNITS, 1, {}).curve
    found = curve.elapsed_s if curve.elapsed_s is not None else np.full(len(curve.steps), np.nan)
    assert {int(s): None if math.isnan(t) else t for s, t in zip(curve.steps, found, strict=True)} == expected


def test_the_clock_counts_only_in_logs_without_a_time_since_their_start() -> None:
    written: Written = [(1.0, {"a": 0.5, "clock": 107.0}), (2.0, {"a": 0.25, "clock": 109.0})]
    log = replace(run_of(written), started_at=100.0)
    of_clock = curve_of(log, UNITS, 1, {}).curve.elapsed_s
    assert of_clock is not None
    assert of_clock.tolist() == [7.0, 9.0]
    both: Written = [(1.0, {"a": 0.5, "min": None, "clock": 107.0}), (2.0, {"a": 0.25, "min": 0.1, "clock": 109.0})]
    found = curve_of(replace(run_of(both), started_at=100.0), UNITS, 1, {}).curve.elapsed_s
    assert found is not None
    assert np.isnan(found[0])
    assert found[1] == 0.1 * 60
