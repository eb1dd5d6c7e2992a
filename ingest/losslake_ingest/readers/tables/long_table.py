"""Rows of a long table, which has a row for each value: a column of metrics' names, and one of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import LARGEST_CELLS, Damage, LoggedRows, TextCell
from losslake_schema.reached import Integers

NO_METRIC = Damage("a row without the name of a metric: left out")


def split_metrics(
    rows: LoggedRows,
    places: Integers,
    codes: npt.NDArray[np.int32],
    names: Sequence[str | bool],
    value: str,
    text_of: Callable[[Integers], TextCell | None],
) -> list[LoggedRows]:
    """Return the rows of each metric, whose values are a column with its name. Raises Refusal.

    places: of the rows in the run. codes: the name of each row as its index in `names`, -1 for none. value: the column
    of values. text_of: returns the first value that is text at some places of the run.
    """
    present, counts = np.unique(codes, return_counts=True)
    if len(present) * len(rows.columns) > LARGEST_CELLS:
        message = f"{len(present):,} metrics in {len(rows.columns):,} columns; at most {LARGEST_CELLS:,} cells are read"
        raise Refusal(Rule.FILE_TOO_LARGE, message)
    order = np.argsort(codes, kind="stable")
    split = []
    for code, at in zip(present.tolist(), np.split(order, np.cumsum(counts)[:-1]), strict=True):
        if code >= 0:
            text = text_of(places[at])
            texts = {column: cell for column, cell in rows.texts.items() if column != value}
            renamed = rows.at(at).renamed(value, str(names[code]))
            split.append(replace(renamed, texts=texts if text is None else {**texts, str(names[code]): text}))
    return split
