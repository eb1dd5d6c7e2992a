"""Rules about amounts: examples that a run states are its batch size times its steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from losslake.record.numbers import number
from losslake_contributions.review.checks.evidence import Curve, Evidence
from losslake_contributions.review.checks.rules import WARNING, Finding, Rule
from losslake_schema.reached import Floats, Integers

EXAMPLES = Rule(
    "examples_differ", WARNING, "examples, samples or tokens that the run measures are batch size times step"
)
EPOCHS = Rule("epochs_differ", WARNING, "epochs that the run measures are batch size times step over a constant")
TOTAL = Rule("total_differs", WARNING, "totals that the run states as parameters are batch size times its steps")
RULES = (EXAMPLES, EPOCHS, TOTAL)

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
        yield from _measured(name, curves, batch_size, unit)
        yield from _totals(name, curves, batch_size, unit, spool.parameters)


def _measured(run: str, curves: Mapping[str, Curve], batch_size: float, unit: str) -> Iterator[Finding]:
    for metric, curve in curves.items():
        kind = next((k for k, words in _OF_METRIC.items() if words.fullmatch(metric.rpartition("/")[2].lower())), None)
        if kind is None or not metric.startswith("train/"):
            continue
        ratio = examples_per_step(curve.steps, curve.values)
        if ratio is None:
            yield (EPOCHS if kind == "epochs" else EXAMPLES).finding(
                run,
                metric,
                "it doesn't grow evenly with the step: say in the note what it counts, or correct the steps",
            )
        elif kind == unit and abs(ratio - batch_size) > _WITHIN * batch_size:
            yield EXAMPLES.finding(
                run,
                metric,
                f"it grows by {ratio:g} a step, and the batch size is {batch_size:g}: correct the batch size (of all "
                "devices, with accumulation) or the steps (updates of the parameters)",
            )


def _totals(
    run: str, curves: Mapping[str, Curve], batch_size: float, unit: str, parameters: Mapping[str, object]
) -> Iterator[Finding]:
    last = max((int(curve.steps[-1]) for curve in curves.values()), default=0)
    for name, value in parameters.items():
        total = number(value)
        if (
            total is None
            or not _TOTALS.fullmatch(name.lower())
            or unit not in name.lower().replace("samples", "examples")
        ):
            continue
        if last and abs(total - batch_size * last) > max(_WITHIN * total, batch_size):
            yield TOTAL.finding(
                run,
                f"parameters.{name}",
                f"it is {total:g}, and {batch_size:g} x {last:,} steps are {batch_size * last:g}: correct one of them",
            )


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
