"""Steps that a format only assumes to be updates are refused where the log itself says otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from losslake_ingest.contracts.rules import Rule
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from tests.ingest.formats.tensorboard_files import event, event_file, simple
from tests.ingest.formats.wandb_files import panel
from tests.ingest.offers import unpacked

METRICS = '[metrics]\nloss = "train/loss"\nval_loss = "val/loss"\n'
STEPS = '[[axis]]\ncolumn = "step"\ncounts = "steps"\n[[axis]]\ncolumn = "_step"\ncounts = "steps"\n'
Row = Mapping[str, float]


def dry_run(folder: Path, files: Mapping[str, bytes], fields: str = "", axis: str = "") -> IngestPlan:
    run = '[collection]\nname = "mine"\n[run]\ndataset = "d"\nmodel = "m"\noptimizer = "o"\nbatch_size = 64\n'
    mapping = f"{run}[fields]\n{fields}\n{METRICS}{axis}"
    return plan_ingest(None, [unpacked(folder, {**files, "losslake.toml": mapping.encode()})], Request())


def history(rows: Sequence[Row]) -> dict[str, bytes]:
    return {"history.jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in rows)}


def tags(**curves: Sequence[int]) -> dict[str, bytes]:
    events = [event(9.0, step, simple(tag, 1.5 + at)) for tag, steps in curves.items() for at, step in enumerate(steps)]
    return {"events.out.tfevents.1": event_file(events)}


STEADY = [{"_step": step, "val_loss": 2.5} for step in (30, 60)]
EVERY_EPOCH = [{"_step": n, "epoch": n, "val_loss": 2.5 - n} for n in range(3)]
DOUBTFUL = [
    pytest.param(tags(val_loss=[30, 60], loss=[1000, 58_650]), "", "ends at step 60", id="another tag's steps"),
    pytest.param(
        history([{**row, "global_step": 977.0 * row["_step"]} for row in STEADY]), "", "29310", id="a counter"
    ),
    pytest.param(history(EVERY_EPOCH), "", "one step per epoch", id="epochs"),
    pytest.param(
        history([{"_step": 5, "epoch": 9, "loss": 1.0}]), "", "one step per epoch", id="fewer steps than epochs"
    ),
    pytest.param(
        history([{**r, "epoch": r["_step"] / 30} for r in STEADY]), "examples_per_epoch = 64000", "1000", id="size"
    ),
    pytest.param(history(STEADY), "max_steps = 58650", "58650", id="a configured number of steps"),
    pytest.param(tags(val_loss=[30, 60]), "max_steps = 50", "max_steps is 50", id="more than configured"),
    pytest.param(tags(val_loss=[0, 1, 2]), "max_epochs = 3", "max_epochs is 3", id="a configured number of epochs"),
]


@pytest.mark.parametrize(("files", "fields", "why"), DOUBTFUL)
def test_assumed_steps_are_refused_where_the_log_says_otherwise(
    tmp_path: Path, files: dict[str, bytes], fields: str, why: str
) -> None:
    plan = dry_run(tmp_path / "assumed", files, fields)
    (refused,) = plan.quarantined
    assert refused.rule == Rule.STEP_DOUBTFUL
    assert why in refused.message
    assert [missing.add.startswith("[[axis]] column = ") for missing in plan.missing] == [True]
    stated = dry_run(tmp_path / "stated", files, fields, STEPS)
    assert not stated.quarantined
    assert len(stated.studies) == 1


@pytest.mark.parametrize(
    ("files", "fields"),
    [
        pytest.param(history([{**row, "global_step": row["_step"]} for row in STEADY]), "", id="the same counter"),
        pytest.param(history(STEADY), "max_steps = 60\nepochs = 3", id="as configured"),
        pytest.param(history([{**row, "epoch": row["_step"] // 20} for row in STEADY]), "", id="some steps an epoch"),
        pytest.param(tags(val_loss=[500, 1000], loss=[1, 999]), "", id="other tags end about there"),
        pytest.param({"a.csv": panel("Step", [10, 20], {"r - loss": [1, 2]})}, "", id="nothing said"),
    ],
)
def test_assumed_steps_are_taken_where_nothing_says_otherwise(
    tmp_path: Path, files: dict[str, bytes], fields: str
) -> None:
    plan = dry_run(tmp_path, files, fields)
    assert not plan.quarantined
    assert len(plan.studies) == 1
