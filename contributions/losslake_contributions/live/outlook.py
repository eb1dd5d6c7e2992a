"""The outlook of a run that is being trained, by the stored trials of its batch size, in sentences."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from cachetools import LRUCache, cached

from losslake.analysis.comparable import Comparable
from losslake.analysis.forecast import ForecastRefused, forecast
from losslake.index.frontiers import COUNTED
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.comparable_trials import comparable_trials
from losslake.questions.trials.forecast_words import in_sentences
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_contributions.live.stored_trials import study_key
from losslake_schema.names import Workload
from losslake_schema.reached import Floats, Integers
from losslake_schema.statuses import INFEASIBLE
from losslake_service.web.goals import PageGoal

_MOST_CACHED = 64


@cached(LRUCache(_MOST_CACHED), study_key, threading.Lock())
def trials_to_compare(view: ReleaseView, workload: Workload, batch_size: int, goal: PageGoal) -> Comparable:
    """Return the stored trials that a run is compared with, as /v1/analysis/forecast does.

    Raises UnknownName and BadParameter.
    """
    selection = Selection((workload,), goal.metric, goal.direction, statuses=(*COUNTED, INFEASIBLE))
    search = open_search(view, selection, workload)
    study = view.index_of(search.facts, batch_size)
    return comparable_trials(search, Goal(goal.target, goal.comparator), study).comparable


def outlook(trials: Comparable, steps: Integers, values: Floats) -> Iterator[str]:
    """Yield how a run may go on, or why that can't be said. steps: ascending; none for a run without measurements."""
    if not len(steps):
        return
    try:
        result = forecast(trials, steps, values)
    except ForecastRefused as error:
        yield f"How it goes on can't be forecast: {error}."
        return
    yield from in_sentences(result)
    if result.place != "within":
        yield f"It is {result.place} of the {result.n_trials:,} stored trials at this step, so it may be unlike them."
