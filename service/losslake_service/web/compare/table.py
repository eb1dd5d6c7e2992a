"""The comparison as a table: by batch size, what each workload takes, and whether that differs from the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from losslake.output.answer import Answer
from losslake_schema.names import Study, Workload
from losslake_service.web.compare.asked import CompareAsked

_IN_WORDS: Mapping[str, str] = {
    "fewer": "fewer steps",
    "more": "more steps",
    "not told": "no difference can be told",
    "too few trials": "too few trials to tell",
    "neither reaches": "neither reaches it",
}


@dataclass(frozen=True)
class WorkloadAtSize:
    """A workload at a batch size.

    url: of its study, with the goal; empty where it has none. steps: of the best of all trials; None if none reached.
    median_steps: of the best of `budget` trials. ratio: to the baseline's; difference: in words.
    """

    url: str
    steps: int | None
    median_steps: int | None
    budget: int | None
    ratio: float | None
    lower: float | None
    upper: float | None
    difference: str
    is_told: bool
    n_trials: int
    n_reached: int


@dataclass(frozen=True)
class SizeShown:
    """A batch size; workloads in the order of the page."""

    batch_size: int
    workloads: tuple[WorkloadAtSize, ...]


def sizes_shown(asked: CompareAsked, answer: Answer) -> tuple[SizeShown, ...]:
    """A line for each batch size. answer: that of /v1/analysis/compare."""
    rows = {(row["batch_size"], row["workload"]): row for row in answer.table().to_pylist()}
    sizes = sorted({size for size, _ in rows})
    return tuple(
        SizeShown(
            size, tuple(_at(asked, workload, size, rows.get((size, str(workload)))) for workload in asked.workloads)
        )
        for size in sizes
    )


def _at(asked: CompareAsked, workload: Workload, size: int, row: Mapping[str, Any] | None) -> WorkloadAtSize:
    if row is None:
        return WorkloadAtSize("", None, None, None, None, None, None, "", False, 0, 0)
    study = Study(workload, size)
    return WorkloadAtSize(
        url=asked.page.page_of(study, metric=asked.goal.metric, target=asked.goal.target),
        steps=row["steps"],
        median_steps=row["median_steps"],
        budget=row["budget"],
        ratio=row["steps_ratio"] if workload != asked.baseline else None,
        lower=row["steps_ratio_lower"],
        upper=row["steps_ratio_upper"],
        difference=_IN_WORDS.get(row["difference"] or "", ""),
        is_told=row["difference"] in ("fewer", "more"),
        n_trials=row["n_trials"],
        n_reached=row["n_reached"],
    )
