"""Coverage of the bounds of the best new trial, also where stored settings have several seeds."""

from __future__ import annotations

from itertools import product

import numpy as np

from losslake.analysis.best_of_n import new_search
from studies.calibration.simulation import (
    BOUND,
    NOISES,
    SEEDS,
    SPREADS,
    TRIALS,
    SimulatedRow,
    at_least,
    at_most,
    generator,
    repeated_steps,
    settings_of,
    steps_of_trials,
)

REACH = 0.6


def advices(n: int) -> list[SimulatedRow]:
    """Return rows of the bounds of the best new trial of one or half as many, also where stored settings have seeds."""
    rows = []
    for name, words, seeds in (("", "", 1), ("-seeds", f", {SEEDS} seeds a stored setting", SEEDS)):
        bound = at_least(f"advice bound{name}", f"either bound of the best new trial{words}", BOUND)
        both = at_least(f"advice interval{name}", f"interval of the best new trial{words}")
        for trials, spread, noise in product((each for each in TRIALS if each > seeds), SPREADS, NOISES):
            rng, number = generator(trials, spread, noise, 3 + seeds), settings_of(trials, seeds)
            stored = repeated_steps(rng, spread, noise, n, number)
            for n_new in sorted({1, max(1, trials // seeds // 2)}):
                new = repeated_steps(rng, spread, noise, n, settings_of(n_new, 1)).min(-1)
                searches = [new_search(each, n_new, number) for each in stored]
                lower, upper = np.array([(each.lower or 0.0, each.upper) for each in searches]).T
                is_above, is_below, has_lower, has_upper = lower <= new, new <= upper, lower > 0, np.isfinite(upper)
                bound.add(trials, is_above[has_lower])
                bound.add(trials, is_below[has_upper])
                both.add(trials, (is_above & is_below)[has_lower | has_upper])
        rows += [bound, both]
    return rows


def advices_of_few_that_reach(n: int) -> list[SimulatedRow]:
    """Return rows of the upper bound of the best of half as many new trials, where many never reach the target."""
    wrong = at_most("advice wrong", f"an upper bound is stated and wrong, {REACH:.0%} of trials reach", 100 - BOUND)
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
