"""Archives in the published layout, built from Python values, in any container."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

METRIC = "val/classification_error"
HEADER = f"step,{METRIC}"
Files = dict[str, bytes]


@dataclass
class TrialOffer:
    """A trial to be written: rows are CSV lines; text replaces the whole CSV; metadata overrides single fields."""

    rows: Iterable[str] = ("0,0.9", "10,0.5", "20,0.25")
    status: str = "COMPLETE"
    header: str = HEADER
    text: bytes | None = None
    metadata: dict[str, object] = field(default_factory=dict)

    def files(self, folder: str, trial_id: int) -> Files:
        document: dict[str, object] = {
            "trial_id": trial_id,
            "status": self.status,
            "steps": 20,
            "parameters": {"learning_rate": 0.1 * trial_id, "momentum": 0.9},
        } | self.metadata
        text = self.text if self.text is not None else "\n".join([self.header, *self.rows, ""]).encode()
        return {
            f"{folder}/{trial_id}/metadata.json": json.dumps(document).encode(),
            f"{folder}/{trial_id}/measurements.csv": text,
        }


def study_files(
    trials: Mapping[int, TrialOffer], batch_size: int = 8, workload: str = "root/mnist/cnn/sgd", **overrides: object
) -> Files:
    """The files of one study, by path; overrides replace fields of study.json."""
    dataset, model, optimizer = workload.split("/")[-3:]
    folder = f"{workload}/{batch_size}"
    study = {
        "batch_size": batch_size,
        "dataset": dataset,
        "model": model,
        "optimizer": optimizer,
        "early_stopping": False,
        "train_steps": 20,
        "parameter_configs": {},
    } | overrides
    files = {f"{folder}/study.json": json.dumps(study).encode()}
    for trial_id, trial in trials.items():
        files |= trial.files(folder, trial_id)
    return files


def tar_bytes(files: Mapping[str, bytes], mode: str = "w", format: int = tarfile.GNU_FORMAT) -> bytes:  # noqa: A002
    """A tar of the files in their order; mode as tarfile has it (`w:bz2` …)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=format) as archive:  # type: ignore[call-overload]
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """A zip of the files in their order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


def written(path: Path, data: bytes) -> Path:
    """The path, now with these bytes."""
    path.write_bytes(data)
    return path


def unpacked(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The folder, now with these files below it."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder
