"""A rule about time: the seconds since the start never decrease within an attempt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from losslake.record.layout import ELAPSED, STEP
from losslake.record.numbers import number
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_ingest.readers.recorded.folder import Segment
from losslake_schema.reached import Floats

# Converted runs have one attempt: a step that a restart didn't reach again keeps its earlier time.
_ADVICE_ON_LOGS = (
    'correct the clock of the log; if the training went back to a checkpoint, leave times out by elapsed_s = "" under '
    "[time] of its mapping"
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about time."""
    for name, spool in evidence.spools.items():
        for attempt, segments in spool.attempts():
            steps, elapsed = _columns(segments)
            # Lines of runs that were fetched have no step: each axis has a segment, which begins again.
            elapsed = np.where(np.isnan(steps), np.nan, elapsed)
            row = first_step_back(elapsed)
            if row is not None:
                where = f"attempt {attempt}, step {steps[row]:.0f}"
                earlier = np.fmax.accumulate(elapsed)[max(row - 1, 0)]
                advice = _ADVICE_ON_LOGS if spool.origin_files else "correct its clock, or leave elapsed_s out"
                yield finding(
                    "time_goes_back", name, where, f"elapsed_s is {elapsed[row]:g} after {earlier:g}: {advice}"
                )


def first_step_back(elapsed: Floats) -> int | None:
    """Return the first row whose time is infinite, negative, or below an earlier one; NaN is an unknown time."""
    with np.errstate(invalid="ignore"):
        highest = np.fmax.accumulate(np.concatenate([[0.0], elapsed]))[:-1]
        rows = np.flatnonzero((elapsed < highest) | np.isinf(elapsed))
    return int(rows[0]) if len(rows) else None


def _columns(segments: Sequence[Segment]) -> tuple[Floats, Floats]:
    """Return the steps and the times of segments; NaN where a line has none."""
    rows = [(number(row.get(STEP)), number(row.get(ELAPSED))) for segment in segments for row in segment.lines()]
    table = np.array(rows, np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
