"""The chart that stands for a whole release, on the start page and where a page about no single workload unfolds."""

from __future__ import annotations

from losslake_service.web.chart import Chart
from losslake_service.web.first_look import FirstLook, first_look
from losslake_service.web.page import PageAsked
from losslake_service.web.workload.asked import WorkloadAsked
from losslake_service.web.workload.charts import scaling_chart


def first_chart(asked: PageAsked) -> Chart | None:
    """How the steps to a goal fall with the batch size; None for a release without anything to show."""
    look = first_look(asked.view)
    return scaling_chart(workload_of(asked, look)) if look is not None else None


def workload_of(asked: PageAsked, look: FirstLook) -> WorkloadAsked:
    """The workload that is looked at first, and its goal."""
    return WorkloadAsked(asked, asked.view.workload(look.workload), look.goal, is_told=False)
