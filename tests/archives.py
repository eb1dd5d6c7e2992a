"""Archives: in the published layout, written from plain rows; and unpacked."""

from __future__ import annotations

import json
import tarfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.oracle import Row

Curves = Mapping[str, Sequence[Row]]


def write_workload(root: Path, workload: str, curves: Curves) -> Path:
    """Write a workload below the archive's folder and return that folder.

    Args:
        workload: dataset/model/optimizer.
        curves: by metric, the rows of the same evaluations.
    """
    dataset, model, optimizer = workload.split("/")
    cells: dict[tuple[int, int, str], dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for metric, rows in curves.items():
        for row in rows:
            steps = cells[row.batch_size, row.trial_id, row.status]
            if row.step is not None and row.value is not None:
                steps[row.step][metric] = row.value
    for (batch_size, trial_id, status), steps in cells.items():
        study = root / workload / str(batch_size)
        folder = study / str(trial_id)
        folder.mkdir(parents=True)
        facts = {"batch_size": batch_size, "dataset": dataset, "model": model, "optimizer": optimizer}
        more = {"train_steps": 1, "early_stopping": False, "parameter_configs": {"learning_rate": {"type": "DOUBLE"}}}
        (study / "study.json").write_text(json.dumps(facts | more))
        metadata = {"trial_id": trial_id, "status": status, "steps": max(steps, default=0)}
        parameters = {"parameters": {"learning_rate": 0.1 * trial_id, "momentum": 0.9}}
        (folder / "metadata.json").write_text(json.dumps(metadata | parameters))
        lines = [",".join(["step", *curves])]
        lines += [
            ",".join([str(step), *(repr(steps[step][metric]) if metric in steps[step] else "" for metric in curves)])
            for step in sorted(steps)
        ]
        (folder / "measurements.csv").write_text("\n".join([*lines, ""]))
    return root


def unpack_tar(archive: Path, folder: Path) -> None:
    """Unpack a tar archive of this repository, with the filter that Python 3.11.2 lacks where there is one."""
    with tarfile.open(archive) as opened:
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(folder)
