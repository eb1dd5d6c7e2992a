"""A callback for Keras 3.

from losslake.record.callbacks.keras import LossLakeCallback

model.fit(x, y, batch_size=64, callbacks=[LossLakeCallback(workload="mine/mnist/mlp/adam", batch_size=64)])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

from losslake.record.callbacks.names import KERAS
from losslake.record.callbacks.session import Session
from losslake.record.run import Run


class LossLakeCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Records what `fit` measures in each epoch, at the number of updates by then.

    `loss` and other training metrics are means over the epoch, as Keras has them.
    """

    def __init__(self, *, workload: str, batch_size: int, resume: str | None = None, **facts: Any) -> None:
        """Take the arguments of `losslake.record.start`.

        batch_size: of an update: of all devices, times the optimizer's gradient_accumulation_steps. Keras doesn't tell
        it to callbacks. resume: a run to go on with, if the model and its optimizer were loaded.
        """
        super().__init__()
        self._batch_size = batch_size
        self._session = Session({"workload": workload, **facts}, resume)

    @property
    def run(self) -> Run | None:
        """The run, None before the training."""
        return self._session.run

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        """Begin a run; go on with it if the optimizer goes on from an update of an earlier `fit`."""
        last = self._session.recorded
        self._session.begin(batch_size=self._batch_size, parameters={}, updates=self._step(), last=last)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Record the epoch's measurements."""
        self._session.log(KERAS.metrics(logs or {}), self._step())

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """End the run."""
        self._session.finish("COMPLETE")

    def _step(self) -> int:
        """Return the number of updates so far."""
        optimizer = self.model.optimizer
        return 0 if optimizer is None else int(keras.ops.convert_to_numpy(optimizer.iterations))
