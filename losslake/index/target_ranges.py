"""Results at every target, for SQL: each row holds the first trial to reach any target of a range.

The result of a study changes only where a target passes a value of its frontiers. So a row for each two neighbouring
values answers every target between them, and a statement finds its row by comparing two numbers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from losslake.index.frontiers import Frontiers
from losslake_schema.reached import NO_STEP, Floats, Integers, sign_of

# reaching: reaches all targets of the range; null in the last row, whose targets no trial reaches. short: the next
# worse value, which reaches none of them; null if there is none. The others are as in `result_at`.
TARGET_RANGES = pa.schema(
    [
        ("study_id", pa.int64()),
        ("metric", pa.string()),
        ("reaching", pa.float64()),
        ("short", pa.float64()),
        ("steps", pa.int64()),
        ("trial_id", pa.int64()),
        ("value", pa.float64()),
        ("previous_step", pa.int64()),
        ("n_reached", pa.int64()),
    ]
)


def target_ranges(
    first_study: int, metric: str, direction: str, of_workload: Frontiers, trial_id: Integers
) -> pa.RecordBatch:
    """Return the rows of a workload's studies, from its frontiers in a metric.

    first_study: the number of its first study. trial_id: of the workload's trials.
    """
    best, sign = of_workload.best, -sign_of(direction)
    studies = [_of_study(of_workload, study) for study in range(len(best.offsets) - 1)]
    study = np.repeat(np.arange(len(studies)), [len(merits) for merits, _, _ in studies])
    merits, entries, n_reached = (np.concatenate(parts) for parts in zip(*studies, strict=True))
    is_first, is_last = np.diff(study, prepend=-1) != 0, np.isinf(merits)
    entry = pa.array(entries, mask=is_last)
    previous_step = pa.array(of_workload.previous_step, mask=of_workload.previous_step == NO_STEP)
    columns = [
        pa.array(first_study + study),
        pa.repeat(metric, len(study)),
        pa.array(merits * sign, mask=is_last),
        pa.array(np.roll(merits, 1) * sign, mask=is_first),
        pa.array(best.step).take(entry),
        pa.array(trial_id[of_workload.row]).take(entry),
        pa.array(best.merit * sign).take(entry),
        previous_step.take(entry),
        pa.array(n_reached),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=TARGET_RANGES)


def _of_study(of_workload: Frontiers, study: int) -> tuple[Floats, Integers, Integers]:
    """Return the merits at which the result changes, with infinity for never, and what reaches each.

    That is the entry of `of_workload.best` that reaches it first, and the number of trials that do.
    """
    start, end = of_workload.best.offsets[study : study + 2]
    hits = of_workload.best.merit[start:end]
    reach = of_workload.reach[slice(*of_workload.reach_offsets[study : study + 2])]
    merits = np.unique(np.concatenate([hits, reach, [np.inf]]))
    return merits, start + np.searchsorted(hits, merits), len(reach) - np.searchsorted(reach, merits)
