"""The regimes of one workload as far as its steps tell, for shading."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from losslake.analysis.break_points import PERFECT_WITHIN, USEFUL_WITHIN, max_useful_batch_size, perfect_scaling_end
from losslake.figures.charts.scaling import Regimes


@dataclass(frozen=True)
class KnownRegimes:
    """Regimes, and in words what their ends are."""

    regimes: Regimes = field(default_factory=Regimes)
    explained: tuple[str, ...] = ()


def known_regimes(rows: pa.Table) -> KnownRegimes:
    """The regimes of rows of /v1/scaling of one workload; an end outside of its batch sizes bounds no shade."""
    sizes, steps, censored_at = (
        np.array([math.nan if value is None else value for value in rows[name].to_pylist()], np.float64)
        for name in ("batch_size", "steps", "censored_at")
    )
    is_used = sizes > 0
    if not is_used.any():
        return KnownRegimes()
    sizes, limits = sizes[is_used], np.nan_to_num(censored_at[is_used])
    steps = np.where(np.isnan(steps[is_used]), np.inf, steps[is_used])
    # A target that is reached before training tells nothing of it.
    steps[steps == 0] = np.nan
    perfect = perfect_scaling_end(sizes, steps, censored_at=limits)
    useful = max_useful_batch_size(sizes, steps, censored_at=limits)
    end = perfect.batch_size if perfect.censoring != "left" else float(sizes[0])
    plateau = useful.batch_size if useful.censoring != "right" else None
    if end is None:
        return KnownRegimes()
    words = []
    if perfect.lower is not None:
        words.append(f"perfect scaling up to {end:g} (within {PERFECT_WITHIN:.0%})")
    if plateau is not None:
        words.append(f"no fewer steps beyond {plateau:g} (within {USEFUL_WITHIN:.0%})")
    until = plateau if plateau is not None else float(sizes[-1])
    found = Regimes(
        perfect_scaling=(0, min(end, until)) if perfect.lower is not None else None,
        diminishing_returns=(end, until) if perfect.censoring != "right" and end < until else None,
        maximal_parallelism=(plateau, math.inf) if plateau is not None else None,
    )
    return KnownRegimes(found, (f"Shaded: {'; '.join(words)}.",) if words else ())
