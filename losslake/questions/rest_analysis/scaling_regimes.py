"""The questions about regimes of scaling and critical batch sizes: their parameters, facts and what answers them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from losslake.analysis.break_points import PERFECT_WITHIN, USEFUL_WITHIN
from losslake.analysis.critical_batch_size import OPTIMAL_BATCH_SIZE, OVERHEAD
from losslake.analysis.hyperbola import Kind
from losslake.analysis.log_curves import UNDERTUNED_TAU
from losslake.questions.analysis.critical_batch_size import CRITICAL_BATCH_SIZE, FitOptions, critical_batch_size
from losslake.questions.analysis.regimes import REGIMES, Tolerances, regimes
from losslake.questions.described_facts import fact
from losslake.questions.parameters import WORKLOAD, GoalParameters, unit
from losslake.questions.question import Question
from losslake.questions.rest_analysis.facts import analysis_facts
from losslake.questions.rest_analysis.shapes import CENSORING, COUNT, NAME, NUMBER, list_of, or_null

_RATIO = unit("none: a ratio")
_SIZE = or_null(COUNT)


class RegimesParameters(GoalParameters):
    """Where do the regimes of scaling begin and end?"""

    perfect_scaling_tau: Annotated[
        float, Field(ge=0, le=1000, allow_inf_nan=False, examples=[0.2], json_schema_extra=_RATIO)
    ] = PERFECT_WITHIN
    """Perfect scaling goes on while examples are at most 1 + this times the fewest so far."""
    max_useful_tau: Annotated[
        float, Field(ge=0, le=1000, allow_inf_nan=False, examples=[0.1], json_schema_extra=_RATIO)
    ] = USEFUL_WITHIN
    """A batch size is large enough when no larger one betters its steps by more than this."""
    undertuned_tau: Annotated[
        float, Field(ge=0, le=1000, allow_inf_nan=False, examples=[0.05], json_schema_extra=_RATIO)
    ] = UNDERTUNED_TAU
    """A batch size counts as undertuned with more than 1 + this times the steps of a smaller one."""

    def tolerances(self) -> Tolerances:
        """The tolerances asked for."""
        return Tolerances(self.perfect_scaling_tau, self.max_useful_tau, self.undertuned_tau)


class CriticalBatchSizeParameters(GoalParameters):
    """Which batch size is critical, and how sure is that?"""

    fit: Annotated[Kind, Field(examples=["least-squares"])] = "robust"
    """robust: Huber's loss in log space, never-reached batch sizes too; least-squares: plain, as Zhang et al. 2024."""
    overhead: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False, examples=[0.2], json_schema_extra=_RATIO)] = (
        OVERHEAD
    )
    """For zhang2024: how many more examples than at the optimal batch size are critical."""
    optimal_batch_size: Annotated[
        float,
        Field(
            ge=0,
            le=1e18,
            allow_inf_nan=False,
            examples=[256],
            json_schema_extra=unit("batch_unit of the study, mostly examples"),
        ),
    ] = OPTIMAL_BATCH_SIZE
    """For zhang2024: the batch size that the overhead is over. The default is that paper's, of language models."""

    def options(self) -> FitOptions:
        """How the critical batch size is to be found."""
        return FitOptions(self.fit, self.overhead, self.optimal_batch_size)


REGIMES_QUESTION = Question(
    "/v1/analysis/regimes",
    "Where perfect scaling ends and maximal data parallelism begins, by workload.",
    RegimesParameters,
    lambda asked: regimes(
        asked.view, asked.parameters.selection(), asked.parameters.goal(), asked.parameters.tolerances()
    ),
    REGIMES,
    analysis_facts(
        fact("perfect_scaling_tau", NUMBER, "The tolerance of perfect scaling.", 0.2, "none: a ratio"),
        fact("max_useful_tau", NUMBER, "The tolerance of the largest useful batch size.", 0.1, "none: a ratio"),
        fact("undertuned_tau", NUMBER, "The tolerance of steps that rise.", 0.05, "none: a ratio"),
        fact(
            "break_points",
            list_of(
                workload=NAME,
                break_point=NAME,
                variant=NAME,
                batch_size=_SIZE,
                lower=_SIZE,
                upper=_SIZE,
                censoring=CENSORING,
            ),
            "By workload: the end of perfect scaling and the largest useful batch size, as defined, and variants that "
            "show how firm they are. The true end lies from lower to upper, null for no bound; censoring: it may lie "
            "below the smallest (left) or above the largest (right) batch size with a result, null for neither.",
            [
                {
                    "workload": WORKLOAD,
                    "break_point": "perfect_scaling_end",
                    "variant": "as defined",
                    "batch_size": 64,
                    "lower": 64,
                    "upper": 128,
                    "censoring": None,
                }
            ],
            "batch_unit of the study",
        ),
    ),
)
CRITICAL_BATCH_SIZE_QUESTION = Question(
    "/v1/analysis/critical-batch-size",
    "The critical batch size of workloads with intervals, or bounds where the data support no number.",
    CriticalBatchSizeParameters,
    lambda asked: critical_batch_size(
        asked.view, asked.parameters.selection(), asked.parameters.goal(), asked.parameters.options()
    ),
    CRITICAL_BATCH_SIZE,
    analysis_facts(
        fact("fit", {"type": "string", "enum": ["robust", "least-squares"]}, "How the curve was fitted.", "robust"),
        fact("overhead", NUMBER, "The overhead of zhang2024.", 0.2, "none: a ratio"),
        fact("optimal_batch_size", NUMBER, "The optimal batch size of zhang2024.", 256, "batch_unit of the study"),
    ),
    rows_name="estimates",
)
