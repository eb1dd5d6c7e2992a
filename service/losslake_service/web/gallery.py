"""The gallery of the first page: small scaling charts of the workloads with the most batch sizes, a sentence each."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from weakref import WeakKeyDictionary

from losslake.questions.release.known_names import collection_name, display_name
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import Workload
from losslake_service.web.goals import PageGoal, goals_of, steps_by_size
from losslake_service.web.templates import in_unit

_MOST, _FEWEST_SIZES = 12, 4
# The size of a small chart and its margin, in px.
WIDTH, HEIGHT, _MARGIN = 240, 90, 6


@dataclass(frozen=True)
class Miniature:
    """A small chart: a workload, its goal, and the fewest steps to it by batch size, on logarithmic axes.

    batch_unit: what batch sizes count.
    """

    workload: Workload
    goal: PageGoal
    batch_unit: str
    steps: Sequence[tuple[int, int]]

    @property
    def heading(self) -> str:
        """The model and the dataset in words."""
        return f"{display_name('model', self.workload)} on {display_name('dataset', self.workload)}"

    @property
    def source(self) -> str:
        """The optimizer and the collection in words."""
        return f"{display_name('optimizer', self.workload)} \u00b7 {collection_name(self.workload.collection)}"

    @property
    def sentence(self) -> str:
        """The steps at the smallest batch size, and the fewest: the number of the chart."""
        first, fewest = self.steps[0], min(self.steps, key=lambda each: (each[1], each[0]))
        text = f"To {self.goal.text}: {first[1]:,} steps at batch size {in_unit(first[0], self.batch_unit)}"
        return text if fewest == first else f"{text}, {fewest[1]:,} at {fewest[0]:,}"

    @property
    def points(self) -> list[tuple[float, float]]:
        """The positions of the batch sizes in px from the upper left corner."""
        xs = [math.log(size) for size, _ in self.steps]
        ys = [-math.log(steps) for _, steps in self.steps]
        return list(zip(_spread(xs, WIDTH), _spread(ys, HEIGHT), strict=True))


def _spread(values: Sequence[float], length: int) -> list[float]:
    """Return the positions of values between the margins of an axis of a length in px."""
    low, high = min(values), max(values)
    room = length - 2 * _MARGIN
    return [round(_MARGIN + room * ((value - low) / (high - low) if high > low else 0.5), 1) for value in values]


_CHOSEN: WeakKeyDictionary[ReleaseView, list[Miniature]] = WeakKeyDictionary()


def gallery(view: ReleaseView) -> list[Miniature]:
    """Return the small charts of a release: the best covered workloads, one of each model and dataset."""
    if view not in _CHOSEN:
        _CHOSEN[view] = list(islice(_chosen(view), _MOST))
    return _CHOSEN[view]


def _chosen(view: ReleaseView) -> Iterator[Miniature]:
    """Yield the best covered workload of each dataset, then the next one of each on another model."""
    by_size = sorted(view.workloads.values(), key=lambda facts: (-len(facts.batch_sizes), facts.workload))
    ranked: list[tuple[int, WorkloadFacts, PageGoal]] = []
    models: defaultdict[str, list[str]] = defaultdict(list)
    for facts in by_size:
        if len(facts.batch_sizes) < _FEWEST_SIZES:
            break
        dataset, model = (display_name(kind, facts.workload).lower() for kind in ("dataset", "model"))
        if model not in models[dataset] and (goal := next(iter(goals_of(view, facts)), None)) is not None:
            ranked.append((len(models[dataset]), facts, goal))
            models[dataset].append(model)
    ranked.sort(key=lambda each: each[0])
    for _, facts, goal in ranked:
        steps = [(size, steps) for size, steps in steps_by_size(view, facts.workload, goal) if size > 0 and steps > 0]
        if len(steps) >= _FEWEST_SIZES:
            yield Miniature(facts.workload, goal, view.rows("batch_units", facts.study_ids)[0][0], steps)
