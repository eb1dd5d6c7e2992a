"""The parameters of the analyses, beyond those of every answer about a selection."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from service.answers.analysis.quality import MOST_BUDGETS
from service.rest.parameters import GoalParameters, MetricParameters, Natural, unit


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


class RegimesParameters(GoalParameters):
    """Where do the regimes of scaling begin and end?"""
