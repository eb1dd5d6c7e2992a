"""Every question under /v1/analysis."""

from __future__ import annotations

from collections.abc import Iterator

from service.answers.analysis.metaparameter_map import MAP, metaparameter_map
from service.answers.analysis.metaparameters import OPTIMA, metaparameter_optima
from service.rest.analysis.comparing import COMPARE_QUESTION, PROFILES_QUESTION
from service.rest.analysis.metaparameter_facts import metaparameter_facts, metaparameter_map_facts
from service.rest.analysis.parameters import (
    MetaparameterMapParameters,
    MetaparameterOptimaParameters,
)
from service.rest.analysis.quality import QUALITY_QUESTION
from service.rest.analysis.reference_convergence import RCP_QUESTION
from service.rest.analysis.scaling_regimes import CRITICAL_BATCH_SIZE_QUESTION, REGIMES_QUESTION
from service.rest.analysis.target_sweep import TARGET_SWEEP_QUESTION
from service.rest.analysis.time_cost import TIME_COST_QUESTION
from service.rest.analysis.uncertainty import SURVIVAL_QUESTION, TUNING_BUDGET_QUESTION
from service.rest.question import Question

PREFIX = "/v1/analysis/"


def analysis_questions() -> Iterator[Question]:
    """The analyses, in the order of their names."""
    yield COMPARE_QUESTION
    yield CRITICAL_BATCH_SIZE_QUESTION
    yield Question(
        f"{PREFIX}metaparameter-map",
        "Every trial with learning rate, momentum and what became of it: the target reached or not, divergence.",
        MetaparameterMapParameters,
        lambda asked: metaparameter_map(asked.view, asked.parameters.selection(), asked.parameters.goal()),
        MAP,
        metaparameter_map_facts(),
    )
    yield Question(
        f"{PREFIX}metaparameters",
        "The best metaparameters by batch size, how their learning rate grows with it, and what heuristics cost.",
        MetaparameterOptimaParameters,
        lambda asked: metaparameter_optima(
            asked.view,
            asked.parameters.selection(),
            asked.parameters.goal(),
            asked.parameters.within,
            asked.parameters.origin,
        ),
        OPTIMA,
        metaparameter_facts(),
    )
    yield PROFILES_QUESTION
    yield QUALITY_QUESTION
    yield RCP_QUESTION
    yield REGIMES_QUESTION
    yield SURVIVAL_QUESTION
    yield TARGET_SWEEP_QUESTION
    yield TIME_COST_QUESTION
    yield TUNING_BUDGET_QUESTION
