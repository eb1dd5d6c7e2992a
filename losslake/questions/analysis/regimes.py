"""Regimes: where perfect scaling ends and maximal data parallelism begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.analysis.break_points import (
    PERFECT_WITHIN,
    USEFUL_WITHIN,
    BreakPoint,
    max_useful_batch_size,
    perfect_scaling_end,
)
from losslake.analysis.log_curves import UNDERTUNED_TAU, ScalingShape, scaling_shape
from losslake.output.answer import Answer, row_shape
from losslake.output.plain import finite, whole
from losslake.questions.analysis.finding import Finding
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import examples_of
from losslake.questions.scaling_curve import UsableCurve, curve_warnings, scaling_curve, usable_curve
from losslake.questions.search import facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.wording import lone_batch_size
from losslake_schema.reached import Floats

REGIMES = row_shape(
    "regimes", "workload", "batch_size", "regime", "steps", "previous_step", "censored_at", "examples", "slope",
    "efficiency", "isotonic_steps", "is_undertuned", "n_trials", "n_reached",
)  # fmt: skip
PERFECT, DIMINISHING, MAXIMAL = "perfect scaling", "diminishing returns", "maximal data parallelism"
AS_DEFINED, MEDIAN_OF_3, ISOTONIC = "as defined", "anchored at the median of 3", "of isotonic steps"
_DEFINITION = (
    "With S(B) the steps of the best trial and E(B) = B S(B) its examples: perfect scaling ends at the largest B up to "
    "which every batch size needs at most 1 + perfect_scaling_tau times the fewest examples so far; the largest useful "
    "batch size is the smallest whose steps no larger one betters by more than max_useful_tau. No curve is fitted. "
    "n_used counts batch sizes that reached the target."
)


@dataclass(frozen=True)
class Tolerances:
    """perfect_scaling, max_useful: of the break points. undertuned: by how much steps rise at undertuned ones."""

    perfect_scaling: float = PERFECT_WITHIN
    max_useful: float = USEFUL_WITHIN
    undertuned: float = UNDERTUNED_TAU

    def __post_init__(self) -> None:
        for name, tau in self.facts().items():
            if not 0 <= tau < np.inf:
                raise BadParameter(name, f"{name} {tau} is out of range: give a finite number, 0 or more")

    def facts(self) -> dict[str, Any]:
        """What an answer says of them."""
        return {f"{name}_tau": tau for name, tau in asdict(self).items()}


@dataclass(frozen=True)
class Ends:
    """The break points of a curve by the name of their variant."""

    perfect: dict[str, BreakPoint]
    useful: dict[str, BreakPoint]


def regimes(view: ReleaseView, selection: Selection, goal: Goal, tolerances: Tolerances | None = None) -> Answer:
    """The regimes of each workload by batch size; raises UnknownName and BadParameter."""
    taus = tolerances or Tolerances()
    searches = [search(view, selection, workload) for workload in selection.workloads]
    curves = [usable_curve(found, scaling_curve(found, goal)) for found in searches]
    shapes = [scaling_shape(curve.batch_sizes, curve.steps, taus.undertuned) for curve in curves]
    ends = [break_points(curve, shape, taus) for curve, shape in zip(curves, shapes, strict=True)]
    each = list(zip(curves, shapes, ends, strict=True))
    finding = Finding(
        definition=_DEFINITION,
        n_used=sum(curve.n_reached for curve in curves),
        left_out=tuple(text for curve in curves for text in curve.left_out()),
        warnings=tuple(
            text
            for curve, shape, own in each
            for text in (*_break_point_warnings(curve, own), *curve_warnings(curve, shape))
        ),
    )
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | taus.facts()
    facts |= {"break_points": [fact for curve, _, own in each for fact in _as_facts(curve, own)]} | finding.facts()
    return Answer(facts, REGIMES.schema, iter([_rows(curve, shape, own) for curve, shape, own in each]))


def break_points(curve: UsableCurve, shape: ScalingShape, taus: Tolerances) -> Ends:
    """Both ends as defined, anchored otherwise, and of the steps that pooling makes fall."""
    sizes, limits = curve.batch_sizes, curve.censored_at
    pooled = np.where(curve.is_reached, shape.isotonic_steps, curve.steps)
    return Ends(
        perfect={
            AS_DEFINED: perfect_scaling_end(sizes, curve.steps, taus.perfect_scaling, limits),
            MEDIAN_OF_3: perfect_scaling_end(sizes, curve.steps, taus.perfect_scaling, limits, "median of 3"),
            ISOTONIC: perfect_scaling_end(sizes, pooled, taus.perfect_scaling, limits),
        },
        useful={
            AS_DEFINED: max_useful_batch_size(sizes, curve.steps, taus.max_useful),
            ISOTONIC: max_useful_batch_size(sizes, pooled, taus.max_useful),
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
            numbers = {key: None if at is None else int(at) for key, at in _numbers(point).items()}
            yield {"workload": curve.name, "break_point": name, "variant": variant, **numbers} | {
                "censoring": None if point.censoring == "none" else point.censoring
            }


def _numbers(point: BreakPoint) -> dict[str, float | None]:
    return {"batch_size": point.batch_size, "lower": point.lower, "upper": point.upper}


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
    return pa.RecordBatch.from_pydict(columns, schema=REGIMES.schema)


def _spread(values: Floats, curve: UsableCurve) -> pa.Array:
    """Values of the usable studies as those of all; null for the others and for NaN."""
    spread = np.full(len(curve.measured.steps), np.nan)
    spread[curve.studies] = values
    return finite(spread)
