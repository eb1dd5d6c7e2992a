"""Submissions to MLPerf, written as an archive of the published layout."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOGS = "https://example.org/logs"


@dataclass(frozen=True)
class Submitted:
    """A submission. seconds: of its runs by number; None for one that missed the target. more: facts of its logs."""

    round: str
    org: str
    system: str
    benchmark: str
    seconds: Sequence[float | None]
    workload: str = "wikipedia_2020/bert/lamb"
    batch_size: int = 448
    accelerator: str = "NVIDIA H100"
    accelerators: int = 8
    division: str = "closed"
    more: dict[str, Any] | None = None


METRICS = {"bert": ("val/masked_lm_accuracy", 0.72), "resnet": ("val/accuracy", 0.759)}


def write_submissions(root: Path, submissions: Sequence[Submitted]) -> Path:
    """Write submissions, whose runs have three evaluations each, below the folder of their collection; return it."""
    n_trials: dict[Path, int] = {}
    for each in submissions:
        study = root / each.workload / str(each.batch_size)
        study.mkdir(parents=True, exist_ok=True)
        dataset, model, optimizer = each.workload.split("/")
        facts = {"batch_size": each.batch_size, "dataset": dataset, "model": model, "optimizer": optimizer}
        more = {"train_steps": 1, "early_stopping": False, "parameter_configs": {}}
        (study / "study.json").write_text(json.dumps(facts | more))
        metric, target = METRICS[each.benchmark]
        for number, seconds in enumerate(each.seconds):
            n_trials[study] = trial_id = n_trials.get(study, 0) + 1
            folder = study / str(trial_id)
            folder.mkdir()
            parameters = {
                "round": each.round,
                "org": each.org,
                "system": each.system,
                "benchmark": each.benchmark,
                "submission_division": each.division,
                "accelerator": each.accelerator,
                "accelerators": each.accelerators,
                "number": str(number),
                "source_url": f"{LOGS}/{each.org}/{each.system}/result_{number}.txt#L{trial_id}",
                **({} if seconds is None else {"run_seconds": repr(seconds)}),
                **(each.more or {}),
            }
            status = "COMPLETE" if seconds is not None else "INCOMPLETE"
            metadata = {"trial_id": trial_id, "status": status, "steps": 300 + trial_id, "parameters": parameters}
            (folder / "metadata.json").write_text(json.dumps(metadata))
            last = target + 0.001 if seconds is not None else target - 0.1
            lines = ["step," + metric, "100,0.3", f"200,{target - 0.2:g}", f"{300 + trial_id},{last:g}", ""]
            (folder / "measurements.csv").write_text("\n".join(lines))
    return root
