"""The metaparameters of trials, whatever their type: numbers, and what logs have besides, as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from losslake.output.texts import number_text
from losslake.questions.release_view import ReleaseView
from losslake_service.web.templates import significant

MOST_NAMED = 4
_LONGEST = 60
_TYPES = {str: "text", bool: "true or false", type(None): "null", list: "list", dict: "object"}


@dataclass(frozen=True)
class Text:
    """What is no number. text: as it is shown; kind: its type in words."""

    text: str
    kind: str


Value = float | Text


@dataclass(frozen=True)
class Metaparameter:
    """A metaparameter of a study. values: by trial, in the order of trial_id; None where it isn't set."""

    name: str
    values: Sequence[Value | None]

    @property
    def is_constant(self) -> bool:
        """Whether all trials have it, and with the same value."""
        return None not in self.values and len(set(self.values)) == 1

    @property
    def is_numeric(self) -> bool:
        """Whether no trial has anything but a number."""
        return not any(isinstance(value, Text) for value in self.values)

    def order(self, row: int) -> tuple[int, float, str]:
        """Where a trial that has it comes among others: numbers first, NaN behind them."""
        value = self.values[row]
        if isinstance(value, Text):
            return 2, 0.0, value.text
        return (1, 0.0, "") if value is None or math.isnan(value) else (0, value, "")


def metaparameters_of_study(view: ReleaseView, study_id: int) -> Sequence[Metaparameter]:
    """Those that any trial of a study has, by name; what is learnt from its values comes first."""
    rows = [joined(*row) for row in view.rows("metaparameters_of_study", {"study_id": study_id})]
    names = sorted({name for row in rows for name in row})
    found = [Metaparameter(name, [row.get(name) for row in rows]) for name in names]
    return sorted(found, key=lambda each: each.is_constant)


def joined(numbers: Mapping[str, float] | None, others: Mapping[str, str] | None) -> dict[str, Value]:
    """All metaparameters of a trial, by name."""
    return {**(numbers or {}), **{name: text_of(value) for name, value in (others or {}).items()}}


def text_of(value: str) -> Text:
    """An attribute, from its JSON."""
    try:
        found = json.loads(value)
    except ValueError:
        return Text(value, "text")
    kind = _TYPES.get(type(found), "number")
    return Text(found if isinstance(found, str) else value, kind)


def shown(value: Value | None) -> str:
    """A value in a table: a number to four digits, a text that is not too long; a dash for none."""
    if isinstance(value, Text):
        return value.text if len(value.text) <= _LONGEST else f"{value.text[:_LONGEST]}\u2026"
    if value is not None and not math.isfinite(value):
        return str(number_text(value))
    return significant(value)


def span(values: Sequence[Value | None]) -> str:
    """What some trials have: from the least to the greatest number, or some of the texts; and how many have nothing."""
    numbers = sorted({value for value in values if isinstance(value, float) and not math.isnan(value)})
    texts = list(dict.fromkeys(shown(value) for value in values if isinstance(value, Text)))
    words = [" to ".join(dict.fromkeys([shown(numbers[0]), shown(numbers[-1])]))] if numbers else []
    words += ["NaN"] if any(isinstance(value, float) and math.isnan(value) for value in values) else []
    words += texts[:MOST_NAMED]
    if len(texts) > MOST_NAMED:
        words.append(f"{len(texts) - MOST_NAMED} more")
    n_missing = sum(value is None for value in values)
    found = ", ".join(words)
    if n_missing == len(values):
        return "\u2013"
    return f"{found} (not set in {n_missing:,} of {len(values):,})" if n_missing else found
