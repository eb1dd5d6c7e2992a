"""Logs whose steps begin again: a restart from a checkpoint is one run; from the first step, it can be another run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.mapping.repeats import Piece, concatenate_pieces
from losslake_ingest.mapping.toml import toml_key, toml_string
from losslake_schema.reached import Flags, Floats, Integers

_LEAST_OF_A_RUN = 4
_LEAST_OF_A_SETTING = 2
_SETTINGS = frozenset(("lr", "learning_rate", "weight_decay", "wd", "momentum", "dropout"))
_MOST_RESTARTS = 10  # whose times and settings are compared
_MOST_FALLS = 30  # whose values are compared: more to the first step are no restarts


def check_one_run(metric: str, pieces: Sequence[Piece], lowest: int, log: RunLog) -> None:
    """Raise Refusal if a column of a metric begins again at the lowest step of its log with other values.

    That is a second run in the log, or one that started over; the mapping says which by `repeated`. So is one that goes
    back to any step with another setting, such as the learning rate.
    """
    by_writer: dict[str, list[Piece]] = {}
    for piece in pieces:
        if not piece.metric.repeated:
            by_writer.setdefault(piece.writer, []).append(piece)
    for of_writer in by_writer.values():
        steps = concatenate_pieces([piece.measured[0] for piece in of_writer])
        falls = np.flatnonzero(steps[1:] < steps[:-1])
        if not len(falls):
            continue
        values = concatenate_pieces([piece.measured[1] for piece in of_writer])
        bounds = [0, *(falls + 1).tolist(), len(steps)]
        pieces_begin = set(np.cumsum([len(piece.measured[0]) for piece in of_writer]).tolist())
        is_lowest = steps[falls + 1] <= lowest
        looked_at = np.flatnonzero(is_lowest | (np.arange(len(falls)) < _MOST_RESTARTS))[: _MOST_FALLS + 1]
        for count, number in enumerate(looked_at.tolist()):
            start, fall, stop = bounds[number : number + 3]
            is_other = is_lowest[number] and (
                count == _MOST_FALLS
                or _are_two_runs(steps[:fall], values[:fall], steps[fall:stop], values[fall:stop], fall in pieces_begin)
            )
            fallen = _Fall(metric, of_writer, steps[fall - 1 : fall + 1].tolist(), fall)
            changed = fallen.changed_column(start, stop) if is_other or number < _MOST_RESTARTS else ""
            if is_other or changed in _SETTINGS:
                raise fallen.refusal(changed, log)


@dataclass(frozen=True)
class _Fall:
    """A step of a column that is below the one before. number: of the first measurement after it."""

    metric: str
    pieces: Sequence[Piece]
    steps: Sequence[int]
    number: int

    def changed_column(self, start: int, stop: int) -> str:
        """Return the column of numbers that has one value before the fall and another one after it; empty for none.

        start, stop: the measurements between the falls before and after.
        """
        piece = self.pieces[0]
        if len(self.pieces) > 1 or min(self.number - start, stop - self.number) < _LEAST_OF_A_SETTING:
            return ""
        first, fall, last = piece.row(start), piece.row(self.number), piece.row(stop - 1) + 1
        for name, cells in piece.rows.columns.items():
            has_value = piece.rows.known(name)
            before, after = (cells[rows][has_value[rows]] for rows in (slice(first, fall), slice(fall, last)))
            is_constant = len(before) and len(after) and (before == before[0]).all() and (after == after[0]).all()
            if name != piece.metric.column and is_constant and before[0] != after[0]:
                return name
        return ""

    def refusal(self, changed: str, log: RunLog) -> Refusal:
        """Return the reason why a log may hold two runs, with what tells them apart, as far as the log shows it."""
        column = self.pieces[0].metric.column
        other = f"with another {changed}" if changed else "with other values"
        what = f"{column} goes back from step {self.steps[0]:,} to step {self.steps[1]:,} {other}"
        line = f'{toml_key(column)} = {{ metric = {toml_string(self.metric)}, repeated = "last" }}'
        missing = MissingField(what, f"{line}   # under [metrics], if the run started over there")
        by_column = f"column = {toml_string(changed)} under [run] tells them apart" if changed else ""
        apart = by_column or log.apart or "give each run a file of its own"
        message = f"{what}: if these are two runs, {apart}; if one run started over, add to the mapping: {line}"
        return Refusal(Rule.VALUES_DISAGREE, message, self._line(), missing=(missing,))

    def _line(self) -> int | None:
        number = self.number
        for piece in self.pieces:
            if number < len(piece.measured[0]):
                return piece.line(number)
            number -= len(piece.measured[0])
        return None


def fall_of_times(steps: Integers, elapsed: Floats, has_step: Flags) -> str | None:
    """Return how the time falls from a step to a later one, None if it doesn't: seconds to a target would be wrong.

    steps, elapsed: of the same rows in the order written; NaN where the time is unknown. has_step: flags of known
    steps. A restart may take the time back with the step, to that of the checkpoint.
    """
    timed = np.flatnonzero(has_step & ~np.isnan(elapsed))
    if len(timed) < 2:
        return None
    steps, elapsed = steps[timed], elapsed[timed]
    is_earlier = elapsed[1:] < elapsed[:-1]
    is_restart = (steps[1:] < steps[:-1]) | ((steps[1:] == steps[:-1]) & is_earlier)
    falls = np.flatnonzero(is_earlier & (steps[1:] > steps[:-1]))
    pairs = [(int(falls[0]), int(falls[0]) + 1)] if len(falls) else []
    for start in (np.flatnonzero(is_restart) + 1)[:_MOST_RESTARTS].tolist() if not pairs else ():
        before = np.flatnonzero(steps[:start] < steps[start])
        if len(before) and elapsed[before].max() > elapsed[start]:
            pairs.append((int(before[elapsed[before].argmax()]), start))
    if not pairs:
        return None
    one, other = pairs[0]
    times = f"from {elapsed[one]:.17g} s at step {steps[one]:,} to {elapsed[other]:.17g} s at step {steps[other]:,}"
    return f"falls {times}, so it isn't the time since the start"


def _are_two_runs(
    steps: Integers, values: Floats, later_steps: Integers, later_values: Floats, are_beside: bool
) -> bool:
    """Return True if rows of a column that begin again aren't some of those before, written again.

    Rows in the order of falling steps are one curve, as are those of evaluations in another order: at other steps, and
    few of them, or all beyond the later ones. are_beside: the later ones are of another file, or of other rows.
    """
    (steps, values), (later_steps, later_values) = (
        _last_written(steps, values),
        _last_written(later_steps, later_values),
    )
    if min(len(steps), len(later_steps)) < 2:
        return False
    common, one, other = np.intersect1d(steps, later_steps, assume_unique=True, return_indices=True)
    first, second = values[one], later_values[other]
    if not len(common):
        return not are_beside and len(steps) >= _LEAST_OF_A_RUN and bool(later_steps[-1] > steps[0])
    return bool(((first != second) & ~(np.isnan(first) & np.isnan(second))).any())


def _last_written(steps: Integers, values: Floats) -> tuple[Integers, Floats]:
    """Return the steps in ascending order, and the last value of each."""
    unique, first = np.unique(steps[::-1], return_index=True)
    return unique, values[::-1][first]
