"""The panel on pages of curves and of scaling where a reader's own run is compared, in the browser, with stored trials.

Its script, own_run.js, gets the metric, its limits and the goal with the page, and the stored trials once a run is
given. The run itself never reaches the server.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
from pydantic import Field

from losslake.index.frontiers import COUNTED
from losslake.questions.declaration.parameters import MOST_CONDITIONS, DirectionParameters
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.search import at, open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema import registry
from losslake_schema.names import Workload
from losslake_schema.quantities import counted
from losslake_schema.reached import NEVER, Comparator, Integers
from losslake_schema.statuses import INCOMPLETE, INFEASIBLE, STATUSES
from losslake_service.web.goals import PageGoal, page_goal
from losslake_service.web.page import GoalParameters, Page, PageKind, PageRequest
from losslake_service.web.templates import page_path, with_query

_PATH = "/own-run/"
TRIALS_PATH = "/own-run-trials/"
# The statuses of trials that don't count, in words.
_UNCOUNTED = {INCOMPLETE: "stopped", INFEASIBLE: "diverged"}
# A learning rate by batch size and trial: the name of the metaparameter, and its value.
_Rates = dict[tuple[int, int], tuple[str, float]]


def own_run(
    view: ReleaseView,
    workload: Workload | None,
    batch_size: int | None,
    metric: str | None,
    goal: PageGoal | None,
    where: Sequence[str] = (),
) -> dict[str, Any] | None:
    """Return what a run is compared with; None if nothing was measured.

    workload: None if the page is about several. batch_size: None if the reader gives that of the run. goal: None if
    the metric has no direction. where: conditions of the trials that count, as in a Selection.

    Its limits are what values of the metric can't be, in the order of checks. instead: the sentence where nothing is
    compared; else stored: the address of `stored_beside`, which would take a tenth of the time of some pages, and
    trials: that of the trials of a batch size, which its script adds to the query.
    """
    if metric is None:
        return None
    about = {
        "metric": metric,
        "batchSize": batch_size,
        "limits": list(_limits(view, workload, metric, goal)),
        "goal": goal and goal.for_scripts,
        "instead": "",
        "stored": "",
        "trials": "",
    }
    if workload is None:
        return about | {"instead": "Several workloads are shown here: open one of them for a comparison."}
    if goal is None:
        return about | {"instead": "There is no target to reach, so the curve alone is drawn."}
    query = [
        *goal.with_comparator.items(),
        ("direction", goal.direction if view.metrics[metric].direction is None else None),
        ("where", list(where)),
        ("release", view.number),
    ]
    return about | {
        "stored": with_query(stored_path(workload), [*query, ("batch_size", batch_size)]),
        "trials": with_query(trials_path(workload), query),
        "advice": with_query(page_path(workload), goal.parameters.items()) + "#advice",
    }


def stored_path(workload: Workload) -> str:
    """Return the path of the stored trials of a workload."""
    return f"{_PATH}{quote(str(workload))}"


def trials_path(workload: Workload) -> str:
    """Return the path of the trials of a workload at a batch size, which the query has."""
    return f"{TRIALS_PATH}{quote(str(workload))}"


class OwnRunParameters(DirectionParameters, GoalParameters):
    """The query for the stored trials beside a run."""

    comparator: Comparator | None = None
    batch_size: int | None = None
    where: Annotated[list[str], Field(default_factory=list, max_length=MOST_CONDITIONS)]


def goal_of_run(view: ReleaseView, facts: WorkloadFacts, requested: OwnRunParameters) -> PageGoal:
    """Return the goal that a run is compared at; raises BadParameter and UnknownName."""
    goal = page_goal(view, facts, requested.metric, requested.target, requested.direction)
    return replace(goal, comparator=requested.comparator or goal.comparator)


def own_run_page(page: PageRequest) -> Page:
    """Return the stored trials beside a run, for the script of the panel; raises BadParameter and UnknownName."""
    requested: OwnRunParameters = page.parameters
    view, workload = page.view, parse_workload(page.name)
    facts = view.workload(workload)
    if requested.batch_size is not None:
        view.index_of(facts, requested.batch_size or NEVER)
    goal = goal_of_run(view, facts, requested)
    stored = stored_beside(view, workload, requested.batch_size, goal, requested.where)
    return Page(
        template="own_run_stored.html",
        title="Stored trials",
        description="",
        url=page.page_url(workload),
        content={"stored": stored},
    )


OWN_RUN = PageKind(_PATH + "{name:path}", OwnRunParameters, own_run_page, is_fragment=True)


def stored_beside(
    view: ReleaseView, workload: Workload, batch_size: int | None, goal: PageGoal, where: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what a run is compared with: the trials of a page by batch size, with their steps to the goal.

    sizes: what there is to say beside trials of a batch size. notes: for a run of another one.
    """
    selection = Selection((workload,), goal.metric, goal.direction, statuses=STATUSES, where=tuple(where))
    search, aim = open_search(view, selection, workload), Goal(goal.target, goal.comparator)
    facts, trials = search.facts, search.facts.trials
    hits = search.first_hits(aim)
    steps = np.where(hits == NEVER, NEVER, at(search.records.step, hits))
    ended = search.stopped_earlier(aim)
    counts = search.admitted & np.isin(trials.status, [STATUSES.index(status) for status in COUNTED])
    shown = [index for index, size in enumerate(facts.batch_sizes) if batch_size in (None, size)]
    rates = _learning_rates(view, workload, [facts.batch_sizes[index] for index in shown])
    is_flagged = facts.measures(goal.metric) & (trials.flagged == 1) & np.isin(facts.study_of_trial, shown)
    n_flagged = int(is_flagged.sum())
    notes = [_dont_count(n_flagged, "flagged", " of this workload" if batch_size is None else "")] if n_flagged else []
    sizes = {}
    for index in shown:
        size, is_here = facts.batch_sizes[index], facts.study_of_trial == index
        rows = np.flatnonzero(is_here & counts)
        others = _uncounted(trials.status[is_here & search.admitted], int(ended[rows].sum()))
        place = f" at batch size {size}" if batch_size is None else ""
        stored = _compared(size, steps[rows], trials.trial_id[rows], place, rates)
        sizes[size] = {"stored": stored, "notes": [*others, *notes]}
    return {"sizes": sizes, "notes": notes}


def _compared(size: int, steps: Integers, trial_id: Integers, place: str, rates: _Rates) -> dict[str, Any] | None:
    """Return what is said of a run beside the trials of a batch size that count; None if there are none.

    median: of their steps; None if at most half of them reach the goal. place: what they have in common, in words.
    """
    n, n_reached = len(steps), int((steps != NEVER).sum())
    if not n:
        return None
    middle = statistics.median(math.inf if each == NEVER else each for each in steps.tolist())
    median = middle if math.isfinite(middle) else None
    in_words = "" if median is None else f"{median:,.1f}".removesuffix(".0")
    after = f", the median after {in_words}" if in_words else ""
    trials = f"{counted(n, 'trial')}{place}"
    return {
        "trials": trials,
        "median": median,
        "medianText": in_words,
        "withoutRatio": "needs none" if median == 0 else f"doesn't reach it ({n_reached:,} {_does(n_reached)})",
        "reached": f"{n_reached:,} of {trials} reach{'es' if n == n_reached == 1 else ''} it{after}.",
        "nearest": list(_nearest(size, steps, trial_id, rates)),
    }


def _nearest(size: int, steps: Integers, trial_id: Integers, rates: _Rates) -> Iterator[list[Any]]:
    """Yield from how many steps on a trial has the nearest ones, its number, its steps, and its learning rate.

    Of two as near, it is the trial with the lower number.
    """
    order = np.lexsort((trial_id, steps))
    firsts = order[np.unique(steps[order], return_index=True)[1]]
    begin, before = 0, None
    for reached, trial in zip(steps[firsts].tolist(), trial_id[firsts].tolist(), strict=True):
        if reached == NEVER:
            continue
        if before is not None:
            # Half-way lies a whole number of steps only if the gap is even: there the lower number decides.
            gap, is_lower = reached - before[0], trial < before[1]
            begin = before[0] + gap // 2 + (0 if is_lower and gap % 2 == 0 else 1)
        yield [begin, trial, reached, *rates.get((size, trial), ())]
        before = reached, trial


def _learning_rates(view: ReleaseView, workload: Workload, sizes: Sequence[int]) -> _Rates:
    """Return the learning rates of the trials of some studies. sizes: their batch sizes, ascending."""
    facts = view.workload(workload)
    studies = [facts.batch_sizes.index(size) for size in sizes]
    table = view.table("learning_rates_of_trials", facts.study_ids)
    wanted = [facts.first_study + studies[0], facts.first_study + studies[-1] + 1]
    begin, end = np.searchsorted(table["study_id"].to_numpy(), wanted).tolist()
    table = table.slice(begin, end - begin)
    columns = (table[name].to_pylist() for name in ("study_id", "trial_id", "name", "rate"))
    return {
        (facts.batch_sizes[study_id - facts.first_study], trial_id): (name.replace("_", " "), rate)
        for study_id, trial_id, name, rate in zip(*columns, strict=True)
    }


def _uncounted(statuses: Integers, n_ended: int) -> Iterator[str]:
    """Yield how many trials of a batch size don't count, and how many may yet reach the goal, n_ended."""
    for status, word in _UNCOUNTED.items():
        n = int((statuses == STATUSES.index(status)).sum())
        if n:
            yield _dont_count(n, word)
    if n_ended:
        yield f"{counted(n_ended, 'trial')} stopped at an easier goal: the median takes them as not reaching this one."


def _dont_count(n: int, word: str, place: str = "") -> str:
    return f"{counted(n, f'{word} trial')}{place} {_does(n)}n't count."


def _does(n: int) -> str:
    return "does" if n == 1 else "do"


def _limits(
    view: ReleaseView, workload: Workload | None, metric: str, goal: PageGoal | None
) -> Iterator[dict[str, Any]]:
    """Yield what values of a metric can't be, so that a run in other units is refused; nothing if it isn't known.

    A metric that isn't registered is taken for a fraction if it is maximized, and all stored records are fractions: no
    run in the same units would be better than 1.
    """
    registered = registry.metrics().get(metric)
    if registered is not None:
        if math.isfinite(registered.largest):
            yield from _limits_of_range(
                *registered.target_limits, registered.is_largest_best, registered.range_in_words
            )
    elif workload is not None and goal is not None and goal.direction == "maximize":
        values = open_search(view, Selection((workload,), metric, statuses=STATUSES), workload).records.value
        if len(values) and values.min() >= 0 and values.max() <= 1:
            text = f"stored values of {metric} lie between {values.min():.3g} and {values.max():.3g}"
            yield from _limits_of_range(None, 1, False, text)


def _limits_of_range(
    smallest: float | None, largest: float, is_of_best: bool, in_words: str
) -> Iterator[dict[str, Any]]:
    """Yield the limits of a range. is_of_best: single values of a run may be larger.

    A run breaks one if its least, middle or largest finite value, which `of` names, is more than `above` and at most
    `upTo`; None for no bound. unit: percent or fractions, from which its values are converted; None if they can't be.
    """
    # Where single values may be larger, a curve of fractions is in the range for most of its evaluations.
    typical = "middle" if is_of_best else "largest"

    def limit(
        of: str, above: float | None, up_to: float | None, looks: str, remedy: str, unit: str | None = None
    ) -> dict[str, Any]:
        return {"of": of, "above": above, "upTo": up_to, "text": f"{looks}: {in_words}. {remedy}", "unit": unit}

    if round(largest) == 1:
        yield limit(typical, largest, 100, "look like percent", "They were divided by 100.", "percent")
    if round(largest) == 100:
        yield limit("largest", 0, 1, "look like fractions", "They were multiplied by 100.", "fractions")
    yield limit(typical, largest, None, "are too large", "Choose another column.")
    if smallest is not None:
        yield limit("least", None, math.nextafter(smallest, -math.inf), "are too small", "Choose another column.")
