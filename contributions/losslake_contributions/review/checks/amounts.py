"""Rules about amounts: examples that a run states are its batch size times its steps."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from losslake.record.numbers import number
from losslake_contributions.review.checks.evidence import Curve, Evidence
from losslake_contributions.review.checks.rules import Finding, finding
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
        batch_size = number(spool.facts.get("batch_size")) or 0.0
        unit = str(spool.facts.get("batch_unit") or "examples")
        curves = evidence.curves(name)
        for metric, curve in curves.items():
            yield from _measured(name, metric, curve, batch_size, unit)
        last = max((int(curve.steps[-1]) for curve in curves.values()), default=0)
        for parameter, value in spool.parameters.items():
            total, stated = number(value), parameter.lower()
            if total is None or not _TOTALS.fullmatch(stated) or unit not in stated.replace("samples", "examples"):
                continue
            product = batch_size * last
            if last and abs(total - product) > max(_WITHIN * total, batch_size):
                message = f"it is {total:g}, and {batch_size:g} x {last:,} steps are {product:g}: correct one of them"
                yield finding("total_differs", name, f"parameters.{parameter}", message)


def _measured(run: str, metric: str, curve: Curve, batch_size: float, unit: str) -> Iterator[Finding]:
    """Yield the finding about a metric, if it is an amount by its name."""
    kind = next((k for k, words in _OF_METRIC.items() if words.fullmatch(metric.rpartition("/")[2].lower())), None)
    if kind is None or not metric.startswith("train/"):
        return
    ratio = examples_per_step(curve.steps, curve.values)
    if ratio is None:
        message = "it doesn't grow evenly with the step: say in the note what it counts, or correct the steps"
        yield finding("epochs_differ" if kind == "epochs" else "examples_differ", run, metric, message)
    elif kind == unit and abs(ratio - batch_size) > _WITHIN * batch_size:
        advice = "correct the batch size (of all devices, with accumulation) or the steps (updates of the parameters)"
        message = f"it grows by {ratio:g} a step, and the batch size is {batch_size:g}: {advice}"
        yield finding("examples_differ", run, metric, message)


def examples_per_step(steps: Integers, values: Floats) -> float | None:
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
