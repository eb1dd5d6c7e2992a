"""Rules that compare a run with stored trials of its data set and model: too fast, too good, beyond references."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from losslake.library.lake import Lake as Library
from losslake.questions.release.view import ReleaseView
from losslake_contributions.review.checks.claims import first_step
from losslake_contributions.review.checks.evidence import Curve, Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_contributions.review.draft import rows_of
from losslake_contributions.review.queries import query
from losslake_schema.names import CHANGES, Trial, Workload
from losslake_schema.reached import Floats, sign_of
from losslake_schema.registry import Goal

MOST_GOALS = 20
QUALITY_TARGET = "MLPerf Training,"
"""The source of a goal that reference runs reached, whose own logs say only when."""
_NEIGHBOURS, _TOO_FAST, _DEVIATIONS, _LEAST_STORED, _SPREAD = 3, 0.5, 3.0, 5, 0.5


@dataclass(frozen=True)
class _Run:
    name: str
    trial: Trial
    curves: Mapping[str, Curve]

    @property
    def batch_size(self) -> int:
        """The batch size."""
        return self.trial.study.batch_size


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings beside stored trials."""
    before, after = evidence.before, evidence.after
    if after is None:
        return
    runs = [_Run(name, trial, evidence.curves(name)) for name, trial in evidence.draft.trials.items()]
    yield from _flagged(after, runs)
    library = evidence.draft.library(evidence.draft.before)
    if before is None or library is None:
        return
    tasks: defaultdict[tuple[str, str], list[_Run]] = defaultdict(list)
    for run in runs:
        tasks[run.trial.study.workload.dataset, run.trial.study.workload.model].append(run)
    for task, of_task in tasks.items():
        for goal in _goals(after, task):
            # Those that change their batch size have no neighbours.
            of_one_size = [run for run in of_task if run.batch_size != CHANGES]
            reached = _reached(of_one_size, goal, _direction(after, goal.metric))
            yield from _too_fast(library, goal, reached)
            if reached and goal.source.startswith(QUALITY_TARGET):
                yield from _beyond_reference(goal, reached, _reference_points(library, before, task))
        yield from _far_better(before, after, task, of_task)


def _flagged(after: ReleaseView, runs: Sequence[_Run]) -> Iterator[Finding]:
    """Yield the runs that the lake would flag."""
    flagged = {Trial.of(row) for row in query(after, "flagged_trials").to_pylist()}
    message = "its examples can't be right beside other batch sizes: check batch size, steps and unit"
    for run in runs:
        if run.trial in flagged:
            yield finding("flagged", run.name, "", message)


def _goals(view: ReleaseView, task: tuple[str, str]) -> list[Goal]:
    """Return the goals of the workloads of a data set and model, each metric and target once, MLPerf's first."""
    of_task = [goal for goal in view.goals if (goal.workload.dataset, goal.workload.model) == task]
    distinct: dict[tuple[str, float], Goal] = {}
    for goal in sorted(of_task, key=lambda each: (not each.source.startswith(QUALITY_TARGET), each.workload)):
        distinct.setdefault((goal.metric, goal.target), goal)
    return list(distinct.values())[:MOST_GOALS]


def _direction(view: ReleaseView, metric: str) -> str | None:
    return view.metrics[metric].direction if metric in view.metrics else None


def _reached(runs: Sequence[_Run], goal: Goal, direction: str | None) -> list[tuple[_Run, int]]:
    """Return the runs that reach a goal after step 0, with their steps."""
    reached = []
    for run in runs:
        curve = run.curves.get(goal.metric)
        steps = first_step(curve, goal.target, direction, goal.comparator) if curve and direction else None
        if steps:
            reached.append((run, steps))
    return reached


def _too_fast(before: Library, goal: Goal, reached: Sequence[tuple[_Run, int]]) -> Iterator[Finding]:
    """Yield the runs that reach a goal in far fewer steps than stored trials of other batch sizes suggest."""
    pattern = str(Workload("*", goal.workload.dataset, goal.workload.model, "*"))
    parameters = {"workload": pattern, "metric": goal.metric, "target": goal.target, "comparator": goal.comparator}
    rows = rows_of(before, "scaling", parameters) if reached else []
    stored = [(row["batch_size"], row["steps"]) for row in rows if row["steps"] and row["batch_size"]]
    for run, steps in reached:
        least = least_steps(run.batch_size, stored)
        if least is not None and steps < _TOO_FAST * least:
            message = f"it takes {steps:,} steps, and stored trials at neighbouring batch sizes suggest {least:,.0f}"
            advice = "check batch size, steps and data, or say in the note what is new"
            yield finding("too_fast", run.name, f"{goal.metric} {goal.target:g}", f"{message}: {advice}")


def least_steps(batch_size: int, stored: Sequence[tuple[int, int]]) -> float | None:
    """Return the steps that a batch size should take at least by its neighbours; None without any.

    stored: batch sizes, each with its fewest steps.

    The fewest steps never rise with the batch size, the fewest examples never fall. So each of three batch sizes from
    this one up gives its steps, each of three from it down its examples over this batch size; the median counts.
    """
    above = [float(fewest) for size, fewest in sorted(stored) if size >= batch_size][:_NEIGHBOURS]
    below = [fewest * size / batch_size for size, fewest in sorted(stored) if size <= batch_size][-_NEIGHBOURS:]
    return float(np.median([*above, *below])) if above or below else None


_Points = Mapping[str, Sequence[tuple[int, float, float]]]
# By workload of reference runs: batch size, mean and deviation of examples.


def _reference_points(before: Library, view: ReleaseView, task: tuple[str, str]) -> _Points:
    """Return MLPerf's reference points of a data set and model."""
    points: defaultdict[str, list[tuple[int, float, float]]] = defaultdict(list)
    of_task = (facts for name, facts in view.workloads.items() if (name.dataset, name.model) == task)
    for workload in sorted(facts.workload for facts in of_task if facts.is_reference):
        for row in rows_of(before, "rcp", {"workload": str(workload)}):
            if row["mean"] is not None:
                points[row["workload"]].append((row["batch_size"], row["mean"], row["stdev"]))
    return points


def _beyond_reference(goal: Goal, reached: Sequence[tuple[_Run, int]], points: _Points) -> Iterator[Finding]:
    """Yield the runs that reach a goal with far fewer examples than reference runs, for each workload of these."""
    for run, steps in reached:
        n_examples = steps * run.batch_size
        for workload, of_workload in points.items():
            least = least_examples(run.batch_size, of_workload)
            if least is not None and n_examples < least:
                yield finding(
                    "beyond_reference",
                    run.name,
                    f"{goal.metric} {goal.target:g}",
                    f"it takes {n_examples:,} examples, and the reference runs of {workload} take at least "
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


def _far_better(
    before: ReleaseView, after: ReleaseView, task: tuple[str, str], runs: Sequence[_Run]
) -> Iterator[Finding]:
    """Yield the runs with a value that is far better than all stored ones of their data set and model."""
    for metric in sorted({metric for run in runs for metric in run.curves}):
        direction = _direction(after, metric)
        if direction is None:
            continue
        sign = sign_of(direction)
        stored = query(before, "best_values", {"dataset": task[0], "model": task[1], "metric": metric})
        losses = sign * stored["least" if direction == "minimize" else "greatest"].to_numpy()
        for run in runs:
            values = run.curves[metric].values if metric in run.curves else np.empty(0)
            finite = sign * values[np.isfinite(values)]
            if len(finite) and is_far_better(float(finite.min()), losses):
                best, best_stored = sign * finite.min(), sign * losses.min()
                advice = "check data, split and unit, or say in the note what is new"
                message = f"its best value is {best:g}, and that of {len(losses):,} stored trials {best_stored:g}"
                yield finding("far_better", run.name, metric, f"{message}: {advice}")


def is_far_better(loss: float, stored: Floats) -> bool:
    """Return True if a loss is below the least stored one by over half of that one's distance to their median.

    Fewer than five stored ones say nothing.
    """
    if len(stored) < _LEAST_STORED:
        return False
    least = float(stored.min())
    return loss < least - _SPREAD * (float(np.median(stored)) - least) and loss < least
