"""A rule about goals of runs: those that the ingest leaves out, since no value can reach them."""

from __future__ import annotations

from collections.abc import Iterator

from losslake.record.numbers import number
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_schema.errors import LossLakeError
from losslake_schema.registry import metric_named


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about goals that aren't stored."""
    for name in evidence.draft.trials:
        goals = evidence.spools[name].facts.get("goals")
        for goal in goals if isinstance(goals, list) else ():
            metric, target = (
                (goal.get("metric"), number(goal.get("target"))) if isinstance(goal, dict) else (None, None)
            )
            if isinstance(metric, str) and target is not None:
                problem = _problem(metric, target, [*evidence.curves(name)])
                if problem is not None:
                    yield finding("goal_left_out", name, f"{metric} {target:g}", problem)


def _problem(metric: str, target: float, measured: list[str]) -> str | None:
    """Return why a goal isn't stored, None if it is."""
    if metric not in measured:
        return f"the run doesn't measure {metric}, but {', '.join(measured) or 'nothing'}: name one of these"
    try:
        registered = metric_named(metric)
    except LossLakeError as error:
        return str(error)
    if registered.can_reach(target):
        return None
    is_percentage = registered.unit == "fraction" and registered.can_reach(target / 100)
    return f"{registered.range_in_words}: " + (
        f"write {target / 100:g} in its run.json" if is_percentage else "correct it"
    )
