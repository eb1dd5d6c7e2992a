"""Regimes: where perfect scaling ends and maximal data parallelism begins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from service.answers.analysis.finding import Finding
from service.answers.analysis.scaling_curve import ScalingCurve, scaling_curve
from service.answers.facts import facts_of
from service.answers.goal import Goal
from service.answers.search import Search, search
from service.answers.selection import Selection
from service.release_view import ReleaseView
from service.tabular.answer import Answer
from service.tabular.column import row_shape

REGIMES = row_shape("regimes", "workload", "batch_size", "steps", "previous_step", "n_trials", "n_reached")
_DEFINITION = "Steps to target by batch size."


def regimes(view: ReleaseView, selection: Selection, goal: Goal) -> Answer:
    """The regimes of each workload by batch size; raises UnknownName and BadParameter."""
    searches = [search(view, selection, workload) for workload in selection.workloads]
    curves = [scaling_curve(found, goal) for found in searches]
    finding = Finding(
        definition=_DEFINITION,
        n_used=sum(int(curve.is_reached.sum()) for curve in curves),
        left_out=tuple(
            text for found, curve in zip(searches, curves, strict=True) for text in never_reached(found, curve)
        ),
    )
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | finding.facts()
    batches = [_rows(found, curve) for found, curve in zip(searches, curves, strict=True)]
    return Answer(facts, REGIMES.schema, iter(batches))


def never_reached(found: Search, curve: ScalingCurve) -> list[str]:
    """In words, each batch size at which no trial reached the target."""
    return [
        f"{found.facts.workload}: no trial of {n_trials} reached the target at batch size {batch_size}"
        for batch_size, n_trials, is_reached in zip(
            found.facts.batch_sizes, curve.n_trials.tolist(), curve.is_reached.tolist(), strict=True
        )
        if not is_reached
    ]


def _rows(found: Search, curve: ScalingCurve) -> pa.RecordBatch:
    columns = {
        "workload": pa.repeat(str(found.facts.workload), len(curve.steps)),
        "batch_size": found.facts.batch_sizes,
        "steps": pa.array(np.where(curve.is_reached, curve.steps, -1).astype(np.int64), mask=~curve.is_reached),
        "previous_step": pa.array(
            np.nan_to_num(curve.previous_steps, nan=-1).astype(np.int64), mask=np.isnan(curve.previous_steps)
        ),
        "n_trials": curve.n_trials,
        "n_reached": curve.n_reached,
    }
    return pa.RecordBatch.from_pydict(columns, schema=REGIMES.schema)
