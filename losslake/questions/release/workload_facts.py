"""The studies and trials of a workload, in memory.

Names for the series of several workloads: what differs between them; what doesn't is said once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from losslake.index.measurement_files import MeasurementFile
from losslake.index.records import Trials
from losslake.index.workload_file import OpenWorkload
from losslake.questions.release.known_names import labels_of
from losslake_schema.names import CHANGES, LARGEST_INTEGER, Workload
from losslake_schema.reached import Flags, Integers

CONVERGED = "val/converged"
"""The metric of runs of which only the point of convergence is published: 1 from there on."""


@dataclass(frozen=True)
class WorkloadFacts:
    """A workload with its studies, by ascending batch size and consecutive study_id, and its trials.

    batch_sizes: CHANGES for the study of the trials whose batch size changes.

    metrics: by study. open: opens its files, or finds them open. files: with the measurements of its study of an index.
    """

    workload: Workload
    first_study: int
    batch_sizes: tuple[int, ...]
    metrics: tuple[tuple[str, ...], ...]
    open: Callable[[], OpenWorkload]
    files: Callable[[int], Sequence[MeasurementFile]]

    def parts(self) -> Iterator[tuple[int, slice, WorkloadFacts, int]]:
        """Yield for each stored study the study here and the rows of trials, and its workload and study there."""
        for study in range(len(self.batch_sizes)):
            yield study, self.rows_of(study), self, study

    @property
    def has_schedules(self) -> bool:
        """True if it has trials whose batch size changes: those of its first study."""
        return self.batch_sizes[:1] == (CHANGES,)

    @property
    def fixed_sizes(self) -> tuple[int, ...]:
        """The batch sizes, ascending, without that of the trials that change theirs."""
        return self.batch_sizes[1:] if self.has_schedules else self.batch_sizes

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The stored workloads whose trials these are: this one, or those of a pool."""
        return (self.workload,)

    def workloads_of(self, rows: Integers) -> pa.Array | None:
        """Return the names of the workloads of these trials, null for NEVER; None if all are of this workload."""
        return None

    @property
    def opened(self) -> OpenWorkload:
        """The open files of the workload."""
        return self.open()

    @property
    def study_ids(self) -> dict[str, int]:
        """The first and the last study_id, as statements about a range of studies take them."""
        return {"first_study": self.first_study, "last_study": self.first_study + len(self.batch_sizes) - 1}

    @property
    def trials(self) -> Trials:
        """The trials, by study and trial_id."""
        return self.opened.trials.trials

    @property
    def drawn_as_wholes(self) -> Integers:
        """By trial, a number that trials of a study share which are drawn as a whole: those of one setting."""
        return self.trials.setting

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Trials of study i are rows offsets[i]:offsets[i+1] of trials."""
        return tuple(self.opened.trials.offsets.tolist())

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The metrics that any study measures."""
        return tuple(sorted({metric for names in self.metrics for metric in names}))

    @property
    def is_reference(self) -> bool:
        """True if only points of convergence are known: such runs are drawn beside others, and have no curves."""
        return self.measured == (CONVERGED,)

    def measures(self, metric: str) -> Flags:
        """Return by trial True if its study measures the metric."""
        is_measured: Flags = np.array([metric in names for names in self.metrics], np.bool_)[self.study_of_trial]
        return is_measured

    def rows_of(self, study: int) -> slice:
        """Return the rows of trials that belong to the study of that index."""
        return slice(self.offsets[study], self.offsets[study + 1])

    def of_batch_sizes(self, batch_sizes: Collection[int]) -> Flags:
        """Return by trial True if its batch size is one of these."""
        chosen = frozenset(batch_sizes)  # not np.isin: of few, it takes ten times as long
        is_one: Flags = np.array([size in chosen for size in self.batch_sizes], np.bool_)[self.study_of_trial]
        return is_one

    def rows_where(self, flags: Flags) -> list[Integers]:
        """Return by study the rows of its trials whose flag is True. flags: by trial."""
        rows = np.flatnonzero(flags)
        return np.split(rows, np.searchsorted(rows, self.offsets))[1:-1]

    @cached_property
    def study_of_trial(self) -> Integers:
        """The index of the study, by trial."""
        return np.repeat(np.arange(len(self.batch_sizes)), np.diff(self.offsets))

    def sums_by_study(self, counts: Flags | Integers) -> Integers:
        """Return the sum over the trials of each study."""
        return np.bincount(self.study_of_trial, weights=counts, minlength=len(self.batch_sizes)).astype(np.int64)

    def first_least_by_study(self, candidates: Flags, *keys: npt.NDArray[Any]) -> Integers:
        """Return by study the row of the candidate with the least keys, the first of equal ones; -1 for none."""
        result = np.full(len(self.batch_sizes), -1, np.int64)
        studies, starts, sizes = self._filled
        if not len(studies):
            return result
        for key in keys:
            most = np.inf if key.dtype.kind == "f" else LARGEST_INTEGER
            keys_kept = np.where(candidates, key, most)
            candidates = candidates & (keys_kept == np.repeat(np.minimum.reduceat(keys_kept, starts), sizes))
        n = len(candidates)
        rows = np.minimum.reduceat(np.where(candidates, np.arange(n), n), starts)
        result[studies] = np.where(rows < n, rows, -1)
        return result

    def extreme_by_study(self, extreme: np.ufunc, values: Integers, empty: int) -> Integers:
        """Return by study np.minimum or np.maximum over its trials; `empty` without trials."""
        result = np.full(len(self.batch_sizes), empty, np.int64)
        studies, starts, _ = self._filled
        if len(studies):
            result[studies] = extreme.reduceat(values, starts)
        return result

    @cached_property
    def _filled(self) -> tuple[Integers, Integers, Integers]:
        """The studies that have trials, the first row of each, and their numbers of trials."""
        sizes = np.diff(self.offsets)
        studies = np.flatnonzero(sizes)
        return studies, np.asarray(self.offsets)[studies], sizes[studies]


@dataclass(frozen=True)
class Labels:
    """Names for workloads.

    common: what all of them share, as stored. short: what sets each apart, as people write it; empty for a single one.
    """

    common: str
    short: dict[str, str]


def workload_labels(workloads: Sequence[str]) -> Labels:
    """Return labels of workloads, which are given as collection/dataset/model/optimizer."""
    parsed = [Workload.parse(workload) for workload in workloads]
    parts = [(each.collection, each.dataset, each.model, each.optimizer) for each in parsed]
    varies = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    common = "/".join(part for part, differs in zip(parts[0], varies, strict=True) if not differs) if parts else ""
    apart = labels_of(parsed)[1] if any(varies) else [""] * len(parsed)
    return Labels(common, dict(zip(workloads, apart, strict=True)))
