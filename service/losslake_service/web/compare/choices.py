"""What can be compared: the workloads chosen, and those that suggest themselves beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import workload_labels
from losslake_schema.names import Workload
from losslake_service.web.addresses import with_query
from losslake_service.web.compare.asked import CompareAsked
from losslake_service.web.page import PageAsked

_MOST_SUGGESTED = 8
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Chosen:
    """A workload that is compared. without_url: this page without it; as_baseline_url: with it as the baseline."""

    name: str
    label: str
    url: str
    without_url: str
    as_baseline_url: str
    is_baseline: bool


@dataclass(frozen=True)
class Suggestion:
    """A link to a comparison."""

    text: str
    url: str


def chosen(asked: CompareAsked) -> tuple[Chosen, ...]:
    """The workloads of the page."""
    labels = workload_labels([str(each) for each in asked.workloads])
    return tuple(
        Chosen(
            name=str(each),
            label=labels.own[str(each)] or str(each),
            url=asked.page.page_of(each, metric=asked.goal.metric, target=asked.goal.target),
            without_url=asked.url(tuple(other for other in asked.workloads if other != each)),
            as_baseline_url=asked.url(baseline=each),
            is_baseline=each == asked.baseline,
        )
        for each in asked.workloads
    )


def to_add(asked: CompareAsked) -> tuple[Suggestion, ...]:
    """Workloads of the same data set that measure the metric, the nearest first."""
    first = asked.workloads[0]
    found = [
        each
        for each, facts in asked.page.view.workloads.items()
        if each not in asked.workloads and each.dataset == first.dataset and asked.goal.metric in facts.measured
    ]
    found.sort(key=lambda each: (each.model != first.model, each.optimizer != first.optimizer, each))
    return tuple(
        Suggestion(f"{each.model}, {each.optimizer}", asked.url((*asked.workloads, each)))
        for each in found[:_MOST_SUGGESTED]
    )


def to_begin_with(page: PageAsked) -> tuple[Suggestion, ...]:
    """Comparisons of all optimizers of a data set and model."""
    found = []
    for (_, dataset, model), workloads in _by_problem(page.view).items():
        if len(workloads) > 1:
            optimizers = ", ".join(each.optimizer for each in workloads)
            query = [*(("workload", str(each)) for each in workloads), ("release", page.pinned)]
            found.append(Suggestion(f"{model} on {dataset}: {optimizers}", with_query("/compare", query)))
    return tuple(found[:_MOST_SUGGESTED])


def names_to_type(view: ReleaseView) -> Sequence[str]:
    """The names that the field for another workload offers."""
    return [str(each) for each in list(view.workloads)[:_MOST_LISTED]]


def _by_problem(view: ReleaseView) -> dict[tuple[str, str, str], list[Workload]]:
    found = defaultdict(list)
    for each in view.workloads:
        found[each.collection, each.dataset, each.model].append(each)
    # The plainest first: sgd, momentum, nesterov_momentum.
    return {
        problem: sorted(workloads, key=lambda each: _plainness(each.optimizer)) for problem, workloads in found.items()
    }


def _plainness(optimizer: str) -> tuple[int, str]:
    known = ("sgd", "momentum", "nesterov_momentum", "nesterov")
    return (known.index(optimizer) if optimizer in known else len(known), optimizer)
