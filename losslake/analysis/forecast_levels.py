"""The measured coverage of forecast bands for stored trials that were held out, by collection and part of the run.

The measurements are data, written by `python -m studies.calibration forecasts`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from losslake_schema.package_files import read_text

FILE = "forecast_levels.json"
# A percentage of fewer trials says little.
LEAST_TRIALS = 100


@functools.cache
def forecast_levels() -> Sequence[Mapping[str, Any]]:
    """Return a row for each collection and part of the run, with [held, all] by level and method."""
    rows: list[Mapping[str, Any]] = json.loads(read_text("losslake.analysis", FILE))
    return rows


def held_in_words(what: Literal["final", "target"], level: float) -> str:
    """Return the least and the greatest percentage of trials for which bands of a level held, as "78 to 91%"."""
    counts = [row[what]["forecast"].get(f"{100 * level:.0f}", (0, 0)) for row in forecast_levels()]
    shares = [100 * held / n for held, n in counts if n >= LEAST_TRIALS]
    return f"{min(shares):.0f} to {max(shares):.0f}%"
