"""The question of time against cost: its parameters, facts and what answers it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from losslake.analysis.break_points import USEFUL_WITHIN
from losslake.questions.analysis.time_cost import TIME_COST, time_cost
from losslake.questions.described_facts import fact
from losslake.questions.parameters import WORKLOAD, GoalParameters, unit
from losslake.questions.question import Question
from losslake.questions.rest_analysis.facts import analysis_facts
from losslake.questions.rest_analysis.shapes import CENSORING, COUNT, NAME, NUMBER, list_of, or_null


class TimeCostParameters(GoalParameters):
    """What does a target take, in time and in examples?"""

    max_useful_tau: Annotated[
        float, Field(ge=0, le=1000, allow_inf_nan=False, examples=[0.1], json_schema_extra=unit("none: a ratio"))
    ] = USEFUL_WITHIN
    """A larger batch size counts as faster if its time is less than that of a smaller one by more than this share."""


_SUMMARIES = fact(
    "summaries",
    list_of(
        workload=NAME,
        time_is=NAME,
        least_time=or_null(NUMBER),
        least_time_batch_size=or_null(COUNT),
        least_examples=or_null(NUMBER),
        least_examples_batch_size=or_null(COUNT),
        no_faster_beyond=or_null(COUNT),
        censoring=CENSORING,
        critical_batch_size=or_null(NUMBER),
    ),
    "Of each workload: what stands for time (elapsed_s or steps), the least time and the fewest examples to the target "
    "and the batch sizes that have them, beyond which batch size time falls no more (censoring: right if it still "
    "falls at the largest, left if the smallest is it), and the critical batch size of the fit, null for none.",
    [
        {
            "workload": WORKLOAD,
            "time_is": "elapsed_s",
            "least_time": 11.8,
            "least_time_batch_size": 256,
            "least_examples": 9600.0,
            "least_examples_batch_size": 8,
            "no_faster_beyond": 128,
            "censoring": None,
            "critical_batch_size": 96.5,
        }
    ],
)
TIME_COST_QUESTION = Question(
    "/v1/analysis/time-cost",
    "Time to a target against the examples it costs by batch size, and beyond which batch size time falls no more.",
    TimeCostParameters,
    lambda asked: time_cost(
        asked.view, asked.parameters.selection(), asked.parameters.goal(), asked.parameters.max_useful_tau
    ),
    TIME_COST,
    analysis_facts(
        fact(
            "max_useful_tau", NUMBER, "What a larger batch size has to save of the time to count.", 0.1, "none: a ratio"
        ),
        _SUMMARIES,
    ),
)
