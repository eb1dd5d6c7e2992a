"""The best of n trials, by batch size and n."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import Field

from losslake.analysis.best_of_n import (
    Range,
    SmallerSearch,
    chance_of_reaching,
    expected_best,
    expected_best_with_replacement,
    quantiles,
    ratio_to_best,
    smaller_search,
    trials_needed,
)
from losslake.analysis.settings import are_repeated, drawn_alike, evidence
from losslake.analysis.survival import wilson
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.plain import whole
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import WORKLOAD, GoalParameters, Natural
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, GoalSummary, Summary, entry
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.batch_size_words import listed
from losslake.questions.trials.scaling_curve import trial_steps
from losslake.questions.trials.search import Search, at, open_search, open_searches
from losslake.questions.trials.selection import Goal, Selection
from losslake.questions.trials.step_warnings import unequal_searches
from losslake_schema.names import Workload
from losslake_schema.reached import NEVER, Floats, Integers
from losslake_schema.statuses import INFEASIBLE, STATUSES

MOST_BUDGETS = 100
_SURE = 0.95
_LONE = 1.5


PopulationName = Literal["non-divergent", "launched"]
NON_DIVERGENT, LAUNCHED = POPULATIONS = get_args(PopulationName)


class TuningBudgetParameters(GoalParameters):
    """The parameters of tuning budgets."""

    budget: Annotated[list[Annotated[Natural, Field(ge=1)]], shown([20], "trials", max_length=MOST_BUDGETS)] = Field(
        default_factory=list
    )
    """Tuning budget: the best of this many trials; may be repeated. Default: powers of two, and all trials."""
    population: Annotated[list[PopulationName], shown(["launched"])] = Field(default_factory=lambda: [*POPULATIONS])
    """Trials that count: non-divergent, those of `status` that didn't diverge; launched, these and all that diverged
    (INFEASIBLE), whatever `status` says. May be repeated. Default: both."""


class TuningBudgetRow(Row):
    """A study, population and budget."""

    workload: str
    batch_size: int
    population: Annotated[str, shown("launched")]
    """Trials that count: non-divergent ones; or launched, also those that diverged, which never reach the target."""
    budget: Annotated[int, shown(16, "trials")]
    """Tuning budget: the best of this many trials."""
    n_trials: Annotated[int, shown(64, "trials")]
    """Trials of the population, from which they are drawn."""
    n_reached: int
    chance: Annotated[float, shown(0.97, "none: a probability")]
    """Probability that the best of them reaches the target within the budgets of steps and examples."""
    steps_q05: Annotated[int | None, shown(400, "steps")]
    """5% quantile of the steps of the best of them; null if it reaches the target less often."""
    steps_q50: Annotated[int | None, shown(440, "steps")]
    """The same for 50%: the median of the best of them."""
    steps_q95: Annotated[int | None, shown(620, "steps")]
    """The same for 95%."""
    expected_best_value: Annotated[float | None, shown(0.021, "unit of the metric")]
    """Expected best value within the budgets, unbiased; null if all trials drawn may lack a value."""
    expected_best_value_with_replacement: Annotated[float | None, shown(0.022, "unit of the metric")]
    """The same drawn with replacement, biased to the worse, as some papers report; null if any trial lacks one."""


class SearchedStudy(Summary):
    """A study as a search."""

    workload: Annotated[str, shown(WORKLOAD)]
    batch_size: Annotated[int, shown(64)]
    population: Annotated[str, shown("launched")]
    n_trials: Annotated[int, shown(64)]
    n_settings: Annotated[int, shown(64)]
    n_diverged: Annotated[int, shown(1)]
    n_reached: Annotated[int, shown(23)]
    chance: Annotated[float | None, shown(0.36)]
    chance_lower: Annotated[float, shown(0.25)]
    chance_upper: Annotated[float, shown(0.48)]
    steps: Annotated[int | None, shown(104)]
    half_budget: Annotated[int, shown(32)]
    half_lower: Annotated[int | None, shown(104)]
    half_upper: Annotated[int | None, shown(152)]
    quarter_budget: Annotated[int, shown(16)]
    quarter_lower: Annotated[int | None, shown(104)]
    quarter_upper: Annotated[int | None, shown(218)]
    m_out_of_n_budget: Annotated[int, shown(18)]
    m_out_of_n_lower: Annotated[int | None, shown(104)]
    m_out_of_n_upper: Annotated[int | None, shown(208)]
    runner_up_ratio: Annotated[float | None, shown(1.2)]
    fifth_ratio: Annotated[float | None, shown(1.5)]
    trials_needed: Annotated[int | None, shown(7)]


class TuningBudgetSummary(GoalSummary, Finding):
    """The results of the searches."""

    searches: list[SearchedStudy]
    """Per search: `n_settings`, seeds aside; `chance`, the share that reached the target, with its 95% Wilson interval;
    fewest steps; 5% and 95% quantiles of steps for half and a quarter of the N settings, each with all of its trials,
    and m = N^0.7 with replacement (null if reached less often; `…_budget` counts settings); steps of the second and
    fifth best trial over the fewest; and trials needed for 95% probability, as these trials estimate it: where few of
    them reach the target, as many new ones do so less often."""


def _answer(view: ReleaseView, parameters: TuningBudgetParameters) -> Answer:
    """Return the results of smaller searches, by workload, batch size, population and budget.

    Raises UnknownName and BadParameter.
    """
    selection, goal, budgets = parameters.selection(), parameters.goal, parameters.budget
    names = list(dict.fromkeys(parameters.population))
    sign = open_search(view, selection, selection.workloads[0]).sign
    parts: list[Rows] = []
    searches: list[dict[str, Any]] = []
    left_out: list[str] = []
    warnings: list[str] = []
    n_used = 0
    for workload in selection.workloads:
        studies = list(populations(view, selection, goal, workload, names))
        for study in studies:
            searches.append(_search(str(workload), study))
            parts.append(_rows(str(workload), study, _budgets(len(study.steps), budgets), sign))
        widest = [study for study in studies if study.name == max(names, key=POPULATIONS.index)]
        n_used += sum(len(study.steps) for study in widest)
        left_out += (f"{workload}: {text}" for text in _left_out(widest, budgets))
        warnings += unequal_searches(
            str(workload), [len(study.steps) for study in widest], "compare them at the same budget"
        )
        warnings += (f"{workload}: {text}" for text in _warnings(widest))
    statuses = _statuses(selection)[max(names, key=POPULATIONS.index)]
    return QUESTION.analysis(
        view,
        parameters,
        parts,
        {"searches": searches},
        n_used=n_used,
        left_out=left_out,
        warnings=warnings,
        searches=open_searches(view, replace(selection, statuses=statuses)),
    )


QUESTION = Question(
    path="/v1/analysis/tuning-budget",
    doc="The best of n trials by batch size and n: its steps to a target, chance to reach it, and expected best value.",
    parameters=TuningBudgetParameters,
    row=TuningBudgetRow,
    summary=TuningBudgetSummary,
    compute=_answer,
    cost=lambda _: Cost(20_000, 1500, 8),
)


def _budgets(n_trials: int, requested: Sequence[int]) -> Integers:
    """Return the requested budgets up to n_trials; by default powers of two, and all."""
    wanted = set(requested) or {n_trials, *(2**power for power in range(n_trials.bit_length()))}
    return np.array(sorted(budget for budget in wanted if 1 <= budget <= n_trials), np.int64)


def _rows(workload: str, study: Population, budgets: Integers, sign: float) -> Rows:
    q05, q50, q95 = quantiles(study.steps, budgets, np.array([0.05, 0.5, 0.95])).T
    return QUESTION.rows.of(
        {
            "workload": workload,
            "batch_size": study.batch_size,
            "population": study.name,
            "budget": budgets,
            "n_trials": len(study.steps),
            "n_reached": int(np.isfinite(study.steps).sum()),
            "chance": chance_of_reaching(study.steps, budgets),
            "steps_q05": whole(q05),
            "steps_q50": whole(q50),
            "steps_q95": whole(q95),
            "expected_best_value": _signed(expected_best(study.losses, budgets), sign),
            "expected_best_value_with_replacement": _signed(
                expected_best_with_replacement(study.losses, budgets), sign
            ),
        }
    )


def _signed(losses: Sequence[float | None], sign: float) -> list[float | None]:
    return [None if loss is None else sign * loss for loss in losses]


def _search(workload: str, study: Population) -> dict[str, Any]:
    """Return the entry of a search in the summary."""
    n_trials, reached = len(study.steps), study.steps[np.isfinite(study.steps)]
    share = wilson(len(reached), n_trials, evidence=evidence(study.settings))
    smaller = replace(
        smaller_search(study.drawn),
        runner_up_ratio=ratio_to_best(study.steps, 2),
        fifth_ratio=ratio_to_best(study.steps, 5),
    )
    return entry(
        SearchedStudy,
        smaller,
        workload=workload,
        batch_size=study.batch_size,
        population=study.name,
        n_trials=n_trials,
        n_settings=len(np.unique(study.settings)),
        n_diverged=study.n_diverged,
        n_reached=len(reached),
        chance=share.share,
        chance_lower=share.lower,
        chance_upper=share.upper,
        steps=int(reached.min()) if len(reached) else None,
        trials_needed=trials_needed(n_trials, len(reached), _SURE),
        **_ranges(smaller),
    )


def _ranges(smaller: SmallerSearch) -> dict[str, int | None]:
    fields: dict[str, int | None] = {}
    for name in ("half", "quarter", "m_out_of_n"):
        drawn = getattr(smaller, name) or Range(0, None, None)
        ends = (None if end is None else int(end) for end in (drawn.lower, drawn.upper))
        fields |= zip((f"{name}_budget", f"{name}_lower", f"{name}_upper"), (drawn.n, *ends), strict=True)
    return fields


def _left_out(studies: Sequence[Population], budgets: Sequence[int]) -> Iterator[str]:
    for budget in budgets:
        sizes = [study.batch_size for study in studies if len(study.steps) < budget]
        if sizes:
            yield f"a budget of {budget} trials: there are fewer at batch size {listed(sizes)}"
    empty = [study.batch_size for study in studies if not len(study.steps)]
    if empty:
        yield f"no trials count at batch size {listed(empty)}"


def _warnings(studies: Sequence[Population]) -> Iterator[str]:
    lone = [study.batch_size for study in studies if (ratio_to_best(study.steps, 2) or 1) >= _LONE]
    if lone:
        yield (
            f"one trial stands alone at batch size {listed(lone)}: the next best took at least {_LONE} times its steps"
        )
    unsure = [study.batch_size for study in studies if _misses_at_half(study)]
    if unsure:
        yield (
            f"half the trials would reach the target with less than {_SURE:.0%} probability at batch size "
            f"{listed(unsure)}: steps there are partly luck"
        )
    repeated = [study.batch_size for study in studies if are_repeated(study.settings)]
    if repeated:
        yield (
            f"trials at batch size {listed(repeated)} repeat settings, or pooled workloads: rows draw single trials, "
            "so their quantiles are narrower than those of searches that repeat as often; half_ and quarter_ draw these"
        )


def _misses_at_half(study: Population) -> bool:
    half = len(study.drawn) // 2
    return half < 1 or float(chance_of_reaching(study.drawn, np.array([half]))[0]) < _SURE


@dataclass(frozen=True)
class Population:
    """The trials of one study that count.

    steps: to the target, inf for never. losses: the best of each, lower is better, inf without any. Both are inf for
    a trial that diverged. settings: of each trial.
    """

    name: str
    batch_size: int
    steps: Floats
    losses: Floats
    settings: Integers
    n_diverged: int

    @property
    def drawn(self) -> Floats:
        """The steps of what smaller searches draw: the fewest of each setting, or of each trial of a single one."""
        return drawn_alike(self.steps, self.settings)


def populations(
    view: ReleaseView, selection: Selection, goal: Goal, workload: Workload, names: Sequence[str] = POPULATIONS
) -> Iterator[Population]:
    """Yield these populations of each study, by batch size; launched: the selected trials and all that diverged.

    The first so many trials of a selection are counted in each population by itself. Raises UnknownName and
    BadParameter.
    """
    statuses = _statuses(selection)
    searches = {name: open_search(view, replace(selection, statuses=statuses[name]), workload) for name in names}
    by_name = {
        name: (opened.facts.rows_where(opened.admitted & ~opened.stopped_earlier(goal)), *_trials(opened, goal))
        for name, opened in searches.items()
    }
    settings, batch_sizes = searches[names[0]].facts.drawn_as_wholes, searches[names[0]].facts.batch_sizes
    for study, batch_size in enumerate(batch_sizes):
        for name, (by_study, steps, losses, diverged) in by_name.items():
            rows = by_study[study]
            n_diverged = int(diverged[rows].sum())
            yield Population(name, batch_size, steps[rows], losses[rows], settings[rows], n_diverged)


def _statuses(selection: Selection) -> dict[str, tuple[str, ...]]:
    """Return the statuses of each population; raises BadParameter."""
    others = tuple(status for status in selection.statuses if status != INFEASIBLE)
    if not others:
        why = f"status={INFEASIBLE} alone leaves no trial that could reach the target: give COMPLETE or INCOMPLETE too"
        raise BadParameter("status", why)
    return {NON_DIVERGENT: others, LAUNCHED: (*others, INFEASIBLE)}


def _trials(search: Search, goal: Goal) -> tuple[Floats, Floats, Integers]:
    """Return by trial its steps, its loss, and 1 if it diverged."""
    diverged = search.facts.trials.status == STATUSES.index(INFEASIBLE)
    losses = at(search.records.value, search.best_records) * search.sign
    losses = np.where((search.best_records == NEVER) | diverged, np.inf, losses)
    return np.where(diverged, np.inf, trial_steps(search, goal)), losses, diverged.astype(np.int64)
