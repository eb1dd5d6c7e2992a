"""The parameters of the REST paths: names, types, bounds and what they mean."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from schema.names import LARGEST_INTEGER, Study, Workload, natural_number
from service.answers.curves import CurveQuestion
from service.answers.goal import GoalQuestion
from service.errors import BadParameter
from service.problems import ParameterProblem
from service.release_view import named_study, named_trial, named_workload

Status = Literal["COMPLETE", "INCOMPLETE", "INFEASIBLE"]


def _natural(text: object) -> object:
    """A count as plain digits; pydantic alone would take 1_000 and 5.0."""
    if isinstance(text, str):
        value = natural_number(text)
        if value is None:
            raise ValueError(f"give a whole number from 0 to {LARGEST_INTEGER}, in digits")
        return value
    return text


def _all_statuses() -> list[Status]:
    return ["COMPLETE", "INCOMPLETE", "INFEASIBLE"]


def _complete() -> list[Status]:
    return ["COMPLETE"]


Natural = Annotated[int, BeforeValidator(_natural)]


class ReleaseParameters(BaseModel):
    """Which release is asked."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    release: Annotated[Natural | None, Field(ge=1)] = None
    """The release to ask, by number; default: the newest."""


class StudiesParameters(ReleaseParameters):
    """Which studies are listed."""

    workload: str | None = None
    """Only the studies of this workload: collection/dataset/model/optimizer."""


class TrialsParameters(ReleaseParameters):
    """Which trials are listed: give either a workload or a study."""

    workload: str | None = None
    """The trials of this workload: collection/dataset/model/optimizer."""
    study: str | None = None
    """The trials of this study: collection/dataset/model/optimizer/batch_size."""
    status: list[Status] = Field(default_factory=_all_statuses)
    """Only trials of this status; may be repeated. Default: all."""

    def of(self) -> Workload | Study:
        """What the trials are to be of."""
        if (self.workload is None) == (self.study is None):
            raise BadParameter("workload", "give either workload=… or study=…, and not both")
        return named_workload(self.workload) if self.workload is not None else named_study(self.study or "")


class CurvesParameters(ReleaseParameters):
    """Which curves are given: of either a trial or a study."""

    trial: str | None = None
    """The curve of this trial: collection/dataset/model/optimizer/batch_size/trial_id."""
    study: str | None = None
    """The curves of all trials of this study: collection/dataset/model/optimizer/batch_size."""
    metric: list[str] = Field(default_factory=list)
    """Only this metric, split/quantity; may be repeated. Default: all that the study measures."""

    def question(self) -> CurveQuestion:
        """The question these parameters ask."""
        if (self.trial is None) == (self.study is None):
            raise BadParameter("trial", "give either trial=… or study=…, and not both")
        if self.trial is None:
            return CurveQuestion(named_study(self.study or ""), None, tuple(self.metric))
        trial = named_trial(self.trial)
        return CurveQuestion(trial.study, trial.trial_id, tuple(self.metric))


class GoalParameters(ReleaseParameters):
    """When is a target reached?"""

    workload: str
    """The workload: collection/dataset/model/optimizer. A collection may contain slashes."""
    metric: str
    """The metric: split/quantity, for example val/classification_error."""
    target: Annotated[float, Field(allow_inf_nan=False)]
    """The target, in the metric's unit. Reached means strictly better; NaN and infinities never reach it."""
    direction: Literal["minimize", "maximize"] | None = None
    """Which way is better; default: the metric's own direction."""
    step_budget: Natural | None = None
    """Only evaluations at this step or before."""
    example_budget: Natural | None = None
    """Only evaluations after at most this many examples: step times batch size."""
    trials: Annotated[Natural | None, Field(ge=1)] = None
    """Of each study, only the first so many trials by trial_id among those of an admitted status; default: all."""
    status: list[Status] = Field(default_factory=_complete)
    """Only trials of this status; may be repeated. Default: COMPLETE."""

    def question(self) -> GoalQuestion:
        """The question these parameters ask."""
        return GoalQuestion(
            workload=named_workload(self.workload),
            metric=self.metric,
            target=self.target,
            direction=self.direction,
            step_budget=self.step_budget,
            example_budget=self.example_budget,
            trials=self.trials,
            statuses=tuple(self.status),
        )


def only(parameters: type[BaseModel] | None = None) -> Callable[[Request], Awaitable[None]]:
    """A dependency that refuses parameters that are not among these, and repeated ones that are no lists."""
    fields = parameters.model_fields if parameters is not None else {}
    repeatable = {name for name, field in fields.items() if field.default_factory is not None}

    async def check(request: Request) -> None:
        seen: set[str] = set()
        for name, _ in request.query_params.multi_items():
            if name not in fields:
                known = ", ".join(fields) or "none"
                raise ParameterProblem("unknown-parameter", name, f"there is no parameter '{name}'; there are: {known}")
            if name in seen and name not in repeatable:
                raise ParameterProblem("bad-parameter", name, f"the parameter '{name}' is given twice: give it once")
            seen.add(name)

    return check
