"""The critical batch size of workloads, with intervals, under each definition that has a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pyarrow as pa

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
from losslake.analysis.log_curves import scaling_shape
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import BATCH_UNIT, GoalParameters
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling_curve import UsableCurve, curve_warnings, scaling_curve, trial_steps, usable_curve
from losslake.questions.search import searches_of
from losslake.questions.selection import Goal
from losslake.questions.summary import Finding, GoalSummary
from losslake_schema.reached import Floats

# Each takes hundreds of refits.
MOST_WORKLOADS = 20
LARGE_RESIDUAL = 0.15
_SMALL_P = 0.05
_DEFINITION = (
    "S(B) = S_min (1 + B_c/B) fitted to the logarithm of the best trial's steps by batch size ({how}). mccandlish2018: "
    "B_c = E_min/S_min (McCandlish et al. 2018, eq. 2.11). zhang2024: overhead x B_c + (1 + overhead) x "
    "optimal_batch_size (Zhang et al. 2024). lower and upper: the 90% interval by profile likelihood, for the steps "
    "and for the middles of their evaluation intervals. n_used counts batch sizes that reached the target."
)
_HOW = {
    "robust": "Huber's loss; batch sizes that never reached the target count where they should have",
    "least-squares": "plain least squares; batch sizes that never reached the target don't count",
}


class CriticalBatchSizeParameters(GoalParameters):
    """Which batch size is critical, and how sure is that?"""

    fit: Annotated[Kind, shown("least-squares")] = "robust"
    """robust: Huber's loss in log space, never-reached batch sizes too; least-squares: plain, as Zhang et al. 2024."""
    overhead: Annotated[float, shown(0.2, "none: a ratio", gt=0, le=1000, allow_inf_nan=False)] = OVERHEAD
    """For zhang2024: how many more examples than at the optimal batch size are critical."""
    optimal_batch_size: Annotated[float, shown(256, BATCH_UNIT, ge=0, le=1e18, allow_inf_nan=False)] = (
        OPTIMAL_BATCH_SIZE
    )
    """For zhang2024: the batch size that the overhead is over. The default is that paper's, of language models."""


class CriticalBatchSizeRow(Row):
    """A workload and definition."""

    workload: str
    definition: Annotated[str, shown("mccandlish2018")]
    """mccandlish2018: B_c = E_min/S_min. zhang2024: overhead x B_c + (1 + overhead) x optimal_batch_size, which needs
    that overhead of examples over the optimal batch size."""
    critical_batch_size: Annotated[float | None, shown(83.7, "batch_unit of the study, mostly examples")]
    """The critical batch size under that definition; null where the data can't support one."""
    lower: Annotated[float | None, shown(68.6, "batch_unit of the study, mostly examples")]
    """Lower end of its 90% interval; where it is null, the bound that holds all the same, at 95%; null for no bound."""
    upper: Annotated[float | None, shown(103.1, "batch_unit of the study, mostly examples")]
    """Upper end of its 90% interval; where it is null, the bound that holds all the same, at 95%; null for no bound."""
    s_min: Annotated[float | None, shown(1575.0, "steps")]
    """Fewest steps, at infinite batch size, by the fit; null like critical_batch_size."""
    e_min: Annotated[float | None, shown(131784.0, "batch_unit of the study, mostly examples")]
    """Fewest examples, at the smallest batch size, by the fit; null like critical_batch_size."""
    identifiable: Annotated[bool, shown(True)]
    """Whether the data support a critical batch size; warnings say why not."""
    rms_log_residual: Annotated[float | None, shown(0.025, "none: a ratio, about")]
    """Root mean square of log(steps) - log(fitted steps) over batch sizes; null with fewer than 3 that reached the
    target."""
    n_batch_sizes: Annotated[int, shown(9, "batch sizes")]
    """Batch sizes that reached the target, to which the curve was fitted."""
    delta_method_lower: Annotated[float | None, shown(69.1, "batch_unit of the study, mostly examples")]
    """Lower end of the 90% interval by the delta method; null like critical_batch_size."""
    delta_method_upper: Annotated[float | None, shown(101.4, "batch_unit of the study, mostly examples")]
    """Upper end of the 90% interval by the delta method; null like critical_batch_size."""
    bootstrap_lower: Annotated[float | None, shown(72.0, "batch_unit of the study, mostly examples")]
    """5% quantile of refits with residuals drawn anew over batch sizes; null like critical_batch_size."""
    bootstrap_upper: Annotated[float | None, shown(98.0, "batch_unit of the study, mostly examples")]
    """95% quantile of refits with residuals drawn anew over batch sizes; null like critical_batch_size."""
    leave_one_out_lower: Annotated[float | None, shown(78.0, "batch_unit of the study, mostly examples")]
    """The least of the fits that each leave one batch size out; null like critical_batch_size."""
    leave_one_out_upper: Annotated[float | None, shown(90.0, "batch_unit of the study, mostly examples")]
    """The most of the fits that each leave one batch size out; null like critical_batch_size."""
    half_search_lower: Annotated[float | None, shown(75.0, "batch_unit of the study, mostly examples")]
    """5% quantile over searches of half as many trials, drawn without replacement: what another search might say; null
    like critical_batch_size, or where too few of these reach the target."""
    half_search_upper: Annotated[float | None, shown(95.0, "batch_unit of the study, mostly examples")]
    """95% quantile over searches of half as many trials, drawn without replacement; null like half_search_lower."""
    knee_sharpness: Annotated[float | None, shown(1.2, "none: an exponent")]
    """g of S = S_min (1 + (B_c/B)^g)^(1/g), fitted: 1 is the hyperbola, more a sharper knee; null like
    critical_batch_size, or below 5 batch sizes."""
    knee_sharpness_p_value: Annotated[float | None, shown(0.3, "none: a probability")]
    """p-value of the hyperbola against that, by the likelihood ratio: small where the knee has another sharpness; null
    like knee_sharpness."""
    knee_critical_batch_size: Annotated[float | None, shown(80.1, "batch_unit of the study, mostly examples")]
    """The critical batch size with g free: model-form error, to be quoted beside the interval; null like
    knee_sharpness."""
    exponent: Annotated[float | None, shown(1.03, "none: an exponent")]
    """alpha of S = a + b/B^alpha, fitted: 1 is the hyperbola; null like knee_sharpness."""
    exponent_critical_batch_size: Annotated[float | None, shown(77.9, "batch_unit of the study, mostly examples")]
    """The critical batch size with alpha free, (b/a)^(1/alpha): model-form error as well; null like knee_sharpness."""
    runs_test_p_value: Annotated[float | None, shown(0.5, "none: a probability")]
    """p-value of the runs test: small where neighbouring residuals share their sign, so that the curve is bent
    otherwise than the fit; null like critical_batch_size, or if all have one sign."""


class CriticalBatchSizeSummary(GoalSummary, Finding):
    """How the critical batch size was found."""

    fit: Annotated[Kind, shown("robust")]
    """How the curve was fitted."""
    overhead: Annotated[float, shown(0.2, "none: a ratio")]
    """The overhead of zhang2024."""
    optimal_batch_size: Annotated[float, shown(256, "batch_unit of the study")]
    """The optimal batch size of zhang2024."""


def answer(view: ReleaseView, parameters: CriticalBatchSizeParameters) -> Answer:
    """A row by workload and definition; raises UnknownName and BadParameter."""
    selection, goal = parameters.selection(), parameters.goal()
    if len(selection.workloads) > MOST_WORKLOADS:
        raise BadParameter("workload", f"there are {len(selection.workloads)} workloads: give up to {MOST_WORKLOADS}")
    searches = searches_of(view, selection)
    curves = [usable_curve(searched, scaling_curve(searched, goal)) for searched in searches]
    fits = [_fit(curve, goal, parameters.fit) for curve in curves]
    defined = [
        (mccandlish2018(fit), zhang2024(fit, parameters.overhead, parameters.optimal_batch_size)) for fit in fits
    ]
    each = list(zip(curves, fits, defined, strict=True))
    rows = [_row(curve, fit, number) for curve, fit, numbers in each for number in numbers]
    return QUESTION.analysis(
        view,
        parameters,
        searches[0].direction,
        [pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)],
        {name: getattr(parameters, name) for name in ("fit", "overhead", "optimal_batch_size")},
        definition=_DEFINITION.format(how=_HOW[parameters.fit]),
        n_used=sum(curve.n_reached for curve in curves),
        left_out=(text for curve in curves for text in curve.left_out()),
        warnings=(text for one in each for text in _warnings(*one, parameters.optimal_batch_size)),
    )


QUESTION = Question(
    path="/v1/analysis/critical-batch-size",
    doc="The critical batch size of workloads with intervals, or bounds where the data support no number.",
    parameters=CriticalBatchSizeParameters,
    row=CriticalBatchSizeRow,
    summary=CriticalBatchSizeSummary,
    answer=answer,
    rows_name="estimates",
)


def _fit(curve: UsableCurve, goal: Goal, kind: Kind) -> CurveFit:
    return fit_curve(
        curve.batch_sizes, curve.steps, curve.censored_at, curve.previous_steps, _steps_of_trials(curve, goal), kind
    )


def _steps_of_trials(curve: UsableCurve, goal: Goal) -> list[Floats]:
    """By usable study, the steps of each admitted trial, inf for never; steps of 0 have no logarithm: left out."""
    found = curve.found
    steps = trial_steps(found, goal)
    counts = found.admitted & (steps > 0)
    own = [found.facts.rows_of(study) for study in curve.studies.tolist()]
    return [steps[rows][counts[rows]] for rows in own]


def _warnings(
    curve: UsableCurve, fit: CurveFit, defined: tuple[CriticalBatchSize, ...], optimal_batch_size: float
) -> Iterator[str]:
    yield from (f"{curve.name}: {reason}" for reason in fit.known.reasons)
    for number in defined:
        yield from (f"{curve.name}, {number.definition}: {text}" for text in number.warnings)
    yield from _misfits(curve, fit)
    sizes = curve.batch_sizes
    if fit.known.is_identifiable and not sizes[0] <= optimal_batch_size <= sizes[-1]:
        yield (
            f"{curve.name}, zhang2024: optimal_batch_size {optimal_batch_size:g} lies outside the batch sizes "
            f"measured, {sizes[0]:.0f} to {sizes[-1]:.0f}"
        )
    yield from curve_warnings(curve, scaling_shape(sizes, curve.steps))


def _misfits(curve: UsableCurve, fit: CurveFit) -> Iterator[str]:
    """In words, where the hyperbola isn't the curve that the steps follow."""
    if fit.fit is not None and fit.fit.rms_log_residual > LARGE_RESIDUAL:
        off = f"{fit.fit.rms_log_residual:.0%}"
        yield f"{curve.name}: steps scatter by {off} (rms) around the hyperbola: unequal tuning, or another curve"
    if fit.runs_p_value is not None and fit.runs_p_value < _SMALL_P:
        yield f"{curve.name}: residuals keep their sign along the batch sizes (runs test, p = {fit.runs_p_value:.2g})"
    forms = fit.other_forms
    if forms is None or fit.known.lower is None or fit.known.upper is None:
        return
    if forms.p_value < _SMALL_P:
        yield (
            f"{curve.name}: the knee is {'sharper' if forms.sharpness > 1 else 'blunter'} than a hyperbola's "
            f"(g = {forms.sharpness:.2g}, p = {forms.p_value:.2g})"
        )
    others = (forms.sharpness_critical_batch_size, forms.exponent_critical_batch_size)
    if not all(fit.known.lower <= other <= fit.known.upper for other in others):
        yield (
            f"{curve.name}: other curves than the hyperbola give B_c = {others[0]:.4g} (g free) and {others[1]:.4g} "
            "(exponent free), beyond the interval: quote the error of the model's form too"
        )


def _row(curve: UsableCurve, fit: CurveFit, number: CriticalBatchSize) -> dict[str, Any]:
    forms = fit.other_forms if number.is_identifiable else None
    return {
        "workload": curve.name,
        "definition": number.definition,
        "critical_batch_size": number.value,
        "lower": number.lower,
        "upper": number.upper,
        "s_min": number.s_min,
        "e_min": number.e_min,
        "identifiable": number.is_identifiable,
        "rms_log_residual": number.rms_log_residual,
        "n_batch_sizes": curve.n_reached,
        **_range("delta_method", number, fit.delta_method),
        **_range("bootstrap", number, fit.bootstrap),
        **_range("leave_one_out", number, fit.left_out),
        **_range("half_search", number, fit.subsampled),
        "knee_sharpness": None if forms is None else forms.sharpness,
        "knee_sharpness_p_value": None if forms is None else forms.p_value,
        "knee_critical_batch_size": None if forms is None else number.changed(forms.sharpness_critical_batch_size),
        "exponent": None if forms is None else forms.exponent,
        "exponent_critical_batch_size": None if forms is None else number.changed(forms.exponent_critical_batch_size),
        "runs_test_p_value": fit.runs_p_value if number.is_identifiable else None,
    }


def _range(name: str, number: CriticalBatchSize, found: Range | None) -> dict[str, float | None]:
    """A range of B_c as that of this definition's number; nulls where there is no number."""
    if found is None or not number.is_identifiable:
        return {f"{name}_lower": None, f"{name}_upper": None}
    return {f"{name}_lower": number.changed(found.lower), f"{name}_upper": number.changed(found.upper)}
