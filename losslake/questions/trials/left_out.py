"""The trials that an answer leaves out, in words: how many, why, and the parameter that includes them.

The workloads that it pools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from losslake.analysis.best_setting import FEWEST_SEEDS
from losslake.questions.release.pool import Pool, is_pattern
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.schedules import is_finished
from losslake.questions.trials.search import Search, of_admitted_status
from losslake.questions.trials.selection import Goal, Selection
from losslake.questions.trials.study_results import is_of_small_setting
from losslake.questions.trials.trials_where import conditions_in_words, trials_where
from losslake_schema.quantities import plural
from losslake_schema.reached import NEVER, Flags
from losslake_schema.statuses import STATUSES

SCHEDULES_ELSEWHERE = "scaling, steps-to-target, frontier and curves have them"


def trials_left_out(
    searches: Sequence[Search], batch_sizes: Sequence[int] = (), goals: Sequence[Goal] = ()
) -> Iterator[str]:
    """Yield the numbers of trials that don't count in searches, at these batch sizes (empty: all).

    goals: by workload, the hardest that is asked about: also yield how many stopped earlier, at an easier one; or none.
    """
    for search, goal in zip_longest(searches, goals):
        counts = counts_left_out(search, batch_sizes) if batch_sizes else search.once(counts_left_out)
        is_considered = search.facts.of_batch_sizes(batch_sizes) if batch_sizes else None
        for count, why in (*counts, *n_stopped_earlier(search, goal, is_considered)):
            if count:
                yield f"{search.facts.workload}: {count} {plural('trial', count)} {why}"


def pooled_workloads(searches: Iterable[Search]) -> list[dict[str, Any]]:
    """Return the fields of PooledWorkload for every workload that the patterns of searches pool."""
    return [
        {
            "pattern": str(pool.workload),
            "workload": str(facts.workload),
            "n_trials": int((search.admitted & (pool.member == index)).sum()),
            "targets": sorted({goal.target for goal in search.view.goals_of(facts.workload, search.metric)}),
        }
        for search in searches
        if isinstance(pool := search.facts, Pool) and is_pattern(pool.workload)
        for index, facts in enumerate(pool.members)
    ]


def _unmeasured(view: ReleaseView, pool: Pool, metric: str) -> Iterator[tuple[int, str]]:
    for facts in view.matching(pool.workload):
        is_pooled = facts in pool.members
        n_pooled = int((pool.member == pool.members.index(facts)).sum()) if is_pooled else 0
        where = "studies" if is_pooled else "a workload"
        yield facts.offsets[-1] - n_pooled, f"of {facts.workload}, in {where} without {metric}"


def counts_left_out(search: Search, batch_sizes: Sequence[int] = ()) -> Sequence[tuple[int, str]]:
    """Return numbers of trials that don't count for any goal, and why: what is so about them, a colon, what to do.

    batch_sizes: of the trials; empty for all.
    """
    return [*_of_whole(search, batch_sizes), *_of_search(search, batch_sizes)]


def n_stopped_earlier(
    search: Search, goal: Goal | None, is_considered: Flags | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the number of trials that can't count for a goal, and why. is_considered: by trial; None for all."""
    if goal is not None:
        stopped = search.stopped_earlier(goal)
        n_stopped = int((stopped if is_considered is None else stopped & is_considered).sum())
        yield n_stopped, "stopped earlier, at an easier goal of their own: censored there, not counted as failed"


def _of_whole(search: Search, batch_sizes: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield the same of trials that aren't in the search: of a pool without the metric, or other than `where`."""
    view, conditions = search.view, search.selection.where
    whole = view.measuring(search.facts.workload, search.metric)
    if isinstance(whole, Pool):
        yield from _unmeasured(view, whole, search.metric)
    if whole.has_schedules and not search.selection.with_schedules and not batch_sizes:
        batch_sizes = whole.batch_sizes[1:]
        yield whole.offsets[1], f"whose batch size changes: {SCHEDULES_ELSEWHERE}"
        if not isinstance(whole, Pool) and not conditions:
            n_unmeasured = int((~whole.measures(search.metric)).sum())
            yield n_unmeasured, f"in studies without {search.metric}"
    if conditions:
        is_of_size = whole.of_batch_sizes(batch_sizes or whole.batch_sizes)
        n_other = int((is_of_size & ~trials_where(view, whole, conditions)).sum())
        yield n_other, f"other than {conditions_in_words(conditions)}"


def _of_search(search: Search, batch_sizes: Sequence[int]) -> Iterator[tuple[int, str]]:
    selection, is_considered = search.selection, search.facts.of_batch_sizes(batch_sizes or search.facts.batch_sizes)
    if not search.admitted.all():
        yield from _not_admitted(search, selection, is_considered)
    if search.limits is not None:
        budgets = [name for name in ("step_budget", "example_budget") if getattr(selection, name) is not None]
        empty = search.rows[search.ends == search.records.offsets[:-1]]
        n_late = int((is_considered & search.admitted)[empty].sum())
        yield n_late, f"without a value within the budget: a larger {' or '.join(budgets)} includes them"
    if search.rule.is_of_settings:
        n_small = int((search.once(is_of_small_setting) & is_considered).sum())
        yield (
            n_small,
            f"of settings of fewer than {FEWEST_SEEDS} trials, beside larger ones: result=best_trial counts them",
        )


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
    if selection.only_finished:
        is_unfinished = is_wanted & ~is_finished(trials)
        is_unknown = is_unfinished & (trials.schedule_end == NEVER)
        n_unfinished = int((is_considered & is_unfinished & ~is_unknown).sum())
        yield n_unfinished, "last evaluated before the end of their schedule: without only_finished, they count"
        n_unknown = int((is_considered & is_unknown).sum())
        yield n_unknown, "whose schedule has no known end: without only_finished, they count"
        is_considered = is_considered & ~is_unfinished
    for name, count in zip(STATUSES, n_other, strict=True):
        if name not in selection.statuses:
            wanted = "&".join(f"status={each}" for each in (*selection.statuses, name))
            yield count, f"of status {name}: {wanted} includes them"
    if selection.trials is not None:
        beyond = is_considered & is_wanted & ~search.admitted
        yield int(beyond.sum()), f"beyond the first {selection.trials} of each study: a larger trials= includes them"
