"""Rows of small tables by the study or trial that they are of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from losslake_schema.names import CHANGES, SCHEDULED, Trial
from losslake_schema.tables import STUDY_KEYS

TRIAL_KEYS = (*STUDY_KEYS, "trial_id")


def key_of(trial: Trial) -> dict[str, Any]:
    """Return the key columns of a trial with their values."""
    return {**trial.study.key(), "trial_id": trial.trial_id}


def study_names(rows: pa.Table) -> pa.ChunkedArray:
    """Return the name of the study of each row."""
    return _joined(rows, STUDY_KEYS)


def trial_names(rows: pa.Table) -> pa.ChunkedArray:
    """Return the name of the trial of each row."""
    return _joined(rows, TRIAL_KEYS)


def _joined(rows: pa.Table, keys: Sequence[str]) -> pa.ChunkedArray:
    texts = {key: rows[key].cast(pa.string()) for key in keys}
    changes = pc.equal(rows["batch_size"], CHANGES)
    texts["batch_size"] = pc.if_else(changes, pa.scalar(SCHEDULED), texts["batch_size"])
    return pc.binary_join_element_wise(*texts.values(), "/")


def trials_of(rows: pa.Table) -> list[Trial]:
    """Return the trial of each row."""
    return [Trial.of(row) for row in rows.select(TRIAL_KEYS).to_pylist()]


def rows_of(rows: pa.Table, trials: pa.Table) -> pa.Table:
    """Return the rows, of copies or contributors, of these trials."""
    return rows.filter(pc.is_in(trial_names(rows), trial_names(trials).combine_chunks()))


def are_named(trials: pa.Table, names: Collection[str]) -> pa.Array:
    """Return flags of the trials that have one of the names, as themselves, their study or their collection."""
    wanted = pa.array([name.strip("/") for name in names], pa.string())
    columns = (trials["collection"], study_names(trials), trial_names(trials))
    return reduce(pc.or_, (pc.is_in(column, wanted).combine_chunks() for column in columns))


def in_order(rows: pa.Table) -> pa.Table:
    """Return the rows sorted by study (and trial)."""
    return rows.sort_by([(key, "ascending") for key in TRIAL_KEYS if key in rows.column_names]).combine_chunks()


def moved_rows(rows: pa.Table, moved: Mapping[Trial, Trial]) -> pa.Table:
    """Return rows of trials with the new keys of those that move, all at once: two trials may change places."""
    if not moved or not rows.num_rows:
        return rows
    new_keys = [
        key_of(trial) | {f"new_{key}": value for key, value in key_of(to).items()} for trial, to in moved.items()
    ]
    joined = pl.DataFrame(rows).join(pl.DataFrame(new_keys), on=TRIAL_KEYS, how="left", maintain_order="left")
    columns = [pl.coalesce(f"new_{key}", key).alias(key) for key in TRIAL_KEYS]
    return joined.with_columns(columns).select(rows.column_names).to_arrow().cast(rows.schema)
