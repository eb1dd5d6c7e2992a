"""The questions about metaparameters: their parameters and what answers them."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from losslake.analysis.goal_region import WITHIN
from losslake.questions.analysis.metaparameter_map import MAP, metaparameter_map
from losslake.questions.analysis.metaparameters import OPTIMA, metaparameter_optima
from losslake.questions.parameters import BatchSizeParameters, GoalParameters, Natural, Status, unit
from losslake.questions.question import Question
from losslake.questions.rest_analysis.metaparameter_facts import metaparameter_facts, metaparameter_map_facts


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


class MetaparameterMapParameters(BatchSizeParameters, GoalParameters):
    """Where in the space of learning rate and momentum is a target reached?"""

    status: Annotated[list[Status], Field(default_factory=lambda: list(get_args(Status)), examples=[["COMPLETE"]])]
    """Only trials of this status; may be repeated. Default: all."""


METAPARAMETER_MAP_QUESTION = Question(
    "/v1/analysis/metaparameter-map",
    "Every trial with learning rate, momentum and what became of it: the target reached or not, divergence.",
    MetaparameterMapParameters,
    lambda asked: metaparameter_map(
        asked.view, asked.parameters.selection(), asked.parameters.goal(), asked.parameters.batch_size
    ),
    MAP,
    metaparameter_map_facts(),
)
METAPARAMETERS_QUESTION = Question(
    "/v1/analysis/metaparameters",
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
