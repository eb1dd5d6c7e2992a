"""Rows that a word tells apart, such as those of two splits, are never mixed into one curve without a word."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.run_log import NOT_UTF8
from losslake_ingest.mapping.toml import toml_key
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
Rows = Sequence[Mapping[str, object]]
Words = list[tuple[int, str, int]]


def written(folder: Path, name: str, rows: Words, more: str, column: str = "split") -> IngestPlan:
    if name == "long.csv":
        text = f"step,{column},metric,value\n" + "".join(f"{step},{split},acc,{acc}\n" for step, split, acc in rows)
    else:
        text = f"step,{column},acc\n" + "".join(f"{step},{split},{acc}\n" for step, split, acc in rows)
    return planned(folder, name, json_lines(text) if name.endswith(".jsonl") else text, MAPPING + more)


@pytest.mark.parametrize("name", ["wide.csv", "long.csv", "lines.jsonl"])
@pytest.mark.parametrize("rows", [ALTERNATING, BLOCKS], ids=["alternating", "blocks"])
def test_rows_of_two_splits_are_refused_until_the_mapping_tells_them_apart(
    tmp_path: Path, name: str, rows: Words
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


@pytest.mark.parametrize("column", ["phase", "schedule"])
def test_rows_of_a_later_phase_are_stored_and_named(tmp_path: Path, column: str) -> None:
    plan = written(tmp_path, "log.csv", LATER, 'metrics.acc = "val/loss"', column)
    assert (len(plan.studies), plan.quarantined) == (1, [])
    remark = (
        f"val/loss is logged with {column} = 'warmup' and with {column} = 'main', at later steps: stored as one curve"
    )
    assert (f"{remark} (first in log.csv)", 1) in plan.sources[0].remarks


def test_marks_such_as_that_of_the_best_model_tell_nothing_apart(tmp_path: Path) -> None:
    plan = written(tmp_path, "log.csv", MARKED, 'metrics.acc = "val/loss"', "is_best_val")
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


def curves(plan: IngestPlan) -> dict[str, list[list[tuple[int, float]]]]:
    """The curves of each metric, one for each trial."""
    found: dict[str, dict[int, list[tuple[int, float]]]] = {}
    for study in plan.studies.values():
        for trial, step, cells in study.first_rows:
            for metric, value in cells.items():
                if value is not None:
                    found.setdefault(metric, {}).setdefault(trial, []).append((step, value))
    return {metric: list(trials.values()) for metric, trials in found.items()}


def followed(mapping: str, plan: IngestPlan) -> str:
    """The mapping with the lines that a plan says to add, in the sections that it names."""
    for field in plan.missing:
        line, _, section = field.add.partition("   # under ")
        section = section.split("]")[0] + "]" if section else ""
        if section == "[run]":
            mapping = mapping.replace("run = {", f"run = {{ {line},")
        else:
            mapping += f"\n{section}\n{line}\n"
    return mapping


def objects(*rows: Mapping[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def csv_of(rows: Rows) -> str:
    """Rows as a CSV: an empty cell where a row lacks a column."""
    names = dict.fromkeys(name for row in rows for name in row)
    lines = [",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in rows)]
    return "".join(f"{line}\n" for line in lines)


TRAIN = [{"step": step, "loss": 1 / step} for step in (1, 2, 3)]
VAL = [{"step": step, "loss": 2 / step} for step in (2, 3)]
LATER_VAL = [{"step": step, "loss": 2 / step} for step in (4, 5)]
TWO = {"train/loss": [[(1, 1.0), (2, 0.5), (3, 1 / 3)]], "val/loss": [[(2, 1.0), (3, 2 / 3)]]}
TWO_LATER = {**TWO, "val/loss": [[(4, 0.5), (5, 0.4)]]}


@pytest.mark.parametrize(("val", "expected"), [(VAL, TWO), (LATER_VAL, TWO_LATER)], ids=["between", "later"])
@pytest.mark.parametrize(
    ("train", "of_val", "condition"),
    [
        ({}, {"split": "val"}, '{ split = "val" }'),
        ({"split": "train"}, {"split": "valid"}, '{ split = "valid" }'),
        ({}, {"is_val": True}, "{ is_val = true }"),
        ({"is_val": False}, {"is_val": True}, "{ is_val = true }"),
        ({"training": True}, {"training": False}, "{ training = false }"),
        ({"phase": "train"}, {"phase": "val"}, '{ phase = "val" }'),
        ({"flags.isVal": 0}, {"flags.isVal": 1}, '{ "flags.isVal" = 1 }'),
        ({"phase": 0}, {"phase": 1}, "{ phase = 1 }"),
        ({}, {"mode": 1}, "{ mode = 1 }"),
    ],
)
def test_rows_of_a_split_are_refused_until_its_line_makes_them_a_metric(
    tmp_path: Path,
    train: dict[str, object],
    of_val: dict[str, object],
    condition: str,
    val: Rows,
    expected: dict[str, list[list[tuple[int, float]]]],
) -> None:
    rows = [{**row, **train} for row in TRAIN] + [{**row, **of_val} for row in val]
    plan = planned(tmp_path, "log.jsonl", objects(*rows), MAPPING)
    (item,) = plan.quarantined
    assert (item.rule, item.path, item.line) == (Rule.VALUES_DISAGREE, "log.jsonl", 4)
    line = f"[[when]] if = {condition}, metrics = {{ loss = "
    assert f"add to the mapping: {line}" in item.message
    assert "other rows keep the metric of [metrics]" in item.message
    told = planned(tmp_path, "log.jsonl", objects(*rows), followed(MAPPING, plan).replace("…", "val/loss"))
    assert (told.quarantined, curves(told)) == ([], expected)
    (in_csv,) = planned(tmp_path / "csv", "log.csv", csv_of(rows), MAPPING).quarantined
    assert (in_csv.rule, in_csv.line) == (Rule.VALUES_DISAGREE, 5)


def test_rows_of_one_split_and_rows_without_are_two_metrics_only_once_both_are_named(tmp_path: Path) -> None:
    plan = planned(tmp_path, "log.jsonl", objects(*[row | {"split": "train"} for row in TRAIN], *VAL), MAPPING)
    (item,) = plan.quarantined
    assert "keep the metric of [metrics], so give them another one there" in item.message
    assert [field.add for field in plan.missing] == [
        '[[when]]\nif = { split = "train" }\nmetrics = { loss = "train/loss" }',
        'loss = "…"   # under [metrics]: of rows without split',
    ]


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("column", ["seed", "run", "opt.run_name", "Fold", "trialId", "job_id"])
def test_rows_of_several_runs_are_refused_until_the_mapping_says_which_column_tells_them_apart(
    tmp_path: Path, column: str, overlap: bool
) -> None:
    rows = [{column: 3, "step": s, "loss": 1 / s} for s in (1, 2, 3)]
    rows += [{column: 4, "step": s + 3 * (not overlap), "loss": 2 / s} for s in (1, 2, 3)]
    for name, text, line in (("log.jsonl", objects(*rows), 4), ("log.csv", csv_of(rows), 5)):
        plan = planned(tmp_path / name, name, text, MAPPING)
        (item,) = plan.quarantined
        assert (item.rule, item.path, item.line) == (Rule.VALUES_DISAGREE, name, line)
        key = toml_key(column)
        assert (
            f'add to the mapping: column = "{column}"   # under [run]; if all are one run, {key} = ""' in item.message
        )
        told = planned(tmp_path / name, name, text, followed(MAPPING, plan))
        assert (told.quarantined, [study.trials for study in told.studies.values()]) == ([], [2])
        again = 'loss = { repeated = "last" }' if overlap else ""  # one run that started over
        one = planned(tmp_path / name, name, text, f'{MAPPING}\n[metrics]\n{key} = ""\n{again}\n')
        assert (one.quarantined, [study.trials for study in one.studies.values()]) == ([], [1])


def test_the_column_with_the_most_runs_is_proposed_and_another_one_within_a_run_splits_it_no_further(
    tmp_path: Path,
) -> None:
    rows = [{"seed": at // 2, "name": "x", "run_name": f"r{at}", "step": 1, "loss": at} for at in range(4)]
    plan = planned(tmp_path, "log.jsonl", objects(*rows), MAPPING)
    assert 'column = "run_name"' in plan.quarantined[0].message
    mapping = MAPPING.replace("run = {", 'run = { column = "seed",')
    (first, _) = planned(tmp_path, "log.jsonl", objects(*rows), mapping).quarantined
    assert '[[when]] if = { run_name = "r1" }, metrics = { loss = "" }, which leaves these rows out' in first.message


def test_rows_of_other_ranks_are_left_out_by_the_line(tmp_path: Path) -> None:
    rows = [{"rank": rank, "step": s, "loss": s + rank / 4, "acc": s} for s in (1, 2) for rank in (0, 1, 2)]
    lines = '\n[metrics]\nloss = "val/loss"\nacc = "val/f1"\n'
    plan = planned(tmp_path, "log.jsonl", objects(*rows), MAPPING + lines)
    (item,) = plan.quarantined
    assert (item.rule, item.line) == (Rule.VALUES_DISAGREE, 2)
    assert '[[when]] if = { rank = [1, 2] }, metrics = { acc = "", loss = "" }, which leaves these rows' in item.message
    told = planned(tmp_path, "log.jsonl", objects(*rows), followed(MAPPING + lines, plan))
    assert (told.quarantined, curves(told)) == (
        [],
        {"val/loss": [[(1, 1.0), (2, 2.0)]], "val/f1": [[(1, 1.0), (2, 2.0)]]},
    )


@pytest.mark.parametrize("value", ["r{}", "{}"])
@pytest.mark.parametrize("n_runs", [21, 1200])
def test_more_runs_than_are_kept_apart_are_refused_too(tmp_path: Path, value: str, n_runs: int) -> None:
    rows = [{"run_id": value.format(at), "step": at, "loss": 1 / at} for at in range(1, n_runs + 1)]
    (item,) = planned(tmp_path, "log.csv", csv_of(rows), MAPPING).quarantined
    assert item.rule == Rule.VALUES_DISAGREE
    assert "run_id has more than 20 values, so its rows are of several runs" in item.message
    assert 'add to the mapping: column = "run_id"   # under [run]; if all are one run, run_id = ""' in item.message
    for line, trials in (('run.column = "run_id"', n_runs), ('metrics.run_id = ""', 1)):
        mapping = MAPPING.replace("run = {", 'run = { column = "run_id",') if line.startswith("run") else MAPPING
        told = planned(tmp_path, "log.csv", csv_of(rows), mapping + line * line.startswith("metrics"))
        assert (told.quarantined, [study.trials for study in told.studies.values()]) == ([], [trials])


@pytest.mark.parametrize(
    "rows",
    [
        [{"step": s, "loss": s, "seed": 1} for s in (1, 2)],
        [{"seed": 1, "step": 1, "loss": 1}, {"step": 2, "loss": 2}],
        [{"step": s, "loss": s, "train": s + 0.5, "stage": s / 4} for s in (1, 2)],
        [{"step": s, "loss": s, "val/rank": s} for s in (1, 2)],
        [{"step": s, "loss": s, "val": s} for s in (1, 2)],
        [{"step": s, "loss": s, "note": "saved"} if s % 2 else {"step": s, "loss": s} for s in (1, 2, 3)],
        [{"step": s, "loss": s, "is_best": s % 2 == 0} for s in (1, 2, 3)],
        [{"split": "val", "step": s, "val_loss": s} for s in (1, 2)] + [{"step": s, "loss": s} for s in (1, 2)],
    ],
)
def test_rows_that_can_only_be_read_one_way_are_stored(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    plan = planned(tmp_path, "log.jsonl", objects(*rows), MAPPING)
    assert (plan.quarantined, [study.trials for study in plan.studies.values()]) == ([], [1])


def test_another_split_keeps_the_unit_of_its_column(tmp_path: Path) -> None:
    rows = [{"split": split, "step": s, "acc": 50} for s in (1, 2) for split in ("val", "test")]
    lines = '\n[metrics]\nacc = { metric = "val/accuracy", scale = 0.01 }\n'
    plan = planned(tmp_path, "log.jsonl", objects(*rows), MAPPING + lines)
    told = planned(tmp_path, "log.jsonl", objects(*rows), followed(MAPPING + lines, plan))
    expected = [[(1, 0.5), (2, 0.5)]]
    assert (told.quarantined, curves(told)) == ([], {"val/accuracy": expected, "test/accuracy": expected})


def test_a_column_that_the_mapping_uses_otherwise_tells_nothing_apart(tmp_path: Path) -> None:
    rows = [{"step": s, "loss": s, "rank": s, "trial": s} for s in (1, 2)]
    lines = '\n[metrics]\nrank = "val/rank"\n[time]\nelapsed_s = "trial"\n'
    plan = planned(tmp_path, "log.jsonl", objects(*rows), MAPPING + lines)
    assert (plan.quarantined, curves(plan)["val/rank"]) == ([], [[(1, 1.0), (2, 2.0)]])


def test_a_split_of_some_rows_is_no_field_of_others(tmp_path: Path) -> None:
    rows: Rows = [{"step": 1, "loss": 1}, {"step": 1, "split": "val", "acc": 0.5}]
    lines = '\n[metrics]\nloss = "{split}/loss"\nacc = "{split}/accuracy"\n'
    plan = planned(tmp_path, "log.jsonl", objects(*rows), MAPPING + lines)
    assert curves(plan) == {"val/accuracy": [[(1, 0.5)]]}
    assert any("its metric needs {split}, which is unknown" in remark for remark, _ in plan.sources[0].remarks)
