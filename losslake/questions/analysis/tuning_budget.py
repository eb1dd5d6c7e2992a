"""Tuning budget: what the best of n trials is worth, by batch size and n."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

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
from losslake.output.answer import Answer, row_shape
from losslake.questions.analysis.finding import Finding
from losslake.questions.errors import BadParameter
from losslake.questions.populations import POPULATIONS, Population, populations
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.wording import listed, not_admitted, unequal_searches
from losslake_schema.reached import Integers, sign_of

TUNING_BUDGET = row_shape(
    "tuning-budget", "workload", "batch_size", "population", "budget", "n_trials", "n_reached", "chance", "steps_q05",
    "steps_q50", "steps_q95", "expected_best_value", "expected_best_value_with_replacement",
)  # fmt: skip
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


def tuning_budget(
    view: ReleaseView,
    selection: Selection,
    goal: Goal,
    budgets: Sequence[int] = (),
    names: Sequence[str] = POPULATIONS,
) -> Answer:
    """What smaller searches would have found, by workload, batch size, population and budget.

    budgets: numbers of trials; default: powers of two, and all trials. names: of populations. Raises UnknownName and
    BadParameter.
    """
    if len(budgets) > MOST_BUDGETS or any(budget < 1 for budget in budgets):
        raise BadParameter("budget", f"give at most {MOST_BUDGETS} tuning budgets, each of 1 trial or more")
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
    finding = Finding(_DEFINITION, n_used, tuple(left_out), tuple(warnings))
    facts = facts_of(view, selection, direction) | goal.facts() | {"searches": searches} | finding.facts()
    return Answer(facts, TUNING_BUDGET.schema, iter([pa.RecordBatch.from_pylist(rows, TUNING_BUDGET.schema)]))


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
