"""What can be chosen on the page: the metric, one of the workload's goals, and the target."""

from __future__ import annotations

from dataclasses import dataclass

from losslake.questions.workload_facts import WorkloadFacts
from losslake_service.web.chart import Chart
from losslake_service.web.goals import goals_of
from losslake_service.web.page import PageAsked
from losslake_service.web.workload.asked import WorkloadAsked
from losslake_service.web.workload.key_figures import spoken, words_for_scripts
from losslake_service.web.workload.sweep_row import SweepRow

_STOPS = 100


@dataclass(frozen=True)
class MetricChoice:
    """A metric that the workload measures."""

    name: str
    is_shown: bool


@dataclass(frozen=True)
class GoalLink:
    """A goal of the workload, who set it, and the page about it."""

    text: str
    source: str
    url: str
    is_shown: bool


@dataclass(frozen=True)
class Slider:
    """The slider of targets.

    stops: where its stops come from. row: of the target that is shown, as JSON. words: those that its script fills in,
    as JSON. target, spoken: the target as it is shown, and as it is read out.
    """

    stops: str
    row: str
    words: str
    target: str
    spoken: str


def metric_choices(facts: WorkloadFacts, shown: str | None) -> tuple[MetricChoice, ...]:
    """All metrics, in their order."""
    return tuple(MetricChoice(name, name == shown) for name in facts.measured)


def goal_links(page: PageAsked, facts: WorkloadFacts, asked: WorkloadAsked | None) -> tuple[GoalLink, ...]:
    """The workload's own goals."""
    shown = asked and (asked.goal.metric, asked.goal.target)
    return tuple(
        GoalLink(
            text=goal.text,
            source=goal.source,
            url=page.page_of(facts.workload, metric=goal.metric, target=goal.target),
            is_shown=(goal.metric, goal.target) == shown,
        )
        for goal in goals_of(page.view, facts)
    )


def slider(asked: WorkloadAsked, sweep: Chart, row: SweepRow) -> Slider:
    """The slider of a metric. sweep: the chart of its sweep."""
    stops = f"{sweep.data('json')}&n_targets={_STOPS}"
    return Slider(
        stops,
        row.as_json,
        words_for_scripts(asked),
        asked.goal.text.removeprefix(asked.goal.metric).strip(),
        spoken(asked, row),
    )
