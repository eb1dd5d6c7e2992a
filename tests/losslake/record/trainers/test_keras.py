"""A real fit of a tiny network on made-up data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.losslake.record.runs import WORKLOAD, curve, end, lines
from tests.losslake.record.trainers.ingested import ingested

os.environ.setdefault("KERAS_BACKEND", "jax")
pytest.importorskip("jax")
keras = pytest.importorskip("keras")
pytestmark = pytest.mark.slow


def model(**optimizer: Any) -> Any:
    keras.utils.set_random_seed(1)
    network = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile(keras.optimizers.Adam(0.01, **optimizer), loss, metrics=["accuracy"])
    return network


def data() -> tuple[Any, Any]:
    x = np.random.default_rng(1).normal(size=(80, 4))
    return x, (x.sum(axis=1) > 0).astype(int)


def fit(network: Any, recorder: Any, epochs: int = 3, **arguments: Any) -> Any:
    return network.fit(
        *data(), batch_size=16, epochs=epochs, validation_data=data(), verbose=0, callbacks=[recorder], **arguments
    )


def callback(folder: Path, **facts: Any) -> Any:
    from losslake.record.callbacks.keras import LossLakeCallback

    return LossLakeCallback(**{"workload": WORKLOAD, "batch_size": 16, "folder": folder / "runs", **facts})


def test_a_fit_is_a_complete_run_with_each_epoch_at_its_updates(tmp_path: Path) -> None:
    recorder = callback(tmp_path)
    history = fit(model(), recorder).history
    expected = {
        metric: dict(zip((5, 10, 15), history[name], strict=True))
        for name, metric in (
            ("loss", "train/loss"), ("accuracy", "train/accuracy"),
            ("val_loss", "val/loss"), ("val_accuracy", "val/accuracy"),
        )
    }  # fmt: skip
    assert curve(recorder.run.folder) == expected
    assert end(recorder.run.folder)["status"] == "COMPLETE"
    assert ingested(tmp_path) == {f"{WORKLOAD}/16": {"COMPLETE": 1}}


def test_accumulated_batches_are_one_update(tmp_path: Path) -> None:
    recorder = callback(tmp_path, batch_size=32)
    fit(model(gradient_accumulation_steps=2), recorder, epochs=2)
    assert sorted(curve(recorder.run.folder)["val/loss"]) == [2, 5]


def test_a_second_fit_goes_on_with_the_run(tmp_path: Path) -> None:
    recorder, network = callback(tmp_path), model()
    fit(network, recorder)
    first = recorder.run.name
    fit(network, recorder)
    assert recorder.run.name == first
    assert sorted(curve(recorder.run.folder)["val/loss"]) == [5, 10, 15, 20, 25, 30]
    assert [from_step for _, from_step, _ in lines(recorder.run.folder)][-1] == 16


def test_a_loaded_model_resumes_its_run(tmp_path: Path) -> None:
    recorder, network = callback(tmp_path), model()
    fit(network, recorder, epochs=2)
    network.save(tmp_path / "model.keras")
    fit(network, recorder, epochs=1)
    again = callback(tmp_path, resume=recorder.run.name)
    fit(keras.models.load_model(tmp_path / "model.keras"), again, epochs=2)
    assert sorted(curve(again.run.folder)["val/loss"]) == [5, 10, 15, 20]
    assert ingested(tmp_path) == {f"{WORKLOAD}/16": {"COMPLETE": 1}}


def test_a_fit_that_fails_leaves_an_incomplete_run(tmp_path: Path) -> None:
    class Failing(keras.callbacks.Callback):  # type: ignore[misc, name-defined]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if epoch == 1:
                raise RuntimeError("out of memory")

    recorder = callback(tmp_path)
    with pytest.raises(RuntimeError, match="out of memory"):
        model().fit(*data(), batch_size=16, epochs=3, verbose=0, callbacks=[recorder, Failing()])
    recorder.run._stop()  # as the end of the process does
    assert ingested(tmp_path) == {f"{WORKLOAD}/16": {"INCOMPLETE": 1}}
