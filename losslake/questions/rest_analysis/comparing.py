"""The questions that compare workloads: their parameters, facts and what answers them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from losslake.analysis.performance_profile import LARGEST_RATIO
from losslake.questions.analysis.compare import COMPARE, compare
from losslake.questions.analysis.profiles import PARTS, PROFILES, Part, profiles
from losslake.questions.described_facts import SELECTION_FACTS, fact, facts_named
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import WORKLOAD, ComparatorParameters, GoalParameters, Natural, unit
from losslake.questions.question import Question
from losslake.questions.rest_analysis.facts import FINDING_FACTS, analysis_facts
from losslake.questions.rest_analysis.shapes import COUNT, FLAG, NAME, NUMBER, list_of, or_null
from losslake.questions.selection import named_workload
from losslake_schema.names import Workload

_SIZES = {"type": "array", "items": COUNT}


class CompareParameters(GoalParameters):
    """Which workload reaches a target sooner, at the same tuning budget?"""

    baseline: Annotated[str | None, Field(examples=[WORKLOAD])] = None
    """The workload that the others are compared with; default: the first one."""
    budget: Annotated[Natural | None, Field(ge=1, examples=[20], json_schema_extra=unit("trials"))] = None
    """The tuning budget: of so many trials the best is taken. Default: as many as all have at that batch size."""

    def baseline_workload(self) -> Workload | None:
        """The baseline asked for; raises BadParameter."""
        try:
            return None if self.baseline is None else named_workload(self.baseline)
        except BadParameter as error:
            raise BadParameter("baseline", str(error)) from None


class ProfilesParameters(ComparatorParameters):
    """Who is how often within which factor of the best?"""

    target: Annotated[
        float | None, Field(allow_inf_nan=False, examples=[0.05], json_schema_extra=unit("unit of the metric"))
    ] = None
    """The target, in the metric's unit; NaN and infinities never reach it. Default: each workload's own goal."""
    by: Annotated[Part, Field(examples=["optimizer"])] = "workload"
    """What competes: workloads, by batch size; or one part of their names, by the rest of the name and batch size."""
    largest_factor: Annotated[
        float, Field(gt=1, le=1e6, allow_inf_nan=False, examples=[4], json_schema_extra=unit("none: a ratio"))
    ] = LARGEST_RATIO
    """Up to which factor of the best a score counts; AlgoPerf: 4."""


_COMPARE_FACTS = analysis_facts(
    fact("baseline", NAME, "The workload that the others are compared with.", WORKLOAD),
    fact("budget", or_null(COUNT), "The tuning budget asked for; null for as many as all have.", 20, "trials"),
    fact(
        "conclusions",
        list_of(
            workload=NAME,
            fewer_at=_SIZES,
            more_at=_SIZES,
            not_told_at=_SIZES,
            too_few_trials_at=_SIZES,
            neither_reaches_at=_SIZES,
            only_workload_reaches_at=_SIZES,
            only_baseline_reaches_at=_SIZES,
            largest_at=or_null(COUNT),
            is_clear=FLAG,
            in_words=NAME,
        ),
        "Of each workload but the baseline: the batch sizes of each `difference`, those at which only one of both has "
        "a trial that reaches the target, where the ratio is farthest from 1 of the differences that are told, whether "
        "one of these would be told if all batch sizes shared a 5% chance of error, and all that in sentences, with "
        "the batch size at which the saving begins or ends.",
        [],
    ),
    fact(
        "geometric_means",
        list_of(workload=NAME, steps_ratio=or_null(NUMBER), n_batch_sizes=COUNT, left_out_batch_sizes=_SIZES),
        "Of each workload but the baseline: the geometric mean over batch sizes of steps_ratio, of how many it is, and "
        "the batch sizes left out, where either one's median is null.",
        [
            {
                "workload": "bundled/digits/mlp_64/sgd",
                "steps_ratio": 1.9,
                "n_batch_sizes": 9,
                "left_out_batch_sizes": [1, 2],
            }
        ],
    ),
    fact(
        "flips",
        list_of(
            first=NAME,
            second=NAME,
            first_leads_at=_SIZES,
            second_leads_at=_SIZES,
            is_clear=FLAG,
        ),
        "Pairs of workloads of which now one, now the other needs fewer steps, by batch size; is_clear: on both sides "
        "with a chance of 95% or more at some batch size, with half the budget.",
        [],
    ),
)
_PROFILES_FACTS = (
    *SELECTION_FACTS,
    *facts_named("comparator"),
    fact(
        "targets",
        {"type": "object", "additionalProperties": NUMBER},
        "The target of each workload.",
        {WORKLOAD: 0.05},
        "unit of the metric",
    ),
    fact("by", {"type": "string", "enum": list(PARTS)}, "What competes.", "optimizer"),
    fact("largest_factor", NUMBER, "Up to which factor of the best a score counts.", 4, "none: a ratio"),
    fact(
        "columns",
        {"type": "array", "items": NAME},
        "What competitors are compared on: those in which all of them have trials.",
        ["bundled/digits/mlp_64 at batch size 64"],
    ),
    fact(
        "scores",
        list_of(
            competitor=NAME,
            score=or_null(NUMBER),
            exact_score=or_null(NUMBER),
            n_reached=COUNT,
            n_best=COUNT,
        ),
        "Of each competitor: the mean of its share over factors from 1 to the largest, by the trapezoid rule on 100 "
        "points as AlgoPerf has it, and exactly; in how many columns it reaches the target; in how many it is best.",
        [],
    ),
    *FINDING_FACTS,
)
PROFILES_QUESTION = Question(
    "/v1/analysis/profiles",
    "Performance profiles: how often each workload, optimizer or model is within a factor of the best, and its score.",
    ProfilesParameters,
    lambda asked: profiles(
        asked.view,
        asked.parameters.selection(),
        asked.parameters.target,
        asked.parameters.comparator,
        asked.parameters.by,
        asked.parameters.largest_factor,
    ),
    PROFILES,
    _PROFILES_FACTS,
)
COMPARE_QUESTION = Question(
    "/v1/analysis/compare",
    "Which of several workloads (optimizers, models) reaches a target sooner at equal tuning budget, by batch size.",
    CompareParameters,
    lambda asked: compare(
        asked.view,
        asked.parameters.selection(),
        asked.parameters.goal(),
        asked.parameters.baseline_workload(),
        asked.parameters.budget,
    ),
    COMPARE,
    _COMPARE_FACTS,
)
