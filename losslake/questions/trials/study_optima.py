"""The best trial of each study of a workload: its metaparameters, their range, and what heuristics predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from losslake.analysis.goal_region import NearOptimal, fraction_reaching, is_stability_limited, near_optimal
from losslake.analysis.heuristics import HEURISTICS, Origin, Prediction, prediction, regret
from losslake.analysis.search_range import BoundaryFlags, SearchRange, boundary_flags, search_ranges
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import Search, at
from losslake.questions.trials.selection import Goal, Selection
from losslake.questions.trials.tuned_trials import (
    Metaparameters,
    PlacedStudy,
    metaparameters_of,
    outcomes_of,
    tuned_studies,
)
from losslake_schema.reached import NEVER, Floats

N_BEST = 5


@dataclass(frozen=True)
class Optimum:
    """The best trial of a study, and its surroundings.

    parameters: its metaparameters by name. near_optimal_lower, near_optimal_upper: their least and greatest value in
    the near-optimal set. near_rates: effective learning rates of that set, its own first, NaN where there is none.
    boundary: None where no search range is known. optimum_regret: of its own metaparameters; None where they have no
    place in log space. predictions: by heuristic; none where the heuristics have no origin.
    """

    batch_size: int
    parameters: Sequence[tuple[str, float]]
    near_optimal_lower: Sequence[tuple[str, float]]
    near_optimal_upper: Sequence[tuple[str, float]]
    near_rates: Floats
    boundary: BoundaryFlags | None
    is_stability_limited: bool | None
    optimum_regret: float | None
    predictions: Mapping[str, Prediction]

    @property
    def effective_learning_rate(self) -> float | None:
        """learning_rate / (1 - momentum)."""
        rate = float(self.near_rates[0])
        return None if np.isnan(rate) else rate


@dataclass(frozen=True)
class StudyOptimum:
    """A study and its best trial; optimum, trial_id and steps are None where no trial reached the target.

    n_trials, n_reached: of those admitted. fraction_reaching: None where no trial finished or diverged.
    """

    batch_size: int
    n_trials: int
    n_reached: int
    fraction_reaching: float | None
    optimum: Optimum | None
    trial_id: int | None
    steps: int | None


@dataclass(frozen=True)
class WorkloadOptima:
    """A workload's studies by ascending batch size.

    origin: where the heuristics start; None where that batch size has no best trial with a place in log space.
    is_plain: no trial has a momentum. n_without_momentum: trials that lack it where others have one.
    """

    workload: str
    studies: Sequence[StudyOptimum]
    origin: Origin | None
    is_plain: bool
    n_without_momentum: int

    @property
    def optima(self) -> list[Optimum]:
        """The optima of studies that have one."""
        return [study.optimum for study in self.studies if study.optimum is not None]


def workload_optima(
    view: ReleaseView, search: Search, selection: Selection, goal: Goal, within: float, origin: int | None
) -> WorkloadOptima:
    """Return the optima of a workload. origin: the batch size of the heuristics, None for the smallest possible."""
    facts = search.facts
    hits = search.first_hits(goal)
    whole_steps = at(search.records.step, hits)
    steps = np.where(hits == NEVER, np.inf, whole_steps)
    metaparameters = metaparameters_of(view, facts)
    placed = tuned_studies(search, steps, metaparameters, selection.trials)
    near = [near_optimal(study.tuned.steps, within) for study in placed]
    start = _origin(placed, near, origin)
    ranges = [search_ranges(configs) for (configs,) in view.rows("search_spaces", facts.study_ids)]
    reached = facts.sums_by_study(np.isfinite(steps))
    studies = []
    for index, (study, optimal) in enumerate(zip(placed, near, strict=True)):
        row = None if optimal is None else int(study.rows[optimal.best])
        studies.append(
            StudyOptimum(
                batch_size=facts.batch_sizes[index],
                n_trials=int(search.n_admitted[index]),
                n_reached=int(reached[index]),
                fraction_reaching=fraction_reaching(outcomes_of(search, goal, hits, study.rows)),
                optimum=None if optimal is None else _optimum(study, optimal, metaparameters, ranges[index], start),
                trial_id=None if row is None else int(facts.trials.trial_id[row]),
                steps=None if row is None else int(whole_steps[row]),
            )
        )
    lacking = np.isnan(metaparameters.of("momentum"))
    is_plain = bool(lacking.all())
    return WorkloadOptima(str(facts.workload), studies, start, is_plain, 0 if is_plain else int(lacking.sum()))


def _origin(placed: Sequence[PlacedStudy], near: Sequence[NearOptimal | None], batch_size: int | None) -> Origin | None:
    """Return the best trial at that batch size, or the smallest with one, if it has a place in log space."""
    for study, optimal in zip(placed, near, strict=True):
        tuned = study.tuned
        if optimal is not None and tuned.batch_size > 0 and batch_size in (None, int(tuned.batch_size)):
            if np.isnan(tuned.places[optimal.best]).any():
                return None
            return Origin(
                tuned.batch_size, float(tuned.learning_rate[optimal.best]), float(tuned.momentum[optimal.best])
            )
    return None


def _optimum(
    study: PlacedStudy,
    near: NearOptimal,
    metaparameters: Metaparameters,
    ranges: Mapping[str, SearchRange],
    origin: Origin | None,
) -> Optimum:
    tuned, best = study.tuned, near.best
    row = int(study.rows[best])
    lower, upper = metaparameters.ends(study.rows[near.rows])
    by_steps = np.argsort(tuned.steps, kind="stable")[:N_BEST]
    five_best = study.rows[by_steps[np.isfinite(tuned.steps[by_steps])]]
    has_place = not np.isnan(tuned.places[best]).any()
    rate, momentum = float(tuned.learning_rate[best]), float(tuned.momentum[best])
    predicted = {}
    if origin is not None and tuned.batch_size > 0:
        predicted = {name: prediction(tuned, origin, p) for name, p in HEURISTICS.items()}
    return Optimum(
        batch_size=int(tuned.batch_size),
        parameters=metaparameters.by_name(row),
        near_optimal_lower=lower,
        near_optimal_upper=upper,
        near_rates=tuned.effective_learning_rate[near.rows],
        boundary=boundary_flags(ranges, metaparameters.names, metaparameters.values[five_best]),
        is_stability_limited=is_stability_limited(tuned, best),
        optimum_regret=regret(tuned, rate, momentum).regret if has_place else None,
        predictions={name: result for name, result in predicted.items() if result is not None},
    )
