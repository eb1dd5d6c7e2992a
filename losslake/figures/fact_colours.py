"""Groups of trials by what their logs say of one thing, such as the organisation, for the colours of curves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from losslake.questions.release.errors import BadParameter, near_names
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Trial

MOST_VALUES = 7
OTHERS, NOT_STATED = "other values", "not stated"


def groups_by_fact(view: ReleaseView, trials: Mapping[int, Trial], name: str | None) -> dict[int, str]:
    """Return the group of each trial, with its number of trials, by the number of the trial.

    The most frequent values have groups of their own, in order. name: of a metaparameter or another fact of trials.
    Raises BadParameter if no trial has it.
    """
    names: set[str] = set()
    values: dict[int, str] = {}
    rows: dict[object, Mapping[int, Mapping[str, str]]] = {}
    for number, trial in trials.items():
        if trial.study not in rows:
            rows[trial.study] = _facts_of_study(view, trial)
        facts = rows[trial.study][trial.trial_id]
        names |= facts.keys()
        values[number] = facts.get(name or "", NOT_STATED)
    if name not in names:
        near = ", ".join(near_names(name or "", sorted(names))) or "none"
        raise BadParameter("fact", f"fact={name or ''}: the trials have no such fact; similar names are: {near}")
    counts = Counter(value for value in values.values() if value != NOT_STATED)
    named = {value for value, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MOST_VALUES]}
    groups = {number: value if value in named or value == NOT_STATED else OTHERS for number, value in values.items()}
    sizes = Counter(groups.values())
    return {number: f"{group} ({sizes[group]:,})" for number, group in groups.items()}


def _facts_of_study(view: ReleaseView, trial: Trial) -> dict[int, dict[str, str]]:
    """Return the facts of every trial of the study by trial_id, as texts."""
    facts, index = view.study(trial.study)
    rows = view.rows("metaparameters_of_study", {"study_id": facts.first_study + index})
    numbers = facts.trials.trial_id[facts.rows_of(index)].tolist()
    return {
        number: {**{name: f"{value:g}" for name, value in (metaparameters or {}).items()}, **_texts(others)}
        for number, (metaparameters, others) in zip(numbers, rows, strict=True)
    }


def _texts(attributes: Mapping[str, str] | None) -> dict[str, str]:
    parsed = {name: json.loads(text) for name, text in (attributes or {}).items()}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in parsed.items()}
