"""Simulated trials that aren't independent, and new trials: how often comparisons, survival and advice hold for them.

A search has settings of several seeds, or noise that all of its trials share.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from bench.simulated import (
    BOUND,
    INTERVAL,
    MOST_ERRORS,
    NOISES,
    SPREADS,
    TRIALS,
    SimulatedRow,
    generator,
    spread_of_trials,
    steps_of_trials,
)
from losslake.analysis.best_of_n import new_search
from losslake.analysis.permutation_test import ERROR, p_values
from losslake.analysis.settings import evidence, medians_of_settings
from losslake.analysis.survival import CONFIDENCE, REACHED, survival, wilson
from losslake_schema.reached import Floats, Integers

SEEDS, SHARED, REACH = 4, 0.05, 0.6
_MANY = 25_000


def repeated_settings(n: int) -> list[SimulatedRow]:
    """Return rows of trials that aren't independent: settings with several seeds, and noise that a search shares."""
    seeds = SimulatedRow("compare seeds", f"equal searches with {SEEDS} seeds a setting differ", "at most", MOST_ERRORS)
    shared = SimulatedRow(
        "compare shared", f"equal searches differ, noise of {SHARED:.0%} shared by the trials of each"
    )
    for trials, spread, noise in product(TRIALS, SPREADS, NOISES):
        rng = generator(trials, spread, noise, 1)
        number = _settings(trials)
        settings = []
        for _ in range(2):
            steps = _repeated(rng, spread, noise, n, number)
            settings.append(np.array([medians_of_settings(each, number) for each in steps]))
        seeds.add(trials, np.abs(p_values(settings[0], settings[1])) <= ERROR)
        both = [
            steps_of_trials(rng, spread, noise, (n, trials)) * np.exp(rng.normal(0, SHARED, (n, 1))) for _ in range(2)
        ]
        shared.add(trials, np.abs(p_values(both[0], both[1])) <= ERROR)
    return [seeds, shared]


def repeated_survivals(n: int) -> list[SimulatedRow]:
    """Return rows of the share of trials that reached, where settings have several seeds and one isn't alone."""
    level = round(100 * CONFIDENCE)
    chance = SimulatedRow("survival chance-seeds", f"interval of `chance`, {SEEDS} seeds a setting", "at least", level)
    reached = SimulatedRow(
        "survival reached-seeds", f"interval of `reached` at a step, {SEEDS} seeds a setting", "at least", level
    )
    for trials, spread, noise in product((each for each in TRIALS if each > SEEDS), SPREADS, NOISES):
        rng, number = generator(trials, spread, noise, 2), _settings(trials)
        quartiles = np.quantile(_repeated(rng, spread, noise, _MANY, _settings(1)), [0.25, 0.5, 0.75])
        steps, worth = _repeated(rng, spread, noise, n, number), evidence(number)
        curves = [survival(_whole(each), np.full(trials, REACHED), worth) for each in steps]
        for share, quartile in zip((0.25, 0.5, 0.75), quartiles.tolist(), strict=True):
            shares = [wilson(count, trials, evidence=worth) for count in (steps <= quartile).sum(-1).tolist()]
            chance.add(trials, np.array([each.lower <= share <= each.upper for each in shares]))
            places = [int(np.searchsorted(each.steps, 1e6 * quartile, side="right")) - 1 for each in curves]
            reached.add(
                trials,
                np.array(
                    [
                        at < 0 or bool(each.lower[at] <= share <= each.upper[at])
                        for at, each in zip(places, curves, strict=True)
                    ]
                ),
            )
    return [chance, reached]


def advices(n: int) -> list[SimulatedRow]:
    """Return rows of the bounds of the best new trial of one or half as many, also where stored settings have seeds."""
    rows = []
    for name, words, seeds in (("", "", 1), ("-seeds", f", {SEEDS} seeds a stored setting", SEEDS)):
        bound = SimulatedRow(f"advice bound{name}", f"either bound of the best new trial{words}", "at least", BOUND)
        both = SimulatedRow(f"advice interval{name}", f"interval of the best new trial{words}", "at least", INTERVAL)
        for trials, spread, noise in product((each for each in TRIALS if each > seeds), SPREADS, NOISES):
            rng, number = generator(trials, spread, noise, 3 + seeds), _settings(trials, seeds)
            stored = _repeated(rng, spread, noise, n, number)
            for n_new in sorted({1, max(1, trials // seeds // 2)}):
                new = _repeated(rng, spread, noise, n, _settings(n_new, 1)).min(-1)
                found = [new_search(each, n_new, number) for each in stored]
                lower, upper = np.array([(each.lower or 0.0, each.upper) for each in found]).T
                is_above, is_below, has_lower, has_upper = lower <= new, new <= upper, lower > 0, np.isfinite(upper)
                bound.add(trials, is_above[has_lower])
                bound.add(trials, is_below[has_upper])
                both.add(trials, (is_above & is_below)[has_lower | has_upper])
        rows += [bound, both]
    return rows


def advices_of_few_that_reach(n: int) -> list[SimulatedRow]:
    """Return rows of the upper bound of the best of half as many new trials, where many never reach the target."""
    wrong = SimulatedRow(
        "advice wrong", f"an upper bound is stated and wrong, {REACH:.0%} of trials reach", "at most", 100 - BOUND
    )
    stated = SimulatedRow("advice few", f"a stated upper bound holds, {REACH:.0%} of trials reach")
    for trials, spread, noise in product(TRIALS, SPREADS, NOISES):
        rng = generator(trials, spread, noise, 5)
        n_new = max(1, trials // 2)
        drawn = steps_of_trials(rng, spread, noise, (n, trials + n_new))
        steps = np.where(rng.random(drawn.shape) < REACH, drawn, np.inf)
        upper = np.array([new_search(each[:trials], n_new).upper for each in steps])
        holds, is_stated = steps[:, trials:].min(-1) <= upper, np.isfinite(upper)
        wrong.add(trials, is_stated & ~holds)
        stated.add(trials, holds[is_stated])
    return [wrong, stated]


def _settings(trials: int, seeds: int = SEEDS) -> Integers:
    """Return the setting of each trial, several seeds to each."""
    return np.arange(trials) // seeds


def _repeated(rng: np.random.Generator, spread: str, noise: float, n: int, settings: Integers) -> Floats:
    """Return steps by search and trial: those of its setting, times the noise of its seed."""
    drawn = spread_of_trials(rng, spread, (n, int(settings[-1]) + 1))[:, settings]
    steps: Floats = drawn * np.exp(rng.normal(0, noise, drawn.shape))
    return steps


def _whole(steps: Floats) -> Integers:
    return np.ceil(1e6 * steps).astype(np.int64)
