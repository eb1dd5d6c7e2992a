"""Several logs of one trial as one: Keras writes what it measures on training and on validation data as two runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ingest.mapping.place import PlacedRun
from ingest.study import Curves, Flags, Floats, Integers


def joined_run(first: PlacedRun, second: PlacedRun) -> PlacedRun | None:
    """Two runs of the same trial as one, under the first one's name; None when they can't be the same.

    They can't when a metric is in both, when they end differently, or when they differ in a metaparameter that both
    name. Attributes in which they differ belong to the logs and not to the trial: they are dropped.
    """
    one, other = first.curve, second.curve
    clash = {
        name
        for name in first.parameters
        if second.parameters.get(name, first.parameters[name]) != first.parameters[name]
    }
    if clash or one.values.keys() & other.values.keys() or first.status != second.status:
        return None
    attributes = {**second.attributes, **first.attributes}
    kept = {name: text for name, text in attributes.items() if _agrees(name, first, second)}
    return replace(
        first,
        parameters={**second.parameters, **first.parameters},
        attributes=kept,
        curve=_joined_curves(one, other),
        files={**second.files, **first.files},
    )


def _agrees(name: str, first: PlacedRun, second: PlacedRun) -> bool:
    return (
        name not in second.attributes or first.attributes.get(name, second.attributes[name]) == second.attributes[name]
    )


def _joined_curves(one: Curves, other: Curves) -> Curves:
    steps = np.union1d(one.steps, other.steps)
    values: dict[str, Floats] = {}
    missing: dict[str, Flags] = {}
    elapsed = np.full(len(steps), np.nan)
    for curve in (one, other):
        at = np.searchsorted(steps, curve.steps)
        if curve.elapsed_s is not None:
            elapsed[at] = np.fmax(elapsed[at], curve.elapsed_s)
        for metric in curve.values:
            values[metric], absent = _spread(curve, metric, at, len(steps))
            if absent.any():
                missing[metric] = absent
    offsets = np.array([0, len(steps)], np.int64)
    return Curves(offsets, steps, values, missing, elapsed if np.isfinite(elapsed).any() else None)


def _spread(curve: Curves, metric: str, at: Integers, length: int) -> tuple[Floats, Flags]:
    """A metric's values and gaps on the steps of both curves."""
    values, absent = np.full(length, np.nan), np.ones(length, np.bool_)
    values[at] = curve.values[metric]
    own = curve.missing.get(metric)
    absent[at] = own if own is not None else False
    return values, absent
