"""Stored measurements as curves."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.study import Curves, offsets_of


def stored_curves(store: Store, files: Collection[DataFile], trial_ids: Collection[int]) -> Curves:
    """Return the curves of some trials of a study, in their order, from its data files."""
    wanted = pa.array(sorted(trial_ids), pa.int64())
    measurements = (file for file in files if file.table == "measurements")
    tables = (pq.ParquetFile(store.open(file.path, file.bytes)).read() for file in measurements)
    rows = [table.filter(pc.is_in(table["trial_id"], wanted)) for table in tables]
    return curves_of(pl.DataFrame(pa.concat_tables(rows)), trial_ids)


def curves_of(rows: pl.DataFrame, trial_ids: Collection[int]) -> Curves:
    """Convert tidy measurements to curves, in the order of trial_ids."""
    keys = ["trial_id", "step"]
    index = rows.group_by(keys).agg(pl.col("elapsed_s").first()).sort(keys)
    counts = dict(index.group_by("trial_id").len().iter_rows())
    values, missing = {}, {}
    for metric in rows["metric"].unique().cast(pl.String).sort().to_list():
        measured = rows.filter(pl.col("metric") == metric).select(*keys, "value", pl.lit(True).alias("is_measured"))
        column = index.join(measured, on=keys, how="left", maintain_order="left")
        absent = column["is_measured"].is_null().to_numpy()
        values[metric] = column["value"].fill_null(np.nan).to_numpy()
        if absent.any():
            missing[metric] = absent
    elapsed = index["elapsed_s"].fill_null(np.nan).to_numpy()
    is_timed = not np.isnan(elapsed).all()
    offsets = offsets_of([counts.get(trial_id, 0) for trial_id in trial_ids])
    return Curves(offsets, index["step"].to_numpy(), values, missing, elapsed if is_timed else None)
