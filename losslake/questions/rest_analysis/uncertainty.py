"""The questions about the luck of a search: their parameters, facts and what answers them."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from losslake.questions.analysis.time_to_target import SURVIVAL, time_to_target
from losslake.questions.analysis.tuning_budget import MOST_BUDGETS, TUNING_BUDGET, tuning_budget
from losslake.questions.described_facts import fact
from losslake.questions.parameters import WORKLOAD, GoalParameters, Natural, Status, unit
from losslake.questions.question import Question
from losslake.questions.rest_analysis.facts import analysis_facts
from losslake.questions.rest_analysis.shapes import COUNT, FLAG, NAME, NUMBER, list_of, or_null

PopulationName = Literal["non-divergent", "launched"]


class TuningBudgetParameters(GoalParameters):
    """What would a search with fewer trials have found?"""

    budget: Annotated[
        list[Annotated[Natural, Field(ge=1)]],
        Field(default_factory=list, max_length=MOST_BUDGETS, examples=[[20]], json_schema_extra=unit("trials")),
    ]
    """A tuning budget: of so many trials the best is taken; may be repeated. Default: powers of two, and all trials."""
    population: Annotated[
        list[PopulationName], Field(default_factory=lambda: list(get_args(PopulationName)), examples=[["launched"]])
    ]
    """Which trials count: non-divergent, those of `status` that didn't diverge; launched, these and all that diverged
    (INFEASIBLE), whatever `status` says. May be repeated. Default: both, one after the other."""


class SurvivalParameters(GoalParameters):
    """By when have how many trials reached a target?"""

    status: Annotated[list[Status], Field(default_factory=lambda: list(get_args(Status)), examples=[["COMPLETE"]])]
    """Only trials of this status; may be repeated. Default: all, since who diverged or was stopped counts as such."""


_SEARCH = {
    "workload": WORKLOAD, "batch_size": 64, "population": "launched", "n_trials": 64, "n_diverged": 1, "n_reached": 23,
    "chance": 0.36, "chance_lower": 0.25, "chance_upper": 0.48, "steps": 104, "half_budget": 32, "half_lower": 104,
    "half_upper": 152, "quarter_budget": 16, "quarter_lower": 104, "quarter_upper": 218, "m_out_of_n_budget": 18,
    "m_out_of_n_lower": 104, "m_out_of_n_upper": 208, "runner_up_ratio": 1.2, "fifth_ratio": 1.5, "trials_needed": 7,
}  # fmt: skip
_SEARCHES = fact(
    "searches",
    list_of(
        workload=NAME,
        batch_size=COUNT,
        population=NAME,
        n_trials=COUNT,
        n_diverged=COUNT,
        n_reached=COUNT,
        chance=or_null(NUMBER),
        chance_lower=NUMBER,
        chance_upper=NUMBER,
        steps=or_null(COUNT),
        half_budget=COUNT,
        half_lower=or_null(COUNT),
        half_upper=or_null(COUNT),
        quarter_budget=COUNT,
        quarter_lower=or_null(COUNT),
        quarter_upper=or_null(COUNT),
        m_out_of_n_budget=COUNT,
        m_out_of_n_lower=or_null(COUNT),
        m_out_of_n_upper=or_null(COUNT),
        runner_up_ratio=or_null(NUMBER),
        fifth_ratio=or_null(NUMBER),
        trials_needed=or_null(COUNT),
    ),
    "Of each search: how many trials reached the target, with that share, `chance`, and its 95% Wilson interval; the "
    "fewest steps; the 5% and 95% quantile of steps that half and a quarter of the trials would have found, and m = "
    "N^0.7 drawn with replacement, null where not reached so often; steps of the second and fifth best trial over the "
    "fewest; and with how many trials one that reaches is found with 95% probability.",
    [_SEARCH],
)
_SUMMARY = {
    "workload": WORKLOAD, "batch_size": 64, "n_trials": 64, "n_reached": 23, "n_diverged": 1, "n_censored": 40,
    "chance": 0.36, "chance_lower": 0.25, "chance_upper": 0.48, "reached": 0.36, "median_steps": None,
    "seen_until": 2000, "early_stopping": False,
}  # fmt: skip
_SUMMARIES = fact(
    "summaries",
    list_of(
        workload=NAME,
        batch_size=COUNT,
        n_trials=COUNT,
        n_reached=COUNT,
        n_diverged=COUNT,
        n_censored=COUNT,
        chance=or_null(NUMBER),
        chance_lower=NUMBER,
        chance_upper=NUMBER,
        reached=or_null(NUMBER),
        median_steps=or_null(COUNT),
        seen_until=or_null(COUNT),
        early_stopping=or_null(FLAG),
    ),
    "Of each study: how its trials ended; the share that reached the target, `chance`, with its 95% Wilson interval; "
    "`reached` at the last step seen; the step by which half have reached it, null where that isn't seen; and whether "
    "bad trials may have been stopped early, null where nobody said.",
    [_SUMMARY],
)
TUNING_BUDGET_QUESTION = Question(
    "/v1/analysis/tuning-budget",
    "What the best of n trials is worth, by batch size and n: steps to a target, its chance, the expected best value.",
    TuningBudgetParameters,
    lambda asked: tuning_budget(
        asked.view,
        asked.parameters.selection(),
        asked.parameters.goal(),
        asked.parameters.budget,
        tuple(dict.fromkeys(asked.parameters.population)),
    ),
    TUNING_BUDGET,
    analysis_facts(_SEARCHES),
)
SURVIVAL_QUESTION = Question(
    "/v1/analysis/survival",
    "By which step how many trials have reached a target, where others diverge or are stopped before.",
    SurvivalParameters,
    lambda asked: time_to_target(asked.view, asked.parameters.selection(), asked.parameters.goal()),
    SURVIVAL,
    analysis_facts(_SUMMARIES),
)
