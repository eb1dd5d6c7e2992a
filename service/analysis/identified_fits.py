"""Critical batch sizes of many curves at once, for those whose data can tell them: one for each target of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from service.analysis.hyperbola import Kind, fit_hyperbolas
from service.analysis.identifiability import FEWEST_BATCH_SIZES, FURTHEST, LEAST_BEND, LEAST_SLOPE, middles
from service.analysis.log_curves import Flags, Floats, checked_batch_sizes, checked_steps
from service.analysis.profile_likelihood import profile_intervals

Refusal = Literal["too few", "no bend", "no scaling", "extrapolated"]


@dataclass(frozen=True)
class IdentifiedFits:
    """Fits of n curves; all arrays (n,).

    critical_batch_size, s_min, rms_log_residual: NaN where the data can't tell. lower, upper: the 90 % interval of B_c,
    or those bounds that hold where the data can't tell it; NaN for none. refusal: which gate was not passed; None if
    all were.
    """

    critical_batch_size: Floats
    s_min: Floats
    rms_log_residual: Floats
    lower: Floats
    upper: Floats
    refusal: tuple[Refusal | None, ...]

    @property
    def is_identifiable(self) -> Flags:
        return np.isfinite(self.critical_batch_size)


def identified_fits(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    previous_steps: npt.ArrayLike | None = None,
    kind: Kind = "robust",
) -> IdentifiedFits:
    """Fit each curve that passes the gates of `identifiability`, which says what they are; arguments as there.

    steps, previous_steps: (n, m). Raises ValueError.
    """
    sizes = checked_batch_sizes(batch_sizes)
    counts = np.atleast_2d(checked_steps(steps, len(sizes)))
    fits = fit_hyperbolas(sizes, counts, censored_at, kind)
    is_enough = fits.n_points >= FEWEST_BATCH_SIZES
    lower, upper = _hull(sizes, counts, censored_at, previous_steps, kind)
    is_short, is_flat = _bends(sizes, counts) < LEAST_BEND, _steepest(sizes, counts) < LEAST_SLOPE
    with np.errstate(invalid="ignore"):
        is_far = ~((sizes[:1] / FURTHEST <= lower) & (upper <= FURTHEST * sizes[-1:]))
    gates: tuple[tuple[Refusal, Flags], ...] = (
        ("too few", ~is_enough),
        ("no bend", is_short),
        ("no scaling", is_flat),
        ("extrapolated", is_far),
    )
    refusal = tuple(next((name for name, shut in gates if shut[at]), None) for at in range(len(counts)))
    is_open = np.array([each is None for each in refusal], np.bool_)
    return IdentifiedFits(
        critical_batch_size=np.where(is_open, fits.critical_batch_size, np.nan),
        s_min=np.where(is_open, fits.s_min, np.nan),
        rms_log_residual=np.where(is_open, fits.rms_log_residual, np.nan),
        lower=np.where(~is_enough | (lower == 0) | (is_flat & ~is_short), np.nan, lower),
        upper=np.where(~is_enough | np.isinf(upper) | (is_short & ~is_flat), np.nan, upper),
        refusal=refusal,
    )


def _hull(
    sizes: Floats, counts: Floats, censored_at: npt.ArrayLike | None, previous: npt.ArrayLike | None, kind: Kind
) -> tuple[Floats, Floats]:
    """The interval of B_c by curve, over the steps and the middles of the intervals in which they lie."""
    if previous is None:
        own = profile_intervals(sizes, counts, censored_at, kind)
        return own.lower, own.upper
    both = np.concatenate([counts, middles(counts, previous)])
    limits = censored_at
    if limits is not None and np.ndim(limits) == 2:
        limits = np.concatenate([np.asarray(limits)] * 2)
    found = profile_intervals(sizes, both, limits, kind)
    lower, upper = (ends.reshape(2, len(counts)) for ends in (found.lower, found.upper))
    return lower.min(axis=0), upper.max(axis=0)


def _bends(sizes: Floats, counts: Floats) -> Floats:
    """E at the largest batch size with a result, by the least E; NaN without results."""
    examples = np.where(np.isfinite(counts), counts * sizes, np.nan)
    last = np.isfinite(counts).shape[1] - 1 - np.isfinite(counts)[:, ::-1].argmax(axis=1)
    least = np.where(np.isfinite(counts), examples, np.inf).min(axis=1, initial=np.inf)
    ratio: Floats = examples[np.arange(len(counts)), last] / least
    return ratio


def _steepest(sizes: Floats, counts: Floats) -> Floats:
    """The greatest slope -dlog S/dlog B between neighbours with results; -inf for fewer than two."""
    found = np.full(len(counts), -np.inf)
    last_log_s, last_log_b = np.full(len(counts), np.nan), np.full(len(counts), np.nan)
    for log_b, column in zip(np.log(sizes).tolist(), counts.T, strict=True):
        is_reached = np.isfinite(column)
        log_s = np.log(np.where(is_reached, column, 1.0))
        found = np.where(is_reached, np.fmax(found, (last_log_s - log_s) / (log_b - last_log_b)), found)
        last_log_s, last_log_b = np.where(is_reached, log_s, last_log_s), np.where(is_reached, log_b, last_log_b)
    return found
