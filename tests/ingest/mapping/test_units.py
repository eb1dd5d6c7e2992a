"""A value that its metric can't have is refused, and the mapping converts units."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.contracts.rules import BadMapping
from losslake_ingest.mapping.mapping import parse_mapping
from losslake_ingest.mapping.metrics import metric_of
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest

MAPPING = """
collection.name = "c"
run = { dataset = "d", model = "m", optimizer = "o", batch_size = 10 }
"""


def planned(folder: Path, text: str, mapping: str = "", name: str = "log.csv") -> IngestPlan:
    folder.mkdir(exist_ok=True)
    (folder / "losslake.toml").write_text(MAPPING + mapping)
    (folder / name).write_text(text)
    return plan_ingest(None, [folder], Request())


def refused(folder: Path, text: str, mapping: str = "") -> str:
    plan = planned(folder, text, mapping)
    assert not plan.studies
    (item,) = plan.quarantined
    return str(item)


def values(plan: IngestPlan, metric: str) -> list[float | None]:
    assert not plan.quarantined
    ((_, study),) = plan.studies.items()
    return [row[metric] for _, _, row in study.first_rows]


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("val/accuracy", 77),
        ("val/accuracy", -0.5),
        ("test/classification_error", 23.4),
        ("val/mean_average_precision", 1.001),
        ("val/bleu", 100.5),
        ("val/ssim", -1.5),
    ],
)
def test_a_value_that_its_metric_cannot_have_is_refused(tmp_path: Path, metric: str, value: float) -> None:
    reason = refused(tmp_path, f"step,{metric}\n5,0.5\n10,{value}\n")
    assert reason.startswith("out_of_range: log.csv: ")
    assert f"the column {metric} is {value:.17g} at step 10, and {metric} lies between" in reason


@pytest.mark.parametrize(
    ("metric", "value"),
    [("val/accuracy", 1), ("val/accuracy", 1.0000001), ("val/accuracy", "nan"), ("val/word_error_rate", 0.4),
     ("val/bleu", 28), ("val/ssim", -0.1), ("val/loss", 77), ("val/f1", 77)],
)  # fmt: skip
def test_a_value_that_its_metric_can_have_is_stored(tmp_path: Path, metric: str, value: float | str) -> None:
    plan = planned(tmp_path, f"step,{metric}\n10,{value}\n")
    assert repr(values(plan, metric)) == repr([float(value)])


def test_a_word_error_rate_may_exceed_1_where_its_least_value_does_not(tmp_path: Path) -> None:
    plan = planned(tmp_path, "step,val/word_error_rate\n5,14.9\n10,nan\n15,0.5\n")
    assert repr(values(plan, "val/word_error_rate")) == "[14.9, nan, 0.5]"


def test_word_error_rates_that_are_all_beyond_1_are_refused_until_their_scale_is_stated(tmp_path: Path) -> None:
    log = "step,val/word_error_rate\n5,80.5\n10,5.25\n"
    reason = refused(tmp_path, log)
    assert "the column val/word_error_rate is never below 5.25, and val/word_error_rate is a fraction" in reason
    line = reason.partition("add to the mapping: ")[2].partition("   #")[0]
    assert values(planned(tmp_path, log, f"[metrics]\n{line}"), "val/word_error_rate") == [0.805, 0.0525]
    line = line.replace("0.01", "1")
    assert values(planned(tmp_path, log, f"[metrics]\n{line}"), "val/word_error_rate") == [80.5, 5.25]


@pytest.mark.parametrize("value", [1.000002, 1.5, 100.5, 640])
def test_scale_is_not_proposed_for_what_is_no_percentage(tmp_path: Path, value: float) -> None:
    reason = refused(tmp_path, f"step,val/accuracy\n5,0.5\n10,{value}\n")
    assert f"val/accuracy is {value:.17g} at step 10, and val/accuracy lies between 0 and 1" in reason
    assert "scale" not in reason


def test_the_line_of_the_reason_converts_a_percentage(tmp_path: Path) -> None:
    log = "step,top1\n10,76.97\n20,75.3\n"
    reason = refused(tmp_path, log, 'metrics.top1 = "val/accuracy"')
    line = reason.partition("add to the mapping: ")[2].partition("   #")[0]
    assert line == 'top1 = { metric = "val/accuracy", scale = 0.01 }'
    assert values(planned(tmp_path, log, f"[metrics]\n{line}"), "val/accuracy") == [0.7697, 0.753]


def test_an_accuracy_in_percent_becomes_an_error(tmp_path: Path) -> None:
    line = 'top1 = { metric = "val/classification_error", scale = -0.01, offset = 1 }'
    plan = planned(tmp_path, "step,top1\n10,76.97\n", f"[metrics]\n{line}")
    assert values(plan, "val/classification_error") == [0.2303]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.sampled_from(["0.01", "100", "-0.01", "0.125"]))
def test_values_are_calculated_with_the_decimal_fractions_that_were_logged(cells: list[float], scale: str) -> None:
    mapping = parse_mapping(f'metrics.a = {{ metric = "val/f1", scale = {scale}, offset = 1 }}'.encode(), "m")
    metric = metric_of("a", mapping.metrics, {})
    assert metric is not None
    expected = [float(Fraction(repr(cell)) * Fraction(scale) + 1) for cell in cells]
    assert metric.values(np.array(cells)).tolist() == expected


def test_a_line_without_metric_takes_that_of_the_next_line_or_of_the_column() -> None:
    text = """
    [metrics]
    "val/auc" = { scale = 0.01 }
    eval_acc = { offset = 1 }
    "eval_*" = { metric = "val/*", scale = 2 }
    "eval_f1" = "val/f1"
    """
    lines = parse_mapping(text.encode(), "m").metrics
    metrics = {column: metric_of(column, lines, {}) for column in ("val/auc", "eval_acc", "eval_f1")}
    found = {column: (m.name, float(m.scale), float(m.offset)) for column, m in metrics.items() if m is not None}
    assert found == {"val/auc": ("val/auc", 0.01, 0), "eval_acc": ("val/acc", 2, 1), "eval_f1": ("val/f1", 1, 0)}


def test_goals_are_in_the_unit_of_their_metric(tmp_path: Path) -> None:
    goal = '[[goal]]\nmetric = "val/accuracy"\ntarget = 75.9\nsource = "s"\n'
    assert "the goal's target is 75.9, and val/accuracy lies between 0 and 1" in refused(
        tmp_path, "step,val/accuracy\n10,0.5\n", goal
    )


def test_unknown_keys_of_a_column_are_named() -> None:
    with pytest.raises(BadMapping, match=r"m: \[metrics\] a.scal: no such key"):
        parse_mapping(b'metrics.a = { metric = "val/f1", scal = 0.01 }', "m")


HISTORY = [
    {"step": 100, "eval_loss": 0.5},
    {"step": 200, "eval_loss": 0.75},
    {"step": 200, "train_runtime": 9.0},
    {"step": 200, "eval_loss": 0.5},
]


def trainer(folder: Path, mapping: str) -> IngestPlan:
    state = json.dumps({"log_history": HISTORY, "global_step": 200, "max_steps": 200})
    return planned(folder, state, mapping, "trainer_state.json")


def test_a_metric_with_two_values_at_one_step_needs_the_mapping_to_say_which_counts(tmp_path: Path) -> None:
    (item,) = trainer(tmp_path, "").quarantined
    assert item.rule == "values_disagree"
    assert 'add to the mapping: eval_loss = { metric = "val/loss", repeated = "first" }' in item.message


@pytest.mark.parametrize(("repeated", "expected"), [("first", 0.75), ("last", 0.5)])
def test_the_first_or_last_of_several_values_at_a_step_counts(tmp_path: Path, repeated: str, expected: float) -> None:
    plan = trainer(tmp_path, f'metrics.eval_loss.repeated = "{repeated}"')
    assert values(plan, "val/loss") == [0.5, expected]


def test_the_first_value_after_a_restart_counts(tmp_path: Path) -> None:
    log = "step,val/f1\n1,10\n2,20\n2,21\n1,11\n2,22\n2,23\n"
    plan = planned(tmp_path, log, '[metrics."val/f1"]\nrepeated = "first"')
    assert values(plan, "val/f1") == [11, 22]


@pytest.mark.parametrize("column", ["val_acc(%)", "acc_percent", "val acc pct"])
def test_fractions_under_a_name_in_percent_are_asked_for(tmp_path: Path, column: str) -> None:
    text = f"step,{column}\n1,0.10\n2,0.55\n3,0.98\n"
    plan = planned(tmp_path / "asked", text, f'[metrics]\n"{column}" = "val/accuracy"\n')
    assert [item.rule for item in plan.quarantined] == ["out_of_range"]
    assert "is named in percent, and its values are at most 0.98" in plan.quarantined[0].message
    (missing,) = plan.missing
    assert values(planned(tmp_path / "percent", text, f"[metrics]\n{missing.add}"), "val/accuracy") == [
        0.001,
        0.0055,
        0.0098,
    ]
    fractions = missing.add.replace("scale = 0.01", "scale = 1")
    assert values(planned(tmp_path / "one", text, f"[metrics]\n{fractions}"), "val/accuracy") == [0.1, 0.55, 0.98]
