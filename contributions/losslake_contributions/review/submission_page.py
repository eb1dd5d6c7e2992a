"""The page of a submission: the checks, what its runs change, the runs, and how to decide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlencode

from losslake_contributions.protocol.submissions import SubmissionStatus
from losslake_contributions.review.changes import DraftChanges, GoalChange
from losslake_contributions.review.changes_text import critical_text, end_text
from losslake_contributions.review.checks.report import Report
from losslake_contributions.review.checks.rules import SEVERITIES
from losslake_contributions.review.review_document import Review
from losslake_schema.reached import goal_text

MOST = 50
_MOST_FINDINGS, _MOST_GOALS, _MOST_CURVES, _MOST_HIGHLIGHTED, _MOST_COLUMNS = 200, 6, 6, 100, 6
_LONGEST_SHARED, _LONGEST_VALUE = 1000, 100


def content_of(
    status: SubmissionStatus,
    parameters: Mapping[str, Mapping[str, object]],
    review: Review | None,
    report: Report | None,
    draft: str,
) -> dict[str, object]:
    """Return what the template shows.

    parameters: of the runs of the page, by id. report: of the review, or with which it was accepted. draft: path of its
    link.
    """
    varied, shared = _parameters(parameters)
    findings = sorted(report.findings, key=lambda each: (SEVERITIES.index(each.severity), each.rule)) if report else []
    content: dict[str, object] = {
        "status": status,
        "review": review,
        "report": report,
        "draft": draft,
        "changes": None,
        "findings": findings[:_MOST_FINDINGS],
        "n_more_findings": max(0, len(findings) - _MOST_FINDINGS),
        "n_errors": sum(each.severity == "error" for each in findings),
        "n_warnings": sum(each.severity == "warning" for each in findings),
        "runs": [(run, [_shown(parameters.get(run.id, {}).get(name, "")) for name in varied]) for run in status.runs],
        "varied": varied,
        "shared": shared,
        "most": MOST,
    }
    if review is None:
        return content
    changes = review.changes
    return content | {
        "changes": changes,
        "goals": [_goal(goal, changes, draft) for goal in changes.goals[:_MOST_GOALS]],
        "n_more_goals": max(0, len(changes.goals) - _MOST_GOALS),
        "curves": [*_curves(changes, draft)],
    }


def _goal(goal: GoalChange, changes: DraftChanges, draft: str) -> dict[str, object]:
    """Return what the template shows of a goal. ends: regimes and critical batch size, before and after."""
    both = (goal.before, goal.after)
    query: dict[str, object] = {
        "workload": goal.workload,
        "metric": goal.metric,
        "target": repr(goal.target),
        "comparator": goal.comparator,
    }
    has_before = any(point.before is not None for point in goal.points)
    releases = [(changes.before if has_before else None, "Before"), (changes.after, "After")]
    return {
        "change": goal,
        "text": goal_text(goal.metric, goal.direction, goal.target, goal.comparator),
        "ends": [
            [end_text(each.perfect_scaling_end, "at most ", "at least ") for each in both],
            [end_text(each.max_useful_batch_size, "at most ", "at least ") for each in both],
            [critical_text(each.critical_batch_size, ",.4g") for each in both],
        ],
        "pictures": [
            (
                f"{word}: steps to the goal by batch size",
                f"{draft}v1/figures/scaling.svg?{urlencode({**query, 'release': number})}",
            )
            for number, word in releases
            if number is not None
        ],
    }


def _curves(changes: DraftChanges, draft: str) -> Iterator[tuple[str, str, str]]:
    """Yield caption, picture and page of the studies with new trials, those over most stored ones first."""
    goals = {goal.workload: goal.metric for goal in reversed(changes.goals)}
    for change in sorted(changes.studies, key=lambda each: (-(each.n_before or 0), each.study))[:_MOST_CURVES]:
        trials = [each for each in changes.trials if each.trial.rpartition("/")[0] == change.study]
        metrics = {metric for each in trials for metric in each.metrics}
        first = min(metrics, key=lambda name: (not name.startswith("val/"), name), default="")
        metric = goals.get(change.study.rpartition("/")[0]) or first
        if not metric:
            continue
        query = [("study", change.study), ("metric", metric), ("release", changes.after)]
        if change.n_before and len(trials) <= _MOST_HIGHLIGHTED:
            query += [("highlight", each.trial) for each in trials if metric in each.metrics]
        caption = f"{change.study}, {metric}: {len(trials):,} new of {change.n_after:,} trials"
        page = f"{draft}studies/{quote(change.study)}?release={changes.after}"
        yield caption, f"{draft}v1/figures/curves.svg?{urlencode(query)}", page


def _parameters(runs: Mapping[str, Mapping[str, object]]) -> tuple[list[str], str]:
    """Return the parameters that differ among runs, and those that don't, in words. runs: their parameters, by id."""
    stated: defaultdict[str, list[str]] = defaultdict(list)
    for parameters in runs.values():
        for name, value in parameters.items():
            stated[name].append(_shown(value))
    shared = {name: each[0] for name, each in stated.items() if len(each) == len(runs) and len(set(each)) == 1}
    varied = [name for name in stated if name not in shared] if len(runs) > 1 else []
    # Those that most runs state come first, then those with most values.
    varied.sort(key=lambda name: (-len(stated[name]), -len(set(stated[name])), name))
    words = ", ".join(f"{name} {value}" for name, value in sorted(shared.items()))
    return varied[:_MOST_COLUMNS], words if len(words) <= _LONGEST_SHARED else f"{words[:_LONGEST_SHARED]}…"


def _shown(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
