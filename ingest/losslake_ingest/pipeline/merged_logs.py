"""Several logs of one trial: Keras writes training and validation measurements as two runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.contracts.study import Curves
from losslake_ingest.mapping.evaluations import on_common_steps
from losslake_ingest.mapping.place import PlacedRun
from losslake_ingest.mapping.repeats import Measured


def merged_run(first: PlacedRun, second: PlacedRun) -> PlacedRun | None:
    """Merge two runs of one trial under the first one's name; None if they can't be logs of the same trial.

    They can't if a metric occurs in both, if their status or a common metaparameter differs, or if together they are
    too large. Attributes that differ
    describe the logs and not the trial: they are dropped.
    """
    differ = any(second.parameters.get(name, value) != value for name, value in first.parameters.items())
    if differ or first.curve.values.keys() & second.curve.values.keys() or first.status != second.status:
        return None
    attributes = {**second.attributes, **first.attributes}
    try:
        curve = on_common_steps(_measured(first.curve) | _measured(second.curve))
    except Refusal:
        return None
    return replace(
        first,
        parameters={**second.parameters, **first.parameters},
        attributes={name: text for name, text in attributes.items() if second.attributes.get(name, text) == text},
        curve=curve,
        files={**second.files, **first.files},
        contributors=tuple(dict.fromkeys((*first.contributors, *second.contributors))),
    )


def _measured(curve: Curves) -> dict[str, Measured]:
    """Return each metric of a curve at the steps at which it was measured."""
    elapsed = curve.elapsed_s if curve.elapsed_s is not None else np.full(len(curve.steps), np.nan)
    measured: dict[str, Measured] = {}
    for metric, values in curve.values.items():
        missing = curve.missing.get(metric)
        rows = ~missing if missing is not None else slice(None)
        measured[metric] = (curve.steps[rows], values[rows], elapsed[rows])
    return measured
