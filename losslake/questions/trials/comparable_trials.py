"""The stored trials of a workload and batch size with which a running trial is compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.comparable import Comparable
from losslake.analysis.settings import drawn_settings
from losslake.questions.trials.search import Search
from losslake.questions.trials.selection import Goal
from losslake_schema import registry
from losslake_schema.reached import Integers, strict_bound


@dataclass(frozen=True)
class ComparableTrials:
    """Comparable trials, and their rows in facts.trials. n_valueless: admitted trials left out, without any number."""

    comparable: Comparable
    rows: Integers
    n_valueless: int


def comparable_trials(search: Search, goal: Goal, study: int) -> ComparableTrials:
    """Return the admitted trials of a study that have a record; made once, it serves any number of forecasts.

    search: one that admits only trials that ran to their end, which those of status INCOMPLETE didn't. Its budgets
    end the trials.
    """
    records, facts = search.records, search.facts
    of_study = facts.rows_of(study)
    rows = records.rows
    is_chosen = search.admitted[rows] & (rows >= of_study.start) & (rows < of_study.stop)
    places = np.flatnonzero(is_chosen & (search.ends > records.offsets[:-1]))
    chosen = rows[places]
    starts, lengths = records.offsets[:-1][places], (search.ends - records.offsets[:-1])[places]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    taken = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    comparable = Comparable(
        offsets=offsets,
        steps=records.step[taken],
        losses=records.value[taken] * search.sign,
        last_steps=search.observed_until[chosen],
        settings=drawn_settings(facts.trials.setting[chosen]),
        is_stopped=search.stopped_earlier(goal)[chosen],
        sign=search.sign,
        bound=strict_bound(search.sign * goal.target, goal.comparator),
        least_loss=_least_loss(search),
    )
    return ComparableTrials(comparable, chosen, int(search.admitted[of_study].sum()) - len(chosen))


def _least_loss(search: Search) -> float:
    """Return the least loss that the metric can have by its definition; -inf for unknown."""
    metric = registry.metrics().get(search.metric)
    if metric is None:
        return -np.inf
    return metric.smallest if search.sign > 0 else -metric.largest
