"""A counter that a format only names is taken as updates where the log shows it; else the mapping has to say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from tests.ingest.formats.wandb_files import panel
from tests.ingest.offers import Files, unpacked

MAPPING = """
collection.name = "c"
run = { dataset = "d", model = "m", optimizer = "o", batch_size = 64 }
[metrics]
train_loss = "train/loss"
total_loss = "train/loss"
loss = "train/loss"
val_loss = "val/loss"
"""
LIGHTNING = b"epoch,step,train_loss,val_loss\n0,49,0.5,\n0,49,,0.4\n1,99,0.3,\n1,99,,0.3\n"
DETECTRON = b'{"iteration": 19, "total_loss": 1.5}\n{"iteration": 39, "total_loss": 1.4}\n'


def dry_run(folder: Path, files: Files, lines: str = "") -> IngestPlan:
    return plan_ingest(None, [unpacked(folder, {**files, "losslake.toml": f"{MAPPING}{lines}".encode()})], Request())


def steps(plan: IngestPlan) -> list[int]:
    assert not plan.quarantined
    return sorted({step for study in plan.studies.values() for _, step, _ in study.first_rows})


def history(rows: list[Mapping[str, float]]) -> Files:
    return {"history.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows).encode()}


CALLS = [
    pytest.param({"export.csv": panel("Step", [0, 1, 2], {"r - val/loss": [3, 2, 1]})}, "Step", id="a panel of W&B"),
    pytest.param(
        {"export.csv": panel("Step", [9, 19, 29], {"r - val/loss": [3, 2, 1]})},
        "Step",
        id="a panel of every tenth call",
    ),
    pytest.param(
        history([{"_step": n, ("loss", "val_loss")[n % 2]: 1.0 / (n + 1)} for n in range(6)]), "_step", id="a history"
    ),
    pytest.param({"dvclive/plots/metrics/val/loss.tsv": b"step\tloss\n0\t3\n1\t2\n2\t1\n"}, "step", id="DVCLive"),
]


@pytest.mark.parametrize(("files", "column"), CALLS)
def test_calls_of_a_logger_are_no_updates_unless_the_mapping_says_so(tmp_path: Path, files: Files, column: str) -> None:
    (refused,) = (plan := dry_run(tmp_path, files)).quarantined
    assert refused.rule == "step_unknown"
    assert f"{column} counts calls of the logger unless the training gives it, and is " in refused.message
    (missing,) = plan.missing
    written = steps(dry_run(tmp_path, files, missing.add))
    assert steps(dry_run(tmp_path, files, missing.add.replace('"updates"   #', '"calls"\nscale = 100   #'))) == [
        100 * step for step in written
    ]
    assert steps(dry_run(tmp_path, files, missing.add.replace('"updates"   #', '"updates_from_zero"   #'))) == [
        step + 1 for step in written
    ]


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        pytest.param(history([{"_step": n, "global_step": n, "loss": 0.5} for n in range(3)]), "", id="a counter"),
        pytest.param(history([{"_step": 50 * n, "loss": 0.5} for n in range(3)]), "", id="every 50th"),
        pytest.param(
            history([{"_step": n, "loss": 0.5} for n in range(3)]), "[fields]\nmax_steps = 2\n", id="a number of steps"
        ),
        pytest.param(
            history([{"_step": n, "epoch": n / 2, "loss": 0.5} for n in range(5)]),
            "[fields]\nexamples_per_epoch = 128\n",
            id="epochs of known size",
        ),
    ],
)
def test_calls_are_updates_where_the_log_shows_it(tmp_path: Path, files: Files, lines: str) -> None:
    assert steps(dry_run(tmp_path, files, lines))


@pytest.mark.parametrize(
    ("files", "column", "written"),
    [
        pytest.param({"metrics.csv": LIGHTNING}, "step", [49, 99], id="Lightning"),
        pytest.param({"metrics.json": DETECTRON}, "iteration", [19, 39], id="Detectron"),
        pytest.param(
            {"dvclive/plots/metrics/val/loss.tsv": b"step\tloss\n49\t0.5\n99\t0.25\n"}, "step", [49, 99], id="DVCLive"
        ),
    ],
)
def test_every_nth_step_counted_from_0_is_asked_for(
    tmp_path: Path, files: Files, column: str, written: list[int]
) -> None:
    (refused,) = (plan := dry_run(tmp_path, files)).quarantined
    assert refused.rule == "step_unknown"
    assert f"at {column} {written[0]}, {written[1]}, and it's unknown whether {column} counts updates from 0" in str(
        refused
    )
    (missing,) = plan.missing
    assert steps(dry_run(tmp_path, files, missing.add)) == [step + 1 for step in written]
    from_1 = missing.add.replace('"updates_from_zero"', '"updates"')
    assert steps(dry_run(tmp_path, files, from_1)) == written


def test_a_doubtful_step_names_the_counter_to_use(tmp_path: Path) -> None:
    files = {"a.jsonl": b'{"step": 1, "global_step": 50, "loss": 3}\n{"step": 2, "global_step": 100, "loss": 2}\n'}
    plan = dry_run(tmp_path, files)
    assert [item.rule for item in plan.quarantined] == ["step_doubtful"]
    (missing,) = plan.missing
    assert steps(dry_run(tmp_path, files, missing.add)) == [50, 100]


def test_a_step_that_counts_epochs_is_told_how_to_be_one(tmp_path: Path) -> None:
    files = {"a.jsonl": b'{"step": 1, "epoch": 1, "loss": 3}\n{"step": 2, "epoch": 2, "loss": 2}\n'}
    (missing,) = dry_run(tmp_path, files).missing
    assert steps(dry_run(tmp_path, files, missing.add.replace('"…"', "640"))) == [10, 20]


def test_calls_whose_scale_is_an_unknown_field_are_asked_for(tmp_path: Path) -> None:
    files = history([{"_step": n, "loss": 0.5} for n in range(3)])
    axis = '[[axis]]\ncolumn = "_step"\ncounts = "calls"\nscale = "{log_every}"\n'
    assert [item.rule for item in dry_run(tmp_path, files, axis).quarantined] == ["step_unknown"]
    assert steps(dry_run(tmp_path, files, f"{axis}[fields]\nlog_every = 50\n")) == [0, 50, 100]
