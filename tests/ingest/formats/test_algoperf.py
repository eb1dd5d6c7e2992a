"""AlgoPerf's trial folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import losslake
from losslake.lake.lake import Lake
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.algoperf import FORMAT
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.run import ingest
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.offers import Files, unpacked

TRIAL = "amos/study_0/fastmri_tanh_jax/trial_1"
ALL = """global_step,grad_norm,loss,validation/ssim,score,accumulated_submission_time
0,5.0,0.9,,,
1,,,0.5,10.5,10.5
1,4.0,0.8,,,
20,,,0.7499999999999999,99.5,99.5
30,,,0.75,120.5,120.5
"""
EVALUATIONS = """accumulated_submission_time,global_step,score,validation/ssim
10.5,1,10.5,0.5
99.5,20,99.5,0.75
"""
META = {
    "workload.target_metric_name": "ssim",
    "workload.validation_target_value": 0.7,
    "workload.test_target_value": 0.72,
    "workload.step_hint": 36189,
    "net.host": "secret",
    "gpu.0.temp.current": 40.0,
    "gpu_count": 8,
    "gpu_model_name": "Tesla V100-SXM2-16GB",
    "workload.num_train_examples": 34742,
}
MAPPING = """
[collection]
name = "algoperf"
[path]
patterns = ["{optimizer}/study_{study:int}/{folder}/{trial}_{trial_id:int}"]
[run]
dataset = "fastmri"
model = "unet"
batch_size = 32
"""
FLAGS = {"workload": "fastmri_tanh", "framework": "jax", "data_dir": "/home/jane/data", "rng_seed": 3}


def trial(**changes: str | None) -> Files:
    files: dict[str, str | None] = {
        "measurements.csv": ALL,
        "eval_measurements.csv": EVALUATIONS,
        "hparams.json": '{"lr": 0.1, "optimizer": "amos"}',
        "meta_data_0.json": json.dumps(META),
        "flags_0.json": json.dumps(FLAGS),
    }
    files |= {name.replace("_json", ".json").replace("_csv", ".csv"): text for name, text in changes.items()}
    return {f"{TRIAL}/{name}": text.encode() for name, text in files.items() if text is not None}


def curve(run: RunLog, column: str) -> list[tuple[float | None, float]]:
    found = []
    for rows in run.rows:
        if column in rows.columns:
            pairs = zip(cells(rows, "global_step"), cells(rows, column), strict=True)
            found += [(step, value) for step, value in pairs if value is not None]
    return found


def test_eval_measurements_take_precedence_and_measurements_add_the_rest(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, trial())
    assert curve(run, "loss") == [(0.0, 0.9), (1.0, 0.8)]
    assert curve(run, "validation/ssim") == [(30.0, 0.75), (1.0, 0.5), (20.0, 0.75)]
    assert run.remarks == {"evaluation that only measurements.csv has": 1}


def test_targets_become_goals_and_hyperparameters_parameters(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, trial())
    assert [(goal.column, goal.target) for goal in run.goals] == [("validation/ssim", 0.7), ("test/ssim", 0.72)]
    assert run.parameters == {"lr": 0.1, "optimizer": "amos"}
    assert (run.fields["workload"], run.fields["framework"], run.fields["step_hint"]) == ("fastmri_tanh", "jax", 36189)


def test_accelerators_and_the_examples_of_an_epoch_are_those_of_the_metadata(tmp_path: Path) -> None:
    second = trial(meta_data_0_json=None, measurements_csv=ALL.replace("0.9", "0.95"))
    logs = unpacked(tmp_path / "logs", trial() | {path.replace("_1/", "_2/"): data for path, data in second.items()})
    (logs / "losslake.toml").write_text(MAPPING)
    lake = Lake.create(tmp_path / "lake")
    assert not ingest(lake, [logs]).quarantined
    rows = losslake.open(lake.folder).sql("FROM trial_resources ORDER BY trial_id").to_dicts()
    known = [(row["hardware"], row["accelerators"], row["examples_per_epoch"]) for row in rows]
    assert known == [("Tesla V100-SXM2-16GB", 8, 34742), (None, None, None)]


def test_machine_and_user_data_is_dropped(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, trial())
    assert "jane" not in repr(run)
    assert "secret" not in repr(run)


@pytest.mark.parametrize("lacking", ["measurements_csv", "eval_measurements_csv"])
def test_one_of_the_two_tables_is_enough(tmp_path: Path, lacking: str) -> None:
    (run,) = runs(FORMAT, tmp_path, trial(**{lacking: None}))
    assert (1.0, 0.5) in curve(run, "validation/ssim")


def test_a_trial_without_tables_is_quarantined(tmp_path: Path) -> None:
    (reason,) = read(FORMAT, tmp_path, trial(measurements_csv=None, eval_measurements_csv=None))
    assert isinstance(reason, Quarantined)
    assert (reason.rule, reason.path) == (Rule.MISSING_FILE, TRIAL)


def test_a_table_that_cant_be_read_is_quarantined_with_its_line(tmp_path: Path) -> None:
    (reason,) = read(FORMAT, tmp_path, trial(eval_measurements_csv="global_step,score\n1,2,3\n4,5\n"))
    assert isinstance(reason, Quarantined)
    assert (reason.rule, reason.path, reason.line) == (Rule.WRONG_CELL_COUNT, f"{TRIAL}/eval_measurements.csv", 2)


def test_a_bad_cell_among_numbers_is_quarantined_with_its_line(tmp_path: Path) -> None:
    (item,) = read(FORMAT, tmp_path, trial(measurements_csv=ALL.replace("0.8", "oops")))
    assert isinstance(item, Quarantined)
    assert (item.rule, item.path, item.line) == (Rule.NOT_A_NUMBER, f"{TRIAL}/measurements.csv", 4)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000])
def test_unreadable_json_file_is_skipped_and_counted(tmp_path: Path, text: str) -> None:
    (run,) = runs(FORMAT, tmp_path, trial(meta_data_0_json=text, eval_measurements_csv=None))
    assert run.goals == []
    assert run.remarks["JSON file that can't be read: skipped (in meta_data_0.json)"] == 1


def test_trials_of_several_folders_are_runs_of_their_own(tmp_path: Path) -> None:
    files = trial() | {path.replace("trial_1", "trial_2"): data for path, data in trial().items()}
    assert [run.run for run in runs(FORMAT, tmp_path, files)] == [TRIAL, TRIAL.replace("trial_1", "trial_2")]


def test_detection_requires_a_trial_folder() -> None:
    assert FORMAT.detect(Glimpse(f"{TRIAL}/measurements.csv", ALL.encode())) == 1.0
    assert FORMAT.detect(Glimpse("8/1/measurements.csv", b"step,val/loss\n")) == 0
    assert FORMAT.detect(Glimpse("a/measurements.csv", ALL.encode())) == 0


@settings(suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(trial())), st.binary(max_size=80), st.integers(0, 60))
def test_any_bytes_in_any_file_are_a_run_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, path: str, noise: bytes, at: int
) -> None:
    check(tmp_path_factory, path, noise, at)


@pytest.mark.fuzz
@settings(max_examples=16_000, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(trial())), st.binary(max_size=80), st.integers(0, 60))
def test_many_bytes_in_any_file_are_a_run_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, path: str, noise: bytes, at: int
) -> None:
    check(tmp_path_factory, path, noise, at)


def check(tmp_path_factory: pytest.TempPathFactory, path: str, noise: bytes, at: int) -> None:
    files = trial()
    files[path] = files[path][:at] + noise + files[path][at + len(noise) :]
    (item,) = read(FORMAT, tmp_path_factory.getbasetemp() / "algoperf", files)
    assert isinstance(item, (RunLog, Quarantined))
