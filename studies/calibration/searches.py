"""Coverage of comparisons, quality, tuning budgets, learning rates and reference convergence, for searches."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from losslake.analysis.best_of_n import smaller_search, trials_needed
from losslake.analysis.equal_budget import best_of, flips, ratio_range
from losslake.analysis.learning_rate_growth import LEAST_SIZES_OF_FORMS, learning_rate_exponent, learning_rate_forms
from losslake.analysis.permutation_test import ERROR, p_values
from losslake.analysis.quality import shortfall
from losslake.analysis.rcp import Rules, check, reference_point
from losslake.analysis.search_range import SearchRange, boundary_flags
from losslake.analysis.settings import medians_of_settings
from losslake_schema.reached import Floats
from studies.calibration.simulation import (
    NOISES,
    SEEDS,
    SPACINGS,
    SPREADS,
    TRIALS,
    SimulatedRow,
    at_least,
    at_most,
    batch_sizes,
    evaluated,
    generator,
    repeated_steps,
    settings_of,
    spread_of_trials,
    steps_of_trials,
)

RATIO, SHARED = 0.7, 0.05
_RANGES = {name: SearchRange("DOUBLE", "LINEAR_SCALE", 0.0, 1.0) for name in ("learning_rate", "momentum")}


def comparisons(n: int) -> list[SimulatedRow]:
    """Return rows of differences, of clear ones, and of clear flips. n: comparisons in a cell."""
    differs = at_most("compare differs", "equal searches differ at a batch size")
    clear = at_most("compare clear", "equal searches are `is_clear`")
    power = SimulatedRow("compare power", f"a ratio of {RATIO} differs at a batch size", "power")
    power_clear = SimulatedRow("compare power-clear", f"a ratio of {RATIO} is `is_clear`", "power")
    flip = SimulatedRow("compare flips", "equal searches flip over the batch sizes")
    clear_flip = at_most("compare clear-flips", "a flip of equal searches is `is_clear`")
    for trials, spread, noise, spacing, m in product(TRIALS, SPREADS, NOISES, SPACINGS, (4, 11)):
        rng = generator(trials, spread, noise, m, spacing)
        first, second = (steps_of_trials(rng, spread, noise, (n * m, trials)) for _ in range(2))
        for ratio, single, whole in ((1.0, differs, clear), (RATIO, power, power_clear)):
            ours, theirs = evaluated(ratio * first, spacing), evaluated(second, spacing)
            signed = p_values(ours, theirs)
            p = np.abs(signed)
            single.add(trials, np.asarray(p <= ERROR))
            whole.add(trials, np.asarray((p.reshape(n, m) <= ERROR / m).any(axis=1)))
            if single is differs:
                of_studies, best = signed.reshape(n, m), np.stack([ours.min(-1), theirs.min(-1)]).reshape(2, n, m)
                flipped = [flips(both, _p_of(p)) for both, p in zip(best.swapaxes(0, 1), of_studies, strict=True)]
                flip.add(trials, np.array([len(each) > 0 for each in flipped]))
                clear_flip.add(trials, np.array([any(each.is_clear for each in of_study) for of_study in flipped]))
    return [differs, clear, power, power_clear, flip, clear_flip]


def repeated_settings(n: int) -> list[SimulatedRow]:
    """Return rows of trials that aren't independent: settings with several seeds, and noise that a search shares."""
    seeds = at_most("compare seeds", f"equal searches with {SEEDS} seeds a setting differ")
    shared = SimulatedRow(
        "compare shared", f"equal searches differ, noise of {SHARED:.0%} shared by the trials of each"
    )
    for trials, spread, noise in product(TRIALS, SPREADS, NOISES):
        rng = generator(trials, spread, noise, 1)
        number = settings_of(trials)
        settings = []
        for _ in range(2):
            steps = repeated_steps(rng, spread, noise, n, number)
            settings.append(np.array([medians_of_settings(each, number) for each in steps]))
        seeds.add(trials, np.abs(p_values(settings[0], settings[1])) <= ERROR)
        both = [
            steps_of_trials(rng, spread, noise, (n, trials)) * np.exp(rng.normal(0, SHARED, (n, 1))) for _ in range(2)
        ]
        shared.add(trials, np.abs(p_values(both[0], both[1])) <= ERROR)
    return [seeds, shared]


def qualities(n: int) -> list[SimulatedRow]:
    """Return rows of the shortfall of the largest batch size."""
    equal = at_most("quality clear", "equal batch sizes: the shortfall is `is_clear`")
    power = SimulatedRow("quality power", "the largest is 1.5 times as bad: the shortfall is `is_clear`", "power")
    for trials, spread, m in product(TRIALS, SPREADS, (4, 11)):
        rng = generator(trials, spread, 0.0, m)
        losses = spread_of_trials(rng, spread, (n // 4, m, trials))
        for row, factor in ((equal, 1.0), (power, 1.5)):
            scaled = losses * np.where(np.arange(m) < m - 1, 1.0, factor)[:, None]
            shortfalls = [shortfall(range(m), each.min(-1), list(each)) for each in scaled]
            row.add(trials, np.array([each is not None and each.is_clear for each in shortfalls]))
    return [equal, power]


def tuning_budgets(n: int) -> list[SimulatedRow]:
    """Return rows of what smaller searches would find, and of the ratio of two of them."""
    half = at_least("tuning-budget half", "the best of half of the same trials in `half_lower` to `half_upper`", 90)
    ratio = at_least("compare half", "the ratio of halves in `ratio_lower` to `ratio_upper`", 90)
    fresh = SimulatedRow("tuning-budget fresh", "not stated: the best of half as many new trials in that range")
    needed = SimulatedRow("tuning-budget needed", "as many new trials as `trials_needed` reach (chance 30%)")
    for trials, spread in product(TRIALS, SPREADS):
        rng = generator(trials, spread, 0.0, 1)
        first, second, new = (spread_of_trials(rng, spread, (n, trials)) for _ in range(3))
        ours, theirs = (rng.permuted(each, axis=1)[:, : trials // 2].min(-1) for each in (first, second))
        halves = [smaller_search(each).half for each in first]
        ends = [(each.lower or 0.0, each.upper or np.inf) for each in halves if each is not None]
        lower, upper = np.array(ends).T
        half.add(trials, (lower <= ours) & (ours <= upper))
        newest = new[:, : trials // 2].min(-1)
        fresh.add(trials, (lower <= newest) & (newest <= upper))
        best = ([best_of(each, trials // 2) for each in search] for search in (first, second))
        lower, upper = np.array([ratio_range(*pair) for pair in zip(*best, strict=True)]).T
        ratio.add(trials, (lower <= ours / theirs) & (ours / theirs <= upper))
        wanted = [trials_needed(trials, count) for count in rng.binomial(trials, 0.3, n).tolist()]
        needed.add(trials, np.array([rng.random(each).min() < 0.3 for each in wanted if each is not None], bool))
    return [half, ratio, fresh, needed]


def _p_of(signed: Floats) -> Callable[[int, int, int], float]:
    """Return what gives the signed p-value of two searches at the batch size of an index."""
    return lambda _, __, place: float(signed[place])


def others(n: int) -> list[SimulatedRow]:
    """Return rows of the learning rate's growth, of optima at an end of their range, and of reference convergence."""
    exponent = at_least("metaparameters exponent", "interval of the learning rate's exponent")
    turn = at_least("metaparameters turn", "interval of `noise_batch_size`, of a saturating rate")
    flat = boundary_flags(_RANGES, list(_RANGES), np.full((1, len(_RANGES)), 0.5))
    assert flat is not None
    boundary = at_most(
        "metaparameters boundary",
        f"the best of equally good trials is at an end of {len(_RANGES)} ranges",
        round(100 * flat.chance),
    )
    fails = at_most("rcp fails", "submissions equal to the reference fail")
    rules = Rules(submission_runs=10)
    for trials, spread, noise, m in product(TRIALS, SPREADS, NOISES, (4, 6, 11)):
        rng, sizes = generator(trials, spread, noise, m), batch_sizes(m)
        rates = sizes[:, None] ** 0.5 * np.exp(rng.normal(0, 3 * noise, (n // 8, m, min(trials, 5))))
        exponents = [learning_rate_exponent(sizes, list(each)) for each in rates]
        exponent.add(
            trials, np.array([each.lower is not None and each.lower <= 0.5 <= (each.upper or 0) for each in exponents])
        )
        if m >= LEAST_SIZES_OF_FORMS:
            turns = np.exp(rng.uniform(math.log(sizes[0]), math.log(sizes[-1]), n // 8))
            turn.add(trials, np.array([_covers_turn(rng, sizes, one, 3 * noise) for one in turns]))
        best = rng.uniform(0, 1, (n, 1, len(_RANGES)))
        flags = [boundary_flags(_RANGES, list(_RANGES), each) for each in best]
        boundary.add(trials, np.array([each is not None and len(each.of_best) > 0 for each in flags]))
        runs = steps_of_trials(rng, spread, noise, (n, 30))
        points = [reference_point(8, each[:20], rules) for each in runs]
        fails.add(
            trials,
            np.array(
                [check([one], 8, each[20:], rules).passes is False for one, each in zip(points, runs, strict=True)]
            ),
        )
    return [exponent, turn, boundary, fails]


def _covers_turn(rng: np.random.Generator, sizes: Floats, turn: float, noise: float) -> bool:
    """Return True if the interval of the batch size at which a learning rate saturates has the true one."""
    rates = 1 / (1 + turn / sizes) * np.exp(rng.normal(0, noise, sizes.shape))
    form = next(each for each in learning_rate_forms(sizes, rates).forms if each.name == "saturating")
    return (form.noise_lower or 0.0) <= turn <= (math.inf if form.noise_upper is None else form.noise_upper)
