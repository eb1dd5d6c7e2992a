"""The evidence that rules look at: the runs as sent, their trials in a draft, and what is stored beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake.questions.release.view import ReleaseView
from losslake_contributions.drafts.draft import Draft
from losslake_contributions.spools.spool import Spool
from losslake_ingest.pipeline.offer import stored_curves
from losslake_schema.names import Trial
from losslake_schema.reached import Floats, Integers


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
    base: the lake with what is stored; None on a client without one.
    """

    draft: Draft
    spools: Mapping[str, Spool]
    licence: str = ""
    claims: Sequence[Claim] = ()
    base: Lake | None = None
    _curves: dict[str, dict[str, Curve]] = field(default_factory=dict)

    def curves(self, run: str) -> dict[str, Curve]:
        """Return the stored curves of a run by metric; none if it isn't stored."""
        trial = self.draft.trials.get(run)
        if trial is None or self.draft.after is None:
            return {}
        if run not in self._curves:
            self._curves[run] = self._read(trial)
        return self._curves[run]

    def _read(self, trial: Trial) -> dict[str, Curve]:
        lake = self.draft.lake
        files = [each for each in self._files if each.table == "measurements" and each.study == trial.study]
        curves = stored_curves(lake.store, files, [trial.trial_id])
        elapsed = curves.elapsed_s if curves.elapsed_s is not None else np.full(len(curves.steps), np.nan)
        read: dict[str, Curve] = {}
        for metric, values in curves.values.items():
            missing = curves.missing.get(metric)
            rows = ~missing if missing is not None else np.ones(len(values), np.bool_)
            if rows.any():
                read[metric] = Curve(curves.steps[rows], values[rows], elapsed[rows])
        return read

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
        return ReleaseView.open(self.draft.lake, self.draft.lake.release(self.draft.after))

    @cached_property
    def before(self) -> ReleaseView | None:
        """The draft's release with stored workloads only; None without any."""
        if self.draft.before is None:
            return None
        return ReleaseView.open(self.draft.lake, self.draft.lake.release(self.draft.before))

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
        files = self.base.files(self.base.release(self.draft.base), partitioned=False)
        return read_small_table(self.base.store, files, "trials")
