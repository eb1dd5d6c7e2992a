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
from tests.ingest.formats.trackio_files import database
from tests.ingest.offers import unpacked

METRICS = '[metrics]\nloss = "train/loss"\nval_loss = "val/loss"\n'
STEPS = '[[axis]]\ncolumn = "step"\ncounts = "steps"\n[[axis]]\ncolumn = "_step"\ncounts = "steps"\n'
Row = Mapping[str, float]


def dry_run(folder: Path, files: Mapping[str, bytes], fields: str = "", axis: str = "", facts: str = "") -> IngestPlan:
    run = '[collection]\nname = "mine"\n[run]\ndataset = "d"\nmodel = "m"\noptimizer = "o"\nbatch_size = 64\n'
    mapping = f"{run}{facts}[fields]\n{fields}\n{METRICS}{axis}"
    return plan_ingest(None, [unpacked(folder, {**files, "losslake.toml": mapping.encode()})], Request())


def history(rows: Sequence[Row]) -> dict[str, bytes]:
    return {"history.jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in rows)}


def tags(**curves: Sequence[int]) -> dict[str, bytes]:
    events = [event(9.0, step, simple(tag, 1.5 + at)) for tag, steps in curves.items() for at, step in enumerate(steps)]
    return {"events.out.tfevents.1": event_file(events)}


def mlflow(**curves: Mapping[int, float]) -> dict[str, bytes]:
    meta = b"artifact_uri: file:///tmp/a\nrun_id: 5\nexperiment_id: '1'\nstatus: 3\nstart_time: 1\nend_time: 9\n"
    files = {"mlruns/1/5/meta.yaml": meta}
    for name, curve in curves.items():
        files[f"mlruns/1/5/metrics/{name}"] = "".join(f"5 {value} {step}\n" for step, value in curve.items()).encode()
    return files


def sacred(**curves: Mapping[int, float]) -> dict[str, bytes]:
    times = ["2026-11-23T03:28:00"]
    metrics = {
        name: {"steps": [*curve], "timestamps": times * len(curve), "values": [*curve.values()]}
        for name, curve in curves.items()
    }
    return {"1/metrics.json": json.dumps(metrics, indent=2).encode(), "1/run.json": b'{"status": "COMPLETED"}'}


def live(**curves: Mapping[int, float]) -> dict[str, bytes]:
    return {
        f"dvclive/plots/metrics/{name}.tsv": "".join(
            [f"step\t{name}\n", *(f"{step}\t{value}\n" for step, value in curve.items())]
        ).encode()
        for name, curve in curves.items()
    }


TWO_COUNTERS = {"val_loss": {0: 3.0, 1: 2.0}, "loss": {500: 4.0, 1000: 3.0}}
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
    pytest.param({"a.csv": b"step,iteration,loss\n1,50,3\n2,50,2\n3,100,1\n"}, "", "iteration is 50", id="csv"),
    pytest.param({"a.jsonl": b'{"step":1,"epoch":1,"loss":3}\n{"step":2,"epoch":2,"loss":2}\n'}, "", "one", id="jsonl"),
    pytest.param(mlflow(**TWO_COUNTERS), "", "val_loss ends at step 1, and loss at 1000", id="mlflow"),
    pytest.param(sacred(**TWO_COUNTERS), "", "val_loss ends at step 1, and loss at 1000", id="sacred"),
    pytest.param(live(**TWO_COUNTERS), "", "val_loss ends at step 1, and loss at 1000", id="dvclive"),
    pytest.param(live(loss={0: 3.0, 1: 2.0, 2: 1.0}), "epochs = 3", "epochs is 3", id="one step per epoch of dvclive"),
    pytest.param(
        {"trackio/p.db": database({"a": [(step, {"loss": 1.5}) for step in range(3)]})},
        "epochs = 3",
        "epochs is 3",
        id="trackio",
    ),
    pytest.param(
        {"a.csv": b"step,loss\n50,3\n100,2\n"}, "epochs = 3\nexamples_per_epoch = 64000", "1000 batches", id="planned"
    ),
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
    assert [missing.add.startswith("[[axis]]\ncolumn = ") for missing in plan.missing] == [True]
    stated = dry_run(tmp_path / "stated", files, fields, STEPS)
    assert not stated.quarantined
    assert len(stated.studies) == 1


@pytest.mark.parametrize(
    ("files", "fields"),
    [
        pytest.param(history([{**row, "global_step": row["_step"]} for row in STEADY]), "", id="the same counter"),
        pytest.param(history(STEADY), "max_steps = 60\nepochs = 3", id="as configured"),
        pytest.param(history([{**row, "epoch": row["_step"] // 20} for row in STEADY]), "", id="some steps an epoch"),
        pytest.param(
            {"a.csv": b"step,iter,loss\n100,100,3\n200,100,2\n"}, "", id="an iteration of the epoch, at its end"
        ),
        pytest.param(
            {"a.csv": b"step,iter,loss\n50,50,3\n99,99,3\n149,49,2\n"}, "", id="an iteration that begins again"
        ),
        pytest.param(history([{**row, "val/step": row["_step"] / 10} for row in STEADY]), "", id="evaluation's steps"),
        pytest.param(
            {"a.csv": b"step,loss,val_loss\n0,3,4\n100,2,\n200,1,\n"}, "", id="evaluated at first only, in common rows"
        ),
        pytest.param(
            {"a.csv": b"step,loss\n500,3\n1000,2\n"},
            "max_epochs = 90\nexamples_per_epoch = 64000",
            id="stopped before the most epochs",
        ),
        pytest.param(tags(val_loss=[500, 1000], loss=[1, 999]), "", id="other tags end about there"),
        pytest.param({"a.csv": b"step,loss\n0,3\n1,2\n2,1\n"}, "", id="nothing said"),
    ],
)
def test_assumed_steps_are_taken_where_nothing_says_otherwise(
    tmp_path: Path, files: dict[str, bytes], fields: str
) -> None:
    plan = dry_run(tmp_path, files, fields)
    assert not plan.quarantined
    assert len(plan.studies) == 1


def test_steps_are_refused_where_they_are_far_from_the_train_steps_of_the_run(tmp_path: Path) -> None:
    log = {"a.csv": b"step,loss\n50,3\n100,2\n"}
    (refused,) = dry_run(tmp_path / "one", log, facts="train_steps = 1000\n").quarantined
    assert "its train_steps is 1000" in refused.message
    assert not dry_run(tmp_path / "two", log, facts="train_steps = 100\n").quarantined


def test_the_reason_to_doubt_a_step_is_the_same_for_every_order_of_columns(tmp_path: Path) -> None:
    rows = [
        {"step": n, "global_step": 50 * n, "iteration": 25 * n, "num_updates": 100 * n, "loss": 1.5} for n in (1, 2)
    ]
    orders = [[*row.items()] for row in rows], [[*row.items()][::-1] for row in rows]
    logs = [b"".join(json.dumps(dict(row)).encode() + b"\n" for row in order) for order in orders]
    plans = [dry_run(tmp_path / str(number), {"a.jsonl": log}) for number, log in enumerate(logs)]
    assert [["global_step is 50 where step is 1" in q.message for q in plan.quarantined] for plan in plans] == [
        [True]
    ] * 2


def test_the_line_that_settles_a_doubtful_step_is_a_mapping(tmp_path: Path) -> None:
    (missing,) = dry_run(tmp_path / "one", mlflow(**TWO_COUNTERS)).missing
    assert '"" under [metrics]' in missing.add
    assert not dry_run(tmp_path / "two", mlflow(**TWO_COUNTERS), axis=missing.add).quarantined
