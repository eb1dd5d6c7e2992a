"""Which trials a tuning budget counts: those that didn't diverge, or all that were launched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling_curve import trial_steps
from losslake.questions.search import Search, at, search
from losslake.questions.selection import Goal, Selection
from losslake_schema.names import Workload
from losslake_schema.reached import NEVER, Floats, Integers
from losslake_schema.tables import STATUSES

DIVERGED = "INFEASIBLE"
NON_DIVERGENT, LAUNCHED = "non-divergent", "launched"
POPULATIONS = (NON_DIVERGENT, LAUNCHED)


@dataclass(frozen=True)
class Population:
    """The trials of one study that count.

    steps: to the target, inf for never. losses: the best of each, lower is better, inf without any. Both are inf for
    a trial that diverged.
    """

    name: str
    batch_size: int
    steps: Floats
    losses: Floats
    n_diverged: int


def populations(
    view: ReleaseView, selection: Selection, goal: Goal, workload: Workload, names: Sequence[str] = POPULATIONS
) -> Iterator[Population]:
    """Of each study by batch size these populations; those launched are the selected trials and all that diverged.

    The first so many trials of a selection are counted in each population by itself. Raises UnknownName and
    BadParameter.
    """
    others = tuple(status for status in selection.statuses if status != DIVERGED)
    if not others:
        why = f"status={DIVERGED} alone leaves no trial that could reach the target: give COMPLETE or INCOMPLETE too"
        raise BadParameter("status", why)
    statuses = {NON_DIVERGENT: others, LAUNCHED: (*others, DIVERGED)}
    searches = {name: search(view, replace(selection, statuses=statuses[name]), workload) for name in names}
    by_name = {name: (found, *_trials(found, goal)) for name, found in searches.items()}
    for study, batch_size in enumerate(view.workload(workload).batch_sizes):
        for name, (found, steps, losses, diverged) in by_name.items():
            rows = found.facts.rows_of(study)
            admitted = found.admitted[rows]
            n_diverged = int(diverged[rows][admitted].sum())
            yield Population(name, batch_size, steps[rows][admitted], losses[rows][admitted], n_diverged)


def _trials(found: Search, goal: Goal) -> tuple[Floats, Floats, Integers]:
    """By trial: steps, losses, and whether it diverged."""
    diverged = found.facts.trials.status == STATUSES.index(DIVERGED)
    losses = at(found.records.value, found.best_records) * found.sign
    losses = np.where((found.best_records == NEVER) | diverged, np.inf, losses)
    return np.where(diverged, np.inf, trial_steps(found, goal)), losses, diverged.astype(np.int64)
