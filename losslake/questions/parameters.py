"""The parameters that several questions share: names, types, bounds and what they mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from losslake.analysis.crossings import CrossingRule
from losslake.analysis.goal_region import WITHIN
from losslake.output.rows import shown
from losslake.questions.confirmation import Crossing
from losslake.questions.selection import Goal, Selection, named_workload
from losslake_schema.names import LARGEST_INTEGER, natural_number
from losslake_schema.reached import Comparator

Status = Literal["COMPLETE", "INCOMPLETE", "INFEASIBLE"]
FormatName = Literal["json", "csv", "arrow", "parquet"]
WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
BATCH_UNIT = "batch_unit of the study, mostly examples"
MOST_PLACES = 200


def _natural(text: object) -> object:
    """A count as plain digits; pydantic alone would take 1_000 and 5.0."""
    if isinstance(text, str):
        value = natural_number(text)
        if value is None:
            raise ValueError(f"give a whole number from 0 to {LARGEST_INTEGER}, in digits")
        return value
    return text


Natural = Annotated[int, BeforeValidator(_natural)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
"""A tolerance, as a share of what it is over."""


def every_status() -> list[Status]:
    """The default of questions that are about trials of every status."""
    return [*get_args(Status)]


def _complete() -> list[Status]:
    return ["COMPLETE"]


class FormatParameters(BaseModel):
    """How the answer is written."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    format: Annotated[FormatName | None, shown("csv")] = None
    """How the answer is written; default: as the header Accept or the ending of the path (.csv) says, else JSON."""


class ReleaseParameters(FormatParameters):
    """Which release is asked."""

    release: Annotated[Natural | None, shown(1, ge=1)] = None
    """The release to ask, by number; default: the newest. An answer of a named release never changes."""


class PageParameters(FormatParameters):
    """Which rows of a list, in which order, and how much of them."""

    sort: Annotated[str, shown("-release")] = ""
    """Columns to sort by, separated by commas; a minus before one reverses it. NaN is greater than every number, and
    nulls come last either way. Rows that are alike in these are in the order of the list."""
    fields: Annotated[str, shown("release,created_at")] = ""
    """The columns to give, separated by commas; default: all."""
    limit: Annotated[Natural | None, shown(100, "rows", ge=1, le=100_000)] = None
    """Rows on a page. Default: 1,000 in JSON; no limit, so everything at once, in the other formats."""
    cursor: Annotated[str | None, shown("WzEsIjRmMjMiLFsiYnVuZGxlZCJdXQ")] = None
    """Where the page begins: next_cursor of the one before, or follow its Link header. It holds on to its release."""


class MetricParameters(ReleaseParameters):
    """Which trials count, and by which metric."""

    workload: Annotated[list[str], shown([WORKLOAD], min_length=1, max_length=MOST_PLACES)]
    """The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be repeated."""
    metric: Annotated[str, shown("val/classification_error")]
    """The metric: split/quantity."""
    direction: Annotated[Literal["minimize", "maximize"] | None, shown("minimize")] = None
    """Which way is better; default: the metric's own direction."""
    trials: Annotated[Natural | None, shown(50, "trials", ge=1)] = None
    """Of each study, only the first so many trials by trial_id among those of an admitted status; default: all."""
    status: Annotated[list[Status], shown(["COMPLETE"])] = Field(default_factory=_complete)
    """Only trials of this status; may be repeated. Default: COMPLETE."""

    def selection(self) -> Selection:
        """What these parameters select; raises BadParameter."""
        return Selection(
            workloads=tuple(dict.fromkeys(named_workload(path) for path in self.workload)),
            metric=self.metric,
            direction=self.direction,
            trials=self.trials,
            statuses=tuple(self.status),
        )


class SelectionParameters(MetricParameters):
    """Which evaluations of which trials count."""

    step_budget: Annotated[Natural | None, shown(1000, "steps")] = None
    """Only evaluations at this step or before."""
    example_budget: Annotated[Natural | None, shown(100000, BATCH_UNIT)] = None
    """Only evaluations after at most this many examples: step times batch size."""

    def selection(self) -> Selection:
        """What these parameters select; raises BadParameter."""
        return replace(super().selection(), step_budget=self.step_budget, example_budget=self.example_budget)


class ComparatorParameters(SelectionParameters):
    """What reaches a target?"""

    comparator: Annotated[Comparator, shown("inclusive")] = "strict"
    """strict: only what is better than the target reaches it; inclusive: also what equals it."""


class BatchSizeParameters(BaseModel):
    """Trials of which batch sizes?"""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    batch_size: Annotated[list[Natural], shown([64], BATCH_UNIT, max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only trials of this batch size, which every workload has to have; may be repeated. Default: all."""


class GoalParameters(ComparatorParameters):
    """When is a target reached?"""

    target: Annotated[float, shown(0.05, "unit of the metric", allow_inf_nan=False)]
    """The target, in the metric's unit. NaN and infinities never reach it."""

    def goal(self) -> Goal:
        """The goal these parameters set."""
        return Goal(self.target, self.comparator)


class WithinParameters(GoalParameters):
    """Which trials are near-optimal?"""

    within: Annotated[Share, shown(0.1, "none: a ratio")] = WITHIN
    """Trials are near-optimal whose steps are at most 1 + within times those of the best of their study."""


class CrossingParameters(GoalParameters):
    """Which hit of the target counts?"""

    crossing: Annotated[CrossingRule, shown("sustained")] = "first"
    """Which hit the columns `confirmed_…` are about: the first, which may be a lucky dip of a noisy curve; the first of
    k_consecutive hits; or the first after which all are hits, sustained. The last two read the curves: some time more.
    """
    k: Annotated[Natural | None, shown(3, "evaluations", ge=1)] = None
    """With crossing=k_consecutive: how many hits in a row; default: 2. Values that are no numbers are left out."""

    def crossing_rule(self) -> Crossing:
        """Which hit is the crossing; raises BadParameter."""
        return Crossing(self.crossing, self.k)


def is_of_one_workload(parameters: SelectionParameters) -> bool:
    """Whether it is of one, and in the direction for which records are there."""
    return len(parameters.workload) == 1 and parameters.direction is None
