"""Reading tables, as a test of CSV or JSON lines wants it."""

from __future__ import annotations

import math
import struct

from losslake_ingest.contracts.run_log import RunLog
from tests.ingest.formats.reading import cells


def columns(run: RunLog) -> dict[str, list[float | None]]:
    """The columns of a run, those of its rows with other words one after the other."""
    return {name: [cell for rows in run.rows for cell in cells(rows, name)] for name in run.rows[0].columns}


def same(found: float | None, expected: float | None) -> bool:
    """Whether two cells are the same bit for bit, or both NaN, or both empty."""
    if found is None or expected is None:
        return found is expected
    return struct.pack("<d", found) == struct.pack("<d", expected) or (math.isnan(found) and math.isnan(expected))
