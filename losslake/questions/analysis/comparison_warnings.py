"""What to know of a comparison before relying on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from losslake.questions.contest import Contest, ended_sooner, is_unresolved
from losslake.questions.scaling_curve import ScalingCurve
from losslake_schema.reached import Floats

NEARLY_ALL = 0.9


def comparison_warnings(found: Contest, curves: Sequence[ScalingCurve], base: int) -> Iterator[str]:
    """In words, where a comparison of workloads by batch size is less fair or less sure than it looks.

    curves: by competitor. base: the competitor that the others are compared with.
    """
    if len(found.competitors) == 1:
        yield f"there is nothing to compare {found.competitors[0]} with: name two workloads or more"
    if np.isposinf(found.medians).any() and not np.isfinite(found.medians).any():
        yield "no trial of any workload reached the target: there is nothing to compare"
    yield from _unequal_lengths(found, curves)
    yield from _coarse(found, curves, base)
    yield from _one_draw(found)


def _unequal_lengths(found: Contest, curves: Sequence[ScalingCurve]) -> Iterator[str]:
    """Where a workload is said never to reach the target, but was not trained as long as another took."""
    for column, (_, batch_size) in enumerate(found.places):
        slowest = np.max(found.medians[:, column], initial=-1, where=np.isfinite(found.medians[:, column]))
        for index, name in enumerate(found.competitors):
            ran = ended_sooner(found, curves[index], index, column, slowest)
            if ran is not None:
                yield (
                    f"{name} did not reach the target at batch size {batch_size}, but its trials "
                    f"end at step {ran:,} and another's needed {int(slowest):,}: it may only have been stopped sooner"
                )


def _coarse(found: Contest, curves: Sequence[ScalingCurve], base: int) -> Iterator[str]:
    """Where two workloads differ by less than the distance of the evaluations at which they reached the target."""
    for index, name in enumerate(found.competitors):
        sizes = [
            str(batch_size)
            for column, (_, batch_size) in enumerate(found.places if index != base else ())
            if is_unresolved(found, (curves[index], curves[base]), (index, base), column)
        ]
        if sizes:
            yield (
                f"{name} and {found.competitors[base]} differ by no more than the distance between two evaluations at "
                f"batch size {', '.join(sizes)}: their order there is not resolved"
            )


def _one_draw(found: Contest) -> Iterator[str]:
    sizes = [
        str(batch_size)
        for column, (_, batch_size) in enumerate(found.places)
        if all(own is None or NEARLY_ALL * len(own) <= found.budgets[column] for own in _of_column(found, column))
    ]
    if sizes:
        yield (
            f"at batch size {', '.join(sizes)} the budget is all trials that there are, or nearly so: beats_baseline "
            "says who was ahead, and beats_baseline_at_half how sure that is"
        )


def _of_column(found: Contest, column: int) -> list[Floats | None]:
    return [row[column] for row in found.steps]
