"""Stores that MLflow itself fills, with all the values that are easy to get wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

HISTORIES: dict[str, list[tuple[float, int, int]]] = {
    "train/loss": [(1 / (1 + step) + 1e-17 * step, 1_700_000_000_000 + 137 * step, step) for step in range(300)],
    "val/loss": [
        (math.nan, 1_700_000_000_001, 10),
        (math.inf, 1_700_000_000_002, 20),
        (-math.inf, 1_700_000_000_003, 30),
    ],
    "val accuracy": [(5e-324, 1_700_000_000_000, -5), (0.1 + 0.2, 1_700_000_000_001, 2**53)],
    "params/odd.name": [(1.0, 1_700_000_000_000, 7), (2.0, 1_700_000_000_009, 7)],
}


@dataclass(frozen=True)
class Filled:
    """A store that has been filled: its client, and the ids of the runs that are not deleted, and of their kinds."""

    client: MlflowClient
    finished: str
    failed: str
    empty: str
    deleted: str


@contextmanager
def file_store_allowed() -> Iterator[None]:
    """MLflow writes its file store only on request."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        yield


def fill(uri: str) -> Filled:
    """Fill the store at a URI."""
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    experiment = client.create_experiment("lr sweep: ü")
    finished = client.create_run(experiment, start_time=1_700_000_000_000, run_name="nice", tags=_tags()).info.run_id
    metrics = [Metric(key, value, stamp, step) for key, rows in HISTORIES.items() for value, stamp, step in rows]
    params = {"lr": "0.1", "layers": "12", "name": "007", "opt/name": "sgd", "nothing": "nan", "text": "a\nb ä"}
    client.log_batch(finished, metrics, [Param(key, value) for key, value in params.items()])
    client.set_terminated(finished)
    failed = client.create_run(experiment).info.run_id
    client.log_batch(failed, [Metric("loss", 0.5, 1_700_000_000_000, 1)], tags=[RunTag("run_id", "taken")])
    client.set_terminated(failed, "FAILED")
    empty = client.create_run(experiment).info.run_id
    deleted = client.create_run(experiment).info.run_id
    client.log_metric(deleted, "loss", 0.25, step=1)
    client.delete_run(deleted)
    return Filled(client, finished, failed, empty, deleted)


def _tags() -> dict[str, str]:
    return {"note": "hello", "mlflow.user": "someone", "mlflow.source.name": "/home/someone/train.py"}
