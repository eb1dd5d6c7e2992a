"""The identifiability of B_c: tests of whether steps by batch size determine it, before the fit is reported.

For one curve with reasons in words, or for many curves at once (one per target), with the fits of those that pass.
Source: LossLake's own tests (METHODS 2.2), on profile intervals of the hyperbola of McCandlish et al. 2018.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslake.analysis.fit_intervals import profile_intervals
from losslake.analysis.hyperbola import Kind, fit_hyperbolas
from losslake.analysis.log_curves import checked_batch_sizes, checked_curves
from losslake_schema.reached import Flags, Floats, Integers

Refusal = Literal["too few", "too coarse", "too unequal", "no bend", "no scaling", "extrapolated"]
# With four batch sizes, few curves pass the other gates at noise of 15%, and of their intervals 75 to 83% hold: those
# that pass are those that happen to look narrow. Over all curves of four, passing or not, they hold as they should.
FEWEST_BATCH_SIZES, FEWEST_FOR_BOUNDS = 5, 4
LEAST_BEND = 1.25
LEAST_SLOPE = 0.5
FURTHEST = 4.0
MOST_AT_FIRST = 0.25
# From 64 to 4 trials a 90% interval would hold in three quarters of studies: studies.calibration.
MOST_UNEQUAL = 2


@dataclass(frozen=True)
class Gates:
    """The results of the gates for n curves, arrays of shape (n,).

    n_reached: batch sizes that reached the target; n_at_first: those that did at their first evaluation after step 0.
    fewest, most: the numbers of trials of these; NaN where steps aren't those of the best trial. bend: E(B_m) / min E
    over these, E = B S. slope: the steepest -dlog S/dlog B between neighbours. Both are NaN without neighbours.
    is_within: the interval lies within [B_1/4, 4 B_m]; undefined where other gates leave no bound. lower, upper: the
    90% interval of B_c; 0 and inf where the data set no bound.
    """

    n_reached: Integers
    n_at_first: Integers
    fewest: Floats
    most: Floats
    bend: Floats
    slope: Floats
    is_within: Flags
    lower: Floats
    upper: Floats

    @property
    def is_unequal(self) -> Flags:
        """True where some batch sizes have too many more trials than others: the best of more is better by chance."""
        return self.most > MOST_UNEQUAL * self.fewest

    @property
    def is_identifiable(self) -> Flags:
        """True for curves that pass all gates, so that B_c may be reported."""
        is_fine = (self.n_at_first <= MOST_AT_FIRST * self.n_reached) & ~self.is_unequal
        passed: Flags = (self.n_reached >= FEWEST_BATCH_SIZES) & (self.bend >= LEAST_BEND) & (self.slope >= LEAST_SLOPE)
        return passed & is_fine & self.is_within

    def failed(self, curve: int) -> list[Refusal]:
        """Return the gates that one curve fails: the counts of batch sizes, else the shape, else the interval."""
        if self.n_reached[curve] < FEWEST_BATCH_SIZES:
            return ["too few"]
        if self.n_at_first[curve] > MOST_AT_FIRST * self.n_reached[curve]:
            return ["too coarse"]
        if self.is_unequal[curve]:
            return ["too unequal"]
        refusals: list[Refusal] = []
        if self.bend[curve] < LEAST_BEND:
            refusals.append("no bend")
        if self.slope[curve] < LEAST_SLOPE:
            refusals.append("no scaling")
        return refusals or ([] if self.is_within[curve] else ["extrapolated"])


@dataclass(frozen=True)
class Identifiability:
    """The knowledge of B_c from one curve: a two-sided 90% interval, or bounds.

    lower, upper: the interval if is_identifiable, else the bounds that still hold; None where the data set no bound.
    reasons: why B_c isn't identifiable, in words; empty if it is.
    """

    lower: float | None
    upper: float | None
    reasons: tuple[str, ...]

    @property
    def is_identifiable(self) -> bool:
        """True if B_c may be reported."""
        return not self.reasons


def gates(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    previous_steps: npt.ArrayLike | None = None,
    kind: Kind = "robust",
    n_trials: npt.ArrayLike | None = None,
) -> Gates:
    """Apply the gates of identifiability to n curves; arguments and errors as for fit_hyperbolas.

    1. At least 5 batch sizes reached the target. With 4 there is no number, but bounds.
    2. A bend: E(B_m) >= 1.25 min E, where E = B S and B_m is the largest B with a result; else only the lower bound of
       B_c holds.
    3. A slope: -dlog S/dlog B >= 0.5 between some neighbours; else only the upper bound holds.
    4. The 90% interval lies within [B_1/4, 4 B_m].
    5. At most a quarter of these batch sizes reached the target at their first evaluation after step 0; else no bound
       holds.
    6. If steps are those of the best trial, no batch size has over twice as many trials as another that reached the
       target; else no bound holds. n_trials: (m,); None if steps are another result.

    Gate 4 is stricter than METHODS 2.2, which tests only the estimate: with noise of 0.1 in log S that would pass 5 to
    15% of curves with a true B_c of 8 to 30 B_m. Since each end of the interval misses in 5% of curves, a true B_c
    outside [B_1/4, 4 B_m] is refused for 95% of curves by construction.

    previous_steps: (m,) or (n, m), the step of the evaluation before the one that reached the target, NaN for none; the
    true S lies in (previous, S], or (0, S] for none. The interval is the hull of those for S, for the midpoints of
    (previous, S], and for the two extremes that tilt the curve most: the small half of the batch sizes at S and the
    large half at the step before, and the reverse. It covers the spacing of evaluations, even if that errs alike at
    neighbours. Without previous_steps crossings are taken to be exact.
    """
    sizes, counts = checked_curves(batch_sizes, steps)
    n_reached, bend, slope = _shapes(sizes, counts)
    n_at_first = _at_first(counts, previous_steps).sum(-1)
    fewest, most = _extremes(counts, n_trials)
    is_refused = (n_at_first > MOST_AT_FIRST * n_reached) | (most > MOST_UNEQUAL * fewest)
    is_short, is_flat = bend < LEAST_BEND, slope < LEAST_SLOPE
    has_bounds = (n_reached >= FEWEST_FOR_BOUNDS) & ~is_refused
    lower, upper = np.full((2, len(counts)), np.nan)
    if has_bounds.any():
        lower, upper = _hull(sizes, counts, censored_at, previous_steps, kind)
    low, high = (sizes[0] / FURTHEST, FURTHEST * sizes[-1]) if len(sizes) else (np.nan, np.nan)
    is_within = (low <= lower) & (upper <= high)
    # A curve that shows neither a bend nor scaling keeps both bounds.
    lower = np.where(has_bounds & ~(is_flat & ~is_short), lower, 0.0)
    upper = np.where(has_bounds & ~(is_short & ~is_flat), upper, np.inf)
    return Gates(n_reached, n_at_first, fewest, most, bend, slope, is_within, lower, upper)


def identifiability(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    previous_steps: npt.ArrayLike | None = None,
    kind: Kind = "robust",
    n_trials: npt.ArrayLike | None = None,
) -> Identifiability:
    """Apply the gates to one curve and give reasons in words; arguments as for `gates`, but steps of shape (m,)."""
    tested = gates(batch_sizes, np.asarray(steps, np.float64)[None], censored_at, previous_steps, kind, n_trials)
    lower, upper = float(tested.lower[0]), float(tested.upper[0])
    return Identifiability(
        lower if lower > 0 else None,
        upper if np.isfinite(upper) else None,
        tuple(_reasons(tested, checked_batch_sizes(batch_sizes))),
    )


@dataclass(frozen=True)
class IdentifiedFits:
    """The fits of n curves that pass the gates; arrays of shape (n,).

    critical_batch_size, s_min, rms_log_residual: NaN where B_c isn't identifiable. lower, upper: the 90% interval of
    B_c, or the bounds that hold where it isn't identifiable; NaN for none. refusal: the first gate that failed, or
    None.
    """

    critical_batch_size: Floats
    s_min: Floats
    rms_log_residual: Floats
    lower: Floats
    upper: Floats
    refusal: tuple[Refusal | None, ...]

    @property
    def is_identifiable(self) -> Flags:
        """True for curves that pass all gates."""
        return np.isfinite(self.critical_batch_size)


def identified_fits(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    previous_steps: npt.ArrayLike | None = None,
    n_trials: npt.ArrayLike | None = None,
) -> IdentifiedFits:
    """Fit each curve that passes the gates; arguments and errors as for `gates`."""
    tested = gates(batch_sizes, steps, censored_at, previous_steps, n_trials=n_trials)
    is_open = tested.is_identifiable
    numbers = np.full((3, len(is_open)), np.nan)
    if is_open.any():
        limits = None if censored_at is None else np.asarray(censored_at)
        limits = limits if limits is None or limits.ndim < 2 else limits[is_open]
        fits = fit_hyperbolas(batch_sizes, np.atleast_2d(np.asarray(steps, np.float64))[is_open], limits)
        numbers[:, is_open] = np.stack([fits.critical_batch_size, fits.s_min, fits.rms_log_residual])
    critical_batch_size, s_min, rms_log_residual = numbers
    return IdentifiedFits(
        critical_batch_size,
        s_min,
        rms_log_residual,
        lower=np.where(tested.lower > 0, tested.lower, np.nan),
        upper=np.where(np.isfinite(tested.upper), tested.upper, np.nan),
        refusal=tuple(next(iter(tested.failed(curve)), None) for curve in range(len(is_open))),
    )


def _reasons(tested: Gates, batch_sizes: Floats) -> Iterator[str]:
    """Yield the reasons for which the first curve is refused, in words."""
    refusals = tested.failed(0)
    if "too few" in refusals:
        n_reached = int(tested.n_reached[0])
        counted = "1 batch size has" if n_reached == 1 else f"{n_reached} batch sizes have"
        yield f"{counted} steps that count; an estimate needs {FEWEST_BATCH_SIZES}"
    if "too coarse" in refusals:
        n_at_first, n_reached = int(tested.n_at_first[0]), int(tested.n_reached[0])
        yield (
            f"too coarse: {n_at_first} of {n_reached} batch sizes reached the target at their first evaluation; a fit "
            f"allows {MOST_AT_FIRST:.0%}"
        )
    if "too unequal" in refusals:
        fewest, most = int(tested.fewest[0]), int(tested.most[0])
        yield (
            f"too unequal: batch sizes have {fewest} to {most} trials, and the best of more is better by chance; a fit "
            f"allows {MOST_UNEQUAL} times as many (trials={fewest} takes equally many)"
        )
    if "no bend" in refusals:
        times = f"{float(tested.bend[0]):.3g} times"
        yield f"no bend: the largest batch size needs {times} the fewest examples; {LEAST_BEND} would show one"
    if "no scaling" in refusals:
        slope = f"{float(tested.slope[0]):.2f}; {LEAST_SLOPE} shows it"
        yield f"no scaling: the steepest slope of log steps between neighbours is {slope}"
    if "extrapolated" in refusals:
        span = f"[{batch_sizes[0] / FURTHEST:.15g}, {batch_sizes[-1] * FURTHEST:.15g}]"
        yield f"extrapolated: the 90% interval goes beyond {span}, {FURTHEST:g} times the sampled range"


def _hull(
    sizes: Floats,
    counts: Floats,
    censored_at: npt.ArrayLike | None,
    previous_steps: npt.ArrayLike | None,
    kind: Kind,
) -> tuple[Floats, Floats]:
    """Return, per curve, the hull of the intervals of B_c for all steps that the evaluations allow."""
    allowed = [counts] if previous_steps is None else [counts, *_within_evaluations(counts, previous_steps)]
    if censored_at is not None:
        censored_at = np.concatenate([np.broadcast_to(censored_at, counts.shape)] * len(allowed))
    intervals = profile_intervals(sizes, np.concatenate(allowed), censored_at, kind)
    lower: Floats = np.fmin.reduce(intervals.lower.reshape(len(allowed), -1))
    upper: Floats = np.fmax.reduce(intervals.upper.reshape(len(allowed), -1))
    return lower, upper


def _shapes(sizes: Floats, counts: Floats) -> tuple[Integers, Floats, Floats]:
    """Return, per curve, the number of batch sizes with a result, and the bend and steepest slope over these."""
    n_reached = np.isfinite(counts).sum(-1).astype(np.int64)
    bend, slope = np.full((2, len(counts)), np.nan)
    for reached in np.unique(np.isfinite(counts), axis=0):
        if reached.sum() > 1:
            rows = (np.isfinite(counts) == reached).all(-1)
            log_b, log_s = np.log(sizes[reached]), np.log(counts[rows][:, reached])
            log_e = log_b + log_s
            bend[rows] = np.exp(log_e[:, -1] - log_e.min(-1))
            slope[rows] = (-np.diff(log_s) / np.diff(log_b)).max(-1)
    return n_reached, bend, slope


def _extremes(steps: Floats, n_trials: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Return, per curve, the fewest and the most trials of batch sizes that reached the target; NaN if none counts."""
    if n_trials is None:
        return np.full(len(steps), np.nan), np.full(len(steps), np.nan)
    is_reached = np.isfinite(steps)
    counts = np.broadcast_to(np.asarray(n_trials, np.float64), steps.shape)
    return counts.min(-1, initial=np.inf, where=is_reached), counts.max(-1, initial=0.0, where=is_reached)


def _within_evaluations(steps: Floats, previous_steps: npt.ArrayLike) -> Iterator[Floats]:
    """Yield steps that the evaluations allow as well: the middles, and both extremes.

    A batch size that reached the target at its first evaluation is missing from an extreme that puts it at 0.
    """
    previous = np.where(np.isfinite(steps), _previous(steps, previous_steps), np.nan)
    yield np.where(np.isfinite(steps), 0.5 * (steps + previous), steps)
    lowest = np.where(np.isinf(steps), steps, np.where(previous > 0, previous, np.nan))
    places = np.cumsum(np.isfinite(steps), axis=-1)
    is_small = places <= places[..., -1:] // 2
    yield np.where(is_small, steps, lowest)
    yield np.where(is_small, lowest, steps)


def _at_first(steps: Floats, previous_steps: npt.ArrayLike | None) -> Flags:
    """Return flags of the batch sizes that reached the target at their first evaluation after step 0."""
    if previous_steps is None:
        return np.zeros(steps.shape, np.bool_)
    return np.isfinite(steps) & (_previous(steps, previous_steps) <= 0)


def _previous(steps: Floats, previous_steps: npt.ArrayLike) -> Floats:
    """Return the step of the evaluation before; 0 for none, the step itself where a previous step isn't before it."""
    previous = np.asarray(previous_steps, np.float64)
    return np.minimum(np.where(np.isfinite(previous), np.maximum(previous, 0.0), 0.0), steps)
