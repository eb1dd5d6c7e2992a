"""Rules about amounts: examples that a run states are its batch size times its steps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from losslake.record.numbers import number
from losslake_contributions.review.checks.evidence import Curve, Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_ingest.readers.recorded.folder import Spool
from losslake_schema.batch_schedule import ATTRIBUTE, BatchSchedule
from losslake_schema.reached import Floats, Integers

_WORDS = r"(?:n_|num_|total_|global_|consumed_|train_)*(?:{})(?:_seen|_processed|_consumed|_count|_total)*"
_OF_METRIC = {
    "examples": re.compile(_WORDS.format("examples|samples|images")),
    "tokens": re.compile(_WORDS.format("tokens|input_tokens_seen")),
    "epochs": re.compile(r"(?:n_|num_)?epochs?|epoch_num"),
}
_TOTALS = re.compile(
    r"(?:n_|num_|total_|consumed_)+(?:train_)?(?:examples|samples|images|tokens)_(?:seen|processed|consumed)"
)
_WITHIN = 0.01
_LEAST = 3


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about amounts."""
    for name, spool in evidence.spools.items():
        schedule = schedule_of(spool)
        if schedule is None:
            continue
        unit = str(spool.facts.get("batch_unit") or "examples")
        curves = evidence.curves(name)
        for metric, curve in curves.items():
            yield from _measured(name, metric, curve, schedule, unit)
        last = max((int(curve.steps[-1]) for curve in curves.values()), default=0)
        for parameter, value in spool.parameters.items():
            total, stated = number(value), parameter.lower()
            if total is None or not _TOTALS.fullmatch(stated) or unit not in stated.replace("samples", "examples"):
                continue
            product = schedule.examples(last)
            if last and abs(total - product) > max(_WITHIN * total, max(schedule.sizes)):
                message = f"it is {total:g}, and {schedule.name} x {last:,} steps are {product:g}: correct one of them"
                yield finding("total_differs", name, f"parameters.{parameter}", message)


def schedule_of(spool: Spool) -> BatchSchedule | None:
    """Return the batch size of a run by step; None if it states none that the ingest reads."""
    batch_size, pieces = spool.facts.get("batch_size"), spool.facts.get(ATTRIBUTE)
    with suppress(ValueError):
        return BatchSchedule.of_json(json.dumps([[0, batch_size]] if pieces is None else pieces))
    return None


def _measured(run: str, metric: str, curve: Curve, schedule: BatchSchedule, unit: str) -> Iterator[Finding]:
    """Yield the finding about a metric, if it is an amount by its name."""
    kind = next((k for k, words in _OF_METRIC.items() if words.fullmatch(metric.rpartition("/")[2].lower())), None)
    if kind is None or not metric.startswith("train/"):
        return
    # Where the batch size changes, a count grows evenly with the examples: here as steps of the first batch size.
    batch_size = schedule.sizes[0]
    units = schedule.examples_at(curve.steps) / batch_size
    ratio = examples_per_step(units, curve.values)
    if ratio is None:
        message = "it doesn't grow evenly with the step: say in the note what it counts, or correct the steps"
        yield finding("epochs_differ" if kind == "epochs" else "examples_differ", run, metric, message)
    elif kind == unit and abs(ratio - batch_size) > _WITHIN * batch_size:
        advice = "correct the batch size (of all devices, with accumulation) or the steps (updates of the parameters)"
        message = f"it grows by {ratio:g} a step, and the batch size is {schedule.name}: {advice}"
        yield finding("examples_differ", run, metric, message)


def examples_per_step(steps: Integers | Floats, values: Floats) -> float | None:
    """Return by how much a count grows with each step, if it does so evenly: within a percent, from step 1 on.

    None if it doesn't. With fewer than three finite values at later steps, the growth to the last one.
    """
    used = np.isfinite(values) & (steps > 0)
    steps, values = steps[used], values[used]
    if not len(steps):
        return float("nan")
    growth = float(values[-1] / steps[-1])
    if len(steps) < _LEAST:
        return growth
    # A count may be of the step before, or be rounded to whole epochs: one step's growth, or one unit, is allowed.
    allowed = np.maximum(_WITHIN * np.abs(values), max(abs(growth), 1.0))
    return growth if bool((np.abs(values - growth * steps) <= allowed).all()) else None
