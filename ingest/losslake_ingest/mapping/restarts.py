"""Logs whose steps begin again: a restart from a checkpoint is one run; from the first step, it can be another run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.mapping.repeats import Piece, concatenate_pieces
from losslake_ingest.mapping.toml import toml_key, toml_string
from losslake_schema.reached import Floats, Integers

_LEAST_OF_A_RUN = 4
_MOST_COPIES = 1_000  # of the same rows in a log
_MOST_RESTARTS = 100  # whose times are compared


def check_one_run(metric: str, pieces: Sequence[Piece], lowest: int, log: RunLog) -> None:
    """Raise Refusal if a column of a metric begins again at the lowest step of its log with other values.

    That is a second run in the log, or one that started over; the mapping says which by `repeated`.
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
        begins_again = falls[steps[falls + 1] <= lowest]
        values = concatenate_pieces([piece.measured[1] for piece in of_writer])
        bounds = [0, *(falls + 1).tolist(), len(steps)]
        for number, fall in enumerate(begins_again.tolist()):
            at = int(np.searchsorted(falls, fall)) + 1
            before, after = slice(bounds[at - 1], bounds[at]), slice(bounds[at], bounds[at + 1])
            is_other = _are_two_runs(steps[before], values[before], steps[after], values[after])
            if is_other or number == _MOST_COPIES:
                raise _begins_again(metric, of_writer[0], steps[fall : fall + 2].tolist(), log)


def fall_of_times(steps: Integers, elapsed: Floats) -> str | None:
    """Return how the time falls from a step to a later one, None if it doesn't: seconds to a target would be wrong.

    steps, elapsed: of the same rows in the order written; NaN where the time is unknown. A restart may take the time
    back with the step, to that of the checkpoint.
    """
    known = np.flatnonzero(~np.isnan(elapsed))
    if len(known) < 2:
        return None
    steps, elapsed = steps[known], elapsed[known]
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


def _are_two_runs(steps: Integers, values: Floats, later_steps: Integers, later_values: Floats) -> bool:
    """Return True if two stretches of a column, each with rising steps, aren't the same rows written twice.

    Rows in the order of falling steps are one curve, as are those of evaluations in another order: at other steps, and
    few of them, or all beyond the later ones.
    """
    (steps, one), (later_steps, other) = (np.unique(each, return_index=True) for each in (steps, later_steps))
    values, later_values = values[one], later_values[other]
    if min(len(steps), len(later_steps)) < 2:
        return False
    common, one, other = np.intersect1d(steps, later_steps, assume_unique=True, return_indices=True)
    first, second = values[one], later_values[other]
    if not len(common):
        return len(steps) >= _LEAST_OF_A_RUN and bool(later_steps[-1] > steps[0])
    return bool(((first != second) & ~(np.isnan(first) & np.isnan(second))).any())


def _begins_again(metric: str, piece: Piece, steps: Sequence[int], log: RunLog) -> Refusal:
    """Return the reason why a log may hold two runs, with what tells them apart, as far as the log shows it."""
    column = piece.metric.column
    what = f"{column} goes back from step {steps[0]:,} to step {steps[1]:,}, where it began, with other values"
    line = f'{toml_key(column)} = {{ metric = {toml_string(metric)}, repeated = "last" }}'
    missing = MissingField(what, f"{line}   # under [metrics], if the run started over there")
    apart = log.apart or "give each run a file of its own"
    message = f"{what}: if these are two runs, {apart}; if the run started over, add to the mapping: {line}"
    return Refusal(Rule.VALUES_DISAGREE, message, missing=(missing,))
