"""Whom the workload can be compared with: other optimizers of the same problem, other models of the same data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from losslake_schema.names import Workload
from losslake_service.web.workload.state import WorkloadAsked

_MOST = 12


@dataclass(frozen=True)
class Other:
    """Another workload: what tells it from this one, the page that compares both, and its own."""

    text: str
    compare_url: str
    url: str


@dataclass(frozen=True)
class Others:
    """Workloads that differ in one part of their names. all_url: of the comparison with all of those listed."""

    heading: str
    listed: tuple[Other, ...]
    n_more: int
    all_url: str


def others_shown(asked: WorkloadAsked) -> tuple[Others, ...]:
    """Workloads that measure the same metric; those of the same collection first. Kinds without any are left out."""
    own = asked.workload
    kinds = (
        (
            f"Other optimizers for {own.model} on {own.dataset}",
            lambda each: each.optimizer,
            [each for each in _candidates(asked) if each.model == own.model],
        ),
        (
            f"Other models on {own.dataset} with {own.optimizer}",
            lambda each: each.model,
            [each for each in _candidates(asked) if each.optimizer == own.optimizer],
        ),
    )
    return tuple(_others(asked, heading, part, found) for heading, part, found in kinds if found)


def _candidates(asked: WorkloadAsked) -> list[Workload]:
    own, metric = asked.workload, asked.goal.metric
    found = [
        each
        for each, facts in asked.page.view.workloads.items()
        if each != own and each.dataset == own.dataset and metric in facts.measured
    ]
    return sorted(found, key=lambda each: (each.collection != own.collection, each))


def _others(asked: WorkloadAsked, heading: str, part: Callable[[Workload], str], found: Sequence[Workload]) -> Others:
    listed = list(found[:_MOST])
    return Others(
        heading=heading,
        listed=tuple(
            Other(
                text=part(each)
                if each.collection == asked.workload.collection
                else f"{part(each)} (in {each.collection})",
                compare_url=asked.compared([each]),
                url=asked.page_of(each),
            )
            for each in listed
        ),
        n_more=len(found) - len(listed),
        all_url=asked.compared(listed),
    )
