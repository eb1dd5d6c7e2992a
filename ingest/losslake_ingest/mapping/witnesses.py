"""Checks of logged steps that a format only assumes to be updates, by what else the log says.

TensorBoard's `step` is whatever the writer passed, and W&B's `_step` counts calls of log().
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule
from losslake_ingest.contracts.run_log import RunLog, Scalar
from losslake_ingest.mapping.metrics import toml_string
from losslake_schema.reached import Floats

_COUNTERS = re.compile("(global_|train_)?steps?|iter(ations?)?|n_iter|(num_)?updates?")
_EPOCHS = re.compile("epochs?|epoch_num")
_ALL_STEPS = re.compile("((max|total|train|num|n|num_train|num_training)_(steps|iters|iterations|updates))")
_ALL_EPOCHS = re.compile("((num|max|n|total|num_train)_)?epochs")


def check_steps(
    log: RunLog, column: str, metrics: Collection[str], batch_size: int, fields: Mapping[str, Scalar], is_complete: bool
) -> None:
    """Raise Refusal if something in the log says that a column doesn't count updates.

    metrics: the logged columns that are stored by it. is_complete: the run wasn't stopped before its end.
    """
    lasts: dict[str, float] = {}
    first = math.inf
    for name, steps, values in _pairs(log, column):
        lasts[name] = max(lasts.get(name, 0.0), float(steps.max()))
        first = min(first, float(steps.min()))
        if _COUNTERS.fullmatch(_base(name)) and (values != steps).any():
            at = int((values != steps).argmax())
            raise _refusal(column, f"{name} is {values[at]:g} where {column} is {steps[at]:g}")
        if _EPOCHS.fullmatch(_base(name)):
            _check_epochs(column, name, steps, values, batch_size, fields)
    if not lasts:
        return
    longest = max(lasts, key=lambda name: lasts[name])
    last = lasts[longest]
    for name in metrics:
        if 2 * lasts.get(name, last) < last:
            raise _refusal(column, f"{name} ends at {column} {lasts[name]:g}, and {longest} at {last:g}")
    for name, value in fields.items():
        total = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0
        if _ALL_STEPS.fullmatch(_base(name)) and total > 0 and (last > total or (is_complete and 2 * last < total)):
            raise _refusal(column, f"the run ends at {column} {last:g}, and its {name} is {total:g}")
        if _ALL_EPOCHS.fullmatch(_base(name)) and total > 1 and last - first > 0 and total - last == 1 - min(first, 1):
            raise _refusal(column, f"the run ends at {column} {last:g}, and its {name} is {total:g}")


def _pairs(log: RunLog, column: str) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield each other column with the steps and values of its filled cells."""
    for rows in log.rows:
        if column in rows.columns:
            for name in rows.columns.keys() - {column}:
                both = rows.known(column) & rows.known(name)
                if both.any():
                    yield name, rows.columns[column][both], rows.columns[name][both]


def _check_epochs(
    column: str, name: str, steps: Floats, epochs: Floats, batch_size: int, fields: Mapping[str, Scalar]
) -> None:
    """Raise Refusal if steps are no more than epochs, or not about those of an epoch of known size."""
    if (epochs > steps + 1).any() or (len(set(steps.tolist())) > 1 and len(set((epochs - steps).tolist())) == 1):
        raise _refusal(column, f"{name} is {epochs[-1]:g} where {column} is {steps[-1]:g}: at most one step per epoch")
    size = fields.get("examples_per_epoch")
    if isinstance(size, (int, float)) and size > 0 and epochs.max() >= 1:
        at = int(epochs.argmax())
        rate = size / batch_size
        if not (epochs[at] - 1) * rate / 2 <= steps[at] <= (epochs[at] + 1) * rate * 2:
            what = f"{name} {epochs[at]:g} of {size:g} examples is at {column} {steps[at]:g}"
            raise _refusal(column, f"{what}, and an epoch is {rate:g} batches of {batch_size}")


def _base(name: str) -> str:
    return re.split("[./]", name)[-1].lower()


def _refusal(column: str, why: str) -> Refusal:
    what = f"{column} seems not to count updates: {why}"
    add = f'[[axis]] column = {toml_string(column)}   # or another; and counts = "steps", "examples" or "epochs"'
    return Refusal(Rule.STEP_DOUBTFUL, f"{what}: add to the mapping: {add}", missing=(MissingField(what, add),))
