"""The page that compares workloads: which reaches a target sooner, at which batch sizes, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from losslake.questions.analysis.compare import compare
from losslake.questions.wording import joined
from losslake.questions.workload_facts import workload_labels
from losslake_service.web.chart import Chart
from losslake_service.web.compare.compared import (
    Chosen,
    CompareAsked,
    CompareParameters,
    Suggestion,
    chosen,
    compare_asked,
    names_to_type,
    to_add,
    to_begin_with,
)
from losslake_service.web.compare.table import (
    SizeShown,
    profile_chart,
    ratio_chart,
    relative_to,
    scaling_chart,
    sizes_shown,
)
from losslake_service.web.goals import GoalShown
from losslake_service.web.page import Crumb, Page, PageAsked, PageKind


@dataclass(frozen=True)
class Mean:
    """The geometric mean of a workload's ratios, over so many batch sizes."""

    label: str
    ratio: float | None
    n_batch_sizes: int


@dataclass(frozen=True)
class Compared:
    """The comparison. start: the batch size that relative steps begin at; None where there is none."""

    goal: GoalShown
    metrics: tuple[str, ...]
    baseline: str
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    means: tuple[Mean, ...]
    sizes: tuple[SizeShown, ...]
    start: int | None
    steps_url: str
    relative_url: str
    scaling: Chart
    ratio: Chart | None
    profile: Chart | None
    definition: str


@dataclass(frozen=True)
class CompareShown:
    """What the template shows. found: None before workloads are chosen."""

    chosen: tuple[Chosen, ...]
    suggestions: tuple[Suggestion, ...]
    names: Sequence[str]
    found: Compared | None


def compare_page(page: PageAsked) -> Page:
    """The page; raises BadParameter and UnknownName."""
    asked = compare_asked(page)
    if asked is None:
        return Page(
            template="compare.html",
            title="Compare workloads",
            description="Which optimizer or model reaches a target sooner, at which batch sizes, and how sure that is.",
            url=page.url("/compare"),
            content=CompareShown((), to_begin_with(page), names_to_type(page.view), None),
        )
    found = _compared(asked)
    names = chosen(asked)
    labels = workload_labels([each.name for each in names])
    title = f"Compare {joined([each.label for each in names])}" + (f" on {labels.common}" if labels.common else "")
    return Page(
        template="compare.html",
        title=title if len(title) <= 120 else f"Compare {len(names)} workloads",
        description=" ".join([f"Steps to {asked.goal.text} by batch size.", *found.sentences])[:300],
        url=asked.url(),
        content=CompareShown(names, to_add(asked), names_to_type(page.view), found),
        picture=found.ratio or found.scaling,
        above=(Crumb("Workloads", page.url("/workloads")),),
        data=(found.ratio or found.scaling).data("json"),
    )


def _compared(asked: CompareAsked) -> Compared:
    answer = compare(asked.page.view, asked.selection, asked.as_goal, asked.baseline, asked.parameters.budget)
    facts, sizes = answer.facts, sizes_shown(asked, answer)
    is_several = len(asked.workloads) > 1
    return Compared(
        goal=asked.goal,
        metrics=asked.metrics,
        baseline=str(asked.baseline),
        sentences=tuple(each["in_words"] for each in facts["conclusions"]),
        warnings=tuple(dict.fromkeys(facts["warnings"])),
        means=_means(asked, facts["geometric_means"]),
        sizes=sizes,
        start=relative_to(sizes),
        steps_url=asked.url(scale=None),
        relative_url=asked.url(scale="relative"),
        scaling=scaling_chart(asked, sizes),
        ratio=ratio_chart(asked) if is_several else None,
        profile=profile_chart(asked) if is_several else None,
        definition=facts["definition"],
    )


def _means(asked: CompareAsked, means: Sequence[dict[str, Any]]) -> tuple[Mean, ...]:
    labels = {each.name: each.label for each in chosen(asked)}
    return tuple(Mean(labels[each["workload"]], each["steps_ratio"], each["n_batch_sizes"]) for each in means)


COMPARE = PageKind("/compare", CompareParameters, compare_page)
