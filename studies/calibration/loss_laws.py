"""Coverage of the intervals of loss laws: simulated runs of a known law, as a table in the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from losslake.analysis.loss_law import LossLaw, LossLawFit, fit_loss_law
from losslake.analysis.measured_levels import binomial_error
from losslake_schema.reached import Floats, Integers
from studies.calibration.document import write_table

NAME = "loss-laws"
LEVELS = (0.8, 0.9)
N_RESAMPLES = 200
# Besiroglu et al. 2024.
TRUTH = LossLaw(1.8172, 482.01, 2085.43, 0.3478, 0.3658)
QUANTITIES = ("alpha", "beta", "E", "A", "B", "N", "N at 100 C", "loss at 100 C")


# Sizes, tokens, settings, and the noise of log losses, by point.
Runs = tuple[Floats, Floats, Integers, Floats]


@dataclass(frozen=True)
class Design:
    """A set of runs, which are drawn at random."""

    name: str
    draw: Callable[[np.random.Generator], Runs]


def _grid(n_sizes: int, n_tokens: int, noise: float) -> Callable[[np.random.Generator], Runs]:
    """Return a draw of runs of each size with each number of tokens, which vary by some 30%."""

    def draw(rng: np.random.Generator) -> Runs:
        n, d = (
            each.ravel() for each in np.meshgrid(np.geomspace(5e7, 5e9, n_sizes), np.geomspace(1e9, 1e11, n_tokens))
        )
        shape = n.shape
        return n, d * np.exp(rng.normal(0, 0.3, shape)), np.arange(len(n)), rng.normal(0, noise, shape)

    return draw


def _curves(n_models: int, n_points: int) -> Callable[[np.random.Generator], Runs]:
    """Return a draw of runs with several evaluations each, which a model's own error moves together."""

    def draw(rng: np.random.Generator) -> Runs:
        n, d = np.geomspace(5e7, 2e9, n_models), np.geomspace(1e10, 3e11, n_points)
        model = np.repeat(np.arange(n_models), n_points)
        noise = rng.normal(0, 0.01, n_models)[model] + rng.normal(0, 0.002, len(model))
        return n[model], np.tile(d, n_models), model, noise

    return draw


DESIGNS: Sequence[Design] = (
    Design("20 runs: 5 sizes, noise of 0.5%", _grid(5, 4, 0.005)),
    Design("48 runs: 8 sizes, noise of 0.5%", _grid(8, 6, 0.005)),
    Design("200 runs: 40 sizes, noise of 1%", _grid(40, 5, 0.01)),
    Design("22 models, 8 evaluations each, noise of 1% by model", _curves(22, 8)),
)


@dataclass(frozen=True)
class Coverage:
    """The coverage of the intervals of reported laws.

    held: how often, by quantity and level. n: simulations. n_refused: those without a reported law.
    """

    n: int
    n_refused: int
    held: Mapping[tuple[str, float], int]


def simulate(design: Design, n: int) -> Coverage:
    """Return the coverage in n simulations of a design."""
    rng, held, n_refused = np.random.default_rng([DESIGNS.index(design), 20220329]), Counter[tuple[str, float]](), 0
    for _ in range(n):
        sizes, tokens, settings, noise = design.draw(rng)
        losses = TRUTH.losses(sizes, tokens) * np.exp(noise)
        flops = 6 * float(np.exp(np.log(sizes).mean() + np.log(tokens).mean()))
        fit = fit_loss_law(sizes, tokens, losses, settings, n_resamples=N_RESAMPLES)
        n_refused += bool(fit.refusal)
        for level in () if fit.refusal else LEVELS:
            held.update((quantity, level) for quantity in _held(fit.at(level), flops))
    return Coverage(n, n_refused, held)


def _held(fit: LossLawFit, flops: float) -> Iterator[str]:
    """Yield the quantities whose interval contains the truth."""
    near, far = fit.optimum(flops), fit.optimum(100 * flops)
    best = TRUTH.optimum(100 * flops)
    estimates = dict(fit.estimates) | {"N": near.n, "N at 100 C": far.n, "loss at 100 C": far.loss}
    truths = {"alpha": TRUTH.alpha, "beta": TRUTH.beta, "E": TRUTH.e, "A": TRUTH.a, "B": TRUTH.b}
    truths |= {"N": TRUTH.optimum(flops)[0], "N at 100 C": best[0], "loss at 100 C": float(TRUTH.losses(*best))}
    for quantity in QUANTITIES:
        lower, upper = estimates[quantity].lower, estimates[quantity].upper
        if (lower is None or lower <= truths[quantity]) and (upper is None or truths[quantity] <= upper):
            yield quantity


def table(coverages: Mapping[str, Coverage]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| percent of reported laws | level | {' | '.join(QUANTITIES)} | reported |"
    yield f"|{' --- |' * (len(QUANTITIES) + 3)}"
    for name, each in coverages.items():
        reported = each.n - each.n_refused
        for level in LEVELS:
            parts = [_percent(each.held[quantity, level], reported) for quantity in QUANTITIES]
            yield f"| {name} | {level:.0%} | {' | '.join(parts)} | {reported} of {each.n} |"


def _percent(hits: int, n: int) -> str:
    return f"{100 * hits / n:.0f} ± {binomial_error(hits, n):.0f}" if n else "none"


def measure_loss_laws(*, is_quick: bool) -> None:
    """Write the table into the docs; or only print that of a tenth of the simulations."""
    coverages = {}
    for design in DESIGNS:
        coverages[design.name] = simulate(design, 10 if is_quick else 100)
        print(*table({design.name: coverages[design.name]}), sep="\n", flush=True)
    if not is_quick:
        write_table(NAME, table(coverages))
