"""Reasons for which workloads can't be compared by batch size, and those of them, or of others, that can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from losslake.questions.release.known_names import labels_of
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.batch_size_words import joined
from losslake_schema.names import Workload
from losslake_service.web.goals import metrics_of
from losslake_service.web.templates import first_few

_MOST_OFFERED = 6
_MOST_LISTED = 12
# Its text and its workloads.
Offer = tuple[str, Sequence[Workload]]


def no_common_metric(facts: Sequence[WorkloadFacts], labels: Sequence[str], view: ReleaseView) -> list[str]:
    """Return in sentences that workloads have no metric in common, and which metrics each has."""
    return [
        "These workloads have no metric with a known direction in common, so no target is the same for all.",
        *(f"Metrics of {label}: {_few(metrics_of(view, each))}." for each, label in zip(facts, labels, strict=True)),
    ]


def no_common_size(facts: Sequence[WorkloadFacts], labels: Sequence[str]) -> list[str]:
    """Return in sentences that workloads have no batch size in common, and which batch sizes each has."""
    return [
        "These workloads have no batch size in common, so neither is said to need fewer steps than the other.",
        *(
            f"Batch sizes of {label}: {_few([f'{size:,}' for size in each.fixed_sizes])}."
            for each, label in zip(facts, labels, strict=True)
        ),
    ]


def offers(view: ReleaseView, chosen: Sequence[WorkloadFacts], needs_size: bool) -> list[Offer]:
    """Return pairs that can be compared: of these workloads, then of one of them and another one of its data set."""

    def alike(first: WorkloadFacts, second: WorkloadFacts) -> bool:
        has_size = not needs_size or not set(first.fixed_sizes).isdisjoint(second.fixed_sizes)
        return has_size and bool(metrics_of(view, first, second))

    pairs = [
        (first, second) for index, first in enumerate(chosen) for second in chosen[index + 1 :] if alike(first, second)
    ]
    for first in chosen:
        pairs += islice(_relatives(view, first, chosen, alike), _MOST_OFFERED // len(chosen) or 1)
    return [_offer(first.workload, second.workload) for first, second in pairs[:_MOST_OFFERED]]


def _relatives(
    view: ReleaseView,
    first: WorkloadFacts,
    chosen: Sequence[WorkloadFacts],
    alike: Callable[[WorkloadFacts, WorkloadFacts], bool],
) -> Iterator[tuple[WorkloadFacts, WorkloadFacts]]:
    """Yield a workload with those of its data set, most similar first."""
    this = first.workload
    names = {each.workload for each in chosen}
    others = [each for each in view.listed if each.dataset == this.dataset and each not in names]
    others.sort(key=lambda each: (each.model != this.model, each.collection != this.collection, each))
    yield from ((first, view.workloads[each]) for each in others if alike(first, view.workloads[each]))


def _offer(first: Workload, second: Workload) -> Offer:
    common, labels = labels_of([first, second])
    return f"{joined(labels)}: {common}" if common else joined(labels), (first, second)


def _few(parts: Sequence[str]) -> str:
    return first_few(parts, _MOST_LISTED) or "nothing"
