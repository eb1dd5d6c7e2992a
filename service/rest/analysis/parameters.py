"""The parameters of the analyses, beyond those of every answer about a selection."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from service.analysis.near_optimal import WITHIN
from service.answers.analysis.quality import MOST_BUDGETS
from service.rest.parameters import GoalParameters, MetricParameters, Natural, Status, unit


class QualityParameters(MetricParameters):
    """How good do solutions get within budgets?"""

    step_budget: Annotated[
        list[Natural],
        Field(default_factory=list, max_length=MOST_BUDGETS, examples=[[1000]], json_schema_extra=unit("steps")),
    ]
    """Only evaluations at this step or before; may be repeated. Default, without any budget: the most steps, and the
    most examples, for which every batch size was trained."""
    example_budget: Annotated[
        list[Natural],
        Field(
            default_factory=list,
            max_length=MOST_BUDGETS,
            examples=[[100000]],
            json_schema_extra=unit("batch_unit of the study, mostly examples"),
        ),
    ]
    """Only evaluations after at most this many examples, step times batch size; may be repeated."""
    last: Annotated[bool, Field(examples=[False])] = False
    """Whether to read the curves of the best trials too, for how they ended and for their test values."""


class MetaparameterOptimaParameters(GoalParameters):
    """Which metaparameters are best by batch size, and how do they grow with it?"""

    within: Annotated[
        float, Field(ge=0, le=1000, allow_inf_nan=False, examples=[0.1], json_schema_extra=unit("none: a ratio"))
    ] = WITHIN
    """Trials are near-optimal whose steps are at most 1 + within times those of the best of their study."""
    origin: Annotated[
        Natural | None, Field(examples=[64], json_schema_extra=unit("batch_unit of the study, mostly examples"))
    ] = None
    """The batch size from whose best trial the heuristics start; default: the smallest with a result."""


class MetaparameterMapParameters(GoalParameters):
    """Where in the space of learning rate and momentum is a target reached?"""

    status: Annotated[list[Status], Field(default_factory=lambda: list(get_args(Status)), examples=[["COMPLETE"]])]
    """Only trials of this status; may be repeated. Default: all."""


class RegimesParameters(GoalParameters):
    """Where do the regimes of scaling begin and end?"""
