"""Several values of a metric at one step: those of before and after a restart, or of different rows, or a fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule
from losslake_ingest.contracts.run_log import LoggedRows
from losslake_ingest.mapping.metrics import ColumnMetric
from losslake_ingest.mapping.toml import toml_key, toml_string
from losslake_schema.reached import Flags, Floats, Integers

# The measurements of one metric: steps; values; seconds since the start, NaN if unknown.
Measured = tuple[Integers, Floats, Floats]
Array = TypeVar("Array", Integers, Floats)
_OTHER_AXIS = "choose another [[axis]], or carried under [[axis]] if rows above have the step"


@dataclass(frozen=True)
class Piece:
    """Measurements of a metric in the order written.

    writer: the column, with the fields of its rows, if any. usable: those of the rows that it is measured in.
    """

    metric: ColumnMetric
    writer: str
    measured: Measured
    rows: LoggedRows
    usable: Flags | slice

    def row(self, number: int) -> int:
        """Return the row of a measurement."""
        return number if isinstance(self.usable, slice) else int(np.flatnonzero(self.usable)[number])

    def line(self, number: int = 0) -> int | None:
        """Return the line of a measurement, None if it is unknown."""
        return self.rows.line_of(self.row(number))


def check_repeated(
    metric: str, pieces: Sequence[Piece], steps: Integers, values: Floats, order: Integers, last: Flags
) -> None:
    """Raise Refusal if a step has two values of a metric that aren't those of before and after a restart.

    The mapping can say which of one column counts. After a restart, a column goes on from an earlier step, or in other
    rows. order: the rows by step, as written; last: flags of the last row of each step, in that order.
    """
    lengths = [len(piece.measured[0]) for piece in pieces]
    numbers = {writer: number for number, writer in enumerate(dict.fromkeys(piece.writer for piece in pieces))}
    writers = np.repeat([numbers[piece.writer] for piece in pieces], lengths)
    is_start = np.append(False, steps[1:] < steps[:-1])
    is_start[[at for at in np.cumsum(lengths)[:-1] if at < len(steps)]] = True
    sessions = np.cumsum(is_start)
    first, second = order[:-1][~last[:-1]], order[1:][~last[:-1]]
    is_same = (values[first] == values[second]) | (np.isnan(values[first]) & np.isnan(values[second]))
    is_stated = all(piece.metric.repeated for piece in pieces)
    is_restart = (writers[first] == writers[second]) & (is_stated | (sessions[first] != sessions[second]))
    if last.sum() == 1 and not is_same.all():
        check_steps_differ(metric, pieces, len(steps))
    conflicts = np.flatnonzero(~(is_same | is_restart))
    if len(conflicts):
        one, other = int(first[conflicts[0]]), int(second[conflicts[0]])
        names = list(numbers)
        written = f"{values[one]:.17g} ({names[writers[one]]}) and {values[other]:.17g} ({names[writers[other]]})"
        what = f"{metric} has two values at step {steps[one]:,}, {written}"
        if writers[one] == writers[other]:
            column = pieces[0].metric.column
            line = f'{toml_key(column)} = {{ metric = {toml_string(metric)}, repeated = "first" }}'
            add = f'{line}   # or "last", under [metrics]'
            missing = MissingField(f"{column} has two values of {metric} at one step", add)
            # Where steps have several values each, the axis is more likely at fault than a value.
            axis = f"{_OTHER_AXIS}, or " if len(steps) >= 2 * last.sum() else ""
            raise Refusal(Rule.VALUES_DISAGREE, f"{what}: {axis}add to the mapping: {add}", missing=(missing,))
        message = f"{what}: map each to its own metric, or leave one out with [[when]] (docs/mapping.md)"
        raise Refusal(Rule.VALUES_DISAGREE, message)


def check_steps_differ(metric: str, pieces: Sequence[Piece], count: int) -> None:
    """Raise Refusal for more than two measurements, all at one step, unless the mapping says which counts."""
    if count > 2 and not all(piece.metric.repeated for piece in pieces):
        step = next(int(piece.measured[0][0]) for piece in pieces if len(piece.measured[0]))
        message = f"all {count:,} measurements of {metric} are at step {step:,}, so it isn't known when they were made"
        correct = f"{_OTHER_AXIS}, or say with repeated which of them counts (docs/mapping.md)"
        raise Refusal(Rule.STEP_UNKNOWN, f"{message}: {correct}")


def concatenate_pieces(pieces: Sequence[Array]) -> Array:
    """Return the arrays one after the other."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
