"""What every question needs to know of a workload: its studies and trials, in memory.

Names for the series of several workloads: what differs between them; what doesn't is said once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from losslake.index.records import Trials
from losslake.index.workload_file import OpenWorkload
from losslake.lake.store.store import DataFile
from losslake_schema.names import LARGEST_INTEGER, Workload
from losslake_schema.reached import Flags, Integers


@dataclass(frozen=True)
class WorkloadFacts:
    """A workload: its studies by ascending batch size, with consecutive study_id, and its trials, opened when needed.

    metrics: by study. open: opens its files, or finds them open. files: with the measurements of its study of an index.
    """

    workload: Workload
    first_study: int
    batch_sizes: tuple[int, ...]
    metrics: tuple[tuple[str, ...], ...]
    open: Callable[[], OpenWorkload]
    files: Callable[[int], Sequence[DataFile]]

    @property
    def opened(self) -> OpenWorkload:
        """Its files."""
        return self.open()

    @property
    def last_study(self) -> int:
        return self.first_study + len(self.batch_sizes) - 1

    @property
    def trials(self) -> Trials:
        """Its trials, in the order of study and trial_id."""
        return self.opened.trials.trials

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Trials of study i are rows offsets[i]:offsets[i+1] of trials."""
        return tuple(self.opened.trials.offsets.tolist())

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The metrics that any of its studies measures."""
        return tuple(sorted({metric for names in self.metrics for metric in names}))

    def rows_of(self, study: int) -> slice:
        """The rows of trials that belong to the study of that index."""
        return slice(self.offsets[study], self.offsets[study + 1])

    @cached_property
    def study_of_trial(self) -> Integers:
        """By trial, the index of its study."""
        return np.repeat(np.arange(len(self.batch_sizes)), np.diff(self.offsets))

    def sums_by_study(self, counts: Flags | Integers) -> Integers:
        """By study, the sum over its trials."""
        return np.bincount(self.study_of_trial, weights=counts, minlength=len(self.batch_sizes)).astype(np.int64)

    def first_least_by_study(self, candidates: Flags, *keys: npt.NDArray[Any]) -> Integers:
        """By study, the row of the candidate with the least keys, of equal ones the first; -1 without a candidate."""
        found = np.full(len(self.batch_sizes), -1, np.int64)
        studies, starts, sizes = self._filled
        if not len(studies):
            return found
        for key in keys:
            most = np.inf if key.dtype.kind == "f" else LARGEST_INTEGER
            left = np.where(candidates, key, most)
            candidates = candidates & (left == np.repeat(np.minimum.reduceat(left, starts), sizes))
        n = len(candidates)
        rows = np.minimum.reduceat(np.where(candidates, np.arange(n), n), starts)
        found[studies] = np.where(rows < n, rows, -1)
        return found

    def extreme_by_study(self, extreme: np.ufunc, values: Integers, empty: int) -> Integers:
        """By study, np.minimum or np.maximum over its trials; `empty` without trials."""
        found = np.full(len(self.batch_sizes), empty, np.int64)
        studies, starts, _ = self._filled
        if len(studies):
            found[studies] = extreme.reduceat(values, starts)
        return found

    @cached_property
    def _filled(self) -> tuple[Integers, Integers, Integers]:
        """The studies that have trials, where these begin, and how many there are."""
        sizes = np.diff(self.offsets)
        studies = np.flatnonzero(sizes)
        return studies, np.asarray(self.offsets)[studies], sizes[studies]


@dataclass(frozen=True)
class Labels:
    """common: what all the workloads share. own: what each has besides, by workload; empty texts for a single one."""

    common: str
    own: dict[str, str]


def workload_labels(workloads: Sequence[str]) -> Labels:
    """Labels of workloads, which are given as collection/dataset/model/optimizer."""
    parsed = [Workload.parse(workload) for workload in workloads]
    parts = [(each.collection, each.dataset, each.model, each.optimizer) for each in parsed]
    varies = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    common = "/".join(part for part, differs in zip(parts[0], varies, strict=True) if not differs) if parts else ""
    own = {
        workload: "/".join(part for part, differs in zip(each, varies, strict=True) if differs)
        for workload, each in zip(workloads, parts, strict=True)
    }
    return Labels(common, own)
