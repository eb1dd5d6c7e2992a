"""A logger for the Trainer of Lightning.

from losslake.record.callbacks.lightning import LossLakeLogger

logger = LossLakeLogger(workload="mine/mnist/cnn/adam", batch_size=64)   # per device x devices x accumulation
Trainer(logger=logger).fit(module, data)
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from losslake.record.callbacks.names import LIGHTNING
from losslake.record.callbacks.session import Session, check_batch_size
from losslake.record.run import Run

# Under either of its names, whichever the training has imported.
_PACKAGE = "pytorch_lightning" if "pytorch_lightning" in sys.modules else "lightning.pytorch"
Callback: Any = importlib.import_module(f"{_PACKAGE}.callbacks").Callback
Logger: Any = importlib.import_module(f"{_PACKAGE}.loggers").Logger
rank_zero_only: Any = importlib.import_module(f"{_PACKAGE}.utilities").rank_zero_only

_HOW = "batch size per device x devices x accumulate_grad_batches"


class LossLakeLogger(Logger):  # type: ignore[misc]
    """Records what a LightningModule logs, at the number of updates by then.

    Lightning numbers the steps of its loggers from 0: what it logs at 9 while it fits was measured with the tenth
    update, and is recorded at 10.

    batch_size: of an update.
    """

    def __init__(self, *, workload: str, batch_size: int, resume: str | None = None, **facts: Any) -> None:
        """Take the arguments of `losslake.record.start`.

        batch_size: of an update: per device x devices x accumulation. It can't be known before the data are loaded.
        resume: a run to go on with, if the training goes on from a checkpoint.
        """
        super().__init__()
        self.batch_size = batch_size
        self._parameters: dict[str, Any] = {}
        self._session = Session({"workload": workload, **facts}, resume)
        self._trainer: Any = None

    @property
    def name(self) -> str:
        """The name of the logger."""
        return "losslake"

    @property
    def version(self) -> str:
        """The name of the run, once it has begun."""
        return self.run.name if self.run is not None else "run"

    @property
    def run(self) -> Run | None:
        """The run, None before the first measurement."""
        return self._session.run

    @rank_zero_only  # type: ignore[untyped-decorator]
    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        """Note the numbers among hyperparameters, which become parameters of the run."""
        values = params if isinstance(params, Mapping) else vars(params)
        self._parameters |= {str(name): value for name, value in values.items() if isinstance(value, int | float)}

    @rank_zero_only  # type: ignore[untyped-decorator]
    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Note the trainer, which calls this before it begins."""
        self._trainer = model.trainer
        if not any(isinstance(callback, _Beginning) for callback in self._trainer.callbacks):
            self._trainer.callbacks.append(_Beginning(self))

    @rank_zero_only  # type: ignore[untyped-decorator]
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Record the measurements among metrics."""
        if self.run is None:
            self.begin(0)
        is_fitting = self._trainer is not None and str(self._trainer.state.fn) in ("fit", "TrainerFn.FITTING")
        self._session.log(LIGHTNING.metrics(metrics), (step or 0) + is_fitting)

    @rank_zero_only  # type: ignore[untyped-decorator]
    def finalize(self, status: str) -> None:
        """End the run: Lightning says success, or failed after an error or Ctrl-C."""
        self._session.finish("COMPLETE" if status == "success" else "INCOMPLETE")

    def begin(self, updates: int) -> None:
        """Begin a run, or go on with one. updates: those before."""
        last = self._session.recorded
        self._session.begin(batch_size=self.batch_size, parameters=self._parameters, updates=updates, last=last, rank=0)


class _Beginning(Callback):  # type: ignore[misc]
    """Tells the logger when a training begins, after a checkpoint was loaded."""

    def __init__(self, logger: LossLakeLogger) -> None:
        self._logger = logger

    @rank_zero_only  # type: ignore[untyped-decorator]
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin the run at the updates so far."""
        check_batch_size(self._logger.batch_size, _known_batch_size(trainer), _HOW)
        self._logger.begin(int(trainer.global_step))


def _known_batch_size(trainer: Any) -> int | None:
    """Return the batch size of an update of a trainer with one data loader and one device; None elsewhere."""
    per_device = getattr(trainer.train_dataloader, "batch_size", None)
    if not isinstance(per_device, int) or trainer.world_size != 1:
        return None
    return per_device * int(trainer.accumulate_grad_batches)
