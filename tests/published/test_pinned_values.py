"""Values in the bundles of published collections are those that their files print, read by hand at the named lines."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from losslake_ingest.bundles.short_values import SHORT, with_long_values
from tests.ingest.bundles.made_up import members
from tests.repository.checkout import ROOT

TRUNK = {"collection": "gemstones", "model": "gemstone_1024x28", "trial_id": 1}
ENDS = {"collection": "gemstones/cooldown", "model": "gemstone_1024x28"}
BASELINE = {"model": "2026-03-17_NaiveBaseline", "batch_size": 524_288}
VAL, TRAIN, BITS = "val/cross_entropy_error", "train/cross_entropy_error", "val/bits_per_byte"


def table(collection: str, name: str) -> pa.Table:
    bundle = ROOT / "published" / collection / f"{collection}.tar"
    rows = pq.read_table(pa.BufferReader(members(bundle)[f"{name}.parquet"]))
    return with_long_values(rows) if SHORT in rows.column_names else rows


def selected(rows: pa.Table, where: dict[str, Any]) -> pa.Table:
    for column, value in where.items():
        rows = rows.filter(pc.equal(rows[column], value))
    return rows


@pytest.mark.parametrize(
    ("collection", "where", "metric", "step", "value"),
    [
        ("gemstones", TRUNK, VAL, 477, 4.0399007797),  # wandb_df_for_fitting_hot_100b+_477.jsonl, line 1
        ("gemstones", TRUNK, VAL, 28_620, 2.8356053829),  # wandb_df_for_fitting_hot_120b+_only.jsonl, line 1
        ("gemstones", TRUNK | {"collection": "gemstones/lr_ablation"}, VAL, 477, 4.3373150826),  # …lr_ablation_hot_477
        ("gemstones-cooldown", ENDS, VAL, 2622, 3.0146045685),  # wandb_df_for_fitting_cool_end.jsonl, line 1
        ("parameter-golf", BASELINE, VAL, 13_780, 2.0606),  # train.log, line 439
        ("parameter-golf", BASELINE, BITS, 13_780, 1.2172),
        ("parameter-golf", BASELINE, TRAIN, 2, 16.8763),  # line 87
        ("megatron-lm", {"model": "t5_base", "trial_id": 1}, TRAIN, 100_000, 1.96186),  # t5_release, dev_dgx_gb200
        ("megatron-lm", {"model": "bert_large", "trial_id": 1}, TRAIN, 1, 10.57639),  # bert_release, dev_dgx_gb200
    ],
)
def test_a_value_is_that_of_its_file(
    collection: str, where: dict[str, Any], metric: str, step: int, value: float
) -> None:
    rows = selected(table(collection, "measurements"), where | {"metric": metric, "step": step})
    assert rows["value"].to_pylist() == [value]


@pytest.mark.parametrize(
    ("collection", "trials", "measurements"),
    [
        ("gemstones", 42, 4850),
        ("gemstones-cooldown", 199, 199),
        ("megatron-lm", 30, 135_191),
        ("parameter-golf", 155, 11_687),
    ],
)
def test_bundles_have_the_numbers_that_the_documentation_states(
    collection: str, trials: int, measurements: int
) -> None:
    rows = [table(collection, name).num_rows for name in ("trials", "studies", "measurements")]
    assert (rows[0], rows[2]) == (trials, measurements)
    line = next(line for line in (ROOT / "docs" / "published.md").read_text().splitlines() if f"`{collection}`" in line)
    assert [f"{number:,}" for number in rows] == [cell.strip() for cell in line.split("|")[4:7]]


def test_the_facts_of_a_gemstone_are_those_of_its_model() -> None:
    trials = selected(table("gemstones", "trials"), TRUNK)
    facts = dict(trials["parameters"].to_pylist()[0])
    assert facts["n_parameters"] == 543_482_880
    assert facts["n_parameters_non_embedding"] == 543_482_880 - 50_304 * 1024
    assert facts["flops_per_token"] == 3_578_148_864


def test_no_run_of_the_golden_values_has_a_loss_that_is_not_a_number() -> None:
    values = table("megatron-lm", "measurements")["value"]
    assert not pc.any(pc.is_nan(values)).as_py()
