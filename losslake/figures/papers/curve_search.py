"""The trials behind one curve of a paper's figure: those that the paper chose, as far as a release has them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from losslake.figures.papers.paper import Curve
from losslake.questions.errors import UnknownName
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, search
from losslake.questions.selection import Selection

_SAME = 1e-6


@dataclass(frozen=True)
class CurveSearch:
    """The search behind a curve.

    studies: indices of those that the curve is about, by ascending batch size. too_few: in words, which of them have
    fewer trials than asked for.
    """

    view: ReleaseView
    curve: Curve
    found: Search
    studies: tuple[int, ...]
    too_few: tuple[str, ...]

    @cached_property
    def parameters(self) -> list[Mapping[str, float]]:
        """By trial of the workload, its numeric metaparameters."""
        return _parameters(self.view, self.found)

    @cached_property
    def plain_momentum(self) -> float | None:
        """The momentum of a trial that has none: 0 where no trial of the workload has one (METHODS 4), else unknown."""
        return None if any("momentum" in known for known in self.parameters) else 0.0


@dataclass(frozen=True)
class NoData:
    """That there is nothing to draw a curve from. why: in a line. is_lacking: more data would help."""

    why: str
    is_lacking: bool = True


def search_curve(view: ReleaseView, curve: Curve, trials: int | None) -> CurveSearch | NoData:
    """Choose a curve's trials as the paper did: first by status and number, then by the split, then within budgets.

    trials: takes the place of the paper's own number of trials a study.
    """
    selection = Selection(
        workloads=(curve.workload,),
        metric=curve.metric,
        direction=curve.direction,
        step_budget=_whole(curve.step_budget),
        example_budget=_whole(curve.example_budget),
        trials=trials or curve.trials,
        statuses=curve.statuses,
    )
    try:
        found = search(view, selection, curve.workload)
    except UnknownName as unknown:
        missing = f"no data for {curve.workload}"
        return NoData(missing if unknown.what == "workload" else f"{missing}: it has no metric {curve.metric}")
    studies = tuple(_studies(view, curve, found))
    if not studies:
        if curve.batch_sizes is None:
            return NoData(f"no study of {curve.workload} was meant to train for {curve.label}", is_lacking=False)
        return NoData(f"no data for {curve.workload} at batch size {', '.join(map(str, curve.batch_sizes))}")
    too_few = tuple(_too_few(selection, found, studies))
    if curve.split is not None:
        name, value, default = curve.split
        values = [known.get(name, default) for known in _parameters(view, found)]
        chosen = np.array([other is not None and math.isclose(other, value, rel_tol=_SAME) for other in values])
        found = found.among(chosen)
    return CurveSearch(view, curve, found, studies, too_few)


def _whole(budget: float | None) -> int | None:
    """A budget of steps or examples, which are whole numbers: so many and a half are so many."""
    return None if budget is None else math.floor(budget)


def _studies(view: ReleaseView, curve: Curve, found: Search) -> Iterator[int]:
    facts = found.facts
    rows = view.rows("train_steps_of_studies", {"first_study": facts.first_study, "last_study": facts.last_study})
    for study, (batch_size, (train_steps,)) in enumerate(zip(facts.batch_sizes, rows, strict=True)):
        is_long = train_steps >= (curve.step_budget or 0) and train_steps * batch_size >= (curve.example_budget or 0)
        if (is_long or not curve.needs_train_steps) and (curve.batch_sizes is None or batch_size in curve.batch_sizes):
            yield study


def _too_few(selection: Selection, found: Search, studies: tuple[int, ...]) -> Iterator[str]:
    """That studies have fewer trials than asked for: the published scripts refuse them, here what is there is used."""
    wanted = selection.trials
    if wanted is None:
        return
    counts = found.n_admitted.tolist()
    lacking = sorted((counts[study], found.facts.batch_sizes[study]) for study in studies if counts[study] < wanted)
    statuses = " or ".join(selection.statuses)
    for count, group in groupby(lacking, key=lambda pair: pair[0]):
        sizes = [batch_size for _, batch_size in group]
        where = f"batch size {', '.join(map(str, sizes))}" if len(sizes) < len(studies) else "every batch size"
        yield f"{found.facts.workload} has {count} instead of {wanted} {statuses} trials at {where}: those are used"


def _parameters(view: ReleaseView, found: Search) -> list[Mapping[str, float]]:
    """Return by trial of the workload, its numeric metaparameters."""
    studies = {"first_study": found.facts.first_study, "last_study": found.facts.last_study}
    return [parameters or {} for _, _, parameters in view.rows("parameters_of_trials", studies)]
