"""A callback for the Trainer of Hugging Face's transformers.

from losslake.record.callbacks.hugging_face import LossLakeCallback

trainer = Trainer(..., callbacks=[LossLakeCallback(workload="mine/wikitext/gpt2/adamw", licence="CC-BY-4.0")])
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from losslake.record.callbacks.names import HUGGING_FACE
from losslake.record.callbacks.session import Session, check_batch_size
from losslake.record.run import FOLDER, Run

NAME_FILE = "losslake-run.txt"
_HOW = "per_device_train_batch_size x devices x gradient_accumulation_steps"
_PARAMETERS = (
    "learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm", "warmup_steps",
    "warmup_ratio", "label_smoothing_factor", "lr_scheduler_type", "optim", "seed",
)  # fmt: skip


class LossLakeCallback(TrainerCallback):
    """Records what a Trainer logs, at its optimizer steps.

    A training that goes on from a checkpoint goes on with its run, whose name is in `output_dir`.
    """

    def __init__(
        self,
        *,
        workload: str,
        batch_size: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        resume: str | None = None,
        **facts: Any,
    ) -> None:
        """Take the arguments of `losslake.record.start`.

        batch_size: of an update; by default that of the TrainingArguments. parameters: more than those that these
        state, such as the learning rate. resume: a run to go on with; by default that of the output_dir, if the
        training goes on from a checkpoint.
        """
        self._batch_size = batch_size
        self._folder = Path(facts.get("folder", FOLDER))
        self._session = Session({"workload": workload, "parameters": parameters, **facts}, resume)

    @property
    def run(self) -> Run | None:
        """The run, None before the training."""
        return self._session.run

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin a run, or go on with one. Raises ValueError if the batch size isn't known."""
        is_first = bool(state.is_world_process_zero)
        file = Path(args.output_dir or ".") / NAME_FILE
        run = self._session.begin(
            batch_size=check_batch_size(self._batch_size, known_batch_size(args), _HOW),
            parameters=stated_parameters(args) | planned_steps(state),
            updates=state.global_step,
            last=self._last_run(file) if is_first else None,
            rank=0 if is_first else 1,
        )
        if run.folder is not None:
            with suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(run.name + "\n", "utf-8")

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
        """Record the measurements among the logs."""
        self._session.log(HUGGING_FACE.metrics(logs or {}), int(state.global_step))

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """End the run."""
        self._session.finish("COMPLETE")

    def _last_run(self, file: Path) -> str | None:
        """Return the name of the run in the output folder, if its folder is there."""
        try:
            name = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return name if name and Path(name).name == name and (self._folder / name / "run.json").is_file() else None


def known_batch_size(args: Any) -> int | None:
    """Return the batch size of an update of these TrainingArguments; None if they don't state it.

    They don't where the batch size is searched for, or where devices share an example.
    """
    shares = getattr(getattr(args, "accelerator_config", None), "split_batches", False)
    is_split = shares or getattr(args, "parallelism_config", None) is not None or getattr(args, "deepspeed", None)
    if is_split or getattr(args, "auto_find_batch_size", False):
        return None
    return int(args.train_batch_size * args.gradient_accumulation_steps * args.world_size)


def stated_parameters(args: Any) -> dict[str, Any]:
    """Return the metaparameters among TrainingArguments."""
    values = ((name, getattr(args, name, None)) for name in _PARAMETERS)
    plain = ((name, getattr(value, "value", value)) for name, value in values)
    return {name: value for name, value in plain if isinstance(value, str | int | float | bool)}


def planned_steps(state: Any) -> dict[str, int]:
    """Return the number of updates that a Trainer plans, over which its schedule of the learning rate is spread."""
    return {"max_steps": int(state.max_steps)} if state.max_steps > 0 else {}
