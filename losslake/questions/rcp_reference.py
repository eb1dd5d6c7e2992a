"""A workload as a reference: its runs by batch size, and the reference convergence points that they give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from losslake.analysis.rcp import ReferencePoint, Rules, outlying_runs, pruned, reference_point
from losslake.questions.contest import admitted_steps
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search
from losslake.questions.selection import Goal
from losslake_schema.reached import Floats


@dataclass(frozen=True)
class Runs:
    """The runs of one batch size: examples to the target; inf for a run that didn't converge."""

    batch_size: int
    examples: Floats

    @property
    def converged(self) -> Floats:
        return self.examples[np.isfinite(self.examples)]

    @property
    def n_failed(self) -> int:
        return len(self.examples) - len(self.converged)


@dataclass(frozen=True)
class Reference:
    """A workload's runs by batch size, and their points: all, and those that pruning leaves.

    left_out: batch sizes without a point, and why. warnings: what to know of the points. Both in words.
    """

    workload: str
    runs: tuple[Runs, ...]
    points: tuple[ReferencePoint, ...]
    kept: tuple[ReferencePoint, ...]
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def n_used(self) -> int:
        """The runs that the points are of."""
        sizes = {point.batch_size for point in self.points}
        return sum(len(own.converged) for own in self.runs if own.batch_size in sizes)


def runs_of(found: Search, goal: Goal) -> tuple[Runs, ...]:
    """The runs of each study: its admitted trials."""
    sizes = found.facts.batch_sizes
    return tuple(
        Runs(size, np.multiply(steps, size, out=np.full(len(steps), np.inf), where=np.isfinite(steps)))
        for size, steps in zip(sizes, admitted_steps(found, goal), strict=True)
    )


def reference(workload: str, runs: Sequence[Runs], rules: Rules) -> Reference:
    """The reference that these runs make; they are by ascending batch size."""
    points, left_out, warnings = [], [], []
    for own in runs:
        try:
            point = reference_point(own.batch_size, own.converged, rules)
        except ValueError as error:
            failed = f"; {own.n_failed} did not converge" if own.n_failed else ""
            left_out.append(f"{workload}: {error}{failed}")
        else:
            points.append(point)
            warnings += [f"{workload}: {text}" for text in dict.fromkeys(_warnings(own, point))]
    failed_at = [
        f"{own.n_failed} of {len(own.examples)} at batch size {own.batch_size}" for own in runs if own.n_failed
    ]
    if failed_at:
        warnings.append(f"{workload}: runs did not converge, {', '.join(failed_at)}; points are of those that did")
    return Reference(workload, tuple(runs), tuple(points), tuple(pruned(points)), tuple(left_out), tuple(warnings))


def searched_batch_sizes(view: ReleaseView, found: Search, statuses: Sequence[str]) -> list[int]:
    """The batch sizes whose trials of these statuses differ in metaparameters other than seeds: no repeated runs."""
    facts = found.facts
    asked = {"first_study": facts.first_study, "last_study": facts.last_study, "statuses": list(statuses)}
    rows = view.rows("settings_of_studies", asked)
    return [facts.batch_sizes[study_id - facts.first_study] for study_id, n_settings in rows if n_settings > 1]


def _warnings(own: Runs, point: ReferencePoint) -> Iterator[str]:
    yield from outlying_runs(own.batch_size, own.converged)
    if point.least_mean is None:
        yield (
            f"the runs at batch size {own.batch_size} are so far apart that no mean would be refused: there the check "
            "checks nothing"
        )
