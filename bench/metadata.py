"""study.json and metadata.json of a made-up study, with the fields of the published ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from bench.curves import Trials
from bench.plan import StudyPlan
from bench.published import STATUSES

FARTHEST = 2.0
LEAST_MOMENTUM, MOST_MOMENTUM = 0.5, 0.9995
SMOOTHINGS = (0.0, 0.01, 0.1)
LEAST_FACTOR = 1e-4


def study_json(plan: StudyPlan) -> bytes:
    """Return the study.json of a study."""
    dataset, model, optimizer = plan.workload.names
    document = {
        "batch_size": plan.batch_size,
        "dataset": dataset,
        "model": model,
        "optimizer": optimizer,
        "early_stopping": plan.workload.has_early_stopping,
        "train_steps": plan.train_steps,
        "parameter_configs": {name: _config(plan, name) for name in plan.workload.tuned},
    }
    return json.dumps(document, indent=2).encode()


def metadata_json(plan: StudyPlan, trials: Trials, rng: np.random.Generator) -> list[bytes]:
    """Return the metadata of each trial; the best trial has the best effective learning rate."""
    drawn = _parameters(plan, trials, rng)
    return [
        json.dumps(
            {
                "_internal_study_name": f"{plan.workload.path.replace('/', '_')}_{plan.batch_size}",
                "_internal_trial_id": 10_000 + row,
                "parameters": dict(zip(drawn, parameters, strict=True)),
                "status": STATUSES[status],
                "steps": last_step,
                "trial_id": row + 1,
            }
        ).encode()
        for row, (status, last_step, parameters) in enumerate(
            zip(plan.status.tolist(), plan.last_step.tolist(), zip(*drawn.values(), strict=True), strict=True)
        )
    ]


def best_effective_learning_rate(plan: StudyPlan) -> float:
    """Return the best learning rate / (1 - momentum), which grows with the batch size up to the critical one."""
    return 2.0 * plan.batch_size / (plan.batch_size + plan.workload.critical_batch_size)


def _parameters(plan: StudyPlan, trials: Trials, rng: np.random.Generator) -> Mapping[str, Sequence[float | int]]:
    n = len(plan.status)
    rates = best_effective_learning_rate(plan) * 10 ** (trials.badness * rng.choice((-1, 1), n))
    drawn: dict[str, Sequence[float | int]] = {}
    for name in plan.workload.tuned:
        if name == "learning_rate":
            drawn[name] = []
        elif name == "momentum":
            damping = 10 ** rng.uniform(np.log10(1 - MOST_MOMENTUM), np.log10(1 - LEAST_MOMENTUM), n)
            rates = rates * damping
            drawn[name] = (1 - damping).tolist()
        elif name == "label_smoothing":
            drawn[name] = rng.choice(SMOOTHINGS, n).tolist()
        elif name == "end_learning_rate_factor":
            drawn[name] = (10 ** rng.uniform(np.log10(LEAST_FACTOR), 0, n)).tolist()
        else:
            length = 4 * plan.steps_to_goal
            drawn[name] = rng.integers(length // 4, length, n, endpoint=True).tolist()
    return drawn | {"learning_rate": rates.tolist()}


def _config(plan: StudyPlan, name: str) -> Mapping[str, object]:
    """Return the search of a metaparameter."""
    if name == "label_smoothing":
        return {"type": "DISCRETE", "feasible_points": list(SMOOTHINGS), "scale": ""}
    if name == "momentum":
        return _range("DOUBLE", LEAST_MOMENTUM, MOST_MOMENTUM, "REVERSE_LOG_SCALE")
    if name == "end_learning_rate_factor":
        return _range("DOUBLE", LEAST_FACTOR, 1.0, "LOG_SCALE")
    if name == "learning_rate_decay_steps":
        length = 4 * plan.steps_to_goal
        return _range("INTEGER", length // 4, length, "LINEAR_SCALE")
    rate = best_effective_learning_rate(plan)
    least, most = (1 - MOST_MOMENTUM, 1 - LEAST_MOMENTUM) if "momentum" in plan.workload.tuned else (1.0, 1.0)
    return _range("DOUBLE", rate * least * 10**-FARTHEST, rate * most * 10**FARTHEST, "LOG_SCALE")


def _range(kind: str, least: float, most: float, scale: str) -> Mapping[str, object]:
    return {"type": kind, "min_value": least, "max_value": most, "scale": scale}
