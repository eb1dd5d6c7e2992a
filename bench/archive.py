"""A synthetic archive in the published layout, as large as wanted: `python -m bench.archive OUTPUT.tar.bz2`.

By default 16,800 trials (12 workloads x 14 batch sizes x 100 trials) with 7 million evaluations of six metrics. Curves
are noisy decays whose speed depends on the trial's learning rate, error rates are quantised to k/N, cross-entropies
have six digits; some trials diverge. The same seed gives the same bytes. Studies are made and compressed on all cores:
each becomes a bzip2 stream of its own, and bzip2 streams one after the other are a bzip2 file.
"""

from __future__ import annotations

import argparse
import bz2
import io
import json
import os
import tarfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

ROOT = "synthetic"
DATASETS = ("mnist", "cifar_10", "lm1b")
MODELS = ("fc", "cnn")
OPTIMIZERS = ("sgd", "nesterov_momentum")
SPLITS = (("train", 50_000), ("val", 5_000), ("test", 10_000))
END_OF_ARCHIVE = bytes(1024)


@dataclass(frozen=True)
class Scale:
    """How large the archive is; evaluations is the mean per trial."""

    batch_sizes: int = 14
    trials: int = 100
    evaluations: int = 417
    seed: int = 1


@dataclass(frozen=True)
class StudyPlan:
    """One study to be made."""

    dataset: str
    model: str
    optimizer: str
    batch_size: int
    seed: int

    @property
    def folder(self) -> str:
        return f"{ROOT}/{self.dataset}/{self.model}/{self.optimizer}/{self.batch_size}"


def plans(scale: Scale) -> list[StudyPlan]:
    """Every study of the archive, in order of path."""
    keys = [(d, m, o, 2**b) for d in DATASETS for m in MODELS for o in OPTIMIZERS for b in range(scale.batch_sizes)]
    return [StudyPlan(*key, seed=scale.seed * 1_000_003 + number) for number, key in enumerate(keys)]


def study_members(plan: StudyPlan, scale: Scale) -> Iterator[tuple[str, bytes]]:
    """The files of a study: path and content."""
    rng = np.random.default_rng(plan.seed)
    critical = 2.0 ** (4 + plan.seed % 7)
    least_steps = 3_000.0 * (1 + critical / plan.batch_size)
    train_steps = int(6 * least_steps)
    study = {
        "batch_size": plan.batch_size,
        "dataset": plan.dataset,
        "model": plan.model,
        "optimizer": plan.optimizer,
        "early_stopping": False,
        "train_steps": train_steps,
        "parameter_configs": {
            "learning_rate": {"type": "DOUBLE", "min_value": 1e-4, "max_value": 10.0, "scale": "LOG_SCALE"}
        },
    }
    yield f"{plan.folder}/study.json", json.dumps(study).encode()
    spacing = np.exp(rng.normal(0, 0.2, 2 * scale.evaluations))
    grid = np.unique(np.round(np.cumsum(spacing) / spacing[: scale.evaluations].sum() * train_steps).astype(np.int64))
    for trial_id in range(1, scale.trials + 1):
        learning_rate = float(10 ** rng.uniform(-4, 1))
        diverges = learning_rate > 3 and rng.random() < 0.7
        longest = int(scale.evaluations * rng.uniform(0.9, 1.1))
        steps = np.concatenate([[0], grid[: longest // 3 if diverges else longest]])
        status = "INFEASIBLE" if diverges else "COMPLETE"
        parameters = {"learning_rate": learning_rate, "momentum": float(1 - 10 ** rng.uniform(-3, 0))}
        metadata = {"parameters": parameters, "status": status, "steps": int(steps[-1]), "trial_id": trial_id}
        yield f"{plan.folder}/{trial_id}/metadata.json", json.dumps(metadata).encode()
        slowness = least_steps * (1 + abs(np.log10(learning_rate) + 1))
        yield f"{plan.folder}/{trial_id}/measurements.csv", _curve(rng, steps, slowness, diverges)


def _curve(rng: np.random.Generator, steps: npt.NDArray[np.int64], slowness: float, diverges: bool) -> bytes:
    """The CSV text of a trial: loss decays to a floor with noise, error follows the loss."""
    floor = rng.uniform(0.02, 0.3)
    trend = floor + 2.3 * np.exp(-steps / slowness * 4)
    columns: dict[str, npt.NDArray[np.float64] | npt.NDArray[np.int64]] = {"step": steps}
    for split, size in SPLITS:
        loss = trend * np.exp(rng.normal(0.02 if split != "train" else 0, 0.05, len(steps)))
        if diverges:
            loss[-3:] = [40.0, 3000.0, np.nan]
        error = np.clip(1 - np.exp(-loss), 0, 0.9)
        columns[f"{split}/cross_entropy_error"] = _six_digits(loss)
        columns[f"{split}/classification_error"] = _six_digits(np.round(error * size) / size)
    text = io.BytesIO()
    pa.csv.write_csv(pa.table(columns), text, pa.csv.WriteOptions(quoting_style="none", quoting_header="none"))
    return text.getvalue()


def _six_digits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (5 - np.floor(np.log10(np.abs(values))))
        return np.where(np.isfinite(values) & (values != 0), np.round(values * scale) / scale, values)


def compressed_study(plan: StudyPlan, scale: Scale) -> bytes:
    """A study as tar entries, as one bzip2 stream."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, content in study_members(plan, scale):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        end = archive.offset
    return bz2.compress(raw.getvalue()[:end])


def write_archive(path: Path, scale: Scale) -> None:
    """Write the archive; nothing but a few studies is ever in memory."""
    unfinished = path.with_suffix(".unfinished")
    with ProcessPoolExecutor(os.cpu_count()) as pool, unfinished.open("wb") as file:
        for stream in pool.map(compressed_study, plans(scale), [scale] * len(plans(scale))):
            file.write(stream)
        file.write(bz2.compress(END_OF_ARCHIVE))
    unfinished.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    for name, default in vars(Scale()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    given = vars(parser.parse_args())
    output = given.pop("output")
    write_archive(output, Scale(**given))
    print(f"{output}: {output.stat().st_size:,} bytes, {len(plans(Scale(**given))) * given['trials']:,} trials")


if __name__ == "__main__":
    main()
