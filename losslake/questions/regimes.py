"""The regimes of scaling: the end of perfect scaling and the start of maximal data parallelism."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.break_points import (
    PERFECT_WITHIN,
    USEFUL_WITHIN,
    BreakPoint,
    max_useful_batch_size,
    perfect_scaling_end,
    widened,
)
from losslake.analysis.log_curves import ScalingShape, scaling_shape
from losslake.analysis.measured_levels import stated
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.plain import finite, whole
from losslake.output.rows import Row, shown, unit
from losslake.questions.declaration.parameters import WORKLOAD, GoalParameters, ResultParameters, Share
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Censoring, Finding, GoalSummary, ResultSummary, Summary, results_of
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.examples import examples_column
from losslake.questions.trials.scaling_curve import UsableCurve, curve_warnings, scaling_curve, usable_curve
from losslake.questions.trials.search import open_searches
from losslake.questions.trials.step_warnings import lone_batch_size
from losslake_schema.reached import Floats

PERFECT_END, MAX_USEFUL = "perfect_scaling_end", "max_useful_batch_size"
PERFECT, DIMINISHING, MAXIMAL = "perfect scaling", "diminishing returns", "maximal data parallelism"
AS_DEFINED, MEDIAN_OF_3, ISOTONIC = "as defined", "anchored at the median of 3", "of isotonic steps"


class RegimesParameters(ResultParameters, GoalParameters):
    """The parameters of regimes."""

    perfect_scaling_tau: Annotated[Share, shown(0.2, "none: a ratio")] = PERFECT_WITHIN
    """Perfect scaling continues while examples are at most 1 + this times the fewest of any batch size."""
    max_useful_tau: Annotated[Share, shown(0.1, "none: a ratio")] = USEFUL_WITHIN
    """A batch size is large enough when no larger one improves its steps by more than this."""
    undertuned_tau: Annotated[Share | None, shown(0.15, "none: a ratio")] = None
    """A batch size is dominated with more than 1 + this times the examples of a larger one, or the steps of a smaller
    one, if its evaluations don't explain that. Default: 0.15 for best_setting, 1 for best_trial, which is noisier."""


class RegimesRow(Row):
    """A study."""

    workload: str
    batch_size: int
    regime: Annotated[str | None, shown("perfect scaling")]
    """perfect scaling, diminishing returns or maximal data parallelism; null if not reached, dominated or left open."""
    steps: int | None
    previous_step: int | None
    censored_at: Annotated[int | None, shown(2000, "steps")]
    """The last step at which any trial was evaluated in the metric, or the budget if it was evaluated beyond it; null
    if one reached the target, or none was evaluated."""
    examples: int | None
    slope: Annotated[float | None, shown(0.93, "none: a ratio")]
    """-d log(steps) / d log(batch_size) to the next larger with a result, 1 for perfect scaling; null at the last.
    Dominated batch sizes are passed over, here and in isotonic_steps, where they are null."""
    efficiency: Annotated[float | None, shown(0.97, "none: a ratio")]
    """Fewest examples at any batch size over the examples here; null if the target wasn't reached."""
    isotonic_steps: Annotated[float | None, shown(400.0, "steps")]
    """Nearest steps, in logarithm, that never rise with the batch size; null if the target wasn't reached."""
    is_dominated: Annotated[bool, shown(False)]
    """True if it was tuned worse than others, so that it says nothing about scaling: see undertuned_tau."""
    n_trials: int
    n_reached: int


class BreakPointSummary(Summary):
    """A break point of a workload, by one variant of its definition."""

    workload: Annotated[str, shown(WORKLOAD)]
    break_point: Annotated[str, shown("perfect_scaling_end")]
    variant: Annotated[str, shown("as defined")]
    batch_size: Annotated[int | None, shown(64)]
    lower: Annotated[int | None, shown(64)]
    upper: Annotated[int | None, shown(128)]
    since: Annotated[int | None, shown(8)]
    """The smallest batch size with at most 1 + perfect_scaling_tau times the fewest examples. Null if there is no other
    one up to the end, and for max_useful_batch_size. If lower is null, they are too close to tell."""
    lower_with_noise: Annotated[int | None, shown(32)]
    upper_with_noise: Annotated[int | None, shown(256)]
    censoring: Annotated[Censoring | None, shown(None)]


class RegimesSummary(ResultSummary, GoalSummary, Finding):
    """The tolerances, and the ends of the regimes."""

    perfect_scaling_tau: Annotated[float, shown(0.2, "none: a ratio")]
    """The tolerance of perfect scaling."""
    max_useful_tau: Annotated[float, shown(0.1, "none: a ratio")]
    """The tolerance of the largest useful batch size."""
    undertuned_tau: Annotated[float | None, shown(0.15, "none: a ratio")]
    """The requested tolerance of dominated batch sizes; null for 0.15 of best_setting and 1 of best_trial."""
    break_points: Annotated[list[BreakPointSummary], Field(json_schema_extra=unit("batch_unit of the study"))]
    """By workload: both ends, as defined and by variants. The end of these steps lies from lower to upper (null: no
    bound), or below the smallest (censoring left) or above the largest (right) batch size with a result. The true end
    lies from lower_with_noise to upper_with_noise in 90% of searches (null: no bound; by the definition only)."""


@dataclass(frozen=True)
class Ends:
    """The break points of a curve by the name of their variant, and the bounds of those as defined with noise."""

    perfect: dict[str, BreakPoint]
    useful: dict[str, BreakPoint]
    with_noise: Mapping[str, tuple[float | None, float | None]]


def _answer(view: ReleaseView, parameters: RegimesParameters) -> Answer:
    """Return the regimes of each workload by batch size; raises UnknownName and BadParameter."""
    selection, goal = parameters.selection(), parameters.goal
    searches = open_searches(view, selection)
    tau = parameters.undertuned_tau
    curves = [usable_curve(search, scaling_curve(search, goal), tau) for search in searches]
    shapes = [scaling_shape(curve.batch_sizes, curve.tuned_steps) for curve in curves]
    ends = [break_points(curve, shape, parameters) for curve, shape in zip(curves, shapes, strict=True)]
    each = list(zip(curves, shapes, ends, strict=True))
    return QUESTION.analysis(
        view,
        parameters,
        [_rows(curve, shape, curve_ends) for curve, shape, curve_ends in each],
        {
            "results": results_of(searches),
            "break_points": [fact for curve, _, curve_ends in each for fact in _as_facts(curve, curve_ends)],
        },
        n_used=sum(curve.n_tuned for curve in curves),
        left_out=(text for curve in curves for text in curve.left_out()),
        warnings=(
            text
            for curve, _, curve_ends in each
            for text in (*_break_point_warnings(curve, curve_ends), *curve_warnings(curve))
        ),
    )


QUESTION = Question(
    path="/v1/analysis/regimes",
    doc="Where perfect scaling ends and maximal data parallelism begins, by workload.",
    parameters=RegimesParameters,
    row=RegimesRow,
    summary=RegimesSummary,
    compute=_answer,
)


def break_points(curve: UsableCurve, shape: ScalingShape, parameters: RegimesParameters) -> Ends:
    """Return both break points as defined, with another anchor, and of isotonic steps.

    Dominated batch sizes are left out: they change neither as defined, but the other two and the noise.
    """
    sizes, steps, limits = curve.batch_sizes, curve.tuned_steps, curve.censored_at
    perfect, useful, before = parameters.perfect_scaling_tau, parameters.max_useful_tau, curve.previous_steps
    pooled = np.where(np.isfinite(steps), shape.isotonic_steps, steps)
    return Ends(
        perfect={
            AS_DEFINED: perfect_scaling_end(sizes, steps, perfect, limits),
            MEDIAN_OF_3: perfect_scaling_end(sizes, steps, perfect, limits, "median of 3"),
            ISOTONIC: perfect_scaling_end(sizes, pooled, perfect, limits),
        },
        useful={
            AS_DEFINED: max_useful_batch_size(sizes, steps, useful),
            ISOTONIC: max_useful_batch_size(sizes, pooled, useful),
        },
        with_noise={
            PERFECT_END: widened(sizes, steps, perfect_scaling_end, perfect, before, limits),
            MAX_USEFUL: widened(sizes, steps, max_useful_batch_size, useful, before, limits),
        },
    )


def regime_of(batch_size: float, perfect: BreakPoint, useful: BreakPoint) -> str | None:
    """Return the regime of a batch size that reached the target; None where the sampled ones leave it open."""
    if perfect.batch_size is None or useful.batch_size is None:
        return None
    # An end without a lower bound was compared with none below it, or only with batch sizes too close to tell.
    if perfect.lower is not None and perfect.since is not None and perfect.since <= batch_size <= perfect.batch_size:
        return PERFECT
    if useful.censoring != "right" and batch_size >= useful.batch_size:
        return MAXIMAL
    return None if batch_size <= perfect.batch_size or perfect.censoring == "right" else DIMINISHING


def _break_point_warnings(curve: UsableCurve, ends: Ends) -> Iterator[str]:
    perfect, useful = ends.perfect[AS_DEFINED], ends.useful[AS_DEFINED]
    if perfect.batch_size is None or useful.batch_size is None:
        is_too_easy = bool(curve.measured.is_reached.any())
        yield f"{curve.name}: no batch size reached the target" + (" after step 0" if is_too_easy else "")
        return
    if curve.n_reached == 1:
        yield lone_batch_size(curve.name, useful.batch_size)
        return
    yield from _open_ends(curve, perfect, useful)
    for name, variants, with_noise in (
        ("the end of perfect scaling", ends.perfect, ends.with_noise[PERFECT_END]),
        ("the largest useful batch size", ends.useful, ends.with_noise[MAX_USEFUL]),
    ):
        point = variants[AS_DEFINED]
        if with_noise != (point.lower, point.upper):
            place = end_in_words(*with_noise, "from {} to {}")
            where = f"it lies {place}" if place else "the data set no bound"
            yield f"{curve.name}: one more trial may move {name}: with noise and the spacing of evaluations {where}"
        others = [f"{point.batch_size:.0f} {variant}" for variant, point in variants.items() if point.batch_size]
        if len({point.batch_size for point in variants.values()}) > 1:
            yield f"{curve.name}: {name} is uncertain: {', '.join(others)}"


def _open_ends(curve: UsableCurve, perfect: BreakPoint, useful: BreakPoint) -> Iterator[str]:
    """Yield what the batch sizes leave open of the ends as defined."""
    assert perfect.batch_size is not None
    assert useful.batch_size is not None
    since, sizes = perfect.since or perfect.batch_size, curve.batch_sizes[np.isfinite(curve.tuned_steps)]
    too_close = "larger ones are too close to it to tell"
    if min(sizes) < since:
        why = "smaller batch sizes were tuned worse or measured differently, or it is noise, so their regime is unknown"
        yield f"{curve.name}: below batch size {since:.0f} steps fall by more than the batch grows: {why}"
    elif perfect.censoring == "left":
        smallest = "the smallest batch size" + (" that counts" if curve.is_dominated.any() else "")
        end = f"batch size {perfect.batch_size:.0f}" if since < perfect.batch_size else f"{smallest}, {since:.0f}"
        yield f"{curve.name}: perfect scaling ends at or below {end}"
    elif perfect.censoring == "right" and perfect.lower is None and perfect.since is not None:
        yield f"{curve.name}: whether batch size {since:.0f} scales perfectly isn't known: {too_close}"
    if perfect.censoring == "right" and perfect.lower is not None:
        yield f"{curve.name}: perfect scaling goes on to {perfect.batch_size:.0f}, and nothing shows that it ends there"
    if useful.censoring == "right" and useful.batch_size < max(sizes):
        yield f"{curve.name}: whether steps fall beyond batch size {useful.batch_size:.0f} isn't known: {too_close}"
    elif useful.censoring == "right":
        largest = f"the largest batch size with a result, {useful.batch_size:.0f}"
        yield f"{curve.name}: {largest}, still gains; larger ones may"
    if useful.censoring == "left":
        yield f"{curve.name}: no batch size saves steps over the smallest, {useful.batch_size:.0f}"


def end_in_words(lower: float | None, upper: float | None, both: str) -> str:
    """Return in words where the end of a regime lies, with the level; empty without bounds. both: the text of two."""
    match lower, upper:
        case None, None:
            return ""
        case _, None:
            place = f"at {lower:,.0f} or above"
        case None, _:
            place = f"at {upper:,.0f} or below"
        case _:
            place = both.format(f"{lower:,.0f}", f"{upper:,.0f}")
    return f"{place} ({stated('regimes')})"


def _as_facts(curve: UsableCurve, ends: Ends) -> Iterator[dict[str, Any]]:
    for name, variants in ((PERFECT_END, ends.perfect), (MAX_USEFUL, ends.useful)):
        for variant, point in variants.items():
            least, most = ends.with_noise[name] if variant == AS_DEFINED else (None, None)
            places = {
                **{key: getattr(point, key) for key in ("batch_size", "lower", "upper", "since")},
                "lower_with_noise": least,
                "upper_with_noise": most,
            }
            yield {
                "workload": curve.name,
                "break_point": name,
                "variant": variant,
                **{key: None if place is None else int(place) for key, place in places.items()},
                "censoring": None if point.censoring == "none" else point.censoring,
            }


def _rows(curve: UsableCurve, shape: ScalingShape, ends: Ends) -> Rows:
    measured, sizes = curve.measured, curve.search.facts.batch_sizes
    steps = whole(measured.steps)
    has_steps = steps.is_valid().to_numpy(zero_copy_only=False)
    usable = np.isin(np.arange(len(sizes)), curve.studies) & has_steps
    is_dominated = np.isin(np.arange(len(sizes)), curve.studies[curve.is_dominated])
    perfect, useful = ends.perfect[AS_DEFINED], ends.useful[AS_DEFINED]
    return QUESTION.rows.of(
        {
            "workload": curve.name,
            "batch_size": sizes,
            "regime": [
                regime_of(size, perfect, useful) if is_usable else None
                for size, is_usable in zip(sizes, (usable & ~is_dominated).tolist(), strict=True)
            ],
            "steps": steps,
            "previous_step": whole(measured.previous_steps),
            "censored_at": whole(
                np.where(measured.is_reached | (measured.censored_at < 0), np.nan, measured.censored_at)
            ),
            "examples": examples_column(steps.fill_null(0).to_numpy(), sizes, has_steps),
            "slope": _spread(shape.slope, curve),
            "efficiency": _spread(scaling_shape(curve.batch_sizes, curve.steps).efficiency, curve),
            "isotonic_steps": _spread(shape.isotonic_steps, curve),
            "is_dominated": is_dominated,
            "n_trials": measured.n_trials,
            "n_reached": measured.n_reached,
        }
    )


def _spread(values: Floats, curve: UsableCurve) -> pa.Array:
    """Return values of the usable studies as a column of all; null for the others and for NaN."""
    spread = np.full(len(curve.measured.steps), np.nan)
    spread[curve.studies] = values
    return finite(spread)
