"""The levels that answers state of their intervals and verdicts, beside how often these held in simulated studies.

The measurements are data, written by `python -m studies.calibration intervals`, so that no sentence states a level that
isn't among them.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from losslake_schema.package_files import read_text

Kind = Literal["at least", "at most", "power", "as measured"]
FILE = "measured_levels.json"
TOLERATED = 3.0
_ERRORS = 2.0


@dataclass(frozen=True)
class MeasuredLevel:
    """A statement of answers, its level in percent, and how often it held in how many simulations, by number of trials.

    kind: how often it should hold; power and "as measured" have no level. cells: the least and the greatest percentage
    of single conditions. worst: by how many points more than three binomial errors a condition misses the level.
    """

    question: str
    statement: str
    kind: Kind
    level: int | None
    trials: Mapping[str, tuple[int, int]]
    cells: tuple[float, float] | None
    worst: float = 0.0

    @property
    def holds(self) -> bool:
        """True if each number of trials, and each condition, has the level, give or take 3 points and its errors."""
        numbers = (missed(self.kind, self.level, hits, n, _ERRORS) for hits, n in self.trials.values() if n)
        return max(self.worst, *numbers) <= TOLERATED

    @property
    def percent(self) -> int:
        """The percentage to state: the level, or the worst measured one where that misses it."""
        if self.level is None:
            raise ValueError(f"{self.question}: {self.statement}: it has no level to state")
        if self.holds:
            return self.level
        shares = [100 * hits / n for hits, n in self.trials.values() if n]
        return math.floor(min(shares)) if self.kind == "at least" else math.ceil(max(shares))


def missed(kind: Kind, level: int | None, hits: int, n: int, errors: float) -> float:
    """Return the points by which a level is missed, less this many binomial errors; 0 or less if it isn't missed."""
    if level is None:
        return 0.0
    above = 100 * hits / n - level
    return (-above if kind == "at least" else above) - errors * binomial_error(hits, n)


def binomial_error(hits: int, n: int) -> float:
    """Return the standard error of a percentage, at least that of one hit."""
    share = hits / n
    return 100 * math.sqrt(max(share * (1 - share), 1 / n) / n)


@functools.cache
def measured_levels() -> Mapping[str, MeasuredLevel]:
    """Return the measured levels by name."""
    text = read_text("losslake.analysis", FILE)
    return {name: MeasuredLevel(**each) for name, each in json.loads(text).items()}


@functools.cache
def stated(name: str) -> str:
    """Return the percentage that sentences state, as "90%": the worst of all levels whose names begin so.

    Raises KeyError if none was measured.
    """
    levels = [each for key, each in measured_levels().items() if key.startswith(name) and each.level is not None]
    if not levels:
        raise KeyError(name)
    worst = min if levels[0].kind == "at least" else max
    return f"{worst(each.percent for each in levels)}%"


def measured(name: str) -> str:
    """Return how often a statement without a level of its own held, as "78%": for the worst number of trials.

    Raises KeyError if it wasn't measured.
    """
    return f"{math.floor(min(100 * hits / n for hits, n in measured_levels()[name].trials.values() if n))}%"
