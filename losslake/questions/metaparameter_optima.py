"""The best metaparameters by batch size, how they grow with it, and what heuristics cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import median
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa

from losslake.analysis.heuristics import HEURISTICS
from losslake.analysis.learning_rate_growth import (
    FormComparison,
    LearningRateExponent,
    learning_rate_exponent,
    learning_rate_forms,
)
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.parameters import BATCH_UNIT, WORKLOAD, Natural, WithinParameters
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import check_batch_size, searches_of
from losslake.questions.study_optima import Optimum, WorkloadOptima, workload_optima
from losslake.questions.summary import Finding, Summary, WithinSummary

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


class MetaparameterOptimaParameters(WithinParameters):
    """Which metaparameters are best by batch size, and how do they grow with it?"""

    origin: Annotated[Natural | None, shown(64, BATCH_UNIT)] = None
    """The batch size from whose best trial the heuristics start; default: the smallest with a result."""


class MetaparameterOptimaRow(Row):
    """A study."""

    workload: str
    batch_size: int
    trial_id: Annotated[int | None, shown(17)]
    """The best trial: of the fewest steps to the target, ties to the lower number; null where none reached it."""
    steps: int | None
    n_trials: int
    n_reached: int
    fraction_reaching: Annotated[float | None, shown(0.33, "none: a fraction")]
    """Trials that reached the target over those that finished or diverged; null if there is none."""
    parameters: Annotated[dict[str, float] | None, shown({"learning_rate": 0.1, "momentum": 0.9}, "each its own")]
    """Numeric metaparameters of the best trial, by name; null where none reached the target."""
    effective_learning_rate: Annotated[float | None, shown(1.0)]
    """learning_rate / (1 - momentum) of the best trial; null where either is missing, or momentum is 1 or more."""
    n_near_optimal: Annotated[int, shown(4, "trials")]
    """Trials in the near-optimal set, the best one with them: steps at most 1 + within times the fewest."""
    near_optimal_lower: Annotated[
        dict[str, float] | None, shown({"learning_rate": 0.05, "momentum": 0.8}, "each its own")
    ]
    """The least value of each metaparameter in the near-optimal set; null where no trial reached the target."""
    near_optimal_upper: Annotated[
        dict[str, float] | None, shown({"learning_rate": 0.12, "momentum": 0.95}, "each its own")
    ]
    """The greatest value of each metaparameter in the near-optimal set; null where no trial reached the target."""
    effective_learning_rate_lower: Annotated[float | None, shown(0.6)]
    """The least effective learning rate in the near-optimal set; null if there is none."""
    effective_learning_rate_upper: Annotated[float | None, shown(1.3)]
    """The greatest effective learning rate in the near-optimal set; null if there is none."""
    at_boundary: Annotated[list[str] | None, shown(["learning_rate high"])]
    """Metaparameters of the best trial in the outer twentieth of their search range, on its scale, and at which end;
    null where no range is known."""
    n_best: Annotated[int | None, shown(5, "trials")]
    """How many of the best trials were looked at for that: 5, or fewer if fewer reached the target; null where no range
    is known."""
    n_best_at_boundary: Annotated[int | None, shown(1, "trials")]
    """Of these, how many have any metaparameter at an end of its range; null where no range is known."""
    boundary_chance: Annotated[float | None, shown(0.19, "none: a probability")]
    """How probable that is for a trial anywhere in the ranges: 0.1 per continuous metaparameter; null where no range is
    known."""
    is_stability_limited: Annotated[bool | None, shown(False)]
    """Whether of the 5 trials nearest to the best one any diverged with a greater effective learning rate; null without
    a best trial that has one."""
    optimum_regret: Annotated[float | None, shown(1.08, "none: a ratio")]
    """The regret of the best trial's own metaparameters: what a heuristic that was always right would have; null for
    none."""
    linear_learning_rate: Annotated[float | None, shown(0.32)]
    """The learning rate of the linear heuristic; null where it has no origin, or the study no best trial."""
    linear_regret: Annotated[float | None, shown(1.4, "none: a ratio")]
    """Median steps of the 5 trials nearest to what the linear heuristic says, over the fewest; null if the nearest is
    beyond 0.25 decades, or half never reach the target."""
    linear_decades: Annotated[float | None, shown(0.06, "powers of ten")]
    """How far the nearest trial is from what the linear heuristic says, in learning rate and 1 - momentum together;
    null for none."""
    linear_n_reached: Annotated[int | None, shown(5, "trials")]
    """Of the 5 trials nearest to what the linear heuristic says, how many reached the target; null for none."""
    square_root_learning_rate: Annotated[float | None, shown(0.08)]
    """The learning rate of the square-root heuristic; null where it has no origin, or the study no best trial."""
    square_root_regret: Annotated[float | None, shown(1.2, "none: a ratio")]
    """Median steps of the 5 trials nearest to what the square-root heuristic says, over the fewest; null as for
    linear_regret."""
    square_root_decades: Annotated[float | None, shown(0.05, "powers of ten")]
    """How far the nearest trial is from what the square-root heuristic says, in learning rate and 1 - momentum
    together; null for none."""
    square_root_n_reached: Annotated[int | None, shown(5, "trials")]
    """Of the 5 trials nearest to what the square-root heuristic says, how many reached the target; null for none."""


class Exponent(Summary):
    """How a workload's best effective learning rate grows with the batch size."""

    workload: Annotated[str, shown(WORKLOAD)]
    """The workload."""
    n_batch_sizes: Annotated[int, shown(11, "batch sizes")]
    """Batch sizes used."""
    exponent: Annotated[float | None, shown(0.62)]
    """Theil-Sen slope of the logarithms; null for fewer than 4 batch sizes."""
    lower: Annotated[float | None, shown(0.35)]
    """Lower end of the hull of both intervals."""
    upper: Annotated[float | None, shown(0.83)]
    """Upper end of the hull of both intervals."""
    near_optimal_lower: Annotated[float | None, shown(0.41)]
    """90% interval over draws of one near-optimal trial per batch size."""
    near_optimal_upper: Annotated[float | None, shown(0.7)]
    """Its upper end."""
    theil_sen_lower: Annotated[float | None, shown(0.35)]
    """90% interval of Theil-Sen itself, from the scatter about the line."""
    theil_sen_upper: Annotated[float | None, shown(0.83)]
    """Its upper end."""
    consistent_with: Annotated[list[Literal["linear", "square-root", "constant"]], shown(["square-root"])]
    """Which of linear (p = 1), square-root (p = 0.5) and constant (p = 0) lie within."""


class LearningRateForm(Summary):
    """A form that the best effective learning rate may take over batch sizes."""

    workload: Annotated[str, shown(WORKLOAD)]
    """The workload."""
    name: Annotated[str, shown("power")]
    """constant; linear eta B; square-root eta B^0.5; power eta B^p; saturating eta/(1 + B_n/B); surge eta/(0.5
    ((B_n/B)^0.5 + (B/B_n)^0.5)), as for Adam."""
    n_parameters: Annotated[int, shown(3, "parameters")]
    """Fitted parameters, with the variance of the residuals."""
    rms_log_residual: Annotated[float, shown(0.21, "natural logarithm")]
    """Root mean square residual."""
    aicc: Annotated[float, shown(-20.4)]
    """Akaike's criterion for few points; smaller is better."""
    delta_aicc: Annotated[float, shown(0.0)]
    """How much more that is than the best form's; below 2 is hardly worse."""
    exponent: Annotated[float | None, shown(0.62)]
    """The exponent of a power law, fixed or fitted; null for the others."""
    noise_batch_size: Annotated[float | None, shown(150.0, "batch_unit of the study")]
    """B_n; null where the data does not bound it."""
    noise_lower: Annotated[float | None, shown(90.0, "batch_unit of the study")]
    """Lower end of its 90% profile-likelihood interval; null for none."""
    noise_upper: Annotated[float | None, shown(260.0, "batch_unit of the study")]
    """Upper end of that interval; null for none."""


class HeuristicSummary(Summary):
    """What following a heuristic from one batch size to the others costs."""

    workload: Annotated[str, shown(WORKLOAD)]
    """The workload."""
    name: Annotated[str, shown("linear")]
    """linear or square-root: how the learning rate scales."""
    origin: Annotated[int, shown(1, "batch_unit of the study")]
    """The batch size it starts from."""
    learning_rate: Annotated[float, shown(0.01)]
    """Of the best trial there."""
    momentum: Annotated[float, shown(0.9)]
    """Of the same trial, kept everywhere; 0 in plain SGD."""
    n_batch_sizes: Annotated[int, shown(10, "batch sizes")]
    """Other batch sizes at which the target is reached."""
    n_regrets: Annotated[int, shown(7, "batch sizes")]
    """Of these, how many have a regret."""
    median_regret: Annotated[float | None, shown(1.3, "none: a ratio")]
    """Median of these regrets; null for none."""
    largest_regret: Annotated[float | None, shown(2.2, "none: a ratio")]
    """The largest of these regrets; null for none."""


class MetaparameterOptimaSummary(WithinSummary, Finding):
    """How learning rates grow with the batch size."""

    origin: Annotated[int | None, shown(64, "batch_unit of the study")]
    """The batch size asked to start the heuristics from; null for none."""
    exponents: list[Exponent]
    """By workload: the exponent p of effective learning rate ~ (batch size)^p over the best trials."""
    learning_rate_forms: list[LearningRateForm]
    """By workload, best first: forms fitted to the effective learning rate of the best trials; none for fewer than 5
    batch sizes."""
    heuristics: list[HeuristicSummary]
    """By workload and heuristic: what following it from its origin costs at the other batch sizes."""


def answer(view: ReleaseView, parameters: MetaparameterOptimaParameters) -> Answer:
    """The best metaparameters by workload and batch size; raises UnknownName and BadParameter."""
    selection, goal, within, origin = parameters.selection(), parameters.goal(), parameters.within, parameters.origin
    searches = searches_of(view, selection)
    check_batch_size("origin", origin, searches)
    optima = [workload_optima(view, found, selection, goal, within, origin) for found in searches]
    growths = [_growth(of_one) for of_one in optima]
    each = [(of_one, *growth) for of_one, growth in zip(optima, growths, strict=True)]
    return QUESTION.analysis(
        view,
        parameters,
        searches[0].direction,
        [_rows(of_one) for of_one in optima],
        {
            "within": within,
            "origin": origin,
            "exponents": [_exponent(of_one.workload, exponent) for of_one, exponent, _ in each],
            "learning_rate_forms": [
                {"workload": of_one.workload, **asdict(form)} for of_one, _, compared in each for form in compared.forms
            ],
            "heuristics": [row for of_one in optima for row in _heuristics(of_one)],
        },
        definition=_DEFINITION,
        n_used=sum(len(of_one.found) for of_one in optima),
        left_out=(text for of_one in optima for text in _left_out(of_one)),
        warnings=(text for one in each for text in _warnings(*one)),
    )


QUESTION = Question(
    path="/v1/analysis/metaparameters",
    doc="The best metaparameters by batch size, how their learning rate grows with it, and what heuristics cost.",
    parameters=MetaparameterOptimaParameters,
    row=MetaparameterOptimaRow,
    summary=MetaparameterOptimaSummary,
    answer=answer,
)


def _growth(of_one: WorkloadOptima) -> tuple[LearningRateExponent, FormComparison]:
    """How the effective learning rate grows over the batch sizes above 0."""
    kept = [optimum for optimum in of_one.found if optimum.batch_size > 0]
    sizes = np.array([optimum.batch_size for optimum in kept], np.float64)
    best = np.array([optimum.near_rates[0] for optimum in kept], np.float64)
    exponent = learning_rate_exponent(sizes, [optimum.near_rates for optimum in kept])
    return exponent, learning_rate_forms(sizes, best)


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
    return pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)


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


def _exponent(workload: str, found: LearningRateExponent) -> dict[str, Any]:
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


def _heuristics(of_one: WorkloadOptima) -> Iterator[dict[str, Any]]:
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


def _left_out(of_one: WorkloadOptima) -> Iterator[str]:
    """Batch sizes without a best trial, and best trials without an effective learning rate."""
    for study in of_one.studies:
        where = f"at batch size {study.batch_size}"
        if study.optimum is None:
            yield f"{of_one.workload}: no trial of {study.n_trials} reached the target {where}"
        elif study.optimum.effective_learning_rate is None:
            yield f"{of_one.workload}: the best trial {where} has no effective learning rate"


def _warnings(of_one: WorkloadOptima, exponent: LearningRateExponent, compared: FormComparison) -> Iterator[str]:
    """Whatever makes the best metaparameters, their exponent or the heuristics doubtful."""
    for text in (*_of_momentum(of_one), *_of_boundary(of_one.found), *_of_numbers(of_one, exponent, compared)):
        yield f"{of_one.workload}: {text}"


def _of_momentum(of_one: WorkloadOptima) -> Iterator[str]:
    if of_one.is_plain and of_one.found:
        yield "no trial has a momentum: it is taken as 0, and the effective learning rate is the learning rate"
    if of_one.n_without_momentum:
        n = of_one.n_without_momentum
        yield f"{n} trial{'' if n == 1 else 's'} without momentum: no effective learning rate, and nowhere near others"


def _of_boundary(found: Sequence[Optimum]) -> Iterator[str]:
    if found and all(optimum.boundary is None for optimum in found):
        yield "its studies say nothing of their search ranges: a best trial may be at the boundary of the search"
    flagged = [each for each in found if each.boundary is not None and each.boundary.of_best]
    if flagged:
        chance = max(each.boundary.chance for each in flagged if each.boundary is not None)
        listed = "; ".join(
            f"{', '.join(each.boundary.of_best)} at {each.batch_size}" for each in flagged if each.boundary is not None
        )
        yield (
            f"the best trial is at the boundary of its search at {len(flagged)} of {_batch_sizes(len(found))} "
            f"({listed}): a wider search may do better. "
            f"Where the optimum is flat, chance alone puts {chance:.0%} of them there"
        )
    limited = [str(optimum.batch_size) for optimum in found if optimum.is_stability_limited]
    if limited:
        where = f"at batch size {', '.join(limited)}" if len(limited) < len(found) else "at every batch size"
        yield f"the best trial lies beside trials that diverged with larger effective learning rates {where}"


def _of_numbers(of_one: WorkloadOptima, exponent: LearningRateExponent, compared: FormComparison) -> Iterator[str]:
    found = of_one.found
    if exponent.refusal is not None:
        yield f"no exponent: {exponent.refusal}"
    if compared.refusal is not None:
        yield f"no forms: {compared.refusal}"
    alone = sum(len(optimum.near_rates) == 1 for optimum in found)
    if exponent.exponent is not None and 2 * alone > len(found):
        yield (
            f"at {alone} of {_batch_sizes(len(found))} no other trial is near-optimal, so the exponent's interval says "
            "little of how the best trial might have differed: give a larger `within`"
        )
    known = [{name for name, made in each.predictions.items() if made.regret.regret is not None} for each in found]
    if any(len(names) == 1 for names in known):
        yield (
            "at some batch sizes only one heuristic has a regret: compare the heuristics row by row, not by their "
            "medians, which are over different batch sizes"
        )
    if found and of_one.origin is None:
        yield "no heuristics: where they start there is no best trial with a learning rate and a momentum below 1"


def _batch_sizes(count: int) -> str:
    return "1 batch size" if count == 1 else f"{count} batch sizes"
