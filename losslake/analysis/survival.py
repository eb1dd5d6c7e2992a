"""Survival analysis of the trials of a study: the share that has reached the target by each step.

A trial ends by reaching the target, by diverging, by missing it with its whole schedule used, or by being stopped
(censored) before. Divergence and missing are competing events: such a trial will never reach the target, while a
censored one still might.
Shares have Wilson's interval. Source: Aalen and Johansen 1978; METHODS 3.4; the functions name the other papers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from losslake_schema.reached import Floats, Integers

CONFIDENCE = 0.95
_ENDS = CENSORED, REACHED, DIVERGED, FAILED = range(4)


@dataclass(frozen=True)
class Survival:
    """The cumulative incidences by step; one entry per step at which any trial ends, ascending.

    at_risk: trials that haven't ended before. n_reached, n_diverged, n_failed, n_censored: trials that end at the step.
    reached, diverged, failed: cumulative incidences. running: the share without any of these. lower, upper:
    95% interval of reached. least, most: bounds of reached whatever the censored trials would have done.
    """

    steps: Integers
    at_risk: Integers
    n_reached: Integers
    n_diverged: Integers
    n_failed: Integers
    n_censored: Integers
    reached: Floats
    diverged: Floats
    failed: Floats
    running: Floats
    lower: Floats
    upper: Floats
    least: Floats
    most: Floats

    def median_steps(self) -> int | None:
        """Return the first step by which half of the trials have reached the target; None if they never have."""
        places = np.flatnonzero(self.reached >= 0.5 - 1e-12)
        return int(self.steps[places[0]]) if len(places) else None


def survival(steps: Integers, ends: Integers, evidence: float | None = None) -> Survival:
    """Return Aalen-Johansen incidences of the ends; of reaching, 1 - Kaplan-Meier if no trial diverges or fails.

    Incidence F(s) = sum of S(s_i-) d_i / n_i, where S is the share still running. Interval: Wilson's for an effective
    F (1 - F) / variance trials; the variance by the delta method, which is Greenwood's without competing events.
    least: censored trials never reach the target; most: they reach it at once (bounds for informative censoring, as by
    early stopping).

    Args:
        steps: by trial, the step at which it ended.
        ends: by trial, REACHED, DIVERGED, FAILED or CENSORED; at equal steps, censored trials are still at risk.
        evidence: how many independent trials these are worth (`settings.evidence`); None: all of them.

    Raises ValueError for shapes that differ and for other values of ends.
    Source: Aalen & Johansen 1978; Marubini & Valsecchi 1995 (variance); Rothman 1978 (effective number of trials).
    """
    if steps.shape != ends.shape or not np.isin(ends, _ENDS).all():
        raise ValueError("give one step and one end (REACHED, DIVERGED, FAILED or CENSORED) for each trial")
    distinct, place = np.unique(steps, return_inverse=True)
    counts = [np.bincount(place[ends == end], minlength=len(distinct)) for end in _ENDS]
    n_censored, n_reached, n_diverged, n_failed = counts
    n_trials = len(steps)
    n_ended = n_reached + n_diverged + n_failed
    at_risk = n_trials - np.cumsum(n_ended + n_censored) + n_ended + n_censored
    running = np.cumprod(1 - n_ended / at_risk)
    before = np.concatenate([[1.0], running[:-1]])
    least, most = np.cumsum(n_reached) / max(n_trials, 1), np.cumsum(n_reached + n_censored) / max(n_trials, 1)
    # Keep rounding within the bounds.
    reached = np.clip(np.cumsum(before * n_reached / at_risk), least, most)
    variance = _variance(reached, before, at_risk, n_reached, n_ended)
    followed = n_trials - np.cumsum(n_censored) + n_censored
    worth = 1.0 if evidence is None or not n_trials else evidence / n_trials
    lower, upper = wilson_bounds(reached, worth * _effective_trials(reached, variance, followed))
    return Survival(
        steps=distinct,
        at_risk=at_risk,
        n_reached=n_reached,
        n_diverged=n_diverged,
        n_failed=n_failed,
        n_censored=n_censored,
        reached=reached,
        diverged=np.cumsum(before * n_diverged / at_risk),
        failed=np.cumsum(before * n_failed / at_risk),
        running=running,
        lower=lower,
        upper=upper,
        least=least,
        most=most,
    )


@dataclass(frozen=True)
class Proportion:
    """A share with its interval, both from 0 to 1; share is None for a total of 0."""

    share: float | None
    lower: float
    upper: float


def wilson(count: int, total: int, confidence: float = CONFIDENCE, evidence: float | None = None) -> Proportion:
    """Return the share count / total with Wilson's score interval, which is [0, 1] for a total of 0.

    evidence: how many independent trials the total is worth (`settings.evidence`); None: all of them. Raises
    ValueError unless 0 <= count <= total and 0 < confidence < 1. Source: Wilson 1927.
    """
    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is not a proportion: give a count from 0 to the total")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence} is out of range: give one between 0 and 1")
    if total == 0:
        return Proportion(None, 0.0, 1.0)
    share = count / total
    worth = float(total) if evidence is None else evidence
    lower, upper = wilson_bounds(np.array([share]), np.array([worth]), confidence)
    return Proportion(share, float(lower[0]), float(upper[0]))


def wilson_bounds(shares: Floats, totals: Floats, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
    """Return the bounds of Wilson's interval by share and total, which need not be whole; 0 and 1 for a total of 0."""
    z = float(scipy.special.ndtri((1 + confidence) / 2))
    weight = totals + z * z
    middle = (totals * shares + z * z / 2) / weight
    reach = z * np.sqrt(totals * shares * (1 - shares) + z * z / 4) / weight
    # At shares of 0 and 1 the bound is the share itself, apart from rounding.
    return (
        np.where(shares <= 0, 0.0, np.clip(middle - reach, 0, 1)),
        np.where(shares >= 1, 1.0, np.clip(middle + reach, 0, 1)),
    )


def _variance(incidence: Floats, before: Floats, at_risk: Integers, n_reached: Integers, n_ended: Integers) -> Floats:
    """Return the variance of the incidence F at each step s by the delta method.

    Sums over i up to s, with d ended of which d_1 reached, n at risk and S before:
    sum (F(s) - F_i)^2 d / (n (n - d)) + sum S^2 d_1 (n - d_1) / n^3 - 2 sum (F(s) - F_i) S d_1 / n^2.
    """
    remaining = at_risk - n_ended
    # If no trial remains F(s) - F_i is 0 from there on.
    rate = np.divide(n_ended, at_risk * remaining, out=np.zeros(len(at_risk)), where=remaining > 0)
    increment = before * n_reached / at_risk**2
    squares = incidence**2 * np.cumsum(rate) - 2 * incidence * np.cumsum(rate * incidence)
    squares += np.cumsum(rate * incidence**2)
    crossed = incidence * np.cumsum(increment) - np.cumsum(increment * incidence)
    variance: Floats = squares + np.cumsum(before * increment * (at_risk - n_reached) / at_risk) - 2 * crossed
    return np.maximum(variance, 0)


def _effective_trials(incidence: Floats, variance: Floats, followed: Integers) -> Floats:
    """Return F (1 - F) / variance; where the variance is 0, the number of trials that were not censored before."""
    varies = variance > 1e-15
    return np.divide(incidence * (1 - incidence), variance, out=followed.astype(np.float64), where=varies)
