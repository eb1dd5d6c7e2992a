"""The metaparameters of trials: numbers, and other values as JSON.

In words: the search space of a study, the values that its trials tried, and those that reached the goal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from losslake.questions.release.view import ReleaseView
from losslake.record.numbers import json_number
from losslake_schema.package_files import read_toml
from losslake_schema.quantities import counted
from losslake_service.web.studies.trials import StudyTrials
from losslake_service.web.templates import first_few, significant

MOST_NAMED = 4
_FACTS_OF_RUNS = read_toml("losslake_service.web", "studies/facts_of_runs.toml")
_LONGEST = 60
_TYPES = {str: "text", bool: "true or false", type(None): "null", list: "list", dict: "object"}


@dataclass(frozen=True)
class Text:
    """A value that isn't a number. text: as shown; kind: its type in words."""

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
        """True if all trials have the same value."""
        return None not in self.values and len(set(self.values)) == 1

    @property
    def is_fact(self) -> bool:
        """True for a fact of the run, such as its organisation, instead of a metaparameter of training."""
        return self.name in _FACTS_OF_RUNS["names"] or self.name.startswith(tuple(_FACTS_OF_RUNS["prefixes"]))

    @property
    def is_identity(self) -> bool:
        """True for who ran it, when, or on what."""
        return any(self.name in choice for choice in identity_of_runs())

    @property
    def is_numeric(self) -> bool:
        """True if all values are numbers."""
        return not any(isinstance(value, Text) for value in self.values)

    def order(self, row: int) -> tuple[int, float, str]:
        """Return the sort key of a trial: numbers first, then NaN, then texts."""
        value = self.values[row]
        if isinstance(value, Text):
            return 2, 0.0, value.text
        return (1, 0.0, "") if value is None or math.isnan(value) else (0, value, "")


def metaparameters_of_study(view: ReleaseView, study_id: int) -> Sequence[Metaparameter]:
    """Return the metaparameters of a study by name: the identity of runs first, other facts and constants last."""
    rows = [joined(*row) for row in view.rows("metaparameters_of_study", {"study_id": study_id})]
    names = sorted({name for row in rows for name in row})
    metaparameters = [Metaparameter(name, [row.get(name) for row in rows]) for name in names]
    identity = _identity(names)
    return sorted(
        metaparameters,
        key=lambda each: (
            identity.index(each.name) - len(identity)
            if each.name in identity
            else (3 if each.is_constant else 2 if each.is_fact else 1)
        ),
    )


def _identity(names: Collection[str]) -> list[str]:
    """Return which of these names say who ran a trial, when, and on what; empty for none."""
    return [next((name for name in choice if name in names), "") for choice in identity_of_runs()]


def identity_of_runs() -> Sequence[Sequence[str]]:
    """Return the names of who ran a trial, when, and on what; for each the best one first."""
    identity: list[list[str]] = _FACTS_OF_RUNS["identity"]
    return identity


def joined(numbers: Mapping[str, float] | None, others: Mapping[str, str] | None) -> dict[str, Value]:
    """Return all metaparameters of a trial, by name."""
    return {**(numbers or {}), **{name: text_of(value) for name, value in (others or {}).items()}}


def text_of(value: str) -> Text:
    """Return an attribute from its JSON."""
    try:
        parsed = json.loads(value)
    except ValueError:
        return Text(value, "text")
    return Text(parsed if isinstance(parsed, str) else value, _TYPES.get(type(parsed), "number"))


def shown(value: Value | None) -> str:
    """Return a value for a table: a number to four digits, a truncated text, or a dash for None."""
    if isinstance(value, Text):
        return value.text if len(value.text) <= _LONGEST else f"{value.text[:_LONGEST]}\u2026"
    if value is not None and not math.isfinite(value):
        return str(json_number(value))
    return significant(value)


def span(values: Sequence[Value | None]) -> str:
    """Return a summary of values: the range of numbers, some texts, and how many are missing."""
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


# Texts: name, search space, values tried, those of trials that reached the goal, that of the best trial.
MetaparameterRow = tuple[str, str, str, str, str]


def metaparameter_groups(
    trials: StudyTrials, metaparameters: Sequence[Metaparameter], space: Mapping[str, str]
) -> Iterator[tuple[str, list[MetaparameterRow]]]:
    """Yield the rows of metaparameters that differ between trials, those that don't, and facts of the runs."""
    facts = {each.name for each in metaparameters if each.is_fact}
    constant = {each.name for each in metaparameters if each.is_constant and each.name not in space} - facts
    groups: dict[str, list[MetaparameterRow]] = {"Varied": [], "The same in all trials": [], "Facts of the runs": []}
    varied, same, of_runs = groups.values()
    for row in metaparameter_rows(trials, metaparameters, space):
        (of_runs if row[0] in facts else same if row[0] in constant else varied).append(row)
    yield from ((heading, rows) for heading, rows in groups.items() if rows)


def metaparameter_rows(
    trials: StudyTrials, metaparameters: Sequence[Metaparameter], space: Mapping[str, str]
) -> list[MetaparameterRow]:
    """Return a row of texts for each metaparameter that was tried or is in the search space."""
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


def is_search(metaparameters: Sequence[Metaparameter], space: Mapping[str, str]) -> bool:
    """Return True if trials tried metaparameters: not for submissions, repetitions and runs with other seeds."""
    is_submitted = any(each.name in identity_of_runs()[0] for each in metaparameters)
    return bool(space) or (not is_submitted and bool(_varied(metaparameters)))


def in_words(metaparameters: Sequence[Metaparameter], space: Mapping[str, str], n_trials: int) -> str:
    """Return what the trials of a study are: 64 trials of a search over learning_rate; 5 runs by Google."""
    if is_search(metaparameters, space):
        over = [each.name for each in _varied(metaparameters)] or list(space)
        return f"{counted(n_trials, 'trial')} of a search over {_listed(over)}"
    runs, by_name = counted(n_trials, "run"), {each.name: each for each in metaparameters}
    who, *others = _identity(by_name)
    if who:
        by = _listed(sorted({shown(value) for value in by_name[who].values if value is not None}))
        alike = [by_name[name] for name in others if name and by_name[name].is_constant]
        return ", ".join([f"{runs} by {by}", *(f"{each.name} {shown(each.values[0])}" for each in alike)])
    return f"{runs} with the same metaparameters" if n_trials > 1 else runs


def _varied(metaparameters: Sequence[Metaparameter]) -> list[Metaparameter]:
    return [each for each in metaparameters if not each.is_constant and not each.is_fact]


def _listed(parts: Sequence[str]) -> str:
    return first_few(parts, MOST_NAMED)


def distinguishing(metaparameters: Sequence[Metaparameter], row: int) -> str:
    """Return what sets a trial apart: learning_rate 0.31 and momentum 0.9; of a submission, org, round and system."""
    by_name = {each.name: each for each in metaparameters}
    identity = _identity(by_name)
    # Whoever submitted a trial says more than how it was set.
    telling = [by_name[name] for name in identity if name] if identity[0] else _varied(metaparameters)
    return _listed([f"{each.name} {shown(each.values[row])}" for each in telling if each.values[row] is not None])


_SCALES = {
    "LINEAR_SCALE": "uniform",
    "LOG_SCALE": "uniform in the logarithm",
    "REVERSE_LOG_SCALE": "denser towards the upper end (reverse logarithmic)",
}
_MOST_VALUES = 12


def search_space(configs: str | None) -> Mapping[str, str]:
    """Return the search space in words by metaparameter. configs: the study's parameter configs as JSON."""
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
    whole = "integer from " if config.get("type") == "INTEGER" else ""
    how = _SCALES.get(str(config.get("scale")).removeprefix("UNIT_"), "")
    return f"{whole}{significant(least)} to {significant(most)}" + (f", {how}" if how else "")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(point: Any) -> Any:
    return float(point) if _is_number(point) else text_of(json.dumps(point))
