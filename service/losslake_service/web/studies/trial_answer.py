"""The answer of a trial in words: what became of it, whether it reached the goal, and where that puts it."""

from __future__ import annotations

from losslake_service.web.goals import GoalShown
from losslake_service.web.studies.statuses import BY_INDEX
from losslake_service.web.studies.trial_results import goal_result, rank_in
from losslake_service.web.studies.trials import StudyTrials
from losslake_service.web.templates import significant


def trial_answer(goal: GoalShown | None, trials: StudyTrials, row: int) -> str:
    """The headline: whether it reached the goal; without a goal, what became of it."""
    last_step = int(trials.last_step[row])
    if last_step < 0:
        return "It was never evaluated."
    if goal is None:
        return f"It was last evaluated at step {last_step:,}."
    result = goal_result(goal, trials, row)
    if result.steps is not None:
        before = "its first evaluation" if result.previous_step is None else f"at step {result.previous_step:,} not yet"
        return f"It reached {goal.text} after {result.steps:,} steps ({before})."
    return f"It never reached {goal.text} in the {last_step:,} steps it was seen for."


def trial_place(goal: GoalShown | None, trials: StudyTrials, row: int) -> str:
    """Its rank in the study, or why it has none; empty without a goal."""
    if goal is None or trials.last_step[row] < 0:
        return ""
    if not trials.counts[row]:
        return f"Trials that {BY_INDEX[trials.status[row]].verbs} have no rank in their study."
    reached = rank_in(trials.ranked, row)
    if reached:
        others = f", of {int(trials.counts.sum()):,} that completed" if len(trials.ranked) < trials.counts.sum() else ""
        return f"Number {reached.place:,} of the {reached.among:,} trials that did{others}."
    by_value = rank_in(trials.by_value, row)
    if by_value is None:
        return f"It has no finite value of {goal.metric}."
    value, step = float(trials.best_value[row]), int(trials.best_step[row])
    came = f"It came to {significant(value)} at step {step:,}"
    return f"{came}: number {by_value.place:,} of {by_value.among:,} by the best value."
