"""Whether steps by batch size can tell B_c at all, asked of the data before anyone believes the fit.

For one curve in words, or for many at once, one for each target of a sweep, with the fits of those whose data can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslake.analysis.fit_intervals import profile_intervals
from losslake.analysis.hyperbola import Kind, fit_hyperbolas
from losslake.analysis.log_curves import checked_batch_sizes, checked_steps
from losslake_schema.reached import Flags, Floats, Integers

Refusal = Literal["too few", "no bend", "no scaling", "extrapolated"]
FEWEST_BATCH_SIZES = 4
LEAST_BEND = 1.25
LEAST_SLOPE = 0.5
FURTHEST = 4.0


@dataclass(frozen=True)
class Gates:
    """What the gates found at n curves, each array of shape (n,).

    n_reached: batch sizes that reached the target. bend: E(B_m) / min E at these, E = B S; slope: the steepest
    -dlog S/dlog B between neighbours; NaN without any. is_within: the interval lies within [B_1/4, 4 B_m].
    lower, upper: of the 90% interval of B_c; 0 and inf where the data set no bound.
    """

    n_reached: Integers
    bend: Floats
    slope: Floats
    is_within: Flags
    lower: Floats
    upper: Floats

    @property
    def is_identifiable(self) -> Flags:
        """Where B_c may be stated."""
        passed: Flags = (self.n_reached >= FEWEST_BATCH_SIZES) & (self.bend >= LEAST_BEND) & (self.slope >= LEAST_SLOPE)
        return passed & self.is_within

    def shut(self, curve: int) -> list[Refusal]:
        """Return the gates that one curve doesn't pass; without enough batch sizes, or in shape, no others count."""
        if self.n_reached[curve] < FEWEST_BATCH_SIZES:
            return ["too few"]
        refusals: list[Refusal] = []
        if self.bend[curve] < LEAST_BEND:
            refusals.append("no bend")
        if self.slope[curve] < LEAST_SLOPE:
            refusals.append("no scaling")
        return refusals or ([] if self.is_within[curve] else ["extrapolated"])


@dataclass(frozen=True)
class Identifiability:
    """What one curve says of B_c: a two-sided 90% interval, or bounds.

    lower, upper: ends of the interval where is_identifiable, else those of them that hold; None where the data set no
    bound. reasons: in words, why it isn't identifiable; empty if it is.
    """

    lower: float | None
    upper: float | None
    reasons: tuple[str, ...]

    @property
    def is_identifiable(self) -> bool:
        return not self.reasons


def gates(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    previous_steps: npt.ArrayLike | None = None,
    kind: Kind = "robust",
) -> Gates:
    """Ask the gates of METHODS 2.2.4 of n curves; arguments as of fit_hyperbolas.

    1. At least 4 batch sizes reached the target. 2. A bend: E(B_m) >= 1.25 min E, E = B S at the largest B with a
    result; else only the lower bound holds. 3. A slope -dlog S/dlog B of at least 0.5 between some neighbours; else
    only the upper bound holds. 4. The 90% interval, hence the estimate too, lies within [B_1/4, 4 B_m].
    The last is stricter than METHODS, which asks it of the estimate alone: at noise of 0.1 in log S that lets 5 to
    15% of curves through whose B_c is 8 to 30 B_m. As one end of the interval fails at 5% of curves, whatever
    B_c beyond 4 B_m or below B_1/4 is refused at 95% of them by construction.

    previous_steps: (m,) or (n, m), the evaluation before the one that reached the target: S lies in (previous, S].
    The interval is the hull of those for S and for the middles of these, so that it covers what evaluation spacing
    hides; NaN where there was none. Raises ValueError.
    """
    sizes = checked_batch_sizes(batch_sizes)
    counts = np.atleast_2d(checked_steps(steps, len(sizes)))
    intervals = profile_intervals(sizes, counts, censored_at, kind)
    lower, upper = intervals.lower, intervals.upper
    if previous_steps is not None:
        others = profile_intervals(sizes, middles(counts, previous_steps), censored_at, kind)
        lower, upper = np.fmin(lower, others.lower), np.fmax(upper, others.upper)
    n_reached, bend, slope = _shapes(sizes, counts)
    is_short, is_flat = bend < LEAST_BEND, slope < LEAST_SLOPE
    low, high = (sizes[0] / FURTHEST, FURTHEST * sizes[-1]) if len(sizes) else (np.nan, np.nan)
    is_within = (low <= lower) & (upper <= high)
    # A curve too short to bend and too flat to scale contradicts neither end.
    has_lower = (n_reached >= FEWEST_BATCH_SIZES) & ~(is_flat & ~is_short)
    has_upper = (n_reached >= FEWEST_BATCH_SIZES) & ~(is_short & ~is_flat)
    return Gates(n_reached, bend, slope, is_within, np.where(has_lower, lower, 0.0), np.where(has_upper, upper, np.inf))


def identifiability(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    previous_steps: npt.ArrayLike | None = None,
    kind: Kind = "robust",
) -> Identifiability:
    """Ask the gates of one curve, and say in words what they find; arguments as of gates, but steps of shape (m,)."""
    asked = gates(batch_sizes, np.asarray(steps, np.float64)[None], censored_at, previous_steps, kind)
    lower, upper = float(asked.lower[0]), float(asked.upper[0])
    return Identifiability(
        lower if lower > 0 else None,
        upper if np.isfinite(upper) else None,
        tuple(_reasons(asked, checked_batch_sizes(batch_sizes))),
    )


@dataclass(frozen=True)
class IdentifiedFits:
    """Fits of n curves; all arrays (n,).

    critical_batch_size, s_min, rms_log_residual: NaN where the data can't tell. lower, upper: the 90% interval of B_c,
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
) -> IdentifiedFits:
    """Fit each curve that passes the gates of `identifiability`; arguments as of `gates`. Raises ValueError."""
    asked = gates(batch_sizes, steps, censored_at, previous_steps)
    is_open = asked.is_identifiable
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
        lower=np.where(asked.lower > 0, asked.lower, np.nan),
        upper=np.where(np.isfinite(asked.upper), asked.upper, np.nan),
        refusal=tuple(next(iter(asked.shut(curve)), None) for curve in range(len(is_open))),
    )


def _reasons(asked: Gates, batch_sizes: Floats) -> Iterator[str]:
    """In words, why one curve is refused."""
    refusals = asked.shut(0)
    if "too few" in refusals:
        n_reached = int(asked.n_reached[0])
        reached = "1 batch size" if n_reached == 1 else f"{n_reached} batch sizes"
        yield f"{reached} reached the target; a fit needs {FEWEST_BATCH_SIZES}"
    if "no bend" in refusals:
        times = f"{float(asked.bend[0]):.3g} times"
        yield f"no bend: the largest batch size needs {times} the fewest examples; {LEAST_BEND} would show one"
    if "no scaling" in refusals:
        slope = f"{float(asked.slope[0]):.2f}; {LEAST_SLOPE} shows it"
        yield f"no scaling: the steepest slope of log steps between neighbours is {slope}"
    if "extrapolated" in refusals:
        span = f"[{batch_sizes[0] / FURTHEST:.15g}, {batch_sizes[-1] * FURTHEST:.15g}]"
        yield f"extrapolated: the 90% interval goes beyond {span}, {FURTHEST:g} times the sampled"


def _shapes(sizes: Floats, counts: Floats) -> tuple[Integers, Floats, Floats]:
    """By curve: batch sizes with a result, and its bend and steepest slope over these."""
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


def middles(steps: Floats, previous_steps: npt.ArrayLike | None) -> Floats:
    """The middle of (previous step, step], as steps; the step itself where nothing, or nothing sensible, is known."""
    if previous_steps is None:
        return steps
    previous = np.asarray(previous_steps, np.float64)
    between = np.isfinite(previous) & np.isfinite(steps) & (previous >= 0) & (previous < steps)
    return np.where(between, 0.5 * (steps + np.where(between, previous, 0.0)), steps)
