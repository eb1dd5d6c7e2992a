"""The best metaparameters by batch size, their growth with it, and the cost of heuristics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import BATCH_UNIT, WORKLOAD, Natural, WithinParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, Summary, WithinSummary, entry
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import check_batch_size, open_searches
from losslake.questions.trials.study_optima import Optimum, WorkloadOptima, workload_optima
from losslake_schema.quantities import counted, plural

_Numbers = dict[str, float] | None


class MetaparameterOptimaParameters(WithinParameters):
    """The parameters of the best metaparameters."""

    origin: Annotated[Natural | None, shown(64, BATCH_UNIT)] = None
    """The batch size whose best trial the heuristics start from; default: the smallest with a result."""


class MetaparameterOptimaRow(Row):
    """A study."""

    workload: str
    batch_size: int
    trial_id: Annotated[int | None, shown(17)]
    """The trial with the fewest steps to the target; ties go to the lowest trial_id; null if none reached it."""
    steps: int | None
    n_trials: int
    n_reached: int
    fraction_reaching: Annotated[float | None, shown(0.33, "none: a fraction")]
    """Trials that reached the target, as a share of those that finished or diverged; null if there are none."""
    parameters: Annotated[dict[str, float] | None, shown({"learning_rate": 0.1, "momentum": 0.9}, "each its own")]
    """Numeric metaparameters of the best trial by name; null if none reached the target."""
    effective_learning_rate: Annotated[float | None, shown(1.0)]
    """learning_rate / (1 - momentum) of the best trial; null if either is missing, or momentum is 1 or more."""
    n_near_optimal: Annotated[int, shown(4, "trials")]
    """Near-optimal trials, the best included: with steps at most 1 + within times the fewest."""
    near_optimal_lower: Annotated[_Numbers, shown({"learning_rate": 0.05, "momentum": 0.8}, "each its own")]
    """Least value of each metaparameter in the near-optimal set; null if no trial reached the target."""
    near_optimal_upper: Annotated[_Numbers, shown({"learning_rate": 0.12, "momentum": 0.95}, "each its own")]
    """Greatest value of each metaparameter in the near-optimal set; null if no trial reached the target."""
    effective_learning_rate_lower: Annotated[float | None, shown(0.6)]
    """Least effective learning rate in the near-optimal set; null if there is none."""
    effective_learning_rate_upper: Annotated[float | None, shown(1.3)]
    """Greatest effective learning rate in the near-optimal set; null if there is none."""
    at_boundary: Annotated[list[str] | None, shown(["learning_rate high"])]
    """Metaparameters of the best trial in the outer 5% of their range, and which end; null without a known range."""
    n_best: Annotated[int | None, shown(5, "trials")]
    """Best trials checked for that: 5, or fewer if fewer reached the target; null without a known range."""
    n_best_at_boundary: Annotated[int | None, shown(1, "trials")]
    """Number of these with any metaparameter at an end of its range; null without a known range."""
    boundary_chance: Annotated[float | None, shown(0.19, "none: a probability")]
    """Chance of that for a random trial: 0.1 per continuous metaparameter; null without a known range."""
    is_stability_limited: Annotated[bool | None, shown(False)]
    """True if any of the 5 trials nearest to the best diverged at a greater effective rate; null without one."""
    optimum_regret: Annotated[float | None, shown(1.08, "none: a ratio")]
    """Regret of the best trial's own metaparameters, that of a perfect heuristic; null for none."""
    linear_learning_rate: Annotated[float | None, shown(0.32)]
    """Learning rate by the linear heuristic; null if it has no origin, or the study no best trial."""
    linear_regret: Annotated[float | None, shown(1.4, "none: a ratio")]
    """Median steps of the 5 trials nearest to it, over the fewest; null beyond 0.25 decades, or if half never reach."""
    linear_decades: Annotated[float | None, shown(0.06, "powers of ten")]
    """Distance of the nearest trial from it, in learning rate and 1 - momentum together; null for none."""
    linear_n_reached: Annotated[int | None, shown(5, "trials")]
    """Number of the 5 trials nearest to it that reached the target; null for none."""
    square_root_learning_rate: Annotated[float | None, shown(0.08)]
    """Learning rate by the square-root heuristic; null if it has no origin, or the study no best trial."""
    square_root_regret: Annotated[float | None, shown(1.2, "none: a ratio")]
    """As linear_regret, for the square-root heuristic."""
    square_root_decades: Annotated[float | None, shown(0.05, "powers of ten")]
    """As linear_decades, for the square-root heuristic."""
    square_root_n_reached: Annotated[int | None, shown(5, "trials")]
    """As linear_n_reached, for the square-root heuristic."""


class Exponent(Summary):
    """The growth of a workload's best effective learning rate with the batch size."""

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
    """Lower end of the 90% interval over draws of one near-optimal trial per batch size."""
    near_optimal_upper: Annotated[float | None, shown(0.7)]
    """Upper end of that interval."""
    theil_sen_lower: Annotated[float | None, shown(0.35)]
    """Lower end of Theil-Sen's 90% interval, from the scatter about the line."""
    theil_sen_upper: Annotated[float | None, shown(0.83)]
    """Upper end of that interval."""
    consistent_with: Annotated[list[Literal["linear", "square-root", "constant"]], shown(["square-root"])]
    """Those of linear (p = 1), square-root (p = 0.5) and constant (p = 0) that lie in the interval."""


class LearningRateForm(Summary):
    """A formula for the best effective learning rate by batch size, fitted."""

    workload: Annotated[str, shown(WORKLOAD)]
    """The workload."""
    name: Annotated[str, shown("power")]
    """constant; linear eta B; square-root eta B^0.5; power eta B^p; saturating eta/(1 + B_n/B); surge eta/(0.5
    ((B_n/B)^0.5 + (B/B_n)^0.5)), as for Adam."""
    n_parameters: Annotated[int, shown(3, "parameters")]
    """Number of fitted parameters, including the variance of the residuals."""
    rms_log_residual: Annotated[float, shown(0.21, "natural logarithm")]
    """Root mean square residual."""
    aicc: Annotated[float, shown(-20.4)]
    """Akaike's criterion, corrected for few points; smaller is better."""
    delta_aicc: Annotated[float, shown(0.0)]
    """Difference from the best form's; below 2 is hardly worse."""
    exponent: Annotated[float | None, shown(0.62)]
    """The exponent of a power law, fixed or fitted; null for the others."""
    noise_batch_size: Annotated[float | None, shown(150.0, "batch_unit of the study")]
    """B_n; null where the data do not bound it."""
    noise_lower: Annotated[float | None, shown(90.0, "batch_unit of the study")]
    """Lower end of its 90% profile-likelihood interval; null for none."""
    noise_upper: Annotated[float | None, shown(260.0, "batch_unit of the study")]
    """Upper end of that interval; null for none."""


class HeuristicSummary(Summary):
    """The cost of following a heuristic from one batch size to the others."""

    workload: Annotated[str, shown(WORKLOAD)]
    """The workload."""
    name: Annotated[str, shown("linear")]
    """The scaling of the learning rate: linear or square-root."""
    origin: Annotated[int, shown(1, "batch_unit of the study")]
    """The batch size that it starts from."""
    learning_rate: Annotated[float, shown(0.01)]
    """Learning rate of the best trial there."""
    momentum: Annotated[float, shown(0.9)]
    """Momentum of that trial, used at every batch size; 0 in plain SGD."""
    n_batch_sizes: Annotated[int, shown(10, "batch sizes")]
    """Other batch sizes at which the target is reached."""
    n_regrets: Annotated[int, shown(7, "batch sizes")]
    """Number of these with a regret."""
    median_regret: Annotated[float | None, shown(1.3, "none: a ratio")]
    """Median of these regrets; null for none."""
    largest_regret: Annotated[float | None, shown(2.2, "none: a ratio")]
    """The largest of these regrets; null for none."""


class MetaparameterOptimaSummary(WithinSummary, Finding):
    """The growth of learning rates with the batch size."""

    origin: Annotated[int | None, shown(64, "batch_unit of the study")]
    """The requested origin of the heuristics; null for none."""
    exponents: list[Exponent]
    """The exponent p of effective learning rate ~ (batch size)^p over the best trials, by workload."""
    learning_rate_forms: list[LearningRateForm]
    """By workload, best first: forms fitted to the effective learning rate; none below 5 batch sizes."""
    heuristics: list[HeuristicSummary]
    """By workload and heuristic: its cost at the other batch sizes."""


def _answer(view: ReleaseView, parameters: MetaparameterOptimaParameters) -> Answer:
    """Return the best metaparameters by workload and batch size; raises UnknownName and BadParameter."""
    selection, goal = parameters.selection(), parameters.goal
    within, origin = parameters.within, parameters.origin
    searches = open_searches(view, selection)
    check_batch_size("origin", origin, searches)
    optima = [workload_optima(view, search, selection, goal, within, origin) for search in searches]
    growths = [_growth(of_one) for of_one in optima]
    each = [(of_one, *growth) for of_one, growth in zip(optima, growths, strict=True)]
    return QUESTION.analysis(
        view,
        parameters,
        [_rows(of_one) for of_one in optima],
        {
            "exponents": [_exponent(of_one.workload, exponent) for of_one, exponent, _ in each],
            "learning_rate_forms": [
                entry(LearningRateForm, form, workload=of_one.workload)
                for of_one, _, compared in each
                for form in compared.forms
            ],
            "heuristics": [row for of_one in optima for row in _heuristics(of_one)],
        },
        n_used=sum(len(of_one.optima) for of_one in optima),
        left_out=(text for of_one in optima for text in _left_out(of_one)),
        warnings=(text for one in each for text in _warnings(*one)),
    )


QUESTION = Question(
    path="/v1/analysis/metaparameters",
    doc="The best metaparameters by batch size, how their learning rate grows with it, and what heuristics cost.",
    parameters=MetaparameterOptimaParameters,
    row=MetaparameterOptimaRow,
    summary=MetaparameterOptimaSummary,
    compute=_answer,
    cost=lambda _: Cost(20_000, 400, 3),
)


def _growth(of_one: WorkloadOptima) -> tuple[LearningRateExponent, FormComparison]:
    """Return the growth of the effective learning rate over the batch sizes above 0."""
    kept = [optimum for optimum in of_one.optima if optimum.batch_size > 0]
    sizes = np.array([optimum.batch_size for optimum in kept], np.float64)
    best = np.array([optimum.near_rates[0] for optimum in kept], np.float64)
    exponent = learning_rate_exponent(sizes, [optimum.near_rates for optimum in kept])
    return exponent, learning_rate_forms(sizes, best)


def _rows(of_one: WorkloadOptima) -> pa.RecordBatch:
    """Return one row per study."""
    rows = [
        {"workload": of_one.workload, "n_near_optimal": 0, **vars(study), **_optimum_columns(study.optimum)}
        for study in of_one.studies
    ]
    return pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)


def _optimum_columns(optimum: Optimum | None) -> dict[str, Any]:
    """Return the columns of the best trial and its surroundings; nothing without one."""
    if optimum is None:
        return {}
    rates, boundary = optimum.near_rates[np.isfinite(optimum.near_rates)], optimum.boundary
    row = {
        **vars(optimum),
        "effective_learning_rate": optimum.effective_learning_rate,
        "n_near_optimal": len(optimum.near_rates),
        "effective_learning_rate_lower": float(rates.min()) if len(rates) else None,
        "effective_learning_rate_upper": float(rates.max()) if len(rates) else None,
        "at_boundary": boundary and list(boundary.of_best),
        "n_best": boundary and boundary.n_best,
        "n_best_at_boundary": boundary and boundary.n_flagged,
        "boundary_chance": boundary and boundary.chance,
    }
    for heuristic, predicted in optimum.predictions.items():
        name = heuristic.replace("-", "_")
        row[f"{name}_learning_rate"] = predicted.learning_rate
        for column in ("regret", "decades", "n_reached"):
            row[f"{name}_{column}"] = getattr(predicted.regret, column)
    return row


def _exponent(workload: str, growth: LearningRateExponent) -> dict[str, Any]:
    """Return the exponent of a workload, with the ends of its intervals."""
    near, theil_sen = growth.near_optimal or (None, None), growth.theil_sen or (None, None)
    ends = {"near_optimal_lower": near[0], "near_optimal_upper": near[1]}
    ends |= {"theil_sen_lower": theil_sen[0], "theil_sen_upper": theil_sen[1]}
    return entry(Exponent, growth, workload=workload, consistent_with=list(growth.consistent_with), **ends)


def _heuristics(of_one: WorkloadOptima) -> Iterator[dict[str, Any]]:
    """Yield the cost of each heuristic at the batch sizes other than its origin's."""
    if of_one.origin is None:
        return
    others = [optimum for optimum in of_one.optima if optimum.batch_size != of_one.origin.batch_size]
    for name in HEURISTICS:
        predictions = [optimum.predictions[name] for optimum in others if name in optimum.predictions]
        regrets = [each.regret.regret for each in predictions if each.regret.regret is not None]
        yield entry(
            HeuristicSummary,
            of_one.origin,
            workload=of_one.workload,
            name=name,
            origin=int(of_one.origin.batch_size),
            n_batch_sizes=len(others),
            n_regrets=len(regrets),
            median_regret=median(regrets) if regrets else None,
            largest_regret=max(regrets, default=None),
        )


def _left_out(of_one: WorkloadOptima) -> Iterator[str]:
    """Yield batch sizes without a best trial, and best trials without an effective learning rate."""
    for study in of_one.studies:
        where = f"at batch size {study.batch_size}"
        if study.optimum is None:
            yield f"{of_one.workload}: no trial of {study.n_trials} reached the target {where}"
        elif study.optimum.effective_learning_rate is None:
            yield f"{of_one.workload}: the best trial {where} has no effective learning rate"


def _warnings(of_one: WorkloadOptima, exponent: LearningRateExponent, compared: FormComparison) -> Iterator[str]:
    """Yield what makes the best metaparameters, their exponent or the heuristics doubtful."""
    for text in (*_of_momentum(of_one), *_of_boundary(of_one.optima), *_of_numbers(of_one, exponent, compared)):
        yield f"{of_one.workload}: {text}"


def _of_momentum(of_one: WorkloadOptima) -> Iterator[str]:
    if of_one.is_plain and of_one.optima:
        yield "no trial has a momentum: it is taken as 0, and the effective learning rate is the learning rate"
    if of_one.n_without_momentum:
        n = of_one.n_without_momentum
        yield f"{n} {plural('trial', n)} without momentum: no effective learning rate, and not near any others"


def _of_boundary(optima: Sequence[Optimum]) -> Iterator[str]:
    checked = [(each.batch_size, each.boundary) for each in optima if each.boundary is not None]
    if optima and not checked:
        yield "its studies don't state their search ranges: a best trial may be at the boundary of the search"
    flagged = [(size, boundary) for size, boundary in checked if boundary.of_best]
    if flagged:
        chance = max(boundary.chance for _, boundary in flagged)
        listed = "; ".join(f"{', '.join(boundary.of_best)} at {size}" for size, boundary in flagged)
        at = f"{len(flagged)} of {counted(len(optima), 'batch size')}"
        yield (
            f"the best trial is at the boundary of its search at {at} ({listed}): a wider search may do better. "
            f"Where the optimum is flat, chance alone puts {chance:.0%} of them there"
        )
    limited = [str(optimum.batch_size) for optimum in optima if optimum.is_stability_limited]
    if limited:
        where = f"at batch size {', '.join(limited)}" if len(limited) < len(optima) else "at every batch size"
        yield f"the best trial lies beside trials that diverged with larger effective learning rates {where}"


def _of_numbers(of_one: WorkloadOptima, exponent: LearningRateExponent, compared: FormComparison) -> Iterator[str]:
    optima = of_one.optima
    if exponent.refusal is not None:
        yield f"no exponent: {exponent.refusal}"
    if compared.refusal is not None:
        yield f"no forms: {compared.refusal}"
    alone = sum(len(optimum.near_rates) == 1 for optimum in optima)
    if exponent.exponent is not None and 2 * alone > len(optima):
        at = f"{alone} of {counted(len(optima), 'batch size')}"
        yield (
            f"at {at} no other trial is near-optimal, so the exponent's interval "
            "says little about how the best trial might have differed: give a larger `within`"
        )
    with_regret = [
        {name for name, prediction in each.predictions.items() if prediction.regret.regret is not None}
        for each in optima
    ]
    if any(len(names) == 1 for names in with_regret):
        yield (
            "at some batch sizes only one heuristic has a regret: compare the heuristics row by row, not by their "
            "medians, which are over different batch sizes"
        )
    if optima and of_one.origin is None:
        yield "no heuristics: where they start, no best trial has a learning rate and a momentum below 1"
