"""Tuning budget: what the best of n trials is worth, by batch size and n."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.best_of_n import (
    AnotherSearch,
    Range,
    another_search,
    chance_of_reaching,
    expected_best,
    expected_best_with_replacement,
    quantiles,
    trials_needed,
)
from losslake.analysis.survival import wilson
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import WORKLOAD, GoalParameters, Natural
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling_curve import trial_steps
from losslake.questions.search import Search, at, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.summary import Finding, GoalSummary, Summary
from losslake.questions.wording import listed, not_admitted, unequal_searches
from losslake_schema.names import Workload
from losslake_schema.reached import NEVER, Floats, Integers, sign_of
from losslake_schema.tables import STATUSES

MOST_BUDGETS = 100
_PROBABILITIES = np.array([0.05, 0.5, 0.95])
_SURE = 0.95
_LONE = 1.5
_DEFINITION = (
    "The best of `budget` trials, drawn without replacement from those of a study: with k of N trials reaching the "
    "target within s steps, P(best of n <= s) = 1 - C(N - k, n) / C(N, n); quantiles are the smallest s with that "
    "probability. Population `launched` counts trials that diverged, which never reach; `non-divergent` leaves them "
    "out, as Shallue et al. do. Expected best values are unbiased (Tang et al. 2020); those with replacement are "
    "biased (Dodge et al. 2019). Trials of a quasi-random search are spread more evenly than independent ones, so all "
    "this is approximate. n_used counts the trials of the widest population asked for."
)


PopulationName = Literal["non-divergent", "launched"]
NON_DIVERGENT, LAUNCHED = POPULATIONS = get_args(PopulationName)
DIVERGED = "INFEASIBLE"


class TuningBudgetParameters(GoalParameters):
    """What would a search with fewer trials have found?"""

    budget: Annotated[list[Annotated[Natural, Field(ge=1)]], shown([20], "trials", max_length=MOST_BUDGETS)] = Field(
        default_factory=list
    )
    """A tuning budget: of so many trials the best is taken; may be repeated. Default: powers of two, and all trials."""
    population: Annotated[list[PopulationName], shown(["launched"])] = Field(default_factory=lambda: [*POPULATIONS])
    """Which trials count: non-divergent, those of `status` that didn't diverge; launched, these and all that diverged
    (INFEASIBLE), whatever `status` says. May be repeated. Default: both, one after the other."""


class TuningBudgetRow(Row):
    """A study, population and budget."""

    workload: str
    batch_size: int
    population: Annotated[str, shown("launched")]
    """Which trials count: non-divergent, those that didn't diverge; launched, these and the ones that did, which never
    reach."""
    budget: Annotated[int, shown(16, "trials")]
    """Tuning budget: of so many trials the best is taken."""
    n_trials: Annotated[int, shown(64, "trials")]
    """Trials of the population, from which they are drawn."""
    n_reached: int
    chance: Annotated[float, shown(0.97, "none: a probability")]
    """Probability that the best of them reaches the target within the budgets of steps and examples."""
    steps_q05: Annotated[int | None, shown(400, "steps")]
    """Steps that the best of them needs at most with a probability of 5%; null if it reaches the target less often."""
    steps_q50: Annotated[int | None, shown(440, "steps")]
    """The same for 50%: the median of the best of them."""
    steps_q95: Annotated[int | None, shown(620, "steps")]
    """The same for 95%."""
    expected_best_value: Annotated[float | None, shown(0.021, "unit of the metric")]
    """Expected best value of the metric within the budgets, unbiased; null if trials without a value may be all that
    are drawn."""
    expected_best_value_with_replacement: Annotated[float | None, shown(0.022, "unit of the metric")]
    """The same drawn with replacement, biased to the worse side, as some papers report it; null if any trial has no
    value."""


class SearchedStudy(Summary):
    """A study as a search."""

    workload: Annotated[str, shown(WORKLOAD)]
    batch_size: Annotated[int, shown(64)]
    population: Annotated[str, shown("launched")]
    n_trials: Annotated[int, shown(64)]
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
    """What is known of the searches."""

    searches: list[SearchedStudy]
    """Of each search: how many trials reached the target, with that share, `chance`, and its 95% Wilson interval; the
    fewest steps; the 5% and 95% quantile of steps that half and a quarter of the trials would have found, and m = N^0.7
    drawn with replacement, null where not reached so often; steps of the second and fifth best trial over the fewest;
    and with how many trials one that reaches is found with 95% probability."""


def answer(view: ReleaseView, parameters: TuningBudgetParameters) -> Answer:
    """What smaller searches would have found, by workload, batch size, population and budget.

    Raises UnknownName and BadParameter.
    """
    selection, goal, budgets = parameters.selection(), parameters.goal(), parameters.budget
    names = list(dict.fromkeys(parameters.population))
    direction = search(view, selection, selection.workloads[0]).direction
    rows: list[dict[str, Any]] = []
    searches: list[dict[str, Any]] = []
    left_out: list[str] = []
    warnings: list[str] = []
    n_used = 0
    for workload in selection.workloads:
        studies = list(populations(view, selection, goal, workload, names))
        for study in studies:
            key = {"workload": str(workload), "batch_size": study.batch_size, "population": study.name}
            searches.append(key | _search(study))
            rows += (key | row for row in _rows(study, _budgets(len(study.steps), budgets), direction))
        widest = [study for study in studies if study.name == max(names, key=POPULATIONS.index)]
        n_counted = sum(len(study.steps) for study in widest)
        n_used += n_counted
        n_others = len(view.workload(workload).trials.trial_id) - n_counted
        left_out += not_admitted(str(workload), n_others)
        left_out += (f"{workload}: {text}" for text in _left_out(widest, budgets))
        warnings += unequal_searches(
            str(workload), [len(study.steps) for study in widest], "compare them at the same budget"
        )
        warnings += (f"{workload}: {text}" for text in _warnings(widest))
    return QUESTION.analysis(
        view,
        parameters,
        direction,
        [pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)],
        {"searches": searches},
        definition=_DEFINITION,
        n_used=n_used,
        left_out=left_out,
        warnings=warnings,
    )


QUESTION = Question(
    path="/v1/analysis/tuning-budget",
    doc="What the best of n trials is worth, by batch size and n: steps "
    "to a target, its chance, the expected best value.",
    parameters=TuningBudgetParameters,
    row=TuningBudgetRow,
    summary=TuningBudgetSummary,
    answer=answer,
)


def _budgets(n_trials: int, asked: Sequence[int]) -> Integers:
    """Those asked for that a search of so many trials can have; powers of two, and all."""
    wanted = set(asked) or {n_trials, *(2**power for power in range(n_trials.bit_length()))}
    return np.array(sorted(budget for budget in wanted if 1 <= budget <= n_trials), np.int64)


def _rows(study: Population, budgets: Integers, direction: str) -> Iterator[dict[str, Any]]:
    sign = sign_of(direction)
    n_trials, n_reached = len(study.steps), int(np.isfinite(study.steps).sum())
    names = ("steps_q05", "steps_q50", "steps_q95")
    for budget, chance, steps, best, biased in zip(
        budgets.tolist(),
        chance_of_reaching(study.steps, budgets).tolist(),
        quantiles(study.steps, budgets, _PROBABILITIES).tolist(),
        expected_best(study.losses, budgets),
        expected_best_with_replacement(study.losses, budgets),
        strict=True,
    ):
        yield {
            "budget": budget,
            "n_trials": n_trials,
            "n_reached": n_reached,
            "chance": chance,
            **{name: int(own) if own < np.inf else None for name, own in zip(names, steps, strict=True)},
            "expected_best_value": None if best is None else sign * best,
            "expected_best_value_with_replacement": None if biased is None else sign * biased,
        }


def _search(study: Population) -> dict[str, Any]:
    """What is known of a search as it was."""
    n_trials, reached = len(study.steps), study.steps[np.isfinite(study.steps)]
    share, another = wilson(len(reached), n_trials), another_search(study.steps)
    return {
        "n_trials": n_trials,
        "n_diverged": study.n_diverged,
        "n_reached": len(reached),
        "chance": share.share,
        "chance_lower": share.lower,
        "chance_upper": share.upper,
        "steps": int(reached.min()) if len(reached) else None,
        **_ranges(another),
        "runner_up_ratio": another.runner_up_ratio,
        "fifth_ratio": another.fifth_ratio,
        "trials_needed": trials_needed(n_trials, len(reached), _SURE),
    }


def _ranges(another: AnotherSearch) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for name, own in (("half", another.half), ("quarter", another.quarter), ("m_out_of_n", another.m_out_of_n)):
        known = own or Range(0, None, None)
        found |= {
            f"{name}_budget": known.n,
            f"{name}_lower": None if known.lower is None else int(known.lower),
            f"{name}_upper": None if known.upper is None else int(known.upper),
        }
    return found


def _left_out(studies: Sequence[Population], budgets: Sequence[int]) -> Iterator[str]:
    for budget in budgets:
        sizes = [study.batch_size for study in studies if len(study.steps) < budget]
        if sizes:
            yield f"a budget of {budget} trials: there are fewer at batch size {listed(sizes)}"
    empty = [study.batch_size for study in studies if not len(study.steps)]
    if empty:
        yield f"no trials count at batch size {listed(empty)}"


def _warnings(studies: Sequence[Population]) -> Iterator[str]:
    lone = [study.batch_size for study in studies if (another_search(study.steps).runner_up_ratio or 1) >= _LONE]
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


def _misses_at_half(study: Population) -> bool:
    half = len(study.steps) // 2
    return half < 1 or float(chance_of_reaching(study.steps, np.array([half]))[0]) < _SURE


@dataclass(frozen=True)
class Population:
    """The trials of one study that count.

    steps: to the target, inf for never. losses: the best of each, lower is better, inf without any. Both are inf for
    a trial that diverged.
    """

    name: str
    batch_size: int
    steps: Floats
    losses: Floats
    n_diverged: int


def populations(
    view: ReleaseView, selection: Selection, goal: Goal, workload: Workload, names: Sequence[str] = POPULATIONS
) -> Iterator[Population]:
    """Of each study by batch size these populations; those launched are the selected trials and all that diverged.

    The first so many trials of a selection are counted in each population by itself. Raises UnknownName and
    BadParameter.
    """
    others = tuple(status for status in selection.statuses if status != DIVERGED)
    if not others:
        why = f"status={DIVERGED} alone leaves no trial that could reach the target: give COMPLETE or INCOMPLETE too"
        raise BadParameter("status", why)
    statuses = {NON_DIVERGENT: others, LAUNCHED: (*others, DIVERGED)}
    searches = {name: search(view, replace(selection, statuses=statuses[name]), workload) for name in names}
    by_name = {name: (found, *_trials(found, goal)) for name, found in searches.items()}
    for study, batch_size in enumerate(view.workload(workload).batch_sizes):
        for name, (found, steps, losses, diverged) in by_name.items():
            rows = found.facts.rows_of(study)
            admitted = found.admitted[rows]
            n_diverged = int(diverged[rows][admitted].sum())
            yield Population(name, batch_size, steps[rows][admitted], losses[rows][admitted], n_diverged)


def _trials(found: Search, goal: Goal) -> tuple[Floats, Floats, Integers]:
    """By trial: steps, losses, and whether it diverged."""
    diverged = found.facts.trials.status == STATUSES.index(DIVERGED)
    losses = at(found.records.value, found.best_records) * found.sign
    losses = np.where((found.best_records == NEVER) | diverged, np.inf, losses)
    return np.where(diverged, np.inf, trial_steps(found, goal)), losses, diverged.astype(np.int64)
