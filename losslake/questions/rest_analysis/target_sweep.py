"""The question of how scaling depends on the target: its parameters, facts and what answers it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from losslake.questions.analysis.target_sweep import MOST_TARGETS, TARGET_SWEEP, Spacing, TargetGrid, target_sweep
from losslake.questions.described_facts import SELECTION_FACTS, fact, facts_named
from losslake.questions.parameters import WORKLOAD, ComparatorParameters, Natural, unit
from losslake.questions.question import Question
from losslake.questions.rest_analysis.facts import FINDING_FACTS
from losslake.questions.rest_analysis.shapes import COUNT, NAME, NUMBER, list_of, or_null


class TargetSweepParameters(ComparatorParameters):
    """How does scaling depend on the target?"""

    target_min: Annotated[
        float | None, Field(allow_inf_nan=False, examples=[0.02], json_schema_extra=unit("unit of the metric"))
    ] = None
    """The lowest target. Default, as for the highest: all from the hardest that any batch size reaches to the easiest
    that none reaches at its first evaluation."""
    target_max: Annotated[
        float | None, Field(allow_inf_nan=False, examples=[0.2], json_schema_extra=unit("unit of the metric"))
    ] = None
    """The highest target."""
    n_targets: Annotated[Natural, Field(ge=1, le=MOST_TARGETS, examples=[50], json_schema_extra=unit("targets"))] = 50
    """How many targets to look at."""
    spacing: Annotated[Spacing, Field(examples=["linear"])] = "breakpoints"
    """How targets are spaced: evenly among those for which something changes, evenly, or by even ratios."""

    def grid(self) -> TargetGrid:
        """The targets asked for; raises BadParameter."""
        return TargetGrid(self.target_min, self.target_max, self.n_targets, self.spacing)


_SUMMARIES = fact(
    "summaries",
    list_of(
        workload=NAME,
        n_breakpoints=COUNT,
        hardest_for_all=or_null(NUMBER),
        limiting_batch_size=or_null(COUNT),
        hardest_for_any=or_null(NUMBER),
    ),
    "Of each workload: at how many targets anything changes; the worst over batch sizes of the best value, so that "
    "every batch size gets better than any easier target, and the batch size that sets it (null if one has no value); "
    "and the best value of all.",
    [
        {
            "workload": WORKLOAD,
            "n_breakpoints": 207,
            "hardest_for_all": 0.03,
            "limiting_batch_size": 1024,
            "hardest_for_any": 0.0133,
        }
    ],
    "unit of the metric",
)
_CLAIMS = fact(
    "claims",
    list_of(workload=NAME, claim=NAME, intervals=list_of(hardest=NUMBER, easiest=or_null(NUMBER))),
    "For which targets a claim holds, exactly: for those easier than `hardest`, up to and including `easiest`, null "
    "for no limit (with comparator=inclusive `hardest` is included, `easiest` not). A claim without intervals holds "
    "nowhere.",
    [
        {
            "workload": WORKLOAD,
            "claim": "every batch size reaches the target",
            "intervals": [{"hardest": 0.03, "easiest": None}],
        }
    ],
    "unit of the metric",
)
TARGET_SWEEP_QUESTION = Question(
    "/v1/analysis/target-sweep",
    "How regimes, critical batch size and the order of workloads depend on the target, and where a claim holds.",
    TargetSweepParameters,
    lambda asked: target_sweep(
        asked.view, asked.parameters.selection(), asked.parameters.comparator, asked.parameters.grid()
    ),
    TARGET_SWEEP,
    (*SELECTION_FACTS, *facts_named("comparator"), _SUMMARIES, _CLAIMS, *FINDING_FACTS),
)
