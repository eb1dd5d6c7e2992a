"""Rows that a word tells apart, such as those of two splits, are never mixed into one curve without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.run_log import NOT_UTF8
from losslake_ingest.plan import IngestPlan
from tests.ingest.mapping.test_bad_cells import MAPPING, json_lines, planned

ALTERNATING = [(1, "val", 50), (2, "test", 40), (3, "val", 30), (4, "test", 20)]
BLOCKS = [(1, "val", 50), (2, "val", 30), (1, "test", 40), (2, "test", 20)]
LATER = [(1, "warmup", 50), (2, "warmup", 40), (3, "main", 30), (4, "main", 20)]
MARKED = [(1, "yes", 50), (2, "no", 40), (3, "yes", 30), (4, "no", 20)]
BY_SPLIT = """
[[when]]
if = { split = "val" }
metrics = { acc = "val/loss" }
[[when]]
if = { split = "test" }
metrics = { acc = "test/loss" }
"""
Rows = list[tuple[int, str, int]]


def written(folder: Path, name: str, rows: Rows, more: str) -> IngestPlan:
    if name == "long.csv":
        text = "step,split,metric,value\n" + "".join(f"{step},{split},acc,{acc}\n" for step, split, acc in rows)
    else:
        text = "step,split,acc\n" + "".join(f"{step},{split},{acc}\n" for step, split, acc in rows)
    return planned(folder, name, json_lines(text) if name.endswith(".jsonl") else text, MAPPING + more)


@pytest.mark.parametrize("name", ["wide.csv", "long.csv", "lines.jsonl"])
@pytest.mark.parametrize("rows", [ALTERNATING, BLOCKS], ids=["alternating", "blocks"])
def test_rows_of_two_splits_are_refused_until_the_mapping_tells_them_apart(
    tmp_path: Path, name: str, rows: Rows
) -> None:
    plan = written(tmp_path, name, rows, 'metrics.acc = "val/loss"')
    assert not plan.studies
    (item,) = plan.quarantined
    assert item.rule == Rule.VALUES_DISAGREE
    assert "split = 'val'" in item.message
    assert "split = 'test'" in item.message
    assert "[[when]]" in item.message
    told = written(tmp_path / "told", name, rows, BY_SPLIT)
    assert not told.quarantined
    (study,) = told.studies.values()
    found = {(step, metric): value for _, step, cells in study.first_rows for metric, value in cells.items()}
    assert {at: value for at, value in found.items() if value is not None} == {
        (step, f"{split}/loss"): value for step, split, value in rows
    }


def test_the_mapping_can_say_that_all_rows_are_one_metric(tmp_path: Path) -> None:
    plan = written(tmp_path, "log.csv", ALTERNATING, 'metrics.acc = { metric = "val/loss", repeated = "last" }')
    assert (len(plan.studies), plan.quarantined) == (1, [])


def test_rows_of_a_later_phase_are_stored_and_named(tmp_path: Path) -> None:
    plan = written(tmp_path, "log.csv", LATER, 'metrics.acc = "val/loss"')
    assert (len(plan.studies), plan.quarantined) == (1, [])
    remark = "val/loss is logged with split = 'warmup' and with split = 'main', at later steps: stored as one curve"
    assert (f"{remark} (first in log.csv)", 1) in plan.sources[0].remarks


def test_marks_such_as_that_of_the_best_model_tell_nothing_apart(tmp_path: Path) -> None:
    plan = written(tmp_path, "log.csv", MARKED, 'metrics.acc = "val/loss"')
    assert (len(plan.studies), plan.quarantined) == (1, [])


def test_a_column_of_text_that_fits_a_pattern_of_metrics_is_named(tmp_path: Path) -> None:
    text = "step,eval_loss,eval_f1\n1,2,\n2,1,oops\n"
    plan = planned(tmp_path, "log.csv", text, MAPPING + 'metrics."eval_*" = "val/*"')
    assert len(plan.studies) == 1
    remark = "column 'eval_f1' left out: it holds text, such as 'oops' (first in log.csv)"
    assert (remark, 1) in plan.sources[0].remarks


def test_a_name_of_a_metric_that_is_not_utf8_is_remarked(tmp_path: Path) -> None:
    (tmp_path / "losslake.toml").write_text(MAPPING + 'metrics."m*" = "val/*"')
    (tmp_path / "log.csv").write_bytes(b"step,metric,value\n1,m1,2\n1,m\xed,2\n2,m1,1\n")
    plan = planned(tmp_path, "other.csv", "step,m1\n1,1\n", MAPPING + 'metrics."m*" = "val/*"')
    assert (f"{NOT_UTF8} (first in log.csv)", 1) in plan.sources[0].remarks
