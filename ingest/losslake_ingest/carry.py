"""Carrying stored trials over into the next version of their study, where the offer lacks them through a fault.

Bringing the sources of one ingest together, so that nothing that is stored gets lost through a fault of an offer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.data_files import stored_table, with_values
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.changes import StudyChange, WrittenPart, packed
from losslake_ingest.offer import Offer
from losslake_ingest.publish import discard
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


def bring_together(
    lake: Lake, files: Sequence[DataFile], offers: Sequence[Offer], stored: Mapping[Study, str]
) -> dict[Study, StudyChange]:
    """The changes of all offers; of a study that several offer, the last counts.

    A study that is offered anew replaces the stored one. But a stored trial stays when its new version is quarantined,
    and all stored trials stay that a broken source did not get to. Single runs come beside the stored ones.
    """
    changes: dict[Study, StudyChange] = {}
    may_be_incomplete: dict[Study, bool] = {}
    refusals: dict[Study, set[int]] = {}
    for offer in offers:
        for study, change in offer.changes.items():
            earlier = changes.get(study)
            if earlier is not None and earlier.adds and change.adds:
                change.parts[:0] = earlier.parts
                change.source_files = {**earlier.source_files, **change.source_files}
            elif earlier is not None:
                discard(lake.store, earlier.written)
            refused = {q.trial_id for q in offer.quarantined if q.study == str(study) and q.trial_id is not None}
            change.n_quarantined = len(refused - change.trial_ids)
            if offer.broken is not None and study in stored:
                change.source_files["(the source broke off)"] = ""
            may_be_incomplete[study] = change.adds or offer.broken is not None or study in offer.unchanged
            refusals[study] = refused
            changes[study] = change
    for study, change in changes.items():
        if study in stored:
            refused_ids = None if may_be_incomplete[study] else refusals[study]
            _keep_stored(lake, files, change, change.trial_ids, refused_ids)
    for study in [study for study, change in changes.items() if not change.trial_ids]:
        discard(lake.store, changes.pop(study).written)
    return changes


def _keep_stored(
    lake: Lake, files: Sequence[DataFile], change: StudyChange, offered: set[int], refused: set[int] | None
) -> None:
    """Add the stored trials that are not offered; only those among `refused`, if that is given."""
    stored_ids = set(stored_trials(lake.store, files, change.study)["trial_id"].to_pylist())
    kept = stored_ids - offered if refused is None else (stored_ids & refused) - offered
    if kept:
        change.parts.append(carry_over(lake.store, files, change.parts[0].facts, kept))
