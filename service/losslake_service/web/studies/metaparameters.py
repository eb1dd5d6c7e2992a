"""The metaparameters of trials, whatever their type: numbers, and what logs have besides, as JSON.

In words: what a study searched, what its trials tried, and with what they reached the goal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from losslake.output.texts import number_text
from losslake.questions.release_view import ReleaseView
from losslake_service.web.studies.trials import StudyTrials
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
        """Return where a trial that has it comes among others: numbers first, NaN behind them."""
        value = self.values[row]
        if isinstance(value, Text):
            return 2, 0.0, value.text
        return (1, 0.0, "") if value is None or math.isnan(value) else (0, value, "")


def metaparameters_of_study(view: ReleaseView, study_id: int) -> Sequence[Metaparameter]:
    """Return those that any trial of a study has, by name; what is learnt from its values comes first."""
    rows = [joined(*row) for row in view.rows("metaparameters_of_study", {"study_id": study_id})]
    names = sorted({name for row in rows for name in row})
    metaparameters = [Metaparameter(name, [row.get(name) for row in rows]) for name in names]
    return sorted(metaparameters, key=lambda each: each.is_constant)


def joined(numbers: Mapping[str, float] | None, others: Mapping[str, str] | None) -> dict[str, Value]:
    """Return all metaparameters of a trial, by name."""
    return {**(numbers or {}), **{name: text_of(value) for name, value in (others or {}).items()}}


def text_of(value: str) -> Text:
    """Return an attribute, from its JSON."""
    try:
        parsed = json.loads(value)
    except ValueError:
        return Text(value, "text")
    return Text(parsed if isinstance(parsed, str) else value, _TYPES.get(type(parsed), "number"))


def shown(value: Value | None) -> str:
    """Return a value as a table has it: a number to four digits, a text that is not too long; a dash for none."""
    if isinstance(value, Text):
        return value.text if len(value.text) <= _LONGEST else f"{value.text[:_LONGEST]}\u2026"
    if value is not None and not math.isfinite(value):
        return str(number_text(value))
    return significant(value)


def span(values: Sequence[Value | None]) -> str:
    """Return what some trials have: from the least to the greatest number, some texts, and how many have nothing."""
    numbers = sorted({value for value in values if isinstance(value, float) and not math.isnan(value)})
    texts = list(dict.fromkeys(shown(value) for value in values if isinstance(value, Text)))
    words = [" to ".join(dict.fromkeys([shown(numbers[0]), shown(numbers[-1])]))] if numbers else []
    words += ["NaN"] if any(isinstance(value, float) and math.isnan(value) for value in values) else []
    words += texts[:MOST_NAMED]
    if len(texts) > MOST_NAMED:
        words.append(f"{len(texts) - MOST_NAMED} more")
    n_missing = sum(value is None for value in values)
    text = ", ".join(words)
    if n_missing == len(values):
        return "\u2013"
    return f"{text} (not set in {n_missing:,} of {len(values):,})" if n_missing else text


def metaparameter_rows(
    trials: StudyTrials, metaparameters: Sequence[Metaparameter], space: Mapping[str, str]
) -> list[tuple[str, str, str, str, str]]:
    """Return, for each metaparameter that was tried or was to be searched, its name and in words:

    the range that it was drawn from; what any trial tried; what those that reached the goal had; and the study's best
    trial. Those that differ come first.
    """
    ranked, best = trials.ranked, trials.best
    rows = [
        (
            each.name,
            space.get(each.name, ""),
            span(each.values),
            span([each.values[row] for row in ranked]) if ranked else "",
            shown(None if best is None else each.values[best]),
        )
        for each in metaparameters
    ]
    tried = {each.name for each in metaparameters}
    return rows + [(name, words, "", "", "") for name, words in space.items() if name not in tried]


def distinguishing(metaparameters: Sequence[Metaparameter], row: int) -> str:
    """Return the metaparameters that distinguish a trial, for a sentence: learning_rate 0.31 and momentum 0.9."""
    differing = [each for each in metaparameters if not each.is_constant] or metaparameters
    parts = [f"{each.name} {shown(each.values[row])}" for each in differing if each.values[row] is not None]
    if len(parts) > MOST_NAMED:
        parts[MOST_NAMED:] = [f"{len(parts) - MOST_NAMED} more"]
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


_SCALES = {
    "LINEAR_SCALE": "evenly",
    "UNIT_LINEAR_SCALE": "evenly",
    "LOG_SCALE": "evenly in its logarithm",
    "UNIT_LOG_SCALE": "evenly in its logarithm",
    "REVERSE_LOG_SCALE": "denser towards the upper end (reverse logarithmic)",
    "UNIT_REVERSE_LOG_SCALE": "denser towards the upper end (reverse logarithmic)",
}
_MOST_VALUES = 12


def search_space(configs: str | None) -> Mapping[str, str]:
    """Return, by metaparameter, what a study's parameter configs (JSON) say of it; empty where they say nothing."""
    try:
        space = json.loads(configs or "{}")
    except ValueError:
        return {}
    return {str(name): _words(config) for name, config in space.items()} if isinstance(space, dict) else {}


def _words(config: Any) -> str:
    if not isinstance(config, dict):
        return shown(text_of(json.dumps(config)))
    points = config.get("feasible_points")
    if isinstance(points, list) and points:
        values = [shown(_value(point)) for point in points[:_MOST_VALUES]]
        return f"one of {', '.join(values)}" + (", \u2026" if len(points) > _MOST_VALUES else "")
    least, most = config.get("min_value"), config.get("max_value")
    if not (_is_number(least) and _is_number(most)):
        return ""
    whole = "a whole number from " if config.get("type") == "INTEGER" else ""
    how = _SCALES.get(str(config.get("scale")), "")
    return f"{whole}{significant(least)} to {significant(most)}" + (f", {how}" if how else "")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(point: Any) -> Any:
    return float(point) if _is_number(point) else text_of(json.dumps(point))
