"""A real Trainer of Lightning with a tiny module, on made-up data."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.losslake.record.runs import WORKLOAD, curve, end, lines
from tests.losslake.record.trainers.ingested import ingested

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning.pytorch")
pytestmark = pytest.mark.slow


class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
    """A linear regression that notes the updates at which it was evaluated."""

    def __init__(self, learning_rate: float = 0.05, fails_at: int = -1) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)
        self.evaluated: dict[int, float] = {}
        self.trained: dict[int, float] = {}

    def _loss(self, batch: Any) -> Any:
        (x,) = batch
        return torch.nn.functional.mse_loss(self.layer(x), x.sum(1, keepdim=True))

    def training_step(self, batch: Any, _: int) -> Any:
        loss = self._loss(batch)
        if self.global_step == self.hparams.fails_at:
            raise RuntimeError("out of memory")
        self.trained[self.global_step + 1] = float(loss)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, _: int) -> None:
        self.log("val_loss", self._loss(batch))

    def test_step(self, batch: Any, _: int) -> None:  # noqa: PT019 - a hook of Lightning
        self.log("test_loss", self._loss(batch))

    def on_validation_epoch_end(self) -> None:
        if not self.trainer.sanity_checking:
            self.evaluated[self.global_step] = float(self.trainer.callback_metrics["val_loss"])

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=self.hparams.learning_rate)


def loader() -> Any:
    x = torch.randn(40, 4, generator=torch.Generator().manual_seed(1))
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), batch_size=4)


def trainer(folder: Path, logger: Any, **settings: Any) -> Any:
    lightning.seed_everything(1)
    known = {
        "max_epochs": 3, "logger": logger, "log_every_n_steps": 1, "accelerator": "cpu", "devices": 1,
        "enable_progress_bar": False, "enable_model_summary": False, "default_root_dir": folder, **settings,
    }  # fmt: skip
    return lightning.Trainer(**known)


def recorder(folder: Path, **facts: Any) -> Any:
    from losslake.record.callbacks.lightning import LossLakeLogger

    return LossLakeLogger(**{"workload": WORKLOAD, "batch_size": 4, "folder": folder / "runs", **facts})


@pytest.mark.parametrize("accumulated", [1, 2])
def test_a_fit_is_a_complete_run_at_the_updates_of_the_optimizer(tmp_path: Path, accumulated: int) -> None:
    logger, module = recorder(tmp_path, batch_size=4 * accumulated), Module()
    trainer(tmp_path, logger, accumulate_grad_batches=accumulated).fit(module, loader(), loader())
    run = logger.run.folder
    assert curve(run) == {"train/loss": module.trained, "val/loss": module.evaluated}
    assert sorted(module.evaluated) == [10 // accumulated, 20 // accumulated, 30 // accumulated]
    assert json.loads((run / "run.json").read_text())["parameters"]["learning_rate"] == 0.05
    assert end(run)["status"] == "COMPLETE"
    assert ingested(tmp_path) == {f"{WORKLOAD}/{4 * accumulated}": {"COMPLETE": 1}}


def test_a_test_after_the_fit_is_part_of_its_run(tmp_path: Path) -> None:
    logger, module = recorder(tmp_path), Module()
    training = trainer(tmp_path, logger)
    training.fit(module, loader(), loader())
    training.test(module, loader(), verbose=False)
    measured = curve(logger.run.folder)
    assert list(measured["test/loss"]) == [30]
    assert len(measured["train/loss"]) == 30
    assert end(logger.run.folder)["status"] == "COMPLETE"


def test_a_fit_from_a_checkpoint_goes_on_with_its_run(tmp_path: Path) -> None:
    logger = recorder(tmp_path)
    training = trainer(tmp_path, logger, max_epochs=2)
    training.fit(Module(), loader(), loader())
    training.save_checkpoint(tmp_path / "last.ckpt")
    again, module = recorder(tmp_path, resume=logger.run.name), Module()
    trainer(tmp_path, again, log_every_n_steps=5).fit(module, loader(), loader(), ckpt_path=tmp_path / "last.ckpt")
    run = again.run.folder
    assert [from_step for _, from_step, _ in lines(run)][-1] == 21
    assert sorted(curve(run)["val/loss"]) == [10, 20, 30]
    assert sorted(curve(run)["train/loss"]) == [*range(1, 21), 25, 30]
    assert ingested(tmp_path) == {f"{WORKLOAD}/4": {"COMPLETE": 1}}


def test_a_fit_that_fails_is_an_incomplete_run(tmp_path: Path) -> None:
    logger = recorder(tmp_path)
    with pytest.raises(RuntimeError, match="out of memory"):
        trainer(tmp_path, logger).fit(Module(fails_at=7), loader(), loader())
    assert sorted(curve(logger.run.folder)["train/loss"]) == list(range(1, 8))
    assert end(logger.run.folder)["status"] == "INCOMPLETE"


def test_another_batch_size_than_the_loaders_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "losslake.record"):
        trainer(tmp_path, recorder(tmp_path, batch_size=5), max_epochs=1).fit(Module(), loader())
    assert "batch_size is given as 5, and batch size per device x devices x accumulate_grad_batches is 4" in caplog.text
