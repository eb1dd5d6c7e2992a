"""The facts of a run, which run.json holds: checked when a run starts, before any training."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from losslake.record.columns import Renamed
from losslake.record.layout import LARGEST_STEP
from losslake.record.numbers import json_number
from losslake.record.words import bounds_of, nearest_licences, spdx_identifier

Scalar = str | int | float | bool
COMPARATORS = ("strict", "inclusive")
# What a run that goes on must have in common with the one that was recorded.
SAME = ("collection", "dataset", "model", "optimizer", "batch_size", "batch_schedule", "batch_unit")
_LONGEST_NAME = 200
_LONGEST_TEXT = 10_000
_MOST_PARAMETERS = 1_000
_MOST_TAGS = 100
_OR_SCHEDULE = "or pairs of a step, from 0, and the size of later updates, as [(0, 64), (1000, 128)]"
_GOAL = {"metric", "target", "comparator", "source"}
# Means in float32 can be this far beyond a bound, as the registry of metrics allows.
_ROUNDING = 1e-6


def facts(
    *,
    workload: str,
    batch_size: int | Sequence[Sequence[int]],
    batch_unit: str,
    parameters: Mapping[str, Scalar],
    licence: str | None,
    goals: Sequence[Mapping[str, Any]],
    notes: str | None,
    name: str | None = None,
    group: str | None = None,
    tags: Sequence[str] = (),
    metrics: Mapping[str, Renamed] | None = None,
) -> dict[str, Any]:
    """Return the facts of a run as run.json has them, without its format. Raises ValueError with one line."""
    parts = workload.split("/") if isinstance(workload, str) else []
    if len(parts) < 4 or not all(map(is_name, parts)):
        raise ValueError(
            f"workload {_shown(workload)}: give collection/dataset/model/optimizer, each of 1 to {_LONGEST_NAME} "
            "printable characters"
        )
    of_batches = _batch_size(batch_size)
    if not (isinstance(batch_unit, str) and is_name(batch_unit)):
        raise ValueError(f"batch_unit {_shown(batch_unit)}: give what a batch counts, such as examples or tokens")
    for key, text in (("licence", licence), ("notes", notes)):
        if text is not None and not (isinstance(text, str) and 0 < len(text) <= _LONGEST_TEXT):
            raise ValueError(
                f"{key} {_shown(text)}: give a text of at most {_LONGEST_TEXT:,} characters, or leave it out"
            )
    document: dict[str, Any] = {
        "collection": "/".join(parts[:-3]),
        "dataset": parts[-3],
        "model": parts[-2],
        "optimizer": parts[-1],
        **of_batches,
        "batch_unit": batch_unit,
        "licence": _licence(licence),
        "started_at": time.time(),
        "parameters": _parameters(parameters),
    }
    if goals:
        document["goals"] = [_goal(goal) for goal in goals]
    if notes is not None:
        document["notes"] = notes
    attributes = {**_labels(name, group, tags), **_formulas(metrics or {})}
    if attributes:
        document["attributes"] = attributes
    return document


def _licence(licence: str | None) -> str | None:
    """Return the identifier of a licence as SPDX writes it. Raises ValueError."""
    known = spdx_identifier(licence) if licence is not None else None
    if licence is not None and known is None:
        near = nearest_licences(licence)
        proposed = f"give licence={near[0]!r}" if near else 'give an identifier such as "CC-BY-4.0"'
        others = f" (or {', '.join(near[1:])})" if near[1:] else ""
        raise ValueError(
            f"licence {_shown(licence)} isn't an SPDX identifier (https://spdx.org/licenses): {proposed}{others}; for "
            'one that SPDX lacks, "LicenseRef-" and a name of your own'
        )
    return known


def _labels(name: str | None, group: str | None, tags: Sequence[str]) -> dict[str, Any]:
    """Return the name, group and tags of a run, in the words of W&B's runs. Raises ValueError."""
    for key, text in (("name", name), ("group", group)):
        if text is not None and not (isinstance(text, str) and is_label(text)):
            raise ValueError(f"{key} {_shown(text)}: give a printable text of at most {_LONGEST_NAME} characters")
    is_list = isinstance(tags, Sequence) and not isinstance(tags, str | bytes)
    if not is_list or len(tags) > _MOST_TAGS or not all(isinstance(tag, str) and is_label(tag) for tag in tags):
        raise ValueError(f"tags {_shown(tags)}: give a list of at most {_MOST_TAGS} printable texts")
    labels = {"run_name": name, "run_group": group, "tags": [str.__str__(tag) for tag in tags]}
    return {key: value for key, value in labels.items() if value}


def _formulas(metrics: Mapping[str, Renamed]) -> dict[str, str]:
    """Return how values were calculated from what was logged, by metric, as trials have it."""
    formulas = {each.metric: each.formula(name) for name, each in metrics.items()}
    return {metric: formula for metric, formula in formulas.items() if metric is not None and formula is not None}


def _batch_size(stated: object) -> dict[str, Any]:
    """Return the batch size, or sizes by step, as run.json has them. Raises ValueError."""
    if _is_size(stated):
        return {"batch_size": stated}
    pieces = [[*piece] for piece in stated] if isinstance(stated, list | tuple) and all(map(_is_piece, stated)) else []
    if not pieces or pieces[0][0] != 0:
        raise ValueError(f"batch_size {_shown(stated)}: give a whole number from 1, {_OR_SCHEDULE}")
    for (before, _), (step, _) in pairwise(pieces):
        if not before < step <= LARGEST_STEP:
            raise ValueError(f"batch_size {_shown(stated)}: the step {step} doesn't follow {before}: sort the pairs")
    sizes = {size for _, size in pieces}
    return {"batch_schedule": pieces} if len(sizes) > 1 else {"batch_size": sizes.pop()}


def _is_piece(piece: object) -> bool:
    return isinstance(piece, list | tuple) and len(piece) == 2 and type(piece[0]) is int and _is_size(piece[1])


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


def _parameters(parameters: Mapping[str, Scalar]) -> dict[str, Any]:
    if len(parameters) > _MOST_PARAMETERS:
        raise ValueError(f"parameters: {len(parameters):,} of them; at most {_MOST_PARAMETERS:,} are recorded")
    for name, value in parameters.items():
        if not isinstance(name, str) or not is_name(name):
            raise ValueError(f"parameters: the name {_shown(name)} isn't a printable text of at most {_LONGEST_NAME}")
        if not isinstance(value, Scalar) or (isinstance(value, str) and len(value) > _LONGEST_TEXT):
            raise ValueError(f"parameters[{name!r}]: {_shown(value)}: give a number, a text, or true or false")
    # Subclasses, such as numpy's float64 and enumerations of texts, become the plain value.
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Scalar) -> Scalar:
    if isinstance(value, bool | int):
        return value if type(value) is bool else int(value)
    return json_number(float(value)) if isinstance(value, float) else str.__str__(value)


def _goal(goal: Mapping[str, Any]) -> dict[str, Any]:
    """Return a goal as it is stored. Raises ValueError."""
    unknown = goal.keys() - _GOAL if isinstance(goal, Mapping) else {"?"}
    if unknown or not {"metric", "target"} <= goal.keys():
        raise ValueError(f"goals: {_shown(goal)}: give metric and target, and comparator and source if you like")
    metric, target = goal["metric"], goal["target"]
    comparator, source = goal.get("comparator", "strict"), goal.get("source", "losslake.record")
    split, _, quantity = metric.partition("/") if isinstance(metric, str) else ("", "", "")
    if not (is_name(split) and is_name(quantity) and "/" not in quantity):
        raise ValueError(f"goals: the metric {_shown(metric)}: give split/quantity, as val/accuracy")
    if isinstance(target, bool) or not isinstance(target, int | float) or not math.isfinite(target):
        raise ValueError(f"goals: the target {_shown(target)} of {metric} isn't a finite number")
    _check_target(metric, float(target))
    if comparator not in COMPARATORS:
        raise ValueError(f"goals: the comparator {_shown(comparator)} of {metric}: give {' or '.join(COMPARATORS)}")
    if not (isinstance(source, str) and 0 < len(source) <= _LONGEST_TEXT):
        raise ValueError(f"goals: the source of {metric}: give a text that says who set the target")
    return {"metric": metric, "target": float(target), "comparator": comparator, "source": source}


def _check_target(metric: str, target: float) -> None:
    """Raise ValueError for a target that no value of the metric can have."""
    bounds = bounds_of(metric)
    if bounds is None:
        return
    smallest, largest = bounds["smallest"], bounds["largest"]
    tolerance = _ROUNDING * largest
    if smallest - tolerance <= target <= largest + tolerance:
        return
    is_percentage = bounds["unit"] == "fraction" and largest < target <= 100 * largest
    give = f"give {target / 100:.6g} for {target:g}%" if is_percentage else "give one of these"
    raise ValueError(f"goals: the target {target:g} of {metric}, which lies between {smallest} and {largest}: {give}")


def is_label(text: str) -> bool:
    """Return True for a text that can be the name, the group or a tag of a run."""
    return 0 < len(text) <= _LONGEST_NAME and text.isprintable() and text == text.strip()


def is_name(text: str) -> bool:
    """Return True for a text that can name a part of a workload, a unit or a parameter."""
    is_printable = text.isprintable() and text == text.strip() and "\\" not in text
    return 0 < len(text) <= _LONGEST_NAME and is_printable and text not in (".", "..")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
