"""A real Trainer with a tiny model of random weights, on made-up data; nothing is downloaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.losslake.record.runs import WORKLOAD, curve, end, lines
from tests.losslake.record.trainers.ingested import ingested

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.slow


class Copies(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
    """Sequences of one repeated token, which a model learns to repeat."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, at: int) -> dict[str, Any]:
        tokens = torch.full((8,), at % 16)
        return {"input_ids": tokens, "labels": tokens}


def trainer(folder: Path, callback: Any, **arguments: Any) -> Any:
    transformers.set_seed(1)
    settings = {
        "output_dir": str(folder / "output"), "max_steps": 12, "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2, "logging_steps": 2, "eval_strategy": "steps", "eval_steps": 4,
        "save_strategy": "steps", "save_steps": 4, "report_to": [], "use_cpu": True, "learning_rate": 0.01, **arguments,
    }  # fmt: skip
    config = transformers.GPT2Config(vocab_size=16, n_positions=8, n_embd=16, n_layer=1, n_head=2, bos_token_id=0)
    return transformers.Trainer(
        model=transformers.GPT2LMHeadModel(config),
        args=transformers.TrainingArguments(**settings),
        train_dataset=Copies(),
        eval_dataset=Copies(),
        callbacks=[callback],
    )


def callback(folder: Path, **facts: Any) -> Any:
    from losslake.record.callbacks.hugging_face import LossLakeCallback

    return LossLakeCallback(**{"workload": WORKLOAD, "folder": folder / "runs", **facts})


def test_a_training_is_a_complete_run_with_what_the_trainer_logged(tmp_path: Path) -> None:
    recorder = callback(tmp_path, licence="CC0-1.0", parameters={"tokens": 8})
    training = trainer(tmp_path, recorder)
    training.train()
    training.evaluate()
    run = recorder.run.folder
    logged: dict[str, dict[int, float]] = {}
    for entry in training.state.log_history:
        for name, metric in (("loss", "train/loss"), ("eval_loss", "val/loss"), ("grad_norm", "train/grad_norm")):
            if name in entry:
                logged.setdefault(metric, {})[entry["step"]] = entry[name]
    assert curve(run) == logged
    assert sorted(logged["train/loss"]) == [2, 4, 6, 8, 10, 12]
    facts = json.loads((run / "run.json").read_text())
    assert facts["batch_size"] == 8  # 4 per device, twice accumulated
    assert facts["parameters"]["learning_rate"] == 0.01
    assert (facts["parameters"]["lr_scheduler_type"], facts["parameters"]["max_steps"]) == ("linear", 12)
    assert facts["parameters"]["tokens"] == 8
    assert end(run)["status"] == "COMPLETE"
    assert ingested(tmp_path) == {f"{WORKLOAD}/8": {"COMPLETE": 1}}


def test_a_training_from_a_checkpoint_goes_on_with_its_run(tmp_path: Path) -> None:
    first = callback(tmp_path)
    trainer(tmp_path, first).train()
    second = callback(tmp_path)
    training = trainer(tmp_path, second, max_steps=16)
    training.train(resume_from_checkpoint=str(tmp_path / "output" / "checkpoint-8"))
    assert second.run.name == first.run.name
    run = second.run.folder
    assert [from_step for _, from_step, _ in lines(run)][-1] == 9
    assert sorted(curve(run)["train/loss"]) == [2, 4, 6, 8, 10, 12, 14, 16]
    assert sorted(curve(run)["val/loss"]) == [4, 8, 12, 16]
    assert end(run)["status"] == "COMPLETE"


def test_a_new_training_in_the_same_output_folder_is_a_new_run(tmp_path: Path) -> None:
    first, second = callback(tmp_path), callback(tmp_path)
    trainer(tmp_path, first).train()
    trainer(tmp_path, second, seed=2).train()  # of equal values, an ingest keeps one run
    assert first.run.name != second.run.name
    assert ingested(tmp_path) == {f"{WORKLOAD}/8": {"COMPLETE": 2}}


def test_a_training_that_fails_leaves_an_incomplete_run(tmp_path: Path) -> None:
    class Failing(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 5:
                raise RuntimeError("out of memory")

    recorder = callback(tmp_path)
    training = trainer(tmp_path, recorder)
    training.add_callback(Failing())
    with pytest.raises(RuntimeError, match="out of memory"):
        training.train()
    recorder.run._stop()  # as the end of the process does
    assert sorted(curve(recorder.run.folder)["train/loss"]) == [2, 4]
    assert ingested(tmp_path) == {f"{WORKLOAD}/8": {"INCOMPLETE": 1}}


@pytest.mark.parametrize("unknown", ["auto_find_batch_size", "split_batches"])
def test_an_unknown_batch_size_is_asked_for_before_training(tmp_path: Path, unknown: str) -> None:
    changed: dict[str, Any] = {"auto_find_batch_size": True}
    if unknown == "split_batches":
        changed = {"accelerator_config": {"split_batches": True}}
    from losslake.record.callbacks.hugging_face import known_batch_size

    arguments = trainer(tmp_path, callback(tmp_path), **changed).args
    assert known_batch_size(arguments) is None
    with pytest.raises(ValueError, match="give batch_size=, which is per_device_train_batch_size"):
        callback(tmp_path).on_train_begin(arguments, transformers.TrainerState(), None)
