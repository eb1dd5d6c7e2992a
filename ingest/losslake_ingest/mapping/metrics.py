"""Which metric a logged column is: by its name or a pattern in the mapping, or because it is called as metrics are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from losslake_ingest.mapping.mapping import Refusal
from losslake_ingest.mapping.template import Template
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import Scalar
from losslake_schema.names import why_bad_name
from losslake_schema.registry import metrics

_SPLITS = frozenset(metric.split for metric in metrics().values())


def metric_of(column: str, metrics_said: Mapping[str, Template | None], fields: Mapping[str, Scalar]) -> str | None:
    """The metric `split/quantity` of a column, None when it is to be left out.

    A `*` in the mapping stands for any text, and in the metric for the same text. Raises UnknownField when the
    mapping's metric takes a field that nothing says, KeyError when nothing says what the column is.
    """
    pattern, star = _entry_for(column, metrics_said)
    if pattern is None:
        if is_metric_name(column):
            return column
        raise KeyError(column)
    said = metrics_said[pattern]
    name = str(said.fill(fields)).replace("*", star) if said is not None else ""
    return checked_metric(name) if name else None


def checked_metric(name: str) -> str:
    """The name, if a metric can have it; raises Refusal."""
    split, slash, quantity = name.partition("/")
    why = why_bad_name(split) or why_bad_name(quantity) if slash else "has no slash"
    if why:
        message = f"the mapping names the metric {name[:80]!r}, which {why}: give split/quantity, as val/accuracy"
        raise Refusal(Rule.BAD_FACT, message)
    return name


def _entry_for(column: str, patterns: Iterable[str]) -> tuple[str | None, str]:
    """The line of [metrics] for a column, its own name before patterns, and the text that a pattern's `*` is."""
    star = ""
    found: str | None = None
    for pattern in patterns:
        if pattern == column:
            return pattern, ""
        if found is None and (text := _star(pattern, column)) is not None:
            found, star = pattern, text
    return found, star


def is_metric_name(name: str) -> bool:
    """Whether a name is `split/quantity` with a split that LossLake knows."""
    split, _, quantity = name.partition("/")
    return split in _SPLITS and why_bad_name(quantity) is None


def _star(pattern: str, column: str) -> str | None:
    """The text that a pattern's `*` stands for in a column; None where the pattern doesn't fit."""
    head, star, tail = pattern.partition("*")
    fits = star and len(column) >= len(head) + len(tail) and column.startswith(head) and column.endswith(tail)
    return column[len(head) : len(column) - len(tail)] if fits else None
