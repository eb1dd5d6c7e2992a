"""A chart to stand for pages that are about no workload in particular."""

from __future__ import annotations

from service.examples import Example
from service.web.chart import Chart
from service.web.page import PageAsked


def example_chart(asked: PageAsked, found: Example | None) -> Chart | None:
    """How the steps to a goal fall with the batch size, of a workload of the release; None without data."""
    if found is None:
        return None
    metric = asked.view.metrics[found.metric]
    goal = f"{found.metric} {'<' if metric.direction == 'minimize' else '>'} {found.target:g}"
    return Chart(
        name="scaling",
        kind="scaling",
        query=[("workload", str(found.workload)), ("metric", found.metric), ("target", repr(found.target))],
        release=asked.view.number,
        title=f"Steps to {goal} by batch size, {found.workload}",
        address=asked.address,
    )
