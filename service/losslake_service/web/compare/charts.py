"""The charts of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from losslake_service.web.addresses import Query
from losslake_service.web.chart import Chart
from losslake_service.web.compare.asked import CompareAsked
from losslake_service.web.compare.table import SizeShown
from losslake_service.web.statements import statement


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
