"""The best metaparameters by batch size, how they grow with it, and what heuristics cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.analysis.goal_region import WITHIN
from losslake.analysis.learning_rate_growth import learning_rate_exponent, learning_rate_forms
from losslake.output.answer import Answer, row_shape
from losslake.questions.analysis.finding import Finding
from losslake.questions.analysis.learning_rate_facts import exponent_facts, form_facts, heuristic_facts
from losslake.questions.analysis.metaparameter_warnings import left_out_of, warnings_of
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.study_optima import Optimum, WorkloadOptima, workload_optima

OPTIMA = row_shape(
    "metaparameter-optima", "workload", "batch_size", "trial_id", "steps", "n_trials", "n_reached",
    "fraction_reaching", "parameters", "effective_learning_rate", "n_near_optimal", "near_optimal_lower",
    "near_optimal_upper", "effective_learning_rate_lower", "effective_learning_rate_upper", "at_boundary", "n_best",
    "n_best_at_boundary", "boundary_chance", "is_stability_limited", "optimum_regret", "linear_learning_rate",
    "linear_regret", "linear_decades", "linear_n_reached", "square_root_learning_rate", "square_root_regret",
    "square_root_decades", "square_root_n_reached",
)  # fmt: skip
_DEFINITION = (
    "The best trial has the fewest steps S* to the target; near-optimal are trials with S <= (1 + within) S*. "
    "Effective learning rate: learning_rate / (1 - momentum). Exponent p of effective learning rate ~ (batch size)^p: "
    "Theil-Sen over the best trials, with the hull of two 90% intervals: Theil-Sen's own, and that of drawing one "
    "near-optimal trial per batch size. Forms: least squares in the logarithm, compared by AICc. Regret of "
    "metaparameters: median steps of the 5 trials nearest to them, in standardized log space of learning_rate and 1 - "
    "momentum, over S*; null if the nearest is more than 0.25 decades away, or half of them never reach the target. "
    "Heuristics keep the momentum of the origin's best trial and scale its learning rate by the ratio of batch sizes, "
    "or by its square root. n_used counts best trials."
)


def metaparameter_optima(
    view: ReleaseView, selection: Selection, goal: Goal, within: float = WITHIN, origin: int | None = None
) -> Answer:
    """The best metaparameters by workload and batch size; raises UnknownName and BadParameter.

    within: of near-optimal trials (METHODS 4). origin: the batch size from whose best trial the heuristics start;
    None: the smallest at which the target is reached.
    """
    if not 0 <= within <= 1000:
        raise BadParameter("within", f"within={within} is out of range: give 0 for the best trials only, up to 1000")
    searches = [search(view, selection, workload) for workload in selection.workloads]
    known = sorted({size for found in searches for size in found.facts.batch_sizes})
    if origin is not None and origin not in known:
        listed = ", ".join(map(str, known))
        raise BadParameter("origin", f"origin={origin} is no batch size here: give one of {listed}")
    optima = [workload_optima(view, found, selection, goal, within, origin) for found in searches]
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | {"within": within, "origin": origin}
    return Answer(facts | _learning_rates(optima), OPTIMA.schema, iter([_rows(of_one) for of_one in optima]))


def _learning_rates(workloads: Sequence[WorkloadOptima]) -> dict[str, Any]:
    """The facts about all batch sizes of a workload together."""
    exponents, forms = [], []
    for of_one in workloads:
        sizes = np.array([optimum.batch_size for optimum in of_one.found], np.float64)
        sizes_above_0 = sizes > 0
        rates = [optimum.near_rates for optimum in of_one.found]
        kept = [own for own, is_kept in zip(rates, sizes_above_0.tolist(), strict=True) if is_kept]
        exponents.append(learning_rate_exponent(sizes[sizes_above_0], kept))
        best = np.array([own[0] for own in kept], np.float64)
        forms.append(learning_rate_forms(sizes[sizes_above_0], best))
    finding = Finding(
        definition=_DEFINITION,
        n_used=sum(len(of_one.found) for of_one in workloads),
        left_out=tuple(text for of_one in workloads for text in left_out_of(of_one)),
        warnings=tuple(
            text
            for of_one, exponent, compared in zip(workloads, exponents, forms, strict=True)
            for text in warnings_of(of_one, exponent, compared)
        ),
    )
    return {
        "exponents": [exponent_facts(w.workload, e) for w, e in zip(workloads, exponents, strict=True)],
        "learning_rate_forms": [
            row for w, f in zip(workloads, forms, strict=True) for row in form_facts(w.workload, f)
        ],
        "heuristics": [row for of_one in workloads for row in heuristic_facts(of_one)],
        **finding.facts(),
    }


def _rows(of_one: WorkloadOptima) -> pa.RecordBatch:
    """One row per study."""
    rows = []
    for study in of_one.studies:
        row: dict[str, Any] = {
            "workload": of_one.workload,
            "batch_size": study.batch_size,
            "trial_id": study.trial_id,
            "steps": study.steps,
            "n_trials": study.n_trials,
            "n_reached": study.n_reached,
            "fraction_reaching": study.fraction_reaching,
            "n_near_optimal": 0,
        }
        if study.optimum is not None:
            row |= _of_optimum(study.optimum)
        rows.append(row)
    return pa.RecordBatch.from_pylist(rows, OPTIMA.schema)


def _of_optimum(optimum: Optimum) -> dict[str, Any]:
    rates = optimum.near_rates[np.isfinite(optimum.near_rates)]
    row: dict[str, Any] = {
        "parameters": optimum.parameters,
        "effective_learning_rate": optimum.effective_learning_rate,
        "n_near_optimal": len(optimum.near_rates),
        "near_optimal_lower": optimum.near_lower,
        "near_optimal_upper": optimum.near_upper,
        "effective_learning_rate_lower": float(rates.min()) if len(rates) else None,
        "effective_learning_rate_upper": float(rates.max()) if len(rates) else None,
        "is_stability_limited": optimum.is_stability_limited,
        "optimum_regret": optimum.own_regret.regret if optimum.own_regret else None,
    }
    if optimum.boundary is not None:
        row["at_boundary"] = list(optimum.boundary.of_best)
        row["n_best"], row["n_best_at_boundary"] = optimum.boundary.n_best, optimum.boundary.n_flagged
        row["boundary_chance"] = optimum.boundary.chance
    for heuristic, predicted in optimum.predictions.items():
        name = heuristic.replace("-", "_")
        row[f"{name}_learning_rate"] = predicted.learning_rate
        row[f"{name}_regret"] = predicted.regret.regret
        row[f"{name}_decades"] = predicted.regret.decades
        row[f"{name}_n_reached"] = predicted.regret.n_reached
    return row
