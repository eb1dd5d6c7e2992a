"""Steps that are written with a point for thousands are never taken as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake_ingest.contracts.rules import Rule
from tests.ingest.mapping.test_bad_cells import MAPPING, planned
from tests.ingest.mapping.test_row_fields import curves, followed

TEXT = "lr,step,val_loss\n1.000,{},5\n2.000,{},4\n3.000,{},3\n"


@pytest.mark.parametrize("steps", ["1.000 2.000 10.000", " 1.000 2.000 10.000 ", "0 1.000 2.500", "NA 1.000 2.000"])
def test_steps_that_may_have_a_point_for_thousands_are_refused_until_their_scale_is_stated(
    tmp_path: Path, steps: str
) -> None:
    text = TEXT.format(*steps.split())
    plan = planned(tmp_path, "log.csv", text)
    (item,) = plan.quarantined
    assert (item.rule, item.path, item.line) == (Rule.STEP_UNKNOWN, "log.csv", 2)
    assert 'add to the mapping: [[axis]] column = "step", scale = 1000   # or 1' in item.message
    for scale in (1000, 1) if ".5" not in steps else (1000,):
        told = planned(tmp_path, "log.csv", text, followed(MAPPING, plan).replace("1000", str(scale)))
        expected = [
            (int(float(cell) * scale), value)
            for cell, value in zip(steps.split(), (5, 4, 3), strict=True)
            if cell != "NA"
        ]
        assert (told.quarantined, curves(told)["val/loss"]) == ([], [expected])


def test_steps_without_a_point_below_a_thousand_and_with_one_above_are_no_numbers(tmp_path: Path) -> None:
    (item,) = planned(tmp_path, "log.csv", TEXT.format("500", "1.000", "2.000")).quarantined
    assert (item.rule, item.line, item.message.partition(",")[0]) == (Rule.NOT_A_NUMBER, 3, "step is '1.000'")


@pytest.mark.parametrize("steps", ["1.0 2.0 3.0", "0.000 1.000 2.000", "1 2 3", "1000.000 2000.000 3000.000"])
def test_other_whole_numbers_with_a_point_are_taken_as_they_are(tmp_path: Path, steps: str) -> None:
    plan = planned(tmp_path, "log.csv", TEXT.format(*steps.split()))
    assert (plan.quarantined, len(plan.studies)) == ([], 1)


def test_epochs_and_metrics_with_three_decimals_are_taken_as_they_are(tmp_path: Path) -> None:
    plan = planned(tmp_path, "log.csv", "epoch,val_loss\n1.000,1.500\n2.000,1.250\n")
    assert curves(plan) == {"val/loss": [[(10, 1.5), (20, 1.25)]]}
