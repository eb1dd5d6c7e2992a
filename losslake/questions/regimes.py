"""Regimes: where perfect scaling ends and maximal data parallelism begins."""

from __future__ import annotations

from collections.abc import Iterator
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
)
from losslake.analysis.log_curves import UNDERTUNED_TAU, ScalingShape, scaling_shape
from losslake.output.answer import Answer
from losslake.output.plain import finite, whole
from losslake.output.rows import Row, shown, unit
from losslake.questions.parameters import WORKLOAD, GoalParameters, Share
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling_curve import UsableCurve, curve_warnings, scaling_curve, usable_curve
from losslake.questions.search import examples_of, searches_of
from losslake.questions.summary import Censoring, Finding, GoalSummary, Summary
from losslake.questions.wording import lone_batch_size
from losslake_schema.reached import Floats

PERFECT, DIMINISHING, MAXIMAL = "perfect scaling", "diminishing returns", "maximal data parallelism"
AS_DEFINED, MEDIAN_OF_3, ISOTONIC = "as defined", "anchored at the median of 3", "of isotonic steps"
_DEFINITION = (
    "With S(B) the steps of the best trial and E(B) = B S(B) its examples: perfect scaling ends at the largest B up to "
    "which every batch size needs at most 1 + perfect_scaling_tau times the fewest examples so far; the largest useful "
    "batch size is the smallest whose steps no larger one betters by more than max_useful_tau. No curve is fitted. "
    "n_used counts batch sizes that reached the target."
)


class RegimesParameters(GoalParameters):
    """Where do the regimes of scaling begin and end?"""

    perfect_scaling_tau: Annotated[Share, shown(0.2, "none: a ratio")] = PERFECT_WITHIN
    """Perfect scaling goes on while examples are at most 1 + this times the fewest so far."""
    max_useful_tau: Annotated[Share, shown(0.1, "none: a ratio")] = USEFUL_WITHIN
    """A batch size is large enough when no larger one betters its steps by more than this."""
    undertuned_tau: Annotated[Share, shown(0.05, "none: a ratio")] = UNDERTUNED_TAU
    """A batch size counts as undertuned with more than 1 + this times the steps of a smaller one."""


class RegimesRow(Row):
    """A study."""

    workload: str
    batch_size: int
    regime: Annotated[str | None, shown("perfect scaling")]
    """perfect scaling (steps fall as the batch size grows), diminishing returns, or maximal data parallelism (no larger
    batch size saves steps); null where the target wasn't reached or the batch sizes leave it open."""
    steps: int | None
    previous_step: int | None
    censored_at: Annotated[int | None, shown(2000, "steps")]
    """Where no trial reached the target: the last step that any was evaluated at, within the budgets; null where one
    did, or none was evaluated."""
    examples: int | None
    slope: Annotated[float | None, shown(0.93, "none: a ratio")]
    """-d log(steps) / d log(batch_size) to the next larger batch size with a result: 1 for perfect scaling, 0 for no
    gain; null at the last."""
    efficiency: Annotated[float | None, shown(0.97, "none: a ratio")]
    """Fewest examples at any batch size over the examples here; null where the target wasn't reached."""
    isotonic_steps: Annotated[float | None, shown(400.0, "steps")]
    """The steps nearest in logarithm that never rise with the batch size (neighbours that do are pooled); null where
    the target wasn't reached."""
    is_undertuned: Annotated[bool, shown(False)]
    """Whether it needs more than 1 + undertuned_tau times the steps of a smaller batch size: tuned worse, or noise."""
    n_trials: int
    n_reached: int


class BreakPointSummary(Summary):
    """A break point of a workload, as one variant of its definition has it."""

    workload: Annotated[str, shown(WORKLOAD)]
    break_point: Annotated[str, shown("perfect_scaling_end")]
    variant: Annotated[str, shown("as defined")]
    batch_size: Annotated[int | None, shown(64)]
    lower: Annotated[int | None, shown(64)]
    upper: Annotated[int | None, shown(128)]
    censoring: Annotated[Censoring | None, shown(None)]


class RegimesSummary(GoalSummary, Finding):
    """The tolerances, and where the regimes end."""

    perfect_scaling_tau: Annotated[float, shown(0.2, "none: a ratio")]
    """The tolerance of perfect scaling."""
    max_useful_tau: Annotated[float, shown(0.1, "none: a ratio")]
    """The tolerance of the largest useful batch size."""
    undertuned_tau: Annotated[float, shown(0.05, "none: a ratio")]
    """The tolerance of steps that rise."""
    break_points: Annotated[list[BreakPointSummary], Field(json_schema_extra=unit("batch_unit of the study"))]
    """By workload: the end of perfect scaling and the largest useful batch size, as defined, and variants that show how
    firm they are. The true end lies from lower to upper, null for no bound; censoring: it may lie below the smallest
    (left) or above the largest (right) batch size with a result, null for neither."""


@dataclass(frozen=True)
class Ends:
    """The break points of a curve by the name of their variant."""

    perfect: dict[str, BreakPoint]
    useful: dict[str, BreakPoint]


def answer(view: ReleaseView, parameters: RegimesParameters) -> Answer:
    """The regimes of each workload by batch size; raises UnknownName and BadParameter."""
    selection, goal = parameters.selection(), parameters.goal()
    searches = searches_of(view, selection)
    curves = [usable_curve(searched, scaling_curve(searched, goal)) for searched in searches]
    shapes = [scaling_shape(curve.batch_sizes, curve.steps, parameters.undertuned_tau) for curve in curves]
    ends = [break_points(curve, shape, parameters) for curve, shape in zip(curves, shapes, strict=True)]
    each = list(zip(curves, shapes, ends, strict=True))
    own = {name: getattr(parameters, name) for name in ("perfect_scaling_tau", "max_useful_tau", "undertuned_tau")}
    return QUESTION.analysis(
        view,
        parameters,
        searches[0].direction,
        [_rows(curve, shape, own_ends) for curve, shape, own_ends in each],
        {**own, "break_points": [fact for curve, _, own_ends in each for fact in _as_facts(curve, own_ends)]},
        definition=_DEFINITION,
        n_used=sum(curve.n_reached for curve in curves),
        left_out=(text for curve in curves for text in curve.left_out()),
        warnings=(
            text
            for curve, shape, own_ends in each
            for text in (*_break_point_warnings(curve, own_ends), *curve_warnings(curve, shape))
        ),
    )


QUESTION = Question(
    path="/v1/analysis/regimes",
    doc="Where perfect scaling ends and maximal data parallelism begins, by workload.",
    parameters=RegimesParameters,
    row=RegimesRow,
    summary=RegimesSummary,
    answer=answer,
)


def break_points(curve: UsableCurve, shape: ScalingShape, parameters: RegimesParameters) -> Ends:
    """Both ends as defined, anchored otherwise, and of the steps that pooling makes fall."""
    sizes, limits = curve.batch_sizes, curve.censored_at
    perfect, useful = parameters.perfect_scaling_tau, parameters.max_useful_tau
    pooled = np.where(curve.is_reached, shape.isotonic_steps, curve.steps)
    return Ends(
        perfect={
            AS_DEFINED: perfect_scaling_end(sizes, curve.steps, perfect, limits),
            MEDIAN_OF_3: perfect_scaling_end(sizes, curve.steps, perfect, limits, "median of 3"),
            ISOTONIC: perfect_scaling_end(sizes, pooled, perfect, limits),
        },
        useful={
            AS_DEFINED: max_useful_batch_size(sizes, curve.steps, useful),
            ISOTONIC: max_useful_batch_size(sizes, pooled, useful),
        },
    )


def regime_of(batch_size: float, perfect: BreakPoint, useful: BreakPoint) -> str | None:
    """The regime of a batch size that reached the target; None where the sampled batch sizes leave it open."""
    if perfect.batch_size is None or useful.batch_size is None:
        return None
    # An end at the smallest batch size was compared with none below it, so that one isn't known to scale perfectly.
    if batch_size <= perfect.batch_size and perfect.lower is not None:
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
    if perfect.censoring == "left":
        yield f"{curve.name}: perfect scaling ends at or below the smallest batch size, {perfect.batch_size:.0f}"
    if perfect.censoring == "right":
        yield f"{curve.name}: perfect scaling goes on to {perfect.batch_size:.0f}, and nothing shows that it ends there"
    if useful.censoring == "right":
        largest = f"the largest batch size with a result, {useful.batch_size:.0f}"
        yield f"{curve.name}: {largest}, still gains; larger ones may"
    if useful.censoring == "left":
        yield f"{curve.name}: no batch size saves steps over the smallest, {useful.batch_size:.0f}"
    for name, variants in (
        ("the end of perfect scaling", ends.perfect),
        ("the largest useful batch size", ends.useful),
    ):
        others = [f"{point.batch_size:.0f} {variant}" for variant, point in variants.items() if point.batch_size]
        if len({point.batch_size for point in variants.values()}) > 1:
            yield f"{curve.name}: {name} is not firm: {', '.join(others)}"


def _as_facts(curve: UsableCurve, ends: Ends) -> Iterator[dict[str, Any]]:
    for name, variants in (("perfect_scaling_end", ends.perfect), ("max_useful_batch_size", ends.useful)):
        for variant, point in variants.items():
            places = (("batch_size", point.batch_size), ("lower", point.lower), ("upper", point.upper))
            yield {
                "workload": curve.name,
                "break_point": name,
                "variant": variant,
                **{key: None if place is None else int(place) for key, place in places},
                "censoring": None if point.censoring == "none" else point.censoring,
            }


def _rows(curve: UsableCurve, shape: ScalingShape, ends: Ends) -> pa.RecordBatch:
    measured, sizes = curve.measured, curve.found.facts.batch_sizes
    perfect, useful = ends.perfect[AS_DEFINED], ends.useful[AS_DEFINED]
    steps = whole(measured.steps).to_pylist()
    usable = set(curve.studies.tolist())
    reached = [index in usable and own is not None for index, own in enumerate(steps)]
    regime = [regime_of(size, perfect, useful) if is_one else None for size, is_one in zip(sizes, reached, strict=True)]
    undertuned = np.zeros(len(sizes), np.bool_)
    undertuned[curve.studies] = shape.is_undertuned
    columns = {
        "workload": [curve.name] * len(sizes),
        "batch_size": list(sizes),
        "regime": regime,
        "steps": steps,
        "previous_step": whole(measured.previous_steps),
        "censored_at": whole(np.where(measured.is_reached | (measured.censored_at < 0), np.nan, measured.censored_at)),
        "examples": [None if own is None else examples_of(own, size) for own, size in zip(steps, sizes, strict=True)],
        "slope": _spread(shape.slope, curve),
        "efficiency": _spread(shape.efficiency, curve),
        "isotonic_steps": _spread(shape.isotonic_steps, curve),
        "is_undertuned": undertuned.tolist(),
        "n_trials": measured.n_trials.tolist(),
        "n_reached": measured.n_reached.tolist(),
    }
    return pa.RecordBatch.from_pydict(columns, schema=QUESTION.rows.schema)


def _spread(values: Floats, curve: UsableCurve) -> pa.Array:
    """Values of the usable studies as those of all; null for the others and for NaN."""
    spread = np.full(len(curve.measured.steps), np.nan)
    spread[curve.studies] = values
    return finite(spread)
