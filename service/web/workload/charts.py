"""The charts and answers of the page that are about the goal."""

from __future__ import annotations

from service.web.addresses import Query, with_query
from service.web.chart import Chart
from service.web.statements import statement
from service.web.workload.asked import WorkloadAsked


def scaling_chart(asked: WorkloadAsked) -> Chart:
    """Steps to the target by batch size."""
    workload, goal = asked.workload, asked.goal
    # The macro behind the statement takes the metric's own direction.
    sql = (
        ""
        if asked.is_told
        else statement(
            "steps_to_result",
            metric=goal.metric,
            target=goal.target,
            collection=workload.collection,
            dataset=workload.dataset,
            model=workload.model,
            optimizer=workload.optimizer,
        )
    )
    return _chart(asked, "scaling", asked.goal_query, f"Steps to {goal.text} by batch size", sql=sql)


def target_sweep_chart(asked: WorkloadAsked) -> Chart:
    """The ends of the regimes and the critical batch size, by target."""
    return _chart(asked, "target-sweep", asked.metric_query, f"Regimes by target of {asked.goal.metric}")


def metaparameters_chart(asked: WorkloadAsked) -> Chart:
    """The best learning rates by batch size."""
    return _chart(asked, "metaparameters", asked.goal_query, f"Best learning rates for {asked.goal.text} by batch size")


def tuning_budget_chart(asked: WorkloadAsked) -> Chart:
    """The steps that the best of n trials takes."""
    return _chart(
        asked, "tuning-budget", asked.goal_query, f"Steps to {asked.goal.text} of the best of n trials, by batch size"
    )


def estimates_address(asked: WorkloadAsked) -> str:
    """The answer with all estimates of the critical batch size."""
    query = [*asked.goal_query, ("release", str(asked.page.view.number))]
    return with_query("/v1/analysis/critical-batch-size.json", query)


def _chart(asked: WorkloadAsked, kind: str, query: Query, title: str, sql: str = "") -> Chart:
    return Chart(
        name=kind,
        kind=kind,
        query=query,
        release=asked.page.view.number,
        title=f"{title}, {asked.workload}",
        address=asked.page.address,
        sql=sql,
    )
