"""The archive layout of Shallue et al. 2019, written so that the same trials always give the same bytes."""

import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from studies.training import Trial
from studies.workloads import Workload

BASE = "losslake_bundled"
SIGNIFICANT_DIGITS = 6

File = tuple[str, bytes]


def study_files(workload: Workload, batch_size: int, metrics: list[str], trials: list[Trial]) -> list[File]:
    """(path, content) of study.json, then of metadata.json and measurements.csv of each trial."""
    folder = f"{BASE}/{workload.path}/{batch_size}"
    files = [(f"{folder}/study.json", as_json(study_description(workload, batch_size)))]
    for trial in trials:
        description = {
            "parameters": trial.parameters,
            "status": trial.status,
            "steps": trial.steps,
            "trial_id": trial.trial_id,
        }
        files.append((f"{folder}/{trial.trial_id}/metadata.json", as_json(description)))
        files.append((f"{folder}/{trial.trial_id}/measurements.csv", measurements(metrics, trial)))
    return files


def study_description(workload: Workload, batch_size: int) -> dict[str, Any]:
    """Return the fields of study.json."""
    return {
        "batch_size": batch_size,
        "dataset": workload.dataset,
        "early_stopping": False,
        "model": workload.model,
        "optimizer": workload.optimizer,
        "parameter_configs": {
            name: {
                "feasible_points": [],
                "max_value": values.max_value,
                "min_value": values.min_value,
                "scale": values.scale,
                "type": "DOUBLE",
            }
            for name, values in workload.ranges(batch_size).items()
        },
        "train_steps": workload.train_steps(batch_size),
    }


def measurements(metrics: list[str], trial: Trial) -> bytes:
    """Return the curve as CSV: `step`, then one column per metric with six significant digits."""
    lines = [",".join(["step", *metrics])]
    for step, values in trial.curve:
        lines.append(",".join([str(step), *(f"{value:.{SIGNIFICANT_DIGITS}g}" for value in values)]))
    return ("\n".join(lines) + "\n").encode()


def as_json(content: dict[str, Any]) -> bytes:
    """Return JSON with sorted keys and a newline at the end."""
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def write_archive(output: Path, files: Iterable[File]) -> None:
    """Write a .tar.bz2 of the files in the given order, without times or owners; `output` appears when complete."""
    partial = output.with_name(output.name + ".partial")
    with tarfile.open(partial, "w:bz2", compresslevel=9, format=tarfile.USTAR_FORMAT) as archive:
        for path, content in files:
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    partial.replace(output)
