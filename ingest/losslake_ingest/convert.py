"""One part of a study from its bytes to data files: the work that an ingest does on all cores at once."""

from __future__ import annotations

import numpy as np

from losslake.lake.store.store import Store
from losslake_ingest.changes import WrittenPart, packed, trial_rows
from losslake_ingest.study import Curves, StudyPart
from losslake_ingest.write import write_curves


def convert(store: Store, part: StudyPart) -> WrittenPart:
    """Load a part, store its curves and describe them; raises StudyRejected."""
    loaded = part.load()
    trial_ids = [trial.trial_id for trial in loaded.trials]
    written = write_curves(store, part.study, trial_ids, loaded.curves)
    rows = trial_rows(part, loaded, nonfinite_by_trial(loaded.curves))
    return WrittenPart(loaded.facts, packed(rows), written, frozenset(loaded.curves.values), loaded.quarantined)


def nonfinite_by_trial(curves: Curves) -> list[int]:
    """How many measurements of each trial are NaN or infinite."""
    total = np.zeros(len(curves.offsets) - 1, np.int64)
    for metric, values in curves.values.items():
        odd = ~np.isfinite(values)
        if metric in curves.missing:
            odd &= ~curves.missing[metric]
        if odd.any():
            before = np.concatenate([np.zeros(1, np.int64), np.cumsum(odd, dtype=np.int64)])
            total += np.diff(before[curves.offsets])
    return [int(count) for count in total]
