"""The metric of a logged column, and its unit: by the mapping's lines, or because the column has a metric's name.

Otherwise its name suggests a line for the mapping; such a guess is never used for ingestion.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from losslake_ingest.contracts.rules import Refusal, Rule, mapping_lacks, shown
from losslake_ingest.contracts.run_log import Fields
from losslake_ingest.mapping.mapping import MetricLine
from losslake_ingest.mapping.steps import shown_number, stated_number
from losslake_ingest.mapping.toml import names_of, toml_key, toml_string
from losslake_schema.names import name_problem
from losslake_schema.reached import Floats, Integers
from losslake_schema.registry import Direction, metric_named, metrics

_LEAST_PERCENTAGE = 1.5  # of the largest value of a column; fractions that are beyond 1 by a fault are below
_DECIMALS = Context(prec=60)
_PERCENT = re.compile(r"%|percent|(?:^|[^a-z])(?:pct|perc)(?:[^a-z]|$)")

SPLITS = frozenset(metric.split for metric in metrics().values())
_SPLIT_WORDS, _QUANTITIES = names_of("splits"), names_of("quantities")
_SPLIT_OF = {word: split for split, words in _SPLIT_WORDS.items() for word in words}


@dataclass(frozen=True)
class ColumnMetric:
    """The metric `split/quantity` of a column; its values are scale x column + offset.

    repeated: which of several values at one step counts; None if they have to be equal. direction: stated by the
    mapping for a metric that isn't registered. is_scaled: the mapping states the scale. is_nan_missing: NaN says that
    there is no value.
    """

    name: str
    column: str
    scale: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    repeated: str | None = None
    direction: Direction | None = None
    is_scaled: bool = False
    is_nan_missing: bool = False

    @property
    def formula(self) -> str | None:
        """The calculation of values; None if they are stored as they were logged."""
        if self.scale == 1 and not self.offset:
            return None
        scaled = self.column if self.scale == 1 else f"{self.column} x {shown_number(self.scale)}"
        return f"{scaled} {'+-'[self.offset < 0]} {shown_number(abs(self.offset))}" if self.offset else scaled

    def values(self, logged: Floats) -> Floats:
        """Return the values of a column, as the decimal fractions that were logged."""
        if self.formula is None:
            return logged
        scale, offset = (Decimal(number.numerator) / number.denominator for number in (self.scale, self.offset))
        return np.array([float(_DECIMALS.fma(Decimal(repr(cell)), scale, offset)) for cell in logged.tolist()])

    def check(self, values: Floats, steps: Integers) -> None:
        """Raise Refusal for a finite value that the metric can't have by its definition."""
        definition = metric_named(self.name)
        if not math.isfinite(definition.smallest):
            return
        lowest, highest = definition.limits
        fits = (values >= lowest) & (values <= highest)
        bad = np.flatnonzero(~fits & np.isfinite(values))
        if len(bad):
            value = float(values[bad[0]])
            is_fraction = self.formula is None and definition.unit == "fraction"
            finite = values[np.isfinite(values)]
            limits = definition.range_in_words
            message = f"the column {self.column} is {value:.17g} at step {steps[bad[0]]:,}, and {limits}"
            if is_fraction and finite.min() >= 0 and _LEAST_PERCENTAGE < finite.max() <= 100:
                add = f"{self._as_percentage()}   # under [metrics]"
                what = f"the column {self.column} isn't a fraction, and {limits}"
                raise mapping_lacks(Rule.OUT_OF_RANGE, message, add, what=what, may_differ=True)
            raise Refusal(Rule.OUT_OF_RANGE, f"{message}: correct its line in the mapping")

    def _as_percentage(self) -> str:
        return f"{toml_key(self.column)} = {{ metric = {toml_string(self.name)}, scale = 0.01 }}"

    def check_best(self, values: Floats) -> None:
        """Raise Refusal if no finite value of a run is one that its best can be, or a name in percent has fractions."""
        definition, finite = metric_named(self.name), values[np.isfinite(values)]
        if definition.is_largest_best and not self.is_scaled and len(finite) and finite.min() > definition.largest:
            add = f"{self._as_percentage()}   # or 1, under [metrics]"
            what = f"the column {self.column} is never below {finite.min():.17g}, and {self.name} is a fraction"
            raise mapping_lacks(Rule.OUT_OF_RANGE, what, add, may_differ=True)
        if (
            definition.unit == "fraction"
            and not self.is_scaled
            and len(finite)
            and _PERCENT.search(self.column.lower())
        ):
            add = f"{self._as_percentage()}   # or 1 if its values are fractions, under [metrics]"
            what = f"the column {shown(self.column)} is named in percent, and its values are at most {finite.max():g}"
            raise mapping_lacks(Rule.OUT_OF_RANGE, what, add, may_differ=True)


def metric_of(column: str, lines: Mapping[str, MetricLine], fields: Fields) -> ColumnMetric | None:
    """Return the metric of a column, None if the mapping leaves it out.

    lines: [metrics] of the mapping; a `*` in a column matches any text, and stands for the same text in its metric.
    Raises UnknownField if the metric needs an unknown field, KeyError if the column is unknown.
    """
    fits = [(lines[column], "")] if column in lines else []
    fits += [(line, star) for pattern, line in lines.items() if (star := _star(pattern, column)) is not None]
    line, star = MetricLine(), ""
    for other, text in fits:
        if line.metric is None:
            line, star = line.completed(other), text
    if line.metric is None:
        split, _, quantity = column.partition("/")
        if split not in SPLITS or name_problem(quantity) is not None:
            raise KeyError(column)
        name = column
    else:
        name = str(line.metric.fill(fields)).replace("*", star)
    if not name:
        return None
    scale = stated_number(line.scale, "scale", f"column {column}", fields)
    offset = stated_number(line.offset, "offset", f"column {column}", fields)
    direction, is_scaled = _stated_direction(checked_metric(name), line), scale is not None
    scale, offset = Fraction(1) if scale is None else scale, offset or Fraction(0)
    return ColumnMetric(name, column, scale, offset, line.repeated, direction, is_scaled, line.nan == "missing")


def _stated_direction(name: str, line: MetricLine) -> Direction | None:
    """Return the direction that a line states for a metric that isn't registered. Raises Refusal if another is."""
    registered = metric_named(name).direction
    if line.direction not in (registered, None) and registered is not None:
        what = f"the mapping says {line.direction} for {name}, which LossLake knows as {registered}"
        raise Refusal(Rule.BAD_FACT, f"{what}: leave the direction out, or give the metric another name")
    return line.direction if registered is None else None


def checked_metric(name: str) -> str:
    """Return the name if it is valid for a metric. Raises Refusal."""
    split, slash, quantity = name.partition("/")
    why = name_problem(split) or name_problem(quantity) if slash else "has no slash"
    if why:
        message = f"the mapping names the metric {name[:80]!r}, which {why}: give split/quantity, as val/accuracy"
        raise Refusal(Rule.BAD_FACT, message)
    return name


def _star(pattern: str, column: str) -> str | None:
    """Return the text that a pattern's `*` matches in a column; None if the pattern doesn't match."""
    head, star, tail = pattern.partition("*")
    fits = star and len(column) >= len(head) + len(tail) and column.startswith(head) and column.endswith(tail)
    return column[len(head) : len(column) - len(tail)] if fits else None


def split_of(word: str) -> str | None:
    """Return the split that a word in lower case names, `val` of `eval`; None if it is no such word."""
    return _SPLIT_OF.get(word)


def guess_metric(column: str) -> str | None:
    """Guess the metric of a column by its name, `val/loss` for `eval_loss`; None if the name is unclear."""
    words = re.findall("[a-z0-9]+", column.lower())
    splits = [split for split, names in _SPLIT_WORDS.items() if not set(names).isdisjoint(words)]
    rest = "_".join(word for word in words if word not in _SPLIT_OF)
    quantity = next((quantity for quantity, names in _QUANTITIES.items() if rest in names), None)
    # Of gradients, no log says that they are those of the training.
    splits = splits or [metric.split for metric in metrics().values() if metric.quantity == quantity]
    return f"{splits[0]}/{quantity}" if quantity and len(splits) == 1 else None


def metric_line(column: str) -> str:
    """Return a mapping line for a column, for the author to correct."""
    metric = guess_metric(column) or "split/quantity"
    return (
        f'{toml_key(column)} = {toml_string(metric)}   # under [metrics]: the metric that it is, or "" to leave it out'
    )
