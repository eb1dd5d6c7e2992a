"""The critical batch size of each workload at its own goal, with the size, tokens and loss that it may depend on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from losslake.analysis.best_setting import Seeds
from losslake.analysis.critical_batch_size import CurveFit, tested_curve
from losslake.analysis.hyperbola import Kind
from losslake.questions.declaration.parameters import GoalParameters
from losslake.questions.release.errors import BadParameter, UnknownName
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import CONVERGED, WorkloadFacts
from losslake.questions.trials.resources import resources_of
from losslake.questions.trials.scaling_curve import UsableCurve, scaling_curve, usable_curve
from losslake.questions.trials.search import Search, open_searches
from losslake.questions.trials.selection import Goal, ResultName

FEWEST_BATCH_SIZES = 3
_FEW, _NO_GOAL = f"fewer than {FEWEST_BATCH_SIZES} batch sizes", "no goal"
_NO_DIRECTION = "a goal in a metric without a known direction"
SIZES = ("n_parameters_non_embedding", "n_parameters")
"""The facts that say how large a model is; published laws mostly count parameters without embeddings."""


@dataclass(frozen=True)
class CriticalPoint:
    """A workload at its own goal: its curve, and the estimate of B_c = E_min/S_min with the 90% interval or bounds."""

    view: ReleaseView
    search: Search
    metric: str
    goal: Goal
    curve: UsableCurve
    fit: CurveFit

    @property
    def name(self) -> str:
        """The workload."""
        return str(self.search.facts.workload)

    @property
    def batch_unit(self) -> str:
        """The unit that its batch sizes count."""
        return self.view.batch_units(self.search.facts)[0]

    def known_size(self) -> tuple[str, float] | None:
        """Return which of SIZES its trials state, and the number; None if they state none, or different ones."""
        for name in SIZES:
            if (value := self._only(self._resources[name])) is not None:
                return name, value
        return None

    @property
    def tokens_per_example(self) -> float | None:
        """The tokens in one unit of its batch sizes; None if its trials state none, or different ones."""
        return self._only(self._resources["tokens_per_example"])

    @property
    def fewest_tokens(self) -> float | None:
        """The fewest tokens to the target, E_min of the fit; None where B_c or the tokens of an example are unknown."""
        if self.fit.fit is None or not self.fit.known.is_identifiable or self.tokens_per_example is None:
            return None
        return self.fit.fit.e_min * self.tokens_per_example

    @cached_property
    def loss(self) -> float | None:
        """The cross-entropy of the target in nats; None where the goal doesn't say it."""
        quantity = self.metric.rpartition("/")[2]
        if quantity == "cross_entropy_error":
            return self.goal.target
        if quantity == "perplexity":
            return math.log(self.goal.target) if self.goal.target > 0 else None
        if self.metric != CONVERGED:
            return None
        facts = self.search.facts
        stated = self.view.table("fact_of_trials", {**facts.study_ids, "name": "target_loss"})["number"]
        return self._only(stated)

    @cached_property
    def _resources(self) -> pa.Table:
        return resources_of(self.view, self.search.facts)

    def _only(self, values: pa.ChunkedArray) -> float | None:
        """Return the value that all counted trials which state one have; None for none, and for different ones."""
        stated = {*values.filter(pa.array(self.search.admitted)).drop_null().to_pylist()}
        return float(stated.pop()) if len(stated) == 1 else None


def critical_points(
    view: ReleaseView,
    workloads: Iterable[WorkloadFacts],
    result: ResultName | None = None,
    seeds: Seeds = "median",
    metric: str = "",
    kind: Kind = "robust",
) -> tuple[list[CriticalPoint], dict[WorkloadFacts, str]]:
    """Return the workloads with at least 3 batch sizes and a goal, and why each of the others is left out.

    metric: only goals in it; empty for the first goal of each workload. result, seeds: as of ResultParameters.
    """
    points, left_out = [], {}
    for facts in workloads:
        if len(facts.fixed_sizes) < FEWEST_BATCH_SIZES:
            left_out[facts] = _FEW
            continue
        try:
            parameters = GoalParameters(workload=[str(facts.workload)], metric=metric).with_goal(view)
        except (BadParameter, UnknownName):
            left_out[facts] = f"{_NO_GOAL} in {metric}" if metric else _NO_GOAL
            continue
        if view.metrics[parameters.metric].direction is None:
            left_out[facts] = _NO_DIRECTION
            continue
        (search,) = open_searches(view, replace(parameters.selection(), result=result, seeds=seeds))
        curve = usable_curve(search, scaling_curve(search, parameters.goal))
        fit = tested_curve(
            curve.batch_sizes, curve.tuned_steps, curve.censored_at, curve.previous_steps, kind, curve.n_trials
        )
        points.append(CriticalPoint(view, search, parameters.metric, parameters.goal, curve, fit))
    return points, left_out
