"""The noise scales of gradients that trials logged on their way to a target."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from losslake.index.measurement_files import measurements
from losslake.questions.trials.search import Search, at
from losslake.questions.trials.selection import Goal
from losslake_schema.reached import NEVER, Floats

NOISE_SCALE = "train/noise_scale"


def noise_scales(search: Search, goal: Goal) -> Floats:
    """Return by trial, as in facts.trials, the median of its noise scales up to the target; NaN for none.

    Of trials that count and reach the target. Values that aren't finite and above 0 say nothing: estimates of noisy
    gradients have either sign.
    """
    hits = search.first_hits(goal)
    steps, medians = at(search.records.step, hits), np.full(len(hits), np.nan)
    is_read = search.admitted & (hits != NEVER)
    for _, study_rows, facts, stored in search.facts.parts():
        rows = study_rows.start + np.flatnonzero(is_read[study_rows])
        if not len(rows) or NOISE_SCALE not in facts.metrics[stored]:
            continue
        row_of = dict(zip(search.facts.trials.trial_id[rows].tolist(), rows.tolist(), strict=True))
        columns = ("trial_id", "step", "value")
        for table in measurements(search.view.store, facts.files(stored), NOISE_SCALE, [*row_of], columns):
            trial_id, step, value = (table[name].to_numpy() for name in columns)
            # Each trial lies in one piece.
            ends = np.append(np.flatnonzero(np.diff(trial_id)) + 1, len(trial_id))
            for start, end in pairwise([0, *ends.tolist()]):
                row = row_of[int(trial_id[start])]
                known = (step[start:end] <= steps[row]) & np.isfinite(value[start:end]) & (value[start:end] > 0)
                if known.any():
                    medians[row] = np.median(value[start:end][known])
    return medians
