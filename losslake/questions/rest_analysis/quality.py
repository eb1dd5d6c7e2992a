"""The question of solution quality: its parameters, facts and what answers it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from losslake.questions.analysis.quality import MOST_BUDGETS, QUALITY, quality
from losslake.questions.described_facts import SELECTION_FACTS, fact
from losslake.questions.parameters import WORKLOAD, MetricParameters, Natural, unit
from losslake.questions.question import Question
from losslake.questions.rest_analysis.facts import FINDING_FACTS
from losslake.questions.rest_analysis.shapes import COUNT, NAME, NUMBER, list_of, or_null

_BATCH_UNIT = "batch_unit of the study, mostly examples"


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
        Field(default_factory=list, max_length=MOST_BUDGETS, examples=[[100000]], json_schema_extra=unit(_BATCH_UNIT)),
    ]
    """Only evaluations after at most this many examples, step times batch size; may be repeated."""
    last: Annotated[bool, Field(examples=[False])] = False
    """Whether to read the curves of the best trials too, for how they ended and for their test values."""


_BUDGETS = {"type": "array", "items": COUNT}
_SEVERAL = {
    "step_budget": fact("step_budget", _BUDGETS, "The step budgets asked for, inclusive.", [1000], "steps"),
    "example_budget": fact(
        "example_budget", _BUDGETS, "The example budgets asked for, inclusive.", [100000], _BATCH_UNIT
    ),
}
_CONCLUSIONS = fact(
    "conclusions",
    list_of(
        workload=NAME,
        budget_kind=NAME,
        budget=or_null(COUNT),
        best_value=NUMBER,
        largest_value=NUMBER,
        best_batch_size=COUNT,
        largest_batch_size=COUNT,
        shortfall=NUMBER,
        relative=or_null(NUMBER),
        shortfall_by_chance=or_null(NUMBER),
        in_words=NAME,
    ),
    "By workload and budget: by how much the best value at the largest batch size falls short of the best at any, as a "
    "number, relative to the best, and beside what half as many trials would fall short by chance.",
    [
        {
            "workload": WORKLOAD,
            "budget_kind": "steps",
            "budget": 416,
            "best_value": 0.02,
            "largest_value": 0.03,
            "best_batch_size": 64,
            "largest_batch_size": 1024,
            "shortfall": 0.01,
            "relative": 0.5,
            "shortfall_by_chance": 0.001,
            "in_words": "the largest, 1,024, has 0.03 and falls 0.01 (50.0%) short",
        }
    ],
    "unit of the metric",
)
QUALITY_QUESTION = Question(
    "/v1/analysis/quality",
    "The best value by batch size within budgets of steps and examples, and what large batch sizes fall short by.",
    QualityParameters,
    lambda asked: quality(
        asked.view,
        asked.parameters.selection(),
        asked.parameters.step_budget,
        asked.parameters.example_budget,
        asked.parameters.last,
    ),
    QUALITY,
    (*(_SEVERAL.get(each.name, each) for each in SELECTION_FACTS), _CONCLUSIONS, *FINDING_FACTS),
)
