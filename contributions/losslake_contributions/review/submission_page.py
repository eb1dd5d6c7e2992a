"""The page of a submission: the checks, what its runs change, the runs, and how to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from losslake_contributions.protocol.submissions import SubmissionStatus, SubmittedRun
from losslake_contributions.review.changes import BreakPoint, CriticalBatchSize, DraftChanges, GoalChange
from losslake_contributions.review.changes_text import critical_text, end_text
from losslake_contributions.review.checks.report import Report
from losslake_contributions.review.review import Review
from losslake_schema.names import Trial
from losslake_schema.reached import goal_text

MOST = 50
_MOST_FINDINGS, _MOST_GOALS, _MOST_CURVES, _MOST_HIGHLIGHTED, _MOST_COLUMNS = 200, 6, 6, 100, 6
_SEVERITIES = ("error", "warning", "note")
_LONGEST_SHARED, _LONGEST_VALUE = 1000, 100


@dataclass(frozen=True)
class _Run:
    """A row of the table of runs. values: of the parameters that differ among the runs."""

    id: str
    study: str
    status: str
    values: Sequence[str]
    trial: str


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
    findings = sorted(report.findings, key=lambda each: (_SEVERITIES.index(each.severity), each.rule)) if report else []
    content: dict[str, object] = {
        "status": status,
        "review": review,
        "report": report,
        "draft": draft,
        "findings": findings[:_MOST_FINDINGS],
        "n_more_findings": max(0, len(findings) - _MOST_FINDINGS),
        "n_errors": sum(each.severity == "error" for each in findings),
        "n_warnings": sum(each.severity == "warning" for each in findings),
        "claims": status.claims,
        "changes": review.changes if review is not None else None,
        "runs": [_run(run, parameters.get(run.id, {}), varied) for run in status.runs],
        "varied": varied,
        "shared": shared,
        "most": MOST,
    }
    return content | (_changes(review.changes, draft) if review is not None else {})


def _changes(changes: DraftChanges, draft: str) -> dict[str, object]:
    return {
        "goals": [_goal(goal, changes, draft) for goal in changes.goals[:_MOST_GOALS]],
        "n_more_goals": max(0, len(changes.goals) - _MOST_GOALS),
        "curves": _curves(changes, draft),
        "quarantined": [str(each) for each in changes.quarantined],
    }


def _goal(goal: GoalChange, changes: DraftChanges, draft: str) -> dict[str, object]:
    before, after = goal.before, goal.after
    query = {
        "workload": goal.workload,
        "metric": goal.metric,
        "target": repr(goal.target),
        "comparator": goal.comparator,
    }
    releases = [(number, words) for number, words in ((changes.before, "Before"), (changes.after, "After")) if number]
    return {
        "change": goal,
        "text": goal_text(goal.metric, goal.direction, goal.target, goal.comparator),
        "ends": [
            (_end(before.perfect_scaling_end), _end(after.perfect_scaling_end)),
            (_end(before.max_useful_batch_size), _end(after.max_useful_batch_size)),
            (_critical(before.critical_batch_size), _critical(after.critical_batch_size)),
        ],
        "pictures": [
            (f"{words}: steps to the goal by batch size", _figure(draft, "scaling", {**query, "release": number}))
            for number, words in releases
            if number == changes.after or any(point.before is not None for point in goal.points)
        ],
    }


def _curves(changes: DraftChanges, draft: str) -> list[tuple[str, str, str]]:
    """Return caption, picture and page of the studies with new trials, those over most stored ones first."""
    if changes.after is None:
        return []
    goals = {goal.workload: goal.metric for goal in reversed(changes.goals)}
    pictures = []
    for change in sorted(changes.studies, key=lambda each: (-(each.n_before or 0), each.study))[:_MOST_CURVES]:
        trials = [each for each in changes.trials if each.trial.rpartition("/")[0] == change.study]
        metrics = sorted({metric for each in trials for metric in each.metrics})
        workload = str(Trial.parse(f"{change.study}/0").study.workload)
        metric = goals.get(workload) or next(
            (m for m in metrics if m.startswith("val/")), metrics[0] if metrics else ""
        )
        if not metric:
            continue
        query = [("study", change.study), ("metric", metric), ("release", changes.after)]
        if change.n_before and len(trials) <= _MOST_HIGHLIGHTED:
            query += [("highlight", each.trial) for each in trials if metric in each.metrics]
        caption = f"{change.study}, {metric}: {len(trials):,} new of {change.n_after:,} trials"
        page = f"{draft}studies/{quote(change.study)}?release={changes.after}"
        pictures.append((caption, f"{draft}v1/figures/curves.svg?{urlencode(query)}", page))
    return pictures


def _figure(draft: str, kind: str, query: Mapping[str, object]) -> str:
    return f"{draft}v1/figures/{kind}.svg?{urlencode(query)}"


def _parameters(runs: Mapping[str, Mapping[str, object]]) -> tuple[list[str], str]:
    """Return the parameters that differ among runs, and those that don't, in words. runs: their parameters, by id."""
    stated: dict[str, list[str]] = {}
    for parameters in runs.values():
        for name, value in parameters.items():
            stated.setdefault(name, []).append(_shown(value))
    shared = {
        name: values[0] for name, values in sorted(stated.items()) if len(values) == len(runs) and len(set(values)) == 1
    }
    varied = [name for name in stated if name not in shared] if len(runs) > 1 else []
    # Those that most runs state come first, then those with most values.
    varied.sort(key=lambda name: (-len(stated[name]), -len(set(stated[name])), name))
    words = ", ".join(f"{name} {value}" for name, value in shared.items())
    return varied[:_MOST_COLUMNS], words if len(words) <= _LONGEST_SHARED else f"{words[:_LONGEST_SHARED]}…"


def _run(run: SubmittedRun, parameters: Mapping[str, object], varied: Sequence[str]) -> _Run:
    values = [_shown(parameters.get(name, "")) for name in varied]
    return _Run(run.id, run.study, run.status, values, run.trial or "")


def _shown(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _end(end: BreakPoint | None) -> str:
    return end_text(end, "at most ", "at least ")


def _critical(size: CriticalBatchSize | None) -> str:
    return critical_text(size, ",.4g")
