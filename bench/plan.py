"""Plan of a synthetic archive of some scale: of each study its trials with status, last step and evaluations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bench.published import (
    COMPLETE,
    INCOMPLETE,
    INFEASIBLE,
    PublishedStudy,
    PublishedWorkload,
    published,
    published_evaluations,
)
from losslake_schema.registry import collections

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

HORIZON = 4
FEWEST_ROWS = np.array([4, 2, 2])
# Error rates near 0 and far from it, a loss alone, studies with very few trials, and a metric that is maximized.
SMALLEST = (
    "cifar_10/resnet_8/sgd",
    "lm1b/lstm/nesterov_momentum",
    "mnist/simple_cnn_base/nesterov_momentum",
    "open_images_v4/resnet_50/nesterov_momentum",
)
ROWS_GROW = 0.25


@dataclass(frozen=True)
class Scale:
    """Size of an archive, and how it is made.

    size: of the published number of trials and evaluations; 1.0 has exactly their counts. seed: the same one makes the
    same bytes. root: the top folder; `synthetic` is a collection of that name. evaluations: those of size 1.0.
    """

    size: float = 0.1
    seed: int = 1
    root: str = "synthetic"
    evaluations: int = published_evaluations()


@dataclass(frozen=True)
class StudyPlan:
    """A study to be made.

    status, last_step, rows: by trial, in the order of trial_id from 1. grid: the steps at which every trial is
    evaluated, as far as it goes; empty where each has its own. best: the row of the trial that is first to the goal.
    seed: of everything random in it.
    """

    root: str
    collection: str
    workload: PublishedWorkload
    batch_size: int
    train_steps: int
    seed: tuple[int, ...]
    status: Integers
    last_step: Integers
    rows: Integers
    grid: Integers
    best: int

    @property
    def folder(self) -> str:
        return f"{self.root}/{self.workload.path}/{self.batch_size}"

    @property
    def steps_to_goal(self) -> int:
        return self.workload.steps_to_goal(self.batch_size)


def plans(scale: Scale) -> list[StudyPlan]:
    """Every study of the archive, in order of path; raises ValueError for a size that is no positive number."""
    if not (math.isfinite(scale.size) and scale.size > 0):
        raise ValueError(f"size is {scale.size}: give a number above 0")
    roots = {each.root: each.collection for each in collections()}
    collection = roots.get(scale.root, scale.root)
    studies = [(workload, study) for workload in published() for study in workload.studies]
    unsized = [
        _without_rows(scale, collection, workload, study, number) for number, (workload, study) in enumerate(studies)
    ]
    every_rows = rows_of_trials(unsized, round(scale.evaluations * scale.size))
    return [_with_rows(plan, rows) for plan, rows in zip(unsized, every_rows, strict=True)]


def smallest_plans() -> list[StudyPlan]:
    """Return few studies with few evaluations, about which every question can be asked."""
    return [plan for plan in plans(Scale(evaluations=900_000)) if plan.workload.path in SMALLEST][1::3]


def trials_by_status(study: PublishedStudy, size: float) -> tuple[int, int, int]:
    """Return the number of trials of each status of a study at that size, at least one complete."""
    complete, incomplete, infeasible = (math.floor(count * size + 0.5) for count in study.trials)
    return max(1, complete), incomplete, infeasible


def rows_of_trials(studies: Sequence[StudyPlan], total: int) -> list[Integers]:
    """Return the evaluations of each trial of each study: as many in all, or the fewest that trials can have.

    Within a study as the trial's steps; between studies, those with longer runs have more.
    """
    fewest = np.concatenate([FEWEST_ROWS[plan.status] for plan in studies])
    longest = np.concatenate([plan.last_step for plan in studies])
    weights = np.concatenate([plan.last_step / _length(plan) ** (1 - ROWS_GROW) for plan in studies])
    shares = weights / weights.sum() * max(0, total - int(fewest.sum()))
    rows = fewest + np.floor(shares).astype(np.int64)
    fractions = shares - np.floor(shares)
    rows[np.argsort(-fractions, kind="stable")[: max(0, total - int(rows.sum()))]] += 1
    if (rows > longest + 1).any():
        raise ValueError(f"{total:,} evaluations are more than the steps of these trials: give fewer")
    return np.split(rows, np.cumsum([len(plan.status) for plan in studies])[:-1])


def steps_between(rows: int, last_step: int, rng: np.random.Generator) -> Integers:
    """Return strictly ascending steps from 0 to the last one, at distinct intervals."""
    way = np.concatenate([[0], np.cumsum(0.6 + 0.8 * rng.random(rows - 1))])
    # As many steps as rows are needed at least, so they are given out first.
    spare: Integers = np.floor(way * ((last_step - rows + 1) / way[-1])).astype(np.int64)
    spare[-1] = last_step - rows + 1
    return spare + np.arange(rows)


def _with_rows(plan: StudyPlan, rows: Integers) -> StudyPlan:
    """Return the plan with evaluations; trials with shared steps end at one of these."""
    if not plan.workload.shared_steps:
        return replace(plan, rows=rows)
    rng = np.random.default_rng((*plan.seed[:2], 2))
    shortest = int(rows[plan.status == COMPLETE].min())
    grid = steps_between(shortest, _length(plan), rng)
    further = np.maximum(1, np.round(grid[-1] / (shortest - 1) * (0.6 + 0.8 * rng.random(rows.max() - shortest))))
    grid = np.concatenate([grid, grid[-1] + np.cumsum(further).astype(np.int64)])
    return replace(plan, rows=rows, grid=grid, last_step=grid[rows - 1])


def _length(plan: StudyPlan) -> int:
    """Return the steps of a typical complete run."""
    return HORIZON * plan.steps_to_goal


def _without_rows(
    scale: Scale, collection: str, workload: PublishedWorkload, study: PublishedStudy, number: int
) -> StudyPlan:
    rng = np.random.default_rng((scale.seed, number, 0))
    status = rng.permutation(np.repeat([COMPLETE, INCOMPLETE, INFEASIBLE], trials_by_status(study, scale.size)))
    length = HORIZON * workload.steps_to_goal(study.batch_size)
    chance = rng.random(len(status))
    # Whole runs go on a little or, where time is what is limited, for as long as their machine takes.
    whole = 0.75 + 0.5 * chance if workload.has_time_budget else 1 + 0.1 * np.maximum(0, chance - 0.5)
    part = np.where(status == INCOMPLETE, 0.05 + 0.9 * chance, 10 ** (-1.5 * chance))
    last_step = np.ceil(length * np.where(status == COMPLETE, whole, part)).astype(np.int64)
    return StudyPlan(
        root=scale.root,
        collection=collection,
        workload=workload,
        batch_size=study.batch_size,
        train_steps=0 if workload.has_time_budget else length,
        seed=(scale.seed, number, 1),
        status=status,
        last_step=last_step,
        rows=np.zeros(len(status), np.int64),
        grid=np.zeros(0, np.int64),
        best=int(rng.choice(np.flatnonzero(status == COMPLETE))),
    )
