"""Coverage of results of the best settings, where settings are repeated and some batch sizes are tuned badly.

Each batch size has 1 to 5 settings of 3 seeds or more, unequally many; the first is the best, the others take up to
some percent more. A tenth of the batch sizes is tuned 1.2 to 2 times worse. Evaluations come every 2 to 10% of the
steps. Some seeds never reach the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from losslake.analysis.best_setting import FEWEST_SEEDS, Seeds, best_settings
from losslake.analysis.break_points import dominated, perfect_ends
from losslake.analysis.identifiability import identified_fits
from losslake_schema.reached import Flags, Floats
from studies.calibration.simulation import (
    NOISES,
    TRIALS,
    SimulatedRow,
    at_least,
    at_most,
    batch_sizes,
    evaluated,
    exact_steps,
    within,
)

MOST_SETTINGS, OF_SETTINGS, BADLY, MISSES = 5, 0.05, 0.1, (0.0, 0.02)
SIZES, SPACINGS = (6, 11), (0.02, 0.1)
SEEDS: tuple[Seeds, ...] = ("median", "mean")


@dataclass(frozen=True)
class _Repeated:
    """Results of n studies at m batch sizes. exact: steps without noise. critical: (n,). is_bad: tuned worse."""

    sizes: Floats
    critical: Floats
    exact: Floats
    steps: Floats
    previous: Floats
    is_bad: Flags


def repeats(n: int) -> list[SimulatedRow]:
    """Return rows of intervals, ends and dominated batch sizes of repeated settings. n: simulations in a cell."""
    intervals = {
        (seeds, noise): at_least(
            f"critical-batch-size {seeds}-{noise:g}", f"interval, {seeds} of the best setting, noise {noise:.0%}"
        )
        for seeds, noise in product(SEEDS, NOISES)
    }
    stated = {
        (seeds, misses): SimulatedRow(
            f"critical-batch-size number-{seeds}-{misses:g}",
            f"a number is stated, {seeds} of the best setting, {misses:.0%} of trials miss",
            "power",
        )
        for seeds, misses in product(SEEDS, MISSES)
    }
    ends = {
        seeds: at_least(
            f"regimes repeated-{seeds}",
            f"perfect scaling ends within one batch size of the truth, {seeds} of the best setting",
        )
        for seeds in SEEDS
    }
    detected = SimulatedRow(
        "dominated badly-tuned", "a batch size that is tuned worse, by 1.2 to 2 times, is dominated"
    )
    wrong = at_most("dominated well-tuned", "one that isn't tuned worse is dominated", 5)
    cells = product(TRIALS, NOISES, SPACINGS, SIZES, MISSES, SEEDS)
    for trials, noise, spacing, m, misses, seeds in cells:
        rng = np.random.default_rng([trials, round(100 * noise), round(100 * spacing), m, round(100 * misses)])
        one = _repeated(rng, n, trials, noise, spacing, m, misses, seeds)
        is_dominated = dominated(one.sizes, one.steps, previous_steps=one.previous).is_dominated
        tuned = np.where(is_dominated | ~np.isfinite(one.steps), np.nan, one.steps)
        fits = identified_fits(one.sizes, tuned, None, one.previous)
        covers = (fits.lower <= one.critical) & (one.critical <= fits.upper)
        stated[seeds, misses].add(trials, fits.is_identifiable)
        intervals[seeds, noise].add(trials, covers[fits.is_identifiable])
        off = perfect_ends(one.sizes, tuned).index - perfect_ends(one.sizes, one.exact).index
        ends[seeds].add(trials, np.abs(off) <= 1)
        if seeds == "median":
            detected.add(trials, is_dominated[one.is_bad])
            wrong.add(trials, is_dominated[~one.is_bad])
    return [*intervals.values(), *stated.values(), *ends.values(), detected, wrong]


def _repeated(
    rng: np.random.Generator, n: int, trials: int, noise: float, spacing: float, m: int, misses: float, seeds: Seeds
) -> _Repeated:
    sizes = batch_sizes(m)
    critical = within(rng, sizes, n)
    exact = exact_steps(critical, sizes)
    is_bad = rng.random((n, m)) < BADLY
    worse = np.where(is_bad, rng.uniform(1.2, 2.0, (n, m)), 1.0)
    shape = (n, m, MOST_SETTINGS, trials)
    own = np.exp(np.abs(rng.normal(0, OF_SETTINGS, shape[:3])))
    own[:, :, 0] = 1.0
    steps = (exact * worse)[..., None, None] * own[..., None] * np.exp(rng.normal(0, noise, shape))
    every = (spacing * exact)[..., None, None]
    amounts = np.where(rng.random(shape) < misses, np.inf, evaluated(steps, every))
    is_there = np.arange(MOST_SETTINGS) < rng.integers(1, MOST_SETTINGS + 1, (n, m, 1))
    counts = rng.integers(FEWEST_SEEDS, trials + 1, shape[:3])
    chosen = np.arange(trials) < np.where(is_there, counts, 0)[..., None]
    studies = np.broadcast_to(np.arange(n * m).reshape(n, m, 1, 1), shape)
    settings = np.broadcast_to(np.arange(MOST_SETTINGS)[:, None], shape)
    result = best_settings(amounts[chosen], studies[chosen], settings[chosen], n * m, seeds).least.reshape(n, m)
    previous = np.where(np.isfinite(result), result, np.nan) - every[..., 0, 0]
    return _Repeated(sizes, critical, exact, result, previous, is_bad)
