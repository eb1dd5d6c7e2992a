"""Rows of a table without a position have that of a row above, where the mapping says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from losslake_ingest.contracts.rules import BadMapping
from losslake_ingest.mapping.evaluations import NO_STEP
from losslake_ingest.mapping.mapping import parse_mapping
from tests.ingest.mapping.test_bad_cells import MAPPING, planned
from tests.ingest.mapping.test_row_fields import curves

# As MMSegmentation 0.x writes it: `iter` of rows of validation counts the images that were evaluated.
MMSEG = [
    {"env_info": "sys.platform: linux", "seed": 0, "exp_name": "deeplab.py", "mmseg_version": "0.30.0"},
    {"mode": "train", "epoch": 1, "iter": 50, "lr": 0.01, "decode.loss": 1.5, "loss": 2.0},
    {"mode": "train", "epoch": 1, "iter": 100, "lr": 0.01, "decode.loss": 1.25, "loss": 1.5},
    {"mode": "val", "epoch": 1, "iter": 500, "lr": 0.01, "mIoU": 0.25},
    {"mode": "train", "epoch": 2, "iter": 150, "lr": 0.01, "decode.loss": 1.0, "loss": 1.25},
    {"mode": "train", "epoch": 2, "iter": 200, "lr": 0.01, "decode.loss": 1.0, "loss": 1.0},
    {"mode": "val", "epoch": 2, "iter": 500, "lr": 0.01, "mIoU": 0.5},
]
METRICS = '\n[metrics]\nmIoU = "val/mean_iou"\nloss = "train/loss"\n[[axis]]\ncolumn = "iter"\n'
VAL = [[(100, 0.25), (200, 0.5)]]
TRAIN = [[(50, 2.0), (100, 1.5), (150, 1.25), (200, 1.0)]]


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_rows_of_validation_take_their_iteration_from_the_row_of_training_above(tmp_path: Path) -> None:
    plan = planned(tmp_path, "log.json", lines(*MMSEG), MAPPING + METRICS + 'carried = { mode = "train" }\n')
    assert (plan.quarantined, curves(plan)) == ([], {"val/mean_iou": VAL, "train/loss": TRAIN})
    (item,) = planned(tmp_path, "log.json", lines(*MMSEG), MAPPING + METRICS).quarantined
    assert "val/mean_iou has two values at step 500" in item.message
    assert "or carried under [[axis]] if rows above have the step" in item.message


def test_rows_without_a_position_take_that_of_the_nearest_row_above(tmp_path: Path) -> None:
    rows = [row if row.get("mode") == "train" else {k: v for k, v in row.items() if k != "iter"} for row in MMSEG]
    rows.insert(1, {"mode": "val", "mIoU": 0.1})
    plan = planned(tmp_path, "log.jsonl", lines(*rows), MAPPING + METRICS + "carried = true\n")
    assert (plan.quarantined, curves(plan)) == ([], {"val/mean_iou": VAL, "train/loss": TRAIN})
    assert (f"{NO_STEP} (first in log.jsonl)", 1) in plan.sources[0].remarks
    without = planned(tmp_path, "log.jsonl", lines(*rows), MAPPING + METRICS)
    assert (f"{NO_STEP} (first in log.jsonl)", 3) in without.sources[0].remarks
    assert "carried = true under [[axis]]" in NO_STEP


def test_a_position_is_not_carried_from_one_run_to_the_next(tmp_path: Path) -> None:
    text = "id,step,val_loss,is_train\na,5,,1\nb,,3,0\na,,2,0\nb,7,,1\nb,9,4,0\n"
    mapping = MAPPING.replace("run = {", 'run = { column = "id",') + '\n[[axis]]\ncolumn = "step"\ncarried = {}\n'
    plan = planned(tmp_path, "log.csv", text, mapping.replace("{}", "{ is_train = 1 }"))
    (study,) = plan.studies.values()
    assert (study.trials, study.evaluations, study.first_rows) == (2, 2, [(1, 5, {"val/loss": 2.0})])


@pytest.mark.parametrize("condition", ['{ mode = ["tr*", "x"] }', '{ mode = "train", epoch = [1, 2] }'])
def test_a_condition_is_that_of_when(tmp_path: Path, condition: str) -> None:
    plan = planned(tmp_path, "log.json", lines(*MMSEG), MAPPING + METRICS + f"carried = {condition}\n")
    assert (plan.quarantined, curves(plan)["val/mean_iou"]) == ([], VAL)


def test_a_condition_on_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (item,) = planned(tmp_path, "log.json", lines(*MMSEG), MAPPING + METRICS + "carried = { set = 1 }\n").quarantined
    assert (item.rule, item.message.partition(",")[0]) == ("missing_fact", "there is no column 'set'")


def test_a_condition_of_a_part_of_the_runs_can_not_say_how_rows_are_read() -> None:
    text = '[[when]]\nif = { a = 1 }\naxis = [{ column = "iter", carried = true }]\n'
    with pytest.raises(BadMapping, match="can't contain an axis with carried: give it under"):
        parse_mapping(text.encode(), "m")
