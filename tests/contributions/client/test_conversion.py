from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_contributions.client.conversion import convert
from losslake_contributions.client.local_runs import local_runs
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.readers.recorded.folder import read_spool
from losslake_ingest.run import ingest
from tests.conformance.corpora import ROOT, sample
from tests.contributions.client.stored_trials import both_ways, directions_of, goals_of, trials_of
from tests.scheduled_lake import FIXED, MAPPING, THREE, TWO, write_runs

PUBLISHED = ROOT / "published"
UUID8 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
OWN = '{"step": 0, "val/loss": 2.0, "val/oddity": 1}\n{"step": 5, "val/loss": NaN, "elapsed_s": 1.5}\n'
OWN_MAPPING = """
[collection]
name = "mine"
licence = "CC0-1.0"
title = "Mine"

[run]
dataset = "mnist"
model = "cnn"
optimizer = "sgd"
batch_size = 8
batch_unit = "sequences"
train_steps = 5

[path]
patterns = ["{seed:int}/run.jsonl"]

[parameters]
learning_rate = 0.1
big = "123456789012345678901234567890"

[metrics]
"val/oddity" = { metric = "val/oddity", direction = "maximize" }

[[goal]]
metric = "val/loss"
target = 0.5
source = "a paper"
comparator = "inclusive"
"""
# Logs of each format that has some in tests/data or published, with their mapping.
LOGS: dict[str, tuple[Callable[[], Path], str | Path | None]] = {
    "json_arrays": (lambda: sample("deepobs"), "deepobs"),
    "mllog": (lambda: sample("mlperf"), "mlperf"),
    "hf_trainer": (lambda: sample("hf_trainer_state"), "hf_lora_roberta"),
    "llmc": (lambda: sample("llmc_main_log"), "llmc"),
    "text": (lambda: sample("modded_nanogpt"), PUBLISHED / "modded-nanogpt" / "losslake.toml"),
    "wandb": (lambda: sample("w2v2_wandb_csv"), "w2v2"),
    "rcps": (lambda: sample("mlperf_rcp"), PUBLISHED / "mlperf-rcp" / "losslake.toml"),
    "algoperf": (lambda: sample("algoperf"), "algoperf"),
    "bundle": (lambda: PUBLISHED / "mlperf-reference" / "mlperf-reference.tar", None),
}


QUICK = ("wandb", "hf_trainer", "bundle")


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in LOGS])
def test_spools_of_converted_logs_give_the_trials_of_the_logs(name: str, tmp_path: Path) -> None:
    place, mapping = LOGS[name]
    request = Request(mapping=Path(mapping) if mapping else None)
    direct, summary, converted, conversion = both_ways([str(place())], tmp_path, request)
    assert trials_of(converted) == trials_of(direct)
    assert conversion.left_out == []
    assert trials_of(converted).total() == len(conversion.runs) > 0
    assert goals_of(converted) == goals_of(direct)
    assert directions_of(converted) == directions_of(direct)
    assert [str(each) for each in conversion.quarantined] == [str(each) for each in summary.quarantined]


def test_runs_whose_batch_size_changes_keep_its_sizes_by_step_and_their_name(tmp_path: Path) -> None:
    named = 'schedule.name = "{warmup}"\n[[when]]\nif = { name = "s1" }\nfields = { warmup = "warm-up" }\n'
    paths = '[path]\npatterns = ["{name}/log.csv"]\n'
    runs = {"s0": THREE, "s1": THREE, "s3": TWO, "b8_0": FIXED["b8_0"]}
    logs = write_runs(tmp_path / "logs", runs, f"{MAPPING}\n{paths}".replace("[fields]", f"{named}[fields]", 1))
    direct, _, converted, conversion = both_ways([str(logs)], tmp_path)
    assert trials_of(converted) == trials_of(direct)
    assert conversion.left_out == []
    found = local_runs(conversion.runs.values())
    assert not found.faulty
    assert sorted(run.facts.batch_sizes for run in found.runs) == ["8", "8-16-32", "8-16-32", "8-64"]
    assert sorted(filter(None, (run.facts.batch_schedule_name for run in found.runs))) == ["warm-up"]


def test_every_fact_of_a_log_survives(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for seed in ("7", "08"):
        (logs / seed).mkdir(parents=True)
        (logs / seed / "run.jsonl").write_text(OWN)
    (logs / "losslake.toml").write_text(OWN_MAPPING)
    (logs / "7" / "run.jsonl").write_text(OWN.replace("2.0", "0.1"))
    direct, _, converted, conversion = both_ways([str(logs)], tmp_path)
    assert trials_of(converted) == trials_of(direct)
    assert goals_of(converted) == goals_of(direct)
    assert directions_of(converted)["val/oddity"] == "maximize"
    facts = next(iter(conversion.runs.values())).facts
    assert facts["origin"]["format"] == "jsonl"
    assert facts["batch_unit"] == "sequences"
    assert (tmp_path / "logs").name not in json.dumps(facts)


def test_converted_runs_can_be_sent_and_lose_no_fact_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "logs" / "7").mkdir(parents=True)
    (tmp_path / "logs" / "7" / "run.jsonl").write_text(OWN)
    (tmp_path / "logs" / "losslake.toml").write_text(OWN_MAPPING)
    converted = convert([str(tmp_path / "logs")], Request(), tmp_path / "out").runs
    found = local_runs(converted.values())
    assert [run.id for run in found.runs] == [*converted]
    assert not found.faulty
    facts = read_spool(tmp_path / "out" / next(iter(converted))).facts
    assert {"attributes", "directions", "train_steps", "goals", "origin"} <= facts.keys()
    assert found.runs[0].facts.model_dump(mode="json", exclude_unset=True) == facts


def test_converting_again_gives_the_same_folders_and_bytes(tmp_path: Path) -> None:
    logs = [str(PUBLISHED / "mlperf-reference" / "mlperf-reference.tar")]
    first, second = (convert(logs, Request(), tmp_path / name) for name in ("first", "second"))
    assert [*first.runs] == [*second.runs]
    assert all(map(UUID8.fullmatch, first.runs))
    for run in first.runs.values():
        for file in run.folder.rglob("*.json*"):
            assert file.read_bytes() == (tmp_path / "second" / file.relative_to(tmp_path / "first")).read_bytes()


def test_bytes_of_other_content_have_another_name(tmp_path: Path) -> None:
    names: set[str] = set()
    for value in ("2.0", "2.0000000000000004"):
        logs = tmp_path / value
        (logs / "7").mkdir(parents=True)
        (logs / "7" / "run.jsonl").write_text(OWN.replace("2.0", value))
        (logs / "losslake.toml").write_text(OWN_MAPPING)
        names |= convert([str(logs)], Request(), tmp_path / "out").runs.keys()
    assert len(names) == 2


def test_what_is_quarantined_has_the_reasons_of_the_ingest(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run.jsonl").write_text(OWN)
    conversion = convert([str(tmp_path / "logs")], Request(), tmp_path / "out")
    summary = ingest(Lake.create(tmp_path / "lake"), [str(tmp_path / "logs")])
    assert conversion.runs == {}
    assert [str(each) for each in conversion.quarantined] == [str(each) for each in summary.quarantined]
    assert "missing_fact" in str(conversion.quarantined[0])


def test_trials_without_measurements_are_left_out_and_said(tmp_path: Path, small_study: Path) -> None:
    conversion = convert([str(small_study)], Request(), tmp_path / "out")
    assert len(conversion.runs) == 1
    assert len(conversion.left_out) == 1
    assert "never evaluated" in conversion.left_out[0]


@pytest.fixture
def small_study(tmp_path: Path) -> Path:
    from tests.archives import write_workload
    from tests.oracle import Row

    metric = "val/classification_error"
    rows = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", 10, 0.2), Row(8, 2, "COMPLETE", None, None)]
    return write_workload(tmp_path / "small", "mnist/cnn/sgd", {metric: rows})
