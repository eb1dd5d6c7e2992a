"""Every question under /v1/analysis."""

from __future__ import annotations

from collections.abc import Iterator

from service.rest.analysis.comparing import COMPARE_QUESTION, PROFILES_QUESTION
from service.rest.analysis.metaparameters import METAPARAMETER_MAP_QUESTION, METAPARAMETERS_QUESTION
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
