"""Submissions to AlgoPerf at equal tuning: by its rule in seconds, and in steps at the same batch size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from losslake.analysis.performance_profile import geometric_mean_of_ratios
from losslake.questions.comparison.contest import Entry, contest
from losslake.questions.comparison.measured_trials import admitted_entries
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.league_studies import League, league_studies, leagues
from losslake.questions.trials.search import open_searches
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.reached import Floats
from losslake_schema.statuses import STATUSES


@dataclass(frozen=True)
class Standing:
    """A submission.

    score: AlgoPerf's. ratios: seconds to the target over the least of any submission, by workload. steps: relative to
    the baseline's at the same batch size and number of trials, the geometric mean over n_compared workloads; None
    without any, or where logs count something else.
    """

    name: str
    score: float
    ratios: Floats
    steps: float | None
    n_compared: int


def standings(view: ReleaseView, collection: str, about: Mapping[str, Any]) -> list[Standing]:
    """Return the submissions of a collection, the best score first. about: table `algoperf` of findings.toml."""
    league = leagues()[collection]
    studies = league_studies(view, league)
    names, scored = studies.submissions, studies.score
    steps = contest(names, _entries(view, league), None).medians
    base = steps[names.index(about["baseline"])]
    ratios = [geometric_mean_of_ratios(medians, base) for medians in steps]
    each = zip(names, scored.score.tolist(), scored.ratios, ratios, strict=True)
    return sorted((Standing(name, score, row, *steps) for name, score, row, steps in each), key=lambda one: -one.score)


def _entries(view: ReleaseView, league: League) -> Iterator[Entry]:
    """Yield the trials of each submission on workloads, at the goal in their validation metric."""
    for goal in view.goals:
        place = f"{goal.workload.dataset}/{goal.workload.model}"
        if (
            goal.workload.collection == league.collection
            and place in league.workloads
            and goal.metric.startswith("val/")
        ):
            (search,) = open_searches(view, Selection((goal.workload,), goal.metric, statuses=STATUSES))
            yield from admitted_entries(search, Goal(goal.target, goal.comparator), goal.workload.optimizer, place)
