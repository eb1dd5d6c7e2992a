"""Published laws of batch sizes and learning rates, as data, and the conversion between definitions of batch sizes.

A batch size by one definition isn't one by another: a law is compared with a measurement only where both have the same
definition, or where one follows exactly from the other.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from losslake.analysis.critical_batch_size import MCCANDLISH, OPTIMAL_BATCH_SIZE, OVERHEAD, ZHANG
from losslake_schema.package_files import read_toml

Quantity = Literal["batch_size", "learning_rate"]
Variable = Literal["parameters", "tokens", "compute", "loss"]
Definition = Literal["mccandlish2018", "zhang2024", "merrill2025", "optimal"]
ZHANG_TOKENS = 512.0
"""Tokens in a sequence of Zhang et al. 2024, to which their optimal batch size of 256 belongs."""
_FILE = "batch_laws.toml"


@dataclass(frozen=True)
class Factor:
    """A factor (variable / unit)^exponent. lower, upper: of the values behind the law; None: not verified."""

    name: Variable
    exponent: float
    unit: float = 1.0
    lower: float | None = None
    upper: float | None = None

    def is_inside(self, value: float) -> bool | None:
        """Return True for a value in the range of the publication; None if the range isn't known."""
        if self.lower is None or self.upper is None:
            return None
        return self.lower <= value <= self.upper


@dataclass(frozen=True)
class Law:
    """A published law: coefficient x product of factors, in units of tokens_per_unit tokens if it is of batch sizes.

    coefficient: None where only the exponents could be verified. checked: how: against data or code of the authors, or
    in third-party quotations only. note: what else its value depends on.
    """

    name: str
    quantity: Quantity
    definition: Definition
    source: str
    checked: Literal["data", "secondary"]
    factors: tuple[Factor, ...]
    coefficient: float | None = None
    tokens_per_unit: float = 1.0
    note: str = ""

    def value(self, values: Mapping[str, float]) -> float | None:
        """Return the batch size in tokens, or the learning rate; None without a coefficient or a value it needs.

        None as well where it is beyond the numbers of a float. values: of the variables, each above 0; others are
        ignored. Raises ValueError for those out of range.
        """
        product = self.coefficient
        for factor in self.factors:
            value = values.get(factor.name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{factor.name} is {value}: give a finite number above 0")
            if product is not None:
                needed = factor.exponent != 0
                product = None if needed and value is None else product * self._power(factor, value)
        return product * self.tokens_per_unit if product is not None and 0 < product < math.inf else None

    @staticmethod
    def _power(factor: Factor, value: float | None) -> float:
        try:
            return 1.0 if value is None else math.pow(value / factor.unit, factor.exponent)
        except OverflowError:
            return math.inf

    def is_inside(self, values: Mapping[str, float]) -> bool | None:
        """Return True if all values lie in the ranges of the publication; None if that isn't known."""
        known = [factor.is_inside(values[factor.name]) for factor in self.factors if factor.name in values]
        if False in known:
            return False
        return None if None in known or len(known) < len(self.factors) else True

    @property
    def formula(self) -> str:
        """The law in words, such as `93.1968 (parameters/1e+06)^0.468278 x 512 tokens`."""
        powers = [
            f"({each.name}/{each.unit:g})^{each.exponent:g}" if each.unit != 1 else f"{each.name}^{each.exponent:.4g}"
            for each in self.factors
            if each.exponent
        ]
        head = "unknown factor" if self.coefficient is None else f"{self.coefficient:.6g}"
        unit = "tokens" if self.tokens_per_unit == 1 else f"x {self.tokens_per_unit:g} tokens"
        return " ".join([head, *powers, *([unit] if self.quantity == "batch_size" else [])])


@functools.cache
def published_laws() -> Mapping[str, Law]:
    """Return the published laws by name."""
    return {name: _law(name, entry) for name, entry in read_toml("losslake.analysis", _FILE).items()}


def _law(name: str, entry: Mapping[str, Any]) -> Law:
    fields = {key: value for key, value in entry.items() if key != "variables"}
    return Law(name, factors=tuple(Factor(**each) for each in entry["variables"]), **fields)


def converted(
    tokens: float,
    definition: str,
    to: str,
    overhead: float = OVERHEAD,
    optimal_tokens: float = OPTIMAL_BATCH_SIZE * ZHANG_TOKENS,
) -> float | None:
    """Return a published batch size in tokens by another definition; None if neither follows from the other.

    B* = eps B_c + (1 + eps) B_opt, exactly, with the publication's eps of 0.2 and B_opt of 256 sequences of 512 tokens
    on one side. to: mccandlish2018, or zhang2024 with this overhead and optimal batch size in tokens. None as well for
    a B* below (1 + eps) B_opt, which no B_c has.
    Source: METHODS 2.1; Zhang et al. 2024 (arXiv 2410.21676), plots/chinchilla.ipynb.
    """
    if definition == MCCANDLISH:
        critical = tokens
    elif definition == ZHANG:
        critical = (tokens - (1.0 + OVERHEAD) * OPTIMAL_BATCH_SIZE * ZHANG_TOKENS) / OVERHEAD
    else:
        return tokens if definition == to else None
    if critical <= 0 or to not in (MCCANDLISH, ZHANG):
        return None
    return critical if to == MCCANDLISH else overhead * critical + (1.0 + overhead) * optimal_tokens
