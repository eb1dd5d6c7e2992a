"""The page of a workload: how many steps it takes to a target by batch size, and what follows from that."""

from __future__ import annotations

from dataclasses import dataclass

from losslake.questions.analysis.regimes import regimes
from losslake.questions.selection import named_workload
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Workload
from losslake_service.web.chart import Chart
from losslake_service.web.goals import GoalShown
from losslake_service.web.page import Crumb, Page, PageAsked, PageKind
from losslake_service.web.workload.answer_words import answer_sentences, caveats, regime_ends
from losslake_service.web.workload.budgets import BudgetShown, budget_shown
from losslake_service.web.workload.charts import (
    estimates_address,
    json_ld,
    metaparameters_chart,
    scaling_chart,
    target_sweep_chart,
    tuning_budget_chart,
)
from losslake_service.web.workload.comparisons import Others, others_shown
from losslake_service.web.workload.key_figures import (
    GoalLink,
    KeyFigure,
    MetricChoice,
    Slider,
    TargetReach,
    goal_links,
    key_figures,
    metric_choices,
    slider,
    sweep_shown,
)
from losslake_service.web.workload.state import WorkloadAsked, WorkloadParameters, metric_shown, workload_asked
from losslake_service.web.workload.studies import StudyShown, status_counts, studies_shown

_LONGEST_DESCRIPTION = 300


@dataclass(frozen=True)
class AnswerShown:
    """The answer for a goal. metaparameters: None where no trial has a learning rate. estimates: the address of those
    of the critical batch size."""

    goal: GoalShown
    is_told: bool
    sentences: tuple[str, ...]
    caveats: tuple[str, ...]
    figures: tuple[KeyFigure, ...]
    slider: Slider
    reach: TargetReach
    studies: tuple[StudyShown, ...]
    budget: BudgetShown
    others: tuple[Others, ...]
    scaling: Chart
    target_sweep: Chart
    tuning_budget: Chart
    metaparameters: Chart | None
    estimates: str


@dataclass(frozen=True)
class WorkloadShown:
    """What the template shows. metric: None where nothing is measured. answer: None where it isn't known of the metric
    which way is better."""

    workload: Workload
    batch_sizes: tuple[int, ...]
    n_trials: int
    metric: str | None
    metrics: tuple[MetricChoice, ...]
    goals: tuple[GoalLink, ...]
    answer: AnswerShown | None


def workload_page(page: PageAsked) -> Page:
    """The page of the workload that the path names; raises BadParameter and UnknownName."""
    facts = page.view.workload(named_workload(page.name))
    asked = workload_asked(page, facts)
    metric = asked.goal.metric if asked else metric_shown(page, facts)
    answer = None if asked is None else _answer(asked)
    workload, given = facts.workload, page.parameters
    title = f"{workload.model} on {workload.dataset} with {workload.optimizer}"
    description = _description(facts, answer)
    own = {name: getattr(given, name) for name in ("metric", "target", "direction", "step_budget", "example_budget")}
    return Page(
        template="workload.html",
        title=title,
        description=description,
        url=page.page_of(workload, **own),
        content=WorkloadShown(
            workload=workload,
            batch_sizes=facts.batch_sizes,
            n_trials=sum(status_counts(facts).n_trials),
            metric=metric,
            metrics=metric_choices(facts, metric),
            goals=goal_links(page, facts, asked),
            answer=answer,
        ),
        picture=answer.scaling if answer else None,
        above=(Crumb("Workloads", page.url("/workloads")),),
        styles=("workload.css",),
        scripts=("workload.js",) if answer else (),
        json_ld=json_ld(asked, answer.scaling, title, description) if asked and answer else "",
        data=answer.scaling.data("json") if answer else None,
    )


def _answer(asked: WorkloadAsked) -> AnswerShown:
    found = regimes(asked.page.view, asked.selection, asked.as_goal)
    sweep = sweep_shown(asked)
    studies = studies_shown(asked, found)
    sweep_chart = target_sweep_chart(asked)
    has_rates = any(study.learning_rate is not None for study in studies)
    return AnswerShown(
        goal=asked.goal,
        is_told=asked.is_told,
        sentences=answer_sentences(asked.goal, studies, regime_ends(found), sweep.row),
        caveats=caveats(asked.workload, [found]),
        figures=key_figures(sweep.row, sweep.n_batch_sizes),
        slider=slider(asked, sweep_chart, sweep.row),
        reach=sweep.reach,
        studies=studies,
        budget=budget_shown(asked),
        others=others_shown(asked),
        scaling=scaling_chart(asked),
        target_sweep=sweep_chart,
        tuning_budget=tuning_budget_chart(asked),
        metaparameters=metaparameters_chart(asked) if has_rates else None,
        estimates=estimates_address(asked),
    )


def _description(facts: WorkloadFacts, answer: AnswerShown | None) -> str:
    """For search engines and those who are sent a link: the answer, as far as it is short."""
    sizes = facts.batch_sizes
    what = f"Training curves of {facts.workload} at {len(sizes)} batch size{'s' if len(sizes) != 1 else ''}."
    if answer is None:
        return what
    found = f"Steps to {answer.goal.text} by batch size."
    for sentence in answer.sentences:
        if len(found) + len(sentence) < _LONGEST_DESCRIPTION:
            found = f"{found} {sentence}"
    return found


WORKLOAD = PageKind("/workloads/{name:path}", WorkloadParameters, workload_page)
