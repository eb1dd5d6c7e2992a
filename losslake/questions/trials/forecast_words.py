"""A forecast in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator

from losslake.analysis.forecast import LEVELS, REQUIRED_LEVEL, Forecast


def in_sentences(result: Forecast) -> Iterator[str]:
    """Yield the best value at the end, and the step of the target, by the bands of REQUIRED_LEVEL."""
    band = result.bands[LEVELS.index(REQUIRED_LEVEL)]
    assert band.final is not None
    first, last = band.final
    yield (
        f"Best value at the end: {first:.4g} to {last:.4g} ({band.level:.0%}), {result.median:.4g} in the median of "
        "similar runs."
    )
    if result.reached_at is not None:
        yield f"The target was reached at step {result.reached_at:,}."
    elif band.target_steps is not None and result.target is not None:
        similar = f"{result.target.n_alike_reached} of the {result.target.n_alike} most similar runs reached it"
        yield f"The target: {_steps(*band.target_steps)} ({band.level:.0%}); {similar}."


def _steps(first: float, last: float) -> str:
    if first == math.inf:
        return "not reached"
    if last == math.inf:
        return f"step {first:,.0f} or later, or not reached"
    return f"step {first:,.0f} to {last:,.0f}"
