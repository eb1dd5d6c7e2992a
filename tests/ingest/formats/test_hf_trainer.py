from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule, SourceBroken
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.hf_trainer import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.sources.open import open_source
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.offers import tar_bytes, written

Entry = dict[str, Any]
TRAIN: Entry = {"epoch": 0.1, "grad_norm": 3.09, "learning_rate": 4.5e-05, "loss": 1.2893, "step": 100}
EVAL: Entry = {"epoch": 0.1, "eval_loss": 0.7435560822486877, "eval_accuracy": 0.875, "eval_runtime": 3.6, "step": 100}
LATER: Entry = {"epoch": 0.2, "grad_norm": 2.01, "learning_rate": 4.1e-05, "loss": 0.4233, "step": 200}
FINAL: Entry = {"epoch": 0.2, "total_flos": 1e15, "train_loss": 0.85, "train_runtime": 12.5, "step": 200}
FOLDERS = ("out", "out/checkpoint-100", "out/checkpoint-200")


def trainer_state() -> Any:
    """The Trainer's own class; to import it takes seconds."""
    from transformers.trainer_callback import TrainerState

    return TrainerState


def saved(folder: Path, history: list[Entry], **state: Any) -> bytes:
    """The file that the Trainer itself writes."""
    state["log_history"] = history
    trainer_state()(**state).save_to_json(str(folder / "saved.json"))
    return (folder / "saved.json").read_bytes()


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    return saved(tmp_path, [TRAIN, EVAL, LATER, FINAL], global_step=200, max_steps=200, train_batch_size=32)


def test_a_run_has_a_row_per_entry_and_a_column_per_name(tmp_path: Path, whole: bytes) -> None:
    (run,) = runs(FORMAT, tmp_path / "logs", {"out/trainer_state.json": whole})
    assert run.run == "out"
    (rows,) = run.rows
    assert cells(rows, "step") == [100, 100, 200, 200]
    assert cells(rows, "loss") == [1.2893, None, 0.4233, None]
    assert cells(rows, "eval_loss") == [None, 0.7435560822486877, None, None]
    assert cells(rows, "train_loss") == [None, None, None, 0.85]
    assert "step" not in rows.missing


def test_checkpoints_of_a_run_are_one_run_and_the_longest_history_counts(tmp_path: Path) -> None:
    files = {
        "out/checkpoint-100/trainer_state.json": saved(tmp_path, [TRAIN, EVAL], global_step=100, max_steps=200),
        "out/checkpoint-200/trainer_state.json": saved(tmp_path, [TRAIN, EVAL, LATER], global_step=200, max_steps=300),
        "other/checkpoint-100/trainer_state.json": saved(tmp_path, [TRAIN], global_step=100, max_steps=200),
    }
    other, run = runs(FORMAT, tmp_path / "logs", files)
    assert (other.run, run.run) == ("other", "out")
    assert cells(run.rows[0], "step") == [100, 100, 200]
    assert run.status == "stopped"
    assert sorted(run.files) == ["out/checkpoint-100/trainer_state.json", "out/checkpoint-200/trainer_state.json"]
    assert run.remarks == {"shorter history of the same run: skipped": 1}


def test_history_of_a_different_restart_is_remarked(tmp_path: Path) -> None:
    other: Entry = {**LATER, "loss": 0.5}
    files = {
        "out/checkpoint-200/trainer_state.json": saved(tmp_path, [TRAIN, other], global_step=200),
        "out/trainer_state.json": saved(tmp_path, [TRAIN, LATER, FINAL], global_step=200),
    }
    (run,) = runs(FORMAT, tmp_path / "logs", files)
    assert list(run.remarks.values()) == [1, 1]
    assert cells(run.rows[0], "loss") == [1.2893, 0.4233, None]


def test_equal_histories_prefer_the_furthest_step_then_the_file_outside_checkpoints(tmp_path: Path) -> None:
    files = {
        "out/checkpoint-100/trainer_state.json": saved(tmp_path, [TRAIN], global_step=100, trial_name="first"),
        "out/checkpoint-199/trainer_state.json": saved(tmp_path, [TRAIN], global_step=199, trial_name="second"),
        "out/trainer_state.json": saved(tmp_path, [TRAIN], global_step=199, trial_name="third"),
    }
    (run,) = runs(FORMAT, tmp_path / "logs", files)
    assert run.fields["trial_name"] == "third"
    del files["out/trainer_state.json"]
    (run,) = runs(FORMAT, tmp_path / "logs2", files)
    assert run.fields["trial_name"] == "second"


def test_run_with_all_steps_or_a_logged_end_is_finished(tmp_path: Path) -> None:
    files = {
        "a/trainer_state.json": saved(tmp_path, [TRAIN], global_step=200, max_steps=200),
        "b/trainer_state.json": saved(tmp_path, [TRAIN], global_step=199, max_steps=200),
        "c/trainer_state.json": saved(tmp_path, [TRAIN, FINAL], global_step=199, max_steps=200),
        "d/trainer_state.json": saved(tmp_path, [TRAIN], global_step=0, max_steps=0),
    }
    statuses = [run.status for run in runs(FORMAT, tmp_path / "logs", files)]
    assert statuses == ["finished", "stopped", "finished", "stopped"]


def test_fields_and_the_parameters_of_a_search_are_kept_and_paths_are_not(tmp_path: Path) -> None:
    data = saved(
        tmp_path,
        [TRAIN],
        global_step=7,
        train_batch_size=32,
        trial_params={"learning_rate": 1e-4, "layers": [1]},
        best_model_checkpoint="/home/someone/out/checkpoint-5",
    )
    (run,) = runs(FORMAT, tmp_path / "logs", {"checkpoint-7/trainer_state.json": data})
    assert run.run == "."
    assert run.fields["train_batch_size"] == run.fields["per_device_train_batch_size"] == 32
    assert run.fields["global_step"] == 7
    assert run.parameters == {"learning_rate": 1e-4}
    assert "someone" not in str(run)
    assert run.private == ["paths of the machine"]


def test_nan_and_infinity_are_values_and_null_is_missing(tmp_path: Path) -> None:
    history: list[Entry] = [
        {"step": 1, "loss": math.nan},
        {"step": 2, "loss": math.inf},
        {"step": 3, "loss": -math.inf},
    ]
    files = {"trainer_state.json": saved(tmp_path, [*history, {"step": 4, "loss": None}])}
    (run,) = runs(FORMAT, tmp_path / "logs", files)
    nan, *others = cells(run.rows[0], "loss")
    assert nan is not None
    assert math.isnan(nan)
    assert others == [math.inf, -math.inf, None]


def test_non_numeric_values_are_dropped_and_counted(tmp_path: Path) -> None:
    history = [{"step": 1, "loss": "1.5", "note": "warm"}, {"step": 2, "loss": 10**400}, 7, {"step": True}]
    data = json.dumps({"log_history": history}).encode()
    (run,) = runs(FORMAT, tmp_path, {"trainer_state.json": data})
    assert cells(run.rows[0], "step") == [1, 2, None]
    assert cells(run.rows[0], "loss") == [None, math.inf, None]
    assert run.remarks == {
        "value that isn't a number: left out": 3,
        "entry of log_history that isn't an object: left out": 1,
    }


numbers = st.one_of(st.floats(), st.integers(-(2**80), 2**80), st.none())
entry = st.dictionaries(st.sampled_from(["step", "loss", "eval_loss", "ä"]), numbers)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(entry, min_size=1, max_size=6))
def test_every_cell_is_the_float_that_the_library_reads_back(tmp_path: Path, history: list[Entry]) -> None:
    data = saved(tmp_path, history)
    found = read(FORMAT, tmp_path / "logs", {"trainer_state.json": data})
    loaded = trainer_state().load_from_json(str(tmp_path / "saved.json")).log_history
    names = {name for row in loaded for name in row}
    if not names:
        assert isinstance(found[0], Quarantined)
        return
    assert isinstance(found[0], RunLog)
    (rows,) = found[0].rows
    assert set(rows.columns) == names
    for name in names:
        expected = [row.get(name) for row in loaded]
        assert repr(cells(rows, name)) == repr([None if value is None else float(value) for value in expected])


def test_a_state_cut_short_anywhere_is_quarantined_and_its_checkpoint_counts(tmp_path: Path, whole: bytes) -> None:
    checkpoint = saved(tmp_path, [TRAIN], global_step=100)
    for end in range(len(whole.rstrip())):
        files = {"out/trainer_state.json": whole[:end], "out/checkpoint-100/trainer_state.json": checkpoint}
        refused, run = read(FORMAT, tmp_path / "logs", files)
        assert isinstance(refused, Quarantined)
        assert (refused.rule, refused.path) == (Rule.UNREADABLE_LOG, "out/trainer_state.json")
        assert refused.line is not None
        assert isinstance(run, RunLog)
        assert cells(run.rows[0], "loss") == [1.2893]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[]", Rule.UNREADABLE_LOG),
        ('{"log_history": 7}', Rule.UNREADABLE_LOG),
        ('{"log_history": []}', Rule.NO_MEASUREMENTS),
        ('{"log_history": [{}]}', Rule.NO_MEASUREMENTS),
        ("[" * 100_000, Rule.UNREADABLE_LOG),
        ('{"log_history": [' + "9" * 5000 + "]}", Rule.UNREADABLE_LOG),
    ],
)
def test_other_json_is_quarantined(tmp_path: Path, text: str, rule: Rule) -> None:
    (refused,) = read(FORMAT, tmp_path, {"trainer_state.json": text.encode()})
    assert isinstance(refused, Quarantined)
    assert refused.rule == rule
    assert "\n" not in refused.message


def test_a_table_with_far_more_cells_than_the_file_has_values_is_quarantined(tmp_path: Path) -> None:
    data = json.dumps({"log_history": [{str(number): 1} for number in range(6000)]}).encode()
    (refused,) = read(FORMAT, tmp_path, {"trainer_state.json": data})
    assert isinstance(refused, Quarantined)
    assert "6,000 rows of 6,000 columns" in refused.message


def test_an_archive_cut_short_gives_the_runs_before_the_break(tmp_path: Path, whole: bytes) -> None:
    archive = tar_bytes({f"{name}/trainer_state.json": whole for name in ("a", "b")})
    source = open_source(written(tmp_path / "cut.tar", archive[: 512 + len(whole) + 600]))
    found = FORMAT.read(source, LogMapping())
    assert isinstance(next(found), RunLog)
    with pytest.raises(SourceBroken, match=r"cut short after a/trainer_state\.json"):
        next(found)


@pytest.mark.parametrize(
    ("path", "start", "sureness"),
    [
        ("out/trainer_state.json", b'{\n  "best_metric": null,\n  "log_history": [', 0.95),
        ("out/trainer_state.json", b'{"a": ' + b"1" * 4000, 0.5),
        ("out/config.json", b'{"model_type": "bert"}', 0.0),
    ],
)
def test_trainer_state_is_detected_by_its_history(path: str, start: bytes, sureness: float) -> None:
    assert FORMAT.detect(Glimpse(path, start)) == sureness


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
states = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("log_history", "global_step", "max_steps", "trial_params", "epoch"), json_values)
)
histories = st.fixed_dictionaries({"log_history": st.lists(json_values | entry, max_size=4)})
anything = st.one_of(st.binary(max_size=200), states.map(lambda value: json.dumps(value).encode()))


def check_any_bytes(folder: Path, first: bytes, second: bytes, at: float, noise: bytes) -> None:
    position = int(at * len(first))
    spoiled = first[:position] + noise + first[position + len(noise) :]
    files = {f"{name}/trainer_state.json": data for name, data in zip(FOLDERS, (first, second, spoiled), strict=True)}
    for item in read(FORMAT, folder, files):
        assert isinstance(item, RunLog | Quarantined)
        if isinstance(item, RunLog):
            assert (
                {len(column) for column in item.rows[0].columns.values()} == {len(item.rows[0].columns["step"])}
                if ("step" in item.rows[0].columns)
                else True
            )
            assert str(item).encode()


offered = {
    "first": anything | histories.map(lambda value: json.dumps(value).encode()),
    "second": anything,
    "at": st.floats(0, 1),
    "noise": st.binary(max_size=3),
}


@settings(suppress_health_check=list(HealthCheck))
@given(**offered)
def test_any_bytes_end_in_runs_or_reasons(tmp_path: Path, first: bytes, second: bytes, at: float, noise: bytes) -> None:
    check_any_bytes(tmp_path, first, second, at, noise)


@pytest.mark.fuzz
@settings(max_examples=15_000, suppress_health_check=list(HealthCheck))
@given(**offered)
def test_many_bytes_end_in_runs_or_reasons(
    tmp_path: Path, first: bytes, second: bytes, at: float, noise: bytes
) -> None:
    check_any_bytes(tmp_path, first, second, at, noise)
