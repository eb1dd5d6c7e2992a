"""The parameters of the REST paths: names, types, bounds and what they mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from losslake.analysis.crossings import CrossingRule
from losslake.analysis.goal_region import WITHIN
from losslake.questions.confirmation import Crossing
from losslake.questions.curves import LEAST_POINTS, CurveQuestion
from losslake.questions.errors import BadParameter
from losslake.questions.scaling import MOST_TARGETS, target_grid
from losslake.questions.selection import Goal, Selection, named_study, named_trial, named_workload
from losslake_schema.names import LARGEST_INTEGER, natural_number
from losslake_schema.reached import Comparator

Status = Literal["COMPLETE", "INCOMPLETE", "INFEASIBLE"]
FormatName = Literal["json", "csv", "arrow", "parquet"]
WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
MOST_PLACES = 200


def _natural(text: object) -> object:
    """A count as plain digits; pydantic alone would take 1_000 and 5.0."""
    if isinstance(text, str):
        value = natural_number(text)
        if value is None:
            raise ValueError(f"give a whole number from 0 to {LARGEST_INTEGER}, in digits")
        return value
    return text


def _complete() -> list[Status]:
    return ["COMPLETE"]


Natural = Annotated[int, BeforeValidator(_natural)]


def unit(of_measure: str) -> dict[str, Any]:
    """What OpenAPI says of a parameter beyond its type."""
    return {"x-unit": of_measure}


class FormatParameters(BaseModel):
    """How the answer is written."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    format: Annotated[FormatName | None, Field(examples=["csv"])] = None
    """How the answer is written; default: as the header Accept or the ending of the path (.csv) says, else JSON."""


class ReleaseParameters(FormatParameters):
    """Which release is asked."""

    release: Annotated[Natural | None, Field(ge=1, examples=[1])] = None
    """The release to ask, by number; default: the newest. An answer of a named release never changes."""


class PageParameters(FormatParameters):
    """Which rows of a list, in which order, and how much of them."""

    sort: Annotated[str, Field(examples=["-release"])] = ""
    """Columns to sort by, separated by commas; a minus before one reverses it. NaN is greater than every number, and
    nulls come last either way. Rows that are alike in these are in the order of the list."""
    fields: Annotated[str, Field(examples=["release,created_at"])] = ""
    """The columns to give, separated by commas; default: all."""
    limit: Annotated[Natural | None, Field(ge=1, le=100_000, examples=[100], json_schema_extra=unit("rows"))] = None
    """Rows on a page. Default: 1,000 in JSON; no limit, so everything at once, in the other formats."""
    cursor: Annotated[str | None, Field(examples=["WzEsIjRmMjMiLFsiYnVuZGxlZCJdXQ"])] = None
    """Where the page begins: next_cursor of the one before, or follow its Link header. It holds on to its release."""


class ListParameters(ReleaseParameters, PageParameters):
    """Which rows of a list of a release."""


class PlacedListParameters(ListParameters):
    """A list of what belongs to workloads."""

    workload: Annotated[list[str], Field(default_factory=list, max_length=MOST_PLACES, examples=[[WORKLOAD]])]
    """Only rows of this workload: collection/dataset/model/optimizer; may be repeated."""


class TrialListParameters(PlacedListParameters):
    """A list of trials."""

    study: Annotated[list[str], Field(default_factory=list, max_length=MOST_PLACES, examples=[[f"{WORKLOAD}/64"]])]
    """Only trials of this study: collection/dataset/model/optimizer/batch_size; may be repeated."""


class CurvesParameters(ReleaseParameters):
    """Which curves are given: of either trials or studies."""

    trial: Annotated[list[str], Field(default_factory=list, max_length=MOST_PLACES, examples=[[f"{WORKLOAD}/64/1"]])]
    """The curve of this trial: collection/dataset/model/optimizer/batch_size/trial_id; may be repeated."""
    study: Annotated[list[str], Field(default_factory=list, max_length=MOST_PLACES, examples=[[f"{WORKLOAD}/64"]])]
    """The curves of all trials of this study: collection/dataset/model/optimizer/batch_size; may be repeated."""
    metric: Annotated[list[str], Field(default_factory=list, examples=[["val/classification_error"]])]
    """Only this metric, split/quantity; may be repeated. Default: all that the study measures."""
    step_min: Annotated[Natural, Field(examples=[100], json_schema_extra=unit("steps"))] = 0
    """Only evaluations at this step or after."""
    step_max: Annotated[Natural, Field(examples=[2000], json_schema_extra=unit("steps"))] = LARGEST_INTEGER
    """Only evaluations at this step or before."""
    every: Annotated[Natural, Field(ge=1, examples=[10], json_schema_extra=unit("evaluations"))] = 1
    """Of each trial's evaluations of a metric only the first, and each that follows after so many."""
    points: Annotated[Natural | None, Field(ge=LEAST_POINTS, examples=[400], json_schema_extra=unit("evaluations"))] = (
        None
    )
    """Thin for a plot, to about so many evaluations a trial and metric: M4 and every record, so no crossing moves."""
    axis: Annotated[Literal["linear", "log"], Field(examples=["log"])] = "linear"
    """With points: whether the plot's steps are linear or logarithmic."""

    def question(self) -> CurveQuestion:
        """The question these parameters ask."""
        return CurveQuestion(
            studies=tuple(named_study(path) for path in self.study),
            trials=tuple(named_trial(path) for path in self.trial),
            metrics=tuple(self.metric),
            step_min=self.step_min,
            step_max=self.step_max,
            every=self.every,
            points=self.points,
            is_log=self.axis == "log",
        )


class MetricParameters(ReleaseParameters):
    """Which trials count, and by which metric."""

    workload: Annotated[list[str], Field(min_length=1, max_length=MOST_PLACES, examples=[[WORKLOAD]])]
    """The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be repeated."""
    metric: Annotated[str, Field(examples=["val/classification_error"])]
    """The metric: split/quantity."""
    direction: Annotated[Literal["minimize", "maximize"] | None, Field(examples=["minimize"])] = None
    """Which way is better; default: the metric's own direction."""
    trials: Annotated[Natural | None, Field(ge=1, examples=[50], json_schema_extra=unit("trials"))] = None
    """Of each study, only the first so many trials by trial_id among those of an admitted status; default: all."""
    status: Annotated[list[Status], Field(default_factory=_complete, examples=[["COMPLETE"]])]
    """Only trials of this status; may be repeated. Default: COMPLETE."""

    def selection(self) -> Selection:
        """What these parameters select."""
        return Selection(
            workloads=tuple(dict.fromkeys(named_workload(path) for path in self.workload)),
            metric=self.metric,
            direction=self.direction,
            trials=self.trials,
            statuses=tuple(self.status),
        )


class SelectionParameters(MetricParameters):
    """Which evaluations of which trials count."""

    step_budget: Annotated[Natural | None, Field(examples=[1000], json_schema_extra=unit("steps"))] = None
    """Only evaluations at this step or before."""
    example_budget: Annotated[
        Natural | None, Field(examples=[100000], json_schema_extra=unit("batch_unit of the study, mostly examples"))
    ] = None
    """Only evaluations after at most this many examples: step times batch size."""

    def selection(self) -> Selection:
        """What these parameters select."""
        return replace(super().selection(), step_budget=self.step_budget, example_budget=self.example_budget)


class ComparatorParameters(SelectionParameters):
    """What reaches a target?"""

    comparator: Annotated[Comparator, Field(examples=["inclusive"])] = "strict"
    """strict: only what is better than the target reaches it; inclusive: also what equals it."""


class BatchSizeParameters(BaseModel):
    """Trials of which batch sizes?"""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    batch_size: Annotated[
        list[Natural],
        Field(
            default_factory=list,
            max_length=MOST_PLACES,
            examples=[[64]],
            json_schema_extra=unit("batch_unit of the study, mostly examples"),
        ),
    ]
    """Only trials of this batch size, which every workload has to have; may be repeated. Default: all."""


class GoalParameters(ComparatorParameters):
    """When is a target reached?"""

    target: Annotated[float, Field(allow_inf_nan=False, examples=[0.05], json_schema_extra=unit("unit of the metric"))]
    """The target, in the metric's unit. NaN and infinities never reach it."""

    def goal(self) -> Goal:
        """The goal these parameters set."""
        return Goal(self.target, self.comparator)


class CrossingParameters(GoalParameters):
    """Which hit of the target counts?"""

    crossing: Annotated[CrossingRule, Field(examples=["sustained"])] = "first"
    """Which hit the columns `confirmed_…` are about: the first, which may be a lucky dip of a noisy curve; the first of
    k_consecutive hits; or the first after which all are hits, sustained. The last two read the curves: some time more.
    """
    k: Annotated[Natural | None, Field(ge=1, examples=[3], json_schema_extra=unit("evaluations"))] = None
    """With crossing=k_consecutive: how many hits in a row; default: 2. Values that are no numbers are left out."""

    def asked_crossing(self) -> Crossing:
        """The crossing these parameters ask for; raises BadParameter."""
        return Crossing(self.crossing, self.k)


class StepsToTargetParameters(BatchSizeParameters, CrossingParameters):
    """When does each trial reach a target?"""


class ScalingParameters(CrossingParameters):
    """How do steps to a target scale with the batch size?"""

    normalize_to: Annotated[
        Natural | None, Field(examples=[64], json_schema_extra=unit("batch_unit of the study, mostly examples"))
    ] = None
    """The batch size at which normalized_steps is 1 and perfect scaling begins; default: the smallest with a result."""


class MetaparametersParameters(GoalParameters):
    """With which metaparameters is a target reached soonest?"""

    within: Annotated[
        float, Field(ge=0, le=1000, allow_inf_nan=False, examples=[0.1], json_schema_extra=unit("none: a ratio"))
    ] = WITHIN
    """Trials are near-optimal whose steps are at most 1 + within times those of the best of their study."""


class TargetsParameters(ComparatorParameters):
    """Scaling for many targets: give either target, repeated, or target_min and target_max."""

    target: Annotated[
        list[Annotated[float, Field(allow_inf_nan=False)]],
        Field(
            default_factory=list,
            max_length=MOST_TARGETS,
            examples=[[0.05]],
            json_schema_extra=unit("unit of the metric"),
        ),
    ]
    """A target, in the metric's unit; may be repeated."""
    target_min: Annotated[
        float | None, Field(allow_inf_nan=False, examples=[0.02], json_schema_extra=unit("unit of the metric"))
    ] = None
    """The lowest target of a grid."""
    target_max: Annotated[
        float | None, Field(allow_inf_nan=False, examples=[0.2], json_schema_extra=unit("unit of the metric"))
    ] = None
    """The highest target of a grid."""
    n_targets: Annotated[Natural, Field(ge=1, le=MOST_TARGETS, examples=[50], json_schema_extra=unit("targets"))] = 50
    """How many targets the grid has, both ends included."""
    spacing: Annotated[Literal["linear", "log"], Field(examples=["linear"])] = "linear"
    """Whether the targets of the grid are spaced evenly, or by even ratios."""

    def targets(self) -> list[float]:
        """The targets asked for; raises BadParameter."""
        has_grid = self.target_min is not None or self.target_max is not None
        if bool(self.target) == has_grid:
            raise BadParameter("target", "give either target=…, which may be repeated, or target_min and target_max")
        if not has_grid:
            return list(dict.fromkeys(self.target))
        if self.target_min is None or self.target_max is None:
            raise BadParameter("target_min", "a grid needs both target_min and target_max")
        return target_grid(self.target_min, self.target_max, self.n_targets, self.spacing == "log")
