"""What simulated studies share: conditions, the noise of their steps, and rows that count what held."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from losslake.analysis.fit_intervals import LEVEL
from losslake.analysis.measured_levels import Kind, MeasuredLevel, missed
from losslake.analysis.permutation_test import ERROR
from losslake_schema.reached import Flags, Floats

TRIALS, SIZES, NOISES = (3, 5, 10, 20, 64), (4, 5, 6, 8, 11), (0.05, 0.15)
SPREADS, SPACINGS = ("exponential", "lognormal"), (25.0, 400.0)
FEWEST_STEPS, SPREAD = 1000.0, 0.3
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


def generator(trials: int, spread: str, noise: float, n_sizes: int, spacing: float = 0.0) -> np.random.Generator:
    """Return the random numbers of one cell."""
    return np.random.default_rng([trials, SPREADS.index(spread), round(100 * noise), n_sizes, round(spacing)])


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
