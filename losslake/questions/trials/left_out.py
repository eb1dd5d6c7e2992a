"""The trials that an answer leaves out, in words: how many, why, and the parameter that includes them.

The workloads that it pools.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from losslake.analysis.best_setting import FEWEST_SEEDS
from losslake.questions.release.pool import Pool, is_pattern
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import Search, of_admitted_status, open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake.questions.trials.study_results import is_of_small_setting
from losslake.questions.trials.trials_where import trials_where
from losslake_schema.quantities import plural
from losslake_schema.reached import Flags
from losslake_schema.statuses import STATUSES


def trials_left_out(
    view: ReleaseView, selection: Selection, batch_sizes: Sequence[int] = (), goals: Sequence[Goal] = ()
) -> Iterator[str]:
    """Yield the numbers of trials that don't count, of the selected workloads at these batch sizes (empty: all).

    goals: by workload, the hardest that is asked about: also yield how many stopped earlier, at an easier one; or none.
    """
    for workload, goal in zip_longest(selection.workloads, goals):
        search = open_search(view, selection, workload)
        is_considered = np.ones(len(search.admitted), np.bool_)
        if batch_sizes:
            is_considered = search.facts.of_batch_sizes(batch_sizes)
        whole = view.measuring(workload, selection.metric)
        if isinstance(whole, Pool):
            yield from _unmeasured(view, whole, selection.metric)
        if selection.where:
            is_of_size = whole.of_batch_sizes(batch_sizes or whole.batch_sizes)
            if count := int((is_of_size & ~trials_where(view, whole, selection.where)).sum()):
                conditions = " and ".join(selection.where)
                yield f"{workload}: {count} {plural('trial', count)} other than {conditions}"
        for count, why in counts_left_out(search, selection, goal, is_considered):
            if count:
                yield f"{workload}: {count} {plural('trial', count)} {why}"


def pooled_workloads(view: ReleaseView, selection: Selection) -> list[dict[str, Any]]:
    """Return the fields of PooledWorkload for every workload that the patterns of a selection pool."""
    searches = [open_search(view, selection, each) for each in selection.workloads if is_pattern(each)]
    return [
        {
            "pattern": str(pool.workload),
            "workload": str(facts.workload),
            "n_trials": int((search.admitted & (pool.member == index)).sum()),
            "targets": sorted({goal.target for goal in view.goals_of(facts.workload, selection.metric)}),
        }
        for search in searches
        if isinstance(pool := search.facts, Pool)
        for index, facts in enumerate(pool.members)
    ]


def _unmeasured(view: ReleaseView, pool: Pool, metric: str) -> Iterator[str]:
    for facts in view.matching(pool.workload):
        is_pooled = facts in pool.members
        n_pooled = int((pool.member == pool.members.index(facts)).sum()) if is_pooled else 0
        if count := facts.offsets[-1] - n_pooled:
            where = "studies" if is_pooled else "a workload"
            yield f"{pool.workload}: {count} trials of {facts.workload}, in {where} without {metric}"


def counts_left_out(
    search: Search, selection: Selection, goal: Goal | None, is_considered: Flags
) -> Iterator[tuple[int, str]]:
    """Yield numbers of the considered trials that don't count, and why: what is so about them, a colon, what to do."""
    if not search.admitted.all():
        yield from _not_admitted(search, selection, is_considered)
    if search.limits is not None:
        budgets = [name for name in ("step_budget", "example_budget") if getattr(selection, name) is not None]
        empty = search.rows[search.ends == search.records.offsets[:-1]]
        n_late = int((is_considered & search.admitted)[empty].sum())
        yield n_late, f"without a value within the budget: a larger {' or '.join(budgets)} includes them"
    if search.rule.is_of_settings:
        n_small = int((is_of_small_setting(search) & is_considered).sum())
        yield (
            n_small,
            f"of settings of fewer than {FEWEST_SEEDS} trials, beside larger ones: result=best_trial counts them",
        )
    if goal is not None:
        n_stopped = int((search.stopped_earlier(goal) & is_considered).sum())
        yield n_stopped, "stopped earlier, at an easier goal of their own: censored there, not counted as failed"


def _not_admitted(search: Search, selection: Selection, is_considered: Flags) -> Iterator[tuple[int, str]]:
    trials, is_wanted = search.facts.trials, of_admitted_status(search.facts, selection)
    is_measured = search.facts.measures(selection.metric)
    yield int((is_considered & ~is_measured).sum()), f"in studies without {selection.metric}"
    is_considered = is_considered & is_measured
    n_other = np.bincount(trials.status[is_considered & ~is_wanted], minlength=len(STATUSES)).tolist()
    if selection.flagged == "exclude":
        is_flagged = (trials.flagged == 1) & is_wanted
        n_flagged = int((is_considered & is_flagged).sum())
        yield n_flagged, "flagged, as FROM flags in SQL explains: flagged=include includes them"
        is_considered = is_considered & ~is_flagged
    for name, count in zip(STATUSES, n_other, strict=True):
        if name not in selection.statuses:
            wanted = "&".join(f"status={each}" for each in (*selection.statuses, name))
            yield count, f"of status {name}: {wanted} includes them"
    if selection.trials is not None:
        beyond = is_considered & is_wanted & ~search.admitted
        yield int(beyond.sum()), f"beyond the first {selection.trials} of each study: a larger trials= includes them"
