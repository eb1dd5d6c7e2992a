"""The trials behind one curve of a paper's figure: the paper's selection, as far as a release has it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from losslake.figures.papers.paper import Curve
from losslake.questions.release.errors import UnknownName
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import Search, open_search
from losslake.questions.trials.selection import Selection


@dataclass(frozen=True)
class CurveSearch:
    """The search behind a curve.

    studies: indices of the curve's studies, by ascending batch size. too_few: sentences about studies with fewer trials
    than requested.
    """

    view: ReleaseView
    curve: Curve
    result: Search
    studies: tuple[int, ...]
    too_few: tuple[str, ...]

    @cached_property
    def parameters(self) -> list[Mapping[str, float]]:
        """The numeric metaparameters of each trial of the workload."""
        return _parameters(self.view, self.result)

    @cached_property
    def plain_momentum(self) -> float | None:
        """The momentum of a trial without one: 0 if no trial of the workload has one, else None, unknown."""
        return None if any("momentum" in parameters for parameters in self.parameters) else 0.0


@dataclass(frozen=True)
class NoData:
    """The reason why a curve has no data. why: one line. is_missing: the release lacks the data."""

    why: str
    is_missing: bool = True


def search_curve(view: ReleaseView, curve: Curve, trials: int | None) -> CurveSearch | NoData:
    """Select a curve's trials as the paper did: first by status and number, then by the split, then within budgets.

    trials: replaces the paper's number of trials per study.
    """
    selection = Selection(
        workloads=(curve.workload,),
        metric=curve.metric,
        direction=curve.direction,
        step_budget=_whole(curve.step_budget),
        example_budget=_whole(curve.example_budget),
        trials=trials or curve.trials,
        statuses=curve.statuses,
        result="best_trial",
    )
    try:
        result = open_search(view, selection, curve.workload)
    except UnknownName as unknown:
        missing = f"no data for {curve.workload}"
        return NoData(missing if unknown.what == "workload" else f"{missing}: it has no metric {curve.metric}")
    studies = tuple(_studies(view, curve, result))
    if not studies:
        if curve.batch_sizes is None:
            return NoData(f"no study of {curve.workload} was planned to train for {curve.label}", is_missing=False)
        return NoData(f"no data for {curve.workload} at batch size {', '.join(map(str, curve.batch_sizes))}")
    too_few = tuple(_too_few(selection, result, studies))
    if curve.split is not None:
        name, value, default = curve.split
        values = [parameters.get(name, default) for parameters in _parameters(view, result)]
        chosen = np.array([other is not None and math.isclose(other, value, rel_tol=1e-6) for other in values])
        result = result.among(chosen)
    return CurveSearch(view, curve, result, studies, too_few)


def _whole(budget: float | None) -> int | None:
    """Return a budget of steps or examples rounded down, since these are whole numbers."""
    return None if budget is None else math.floor(budget)


def _studies(view: ReleaseView, curve: Curve, result: Search) -> Iterator[int]:
    facts = result.facts
    rows = view.rows("train_steps_of_studies", facts.study_ids)
    for study, (batch_size, (train_steps,)) in enumerate(zip(facts.batch_sizes, rows, strict=True)):
        is_long = train_steps >= (curve.step_budget or 0) and train_steps * batch_size >= (curve.example_budget or 0)
        if (is_long or not curve.needs_train_steps) and (curve.batch_sizes is None or batch_size in curve.batch_sizes):
            yield study


def _too_few(selection: Selection, result: Search, studies: tuple[int, ...]) -> Iterator[str]:
    """Yield sentences about studies with too few trials: used here, refused by the published scripts."""
    wanted = selection.trials
    if wanted is None:
        return
    counts = result.n_admitted.tolist()
    short = sorted((counts[study], result.facts.batch_sizes[study]) for study in studies if counts[study] < wanted)
    statuses = " or ".join(selection.statuses)
    for count, group in groupby(short, key=lambda pair: pair[0]):
        sizes = [batch_size for _, batch_size in group]
        where = f"batch size {', '.join(map(str, sizes))}" if len(sizes) < len(studies) else "every batch size"
        yield f"{result.facts.workload} has {count} instead of {wanted} {statuses} trials at {where}: all are used"


def _parameters(view: ReleaseView, result: Search) -> list[Mapping[str, float]]:
    """Return the numeric metaparameters of each trial of the workload."""
    return [parameters or {} for _, _, parameters in view.rows("parameters_of_trials", result.facts.study_ids)]
