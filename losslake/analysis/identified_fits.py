"""Critical batch sizes of many curves at once, for those whose data can tell them: one for each target of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslake.analysis.hyperbola import Kind, fit_hyperbolas
from losslake.analysis.identifiability import FEWEST_BATCH_SIZES, LEAST_BEND, LEAST_SLOPE, Gates, gates
from losslake_schema.reached import Flags, Floats

Refusal = Literal["too few", "no bend", "no scaling", "extrapolated"]


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
    kind: Kind = "robust",
) -> IdentifiedFits:
    """Fit each curve that passes the gates of `identifiability`; arguments as of `gates`. Raises ValueError."""
    asked = gates(batch_sizes, steps, censored_at, previous_steps, kind)
    is_open = asked.is_identifiable
    found = np.full((3, len(is_open)), np.nan)
    if is_open.any():
        limits = None if censored_at is None else np.asarray(censored_at)
        limits = limits if limits is None or limits.ndim < 2 else limits[is_open]
        fits = fit_hyperbolas(batch_sizes, np.atleast_2d(np.asarray(steps, np.float64))[is_open], limits, kind)
        found[:, is_open] = np.stack([fits.critical_batch_size, fits.s_min, fits.rms_log_residual])
    critical_batch_size, s_min, rms_log_residual = found
    return IdentifiedFits(
        critical_batch_size,
        s_min,
        rms_log_residual,
        lower=np.where(asked.lower > 0, asked.lower, np.nan),
        upper=np.where(np.isfinite(asked.upper), asked.upper, np.nan),
        refusal=tuple(_refusal(asked, curve) for curve in range(len(is_open))),
    )


def _refusal(asked: Gates, curve: int) -> Refusal | None:
    """The first gate that is shut for a curve."""
    if asked.n_reached[curve] < FEWEST_BATCH_SIZES:
        return "too few"
    if asked.bend[curve] < LEAST_BEND:
        return "no bend"
    if asked.slope[curve] < LEAST_SLOPE:
        return "no scaling"
    return None if asked.is_within[curve] else "extrapolated"
