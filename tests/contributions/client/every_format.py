"""Logs of every format, with the file names that the tools make: some sound like secrets, or have names in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from tests.ingest.formats.test_lm_eval import result
from tests.ingest.formats.test_rcps import record
from tests.ingest.made_up.documents import DOCUMENTS
from tests.ingest.made_up.folders import FOLDERS
from tests.ingest.made_up.logs import RUN, rows
from tests.ingest.made_up.stores import STORES
from tests.ingest.made_up.texts import TEXTS
from tests.ingest.offers import Files, unpacked

HOST, PERSON = "gpu17x", "annabel"
_METADATA = {"host": HOST, "username": PERSON, "email": f"{PERSON}@example.org", "root": f"/home/{PERSON}/x"}
_Write = Callable[[], Files]


def _wandb(files: Files) -> Files:
    """As `wandb` lays out offline runs, with what it notes of the machine beside them."""
    made = {}
    for number, data in enumerate(files.values()):
        folder = f"wandb/run-20260101_12000{number}-8682tbj{number}"
        made[f"{folder}/run-8682tbj{number}.wandb"] = data
        made[f"{folder}/files/config.yaml"] = b"wandb_version: 1\nlr:\n  desc: null\n  value: 0.5\n"
        made[f"{folder}/files/wandb-metadata.json"] = json.dumps(_METADATA).encode()
        made[f"{folder}/files/wandb-summary.json"] = b'{"m0": 1}'
    return made


def _named(old: str, new: str) -> Callable[[Files], Files]:
    return lambda files: {path.replace(old, new): data for path, data in files.items()}


# How the files of made-up logs are called where the tools, or people, call them otherwise.
_RENAMED: Mapping[str, Callable[[Files], Files]] = {
    "csv": _named("metrics.csv", "token_loss.csv"),
    "long csv": _named("log.csv", "passwords.csv"),
    "jsonl": _named("log.jsonl", "api_key_runs.jsonl"),
    "json_arrays": _named("log.json", "hf_token_history.json"),
    "text": _named("train.log", "secret_sauce.log"),
    "tensorboard": _named("events.out.tfevents.100.host", f"events.out.tfevents.1700000000.{HOST}.1234.0"),
    "wandb offline": _wandb,
    "wandb panels": _named("panels/m", "wandb_export_2026-01-01T12_00_00.000+01_00_m"),
    "wandb parquet": _named("history", "run-8682tbjk-history/000"),
}


def _trainer_state() -> Files:
    history = [{"loss": 2 / step, "epoch": step / 1000, "step": step} for step in (100, 200, 300, 400, 500)]
    state = {"log_history": history, "global_step": 500, "max_steps": 500, "train_batch_size": 10}
    return {"out/checkpoint-500/trainer_state.json": json.dumps({**state, "best_metric": None}).encode()}


def _lm_eval() -> Files:
    return {f"m/five/a_step{step}.json": result(step, piqa={"acc": 0.3 + step / 1e4}) for step in (200, 400, 600)}


def _rcps() -> Files:
    return {"training_4.0.0/rcps_resnet.json": json.dumps({"resnet_ref_64": record(64, [2.0])}).encode()}


def _recorded() -> Files:
    facts = {
        "format": "losslake-record/1", "collection": "c", "dataset": "d", "model": "m", "optimizer": "o",
        "batch_size": 4, "batch_unit": "examples", "licence": "MIT", "started_at": 1.0, "parameters": {"lr": 0.5},
    }  # fmt: skip
    folder = "0190a000-0000-7000-8000-000000000001"
    return {
        f"{folder}/run.json": json.dumps(facts, indent=1).encode(),
        f"{folder}/0001/000001.jsonl": b'{"step":1,"val/token_loss":0.5}\n{"step":2,"val/token_loss":0.25}\n',
    }


def _changing() -> tuple[Files, str]:
    rows = "".join(f"{step},{8 if step <= 3 else 16},{1 / step!r}\n" for step in range(1, 7))
    return {"log.csv": f"step,batch_size,loss\n{rows}".encode()}, RUN.replace(", batch_size = 10", "") + _CHANGING


_CHANGING = """[metrics]
loss = "train/loss"
[[axis]]
column = "step"
counts = "updates"
"""
# Formats without made-up logs, and one that takes seconds to make: by name of the format.
_OTHERS: Mapping[str, tuple[_Write, str]] = {
    "hf_trainer": (_trainer_state, RUN + 'metrics.loss = "train/loss"\n'),
    "lm_eval": (_lm_eval, RUN + '[metrics]\n"piqa.acc" = { metric = "val/piqa", direction = "maximize" }\n'),
    "rcps": (_rcps, RUN.replace(", batch_size = 10", "") + "fields.examples_per_epoch = 1281167\n"),
    "record": (_recorded, ""),
}  # fmt: skip


def logs_of_every_format() -> dict[str, tuple[Files, str]]:
    """Return the files and the mapping of logs, each of its own collection, by what they are, such as `mlflow sql`.

    Nothing is restarted: times could go back within the one attempt of a converted run.
    """
    made = {each.name: each for each in (*TEXTS, *DOCUMENTS, *FOLDERS, *STORES) if each.name not in _OTHERS}
    logs = {
        name: (_RENAMED.get(name, dict)(each.write([rows(Random(name), restarts=False)])), each.mapping)
        for name, each in made.items()
    }
    logs |= {name: (write(), mapping) for name, (write, mapping) in _OTHERS.items()}
    logs["changing batch size"] = _changing()
    return {
        name: (files, mapping.replace('collection.name = "c"', f'collection = {{ name = "{name}", licence = "MIT" }}'))
        for name, (files, mapping) in logs.items()
    }


def write_logs(folder: Path, logs: Mapping[str, tuple[Files, str]]) -> Path:
    """Write logs, each in a folder of its own with its mapping."""
    for name, (files, mapping) in logs.items():
        part = unpacked(folder / name, files)
        (part / "losslake.toml").write_text(mapping)
    return folder
