"""The mean curve of a setting: the mean over its seeds at each step, and where it reaches a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.crossings import Curves
from losslake.analysis.settings import Numbers
from losslake_schema.reached import NEVER, NO_STEP, Comparator, Flags, Floats, Integers, hits


@dataclass(frozen=True)
class MeanCurves:
    """Means by setting and step, both ascending; arrays of shape (points,).

    mean, deviation: of the finite values there; the sample standard deviation is NaN for a single one. n: their number.
    """

    setting: Numbers
    step: Integers
    mean: Floats
    deviation: Floats
    n: Integers

    def half_width(self, confidence: float = 0.95) -> Floats:
        """Return by point half the width of the t interval of the mean; NaN for a single value.

        It is about further seeds of the setting, at one step.
        """
        import scipy  # here, since the most frequent question doesn't need it

        freedom = np.maximum(self.n - 1, 1)
        quantiles: Floats = scipy.special.stdtrit(freedom, (1 + confidence) / 2)
        return quantiles * self.deviation / np.sqrt(self.n)


def mean_curves(step: Integers, value: Floats, setting: Numbers) -> MeanCurves:
    """Return the mean curves of settings.

    Args:
        step, value: shape (evaluations,), of all seeds, each of which has a step once. NaN and infinities don't count.
        setting: shape (evaluations,), the number of its setting.
    """
    finite = np.flatnonzero(np.isfinite(value))
    order = finite[np.lexsort((step[finite], setting[finite]))]
    settings, steps, values = setting[order], step[order], value[order]
    is_first = (np.diff(settings, prepend=-1) != 0) | (np.diff(steps, prepend=-1) != 0)
    starts = np.flatnonzero(is_first)
    n = np.diff(starts, append=len(order))
    if not len(starts):
        return MeanCurves(settings, steps, values, values, n)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = np.add.reduceat(values, starts) / n
        squares = np.add.reduceat((values - np.repeat(mean, n)) ** 2, starts)
        deviation = np.where(n > 1, np.sqrt(squares / (n - 1)), np.nan)
    return MeanCurves(settings[starts], steps[starts], mean, deviation, n)


@dataclass(frozen=True)
class MeanCrossings:
    """By trial, where the mean curve of its setting crosses the target; arrays of shape (trials,).

    step: NEVER for none; then mean is NaN. previous_step: the step before at which all seeds have a value; NO_STEP for
    none. mean: at the crossing. n_seeds: trials of the setting. has_ended: True if the curve doesn't cross, and some
    seeds, but not all, have values at a later step.
    """

    step: Integers
    previous_step: Integers
    mean: Floats
    n_seeds: Integers
    has_ended: Flags


def mean_crossings(
    curves: Curves, settings: Numbers, target: float, comparator: Comparator = "strict", margin: float = 0.0
) -> MeanCrossings:
    """Return where the mean curves of settings cross a target.

    Only steps count at which all seeds of a setting have a finite value: which seeds end earlier, or diverge, depends
    on their values, so the mean over the others would be of a selection.

    Args:
        curves: one per trial.
        settings: shape (trials,), a number that the trials of one setting share.
        target: of the losses.
        comparator: what reaches it, without a margin.
        margin: above 0, (target - mean) sqrt(n) has to be at least this, n being the seeds of the setting.

    Raises ValueError for a target that is not finite.
    Source: margin: the rule of the third track of modded-nanogpt (KellerJordan/modded-nanogpt).
    """
    if not np.isfinite(target):
        raise ValueError(f"target {target} is not finite: give a number")
    _, number, sizes = np.unique(settings, return_inverse=True, return_counts=True)
    of_evaluation = np.repeat(number, np.diff(curves.offsets))
    # Relative to the target, values that equal it have a mean that does, too.
    with np.errstate(over="ignore"):
        means = mean_curves(curves.steps, curves.losses - target, of_evaluation)
        is_enough = means.mean * np.sqrt(means.n) <= -margin if margin > 0 else hits(means.mean, 0.0, comparator)
    shared = np.flatnonzero(means.n == sizes[means.setting])
    of_shared = means.setting[shared]
    crossed, place = np.unique(of_shared[is_enough[shared]], return_index=True)
    place = np.flatnonzero(is_enough[shared])[place]
    none = np.full(len(sizes), NEVER, np.int64)
    step, previous, mean = none.copy(), none.copy(), np.full(len(sizes), np.nan)
    step[crossed], mean[crossed] = means.step[shared[place]], means.mean[shared[place]] + target
    has_before = (place > 0) & (of_shared[place - 1] == crossed)
    previous[crossed] = np.where(has_before, means.step[shared[place - 1]], NO_STEP)
    last, last_shared = none.copy(), none.copy()
    last[means.setting], last_shared[of_shared] = means.step, means.step[shared]
    has_ended = (step == NEVER) & (last > last_shared)
    return MeanCrossings(step[number], previous[number], mean[number], sizes[number], has_ended[number])
