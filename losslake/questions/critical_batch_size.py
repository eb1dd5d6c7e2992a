"""The critical batch size of workloads, with intervals, by each named definition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from losslake.analysis.best_setting import usual_of_settings
from losslake.analysis.critical_batch_size import (
    OPTIMAL_BATCH_SIZE,
    OVERHEAD,
    CriticalBatchSize,
    CurveFit,
    fit_curve,
    mccandlish2018,
    zhang2024,
)
from losslake.analysis.fit_intervals import Range
from losslake.analysis.hyperbola import Kind
from losslake.analysis.measured_levels import measured
from losslake.analysis.settings import drawn_alike
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import BATCH_UNIT, GoalParameters, Parameters, ResultParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, GoalSummary, ResultSummary, Summary, results_of
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.noise_scales import noise_scales
from losslake.questions.trials.scaling_curve import (
    UsableCurve,
    curve_warnings,
    scaling_curve,
    trial_steps,
    usable_curve,
)
from losslake.questions.trials.search import Search, open_searches
from losslake.questions.trials.selection import Goal
from losslake_schema.reached import Floats

# Each takes hundreds of refits.
MOST_WORKLOADS = 20
LARGE_RESIDUAL = 0.15
_SMALL_P = 0.05
_HOW = {
    "robust": "Huber's loss; batch sizes that never reached the target count if the curve says that they should have",
    "least-squares": "plain least squares; batch sizes that never reached the target don't count",
}


class ZhangParameters(Parameters):
    """The numbers in the definition zhang2024 of a critical batch size."""

    overhead: Annotated[float, shown(0.2, "none: a ratio", gt=0, le=1000, allow_inf_nan=False)] = OVERHEAD
    """For zhang2024: the share of extra examples, over the optimal batch size, at the critical one."""
    optimal_batch_size: Annotated[float, shown(256, BATCH_UNIT, ge=0, le=1e18, allow_inf_nan=False)] = (
        OPTIMAL_BATCH_SIZE
    )
    """For zhang2024: the batch size that the overhead is relative to, in the batch_unit of each workload; default: that
    paper's, for language models."""


class CriticalBatchSizeParameters(ResultParameters, GoalParameters, ZhangParameters):
    """The parameters of the critical batch size."""

    fit: Annotated[Kind, shown("least-squares")] = "robust"
    """robust: Huber loss in log space, never-reached batch sizes too; least-squares: plain, as Zhang et al. 2024."""


class CriticalBatchSizeRow(Row):
    """A workload and definition."""

    workload: str
    definition: Annotated[str, shown("mccandlish2018")]
    """mccandlish2018: E_min/S_min, B_c; zhang2024: overhead x B_c + (1 + overhead) x optimal_batch_size."""
    critical_batch_size: Annotated[float | None, shown(83.7, "batch_unit of the study, mostly examples")]
    """The critical batch size by that definition; null if the data can't support one."""
    lower: Annotated[float | None, shown(68.6, "batch_unit of the study, mostly examples")]
    """Lower end of its 90% interval; a one-sided 95% bound if critical_batch_size is null; null for no bound."""
    upper: Annotated[float | None, shown(103.1, "batch_unit of the study, mostly examples")]
    """Upper end of its 90% interval; a one-sided 95% bound if critical_batch_size is null; null for no bound."""
    s_min: Annotated[float | None, shown(1575.0, "steps")]
    """Fewest steps, at infinite batch size, by the fit; null like critical_batch_size."""
    e_min: Annotated[float | None, shown(131784.0, "batch_unit of the study, mostly examples")]
    """Fewest examples, at the smallest batch size, by the fit; null like critical_batch_size."""
    identifiable: Annotated[bool, shown(True)]
    """True if the data support a critical batch size; warnings say why not."""
    rms_log_residual: Annotated[float | None, shown(0.025, "none: a ratio, about")]
    """Root mean square of log(steps / fitted steps) over batch sizes; null if fewer than 3 reached the target."""
    n_batch_sizes: Annotated[int, shown(9, "batch sizes")]
    """Batch sizes that reached the target and aren't dominated, to which the curve was fitted."""
    delta_method_lower: Annotated[float | None, shown(69.1, "batch_unit of the study, mostly examples")]
    """Lower end of the delta method's range, as if steps were exact; null without an interval."""
    delta_method_upper: Annotated[float | None, shown(101.4, "batch_unit of the study, mostly examples")]
    """Upper end of the delta method's range, as if steps were exact; null without an interval."""
    bootstrap_lower: Annotated[float | None, shown(72.0, "batch_unit of the study, mostly examples")]
    """5% quantile of refits with residuals resampled over batch sizes; null without an interval."""
    bootstrap_upper: Annotated[float | None, shown(98.0, "batch_unit of the study, mostly examples")]
    """95% quantile of refits with residuals resampled over batch sizes; null without an interval."""
    leave_one_out_lower: Annotated[float | None, shown(78.0, "batch_unit of the study, mostly examples")]
    """Least value of the fits that each leave out one batch size; null without an interval."""
    leave_one_out_upper: Annotated[float | None, shown(90.0, "batch_unit of the study, mostly examples")]
    """Greatest value of the fits that each leave out one batch size; null without an interval."""
    half_search_lower: Annotated[float | None, shown(75.0, "batch_unit of the study, mostly examples")]
    """5% quantile over draws of half the trials, by setting where settings were repeated with other seeds; null like
    leave_one_out_lower, or if too few of them reach."""
    half_search_upper: Annotated[float | None, shown(95.0, "batch_unit of the study, mostly examples")]
    """95% quantile over draws of half the trials, without replacement; null like half_search_lower."""
    knee_sharpness: Annotated[float | None, shown(1.2, "none: an exponent")]
    """g of S_min (1 + (B_c/B)^g)^(1/g), 1: hyperbola; null like critical_batch_size, or below 5 batch sizes."""
    knee_sharpness_p_value: Annotated[float | None, shown(0.3, "none: a probability")]
    """p-value of g = 1 by an F test, small if the knee is sharper or blunter; null like knee_sharpness."""
    knee_critical_batch_size: Annotated[float | None, shown(80.1, "batch_unit of the study, mostly examples")]
    """The critical batch size with g free, to show the model-form error; null like knee_sharpness."""
    exponent: Annotated[float | None, shown(1.03, "none: an exponent")]
    """Fitted alpha of S = a + b/B^alpha, 1 for the hyperbola; null like knee_sharpness."""
    exponent_critical_batch_size: Annotated[float | None, shown(77.9, "batch_unit of the study, mostly examples")]
    """The critical batch size with alpha free, (b/a)^(1/alpha): model-form error; null like knee_sharpness."""
    runs_test_p_value: Annotated[float | None, shown(0.5, "none: a probability")]
    """p-value of the runs test, small for a missed bend; null like critical_batch_size, or if no sign changes."""


class NoiseScale(Summary):
    """The simple noise scale of a workload's gradients, as its trials logged it."""

    workload: Annotated[str, shown("mine/c4/gpt2/adamw")]
    simple_noise_scale: Annotated[float | None, shown(900.0, "batch_unit of the study")]
    """Median over trials of the median before the target; null if no trial that reached the target logged any."""
    lowest: Annotated[float | None, shown(700.0, "batch_unit of the study")]
    """Lowest of its trials; null like simple_noise_scale."""
    highest: Annotated[float | None, shown(1200.0, "batch_unit of the study")]
    """Highest of its trials; null like simple_noise_scale."""
    n_trials: Annotated[int, shown(9, "trials")]


class CriticalBatchSizeSummary(ResultSummary, GoalSummary, Finding):
    """The fit and the definitions, as requested."""

    fit: Annotated[Kind, shown("robust")]
    """robust: Huber loss in log space, never-reached batch sizes too; least-squares: plain, as Zhang et al. 2024."""
    overhead: Annotated[float, shown(0.2, "none: a ratio")]
    """The overhead of zhang2024."""
    optimal_batch_size: Annotated[float, shown(256, "batch_unit of the study")]
    """The optimal batch size of zhang2024."""
    noise_scales: list[NoiseScale]
    """By workload: the simple noise scale of the gradient, as trials logged it in `train/noise_scale`. It
    doesn't estimate the critical batch size, which follows from steps to a target."""


def _answer(view: ReleaseView, parameters: CriticalBatchSizeParameters) -> Answer:
    """Return a row by workload and definition; raises UnknownName and BadParameter."""
    selection, goal = parameters.selection(), parameters.goal
    if len(selection.workloads) > MOST_WORKLOADS:
        raise BadParameter("workload", f"there are {len(selection.workloads)} workloads: give up to {MOST_WORKLOADS}")
    searches = open_searches(view, selection)
    curves = [usable_curve(search, scaling_curve(search, goal)) for search in searches]
    fits = [_fit(curve, goal, parameters.fit) for curve in curves]
    defined = [
        (mccandlish2018(fit), zhang2024(fit, parameters.overhead, parameters.optimal_batch_size)) for fit in fits
    ]
    each = list(zip(curves, fits, defined, strict=True))
    rows = [_row(curve, fit, number) for curve, fit, numbers in each for number in numbers]
    return QUESTION.analysis(
        view,
        parameters,
        [pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)],
        {"results": results_of(searches), "noise_scales": [_noise_scale(search, goal) for search in searches]},
        n_used=sum(curve.n_tuned for curve in curves),
        left_out=(text for curve in curves for text in curve.left_out()),
        warnings=(text for one in each for text in _warnings(*one, parameters.optimal_batch_size)),
        how=_HOW[parameters.fit],
    )


QUESTION = Question(
    path="/v1/analysis/critical-batch-size",
    doc="The critical batch size of workloads with intervals, or bounds where the data support no estimate.",
    parameters=CriticalBatchSizeParameters,
    row=CriticalBatchSizeRow,
    summary=CriticalBatchSizeSummary,
    compute=_answer,
    cost=lambda _: Cost(150_000, 4000),
    rows_name="estimates",
)


def _noise_scale(search: Search, goal: Goal) -> dict[str, Any]:
    scales = [each for each in noise_scales(search, goal).tolist() if not math.isnan(each)]
    return {
        "workload": str(search.facts.workload),
        "simple_noise_scale": float(np.median(scales)) if scales else None,
        "lowest": min(scales, default=None),
        "highest": max(scales, default=None),
        "n_trials": len(scales),
    }


def _fit(curve: UsableCurve, goal: Goal, kind: Kind) -> CurveFit:
    drawn = _drawn_steps(curve, goal)
    before = curve.previous_steps
    return fit_curve(curve.batch_sizes, curve.tuned_steps, curve.censored_at, before, drawn, kind, curve.n_trials)


def _drawn_steps(curve: UsableCurve, goal: Goal) -> Iterator[Floats]:
    """Yield by usable study what half of is drawn: the steps of each admitted trial, inf for never; without 0.

    Where settings were repeated with other seeds, the fewest steps of each; of the best setting, what each takes.
    """
    search, rule = curve.search, curve.search.rule
    steps = trial_steps(search, goal)
    is_tuned = np.isin(search.facts.study_of_trial, curve.studies[~curve.is_dominated])
    by_study = search.facts.rows_where(search.admitted & (steps > 0) & is_tuned)
    for rows in (by_study[study] for study in curve.studies.tolist()):
        if rule.is_of_settings:
            yield usual_of_settings(steps[rows], rule.settings[rows], rule.seeds)[0]
        else:
            yield drawn_alike(steps[rows], rule.settings[rows])


def _warnings(
    curve: UsableCurve, fit: CurveFit, defined: tuple[CriticalBatchSize, ...], optimal_batch_size: float
) -> Iterator[str]:
    yield from (f"{curve.name}: {reason}" for reason in fit.known.reasons)
    for number in defined:
        yield from (f"{curve.name}, {number.definition}: {text}" for text in number.warnings)
    yield from (f"{curve.name}: {text}" for text in doubts_about_fit(curve, fit))
    sizes = curve.batch_sizes
    if fit.known.is_identifiable and not sizes[0] <= optimal_batch_size <= sizes[-1]:
        yield (
            f"{curve.name}, zhang2024: optimal_batch_size {optimal_batch_size:g} lies outside the batch sizes "
            f"measured, {sizes[0]:.0f} to {sizes[-1]:.0f}"
        )
    yield from curve_warnings(curve)


def doubts_about_fit(curve: UsableCurve, fit: CurveFit) -> Iterator[str]:
    """Yield the signs that the steps don't follow the hyperbola, or not where its bend is."""
    if fit.fit is None:
        return
    lower, upper = fit.known.lower, fit.known.upper
    reached = curve.batch_sizes[np.isfinite(curve.tuned_steps)]
    if fit.known.is_identifiable and not reached[0] <= fit.fit.critical_batch_size <= reached[-1]:
        how_often = f"the interval held in {measured('critical-batch-size outside')} of simulations"
        outside = "the estimate lies outside the batch sizes that reached the target"
        yield f"{outside}: for such a critical batch size {how_often}"
    if fit.fit.rms_log_residual > LARGE_RESIDUAL:
        off = f"{fit.fit.rms_log_residual:.0%}"
        yield f"steps scatter by {off} (rms) around the hyperbola: unequal tuning, or another curve"
    if fit.runs_p_value is not None and fit.runs_p_value < _SMALL_P:
        yield f"residuals keep their sign along the batch sizes (runs test, p = {fit.runs_p_value:.2g})"
    forms = fit.other_forms
    if forms is None or forms.p_value >= _SMALL_P:
        return
    shape = "sharper" if forms.sharpness > 1 else "blunter"
    yield f"the knee is {shape} than a hyperbola's (g = {forms.sharpness:.2g}, p = {forms.p_value:.2g})"
    others = (forms.sharpness_critical_batch_size, forms.exponent_critical_batch_size)
    if lower is not None and upper is not None and not all(lower <= other <= upper for other in others):
        yield (
            f"other curves than the hyperbola give B_c = {others[0]:.4g} (g free) and {others[1]:.4g} "
            "(exponent free), beyond the interval: quote the error of the model's form too"
        )


def _row(curve: UsableCurve, fit: CurveFit, number: CriticalBatchSize) -> dict[str, Any]:
    forms = fit.other_forms if number.is_identifiable else None
    return {
        **vars(number),
        "workload": curve.name,
        "critical_batch_size": number.value,
        "identifiable": number.is_identifiable,
        "n_batch_sizes": curve.n_tuned,
        **_range("delta_method", number, fit.delta_method),
        **_range("bootstrap", number, fit.bootstrap),
        **_range("leave_one_out", number, fit.left_out),
        **_range("half_search", number, fit.subsampled),
        "knee_sharpness": forms and forms.sharpness,
        "knee_sharpness_p_value": forms and forms.p_value,
        "knee_critical_batch_size": forms and number.changed(forms.sharpness_critical_batch_size),
        "exponent": forms and forms.exponent,
        "exponent_critical_batch_size": forms and number.changed(forms.exponent_critical_batch_size),
        "runs_test_p_value": fit.runs_p_value if number.is_identifiable else None,
    }


def _range(name: str, number: CriticalBatchSize, interval: Range | None) -> dict[str, float | None]:
    """Return a range of B_c by this definition; nulls without a number."""
    if interval is None or not number.is_identifiable:
        return {f"{name}_lower": None, f"{name}_upper": None}
    return {f"{name}_lower": number.changed(interval.lower), f"{name}_upper": number.changed(interval.upper)}
