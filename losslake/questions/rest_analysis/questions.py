"""Every question under /v1/analysis."""

from __future__ import annotations

from collections.abc import Iterator

from losslake.questions.question import Question
from losslake.questions.rest_analysis.comparing import COMPARE_QUESTION, PROFILES_QUESTION
from losslake.questions.rest_analysis.metaparameters import METAPARAMETER_MAP_QUESTION, METAPARAMETERS_QUESTION
from losslake.questions.rest_analysis.quality import QUALITY_QUESTION
from losslake.questions.rest_analysis.reference_convergence import RCP_QUESTION
from losslake.questions.rest_analysis.scaling_regimes import CRITICAL_BATCH_SIZE_QUESTION, REGIMES_QUESTION
from losslake.questions.rest_analysis.target_sweep import TARGET_SWEEP_QUESTION
from losslake.questions.rest_analysis.time_cost import TIME_COST_QUESTION
from losslake.questions.rest_analysis.uncertainty import SURVIVAL_QUESTION, TUNING_BUDGET_QUESTION

PREFIX = "/v1/analysis/"


def analysis_questions() -> Iterator[Question]:
    """The analyses, in the order of their names."""
    yield COMPARE_QUESTION
    yield CRITICAL_BATCH_SIZE_QUESTION
    yield METAPARAMETER_MAP_QUESTION
    yield METAPARAMETERS_QUESTION
    yield PROFILES_QUESTION
    yield QUALITY_QUESTION
    yield RCP_QUESTION
    yield REGIMES_QUESTION
    yield SURVIVAL_QUESTION
    yield TARGET_SWEEP_QUESTION
    yield TIME_COST_QUESTION
    yield TUNING_BUDGET_QUESTION
