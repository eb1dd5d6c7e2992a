"""The points of laws: critical batch sizes by one definition and in one unit, with what they may depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from losslake.analysis.batch_laws import ZHANG_TOKENS, Law, converted
from losslake.analysis.critical_batch_size import (
    MCCANDLISH,
    OPTIMAL_BATCH_SIZE,
    ZHANG,
    CriticalBatchSize,
    mccandlish2018,
    zhang2024,
)
from losslake.analysis.power_law import LawKind, PowerLaw, fit_power_law, log_errors, refused
from losslake.questions.laws.critical_points import CriticalPoint
from losslake.questions.trials.scaling_curve import EXACT_STEPS
from losslake_schema.reached import Floats

Definition = Literal["mccandlish2018", "zhang2024"]
Unit = Literal["tokens", "batch_unit"]
X_UNITS = {"parameters": 1e6, "tokens": 1e9, "loss": 1.0}
"""The variables of laws, with the unit in which each is raised to a power."""
# Losses of useful models differ by little, and change much with size.
_LEAST_SPREAD = {"parameters": 2.0, "tokens": 2.0, "loss": 1.1}


@dataclass(frozen=True)
class Meaning:
    """The meaning of a critical batch size: its definition, and its unit.

    overhead, optimal_batch_size: of zhang2024, the latter in the batch_unit of each workload.
    """

    by: Definition
    unit: Unit
    overhead: float
    optimal_batch_size: float

    def number(self, point: CriticalPoint) -> CriticalBatchSize:
        """Return the critical batch size of a workload by this definition, in its batch_unit."""
        if self.by == MCCANDLISH:
            return mccandlish2018(point.fit)
        return zhang2024(point.fit, self.overhead, self.optimal_batch_size)


@dataclass(frozen=True)
class LawPoint:
    """A workload as a point of laws."""

    point: CriticalPoint
    meaning: Meaning

    @cached_property
    def number(self) -> CriticalBatchSize:
        """The critical batch size by the definition, in the batch_unit."""
        return self.meaning.number(self.point)

    @cached_property
    def tokens_per_example(self) -> float | None:
        """The tokens in one unit of its batch sizes."""
        return self.point.tokens_per_example

    def in_unit(self, batch_size: float | None) -> float | None:
        """Return a batch size in the unit of the laws; None for none, or for unknown tokens."""
        factor = self.tokens_per_example if self.meaning.unit == "tokens" else 1.0
        return None if batch_size is None or factor is None else factor * batch_size

    @property
    def value(self) -> float | None:
        """The critical batch size in the unit of the laws; None where it isn't known."""
        return self.in_unit(self.number.value)

    @property
    def log_error(self) -> float:
        """The standard error of its logarithm, from its interval."""
        assert self.number.lower is not None and self.number.upper is not None
        return float(log_errors([self.number.lower], [self.number.upper], [self.point.curve.n_tuned])[0])

    @cached_property
    def values(self) -> dict[str, float]:
        """The variables of laws, as far as they are known: parameters, fewest tokens to the target, and its loss."""
        size = self.point.known_size()
        known = {"parameters": size and size[1], "tokens": self.point.fewest_tokens, "loss": self.point.loss}
        return {name: value for name, value in known.items() if value is not None and value > 0}

    @property
    def why(self) -> str:
        """The reasons for no critical batch size, or what is to know of it; empty for neither."""
        reasons = [*self.point.fit.known.reasons, *self.number.warnings]
        if not reasons and self.value is None:
            reasons.append("the tokens of an example aren't known: unit=batch_unit needs none")
        if self.point.search.facts.is_reference:
            reasons.append(EXACT_STEPS)
        return "; ".join(reasons)

    def law_in_tokens(self, law: Law) -> float | None:
        """Return what a published law says of this workload, in tokens and by the definition; None if it can't."""
        value = law.value(self.values_of(law))
        if value is None or self.tokens_per_example is None:
            return None
        optimal = self.meaning.optimal_batch_size * self.tokens_per_example
        return converted(value, law.definition, self.meaning.by, self.meaning.overhead, optimal)

    def values_of(self, law: Law) -> dict[str, float]:
        """Return the values that a law is in, with the tokens that it means.

        Those of Zhang et al. are the tokens to the target at their optimal batch size, not the fewest at any.
        """
        critical = self.point.fit.fit and self.point.fit.fit.critical_batch_size
        if law.definition != ZHANG or "tokens" not in self.values or not critical or self.tokens_per_example is None:
            return self.values
        times = 1.0 + OPTIMAL_BATCH_SIZE * ZHANG_TOKENS / (critical * self.tokens_per_example)
        return {**self.values, "tokens": self.values["tokens"] * times}


@dataclass(frozen=True)
class FittedPoints:
    """A law in one variable and the points that it was fitted to; law is None for the reason in `why`."""

    law: PowerLaw | None
    why: str | None
    x: Floats
    rows: tuple[int, ...]

    def ratio(self, row: int, value: float | None) -> float | None:
        """Return a point's batch size over the law; None without a law, or if the point isn't of it."""
        if self.law is None or value is None or row not in self.rows:
            return None
        return value / float(self.law.at(self.x[self.rows.index(row)]))


def fitted(points: Sequence[LawPoint], variable: str, kind: LawKind) -> FittedPoints:
    """Return the law in one variable, in its unit, through the points that have it and a number."""
    rows = tuple(row for row, each in enumerate(points) if each.value is not None and variable in each.values)
    used = [points[row] for row in rows]
    x = np.array([each.values[variable] for each in used]) / X_UNITS[variable]
    spread = _LEAST_SPREAD[variable]
    why = _other_units(used) or refused(x, spread)
    if why is not None:
        return FittedPoints(None, why, x, rows)
    y = np.array([each.value for each in used], np.float64)
    return FittedPoints(fit_power_law(x, y, [each.log_error for each in used], kind, spread), None, x, rows)


def _other_units(points: Sequence[LawPoint]) -> str | None:
    """Return why batch sizes can't be compared, since they count different things; None if they can."""
    if not points or points[0].meaning.unit == "tokens":
        return None
    units = {
        each.point.batch_unit
        if each.tokens_per_example is None
        else f"{each.point.batch_unit} of {each.tokens_per_example:g} tokens"
        for each in points
    }
    return f"batch sizes count different things, {' and '.join(sorted(units))}: unit=tokens" if len(units) > 1 else None
