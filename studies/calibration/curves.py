"""Coverage of critical batch sizes, regimes and their intervals.

Steps of a trial are 1000 (1 + B_c/B), times the noise of its study, times its own spread; evaluations round them up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from losslake.analysis.break_points import (
    OF_BEST_TRIAL,
    PERFECT_WITHIN,
    USEFUL_WITHIN,
    dominated,
    max_useful_batch_size,
    perfect_scaling_end,
    widened,
)
from losslake.analysis.critical_batch_size import fit_curve
from losslake.analysis.identifiability import FURTHEST, gates, identified_fits
from losslake.analysis.permutation_test import ERROR
from losslake_schema.names import Workload
from losslake_schema.reached import Floats
from studies.calibration.simulation import (
    BOUND,
    NOISES,
    SIZES,
    SPACINGS,
    SPREADS,
    TRIALS,
    SimulatedRow,
    at_least,
    at_most,
    batch_sizes,
    evaluated,
    exact_steps,
    generator,
    spread_of_trials,
    within,
)
from studies.reports.transitions import Transition, ratio

# The names of ranges in a fit, and in answers.
_RANGES = {
    "delta_method": "delta_method",
    "bootstrap": "bootstrap",
    "left_out": "leave_one_out",
    "subsampled": "half_search",
}
_TESTS = {
    "knee": "a hyperbola's knee is called sharper or blunter",
    "runs": "residuals of a hyperbola keep their sign",
}


def critical_batch_sizes(n: int) -> list[SimulatedRow]:
    """Return rows of the profile interval. n: simulations in a cell."""
    question = "critical-batch-size"
    rows = {
        (noise, spacing): at_least(
            f"{question} interval-{noise:g}-{spacing:g}",
            f"interval, noise {noise:.0%}, evaluations every {spacing:.0f} steps",
        )
        for noise, spacing in product(NOISES, SPACINGS)
    }
    bounds = at_least(f"{question} bound", "a bound without a number, each by itself", BOUND)
    stated = SimulatedRow(f"{question} number", "a number is stated", "power")
    censored = at_least(f"{question} interval-censored", "interval, the two smallest batch sizes never reach")
    twice = at_least(f"{question} interval-halved", "interval, trials halve over the batch sizes")
    unequal = SimulatedRow(
        f"{question} unequal", "not stated: interval, a 16th of the trials at the largest batch size"
    )
    for trials, spread, noise, spacing, m in product(TRIALS, SPREADS, NOISES, SPACINGS, SIZES):
        rng, sizes = generator(trials, spread, noise, m, spacing), batch_sizes(m)
        critical = within(rng, sizes, n, margin=0)
        truth = exact_steps(critical, sizes) * np.exp(rng.normal(0, noise, (n, m)))
        factors = spread_of_trials(rng, spread, (n, m, trials))
        is_fine = spacing == SPACINGS[0]
        for row, share, limit in (
            (rows[noise, spacing], 1.0, math.inf),
            *([(twice, 0.5, math.inf)] if is_fine else []),
            *([(unequal, 1 / 16, math.inf)] if is_fine and trials >= 20 else []),
            *([(censored, 1.0, 4.0)] if m >= 8 else []),
        ):
            counts = np.ceil(np.geomspace(trials, max(1.0, trials * share), m) - 1e-9)
            used = np.where(np.arange(trials) < counts[:, None], factors, np.inf)
            steps = evaluated(truth * used.min(axis=-1), spacing)
            is_late = (np.arange(m) < 2) & (limit < math.inf)
            previous = np.where(is_late, np.nan, steps - spacing)
            reached = tuned(sizes, np.where(is_late, np.inf, steps), previous)
            tested = gates(sizes, reached, np.where(is_late, 0.9 * steps, np.nan), previous)
            covers = (tested.lower <= critical) & (critical <= tested.upper)
            row.add(trials, covers[tested.is_identifiable])
            if row is rows[noise, spacing]:
                stated.add(trials, tested.is_identifiable)
                for holds, is_stated in (
                    (tested.lower <= critical, tested.lower > 0),
                    (critical <= tested.upper, tested.upper < math.inf),
                ):
                    bounds.add(trials, holds[~tested.is_identifiable & is_stated])
    return [*rows.values(), censored, twice, unequal, bounds, stated]


def critical_batch_sizes_outside(n: int) -> list[SimulatedRow]:
    """Return rows for critical batch sizes below the smallest or above the largest batch size, by up to 4 times."""
    outside = SimulatedRow("critical-batch-size outside", "interval, critical batch size outside the batch sizes")
    stated = SimulatedRow("critical-batch-size number-outside", "a number is stated for one outside the batch sizes")
    for trials, spread, noise, m in product(TRIALS, SPREADS, NOISES, SIZES):
        rng, sizes = generator(trials, spread, noise, m), batch_sizes(m)
        factor, is_below = FURTHEST ** rng.random(n), rng.random(n) < 0.5
        critical = np.where(is_below, sizes[0] / factor, sizes[-1] * factor)
        steps = _best(rng, exact_steps(critical, sizes), noise, spread, trials)
        tested = gates(sizes, tuned(sizes, steps))
        covers = (tested.lower <= critical) & (critical <= tested.upper)
        outside.add(trials, covers[tested.is_identifiable])
        stated.add(trials, tested.is_identifiable)
    return [outside, stated]


def other_ranges(n: int) -> list[SimulatedRow]:
    """Return rows of what stands beside the interval: other ranges, and the tests of the curve."""
    ranges = {
        (name, spacing): SimulatedRow(
            f"critical-batch-size {field}-{spacing:g}", f"`{field}` range, evaluations every {spacing:.0f} steps"
        )
        for (name, field), spacing in product(_RANGES.items(), SPACINGS)
    }
    tests = {
        (name, spacing): at_most(
            f"critical-batch-size {name}-{spacing:g}", f"{words}, evaluations every {spacing:.0f} steps"
        )
        for (name, words), spacing in product(_TESTS.items(), SPACINGS)
    }
    for trials, spread, noise, m, spacing in product(TRIALS, SPREADS, NOISES, (6, 11), SPACINGS):
        rng, sizes = generator(trials, spread, noise, m, spacing), batch_sizes(m)
        critical = within(rng, sizes, n // 4)
        exact = exact_steps(critical, sizes)
        noises = np.exp(rng.normal(0, noise, exact.shape))
        steps = (exact * noises)[..., None] * spread_of_trials(rng, spread, (*exact.shape, trials))
        fits = [fit_curve(sizes, *_of_tuned(sizes, each, spacing)) for each in evaluated(steps, spacing)]
        for name in _RANGES:
            intervals = [(getattr(fit, name), true) for fit, true in zip(fits, critical, strict=True)]
            holds = [each.lower <= true <= each.upper for each, true in intervals if each is not None]
            ranges[name, spacing].add(trials, np.array(holds, bool))
        p_values = [(each.p_value, fit.runs_p_value or 1.0) for fit in fits if (each := fit.other_forms) is not None]
        for name, p_of_test in zip(_TESTS, np.array(p_values).reshape(-1, len(_TESTS)).T, strict=True):
            tests[name, spacing].add(trials, p_of_test < ERROR)
    return [*ranges.values(), *tests.values()]


def ratios(n: int) -> list[SimulatedRow]:
    """Return the row of the ratio of two critical batch sizes, where both have an interval."""
    row = at_least("reproduce ratio", "interval of the ratio of two critical batch sizes")
    for trials, spread, noise, m in product(TRIALS, SPREADS, NOISES, (8, 11)):
        rng, sizes = generator(trials, spread, noise, m), batch_sizes(m)
        critical = within(rng, sizes, (2, n))
        first, second = (
            _transitions(sizes, _best(rng, exact, noise, spread, trials)) for exact in exact_steps(critical, sizes)
        )
        measured = [ratio(*pair) for pair in zip(first, second, strict=True)]
        pairs = [(each, true) for each, true in zip(measured, critical[1] / critical[0], strict=True) if each.value]
        row.add(
            trials, np.array([(each.lower or 0.0) <= true <= (each.upper or math.inf) for each, true in pairs], bool)
        )
    return [row]


def _transitions(sizes: Floats, steps: Floats) -> Iterator[Transition]:
    """Yield by study its critical batch size and interval, as reports have them."""
    fits = identified_fits(sizes, tuned(sizes, steps))
    for at, value in enumerate(fits.critical_batch_size.tolist()):
        ends = {"lower": float(fits.lower[at]), "upper": float(fits.upper[at])}
        fit = ends | {"critical_batch_size": value if fits.is_identifiable[at] else None}
        yield Transition(Workload("simulated", "", "", str(at)), (), {}, {}, fit, None)


def regimes(n: int) -> list[SimulatedRow]:
    """Return rows of the bounds of both ends."""
    ends = {"perfect": "perfect scaling ends", "useful": "maximal data parallelism begins"}
    rows = {
        (name, noise): at_least(f"regimes {name}-{noise:g}", f"{words} within its bounds with noise, noise {noise:.0%}")
        for (name, words), noise in product(ends.items(), NOISES)
    }
    late = at_least("regimes late", "perfect scaling ends within its bounds with noise, late")
    for trials, spread, noise, spacing, m, is_late in product(
        TRIALS, SPREADS, NOISES, SPACINGS, (5, 8, 11), (False, True)
    ):
        rng, sizes = generator(trials, spread, noise, m, spacing), batch_sizes(m)
        critical = within(rng, sizes, n // 4)
        if is_late:
            critical = np.full(n // 4, sizes[-2])
        exact = exact_steps(critical, sizes)
        steps = evaluated(_best(rng, exact, noise, spread, trials), spacing)
        steps = tuned(sizes, steps, steps - spacing)
        for name, end, tau in (
            ("perfect", perfect_scaling_end, PERFECT_WITHIN),
            ("useful", max_useful_batch_size, USEFUL_WITHIN),
        ):
            if is_late and name == "useful":
                continue
            truths = [end(sizes, one, tau).batch_size or 0 for one in exact]
            bounds = [widened(sizes, each, end, tau, each - spacing) for each in steps]
            (late if is_late else rows[name, noise]).add(
                trials,
                np.array(
                    [
                        (lower or 0) <= true <= (upper or math.inf)
                        for true, (lower, upper) in zip(truths, bounds, strict=True)
                    ]
                ),
            )
    return [*rows.values(), late]


def tuned(sizes: Floats, steps: Floats, previous: Floats | None = None) -> Floats:
    """Return steps without those of dominated batch sizes, as answers have them."""
    counted: Floats = np.where(dominated(sizes, steps, OF_BEST_TRIAL, previous).is_dominated, np.nan, steps)
    return counted


def _of_tuned(sizes: Floats, of_trials: Floats, spacing: float) -> tuple[Floats, None, Floats, list[Floats]]:
    """Return the arguments of fit_curve from the steps of trials by batch size."""
    steps = of_trials.min(-1)
    counted = tuned(sizes, steps, steps - spacing)[0]
    drawn = [trials if math.isfinite(best) else trials[:0] for trials, best in zip(of_trials, counted, strict=True)]
    return counted, None, steps - spacing, drawn


def _best(rng: np.random.Generator, exact: Floats, noise: float, spread: str, trials: int) -> Floats:
    """Return the steps of the best trial of each study."""
    noises = np.exp(rng.normal(0, noise, exact.shape))
    best: Floats = exact * noises * spread_of_trials(rng, spread, (*exact.shape, trials)).min(-1)
    return best
