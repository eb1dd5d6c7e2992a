"""The current measurements of a run: without what later attempts replace, and one value a metric and step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from losslake.record.layout import CALLS, ELAPSED, STEP
from losslake_ingest.contracts.run_log import LoggedRows
from losslake_schema.reached import Flags

_AXES = (STEP, ELAPSED, CALLS)


def replaced_from(begins: Mapping[int, int | None], attempt: int) -> float:
    """Return the step from which on later attempts replace what an attempt measured; infinity if none does.

    begins: the first step that each attempt replaces, None for none.
    """
    return min((step for later, step in begins.items() if later > attempt and step is not None), default=math.inf)


def last_written(steps: NDArray[np.generic]) -> NDArray[np.intp]:
    """Return which of some values count, by step: of equal steps, the last one. steps: in the order written."""
    # Of equal steps, the first one of the reversed rows is the last one written.
    rows: NDArray[np.intp] = len(steps) - 1 - np.unique(steps[::-1], return_index=True)[1]
    return rows


def current_rows(
    segments: Mapping[tuple[int, int], Sequence[LoggedRows]], begins: Mapping[int, int | None]
) -> tuple[list[LoggedRows], int, int]:
    """Return the rows that count, and the numbers of measurements that an attempt replaced and that were repeated.

    segments: by attempt and number. begins: as of `replaced_from`.
    """
    written = [(attempt, each) for (attempt, _), rows in sorted(segments.items()) for each in rows]
    rows = [_before(each, replaced_from(begins, attempt)) for attempt, each in written]
    n_replaced = sum(_measured(each) for _, each in written) - sum(map(_measured, rows))
    rows = [each for each in rows if len(next(iter(each.columns.values()), ()))]
    n_measured = sum(map(_measured, rows))
    rows = _last_values(rows)
    return rows, n_replaced, n_measured - sum(map(_measured, rows))


def _before(rows: LoggedRows, step: float) -> LoggedRows:
    """Return the rows of steps below one, and those without a step."""
    if STEP not in rows.columns or step == math.inf:
        return rows
    kept = np.flatnonzero(~(rows.known(STEP) & (rows.columns[STEP] >= step)))
    if len(kept) == len(rows.columns[STEP]):
        return rows
    return rows.at(kept)


def _last_values(rows: Sequence[LoggedRows]) -> list[LoggedRows]:
    """Return the rows without the values of a metric that a later row has for the same step."""
    missing: list[dict[str, Flags]] = [dict(each.missing) for each in rows]
    names = {name: None for each in rows for name in each.columns if name not in _AXES}
    for name in names:
        holding = [at for at, each in enumerate(rows) if name in each.columns and STEP in each.columns]
        cells = [np.flatnonzero(rows[at].known(name) & rows[at].known(STEP)) for at in holding]
        steps = [rows[at].columns[STEP][measured] for at, measured in zip(holding, cells, strict=True)]
        written = np.concatenate(steps) if steps else np.zeros(0)
        if len(written) < 2 or (written[1:] > written[:-1]).all():
            continue
        is_stale = np.ones(len(written), np.bool_)
        is_stale[last_written(written)] = False
        ends = np.cumsum(list(map(len, cells)))
        for at, measured, stale in zip(holding, cells, np.split(is_stale, ends[:-1]), strict=True):
            if stale.any():
                missing[at][name] = ~rows[at].known(name)
                missing[at][name][measured[stale]] = True
    return [LoggedRows(each.columns, flags, each.texts, each.fields) for each, flags in zip(rows, missing, strict=True)]


def _measured(rows: LoggedRows) -> int:
    """Return the number of measurements in rows."""
    return sum(int(rows.known(name).sum()) for name in rows.columns if name not in _AXES)


def counts_calls(rows: Sequence[LoggedRows]) -> bool:
    """Return True if the step of any line is a count of calls, which the recorder states beside the step."""
    return any(STEP in each.columns and CALLS in each.columns and each.known(CALLS).any() for each in rows)


def with_calls_as_axis(rows: Sequence[LoggedRows]) -> list[LoggedRows]:
    """Return rows whose steps are called what they are: a count of calls, for which mappings have rules."""
    counts = ({name: column for name, column in each.columns.items() if name != CALLS} for each in rows)
    return [replace(each, columns=columns).renamed(STEP, CALLS) for each, columns in zip(rows, counts, strict=True)]
