"""The page of a workload: how many steps it takes to a target, by batch size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from schema.names import Workload
from service.named import named_workload
from service.web.chart import Chart
from service.web.goals import GoalShown, goal_shown
from service.web.page import Crumb, Page, PageAsked, PageKind, PageParameters
from service.web.statements import statement


class WorkloadParameters(PageParameters):
    """The state of the page."""

    metric: str | None = None
    """The metric of the goal; default: that of the workload's first goal."""
    target: Annotated[float | None, Field(allow_inf_nan=False)] = None
    """The target; default: the workload's goal, else one that every batch size reaches."""


@dataclass(frozen=True)
class WorkloadShown:
    """What the template shows."""

    workload: Workload
    goal: GoalShown
    scaling: Chart


def workload_page(asked: PageAsked) -> Page:
    """The page of the workload that the path names; raises BadParameter and UnknownName."""
    workload = named_workload(asked.name)
    goal = goal_shown(asked.view, asked.view.workload(workload), asked.parameters.metric, asked.parameters.target)
    scaling = scaling_of(asked, workload, goal)
    return Page(
        template="workload.html",
        title=f"{workload.model} on {workload.dataset} with {workload.optimizer}",
        description=f"Steps to {goal.text} by batch size, with regimes of scaling, for the workload {workload}.",
        url=asked.page_of(workload, metric=asked.parameters.metric, target=asked.parameters.target),
        content=WorkloadShown(workload, goal, scaling),
        picture=scaling,
        above=(Crumb("Workloads", asked.url("/workloads")),),
        data=scaling.data("json"),
    )


def scaling_of(asked: PageAsked, workload: Workload, goal: GoalShown) -> Chart:
    """The scaling chart of a workload."""
    names = {
        "collection": workload.collection,
        "dataset": workload.dataset,
        "model": workload.model,
        "optimizer": workload.optimizer,
    }
    return Chart(
        name="scaling",
        kind="scaling",
        query=[("workload", str(workload)), ("metric", goal.metric), ("target", repr(goal.target))],
        release=asked.view.number,
        title=f"Steps to {goal.text} by batch size, {workload}",
        address=asked.address,
        sql=statement("steps_to_result", metric=goal.metric, target=goal.target, **names),
    )


WORKLOAD = PageKind("/workloads/{name:path}", WorkloadParameters, workload_page)
