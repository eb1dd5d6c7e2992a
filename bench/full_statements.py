"""SQL over a release at full scale, opened as `losslake sql` does, with checks of the rows."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from bench.answers import results_of, statement
from bench.asking import expect
from bench.growth import Figure
from bench.measure import milliseconds
from bench.published import published
from bench.truth import StudyTruth
from losslake.index.serving import open_release
from losslake.lake.lake import Lake

ROUNDS, LONG_MS = 3, 3000.0
STATEMENTS = ("count_measurements", "best_values", "steps_to_target", "extreme_values")


@dataclass(frozen=True)
class TimedStatement:
    """A statement: its rows, and the milliseconds of each time it was run."""

    name: str
    rows: list[tuple[Any, ...]]
    times: Sequence[float]

    def figure(self) -> Figure:
        return Figure(f"SQL: {self.name.replace('_', ' ')}", statistics.median(self.times) / 1000, "s")


def measure_sql(folder: Path, truths: Sequence[StudyTruth]) -> tuple[Figure, ...]:
    """Measure each statement: the median of three runs unless one takes long. Raises WrongAnswer."""
    lake = Lake.open(folder)
    connection = open_release(lake, lake.release())
    connection.execute("SET enable_progress_bar = false")
    (metric, goal), _ = Counter((truth.metric, truth.goal) for truth in truths).most_common(1)[0]
    goals = {"metric": metric, "target": goal}
    count, best, steps, extremes = (
        _timed(connection, name, goals if name == "steps_to_target" else {}) for name in STATEMENTS
    )
    expect("the number of measurements", count.rows, [(sum(map(measurements_of, truths)),)])
    right = results_of(truth for truth in truths if (truth.metric, truth.goal) == (metric, goal))
    reached = [("/".join(row[:4]), *row[4:]) for row in steps.rows]
    workloads = {row[0] for row in right}
    expect(f"steps to {metric} {goal}", sorted(row for row in reached if row[0] in workloads), sorted(right))
    _check_values(truths, best.rows, extremes.rows)
    return tuple(timed.figure() for timed in (count, best, steps, extremes))


def measurements_of(truth: StudyTruth) -> int:
    """Return the number of measurements of a study: every evaluation has all metrics."""
    return truth.evaluations * len(metrics_of(truth))


def metrics_of(truth: StudyTruth) -> list[str]:
    """Return the metrics of a study."""
    (measured,) = (workload.metrics for workload in published() if truth.workload.partition("/")[2] == workload.path)
    return [f"{split}/{quantity}" for split in measured.splits for quantity in measured.quantities]


def _timed(connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, Any]) -> TimedStatement:
    rows: list[tuple[Any, ...]] = []
    times: list[float] = []

    def run() -> None:
        rows[:] = connection.execute(statement(name), parameters).fetchall()

    while len(times) < ROUNDS and sum(times) < LONG_MS:
        times.append(milliseconds(run))
    return TimedStatement(name, rows, times)


def _check_values(
    truths: Sequence[StudyTruth], best: Sequence[tuple[Any, ...]], extremes: Sequence[tuple[Any, ...]]
) -> None:
    """Raise WrongAnswer unless records and measurements have the same best values, and none is missing."""
    counts = {("/".join(row[:4]), row[4]): row[5] for row in extremes}
    bounds = {("/".join(row[:4]), row[4]): row[6:] for row in extremes}
    right = {
        (str(workload), metric): sum(truth.evaluations for truth in studies)
        for workload, studies in _by_workload(truths)
        for metric in metrics_of(studies[0])
    }
    expect("evaluations by workload and metric", counts, right)
    records = {("/".join(row[:4]), row[4]): row[5] for row in best}
    for (workload, metric), (least, greatest) in bounds.items():
        is_maximized = metric.endswith("/average_precision")
        expect(f"the best {metric} of {workload}", records[workload, metric], greatest if is_maximized else least)


def _by_workload(truths: Sequence[StudyTruth]) -> Iterator[tuple[str, list[StudyTruth]]]:
    for workload, studies in groupby(truths, key=lambda truth: truth.workload):
        yield workload, list(studies)
