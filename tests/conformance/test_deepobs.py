"""DeepOBS' baselines: what is stored equals a reading of every file in plain Python."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.conformance.corpora import SAMPLE_AND_WHOLE, corpus

Run = tuple[str, str, int, str, str, tuple[tuple[str, int, str], ...]]
# By test problem: data set, model, and steps of an epoch without its incomplete last batch.
PROBLEMS = {
    "quadratic_deep": ("quadratic_deep", "quadratic_100", 1000 // 128),
    "mnist_vae": ("mnist", "vae", 60_000 // 64),
    "fmnist_vae": ("fashion_mnist", "vae", 60_000 // 64),
    "fmnist_2c2d": ("fashion_mnist", "2c2d", 60_000 // 128),
    "cifar10_3c3d": ("cifar10", "3c3d", 50_000 // 128),
    "cifar100_allcnnc": ("cifar100", "all_cnn_c", 50_000 // 256),
    "svhn_wrn164": ("svhn", "wrn_16_4", 73_257 // 128),
    # Four fifths of 3,266,185 characters or a few more, in 50 sequences of 50 characters with their next ones.
    "tolstoi_char_rnn": ("tolstoi", "char_rnn", (2_612_948 - 1) // (50 * 50)),
}
METRICS = {
    "train_losses": "train/loss",
    "test_losses": "test/loss",
    "train_accuracies": "train/accuracy",
    "test_accuracies": "test/accuracy",
}
SUMMARY = "convergence_performance.json"


def documents(source: Path) -> list[dict[str, Any]]:
    """Every run's document."""
    if source.is_dir():
        return [json.loads(path.read_text()) for path in source.rglob("*.json") if path.name != SUMMARY]
    with tarfile.open(fileobj=cast(IO[bytes], pa.CompressedInputStream(str(source), "zstd")), mode="r|") as archive:
        files = ((entry.name, archive.extractfile(entry)) for entry in archive)
        return [json.loads(file.read()) for name, file in files if file is not None and not name.endswith(SUMMARY)]


def plain(document: dict[str, Any]) -> Run:
    dataset, model, steps = PROBLEMS[document["testproblem"]]
    points = [
        (metric, at * steps, repr(float(value)))
        for name, metric in METRICS.items()
        for at, value in enumerate(document.get(name, []))
    ]
    facts = document["optimizer"], document["batch_size"], repr(document["learning_rate"])
    return f"{dataset}/{model}", *facts, repr(float(document["random_seed"])), tuple(sorted(points))


def stored(lake: Lake) -> Counter[Run]:
    curves: dict[tuple[Any, ...], list[tuple[str, int, str]]] = {}
    query = """
        SELECT dataset || '/' || model, optimizer, batch_size, trial_id, parameters['learning_rate'],
               parameters['random_seed'], metric, step, value
        FROM measurements JOIN trials USING (collection, dataset, model, optimizer, batch_size, trial_id)
    """
    with open_release(lake, lake.release()) as connection:
        for *trial, metric, step, value in connection.execute(query).fetchall():
            curves.setdefault(tuple(trial), []).append((metric, step, repr(value)))
    return Counter(
        (workload, optimizer, batch_size, repr(rate), repr(seed), tuple(sorted(curve)))
        for (workload, optimizer, batch_size, _, rate, seed), curve in curves.items()
    )


@pytest.mark.parametrize("part", SAMPLE_AND_WHOLE)
def test_every_value_equals_a_plain_reading(tmp_path: Path, part: str) -> None:
    source = corpus("deepobs", part) / ("deepobs_epochs.tar.zst" if part == "whole" else "")
    lake = Lake.create(tmp_path / "lake")
    summary = ingest(lake, [source], Request(mapping=Path("deepobs")))
    runs = Counter(map(plain, documents(source)))
    assert ([*summary.quarantined], summary.broken, summary.trials_ingested) == ([], (), runs.total())
    assert summary.sources[0].left_out == ()
    assert stored(lake) == runs
