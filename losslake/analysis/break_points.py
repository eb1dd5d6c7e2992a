"""The ends of the scaling regimes, from the measured steps alone: no curve is fitted.

Two break points: perfect scaling ends, and larger batch sizes stop saving steps. Computed for many curves at once (one
per target), or for one curve with the bounds that the sampled batch sizes set. A study that didn't reach its target
within c steps needs more than B c examples; nothing else is known about it. If each batch size is tuned, the fewest
examples never fall and the fewest steps never rise as the batch grows. So each batch size bounds those of smaller ones
from above, in examples, and one that exceeds such a bound is dominated: tuned worse, it says nothing about scaling.
Source: the regimes of Shallue et al. 2019, section 4.1; McCandlish et al. 2018, section 2, the front of steps against
examples; the tolerances tau are LossLake's definition (METHODS 2.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslake.analysis.log_curves import checked_curve, median_of
from losslake_schema.reached import NEVER, Flags, Floats, Integers

Anchor = Literal["fewest", "median of 3"]
Censoring = Literal["none", "left", "right"]
PERFECT_WITHIN = 0.2
USEFUL_WITHIN = 0.1
# The tolerance of dominated batch sizes, for results of a best setting and of a best trial. Best trials are noisier:
# with 0.15 those that are left were lucky, so that intervals of B_c that hold in 90% of searches would hold in 80%.
OF_BEST_SETTING, OF_BEST_TRIAL = 0.15, 1.0


@dataclass(frozen=True)
class BreakPoint:
    """The batch size at which a regime ends, to the resolution of the sampled batch sizes.

    batch_size: a sampled one; None if the target was never reached. lower, upper: bounds of the true end; None where
    the sampled batch sizes set no bound. censoring: left or right if the true end may lie below the smallest or above
    the largest of them. since: where the regime that ends here begins, for perfect scaling that was seen.
    """

    batch_size: float | None
    lower: float | None
    upper: float | None
    censoring: Censoring
    since: float | None = None


NO_BREAK_POINT = BreakPoint(None, None, None, "none")
End = Callable[[npt.ArrayLike, npt.ArrayLike, float, npt.ArrayLike | None], BreakPoint]
"""Gives a break point: of batch sizes, steps, a tolerance, and the steps up to which never-reached studies ran."""


def perfect_scaling_end(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    tau: float = PERFECT_WITHIN,
    censored_at: npt.ArrayLike | None = None,
    anchor: Anchor = "fewest",
) -> BreakPoint:
    """Return the largest B that needs at most 1 + tau times the fewest examples of any batch size.

    The largest with E(B) <= (1 + tau) min E for E(B) = B S(B); so it is the largest with min E(B') <= (1 + tau) min E
    over B' >= B, too. With anchor "median of 3", the median E of the three smallest batch sizes stands for min E, which
    is a noisy number. The true end lies in [B, next B). Right-censored if no larger batch size is known to need more,
    as where it didn't reach the target but ran for too few steps to decide.

    The examples are so few since the smallest such B'. Up to B = (1 + tau) B' they would be even if no batch size saved
    a step: then perfect scaling wasn't seen, so there is no lower bound, and the end is left-censored if a larger batch
    size needs more.

    Args:
        batch_sizes: shape (m,), ascending.
        steps: shape (m,); inf: never reached, NaN: no study.
        tau: the tolerated share of additional examples.
        censored_at: shape (m,), the step up to which a never-reached study ran.
        anchor: what examples are compared with.

    Raises ValueError for batch sizes that don't ascend, steps of 0 or less, and a negative or infinite tau.
    """
    sizes, counts, limits = _checked(batch_sizes, steps, tau, censored_at)
    if not np.isfinite(counts).any():
        return NO_BREAK_POINT
    ends = perfect_ends(sizes, counts, tau, limits, anchor)
    end, since = float(sizes[ends.index[0]]), float(sizes[ends.since[0]])
    after = None if ends.is_right_censored[0] else float(sizes[ends.beyond[0]])
    return BreakPoint(
        end, None if ends.is_left_censored[0] else end, after, ends.censoring(0), since if since < end else None
    )


def max_useful_batch_size(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    tau: float = USEFUL_WITHIN,
    censored_at: npt.ArrayLike | None = None,
) -> BreakPoint:
    """Return the smallest B for which no larger batch size saves more than a share tau of its steps.

    S(B) <= (1 + tau) min S(B') over B' >= B. The true value lies in (previous B, B]. Right-censored if the largest
    batch size with a result is at most 1 + tau times as large, so that even perfect scaling would save no more, or is
    B itself; else left-censored if B is the smallest.
    Arguments and errors as for perfect_scaling_end; a never-reached study saves nothing.
    """
    sizes, counts, _ = _checked(batch_sizes, steps, tau, censored_at)
    reached = np.isfinite(counts)
    if not reached.any():
        return NO_BREAK_POINT
    sizes = sizes[reached]
    ends = max_useful(sizes, counts[reached], tau)
    index = int(ends.index[0])
    before = float(sizes[index - 1]) if index else None
    upper = None if ends.is_right_censored[0] else float(sizes[index])
    return BreakPoint(float(sizes[index]), before, upper, ends.censoring(0))


def dominated(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    tau: float = OF_BEST_SETTING,
    previous_steps: npt.ArrayLike | None = None,
) -> Domination:
    """Return by how much each batch size exceeds what other ones bound it by, and whether by too much.

    It is dominated if a larger one needs fewer examples, or a smaller one fewer steps, by more than a factor 1 + tau
    even if its own crossing came right after the evaluation before. Of equal tuning only noise explains that.

    batch_sizes: (m,), ascending. steps, previous_steps: (m,) or (n, m); inf: never reached, NaN: no study, or no
    evaluation before. Without previous_steps crossings are taken to be exact. Raises ValueError for a tau below 0.
    Source: McCandlish et al. 2018, section 2; tau was chosen by simulation (docs/analysis.md).
    """
    _check_tau(tau)
    counts, sizes = np.atleast_2d(np.asarray(steps, np.float64)), np.asarray(batch_sizes, np.float64)
    is_reached = np.isfinite(counts)
    counted = np.where(is_reached, counts, np.inf)
    examples = np.where(is_reached, sizes * np.where(is_reached, counts, 0.0), np.inf)
    fewest = np.minimum.accumulate(examples[:, ::-1], axis=1)[:, ::-1]
    shortest = np.minimum.accumulate(counted, axis=1)
    least = np.where(is_reached, counts, 0.0)
    if previous_steps is not None:
        least = np.minimum(least, np.nan_to_num(np.asarray(previous_steps, np.float64)))
    is_over = (least * sizes > (1 + tau) * fewest) | (least > (1 + tau) * shortest)
    with np.errstate(invalid="ignore"):
        return Domination(is_over, examples / fewest, counted / shortest)


_ONE_SIDED = 0.1
_FEWEST_FOR_NOISE = 5


def widened(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    end: End,
    tau: float,
    previous_steps: npt.ArrayLike | None = None,
    censored_at: npt.ArrayLike | None = None,
) -> tuple[float | None, float | None]:
    """Return the lower and upper bound of a break point, widened by the noise of steps and by their evaluations.

    The hull of the bounds for tolerances tau whose logarithm is less by 1.8 measured noises, and more by as many as the
    least of the other batch sizes may be low by chance (Bonferroni: 2.9 of six, 3.3 of eleven), plus the widest log
    distance of an evaluation from the one before; None for no bound, as without a measure of the noise.
    batch_sizes, steps, previous_steps, censored_at: (m,). end: perfect_scaling_end or max_useful_batch_size.
    Source: LossLake's definition; how often it holds is in docs/analysis.md.
    """
    counts = np.asarray(steps, np.float64)
    reached = np.isfinite(counts)
    noise = measured_noise(np.asarray(batch_sizes, np.float64)[reached], counts[reached])
    if noise is None:
        return None, None
    least, most = (_noises(others) * noise for others in (1, len(counts[reached]) - 1))
    if previous_steps is not None:
        before = np.asarray(previous_steps, np.float64)[reached]
        with np.errstate(divide="ignore"):
            spacing = float(np.log(counts[reached] / np.nan_to_num(np.minimum(before, counts[reached]))).max())
        least, most = least + spacing, most + spacing
    log_tau = math.log1p(tau)
    if not math.isfinite(most):
        return None, None
    tolerances = [log_tau + most, *([log_tau - least] if least <= log_tau else [])]
    points = [end(batch_sizes, counts, math.expm1(each), censored_at) for each in tolerances]
    lowers, uppers = [point.lower for point in points], [point.upper for point in points]
    if len(points) < 2:
        # A tolerance below 0 ends perfect scaling at once, and never finds a batch size large enough.
        return (None, uppers[0]) if end is perfect_scaling_end else (lowers[0], None)
    return _extreme(min, lowers), _extreme(max, uppers)


def _noises(others: int) -> float:
    """Return how many noises the difference from the least of several noisy logarithms of steps may be."""
    return math.sqrt(2) * NormalDist().inv_cdf(1 - _ONE_SIDED / others)


def measured_noise(batch_sizes: Floats, steps: Floats) -> float | None:
    """Return the standard deviation of log steps around lines through their neighbours; None below 5 batch sizes.

    The bend of a curve adds to it: at most 0.05 where batch sizes double.
    """
    if len(steps) < _FEWEST_FOR_NOISE:
        return None
    log_b, log_s = np.log(batch_sizes), np.log(steps)
    share = (log_b[1:-1] - log_b[:-2]) / (log_b[2:] - log_b[:-2])
    off = log_s[1:-1] - (1 - share) * log_s[:-2] - share * log_s[2:]
    return float(np.sqrt((off**2 / (1 + share**2 + (1 - share) ** 2)).mean()))


def _extreme(extreme: Callable[[list[float]], float], ends: list[float | None]) -> float | None:
    bounds = [end for end in ends if end is not None]
    return extreme(bounds) if len(bounds) == len(ends) else None


@dataclass(frozen=True)
class Domination:
    """Return which batch sizes of n curves are dominated; all arrays have shape (n, m).

    examples, steps: times the fewest examples of any larger batch size, or the fewest steps of any smaller one; 1 where
    none needs fewer, NaN where the target wasn't reached.
    """

    is_dominated: Flags
    examples: Floats
    steps: Floats


@dataclass(frozen=True)
class BreakPoints:
    """The break point of each of n curves; all arrays have shape (n,).

    index: into the batch sizes; NEVER if no study of the curve reached its target. since: the index at which the regime
    that ends there begins. beyond: the index of the first batch size known to lie beyond it; NEVER for none.
    is_left_censored, is_right_censored: the true value may lie below the smallest, or above the largest, batch size
    with a result. Both are set where it isn't known at all.
    """

    index: Integers
    since: Integers
    beyond: Integers
    is_left_censored: Flags
    is_right_censored: Flags

    def censoring(self, curve: int) -> Censoring:
        """Return how the break point of one curve is censored."""
        return "right" if self.is_right_censored[curve] else "left" if self.is_left_censored[curve] else "none"


def perfect_ends(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    tau: float = PERFECT_WITHIN,
    censored_at: npt.ArrayLike | None = None,
    anchor: Anchor = "fewest",
) -> BreakPoints:
    """Return, per curve, the largest B that needs at most 1 + tau times the fewest examples of any batch size.

    `perfect_scaling_end` for n curves at once, with the same arguments, but steps of shape (n, m) or (m,). With anchor
    "median of 3" and none within it, B is the smallest with a result. Raises ValueError for a tau below 0 or infinite,
    and without batch sizes.
    """
    counts, sizes = _curves(steps, tau), np.asarray(batch_sizes, np.float64)
    is_reached = np.isfinite(counts)
    examples = np.where(is_reached, sizes * np.where(is_reached, counts, 0.0), np.inf)
    bound = (1 + tau) * _fewest_examples(examples, anchor)
    is_within = is_reached & (examples <= bound)
    is_within |= ~is_within.any(axis=1, keepdims=True) & (np.arange(len(sizes)) == _first(is_reached)[:, None])
    index, since = _last(is_within), _first(is_within)
    at_least = np.where(np.isposinf(counts), sizes * _limits(censored_at, counts), examples)
    beyond = _first((np.arange(len(sizes)) > index[:, None]) & ~np.isnan(counts) & (at_least > bound))
    is_known, has_end = index != NEVER, (index != NEVER) & (beyond != NEVER)
    is_unseen = _is_too_close(sizes[since], sizes[index], tau)
    return BreakPoints(index, since, beyond, is_known & is_unseen, is_known & ~has_end)


def max_useful(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, tau: float = USEFUL_WITHIN) -> BreakPoints:
    """Return, per curve, the smallest B with S(B) <= (1 + tau) min S(B') over B' >= B.

    `max_useful_batch_size` for n curves at once; shapes and errors as for perfect_ends. Times instead of steps give the
    batch size beyond which time no longer falls.
    """
    counts, sizes = _curves(steps, tau), np.asarray(batch_sizes, np.float64)
    is_reached = np.isfinite(counts)
    later = np.minimum.accumulate(np.where(is_reached, counts, np.inf)[:, ::-1], axis=1)[:, ::-1]
    index = _first(is_reached & (counts <= (1 + tau) * later))
    is_known = index != NEVER
    is_right = is_known & _is_too_close(sizes[index], sizes[_last(is_reached)], tau)
    is_left = is_known & ~is_right & (index == _first(is_reached))
    return BreakPoints(index, index, np.full_like(index, NEVER), is_left, is_right)


def _is_too_close(smaller: npt.ArrayLike, larger: npt.ArrayLike, tau: float) -> Flags:
    """Return True if steps that fall in proportion to the batch would fall by no more than the tolerance."""
    return np.asarray(larger) <= (1 + tau) * np.asarray(smaller)


def _fewest_examples(examples: Floats, anchor: Anchor) -> Floats:
    """Return the examples to compare with, (n, 1); inf where the target was never reached."""
    if anchor == "fewest":
        fewest: Floats = examples.min(axis=1, keepdims=True)
        return fewest
    is_first = np.isfinite(examples) & (np.cumsum(np.isfinite(examples), axis=1) <= 3)
    ordered = np.sort(np.where(is_first, examples, np.inf), axis=1)
    return median_of(ordered, is_first.sum(axis=1))[:, None]


def _curves(steps: npt.ArrayLike, tau: float) -> Floats:
    _check_tau(tau)
    counts = np.atleast_2d(np.asarray(steps, np.float64))
    if not counts.shape[1]:
        raise ValueError("steps: give those of at least one batch size")
    return counts


def _checked(
    batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, tau: float, censored_at: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Return batch sizes, steps and censoring steps of the studies of one curve. Raises ValueError."""
    _check_tau(tau)
    sizes, counts = checked_curve(batch_sizes, steps)
    there = ~np.isnan(counts)
    return sizes[there], counts[there], _limits(censored_at, counts)[there]


def _check_tau(tau: float) -> None:
    if not 0 <= tau < np.inf:
        raise ValueError(f"tau={tau}: give a finite number, 0 or more")


def _limits(censored_at: npt.ArrayLike | None, counts: Floats) -> Floats:
    """Return the step up to which never-reached studies ran, in the shape of the curves; 0 where unknown."""
    limits = np.broadcast_to(np.asarray(0.0 if censored_at is None else censored_at, np.float64), counts.shape)
    return np.where(np.isfinite(limits), limits, 0.0)


def _first(flags: Flags) -> Integers:
    """Return, per row, the first index that is set; NEVER for none."""
    return np.where(flags.any(axis=1), flags.argmax(axis=1), NEVER)


def _last(flags: Flags) -> Integers:
    """Return, per row, the last index that is set; NEVER for none."""
    return np.where(flags.any(axis=1), flags.shape[1] - 1 - flags[:, ::-1].argmax(axis=1), NEVER)
