"""Coverage of laws of critical batch sizes: workloads whose critical batch size grows as a power of model size.

Each workload is a search at 11 batch sizes, whose critical batch size and interval are estimated as in answers; the law
is fitted to those with a number. Model sizes span a factor of 1000 and the fewest examples are in proportion to them.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from losslake.analysis.identifiability import IdentifiedFits, identified_fits
from losslake.analysis.power_law import FEWEST_POINTS, LawKind, fit_power_law, log_errors, refused
from losslake_schema.reached import Flags, Floats
from studies.calibration.simulation import (
    NOISES,
    SPACINGS,
    SPREADS,
    TRIALS,
    SimulatedRow,
    at_least,
    batch_sizes,
    evaluated,
    generator,
    spread_of_trials,
)

WORKLOADS, SCATTERS, EXPONENT = (3, 5, 9), (0.0, 0.2), 0.5
_LARGEST, _LEAST_CRITICAL = 1000.0, 48.0


def laws(n: int) -> list[SimulatedRow]:
    """Return rows of the intervals of exponents. n: laws in a cell."""
    question = "critical-batch-law"
    kinds: tuple[LawKind, ...] = ("weighted", "equal")
    rows = {
        (kind, scatter): at_least(
            f"{question} exponent-{kind}-{scatter:g}",
            f"`law={kind}`: interval of the exponent in model size, scatter of {scatter:.0%} between workloads",
        )
        for kind, scatter in product(kinds, SCATTERS)
    }
    tokens = at_least(f"{question} exponent-tokens", "interval of the exponent in the fewest tokens")
    stated = SimulatedRow(f"{question} number", "a law is stated", "power")
    sizes = batch_sizes(11)
    for trials, spread, noise, k, scatter in product(TRIALS, SPREADS, NOISES, WORKLOADS, SCATTERS):
        rng = generator(trials, spread, noise, k, SPACINGS[0] + round(100 * scatter))
        models = np.sort(_LARGEST ** ((np.arange(k) + rng.uniform(-0.3, 0.3, (n, k))) / (k - 1)), axis=1)
        critical = _LEAST_CRITICAL * models**EXPONENT * np.exp(rng.normal(0, scatter, (n, k)))
        # The fewest examples to the target, in which the fewest steps are hundreds and more.
        fewest = 40_000.0 * models
        steps = fewest[..., None] / critical[..., None] * (1 + critical[..., None] / sizes)
        steps = steps * np.exp(rng.normal(0, noise, steps.shape))
        best = spread_of_trials(rng, spread, (*steps.shape, trials)).min(-1) * steps
        spacing = np.maximum(1.0, np.round(best.min(-1, keepdims=True) / 40))
        found = evaluated(best, spacing)
        fits = identified_fits(sizes, found.reshape(n * k, -1), previous_steps=(found - spacing).reshape(n * k, -1))
        held = {kind: np.zeros(n, np.bool_) for kind in kinds}
        of_tokens, is_stated = np.zeros((2, n), np.bool_)
        for law in range(n):
            rows_of = slice(law * k, (law + 1) * k)
            used = fits.is_identifiable[rows_of]
            at = models[law][used]
            if used.sum() < FEWEST_POINTS or refused(at) is not None:
                continue
            is_stated[law] = True
            for kind in kinds:
                held[kind][law] = _covers(at, fits, rows_of, used, len(sizes), kind)
            of_fits = (fits.critical_batch_size * fits.s_min)[rows_of][used]
            of_tokens[law] = _covers(of_fits, fits, rows_of, used, len(sizes), "weighted")
        for kind in kinds:
            rows[kind, scatter].add(trials, held[kind][is_stated])
        tokens.add(trials, of_tokens[is_stated])
        stated.add(trials, is_stated)
    return [*rows.values(), tokens, stated]


def _covers(x: Floats, fits: IdentifiedFits, law: slice, used: Flags, n_sizes: int, kind: LawKind) -> bool:
    """Return True if the interval of the exponent has the true one; False where there is no law in x."""
    if refused(x) is not None:
        return False
    errors = log_errors(fits.lower[law][used], fits.upper[law][used], np.full(int(used.sum()), n_sizes))
    ends = fit_power_law(x, fits.critical_batch_size[law][used], errors, kind).exponent_range
    return ends.lower <= EXPONENT <= ends.upper
