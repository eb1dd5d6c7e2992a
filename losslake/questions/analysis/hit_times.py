"""When, by the clock, trials reached a target."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from losslake.index.study_files import measurements
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at
from losslake_schema.reached import NEVER, Floats, Integers


def hit_times(view: ReleaseView, found: Search, metric: str, hits: Integers) -> Floats:
    """By trial, seconds since the start of training at its first hit; NaN without a hit, and where no time is known.

    hits: by trial, which record it is; NEVER for none.
    """
    if not (hits != NEVER).any():
        return np.full(len(hits), np.nan)
    if found.direction == view.metrics[metric].direction:
        times = found.records.elapsed_s
        elapsed = np.full(len(hits), np.nan) if times is None else at(times, hits)
    else:
        elapsed = _of_measurements(view, found, metric, hits)
    return np.where((hits != NEVER) & np.isfinite(elapsed) & (elapsed >= 0), elapsed, np.nan)


def _of_measurements(view: ReleaseView, found: Search, metric: str, hits: Integers) -> Floats:
    """The same for a direction whose records aren't stored: by trial, from the rows of the hits."""
    elapsed = np.full(len(hits), np.nan)
    steps = at(found.records.step, hits)
    for study in range(len(found.facts.batch_sizes)):
        own = found.facts.rows_of(study)
        rows = own.start + np.flatnonzero(hits[own] != NEVER)
        trials = found.facts.trials.trial_id[rows]
        files = view.measurement_files(found.facts, study)
        for part in measurements(view.store, files, metric, trials.tolist()):
            numbers, measured_at = part["trial_id"].to_numpy(), part["step"].to_numpy()
            at_row = np.minimum(np.searchsorted(trials, numbers), len(trials) - 1)
            is_hit = (trials[at_row] == numbers) & (steps[rows][at_row] == measured_at)
            elapsed[rows[at_row[is_hit]]] = _floats(part["elapsed_s"])[is_hit]
    return elapsed


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
