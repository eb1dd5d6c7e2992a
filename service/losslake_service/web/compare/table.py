"""The comparison as a table: by batch size, what each workload takes, and whether that differs from the baseline.

The charts of a comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from losslake.output.answer import Answer
from losslake_schema.names import Study, Workload
from losslake_service.web.chart import Chart
from losslake_service.web.compare.compared import CompareAsked
from losslake_service.web.schema_tables import statement
from losslake_service.web.templates import Query

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


def scaling_chart(asked: CompareAsked, sizes: Sequence[SizeShown]) -> Chart:
    """Steps to the target by batch size, a series for each workload; relative ones where that is asked and can be."""
    start = relative_to(sizes)
    is_relative = asked.parameters.scale == "relative" and start is not None
    query = [*asked.goal_query, *([("normalize_to", str(start))] if is_relative else [])]
    what = f"Steps to {asked.goal.text}"
    if is_relative:
        what += f", relative to those at batch size {start}"
    return _chart(asked, "scaling", query, f"{what}, by batch size", "results_of_workloads")


def relative_to(sizes: Sequence[SizeShown]) -> int | None:
    """The smallest batch size at which every workload reaches the target after some step; None without any."""
    return next((size.batch_size for size in sizes if all(each.steps for each in size.workloads)), None)


def ratio_chart(asked: CompareAsked) -> Chart:
    """The ratio of steps to those of the baseline, by batch size."""
    title = f"Steps to {asked.goal.text}, relative to {asked.baseline}, by batch size"
    return _chart(asked, "ratio", asked.compare_query, title, "trials_of_workloads", is_behind=True)


def profile_chart(asked: CompareAsked) -> Chart:
    """How often each is within a factor of the best."""
    title = f"Performance profile: how often each reaches {asked.goal.text} within a factor of the fewest steps"
    return _chart(asked, "profile", asked.goal_query, title, "trials_of_workloads", is_behind=True)


def _chart(asked: CompareAsked, kind: str, query: Query, title: str, sql: str, is_behind: bool = False) -> Chart:
    workloads = tuple((each.collection, each.dataset, each.model, each.optimizer) for each in asked.workloads)
    return Chart(
        name=kind,
        kind=kind,
        query=query,
        release=asked.page.view.number,
        title=title,
        address=asked.page.address,
        sql=statement(sql, metric=asked.goal.metric, target=asked.goal.target, workloads=workloads),
        is_sql_behind=is_behind,
    )
