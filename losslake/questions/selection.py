"""Which evaluations of which trials a question is about."""

from __future__ import annotations

from dataclasses import dataclass

from losslake.index.frontiers import COUNTED
from losslake.questions.errors import BadParameter
from losslake_schema.names import LARGEST_INTEGER, Workload
from losslake_schema.registry import DIRECTIONS
from losslake_schema.tables import STATUSES


@dataclass(frozen=True)
class Selection:
    """Evaluations of one metric in some workloads.

    direction: minimize or maximize; None: the metric's own.
    step_budget, example_budget: evaluations with step, or step times batch size, up to and including this count.
    trials: of each study, the first so many by trial_id among those with an admitted status; None: all of them.
    """

    workloads: tuple[Workload, ...]
    metric: str
    direction: str | None = None
    step_budget: int | None = None
    example_budget: int | None = None
    trials: int | None = None
    statuses: tuple[str, ...] = COUNTED

    def __post_init__(self) -> None:
        if not self.workloads:
            raise BadParameter("workload", "give at least one workload: collection/dataset/model/optimizer")
        if self.direction not in (None, *DIRECTIONS):
            raise BadParameter("direction", f"direction '{self.direction}' is neither minimize nor maximize")
        if not self.statuses or not set(self.statuses) <= set(STATUSES):
            raise BadParameter("status", f"status has to be one or more of {', '.join(STATUSES)}")
        for name, least in (("step_budget", 0), ("example_budget", 0), ("trials", 1)):
            count = getattr(self, name)
            if count is not None and not least <= count <= LARGEST_INTEGER:
                raise BadParameter(name, f"{name} {count} is out of range: give {least} or more, up to 2^63 - 1")
