"""Rules that compare a run with stored trials of its data set and model: too fast, too good, beyond references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from losslake.library.lake import Lake as Library
from losslake_contributions.review.checks.claims import first_step
from losslake_contributions.review.checks.evidence import Curve, Evidence
from losslake_contributions.review.checks.rules import WARNING, Finding, Rule
from losslake_contributions.review.draft import rows_of
from losslake_contributions.review.queries import query
from losslake_schema.names import Trial, Workload
from losslake_schema.reached import Floats, sign_of
from losslake_schema.registry import Goal

TOO_FAST = Rule(
    "too_fast", WARNING, "a goal isn't reached in less than half of the steps that neighbours suggest", needs_base=True
)
BEYOND_REFERENCE = Rule(
    "beyond_reference",
    WARNING,
    "a goal isn't reached with fewer examples than MLPerf's reference runs, by three standard deviations",
    needs_base=True,
)
FAR_BETTER = Rule(
    "far_better", WARNING, "no value is better than all stored ones by over half of their spread", needs_base=True
)
FLAGGED = Rule("flagged", WARNING, "the lake doesn't flag the trial: its number of examples can be right")
RULES = (TOO_FAST, BEYOND_REFERENCE, FAR_BETTER, FLAGGED)

MOST_GOALS = 20
REFERENCES = "mlperf-rcp"
QUALITY_TARGET = "MLPerf Training,"
"""The source of a goal that reference runs reached, whose own logs say only when."""
_NEIGHBOURS, _TOO_FAST, _DEVIATIONS, _LEAST_STORED, _SPREAD = 3, 0.5, 3.0, 5, 0.5


@dataclass(frozen=True)
class _Run:
    name: str
    trial: Trial
    curves: dict[str, Curve]


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings beside stored trials."""
    runs = [_Run(name, trial, evidence.curves(name)) for name, trial in evidence.draft.trials.items()]
    yield from _flagged(evidence, runs)
    if evidence.draft.before is None:
        return
    before = Library(evidence.draft.source, evidence.draft.before)
    tasks: dict[tuple[str, str], list[_Run]] = {}
    for run in runs:
        tasks.setdefault((run.trial.study.workload.dataset, run.trial.study.workload.model), []).append(run)
    for (dataset, model), of_task in tasks.items():
        goals = _goals(evidence, dataset, model)
        for goal in goals:
            yield from _too_fast(before, goal, of_task, _direction(evidence, goal.metric))
            if goal.source.startswith(QUALITY_TARGET):
                points = _reference_points(before, evidence, dataset, model)
                yield from _beyond_reference(goal, of_task, _direction(evidence, goal.metric), points)
        yield from _far_better(evidence, dataset, model, of_task)


def _flagged(evidence: Evidence, runs: Sequence[_Run]) -> Iterator[Finding]:
    """Yield the runs that the lake would flag."""
    if evidence.after is None:
        return
    rows = evidence.after.cursor().sql("SELECT * FROM flags").to_arrow_table().to_pylist()
    flagged = {Trial.of(row) for row in rows}
    for run in runs:
        if run.trial in flagged:
            yield FLAGGED.finding(
                run.name, "", "its examples can't be right beside other batch sizes: check batch size, steps and unit"
            )


def _goals(evidence: Evidence, dataset: str, model: str) -> list[Goal]:
    """Return the goals of the workloads of a data set and model, each metric and target once, MLPerf's first."""
    view = evidence.after
    of_task = [g for g in view.goals if (g.workload.dataset, g.workload.model) == (dataset, model)] if view else []
    distinct: dict[tuple[str, float], Goal] = {}
    for goal in sorted(of_task, key=lambda each: (not each.source.startswith(QUALITY_TARGET), each.workload)):
        distinct.setdefault((goal.metric, goal.target), goal)
    return list(distinct.values())[:MOST_GOALS]


def _direction(evidence: Evidence, metric: str) -> str | None:
    registered = evidence.after.metrics.get(metric) if evidence.after is not None else None
    return registered.direction if registered is not None else None


def _reached(runs: Sequence[_Run], goal: Goal, direction: str | None) -> list[tuple[_Run, int]]:
    """Return the runs that reach a goal after step 0, with their steps."""
    reached = []
    for run in runs:
        curve = run.curves.get(goal.metric)
        steps = first_step(curve, goal.target, direction, goal.comparator) if curve and direction else None
        if steps:
            reached.append((run, steps))
    return reached


def _too_fast(before: Library, goal: Goal, runs: Sequence[_Run], direction: str | None) -> Iterator[Finding]:
    reached = _reached(runs, goal, direction)
    pattern = str(Workload("*", goal.workload.dataset, goal.workload.model, "*"))
    parameters = {"workload": pattern, "metric": goal.metric, "target": goal.target, "comparator": goal.comparator}
    rows = rows_of(before, "scaling", parameters) if reached else []
    stored = [(row["batch_size"], row["steps"]) for row in rows if row["steps"]]
    for run, steps in reached:
        least = least_steps(run.trial.study.batch_size, [size for size, _ in stored], [fewest for _, fewest in stored])
        if least is not None and steps < _TOO_FAST * least:
            yield TOO_FAST.finding(
                run.name,
                f"{goal.metric} {goal.target:g}",
                f"it takes {steps:,} steps, and stored trials at neighbouring batch sizes suggest {least:,.0f}: check "
                "batch size, steps and data, or say in the note what is new",
            )


def least_steps(batch_size: int, sizes: Sequence[int], steps: Sequence[int]) -> float | None:
    """Return the steps that a batch size should take at least by its neighbours; None without any.

    The fewest steps never rise with the batch size, the fewest examples never fall. So each of three batch sizes from
    this one up gives its steps, each of three from it down its examples over this batch size; the median counts.
    """
    pairs = sorted(zip(sizes, steps, strict=True))
    above = [float(fewest) for size, fewest in pairs if size >= batch_size][:_NEIGHBOURS]
    below = [fewest * size / batch_size for size, fewest in pairs if size <= batch_size][-_NEIGHBOURS:]
    return float(np.median([*above, *below])) if above or below else None


_Point = tuple[str, int, float, float]
# A workload of reference runs, a batch size, and the mean and the deviation of examples.


def _reference_points(before: Library, evidence: Evidence, dataset: str, model: str) -> list[_Point]:
    """Return MLPerf's reference points of a data set and model."""
    workloads = evidence.before.workloads if evidence.before is not None else ()
    named = [each for each in workloads if (each.dataset, each.model) == (dataset, model)]
    references = [each for each in named if each.collection.partition("/")[0] == REFERENCES]
    rows = [row for workload in sorted(references) for row in rows_of(before, "rcp", {"workload": str(workload)})]
    return [(r["workload"], r["batch_size"], r["mean"], r["stdev"]) for r in rows if r["mean"] is not None]


def _beyond_reference(
    goal: Goal, runs: Sequence[_Run], direction: str | None, points: Sequence[_Point]
) -> Iterator[Finding]:
    for run, steps in _reached(runs, goal, direction):
        size = run.trial.study.batch_size
        for workload in dict.fromkeys(name for name, *_ in points):
            least = least_examples(size, [(batch, mean, dev) for name, batch, mean, dev in points if name == workload])
            if least is not None and steps * size < least:
                yield BEYOND_REFERENCE.finding(
                    run.name,
                    f"{goal.metric} {goal.target:g}",
                    f"it takes {steps * size:,} examples, and the reference runs of {workload} take at least "
                    f"{least:,.0f} (mean less three standard deviations): check batch size, steps and target",
                )


def least_examples(batch_size: int, points: Sequence[tuple[int, float, float]]) -> float | None:
    """Return the mean less three standard deviations at a batch size, interpolated between reference points.

    points: batch size, mean and deviation. None above the largest; below the smallest, its own, as MLPerf does.
    """
    ordered = sorted(points)
    if not ordered or batch_size > ordered[-1][0]:
        return None
    sizes, means, deviations = (np.array(column, np.float64) for column in zip(*ordered, strict=True))
    return float(np.interp(batch_size, sizes, means) - _DEVIATIONS * np.interp(batch_size, sizes, deviations))


def _far_better(evidence: Evidence, dataset: str, model: str, runs: Sequence[_Run]) -> Iterator[Finding]:
    statement = query("best_values")
    assert evidence.before is not None
    for metric in sorted({metric for run in runs for metric in run.curves}):
        direction = _direction(evidence, metric)
        if direction is None:
            continue
        parameters = {"dataset": dataset, "model": model, "metric": metric}
        rows = evidence.before.cursor().execute(statement, parameters).fetchall()
        losses = np.array([least if direction == "minimize" else -most for least, most in rows], np.float64)
        for run in runs:
            values = run.curves[metric].values if metric in run.curves else np.empty(0)
            finite = sign_of(direction) * values[np.isfinite(values)]
            if len(finite) and is_far_better(float(finite.min()), losses):
                best, stored = (sign_of(direction) * loss for loss in (finite.min(), losses.min()))
                yield FAR_BETTER.finding(
                    run.name,
                    metric,
                    f"its best value is {best:g}, and that of {len(losses):,} stored trials {stored:g}: check data, "
                    "split and unit, or say in the note what is new",
                )


def is_far_better(loss: float, stored: Floats) -> bool:
    """Return True if a loss is below the least stored one by over half of that one's distance to their median.

    Fewer than five stored ones say nothing.
    """
    if len(stored) < _LEAST_STORED:
        return False
    least = float(stored.min())
    return loss < least - _SPREAD * (float(np.median(stored)) - least) and loss < least
