"""Trials by what their logs say of them: a metaparameter, or a fact such as the organisation, with a value."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from cachetools import LRUCache

from losslake.questions.release.errors import BadParameter, near_names
from losslake.questions.release.pool import Pool, pooled
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import Workload
from losslake_schema.reached import NEVER, Flags, Integers

_MOST_CHOSEN_BYTES, _MOST_LISTED = 16_000_000, 8
# One fact of the trials of a workload: a number or a text; None where a log doesn't say it.
Values = list[float | str | None]
_CHOSEN: WeakKeyDictionary[ReleaseView, LRUCache[tuple[Workload, str, tuple[str, ...]], Pool]] = WeakKeyDictionary()
_KEEPING = threading.Lock()


def chosen_trials(view: ReleaseView, facts: WorkloadFacts, metric: str, conditions: tuple[str, ...]) -> WorkloadFacts:
    """Return a workload or pool with only the trials for which the conditions hold; itself without conditions.

    Batch sizes without such trials aren't in it. Raises BadParameter as trials_where does.
    """
    if not conditions:
        return facts
    key = facts.workload, metric, conditions
    with _KEEPING:
        kept = _CHOSEN.setdefault(view, LRUCache(_MOST_CHOSEN_BYTES, attrgetter("n_bytes")))
        chosen = kept.get(key)
    if chosen is None:
        flags = trials_where(view, facts, conditions)
        members: tuple[WorkloadFacts, ...] = (facts,)
        by_member = [flags]
        if isinstance(facts, Pool):
            members = facts.members
            by_member = [np.append(flags, False)[places] for places in facts.places]
        chosen = pooled(facts.workload, members, metric, view.metrics[metric].direction, by_member)
        with _KEEPING:
            if chosen.n_bytes <= kept.maxsize:
                kept[key] = chosen
    return chosen


def trials_where(view: ReleaseView, facts: WorkloadFacts, conditions: tuple[str, ...]) -> Flags:
    """Return by trial of a workload or pool whether the conditions hold of one of its logs.

    Each is NAME=VALUE, as Selection.where has them: of each name, one of its values has to hold. A number equals any
    spelling of it; anything else is compared as text, a list or object as its JSON. Raises BadParameter for a name or a
    value that no trial has, since nothing would be left to answer from.
    """
    chosen = np.ones(len(facts.trials.trial_id), np.bool_)
    copied: Flags | None = None
    rows: Integers = np.empty(0, np.int64)
    for name, wanted in _values_by_name(conditions).items():
        values = _values(view, facts, name)
        rows, others = _values_of_copies(view, facts, name)
        holds, of_copies = np.zeros(len(values), np.bool_), np.zeros(len(others), np.bool_)
        for text in wanted:
            equal, equal_in_copies = _equal(values, text), _equal(others, text)
            if not (equal.any() or equal_in_copies.any()):
                what = _what_there_is(view, facts, name, [*values, *others])
                raise BadParameter("where", f"where={name}={text}: {what}")
            holds, of_copies = holds | equal, of_copies | equal_in_copies
        chosen &= holds
        copied = of_copies if copied is None else copied & of_copies
    if copied is not None:
        chosen[rows[copied]] = True
    if not chosen.any():
        raise BadParameter("where", f"no trial of {facts.workload} has {conditions_in_words(conditions)}")
    return chosen


def conditions_in_words(conditions: Sequence[str]) -> str:
    """Return conditions as trials_where takes them: org=Google or NVIDIA, and round=4.0."""
    return ", and ".join(f"{name}={' or '.join(values)}" for name, values in _values_by_name(conditions).items())


def _values_by_name(conditions: Sequence[str]) -> Mapping[str, list[str]]:
    values: dict[str, list[str]] = {}
    for condition in conditions:
        name, _, value = condition.partition("=")
        values.setdefault(name, []).append(value)
    return values


def _equal(values: Values, wanted: str) -> Flags:
    number = _number(wanted)
    return np.array([value == wanted or (number is not None and value == number) for value in values], np.bool_)


def facts_of_trials(view: ReleaseView, facts: WorkloadFacts, name: str) -> Mapping[str, int]:
    """Return the values of a metaparameter or fact of trials as texts, in order, and how many trials have each.

    A trial whose logs state several counts for each.
    """
    rows, others = _values_of_copies(view, facts, name)
    stated = {*enumerate(_values(view, facts, name)), *zip(rows.tolist(), others, strict=True)}
    return dict(sorted(Counter(_text(value) for _, value in stated if value is not None).items()))


def _what_there_is(view: ReleaseView, facts: WorkloadFacts, name: str, values: Values) -> str:
    texts = sorted({_text(value) for value in values if value is not None})
    if texts:
        listed = ", ".join(texts[:_MOST_LISTED]) + (", \u2026" if len(texts) > _MOST_LISTED else "")
        return f"no trial of {facts.workload} has that value; values of {name} are: {listed}"
    near = near_names(name, list(view.metaparameters()))
    also = f"; similar names are: {', '.join(near)}" if near else ""
    return f"the logs of {facts.workload} say nothing about '{name}'{also}"


def _values(view: ReleaseView, facts: WorkloadFacts, name: str) -> Values:
    if isinstance(facts, Pool):
        of_members = [value for member in facts.members for value in _values(view, member, name)]
        return [of_members[row] for row in facts.rows_in_members.tolist()]
    if name not in view.metaparameters():
        return [None] * len(facts.trials.trial_id)
    table = view.table("fact_of_trials", {"name": name, **facts.study_ids})
    return _decoded(table)


def _values_of_copies(view: ReleaseView, facts: WorkloadFacts, name: str) -> tuple[Integers, Values]:
    """Return the fact in each other log of the trials of a workload or pool, and the row of its trial."""
    if isinstance(facts, Pool):
        parts = [_values_of_copies(view, member, name) for member in facts.members]
        rows = np.concatenate(
            [places[member_rows] for places, (member_rows, _) in zip(facts.places, parts, strict=True)]
        )
        values = [value for _, of_member in parts for value in of_member]
        is_here = rows != NEVER
        return rows[is_here], [value for value, is_of_pool in zip(values, is_here, strict=True) if is_of_pool]
    if name not in view.metaparameters():
        return np.empty(0, np.int64), []
    table = view.table("fact_of_copies", {"name": name, **facts.study_ids})
    return table["place"].to_numpy().astype(np.int64), _decoded(table)


def _decoded(table: pa.Table) -> Values:
    return list(map(_value, table["number"].to_pylist(), table["other"].to_pylist()))


def _value(number: float | None, other: str | None) -> float | str | None:
    if other is None or number is not None:
        return number
    value = json.loads(other)
    return value if isinstance(value, str) else other


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"
