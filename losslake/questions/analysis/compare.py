"""Compare: which of several workloads reaches a target sooner, at the same batch size and tuning budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.analysis.equal_budget import chances, flips, ranks
from losslake.analysis.performance_profile import geometric_mean_of_ratios
from losslake.output.answer import Answer, row_shape
from losslake.questions.analysis.comparison_warnings import comparison_warnings
from losslake.questions.analysis.finding import Finding
from losslake.questions.comparison_words import conclusions
from losslake.questions.contest import Contest, Difference, Entry, admitted_steps, contest, differences, steps_ratio
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling_curve import scaling_curve
from losslake.questions.search import Search, facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake_schema.names import Workload
from losslake_schema.reached import Floats

COMPARE = row_shape(
    "compare", "batch_size", "workload", "n_trials", "n_reached", "budget", "steps", "median_steps", "steps_ratio",
    "steps_ratio_lower", "steps_ratio_upper", "difference", "beats_baseline", "beats_baseline_at_half",
    "neither_reaches", "rank",
)  # fmt: skip
MOST_COMPARED = 20
_DEFINITION = (
    "Steps of the best of `budget` trials, drawn without replacement from those of each study: its median, and the "
    "chance that it is below the baseline's, ties counting half. The budget is the same for all workloads of a batch "
    "size. The ratio's range holds 90% of draws of half the budget, and a difference is told where it leaves out 1, "
    "batch size by batch size. Trials of a quasi-random search are spread more evenly than independent ones, so "
    "chances are approximate. n_used counts medians: workloads at batch sizes."
)


def compare(
    view: ReleaseView, selection: Selection, goal: Goal, baseline: Workload | None = None, budget: int | None = None
) -> Answer:
    """Workloads at equal tuning budget, by batch size; raises UnknownName and BadParameter.

    baseline: what ratios and chances are against; default: the first workload. budget: the trials that the best is
    taken of; default: as many as all have at that batch size.
    """
    workloads = selection.workloads
    if len(workloads) > MOST_COMPARED:
        raise BadParameter("workload", f"give at most {MOST_COMPARED} workloads to compare, not {len(workloads)}")
    if baseline is not None and baseline not in workloads:
        raise BadParameter("baseline", f"baseline {baseline} is none of the workloads to compare")
    searches = [search(view, selection, workload) for workload in workloads]
    curves = [scaling_curve(found, goal) for found in searches]
    names = tuple(map(str, workloads))
    found = contest(names, _entries(searches, goal), budget)
    base = workloads.index(baseline or workloads[0])
    goal_words = goal.in_words(selection.metric, searches[0].direction)
    against = [list(differences(found, curves, index, base)) if index != base else [] for index in range(len(names))]
    finding = Finding(
        definition=_DEFINITION,
        n_used=int((~np.isnan(found.medians)).sum()),
        left_out=found.left_out,
        warnings=tuple(comparison_warnings(found, curves, base)),
    )
    own = {
        "baseline": names[base],
        "budget": budget,
        "conclusions": list(conclusions(found, against, base, goal_words)),
        "geometric_means": list(_geometric_means(found, base)),
        "flips": list(_flips(found)),
    }
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | own | finding.facts()
    return Answer(facts, COMPARE.schema, iter([_rows(found, base, against)]))


def _entries(searches: Sequence[Search], goal: Goal) -> Iterator[Entry]:
    for found in searches:
        for batch_size, steps in zip(found.facts.batch_sizes, admitted_steps(found, goal), strict=True):
            yield Entry(str(found.facts.workload), ("", batch_size), steps)


def _rows(found: Contest, base: int, against: Sequence[Sequence[Difference | None]]) -> pa.RecordBatch:
    rows: list[dict[str, Any]] = []
    for column, (_, batch_size) in enumerate(found.places):
        budget, medians = found.budgets[column], found.medians[:, column]
        placed = ranks(medians)
        for index, name in enumerate(found.competitors):
            own = found.steps[index][column]
            if own is not None:
                best = own.min()
                rows.append(
                    {
                        "batch_size": batch_size,
                        "workload": name,
                        "n_trials": len(own),
                        "n_reached": int(np.isfinite(own).sum()),
                        "budget": budget,
                        "steps": int(best) if np.isfinite(best) else None,
                        "median_steps": int(medians[index]) if np.isfinite(medians[index]) else None,
                        "steps_ratio": steps_ratio(medians[index], medians[base]),
                        "rank": placed[index],
                        **(_told(against[index][column]) if index != base else {}),
                        **_against(own, found.steps[base][column] if index != base else None, budget),
                    }
                )
    return pa.RecordBatch.from_pylist(rows, COMPARE.schema)


def _against(own: Floats, baseline: Floats | None, budget: int) -> dict[str, float | None]:
    """The chances against the baseline; None where there is none, as for the baseline itself."""
    if baseline is None:
        return {}
    whole, half = chances(own, baseline, budget), budget // 2
    return {
        "beats_baseline": whole.beats,
        "neither_reaches": whole.neither,
        "beats_baseline_at_half": chances(own, baseline, half).beats if half else None,
    }


def _told(difference: Difference | None) -> dict[str, float | str | None]:
    """Of a difference to the baseline; nothing where that has no trials."""
    if difference is None:
        return {}
    ends = {"steps_ratio_lower": difference.lower, "steps_ratio_upper": difference.upper}
    found: dict[str, float | str | None] = {
        name: end if end is not None and np.isfinite(end) else None for name, end in ends.items()
    }
    return found | {"difference": difference.verdict}


def _geometric_means(found: Contest, base: int) -> Iterator[dict[str, Any]]:
    """Of each workload but the baseline."""
    for index, name in enumerate(found.competitors):
        if index != base:
            ratio, n = geometric_mean_of_ratios(found.medians[index], found.medians[base])
            pair = found.medians[[index, base]]
            unused = np.flatnonzero(~(np.isfinite(pair) & (pair > 0)).all(axis=0))
            left_out = [found.places[column][1] for column in unused.tolist()]
            yield {"workload": name, "steps_ratio": ratio, "n_batch_sizes": n, "left_out_batch_sizes": left_out}


def _flips(found: Contest) -> Iterator[dict[str, Any]]:
    def at_half(first: int, second: int, column: int) -> float:
        return found.beats(first, second, column, found.budgets[column] // 2)

    for flip in flips(found.medians, at_half):
        yield {
            "first": found.competitors[flip.first],
            "second": found.competitors[flip.second],
            "first_leads_at": [found.places[column][1] for column in flip.first_leads],
            "second_leads_at": [found.places[column][1] for column in flip.second_leads],
            "is_clear": flip.is_clear,
        }
