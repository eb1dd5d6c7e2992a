"""The map of metaparameters: every trial with its learning rate, momentum and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.analysis.goal_region import OUTCOMES, fraction_reaching, goal_probability_of_others
from losslake.analysis.tuned_study import effective_learning_rates, places
from losslake.output.answer import Answer, row_shape
from losslake.output.plain import finite
from losslake.questions.analysis.finding import Finding
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, facts_of, of_batch_sizes, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.study_optima import metaparameters_of, outcomes_of
from losslake_schema.reached import NEVER, Floats, Integers
from losslake_schema.tables import STATUSES

MAP = row_shape(
    "metaparameter-map", "workload", "batch_size", "trial_id", "status", "outcome", "steps", "learning_rate",
    "momentum", "one_minus_momentum", "effective_learning_rate", "goal_probability",
)  # fmt: skip
_DEFINITION = (
    "reached: COMPLETE and reached the target within the budgets; not reached: COMPLETE and did not; infeasible: "
    "diverged, whether or not it had reached the target; incomplete: stopped for an outside reason, a class that the "
    "scripts of Shallue et al. refuse. goal_probability: of the 10 trials of the study nearest to the trial, in "
    "standardized log space of learning_rate and 1 - momentum, the fraction that reached the target; neither the trial "
    "itself nor incomplete ones count. n_used counts trials."
)


def metaparameter_map(view: ReleaseView, selection: Selection, goal: Goal, batch_sizes: Sequence[int] = ()) -> Answer:
    """Every admitted trial by workload, batch size and trial_id; raises UnknownName and BadParameter.

    batch_sizes: only trials of these; none for all.
    """
    searches = [
        of_batch_sizes(view, search(view, selection, workload), batch_sizes) for workload in selection.workloads
    ]
    batches, regions, warnings = [], [], []
    for found in searches:
        rows = np.flatnonzero(found.admitted)
        hits = found.first_hits(goal)
        classes = outcomes_of(found.facts, hits != NEVER, rows)
        regions += _regions(found, classes, rows, batch_sizes or found.facts.batch_sizes)
        batch = _rows(view, found, hits[rows], classes, rows)
        warnings += _warnings(found, batch)
        batches.append(batch)
    finding = Finding(_DEFINITION, n_used=sum(batch.num_rows for batch in batches), warnings=tuple(warnings))
    facts = facts_of(view, selection, searches[0].direction) | goal.facts()
    facts |= {"batch_sizes": list(batch_sizes), "goal_regions": regions} | finding.facts()
    return Answer(facts, MAP.schema, iter(batches))


def _rows(view: ReleaseView, found: Search, hits: Integers, classes: Integers, rows: Integers) -> pa.RecordBatch:
    facts = found.facts
    metaparameters = metaparameters_of(view, facts)
    learning_rate, momentum = metaparameters.learning_rate[rows], metaparameters.momentum[rows]
    study = facts.study_of_trial[rows]
    return pa.RecordBatch.from_arrays(
        [
            pa.repeat(str(facts.workload), len(rows)),
            pa.array(np.asarray(facts.batch_sizes, np.int64)[study]),
            pa.array(facts.trials.trial_id[rows]),
            pa.array(STATUSES).take(pa.array(facts.trials.status[rows])),
            pa.array(OUTCOMES).take(pa.array(classes)),
            pa.array(at(found.records.step, hits), mask=hits == NEVER),
            finite(learning_rate),
            finite(momentum),
            finite(1 - momentum),
            finite(effective_learning_rates(learning_rate, momentum)),
            finite(_goal_probability(places(learning_rate, momentum), classes, study)),
        ],
        schema=MAP.schema,
    )


def _goal_probability(at: Floats, classes: Integers, study: Integers) -> Floats:
    """By trial, of its nearest in its own study."""
    found = np.full(len(study), np.nan)
    for index in np.unique(study):
        own = study == index
        found[own] = goal_probability_of_others(at[own], classes[own])
    return found


def _regions(found: Search, classes: Integers, rows: Integers, wanted: Sequence[int]) -> list[dict[str, Any]]:
    """By study of the batch sizes that are wanted, how many trials are of each class."""
    study = found.facts.study_of_trial[rows]
    regions = []
    for index, batch_size in enumerate(found.facts.batch_sizes):
        if batch_size not in wanted:
            continue
        own = classes[study == index]
        counts: list[int] = np.bincount(own, minlength=len(OUTCOMES)).tolist()
        regions.append(
            {
                "workload": str(found.facts.workload),
                "batch_size": batch_size,
                **{f"n_{name.replace(' ', '_')}": count for name, count in zip(OUTCOMES, counts, strict=True)},
                "fraction_reaching": fraction_reaching(own),
            }
        )
    return regions


def _warnings(found: Search, batch: pa.RecordBatch) -> list[str]:
    n = batch.column("effective_learning_rate").null_count
    if not n:
        return []
    trials = f"{n} of {batch.num_rows} trial{'' if batch.num_rows == 1 else 's'}"
    return [f"{found.facts.workload}: {trials} without an effective learning rate, so nowhere on the map"]
