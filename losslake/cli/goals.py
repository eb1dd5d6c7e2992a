"""What a command asks for when no metric or target is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload

if TYPE_CHECKING:
    from losslake.questions.release_view import ReleaseView


def goal_of(view: ReleaseView, workload: str, metric: str | None, target: float | None) -> tuple[str, float]:
    """The metric and target asked for; what is missing comes from the workload's first goal, val before test."""
    if metric is not None and target is not None:
        return metric, target
    goal = next((g for g in view.goals if str(g.workload) == workload and metric in (None, g.metric)), None)
    if goal is None:
        missing = " and ".join(
            option for option, given in (("--metric", metric), ("--target", target)) if given is None
        )
        measured = ", ".join(view.workload(Workload.parse(workload)).measured)
        raise LossLakeError(f"give {missing}: {workload} has no goal that fills it in; it measures {measured}")
    return goal.metric, goal.target if target is None else target
