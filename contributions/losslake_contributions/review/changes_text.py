"""The changes of a draft as lines of text, for commands and mails."""

from __future__ import annotations

from collections.abc import Iterator

from losslake_contributions.review.changes import BreakPoint, CriticalBatchSize, DraftChanges, GoalChange, NewTrial
from losslake_schema.names import SCHEDULED, size_name
from losslake_schema.quantities import counted
from losslake_schema.reached import goal_text

_MOST = 50


def as_text(changes: DraftChanges) -> Iterator[str]:
    """Yield the lines that say what the runs of a draft change."""
    if changes.after is None:
        yield "no run can be stored: nothing changes"
    yield from _limited([_study(each.study, each.n_before, each.n_after) for each in changes.studies], "studies")
    for goal in changes.goals:
        yield from _goal(goal)
    yield from _limited(
        [
            f"best          {each.workload}/{size_name(each.batch_size)}, {each.metric}: {_number(each.after)} "
            f"({'was ' + _number(each.before) if each.before is not None else 'the first'}), trial {each.trial}"
            for each in changes.best
        ],
        "best values",
    )
    yield from _trials(changes.trials)
    yield from _limited([f"quarantined   {each}" for each in changes.quarantined], "reasons")
    yield from (f"not compared  {each}" for each in changes.not_compared)
    yield from _limited([f"left out      {each}" for each in changes.left_out], "workloads")


def _study(study: str, before: int | None, after: int) -> str:
    return (
        f"new study     {study}: {counted(after, 'trial')}"
        if before is None
        else f"study         {study}: {before:,} → {counted(after, 'trial')}"
    )


def _goal(goal: GoalChange) -> Iterator[str]:
    yield f"goal          {goal.workload}: {goal_text(goal.metric, goal.direction, goal.target, goal.comparator)}"
    for point in goal.points:
        mark = "  changed" if point.is_changed else ""
        new = " by a new trial" if point.is_new else ""
        size = f"{point.batch_size:,}" if point.batch_size else SCHEDULED
        yield f"  batch size {size:>9}: {_steps(point.before):>10} → {_steps(point.after):>10}{mark}{new}"
    ends = (
        ("perfect scaling ends", goal.before.perfect_scaling_end, goal.after.perfect_scaling_end),
        ("largest useful batch size", goal.before.max_useful_batch_size, goal.after.max_useful_batch_size),
    )
    for name, before, after in ends:
        yield f"  {name}: {end_text(before)} → {end_text(after)}"
    before_after = (critical_text(each.critical_batch_size) for each in (goal.before, goal.after))
    yield f"  critical batch size: {' → '.join(before_after)}"


def _trials(trials: tuple[NewTrial, ...]) -> Iterator[str]:
    """Yield the new trials, with the parameters in which they differ beside each, and the shared ones once."""
    facts: list[dict[str, float | str]] = [{**trial.parameters, **trial.attributes} for trial in trials]
    first = facts[0] if facts else {}
    shared = {name: value for name, value in first.items() if all(each.get(name) == value for each in facts)}
    if len(trials) > 1 and shared:
        yield f"all runs      {_parameters(shared)}"
    lines = []
    for trial, stated in zip(trials, facts, strict=True):
        varied = stated if len(trials) == 1 else {name: value for name, value in stated.items() if name not in shared}
        doubt = ", flagged" if trial.is_flagged else ""
        lines.append(
            f"trial         {trial.trial}: {trial.status}, {trial.steps:,} steps, {trial.n_evaluations:,} evaluations"
            f"{doubt}; {_parameters(varied) or 'no parameters of its own'}; run {trial.run}"
        )
    yield from _limited(lines, "trials")


def _parameters(parameters: dict[str, float | str]) -> str:
    return ", ".join(
        f"{name}={value if isinstance(value, str) else _number(value)}" for name, value in sorted(parameters.items())
    )


def _limited(lines: list[str], what: str) -> Iterator[str]:
    yield from lines[:_MOST]
    if len(lines) > _MOST:
        yield f"  … and {len(lines) - _MOST:,} more {what}"


def _number(value: float) -> str:
    return f"{value:.6g}"


def _steps(value: int | None) -> str:
    return "none" if value is None else f"{value:,}"


def end_text(end: BreakPoint | None, at_most: str = "≤ ", at_least: str = "≥ ") -> str:
    """Return the end of a regime. at_most, at_least: before a bound."""
    # Without a bound, there is one batch size only, or all others are too close to it to tell.
    if end is None or (end.lower is None and end.upper is None):
        return "unknown"
    sign = {"left": at_most, "right": at_least}.get(end.censoring or "", "")
    return f"{sign}{end.batch_size:,}"


def critical_text(size: CriticalBatchSize | None, digits: str = ".6g") -> str:
    """Return a critical batch size with its interval. digits: the format of its numbers."""
    if size is None or (size.value is None and size.lower is None and size.upper is None):
        return "unknown"
    bounds = " to ".join("…" if bound is None else f"{bound:{digits}}" for bound in (size.lower, size.upper))
    return f"from {bounds}" if size.value is None else f"{size.value:{digits}} ({bounds})"
