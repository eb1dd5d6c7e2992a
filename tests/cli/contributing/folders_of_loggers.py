"""Folders as loggers leave them, of a training with a known curve, that state as little as trainings usually do."""

from __future__ import annotations

import json
from pathlib import Path

from tests.ingest.formats.tensorboard_files import event, event_file, hyperparameters, session, simple
from tests.ingest.formats.trackio_files import database
from tests.ingest.formats.wandb_files import exit_record, framed, history_record, run_record

LOSSES = [2.0, 1.0, 0.5, 0.25]
STEPS = [0, 100, 200, 300]


def wandb(folder: Path) -> Path:
    """A folder of offline runs of W&B."""
    run = folder / "wandb" / "offline-run-20261123_032828-8682tbjk"
    run.mkdir(parents=True)
    rows = [
        history_record(step, {"trainer/global_step": step, "val_loss": loss})
        for step, loss in zip(STEPS, LOSSES, strict=True)
    ]
    config = run_record({"batch_size": 64, "optimizer": "adamw", "lr": 0.1})
    (run / "run-8682tbjk.wandb").write_bytes(framed([config, *rows, exit_record(0)]))
    return folder / "wandb"


def trackio(folder: Path) -> Path:
    """The folder of Trackio's databases."""
    (folder / "trackio").mkdir()
    calls = {"a1": [(step, {"loss": loss}) for step, loss in zip(STEPS, LOSSES, strict=True)]}
    data = database(calls)
    (folder / "trackio" / "project.db").write_bytes(data[:18] + b"\2\2" + data[20:])  # with a write-ahead log
    return folder / "trackio"


def tensorboard(folder: Path) -> Path:
    """A folder of event files."""
    run = folder / "runs" / "b64"
    run.mkdir(parents=True)
    events = [event(1.0, 0, session(session_start_info=hyperparameters(lr=0.1)))]
    events += [event(2.0 + step, step, simple("Loss/val", loss)) for step, loss in zip(STEPS, LOSSES, strict=True)]
    (run / "events.out.tfevents.1700000000.host.1.0").write_bytes(event_file(events))
    return folder / "runs"


def mlflow(folder: Path) -> Path:
    """The folder of MLflow's file store."""
    run = folder / "mlruns" / "1" / ("a" * 32)
    for part in ("metrics", "params", "tags"):
        (run / part).mkdir(parents=True)
    experiment = {"experiment_id": "1", "name": "mine", "lifecycle_stage": "active", "artifact_location": "x"}
    (run.parent / "meta.yaml").write_text("".join(f"{key}: '{value}'\n" for key, value in experiment.items()))
    meta = {"run_id": "a" * 32, "experiment_id": "1", "status": 3, "start_time": 1_700_000_000_000}
    meta |= {"lifecycle_stage": "active", "run_name": "nice", "end_time": 1_700_000_009_000, "artifact_uri": "x"}
    (run / "meta.yaml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in meta.items()))
    (run / "params" / "batch_size").write_text("64")
    lines = [f"{1_700_000_000_000 + step} {loss} {step}\n" for step, loss in zip(STEPS, LOSSES, strict=True)]
    (run / "metrics" / "val_loss").write_text("".join(lines))
    return folder / "mlruns"


def hugging_face(folder: Path) -> Path:
    """The output folder of the Hugging Face Trainer."""
    (folder / "out").mkdir()
    history = [{"epoch": step / 100, "eval_loss": loss, "step": step} for step, loss in zip(STEPS, LOSSES, strict=True)]
    state = {"log_history": history, "global_step": 300, "max_steps": 300, "train_batch_size": 32, "epoch": 3.0}
    (folder / "out" / "trainer_state.json").write_text(json.dumps(state))
    return folder / "out"
