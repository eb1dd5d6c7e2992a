"""The state of the page of a study, which is its URL."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from losslake.questions.parameters import Natural, Status
from losslake_schema.names import Study
from losslake_service.web.page import PageAsked, PageParameters
from losslake_service.web.studies.charts import StepAxis


class StudyParameters(PageParameters):
    """The state of the page."""

    metric: str | None = None
    """The metric of the goal and of the curves; default: that of the workload's first goal."""
    target: Annotated[float | None, Field(allow_inf_nan=False)] = None
    """The target; default: the workload's goal, else one that every batch size reaches."""
    axis: StepAxis = "linear"
    """Whether the curves have linear or logarithmic steps."""
    status: Status | None = None
    """Of the table only trials of this status; default: all."""
    reached: Literal["yes", "no"] | None = None
    """Of the table only trials that reached the target, or that didn't; default: all."""
    sort: str = "steps"
    """The column that the table is sorted by, descending with a minus before it."""
    page: Annotated[Natural, Field(ge=1)] = 1
    """Of the table."""

    def url(self, asked: PageAsked, study: Study, **changes: object) -> str:
        """The address of the page in this state, but for the changes; what is as by default is left out."""
        state = self.model_copy(update=changes)
        return asked.page_of(
            study, **dict(state.kept(*(name for name in type(self).model_fields if name != "release")))
        )

    def kept(self, *names: str) -> list[tuple[str, object]]:
        """What of these isn't as by default, for links and forms."""
        fields = type(self).model_fields
        return [(name, getattr(self, name)) for name in names if getattr(self, name) != fields[name].default]
