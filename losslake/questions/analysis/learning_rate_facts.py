"""Exponents, forms and heuristics as facts of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from statistics import median
from typing import Any

from losslake.analysis.heuristics import HEURISTICS
from losslake.analysis.learning_rate_growth import FormComparison, LearningRateExponent
from losslake.questions.study_optima import WorkloadOptima


def exponent_facts(workload: str, found: LearningRateExponent) -> dict[str, Any]:
    """The exponent of a workload."""
    near, own = found.near_optimal or (None, None), found.theil_sen or (None, None)
    return {
        "workload": workload,
        "n_batch_sizes": found.n_batch_sizes,
        "exponent": found.exponent,
        "lower": found.lower,
        "upper": found.upper,
        "near_optimal_lower": near[0],
        "near_optimal_upper": near[1],
        "theil_sen_lower": own[0],
        "theil_sen_upper": own[1],
        "consistent_with": list(found.consistent_with),
    }


def form_facts(workload: str, compared: FormComparison) -> Iterator[dict[str, Any]]:
    """The forms of a workload, best first."""
    for form in compared.forms:
        yield {"workload": workload, **asdict(form)}


def heuristic_facts(of_one: WorkloadOptima) -> Iterator[dict[str, Any]]:
    """Each heuristic over the batch sizes of a workload other than its origin's."""
    if of_one.origin is None:
        return
    others = [optimum for optimum in of_one.found if optimum.batch_size != of_one.origin.batch_size]
    for name in HEURISTICS:
        made = [optimum.predictions[name] for optimum in others if name in optimum.predictions]
        regrets = [each.regret.regret for each in made if each.regret.regret is not None]
        yield {
            "workload": of_one.workload,
            "name": name,
            "origin": int(of_one.origin.batch_size),
            "learning_rate": of_one.origin.learning_rate,
            "momentum": of_one.origin.momentum,
            "n_batch_sizes": len(others),
            "n_regrets": len(regrets),
            "median_regret": median(regrets) if regrets else None,
            "largest_regret": max(regrets, default=None),
        }
