"""Bring the sources of one ingest together, so that nothing that is stored gets lost through a fault of an offer.

Stored trials that an offer lacks through a fault are carried over into the next version of their study.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.data_files import stored_table, with_values
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.changes import StudyChange, WrittenPart, packed
from losslake_ingest.gather import Stored
from losslake_ingest.offer import Offer
from losslake_ingest.publish import discard
from losslake_ingest.study import Curves, offsets_of
from losslake_ingest.write import write_curves
from losslake_schema.names import Study


def bring_together(store: Store, stored: Stored, offers: Sequence[Offer]) -> dict[Study, StudyChange]:
    """Return the changes of all offers; of a study that several offer, the last counts.

    A study that is offered anew replaces the stored one. But a stored trial stays when its new version is quarantined,
    and all stored trials stay that a broken source did not get to. Single runs are added to the stored ones.
    """
    changes: dict[Study, StudyChange] = {}
    may_stay: dict[Study, set[int] | None] = {}  # the stored trials that are kept if they aren't offered; None: all
    for offer in offers:
        for study, change in offer.changes.items():
            earlier = changes.get(study)
            if earlier is not None and earlier.adds and change.adds:
                change.parts[:0] = earlier.parts
                change.source_files = {**earlier.source_files, **change.source_files}
            elif earlier is not None:
                discard(store, earlier.written)
            refused = {q.trial_id for q in offer.quarantined if q.study == str(study) and q.trial_id is not None}
            change.n_quarantined = len(refused - change.trial_ids)
            if offer.broken is not None and study in stored.studies("source_digest"):
                change.source_files["(the source broke off)"] = ""
            is_incomplete = change.adds or offer.broken is not None or study in offer.unchanged
            may_stay[study] = None if is_incomplete else refused
            changes[study] = change
    for study, change in changes.items():
        if study in stored.studies("source_digest"):
            _carry_over(store, stored.files, change, may_stay[study])
    for study in [study for study, change in changes.items() if not change.trial_ids]:
        discard(store, changes.pop(study).written)
    return changes


def _carry_over(store: Store, files: Sequence[DataFile], change: StudyChange, may_stay: set[int] | None) -> None:
    """Write the stored trials anew that may stay and aren't offered, as a part of the study's next version."""
    table = stored_table(store, files, "trials")
    condition = ~pc.field("trial_id").isin(pa.array(sorted(change.trial_ids), pa.int64()))
    if may_stay is not None:
        condition &= pc.field("trial_id").isin(pa.array(sorted(may_stay), pa.int64()))
    for key, value in change.study.key().items():
        condition &= pc.field(key) == value
    trials = table.filter(condition).sort_by("trial_id")
    if trials.num_rows:
        measurements = [file for file in files if file.table == "measurements" and file.study == change.study]
        trial_ids: list[int] = trials["trial_id"].to_pylist()
        curves = stored_curves(store, measurements, trial_ids)
        written = write_curves(store, change.study, trial_ids, curves)
        facts = change.parts[0].facts
        change.parts.append(WrittenPart(facts, packed(trials), written, frozenset(curves.values), (), is_carried=True))


def stored_curves(store: Store, measurements: Collection[DataFile], trial_ids: Collection[int]) -> Curves:
    """Return the curves of some trials of a study, in their order, from all files of its measurements."""
    wanted = pa.array(sorted(trial_ids), pa.int64())
    tables = []
    for file in measurements:
        rows = pq.ParquetFile(store.open(file.path, file.bytes)).read()
        tables.append(rows.filter(pc.is_in(rows["trial_id"], wanted)))
    return _curves(pl.DataFrame(with_values(pa.concat_tables(tables))), trial_ids)


def _curves(rows: pl.DataFrame, trial_ids: Collection[int]) -> Curves:
    """Tidy measurements as curves, in the order of trial_ids."""
    keys = ["trial_id", "step"]
    index = rows.group_by(keys).agg(pl.col("elapsed_s").first()).sort(keys)
    counts = dict(index.group_by("trial_id").len().iter_rows())
    values, missing = {}, {}
    for metric in rows["metric"].unique().cast(pl.String).sort().to_list():
        measured = rows.filter(pl.col("metric") == metric).select(*keys, "value", pl.lit(True).alias("here"))
        column = index.join(measured, on=keys, how="left", maintain_order="left")
        absent = column["here"].is_null().to_numpy()
        values[metric] = column["value"].fill_null(np.nan).to_numpy()
        if absent.any():
            missing[metric] = absent
    elapsed = index["elapsed_s"].fill_null(np.nan).to_numpy()
    is_timed = not np.isnan(elapsed).all()
    offsets = offsets_of([counts.get(trial_id, 0) for trial_id in trial_ids])
    return Curves(offsets, index["step"].to_numpy(), values, missing, elapsed if is_timed else None)
