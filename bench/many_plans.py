"""Very many small studies, as the history of a whole lab would bring them: ten batch sizes for each workload.

A study has two complete trials and one that diverged, each evaluated a dozen times at most, with one or two metrics.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.plan import HORIZON, StudyPlan
from bench.published import COMPLETE, INFEASIBLE, Metrics, PublishedStudy, PublishedWorkload

ROOT = "many"
BATCH_SIZES = tuple(2**power for power in range(4, 14))
MODELS, OPTIMIZERS = 25, 4
STATUS = np.array([COMPLETE, COMPLETE, INFEASIBLE])
ROWS = np.array([12, 12, 6])
_EXAMPLES = (5_000,)
_METRICS = (
    Metrics(("classification_error",), ("val",), _EXAMPLES),
    Metrics(("classification_error", "cross_entropy_error"), ("val",), _EXAMPLES),
)


def plans_of_many(studies: int, seed: int = 1) -> Iterator[StudyPlan]:
    """Yield the plans of studies by path; the last workload may have fewer than the others."""
    for number in range(-(-studies // len(BATCH_SIZES))):
        workload = _workload(number)
        first = number * len(BATCH_SIZES)
        for index, batch_size in enumerate(BATCH_SIZES[: studies - first]):
            yield _plan(workload, batch_size, (seed, first + index))


def _workload(number: int) -> PublishedWorkload:
    kind, optimizer = divmod(number, OPTIMIZERS)
    dataset, model = divmod(kind, MODELS)
    return PublishedWorkload(
        path=f"dataset_{dataset:04}/model_{model:02}/optimizer_{optimizer}",
        metrics=_METRICS[number % len(_METRICS)],
        goal=0.3,
        start=0.9,
        limit=0.2,
        start_loss=2.30259,
        shared_steps=False,
        least_steps=100 + number % 400,
        critical_batch_size=64 << number % 5,
        tuned=("learning_rate",),
        studies=tuple(PublishedStudy(size, (2, 0, 1)) for size in BATCH_SIZES),
    )


def _plan(workload: PublishedWorkload, batch_size: int, seed: tuple[int, int]) -> StudyPlan:
    length = HORIZON * workload.steps_to_goal(batch_size)
    return StudyPlan(
        root=ROOT,
        collection=ROOT,
        workload=workload,
        batch_size=batch_size,
        train_steps=length,
        seed=seed,
        status=STATUS,
        last_step=np.array([length, length, length // 4]),
        rows=ROWS,
        grid=np.zeros(0, np.int64),
        best=seed[1] % 2,
    )
