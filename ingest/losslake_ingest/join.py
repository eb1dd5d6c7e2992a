"""Several logs of one trial as one: Keras writes what it measures on training and on validation data as two runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from losslake_ingest.mapping.evaluations import Measured, on_common_steps
from losslake_ingest.mapping.place import PlacedRun
from losslake_ingest.study import Curves


def joined_run(first: PlacedRun, second: PlacedRun) -> PlacedRun | None:
    """Two runs of the same trial as one, under the first one's name; None when they can't be the same.

    They can't when a metric is in both, when they end differently, or when they differ in a metaparameter that both
    name. Attributes in which they differ belong to the logs and not to the trial: they are dropped.
    """
    differ = any(second.parameters.get(name, value) != value for name, value in first.parameters.items())
    if differ or first.curve.values.keys() & second.curve.values.keys() or first.status != second.status:
        return None
    attributes = {**second.attributes, **first.attributes}
    return replace(
        first,
        parameters={**second.parameters, **first.parameters},
        attributes={name: text for name, text in attributes.items() if second.attributes.get(name, text) == text},
        curve=on_common_steps(_measured(first.curve) | _measured(second.curve)),
        files={**second.files, **first.files},
    )


def _measured(curve: Curves) -> dict[str, Measured]:
    """Each metric of a curve at the steps at which it was measured."""
    elapsed = curve.elapsed_s if curve.elapsed_s is not None else np.full(len(curve.steps), np.nan)
    found: dict[str, Measured] = {}
    for metric, values in curve.values.items():
        absent = curve.missing.get(metric)
        rows = ~absent if absent is not None else slice(None)
        found[metric] = (curve.steps[rows], values[rows], elapsed[rows])
    return found
