"""Reference lines: the usual steps of other workloads to goals of their own, to be drawn beside an answer.

Such as MLPerf's reference runs, of which only the point of convergence is published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np

from losslake.output.rows import shown
from losslake.questions.declaration.summary import Summary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import CONVERGED
from losslake.questions.trials.scaling_curve import trial_steps
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Workload


class ReferencePoint(Summary):
    """The usual steps of a reference at a batch size."""

    workload: Annotated[str, shown("mlperf-rcp/imagenet/resnet/*")]
    """The reference, as the request has it."""
    metric: Annotated[str, shown(CONVERGED)]
    """The metric of its goal, the first that it has."""
    target: Annotated[float, shown(1.0, "unit of the metric")]
    batch_size: int
    n_trials: Annotated[int, shown(20, "trials")]
    """Trials that are COMPLETE or MISSED."""
    n_reached: Annotated[int, shown(20, "trials")]
    """Number of these that reached the goal."""
    median_steps: Annotated[float | None, shown(13738.0, "steps")]
    """Median of their steps to the goal; null if half of them or fewer reached it."""


def reference_points(view: ReleaseView, references: Sequence[str]) -> list[dict[str, Any]]:
    """Return the usual steps of references by batch size; raises UnknownName and BadParameter.

    references: workloads, or patterns that pool some.
    """
    return [point for name in dict.fromkeys(references) for point in _points(view, name)]


def reference_of(view: ReleaseView, workload: Workload) -> str | None:
    """Return the pattern of the reference runs of the workload's dataset and model; None if there are none."""
    for each, facts in view.workloads.items():
        is_alike = (each.dataset, each.model) == (workload.dataset, workload.model)
        if is_alike and each.collection != workload.collection and facts.is_reference:
            return f"{each.collection}/{each.dataset}/{each.model}/*"
    return None


def _points(view: ReleaseView, name: str) -> Iterator[dict[str, Any]]:
    named = parse_workload(name, "reference")
    workloads = {facts.workload for facts in view.matching(named)}
    goal = next((each for each in view.goals if each.workload in workloads), None)
    if goal is None:
        raise BadParameter("reference", f"'{name}' has no goal: give a reference that has one")
    search = open_search(view, Selection((named,), goal.metric), named)
    steps = trial_steps(search, Goal(goal.target, goal.comparator))
    for size, rows in zip(search.facts.batch_sizes, search.facts.rows_where(search.admitted), strict=True):
        admitted = steps[rows]
        median = float(np.median(admitted)) if len(admitted) else np.inf
        yield {
            "workload": name,
            "metric": goal.metric,
            "target": goal.target,
            "batch_size": size,
            "n_trials": len(admitted),
            "n_reached": int(np.isfinite(admitted).sum()),
            "median_steps": median if np.isfinite(median) else None,
        }
