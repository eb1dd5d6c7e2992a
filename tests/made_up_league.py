"""A lake of competitions: made-up logs of AlgoPerf's harness, and real runs of modded-nanogpt.

Three submissions to AlgoPerf v0.5 on some of its workloads, and one to v0.6.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.conformance.corpora import sample
from tests.repository.checkout import ROOT
from tests.shared_lakes import shared_lake

TARGET = 0.5
_MAPPING = ROOT / "published" / "algoperf" / "losslake.toml"
# By folder of the log: the seconds of an evaluation.
_WORKLOADS = {
    "criteo1tb": 100.0,
    "criteo1tb_embed_init": 110.0,
    "fastmri": 10.0,
    "fastmri_tanh": 10.0,
    "imagenet_vit": 300.0,
    "ogbg": 40.0,
    "ogbg_model_size": 30.0,
    "wmt": 200.0,
}
_SPEEDS = {"baseline": 1.0, "amos": 0.8, "nadamp": 3.5}


def _trial(folder: Path, chance: random.Random, seconds: float, reaches_at: int | None) -> None:
    """Write a trial of 12 evaluations; values before the one that reaches the target are above it, or NaN."""
    folder.mkdir(parents=True)
    lines = ["global_step,accumulated_submission_time,validation/loss,train/loss"]
    pace, step, at = chance.uniform(0.7, 1.3), 0, 0.0
    for number in range(12):
        step, at = step + chance.choice([90, 100, 110]), at + seconds * pace * chance.uniform(0.9, 1.1)
        value = chance.choice([0.9, 0.7, math.nan])
        if reaches_at is not None and number >= reaches_at:
            value = chance.choice([TARGET, 0.4]) if number == reaches_at else chance.choice([0.3, 0.8])
        lines.append(f"{step},{at},{value},1.0")
    (folder / "eval_measurements.csv").write_text("\n".join([*lines, ""]))
    meta = {
        "workload.target_metric_name": "loss",
        "workload.validation_target_value": TARGET,
        "workload.test_target_value": TARGET,
        "workload.step_hint": 1200,
        "gpu.count": 8,
    }
    (folder / "meta_data_0.json").write_text(json.dumps(meta))
    (folder / "hparams.json").write_text(json.dumps({"learning_rate": 0.1}))
    (folder / "flags_0.json").write_text(json.dumps({"framework": "jax"}))


def league_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake of the made-up league and of real runs of modded-nanogpt, to be read only; made once."""

    def make(folder: Path) -> None:
        lake = Lake.create(folder)
        logs = tmp_path_factory.mktemp("league")
        write_league(logs)
        ingest(lake, [logs], Request(mapping=_MAPPING))
        mapping = ROOT / "published" / "modded-nanogpt" / "losslake.toml"
        ingest(lake, [sample("modded_nanogpt") / "modded_steps"], Request(mapping=mapping))

    return shared_lake(tmp_path_factory, "competitions", make)


def write_league(logs: Path, seed: int = 4) -> None:
    """Write the logs. Some trials and studies are missing, some never reach the target, and one workload."""
    chance = random.Random(seed)
    for version, ruleset, n_studies, n_trials in (("v05", "external_tuning", 3, 2), ("v06", "self_tuning", 3, 1)):
        for submission, speed in _SPEEDS.items():
            if version == "v06" and submission != "baseline":
                continue
            for workload, seconds in _WORKLOADS.items():
                if (submission, workload) == ("nadamp", "wmt"):
                    continue
                for study in range(n_studies - (workload == "fastmri")):
                    for trial in range(1, n_trials + 1 - chance.choice([0, 0, 1]) * (n_trials > 1)):
                        reaches_at = None if chance.random() < 0.25 else chance.randrange(2, 12)
                        place = f"algoperf_{version}/logs/{ruleset}/{submission}/study_{study}/{workload}_jax"
                        _trial(logs / place / f"trial_{trial}", chance, seconds * speed, reaches_at)
