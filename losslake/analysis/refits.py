"""Ranges of B_c from fits to changed data: residuals drawn anew, a batch size left out, searches of half the trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from losslake.analysis.best_of_n import chance_of_none
from losslake.analysis.hyperbola import HyperbolaFit, Kind, fit_hyperbolas
from losslake.analysis.log_curves import checked_batch_sizes, checked_steps
from losslake.analysis.profile_likelihood import LEVEL
from losslake_schema.reached import Floats

SEED = 20190320
N_RESAMPLES = 500


@dataclass(frozen=True)
class Range:
    """From lower to upper, both included."""

    lower: float
    upper: float


def residual_bootstrap(
    fit: HyperbolaFit,
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    kind: Kind = "robust",
    n_resamples: int = N_RESAMPLES,
    level: float = LEVEL,
) -> Range:
    """Percentiles of B_c of refits to the fitted curve with residuals drawn with replacement (METHODS 3.3).

    The log residuals of the m studies that reached the target are multiplied by sqrt(m/(m - 2)), for two parameters
    were fitted. batch_sizes, steps: (m,). The draws are the same each time. Raises ValueError.
    """
    sizes = checked_batch_sizes(batch_sizes)
    counts = checked_steps(steps, len(sizes))
    reached = np.isfinite(counts)
    sizes, log_s = sizes[reached], np.log(counts[reached])
    fitted = np.log(fit.steps(sizes))
    inflated = (log_s - fitted) * np.sqrt(len(sizes) / (len(sizes) - 2))
    drawn = np.random.default_rng(SEED).integers(len(sizes), size=(n_resamples, len(sizes)))
    return _percentiles(fit_hyperbolas(sizes, np.exp(fitted + inflated[drawn]), kind=kind).critical_batch_size, level)


def leave_one_out(
    batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, censored_at: npt.ArrayLike | None = None, kind: Kind = "robust"
) -> Range | None:
    """The least and the most B_c of fits without one of the batch sizes; None where too few are left for any."""
    sizes = checked_batch_sizes(batch_sizes)
    counts = checked_steps(steps, len(sizes))
    reached = np.flatnonzero(np.isfinite(counts))
    if len(reached) < 4:
        return None
    without = np.tile(counts, (len(reached), 1))
    without[np.arange(len(reached)), reached] = np.nan
    found = fit_hyperbolas(sizes, without, censored_at, kind).critical_batch_size
    return Range(float(found.min()), float(found.max()))


def subsampled_search(
    batch_sizes: npt.ArrayLike,
    trial_steps: Sequence[npt.ArrayLike],
    censored_at: npt.ArrayLike | None = None,
    kind: Kind = "robust",
    n_resamples: int = N_RESAMPLES,
    level: float = LEVEL,
) -> Range | None:
    """Percentiles of B_c if every search had only half of its trials: what another search might have said.

    Of the N trials of each study N/2 are drawn without replacement, and the best of these kept: not a bootstrap of a
    minimum, which is inconsistent (METHODS 3.2). trial_steps: by batch size, the steps of each trial, inf for never.
    None if fewer than half of the draws leave 3 batch sizes that reach the target. Raises ValueError.
    """
    sizes = checked_batch_sizes(batch_sizes)
    rng = np.random.default_rng(SEED)
    drawn = np.stack([fewest_of_half(steps, n_resamples, rng) for steps in trial_steps], axis=-1)
    found = fit_hyperbolas(sizes, drawn, censored_at, kind).critical_batch_size
    found = found[np.isfinite(found)]
    return _percentiles(found, level) if 2 * len(found) >= n_resamples else None


def fewest_of_half(steps: npt.ArrayLike, n_draws: int, rng: np.random.Generator) -> Floats:
    """The fewest steps among half of the trials (at least one), drawn without replacement, so many times.

    The rank r of the best of n of N has P(rank > r) = C(N - r, n)/C(N, n), so nothing but the rank has to be drawn.
    steps: (N,), inf for never. No trials: all NaN, absent.
    """
    ordered = np.sort(np.asarray(steps, np.float64))
    n_trials = len(ordered)
    if not n_trials:
        return np.full(n_draws, np.nan)
    drawn = max(1, n_trials // 2)
    beyond = chance_of_none(n_trials, n_trials, np.array([drawn]))[0, 1:]
    ranks = np.searchsorted(-beyond, -rng.random(n_draws), side="left")
    fewest: Floats = ordered[np.minimum(ranks, n_trials - drawn)]
    return fewest


def _percentiles(values: Floats, level: float) -> Range:
    lower, upper = np.quantile(values, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    return Range(float(lower), float(upper))
