"""The state of the page of a study, which is its URL.

The batch sizes of a workload, to go from one study to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from losslake.questions.parameters import Natural, Status
from losslake.questions.workload_facts import WorkloadFacts
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


_MOST_SIZES = 40


@dataclass(frozen=True)
class Size:
    """A batch size. url: of the page of its study, with the same goal."""

    batch_size: int
    url: str


@dataclass(frozen=True)
class Sizes:
    """near: batch sizes around this one, ascending, n_all of them in the workload. before, after: next to this one."""

    near: Sequence[Size]
    n_all: int
    before: Size | None
    after: Size | None


def sizes_of(asked: PageAsked, facts: WorkloadFacts, study: int, state: StudyParameters) -> Sizes:
    """The batch sizes beside the study of that index."""
    goal = {"metric": state.metric, "target": state.target}
    found = [
        Size(batch_size, asked.page_of(Study(facts.workload, batch_size), **goal)) for batch_size in facts.batch_sizes
    ]
    first = max(0, min(study - _MOST_SIZES // 2, len(found) - _MOST_SIZES))
    return Sizes(
        near=found[first : first + _MOST_SIZES],
        n_all=len(found),
        before=found[study - 1] if study else None,
        after=found[study + 1] if study + 1 < len(found) else None,
    )
