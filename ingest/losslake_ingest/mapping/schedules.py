"""The batch size of a run that changes it: as the mapping states it, or as a column of the log does.

In a row at step s, a column has the batch size of the update that ended at step s. So it states a change exactly if it
has rows at the last step before it and at the first one after it; of a row at step 0 no update had ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from losslake_ingest.contracts.rules import Refusal, Rule, mapping_lacks
from losslake_ingest.contracts.run_log import Fields, LoggedRows, RunLog
from losslake_ingest.mapping.mapping import Axis, LogMapping
from losslake_ingest.mapping.metrics import metric_of
from losslake_ingest.mapping.stated_facts import EITHER, OF_PROCESS, OF_RUN, is_of_training, last_name, multipliers
from losslake_ingest.mapping.steps import ROUNDED, step_rule
from losslake_ingest.mapping.template import UnknownField, fill_if_known
from losslake_ingest.mapping.toml import toml_key
from losslake_schema.batch_schedule import BatchSchedule
from losslake_schema.names import CHANGES
from losslake_schema.reached import Floats

_NUMBERS_OF_BATCHES = ("batch",)  # columns; as a field it is a size
_LONGEST_NAME = 100


@dataclass(frozen=True)
class NamedSchedule:
    """The batch sizes of a run by step, and the name of these changes."""

    pieces: BatchSchedule
    name: str

    @property
    def batch_size(self) -> int:
        """The batch size of the run; CHANGES for several."""
        first, *others = self.pieces.sizes
        return CHANGES if others else first


def schedule_of(log: RunLog, mapping: LogMapping, fields: Fields, stated: Fields) -> NamedSchedule | None:
    """Return the batch sizes of a run by step; None for one batch size that is stated as such.

    stated: facts of the log and of the files beside it. Raises Refusal for a schedule that can't be read, and for a
    column that has several batch sizes and doesn't say at which steps, or that may be of one process, unless the
    mapping leaves it out.
    """
    text = fill_if_known(mapping.schedule.batch_size, fields)
    try:
        schedule = _of_columns(log, mapping, fields, stated) if text is None else BatchSchedule.of_text(str(text))
    except ValueError as error:
        raise Refusal(Rule.BAD_FACT, f"the schedule of the batch size can't be read: {error}") from None
    if schedule is None:
        return None
    name = fill_if_known(mapping.schedule.name, fields)
    if name is not None and not (str(name).isprintable() and 0 < len(str(name)) <= _LONGEST_NAME):
        why = f"the name of the schedule isn't 1 to {_LONGEST_NAME} printable characters"
        raise Refusal(Rule.BAD_FACT, f"{why}: correct [schedule] name")
    return NamedSchedule(schedule, schedule.name if name is None else str(name))


def _of_columns(log: RunLog, mapping: LogMapping, fields: Fields, stated: Fields) -> BatchSchedule | None:
    """Return the schedule of the first column of batch sizes that has several."""
    for column in dict.fromkeys(name for rows in log.rows for name in rows.columns):
        name = last_name(column)
        if name in (*OF_RUN, *OF_PROCESS, *EITHER) and name not in _NUMBERS_OF_BATCHES and is_of_training(column):
            axis = next((axis for axis in mapping.axis if any(axis.column in r.columns for r in log.rows)), None)
            changes = _changes(log.rows, column, axis.column if axis else None)
            if changes and not _is_left_out(column, mapping, fields):
                what = f"{column} {' and '.join(changes)}: a schedule"
                return _of_column(log, column, axis, mapping, fields, stated, what)
    return None


def _of_column(
    log: RunLog, column: str, axis: Axis | None, mapping: LogMapping, fields: Fields, stated: Fields, what: str
) -> BatchSchedule:
    """Return the schedule of a column; raises Refusal, and ValueError for invalid sizes. what: its changes in words."""
    template = mapping.run.batch_size
    is_stated = template is not None or column in fields or "batch_size" in fields
    if is_stated and (template is None or template.names != [column] or column in fields):
        raise _lacks(column, f"{what}, and one batch size is stated, too")
    name, factors = last_name(column), [field for field, number in multipliers(stated).items() if number > 1]
    if name in OF_PROCESS or (name in EITHER and factors):
        beside = f" beside {' and '.join(factors)}" if factors else ""
        raise _lacks(column, f"{what} that may be of one process{beside}")
    if axis is None or axis.counts in ROUNDED or axis.counts == "calls":
        raise _lacks(column, f"{what} without a column that counts updates")
    rule = step_rule(axis, CHANGES, fields)
    size_at: dict[int, float] = {}
    for rows in log.rows:
        if column in rows.columns and axis.column in rows.columns:
            known = rows.known(column) & rows.known(axis.column) & np.isfinite(rows.columns[column])
            steps = rule.steps(rows.columns[axis.column], known)
            size_at.update(zip(steps[known].tolist(), rows.columns[column][known].tolist(), strict=True))
    return BatchSchedule.of_pieces(_pieces(column, axis.column, size_at, what))


def _pieces(column: str, counter: str, size_at: dict[int, float], what: str) -> list[tuple[int, int]]:
    """Return the pieces of batch sizes by step. Raises Refusal where a change may be at one of several steps."""
    rows = [(step, size) for step, size in sorted(size_at.items()) if step > 0]
    pieces = list[tuple[int, int]]()
    last, before = 0, None
    for step, size in rows:
        if size != before:
            if step != last + 1:
                where = f"after {counter} {last}" if before is not None else "before the first row"
                raise _lacks(column, f"{what} whose change {where} may be at any step up to {step}")
            pieces.append((last, int(size) if size.is_integer() and size < 2**53 else 0))
        last, before = step, size
    return pieces


def _lacks(column: str, what: str) -> Refusal:
    other = 'batch_size = "0:64 1000:128" under [schedule], from which step on which size'
    add = f'{toml_key(column)} = ""   # under [metrics], to leave the column out; or {other}'
    return mapping_lacks(Rule.FACTS_DISAGREE, what, add)


def _is_left_out(column: str, mapping: LogMapping, fields: Fields) -> bool:
    try:
        return metric_of(column, mapping.metrics, fields) is None
    except (KeyError, UnknownField):
        return False


def _changes(rows: Sequence[LoggedRows], column: str, axis: str | None) -> list[str]:
    """Say where a column changes, if it does: at most three values, with the steps or rows at which they are logged."""
    pieces = [
        (_positions(each, column, axis), each.columns[column][each.known(column)])
        for each in rows
        if column in each.columns
    ]
    positions, values = (np.concatenate([piece[part] for piece in pieces]) for part in (0, 1))
    finite = np.isfinite(values)
    positions, values = positions[finite], values[finite]
    if not len(values) or (values == values[0]).all():
        return []
    at = np.flatnonzero(values[1:] != values[:-1]) + 1
    where = axis or "row"
    texts = [f"is {values[0]:.15g} up to {where} {positions[at[0] - 1]:.15g}"]
    texts += [f"{values[begin]:.15g} from {where} {positions[begin]:.15g}" for begin in at[:2].tolist()]
    return [*texts, f"so on, {len(at):,} times"] if len(at) > 2 else texts


def _positions(rows: LoggedRows, column: str, axis: str | None) -> Floats:
    """Return the positions of the rows that have a column: on the axis, or counted from 1."""
    has_value = rows.known(column)
    if axis is not None and axis in rows.columns:
        return rows.columns[axis][has_value]
    return np.flatnonzero(has_value).astype(np.float64) + 1
