"""Simulated studies with a known truth: conditions, random steps of trials, and rows that count what held."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from losslake.analysis.fit_intervals import LEVEL
from losslake.analysis.measured_levels import Kind, MeasuredLevel, missed
from losslake.analysis.permutation_test import ERROR
from losslake_schema.reached import Flags, Floats, Integers

TRIALS, SIZES, NOISES = (3, 5, 10, 20, 64), (4, 5, 6, 8, 11), (0.05, 0.15)
SPREADS, SPACINGS = ("exponential", "lognormal"), (25.0, 400.0)
FEWEST_STEPS, SPREAD = 1000.0, 0.3
SEEDS = 4
INTERVAL, MOST_ERRORS = round(100 * LEVEL), round(100 * ERROR)
# Of one end of an interval.
BOUND = 100 - (100 - INTERVAL) // 2
_LEAST_CELL = 50
# Of some thousand conditions, a few miss by as much as this.
_ERRORS = 3.0


@dataclass
class SimulatedRow:
    """A row of the table: a statement, and the simulations in which it held, by trials a study and by cell.

    name: the question, and what it says in a word or two.
    """

    name: str
    statement: str
    kind: Kind = "as measured"
    level: int | None = None
    cells: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, trials: int, holds: Flags) -> None:
        """Add the simulations of one cell."""
        self.cells.setdefault(trials, []).append((int(holds.sum()), holds.size))

    @property
    def measured(self) -> MeasuredLevel:
        """The sums over cells."""
        sums = {
            str(trials): (sum(hits for hits, _ in cells), sum(n for _, n in cells))
            for trials, cells in self.cells.items()
        }
        shares = [round(100 * hits / n, 1) for cells in self.cells.values() for hits, n in cells if n >= _LEAST_CELL]
        span = (min(shares), max(shares)) if shares else None
        misses = [
            missed(self.kind, self.level, *each, _ERRORS) for cells in self.cells.values() for each in cells if each[1]
        ]
        worst = round(max([0.0, *misses]), 1)
        return MeasuredLevel(self.name.partition(" ")[0], self.statement, self.kind, self.level, sums, span, worst)


def at_least(name: str, statement: str, level: int = INTERVAL) -> SimulatedRow:
    """Return the row of a statement that should hold in this percentage of studies, by default that of intervals."""
    return SimulatedRow(name, statement, "at least", level)


def at_most(name: str, statement: str, level: int = MOST_ERRORS) -> SimulatedRow:
    """Return the row of an error that should happen in no more than this percentage of studies."""
    return SimulatedRow(name, statement, "at most", level)


def generator(trials: int, spread: str, noise: float, n_sizes: int, spacing: float = 0.0) -> np.random.Generator:
    """Return the random numbers of one cell."""
    return np.random.default_rng([trials, SPREADS.index(spread), round(100 * noise), n_sizes, round(spacing)])


def batch_sizes(n_sizes: int) -> Floats:
    """Return so many batch sizes from 8, each twice the one before."""
    sizes: Floats = 8 * 2.0 ** np.arange(n_sizes, dtype=np.float64)
    return sizes


def within(rng: np.random.Generator, sizes: Floats, shape: int | tuple[int, ...], margin: int = 1) -> Floats:
    """Return random critical batch sizes. margin: how many of the sizes on either side lie beyond them."""
    critical: Floats = np.exp(rng.uniform(math.log(sizes[margin]), math.log(sizes[-1 - margin]), shape))
    return critical


def exact_steps(critical: Floats, sizes: Floats) -> Floats:
    """Return the steps of studies by batch size, without noise."""
    steps: Floats = FEWEST_STEPS * (1 + critical[..., None] / sizes)
    return steps


def spread_of_trials(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Floats:
    """Return factors of steps by trial, as a search spreads them."""
    if kind == "exponential":
        return 1 + SPREAD * rng.exponential(1.0, shape)
    factors: Floats = np.exp(rng.normal(0, SPREAD, shape))
    return factors


def evaluated(steps: Floats, spacing: float | Floats) -> Floats:
    """Return the first evaluations at or after these steps."""
    rounded: Floats = np.ceil(steps / spacing) * spacing
    return rounded


def steps_of_trials(rng: np.random.Generator, spread: str, noise: float, shape: tuple[int, ...]) -> Floats:
    """Return steps of trials of searches at one batch size."""
    steps: Floats = FEWEST_STEPS * spread_of_trials(rng, spread, shape) * np.exp(rng.normal(0, noise, shape))
    return steps


def settings_of(trials: int, seeds: int = SEEDS) -> Integers:
    """Return the setting of each trial, several seeds to each."""
    return np.arange(trials) // seeds


def repeated_steps(rng: np.random.Generator, spread: str, noise: float, n: int, settings: Integers) -> Floats:
    """Return steps by search and trial: those of its setting, times the noise of its seed."""
    drawn = spread_of_trials(rng, spread, (n, int(settings[-1]) + 1))[:, settings]
    steps: Floats = drawn * np.exp(rng.normal(0, noise, drawn.shape))
    return steps
