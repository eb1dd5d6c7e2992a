"""The evidence that rules look at: the runs as sent, their trials in a draft, and what is stored beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake.questions.release.view import ReleaseView
from losslake_contributions.review.draft import Draft
from losslake_ingest.readers.recorded.folder import Spool
from losslake_schema.names import Study, Trial
from losslake_schema.reached import Floats, Integers

_COLUMNS = ["trial_id", "metric", "step", "value", "elapsed_s"]


@dataclass(frozen=True)
class Claim:
    """The claim that a metric of a run first reaches a target at a step."""

    run: str
    metric: str
    target: float
    steps: int


@dataclass(frozen=True)
class Curve:
    """The measurements of a metric of a trial, by ascending step. elapsed_s: NaN where unknown."""

    steps: Integers
    values: Floats
    elapsed_s: Floats


@dataclass
class Evidence:
    """The evidence of a submission.

    spools: by the name of the run, without private data. licence: that the submission states; empty: each run's own.
    base: the lake with what is stored; None on a client without one. cache: a folder for what is read of it.
    own_submissions: those of the same contributor; None on a client, which doesn't know them.
    """

    draft: Draft
    spools: Mapping[str, Spool]
    licence: str = ""
    claims: Sequence[Claim] = ()
    base: Lake | None = None
    cache: Path | None = None
    own_submissions: frozenset[str] | None = None
    _curves: dict[str, dict[str, Curve]] = field(default_factory=dict)
    _rows: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def curves(self, run: str) -> dict[str, Curve]:
        """Return the stored curves of a run by metric; none if it isn't stored."""
        trial = self.draft.trials.get(run)
        if trial is None or self.draft.after is None:
            return {}
        if run not in self._curves:
            self._read(trial.study)
        return self._curves.get(run, {})

    def _read(self, study: Study) -> None:
        """Read the curves of all runs of a study."""
        lake = self.draft.lake
        names = {trial.trial_id: run for trial, run in self.draft.names.items() if trial.study == study}
        self._curves |= {run: {} for run in names.values()}
        wanted = pa.array(sorted(names), pa.int64())
        tables = []
        for file in self._files:
            if file.table == "measurements" and file.study == study:
                rows = pq.ParquetFile(lake.store.open(file.path, file.bytes)).read(columns=_COLUMNS)
                tables.append(rows.filter(pc.is_in(rows["trial_id"], wanted)))
        if not tables:
            return
        table = pl.DataFrame(pa.concat_tables(tables)).with_columns(pl.col("metric").cast(pl.String))
        table = table.sort("trial_id", "metric", "step")
        columns = (table[name].fill_null(np.nan).to_numpy() for name in ("value", "elapsed_s"))
        steps, (values, elapsed_s) = table["step"].to_numpy(), columns
        lengths = table.group_by("trial_id", "metric", maintain_order=True).len()
        begin = 0
        for trial_id, metric, length in lengths.iter_rows():
            rows = slice(begin, begin + length)
            self._curves[names[trial_id]][metric] = Curve(steps[rows], values[rows], elapsed_s[rows])
            begin += length

    @cached_property
    def _files(self) -> Sequence[DataFile]:
        return self.draft.lake.files(self.draft.lake.release(self.draft.after))

    @cached_property
    def digests(self) -> Mapping[str, set[str]]:
        """The SHA-256 of the stored runs, as the ingest computes it."""
        if self.draft.after is None:
            return {}
        rows = read_small_table(self.draft.lake.store, self._files, "trials").to_pylist()
        names = self.draft.names
        return {names[trial]: {row["source_sha256"]} for row in rows if (trial := Trial.of(row)) in names}

    @cached_property
    def after(self) -> ReleaseView | None:
        """The draft's release with the runs; None if none is stored."""
        if self.draft.after is None:
            return None
        return self.draft.source.view(self.draft.after)

    @cached_property
    def before(self) -> ReleaseView | None:
        """The draft's release with stored workloads only; None without any."""
        if self.draft.before is None:
            return None
        return self.draft.source.view(self.draft.before)

    @cached_property
    def stored(self) -> ReleaseView | None:
        """The base release, opened for questions; None without one."""
        if self.base is None or self.draft.base is None:
            return None
        return ReleaseView.open(self.base, self.base.release(self.draft.base))

    @cached_property
    def stored_trials(self) -> pa.Table | None:
        """The table `trials` of the base release; None without one."""
        if self.base is None or self.draft.base is None:
            return None
        return read_small_table(self.base.store, self._stored_files, "trials")

    def stored_rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of another small table of the base release; none without one."""
        if self.base is None or self.draft.base is None:
            return []
        if table not in self._rows:
            self._rows[table] = read_small_table(self.base.store, self._stored_files, table).to_pylist()
        return self._rows[table]

    @cached_property
    def _stored_files(self) -> Sequence[DataFile]:
        assert self.base is not None
        return self.base.files(self.base.release(self.draft.base), partitioned=False)
