"""Carrying stored trials over into the next version of their study, where the offer lacks them through a fault."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.data_files import stored_table
from losslake.lake.manifest import DataFile
from losslake.lake.store.store import Store
from losslake.lake.stored_values import with_values
from losslake_ingest.changes import WrittenPart, packed
from losslake_ingest.study import Curves, StudyFacts
from losslake_ingest.write import write_curves
from losslake_schema.names import Study


def carry_over(
    store: Store, stored: Collection[DataFile], facts: StudyFacts, trial_ids: Collection[int]
) -> WrittenPart:
    """The stored trials of a study with these ids, written anew as a part of its next version."""
    wanted = pa.array(sorted(trial_ids), pa.int64())
    trials = stored_trials(store, stored, facts.study)
    trials = trials.filter(pc.is_in(trials["trial_id"], wanted)).sort_by("trial_id")
    own = [file for file in stored if file.table == "measurements" and file.study == facts.study]
    ids: list[int] = trials["trial_id"].to_pylist()
    curves = stored_curves(store, own, ids)
    written = write_curves(store, facts.study, ids, curves)
    return WrittenPart(facts, packed(trials), written, frozenset(curves.values), (), is_carried=True)


def stored_curves(store: Store, measurements: Collection[DataFile], trial_ids: Collection[int]) -> Curves:
    """The curves of some trials of a study, which is all that these files of its measurements hold, in their order."""
    wanted = pa.array(sorted(trial_ids), pa.int64())
    tables = [_rows_of(store.open(file.path, file.bytes), wanted) for file in measurements]
    return _curves(pl.DataFrame(with_values(pa.concat_tables(tables))), trial_ids)


def stored_trials(store: Store, stored: Collection[DataFile], study: Study) -> pa.Table:
    """The rows of `trials` that a release holds of a study."""
    table = stored_table(store, list(stored), "trials")
    condition = pc.scalar(True)
    for key, value in study.key().items():
        condition = condition & (pc.field(key) == value)
    return table.filter(condition)


def _rows_of(file: pa.NativeFile, trial_ids: pa.Array) -> pa.Table:
    rows = pq.ParquetFile(file).read()
    return rows.filter(pc.is_in(rows["trial_id"], trial_ids))


def _curves(rows: pl.DataFrame, trial_ids: Collection[int]) -> Curves:
    """Tidy measurements as curves, in the order of trial_ids."""
    metrics = rows["metric"].unique().cast(pl.String).sort().to_list()
    keys = ["trial_id", "step"]
    index = rows.group_by(keys).agg(pl.col("elapsed_s").first()).sort(keys)
    counts = dict(index.group_by("trial_id").len().iter_rows())
    values, missing = {}, {}
    for metric in metrics:
        own = rows.filter(pl.col("metric") == metric).select(*keys, "value", pl.lit(True).alias("here"))
        column = index.join(own, on=keys, how="left", maintain_order="left")
        absent = column["here"].is_null().to_numpy()
        values[metric] = column["value"].fill_null(np.nan).to_numpy()
        if absent.any():
            missing[metric] = absent
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([counts.get(t, 0) for t in trial_ids], dtype=np.int64)])
    elapsed = index["elapsed_s"].fill_null(np.nan).to_numpy()
    is_timed = not np.isnan(elapsed).all()
    return Curves(offsets, index["step"].to_numpy(), values, missing, elapsed if is_timed else None)
