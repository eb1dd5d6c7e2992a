"""Logs of other tools are shown as they grow, with or without what an ingest needs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from losslake_contributions.dashboard.index import RunIndex
from losslake_contributions.dashboard.runs import LiveRun
from tests.contributions.dashboard.recorded_runs import begin, loss_rows, write
from tests.ingest.formats.tensorboard_files import event, event_file, simple
from tests.ingest.formats.wandb_files import framed, history_record, run_record

MAPPING = """
[collection]
name = "local"
[run]
dataset = "digits"
model = "mlp"
optimizer = "sgd"
batch_size = "32"
[metrics]
val_loss = "val/loss"
"""


def shown(index: RunIndex) -> dict[str, LiveRun]:
    index.refresh()
    assert index.snapshot.runs is not None
    return dict(index.snapshot.runs)


def points(run: LiveRun, metric: str) -> dict[int, float]:
    series = run.series[metric]
    return dict(zip(series.step.tolist(), series.value.tolist(), strict=True))


def write_csv(file: Path, n_rows: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("step,val_loss\n" + "".join(f"{step},{1 / (1 + step)}\n" for step in range(n_rows)))


def test_runs_of_several_tools_are_shown_beside_recorded_ones(tmp_path: Path) -> None:
    write(begin(tmp_path / "recorded"), loss_rows(range(2)))
    write_csv(tmp_path / "table" / "metrics.csv", 3)
    (tmp_path / "table" / "config.json").write_text('{"learning_rate": 0.5}')
    (tmp_path / "board").mkdir()
    events = event_file(event(1.0 + step, step, simple("val/loss", 1 / (1 + step))) for step in range(4))
    (tmp_path / "board/events.out.tfevents.1.host").write_bytes(events)
    (tmp_path / "trainer").mkdir()
    history = [{"step": 10, "epoch": 0.5, "loss": 2.0}, {"step": 10, "epoch": 0.5, "eval_loss": 1.5}]
    state = {"global_step": 10, "epoch": 0.5, "log_history": history}
    (tmp_path / "trainer/trainer_state.json").write_text(json.dumps(state))
    (tmp_path / "notes.txt").write_text("nothing to see")
    runs = shown(RunIndex(tmp_path))
    assert list(runs) == ["board", "recorded", "table/metrics.csv", "trainer"]
    assert points(runs["board"], "val/loss") == pytest.approx({step: 1 / (1 + step) for step in range(4)})
    assert points(runs["table/metrics.csv"], "val/loss") == {step: 1 / (1 + step) for step in range(3)}
    assert points(runs["trainer"], "val/loss") == {10: 1.5}
    assert runs["table/metrics.csv"].name == "table/metrics.csv"
    assert runs["table/metrics.csv"].parameters == {"learning_rate": 0.5}
    assert all(
        run.workload is None and "It doesn't state " in run.notes[0] for path, run in runs.items() if path != "recorded"
    )


def test_run_has_the_name_and_group_that_its_tool_gave_it(tmp_path: Path) -> None:
    run = tmp_path / "wandb/offline-run-20250101_000000-x1"
    run.mkdir(parents=True)
    begun = run_record({}, run_id="x1", display_name="wide <b>", run_group="width")
    (run / "run-x1.wandb").write_bytes(framed([begun, history_record(1, {"val/loss": 0.5})]))
    (of_tool,) = shown(RunIndex(tmp_path)).values()
    assert (of_tool.name, of_tool.group) == ("wide <b>", "width")


def test_mapping_gives_the_facts_of_the_runs_below_it(tmp_path: Path) -> None:
    (tmp_path / "losslake.toml").write_text(MAPPING)
    write_csv(tmp_path / "runs/a/metrics.csv", 3)
    (run,) = shown(RunIndex(tmp_path)).values()
    assert (run.workload, run.batch_size, run.notes) == ("local/digits/mlp/sgd", 32, ())
    assert points(run, "val/loss") == {0: 1.0, 1: 0.5, 2: 1 / 3}


def test_only_the_runs_whose_files_changed_are_read_again(tmp_path: Path) -> None:
    for name in "abc":
        write_csv(tmp_path / "runs" / name / "metrics.csv", 3)
    index = RunIndex(tmp_path)
    first = shown(index)
    write_csv(tmp_path / "runs/b/metrics.csv", 5)
    second = shown(index)
    assert [path for path in first if first[path] is not second[path]] == ["runs/b/metrics.csv"]
    assert len(points(second["runs/b/metrics.csv"], "val/loss")) == 5
    (tmp_path / "runs/c/metrics.csv").unlink()
    write_csv(tmp_path / "runs/d/metrics.csv", 1)
    assert list(shown(index)) == [f"runs/{name}/metrics.csv" for name in "abd"]


def test_half_written_logs_say_so_and_hide_no_others(tmp_path: Path) -> None:
    write_csv(tmp_path / "good/metrics.csv", 3)
    write_csv(tmp_path / "torn/metrics.csv", 3)
    with (tmp_path / "torn/metrics.csv").open("a") as file:
        file.write("3,0.")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/metrics.csv").touch()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/trainer_state.json").write_text('{"log_history": [{"step": 1, "eval_lo')
    index = RunIndex(tmp_path)
    runs = shown(index)
    assert list(points(runs["good/metrics.csv"], "val/loss")) == [0, 1, 2]
    assert list(points(runs["torn/metrics.csv"], "val/loss"))[:3] == [0, 1, 2]
    assert all(run.notes and str(tmp_path) not in "".join(run.notes) for path, run in runs.items())
    write_csv(tmp_path / "empty/metrics.csv", 2)
    assert list(points(shown(index)["empty/metrics.csv"], "val/loss")) == [0, 1]


def test_log_with_a_status_runs_until_its_file_has_rested(tmp_path: Path) -> None:
    write_csv(tmp_path / "run/metrics.csv", 3)
    (run,) = shown(RunIndex(tmp_path)).values()
    assert (run.status, run.state_at(run.seen_at + 599), run.state_at(run.seen_at + 601)) == (None, "running", "silent")
    stopped = LiveRun("x", "x", 100.0, status="stopped", settles_after=30.0)
    assert [stopped.state_at(now) for now in (129.0, 130.0)] == ["running", "finished"]


def test_files_of_no_log_and_pipes_are_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "weights.pt").write_bytes(b"\x80\x02}q\x00.")
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 100)
    index = RunIndex(tmp_path)
    assert [run.series for run in shown(index).values()] in ([], [{}])
