"""Time to target over the trials of a study: how many have reached it by a step, where some diverge or are stopped.

A trial ends by reaching the target, by diverging, or by being stopped (censored) before either. Divergence competes
with reaching: a trial that diverged will never reach. To call it censored would say that it still might.
How sure a share of trials is, is Wilson's interval.
Source: METHODS 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from losslake_schema.reached import Floats, Integers

CONFIDENCE = 0.95
CENSORED, REACHED, DIVERGED = 0, 1, 2


@dataclass(frozen=True)
class Survival:
    """By step at which any trial ends, ascending.

    at_risk: trials that haven't ended before. n_reached, n_diverged, n_censored: trials that end there.
    reached, diverged: cumulative incidences, the share that has by then. running: the share that has done neither.
    lower, upper: interval of reached. least, most: bounds of reached whatever the censored trials would have done.
    """

    steps: Integers
    at_risk: Integers
    n_reached: Integers
    n_diverged: Integers
    n_censored: Integers
    reached: Floats
    diverged: Floats
    running: Floats
    lower: Floats
    upper: Floats
    least: Floats
    most: Floats

    def median_steps(self) -> int | None:
        """The step by which half of the trials have reached the target; None if that isn't seen: no extrapolation."""
        places = np.flatnonzero(self.reached >= 0.5 - 1e-12)
        return int(self.steps[places[0]]) if len(places) else None


def survival(steps: Integers, ends: Integers) -> Survival:
    """Aalen-Johansen incidences of reaching and diverging; without divergence, 1 - Kaplan-Meier.

    steps: by trial, where it ended. ends: by trial, REACHED, DIVERGED or CENSORED; of those at the same step, censored
    trials count as still there. Incidence F(s) = sum of S(s_i-) d_i / n_i, where S is the share still running.
    Interval: Wilson's, for as many trials as F (1 - F) / variance; variance by the delta method, which without
    divergence is Greenwood's. least: censored trials never reach; most: they would have reached at once (for
    informative censoring, as by early stopping). Raises ValueError for shapes that differ and other ends.
    Source: Aalen & Johansen 1978; Marubini & Valsecchi 1995 (variance); Rothman 1978 (effective number of trials).
    """
    if steps.shape != ends.shape or not np.isin(ends, (CENSORED, REACHED, DIVERGED)).all():
        raise ValueError("give for each trial one step, and how it ended: REACHED, DIVERGED or CENSORED")
    distinct, place = np.unique(steps, return_inverse=True)
    counts = [np.bincount(place[ends == end], minlength=len(distinct)) for end in (REACHED, DIVERGED, CENSORED)]
    n_reached, n_diverged, n_censored = counts
    n_trials = len(steps)
    at_risk = n_trials - np.cumsum(n_reached + n_diverged + n_censored) + n_reached + n_diverged + n_censored
    n_ended = n_reached + n_diverged
    running = np.cumprod(1 - n_ended / at_risk)
    before = np.concatenate([[1.0], running[:-1]])
    least, most = np.cumsum(n_reached) / max(n_trials, 1), np.cumsum(n_reached + n_censored) / max(n_trials, 1)
    # Rounding must not carry it beyond its bounds.
    reached = np.clip(np.cumsum(before * n_reached / at_risk), least, most)
    variance = _variance(reached, before, at_risk, n_reached, n_ended)
    followed = n_trials - np.cumsum(n_censored) + n_censored
    lower, upper = wilson_bounds(reached, _effective_trials(reached, variance, followed))
    return Survival(
        steps=distinct,
        at_risk=at_risk,
        n_reached=n_reached,
        n_diverged=n_diverged,
        n_censored=n_censored,
        reached=reached,
        diverged=np.cumsum(before * n_diverged / at_risk),
        running=running,
        lower=lower,
        upper=upper,
        least=least,
        most=most,
    )


@dataclass(frozen=True)
class Proportion:
    """A share with its interval, both from 0 to 1; share is None for nothing out of nothing."""

    share: float | None
    lower: float
    upper: float


def wilson(count: int, total: int, confidence: float = CONFIDENCE) -> Proportion:
    """The share count / total with Wilson's score interval, which is from 0 to 1 if there is nothing to count.

    Raises ValueError unless 0 <= count <= total and 0 < confidence < 1.
    Source: Wilson 1927; for the probability of reaching a target METHODS 3.4.
    """
    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is no proportion")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence} is out of range: give one between 0 and 1")
    if total == 0:
        return Proportion(None, 0.0, 1.0)
    share = count / total
    lower, upper = wilson_bounds(np.array([share]), np.array([float(total)]), confidence)
    return Proportion(share, float(lower[0]), float(upper[0]))


def wilson_bounds(shares: Floats, totals: Floats, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
    """The bounds by share and total, which need not be a whole number; from 0 to 1 where the total is 0."""
    z = float(scipy.stats.norm.ppf((1 + confidence) / 2))
    weight = totals + z * z
    middle = (totals * shares + z * z / 2) / weight
    reach = z * np.sqrt(totals * shares * (1 - shares) + z * z / 4) / weight
    # At the ends the bound is the share itself, but for rounding.
    return (
        np.where(shares <= 0, 0.0, np.clip(middle - reach, 0, 1)),
        np.where(shares >= 1, 1.0, np.clip(middle + reach, 0, 1)),
    )


def _variance(incidence: Floats, before: Floats, at_risk: Integers, n_reached: Integers, n_ended: Integers) -> Floats:
    """Of the incidence F at each step s, sums over i up to s, with d of which d_1 reach, n at risk and S before:

    sum (F(s) - F_i)^2 d / (n (n - d)) + sum S^2 d_1 (n - d_1) / n^3 - 2 sum (F(s) - F_i) S d_1 / n^2.
    """
    left = at_risk - n_ended
    # Where all end nobody is left for later steps, so that F(s) - F_i is 0 from there.
    rate = np.divide(n_ended, at_risk * left, out=np.zeros(len(at_risk)), where=left > 0)
    own = before * n_reached / at_risk**2
    squares = incidence**2 * np.cumsum(rate) - 2 * incidence * np.cumsum(rate * incidence)
    squares += np.cumsum(rate * incidence**2)
    crossed = incidence * np.cumsum(own) - np.cumsum(own * incidence)
    variance: Floats = squares + np.cumsum(before * own * (at_risk - n_reached) / at_risk) - 2 * crossed
    return np.maximum(variance, 0)


def _effective_trials(incidence: Floats, variance: Floats, followed: Integers) -> Floats:
    """As many trials as would have that variance; where it is 0, none or all having reached, those never censored."""
    known = variance > 1e-15
    return np.divide(incidence * (1 - incidence), variance, out=followed.astype(np.float64), where=known)
