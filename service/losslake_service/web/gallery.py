"""The findings of the first page: small charts of the workloads with the most batch sizes, and what they show."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from losslake.questions import regimes
from losslake.questions.release.known_names import collection_name, display_name
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import Workload
from losslake_service.web.goals import PageGoal, goals_of
from losslake_service.web.measures import batch_unit
from losslake_service.web.per_release import once_per_release
from losslake_service.web.templates import in_unit
from losslake_service.web.workload.answer_words import regime_sentences

_MOST, _MOST_TRIED, _FEWEST_SIZES = 6, 12, 4
# A sentence of the answer goes on with this about what noise allows.
_NOISE = " With the noise of steps, "
# The size of a small chart and its margin, in px.
WIDTH, HEIGHT, _MARGIN = 240, 90, 6


@dataclass(frozen=True)
class Miniature:
    """A small chart: a workload, its goal, and the fewest steps to it by batch size, on logarithmic axes.

    batch_unit: what batch sizes count. dominated: the batch sizes that were tuned worse than others, and don't count.
    finding: sentences about the ends of the regimes. is_clear: where the first one is, is known in spite of the noise.
    """

    workload: Workload
    goal: PageGoal
    batch_unit: str
    steps: Sequence[tuple[int, int]]
    dominated: frozenset[int] = frozenset()
    finding: Sequence[str] = ()
    is_clear: bool = False

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
        """The steps at the smallest batch size that counts, and the fewest: the number of the chart."""
        counted = [each for each in self.steps if each[0] not in self.dominated]
        first, fewest = counted[0], min(counted, key=lambda each: (each[1], each[0]))
        text = f"To {self.goal.text}: {first[1]:,} steps at batch size {in_unit(first[0], self.batch_unit)}"
        return text if fewest == first else f"{text}, {fewest[1]:,} at {fewest[0]:,}"

    @property
    def points(self) -> list[tuple[float, float, bool]]:
        """The positions of the batch sizes in px from the upper left corner, and whether each is dominated."""
        xs = [math.log(size) for size, _ in self.steps]
        ys = [-math.log(steps) for _, steps in self.steps]
        worse = [size in self.dominated for size, _ in self.steps]
        return list(zip(_spread(xs, WIDTH), _spread(ys, HEIGHT), worse, strict=True))


def _spread(values: Sequence[float], length: int) -> list[float]:
    """Return the positions of values between the margins of an axis of a length in px."""
    low, high = min(values), max(values)
    room = length - 2 * _MARGIN
    return [round(_MARGIN + room * ((value - low) / (high - low) if high > low else 0.5), 1) for value in values]


@once_per_release
def gallery(view: ReleaseView) -> list[Miniature]:
    """Return the small charts of a release: the best covered workloads, each model and dataset once."""
    tried = list(islice(_chosen(view), _MOST_TRIED))
    return sorted(tried, key=lambda each: not each.is_clear)[:_MOST]


def _chosen(view: ReleaseView) -> Iterator[Miniature]:
    """Yield the best covered workload of each dataset, then the next one of each on another model."""
    by_size = sorted(view.listed.values(), key=lambda facts: (-len(facts.fixed_sizes), facts.workload))
    ranked: list[tuple[int, WorkloadFacts, PageGoal]] = []
    models: defaultdict[str, list[str]] = defaultdict(list)
    for facts in by_size:
        if len(facts.fixed_sizes) < _FEWEST_SIZES:
            break
        dataset, model = (display_name(kind, facts.workload).lower() for kind in ("dataset", "model"))
        if model not in models[dataset] and (goal := next(iter(goals_of(view, facts)), None)) is not None:
            ranked.append((len(models[dataset]), facts, goal))
            models[dataset].append(model)
    ranked.sort(key=lambda each: each[0])
    for _, facts, goal in ranked:
        parameters = regimes.RegimesParameters.model_validate(
            {"workload": [str(facts.workload)], **goal.with_comparator}
        )
        answer = regimes.QUESTION.answer(view, parameters)
        rows = answer.table().to_pylist()
        worse = frozenset(row["batch_size"] for row in rows if row["is_dominated"])
        steps = [(row["batch_size"], row["steps"]) for row in rows if (row["batch_size"] or 0) > 0 and row["steps"]]
        if len(steps) - len(worse) >= _FEWEST_SIZES:
            finding = [text.partition(_NOISE)[0] for text in regime_sentences(answer, rows)[:2]]
            end = next(each for each in answer.facts["break_points"] if each["break_point"] == "perfect_scaling_end")
            is_clear = end["lower_with_noise"] is not None or end["upper_with_noise"] is not None
            yield Miniature(facts.workload, goal, batch_unit(view, facts), steps, worse, finding, is_clear)
