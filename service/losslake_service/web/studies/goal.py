"""What the page of a study or trial looks at: a metric of the study, and a target where it can have one."""

from __future__ import annotations

from dataclasses import dataclass

from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import WorkloadFacts
from losslake_service.web.goals import GoalShown, goal_shown, goals_of


@dataclass(frozen=True)
class LookedAt:
    """metric: None where the study measures nothing. goal: None where nobody has said which way that is better."""

    metric: str | None
    goal: GoalShown | None


def looked_at(
    view: ReleaseView, facts: WorkloadFacts, study: int, metric: str | None, target: float | None
) -> LookedAt:
    """What is asked for, else the workload's first goal that its study of that index measures, else another metric.

    Raises UnknownName for a metric that the study doesn't measure.
    """
    measured = facts.metrics[study]
    if metric is not None:
        view.metric(facts, metric, study)
    name = metric or _usual(view, facts, measured)
    if name is None or view.metrics[name].direction is None:
        return LookedAt(name, None)
    return LookedAt(name, goal_shown(view, facts, name, target))


def _usual(view: ReleaseView, facts: WorkloadFacts, measured: tuple[str, ...]) -> str | None:
    own = [goal.metric for goal in goals_of(view, facts) if goal.metric in measured]
    directed = [name for name in measured if view.metrics[name].direction is not None]
    # By name the last one is on validation data.
    return own[0] if own else next(reversed(directed or measured), None)
