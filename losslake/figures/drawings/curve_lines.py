"""The lines of an answer of /v1/curves: one for each trial and metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake.figures.panel import Series
from losslake.questions.release_view import ReleaseView
from losslake_schema.names import Study, Workload
from losslake_schema.reached import Integers
from losslake_schema.tables import STATUSES

_KEYS = ("workload", "batch_size", "trial_id", "metric")


@dataclass(frozen=True)
class Line:
    """The rows start:end of an answer: those of one trial and metric. number: of the trial, for all of its metrics."""

    workload: str
    batch_size: int
    trial_id: int
    metric: str
    status: str
    number: int
    start: int
    end: int


def lines_of(rows: pa.Table, view: ReleaseView) -> list[Line]:
    """The lines of the rows, in their order: the rows of each follow each other."""
    if not rows.num_rows:
        return []
    codes = [_codes(rows[name]) for name in _KEYS]
    changes = np.logical_or.reduce([np.diff(code) != 0 for code in codes])
    starts = np.flatnonzero(np.r_[True, changes])
    ends = [*starts[1:].tolist(), rows.num_rows]
    firsts = rows.select(list(_KEYS)).take(pa.array(starts)).to_pydict()
    keys = list(zip(*(firsts[name] for name in _KEYS), strict=True))
    statuses = _statuses({key[:3] for key in keys}, view)
    numbers: dict[tuple[str, int, int], int] = {}
    return [
        Line(key[0], key[1], key[2], key[3], statuses[key[:3]], numbers.setdefault(key[:3], len(numbers)), start, end)
        for key, start, end in zip(keys, starts.tolist(), ends, strict=True)
    ]


def series_of(rows: pa.Table, lines: Sequence[Line], label: str, workload: str) -> Series:
    """Lines of one metric as a series. workload: of all of them; empty: each says its own."""
    places = np.concatenate([np.arange(line.start, line.end) for line in lines]) if lines else np.zeros(0, np.int64)
    lengths = [line.end - line.start for line in lines]
    columns = {name: rows[name].take(pa.array(places)) for name in ("step", "value")}
    facts: dict[str, Sequence[object]] = {
        "line": [line.number for line in lines],
        "trial_id": [line.trial_id for line in lines],
        "batch_size": [line.batch_size for line in lines],
        "status": [line.status for line in lines],
    }
    if not workload:
        facts["workload"] = [line.workload for line in lines]
    which = pa.array(np.repeat(np.arange(len(lines)), lengths))
    for name, values in facts.items():
        columns[name] = pa.array(values).take(which)
    return Series(label, pa.table(columns), workload)


def _codes(column: pa.ChunkedArray) -> Integers:
    """Numbers that differ where values do."""
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(), np.int64)
    encoded = pc.dictionary_encode(column).combine_chunks()
    return np.asarray(encoded.indices.to_numpy(), np.int64)


def _statuses(trials: set[tuple[str, int, int]], view: ReleaseView) -> dict[tuple[str, int, int], str]:
    """The status of each trial."""
    found = {}
    for workload, size in {key[:2] for key in trials}:
        facts, index = view.study(Study(Workload.parse(workload), size))
        own = facts.rows_of(index)
        for trial, status in zip(facts.trials.trial_id[own].tolist(), facts.trials.status[own].tolist(), strict=True):
            found[workload, size, trial] = STATUSES[status]
    return found
