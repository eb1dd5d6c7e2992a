"""Checks of logged steps by what else the log says: of steps that begin again in each epoch, and of assumed steps.

TensorBoard's `step` is whatever the writer passed, and W&B's `_step` counts calls of log().
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator

import numpy as np

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule, mapping_lacks, shown
from losslake_ingest.contracts.run_log import Fields, RunLog
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mapping.stated_facts import ALL_EPOCHS, ALL_STEPS, last_name
from losslake_ingest.mapping.toml import toml_key, toml_string, toml_value
from losslake_schema.names import CHANGES
from losslake_schema.reached import Floats

_COUNTERS = re.compile(
    "((global_|train_|training_|optimizer_|num_)?steps?|(global_|num_)?iter(ations?)?|n_iter|(num_)?updates?)"
)
_OF_EVALUATION = re.compile("val|valid|validation|eval|evaluation|test")
_EPOCHS = re.compile("(current_|train_)?epochs?|epoch_(num|number|idx|index)")


def check_restarts(log: RunLog, column: str, metrics: Collection[str], mapping: LogMapping) -> None:
    """Raise Refusal if a column falls where the epoch rises: it counts within the epoch, and not from a checkpoint on.

    metrics: the logged columns that are stored by it.
    """
    columns = sorted({name for rows in log.rows for name in rows.columns})
    for epochs in [name for name in columns if _EPOCHS.fullmatch(last_name(name))]:
        for metric in metrics if epochs != column else ():
            for steps, positions in _written(log, column, epochs, metric):
                falls = np.flatnonzero((steps[1:] < steps[:-1]) & (positions[1:] > positions[:-1]))
                if len(falls):
                    at = slice(int(falls[0]), int(falls[0]) + 2)
                    raise _within_epoch(column, epochs, steps[at].tolist(), positions[at].tolist(), mapping)


def check_steps(
    log: RunLog, column: str, metrics: Collection[str], batch_size: int, fields: Fields, is_complete: bool
) -> None:
    """Raise Refusal if something in the log says that a column doesn't count updates.

    metrics: the logged columns that are stored by it. is_complete: the run wasn't stopped before its end.
    """
    lasts: dict[str, float] = {}
    first = math.inf
    for name, steps, values in _pairs(log, column):
        lasts[name] = max(lasts.get(name, 0.0), float(steps.max()))
        first = min(first, float(steps.min()))
        if _is_counter(name, steps, values) and (values != steps).any():
            at = int((values != steps).argmax())
            raise _refusal(column, f"{name} is {values[at]:g} where {column} is {steps[at]:g}", counter=name)
        if _EPOCHS.fullmatch(last_name(name)):
            _check_epochs(column, name, steps, values, batch_size, fields)
    if not lasts:
        return
    longest = max(lasts, key=lambda name: (lasts[name], name in metrics))
    last = lasts[longest]
    long = [name for name in metrics if 2 * lasts.get(name, 0.0) >= last]
    for name in metrics:
        if 2 * lasts.get(name, last) < last and not any(_are_together(log, column, name, other) for other in long):
            raise _refusal(column, f"{name} ends at {column} {lasts[name]:g}, and {longest} at {last:g}", metric=name)
    for name, value in fields.items():
        total = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0
        if total > 0:
            _check_end(column, name, total, (first, last), _epoch_batches(batch_size, fields), is_complete)


def check_calls(log: RunLog, column: str, batch_size: int, fields: Fields) -> None:
    """Raise Refusal if nothing in the log shows that a column counts updates, and not the calls of a logger.

    What shows it: another counter, a configured number of steps, or epochs of known size agree with it; or all rows are
    one distance above 1 apart.
    """
    steps = np.unique(
        np.concatenate([rows.columns[column][rows.known(column)] for rows in log.rows if column in rows.columns])
    )
    gaps = np.diff(steps)
    is_regular = len(gaps) > 0 and bool((gaps == gaps[0]).all())
    if is_regular and gaps[0] > 1 and not log.is_extract:
        return
    batches = _epoch_batches(batch_size, fields)
    for name, at, values in _pairs(log, column):
        if len(gaps) and at[-1] > at[0] and _is_counter(name, at, values):
            return  # check_steps refuses one that differs
        if (
            _EPOCHS.fullmatch(last_name(name))
            and batches
            and (np.abs(at - values * batches) <= batches).all()
            and values.max() >= 2
        ):
            return
    ends = [value for name, value in fields.items() if last_name(name) in ALL_STEPS]
    if len(steps) and is_regular and steps[-1] in ends:
        return
    written = ", ".join(f"{step:g}" for step in steps[:3]) + (f" … {steps[-1]:g}" if len(steps) > 3 else "")
    what = f"{column} counts calls of the logger unless the training gives it, and is {written}"
    comment = 'or "updates_from_zero"; or "calls", with scale = the updates between two calls; or another column'
    message = f"{what}, and nothing in the log shows that these are updates"
    add = f'[[axis]]\ncolumn = {toml_string(column)}\ncounts = "updates"   # {comment}'
    raise mapping_lacks(Rule.STEP_UNKNOWN, message, add, what=what)


def _is_counter(name: str, steps: Floats, values: Floats) -> bool:
    """Return True if a column counts training steps by its name, and goes up with the steps: it isn't of the epoch."""
    if not _COUNTERS.fullmatch(last_name(name)) or any(map(_OF_EVALUATION.fullmatch, re.split("[./]", name.lower()))):
        return False
    later = steps[1:] > steps[:-1]
    before, after = values[:-1][later], values[1:][later]
    return not later.any() or bool((after >= before).all() and (after > before).any())


def _are_together(log: RunLog, column: str, name: str, other: str) -> bool:
    """Return True if a row has both columns: their steps are then of one counter."""
    return any(
        (rows.known(column) & rows.known(name) & rows.known(other)).any()
        for rows in log.rows
        if rows.columns.keys() >= {column, name, other}
    )


def _epoch_batches(batch_size: int, fields: Fields) -> float:
    """Return the batches of an epoch, 0 if unknown."""
    size = fields.get("examples_per_epoch")
    return size / batch_size if isinstance(size, (int, float)) and size > 0 and batch_size != CHANGES else 0.0


def _check_end(
    column: str, name: str, total: float, ends: tuple[float, float], batches: float, is_complete: bool
) -> None:
    """Raise Refusal if the first and last step don't fit a configured number of steps or epochs.

    Runs may stop before a largest number of epochs.
    """
    first, last = ends
    base = last_name(name)
    what = f"the run ends at {column} {last:g}, and its {name} is {total:g}"
    if base in ALL_STEPS and (last > total or (is_complete and 2 * last < total)):
        raise _refusal(column, what)
    if base in ALL_EPOCHS and total > 1:
        if last > first and total - last == 1 - min(first, 1):
            raise _refusal(column, what, counts="epochs")
        is_short = is_complete and not base.startswith("max") and last < (total - 1) * batches / 2
        if batches and (is_short or last > (total + 1) * batches * 2):
            raise _refusal(column, f"{what}, and an epoch is {batches:g} batches")


def _written(log: RunLog, column: str, epochs: str, metric: str) -> Iterator[tuple[Floats, Floats]]:
    """Yield the steps and epochs of a metric in the order written, for the rows of equal fields."""
    written: dict[str, list[tuple[Floats, Floats]]] = {}
    for rows in log.rows:
        if rows.columns.keys() >= {column, epochs, metric} and metric != epochs:
            have_all = rows.known(column) & rows.known(epochs) & rows.known(metric)
            pair = rows.columns[column][have_all], rows.columns[epochs][have_all]
            written.setdefault(repr(rows.fields), []).append(pair)
    for pairs in written.values():
        yield np.concatenate([steps for steps, _ in pairs]), np.concatenate([positions for _, positions in pairs])


def _within_epoch(column: str, epochs: str, steps: list[float], positions: list[float], mapping: LogMapping) -> Refusal:
    what = (
        f"{column} falls from {steps[0]:g} to {steps[1]:g} where {epochs} rises from {positions[0]:g} to "
        f"{positions[1]:g}: it counts within the epoch"
    )
    sizes = [axis.epoch_size for axis in mapping.axis if axis.column == epochs and axis.epoch_size is not None]
    size = toml_value(sizes[0].text) if sizes else '"…"'
    add = f'[[axis]]\ncolumn = {toml_string(epochs)}\ncounts = "epochs"\nepoch_size = {size}   # above other [[axis]]'
    missing = MissingField(what, add)
    message = f'{what}: add to the mapping: {missing.inline}; if the run did start again there, repeated = "last"'
    return Refusal(Rule.STEP_UNKNOWN, f"{message} (docs/mapping.md)", missing=(missing,))


def _pairs(log: RunLog, column: str) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield each other column with the steps and values of its filled cells."""
    for rows in log.rows:
        if column in rows.columns:
            for name in sorted(rows.columns.keys() - {column}):
                both = rows.known(column) & rows.known(name)
                if both.all() and len(both):
                    yield name, rows.columns[column], rows.columns[name]
                elif both.any():
                    yield name, rows.columns[column][both], rows.columns[name][both]


def _check_epochs(column: str, name: str, steps: Floats, epochs: Floats, batch_size: int, fields: Fields) -> None:
    """Raise Refusal if steps are no more than epochs, or not about those of an epoch of known size."""
    ahead = epochs - steps
    if (ahead > 1).any() or ((steps != steps[0]).any() and (ahead == ahead[0]).all()):
        why = f"{name} is {epochs[-1]:g} where {column} is {steps[-1]:g}: at most one step per epoch"
        raise _refusal(column, why, counter=name, counts="epochs")
    batches = _epoch_batches(batch_size, fields)
    if batches and epochs.max() >= 1:
        at = int(epochs.argmax())
        if not (epochs[at] - 1) * batches / 2 <= steps[at] <= (epochs[at] + 1) * batches * 2:
            what = f"{name} {epochs[at]:g} of {batches * batch_size:g} examples is at {column} {steps[at]:g}"
            raise _refusal(column, f"{what}, and an epoch is {batches:g} batches of {batch_size}")


def _refusal(column: str, why: str, metric: str = "", counter: str = "", counts: str = "updates") -> Refusal:
    """Return the reason to doubt a column.

    metric: the logged column that may have to be left out instead. counter: the column that counts in its place, and
    counts: what.
    """
    what = f"{column} seems not to count updates: {why}"
    other = f', or leave out {shown(metric)} with {toml_key(metric)} = "" under [metrics]' if metric else ""
    size = '\nepoch_size = "…"' if counts == "epochs" else ""
    others = " or ".join(f'"{each}"' for each in ("updates", "examples", "epochs") if each != counts)
    column = toml_string(counter or column)
    comment = f"or {others}, or another column{other}"
    add = f'[[axis]]\ncolumn = {column}\ncounts = "{counts}"   # {comment}{size}'
    return mapping_lacks(Rule.STEP_DOUBTFUL, what, add)
