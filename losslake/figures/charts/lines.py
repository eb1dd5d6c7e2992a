"""The lines of a chart of curves: their points in one array, and what each says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from losslake.figures.layers import Row
from losslake.figures.panel import Series
from losslake_schema.reached import Floats, Integers

FACTS = ("trial_id", "batch_size", "status", "workload")


@dataclass(frozen=True, eq=False)
class Lines:
    """step, value: of all lines, one after the other. starts: where each begins. facts: what each says of itself."""

    step: Integers
    value: Floats
    starts: Integers
    facts: Sequence[Row]

    @property
    def lengths(self) -> Integers:
        """Points of each line."""
        found: Integers = np.diff(np.r_[self.starts, len(self.step)])
        return found

    def as_rows(self) -> list[Row]:
        """A row for each line, with lists of its steps and values."""
        steps, values, ends = self.step.tolist(), self.value.tolist(), (self.starts + self.lengths).tolist()
        return [
            {**facts, "step": steps[start:end], "value": values[start:end]}
            for facts, start, end in zip(self.facts, self.starts.tolist(), ends, strict=True)
        ]


def lines_of(series: Sequence[Series], is_log: bool) -> Lines:
    """The lines of all series, without values that are not finite, and without step 0 on a logarithmic axis."""
    parts = [_lines(one, is_log) for one in series]
    lengths = [len(part.step) for part in parts]
    offsets = np.cumsum([0, *lengths])[:-1]
    return Lines(
        np.concatenate([np.zeros(0, np.int64), *(part.step for part in parts)]),
        np.concatenate([np.zeros(0), *(part.value for part in parts)]),
        np.concatenate(
            [np.zeros(0, np.int64), *(part.starts + offset for part, offset in zip(parts, offsets, strict=True))]
        ),
        [facts for part in parts for facts in part.facts],
    )


def _lines(series: Series, is_log: bool) -> Lines:
    rows = series.rows
    step, value = rows["step"].to_numpy().astype(np.int64), rows["value"].to_numpy().astype(np.float64)
    kept = np.flatnonzero(np.isfinite(value) & ((step > 0) | (not is_log)))
    step, value, line = step[kept], value[kept], rows["line"].to_numpy()[kept]
    starts = np.flatnonzero(np.r_[True, np.diff(line) != 0]) if len(kept) else np.zeros(0, np.int64)
    lasts = np.r_[starts[1:], len(kept)] - 1 if len(kept) else starts
    names = [name for name in ("line", *FACTS) if name in rows.column_names]
    ends = zip(value[lasts].tolist(), step[lasts].tolist(), strict=True)
    facts = [
        {"series": series.label, **row, "last": last, "until": until}
        for row, (last, until) in zip(rows.select(names).take(kept[starts]).to_pylist(), ends, strict=True)
    ]
    return Lines(step, value, starts, facts)
