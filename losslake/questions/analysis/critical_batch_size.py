"""The critical batch size of workloads, with intervals, under each definition that has a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
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
from losslake.output.answer import Answer, row_shape
from losslake.questions.analysis.finding import Finding
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling_curve import UsableCurve, curve_warnings, scaling_curve, trial_steps, usable_curve
from losslake.questions.search import facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake_schema.reached import Floats

CRITICAL_BATCH_SIZE = row_shape(
    "critical-batch-size", "workload", "definition", "critical_batch_size", "lower", "upper", "s_min", "e_min",
    "identifiable", "rms_log_residual", "n_batch_sizes", "delta_method_lower", "delta_method_upper",
    "bootstrap_lower", "bootstrap_upper", "leave_one_out_lower", "leave_one_out_upper", "half_search_lower",
    "half_search_upper", "knee_sharpness", "knee_sharpness_p_value", "knee_critical_batch_size", "exponent",
    "exponent_critical_batch_size", "runs_test_p_value",
)  # fmt: skip
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


@dataclass(frozen=True)
class FitOptions:
    """How the critical batch size is found; overhead and optimal_batch_size are of zhang2024."""

    fit: Kind = "robust"
    overhead: float = OVERHEAD
    optimal_batch_size: float = OPTIMAL_BATCH_SIZE

    def __post_init__(self) -> None:
        if self.fit not in _HOW:
            raise BadParameter("fit", f"fit '{self.fit}' is unknown: give {' or '.join(_HOW)}")
        if not 0 < self.overhead < np.inf:
            raise BadParameter("overhead", f"overhead {self.overhead} is out of range: give a finite number above 0")
        if not 0 <= self.optimal_batch_size < np.inf:
            why = f"optimal_batch_size {self.optimal_batch_size} is out of range: give a finite number, 0 or more"
            raise BadParameter("optimal_batch_size", why)


def critical_batch_size(
    view: ReleaseView, selection: Selection, goal: Goal, options: FitOptions | None = None
) -> Answer:
    """A row by workload and definition; raises UnknownName and BadParameter."""
    asked = options or FitOptions()
    if len(selection.workloads) > MOST_WORKLOADS:
        raise BadParameter("workload", f"there are {len(selection.workloads)} workloads: give up to {MOST_WORKLOADS}")
    searches = [search(view, selection, workload) for workload in selection.workloads]
    curves = [usable_curve(found, scaling_curve(found, goal)) for found in searches]
    fits = [_fit(curve, goal, asked.fit) for curve in curves]
    defined = [(mccandlish2018(fit), zhang2024(fit, asked.overhead, asked.optimal_batch_size)) for fit in fits]
    each = list(zip(curves, fits, defined, strict=True))
    finding = Finding(
        definition=_DEFINITION.format(how=_HOW[asked.fit]),
        n_used=sum(curve.n_reached for curve in curves),
        left_out=tuple(text for curve in curves for text in curve.left_out()),
        warnings=tuple(text for one in each for text in _warnings(*one, asked)),
    )
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | asdict(asked) | finding.facts()
    rows = [_row(curve, fit, number) for curve, fit, numbers in each for number in numbers]
    batch = pa.RecordBatch.from_pylist(rows, CRITICAL_BATCH_SIZE.schema)
    return Answer(facts, CRITICAL_BATCH_SIZE.schema, iter([batch]), rows_name="estimates")


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
    curve: UsableCurve, fit: CurveFit, defined: tuple[CriticalBatchSize, ...], asked: FitOptions
) -> Iterator[str]:
    yield from (f"{curve.name}: {reason}" for reason in fit.known.reasons)
    for number in defined:
        yield from (f"{curve.name}, {number.definition}: {text}" for text in number.warnings)
    yield from _misfits(curve, fit)
    sizes = curve.batch_sizes
    if fit.known.is_identifiable and not sizes[0] <= asked.optimal_batch_size <= sizes[-1]:
        yield (
            f"{curve.name}, zhang2024: optimal_batch_size {asked.optimal_batch_size:g} lies outside the batch sizes "
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
