"""Coverage of the intervals of the share of trials that reached a target."""

from __future__ import annotations

from itertools import product

import numpy as np

from losslake.analysis.settings import evidence
from losslake.analysis.survival import CENSORED, CONFIDENCE, REACHED, Survival, survival, wilson
from losslake_schema.reached import Floats
from studies.calibration.simulation import (
    NOISES,
    SEEDS,
    SPREADS,
    TRIALS,
    SimulatedRow,
    at_least,
    generator,
    repeated_steps,
    settings_of,
    spread_of_trials,
)

PARTS = (0.25, 0.5, 0.75)
LEVEL = round(100 * CONFIDENCE)


def survivals(n: int) -> list[SimulatedRow]:
    """Return rows of the share of trials that reached, and of its interval where some were stopped before."""
    chance = at_least("survival chance", "interval of `chance`, the share that reaches", LEVEL)
    reached = at_least("survival reached", "interval of `reached` at a step, a third of the trials stopped", LEVEL)
    for trials, spread in product(TRIALS, SPREADS):
        rng = generator(trials, spread, 0.0, 1)
        quartiles = np.quantile(spread_of_trials(rng, spread, (100_000,)), PARTS)
        steps = spread_of_trials(rng, spread, (n, trials))
        stops = np.where(rng.random((n, trials)) < 1 / 3, spread_of_trials(rng, spread, (n, trials)), np.inf)
        _add(chance, reached, quartiles, steps, stops, None)
    return [chance, reached]


def repeated_survivals(n: int) -> list[SimulatedRow]:
    """Return rows of the share of trials that reached, where settings have several seeds and one isn't alone."""
    chance = at_least("survival chance-seeds", f"interval of `chance`, {SEEDS} seeds a setting", LEVEL)
    reached = at_least("survival reached-seeds", f"interval of `reached` at a step, {SEEDS} seeds a setting", LEVEL)
    for trials, spread, noise in product((each for each in TRIALS if each > SEEDS), SPREADS, NOISES):
        rng, settings = generator(trials, spread, noise, 2), settings_of(trials)
        quartiles = np.quantile(repeated_steps(rng, spread, noise, 25_000, settings_of(1)), PARTS)
        steps = repeated_steps(rng, spread, noise, n, settings)
        _add(chance, reached, quartiles, steps, np.full(steps.shape, np.inf), evidence(settings))
    return [chance, reached]


def _add(
    chance: SimulatedRow, reached: SimulatedRow, quartiles: Floats, steps: Floats, stops: Floats, worth: float | None
) -> None:
    """Add the simulations of one cell. steps, stops: by search and trial. worth: in independent trials."""
    trials = steps.shape[1]
    curves = [_curve(*each, worth) for each in zip(steps, stops, strict=True)]
    for share, quartile in zip(PARTS, quartiles.tolist(), strict=True):
        shares = [wilson(count, trials, evidence=worth) for count in (steps <= quartile).sum(-1).tolist()]
        chance.add(trials, np.array([each.lower <= share <= each.upper for each in shares]))
        reached.add(trials, np.array([_covers(each, quartile, share) for each in curves]))


def _curve(steps: Floats, stops: Floats, worth: float | None) -> Survival:
    whole = np.ceil(1e6 * np.minimum(steps, stops)).astype(np.int64)
    return survival(whole, np.where(steps <= stops, REACHED, CENSORED).astype(np.int64), worth)


def _covers(curve: Survival, at: float, share: float) -> bool:
    place = int(np.searchsorted(curve.steps, 1e6 * at, side="right")) - 1
    return place < 0 or bool(curve.lower[place] <= share <= curve.upper[place])
