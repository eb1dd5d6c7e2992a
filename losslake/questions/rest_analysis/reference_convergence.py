"""The question of reference convergence points: its parameters, facts and what answers it."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from losslake.questions.analysis.rcp import RCP, RcpQuestion, rcp
from losslake.questions.described_facts import fact
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import GoalParameters, Natural, unit
from losslake.questions.question import Question
from losslake.questions.rcp_reference import Runs
from losslake.questions.rest_analysis.facts import analysis_facts
from losslake.questions.rest_analysis.shapes import COUNT, FLAG, NAME, NUMBER, list_of, or_null
from losslake.questions.selection import named_workload
from losslake_schema.names import Workload

MOST_RUNS = 1000
_EXAMPLES = "batch_unit of the study, mostly examples"


class RcpParameters(GoalParameters):
    """How soon may a submission converge, given the runs of a reference?"""

    submission: Annotated[str | None, Field(examples=["bundled/digits/mlp_64/sgd"])] = None
    """The workload to check, at each of its batch sizes; the reference is then the one workload named."""
    samples: Annotated[
        list[Annotated[float, Field(gt=0, lt=1e100, allow_inf_nan=False)]],
        Field(default_factory=list, max_length=MOST_RUNS, examples=[[8192]], json_schema_extra=unit(_EXAMPLES)),
    ]
    """Instead of a submission: examples to the target of one run, with batch_size; to be repeated."""
    failed_runs: Annotated[Natural, Field(le=MOST_RUNS, examples=[0], json_schema_extra=unit("runs"))] = 0
    """With samples: how many more runs didn't converge."""
    batch_size: Annotated[Natural | None, Field(ge=1, examples=[64], json_schema_extra=unit(_EXAMPLES))] = None
    """With samples: the batch size of these runs."""
    submission_runs: Annotated[Natural | None, Field(ge=3, examples=[5], json_schema_extra=unit("runs"))] = None
    """How many runs a submission has. Default: as many as the given one, else half of the reference's."""
    trimmed: Annotated[Natural, Field(le=MOST_RUNS, examples=[1], json_schema_extra=unit("runs"))] = 1
    """How many runs the olympic mean leaves out at either end; MLPerf: 1, for unet3d 4."""
    tolerated_failures: Annotated[Natural, Field(le=MOST_RUNS, examples=[1], json_schema_extra=unit("runs"))] = 1
    """How many runs of a submission may fail to converge, at most trimmed; MLPerf: 1, for unet3d 4."""
    significance: Annotated[
        float, Field(gt=0, lt=0.5, allow_inf_nan=False, examples=[0.05], json_schema_extra=unit("none: a probability"))
    ] = 0.05
    """Of the one-sided t-test."""
    allowance: Annotated[
        float, Field(ge=0, lt=1e100, allow_inf_nan=False, examples=[0], json_schema_extra=unit(_EXAMPLES))
    ] = 0.0
    """By how much the least mean is lowered; MLPerf: 0, for llama31_405b 46080."""
    pruned: Annotated[bool, Field(examples=[True])] = True
    """Whether a submission is compared with those points only that pruning leaves, as MLPerf does by default."""

    def question(self) -> RcpQuestion:
        """What these parameters ask; raises BadParameter."""
        return RcpQuestion(
            submission=self._submission(),
            submission_runs=self.submission_runs,
            trimmed=self.trimmed,
            tolerated_failures=self.tolerated_failures,
            significance=self.significance,
            allowance=self.allowance,
            is_pruned=self.pruned,
        )

    def _submission(self) -> Workload | Runs | None:
        has_runs = bool(self.samples) or self.failed_runs > 0
        if self.submission is not None:
            if has_runs:
                raise BadParameter("samples", "give either submission, or samples and failed_runs with batch_size")
            try:
                return named_workload(self.submission)
            except BadParameter as error:
                raise BadParameter("submission", str(error)) from None
        if has_runs != (self.batch_size is not None):
            raise BadParameter("batch_size", "samples and failed_runs need a batch_size, and it needs them")
        if self.batch_size is None:
            return None
        return Runs(self.batch_size, np.array([*self.samples, *[math.inf] * self.failed_runs], np.float64))


_RULES = {
    "submission_runs": COUNT,
    "trimmed": COUNT,
    "tolerated_failures": COUNT,
    "significance": NUMBER,
    "allowance": NUMBER,
    "pruned": FLAG,
}
_VERDICT = {
    "batch_size": COUNT,
    "n_runs": COUNT,
    "n_not_converged": COUNT,
    "passes": or_null(FLAG),
    "ground": NAME,
    "mean": or_null(NUMBER),
    "reference_mean": or_null(NUMBER),
    "reference_stdev": or_null(NUMBER),
    "least_mean": or_null(NUMBER),
    "max_speedup": or_null(NUMBER),
    "score_factor": or_null(NUMBER),
    "in_words": NAME,
}
_FACTS = analysis_facts(
    fact(
        "submission",
        or_null(NAME),
        "The workload checked; null for none, or for samples.",
        "bundled/digits/mlp_64/sgd",
    ),
    fact(
        "rules",
        {"type": "object", "properties": _RULES, "required": list(_RULES)},
        "The rules of the check, as they were applied.",
        {
            "submission_runs": 5,
            "trimmed": 1,
            "tolerated_failures": 1,
            "significance": 0.05,
            "allowance": 0,
            "pruned": True,
        },
    ),
    fact(
        "verdicts",
        list_of(**_VERDICT),
        "Of each batch size of the submission: whether it passes (null: the reference can't tell); the ground: found, "
        "interpolated or smallest: what it is compared with; else missing, no_reference, not_converged or unusable; "
        "both means, in examples; and the factor that normalizes its score.",
        [],
    ),
)
RCP_QUESTION = Question(
    "/v1/analysis/rcp",
    "MLPerf's reference convergence points of a workload, and whether a submission converges too soon for them.",
    RcpParameters,
    lambda asked: rcp(asked.view, asked.parameters.selection(), asked.parameters.goal(), asked.parameters.question()),
    RCP,
    _FACTS,
)
