"""`losslake check` runs the checks of the service on folders of runs and on logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.contributions.made_runs import ERROR, curve, name_of, write_run

GOOD = [0.9, 0.7, 0.5, 0.4, 0.35, 0.29, 0.28]
PARAMETERS = {"lr": 0.1, "data": "/home/ann/mnist", "token": "hf_" + "a1" * 16}


def test_a_good_run_passes_and_private_data_is_removed_and_listed(
    losslake: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOSSLAKE_LAKE", str(tmp_path / "nowhere"))
    write_run(tmp_path / "runs", 1, curve(GOOD), parameters=PARAMETERS)
    before = {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*.json*")}
    done = losslake("check", tmp_path / "runs", "--claim", f"{ERROR}=0.3@50", "--licence", "CC0-1.0")
    assert f"removed      {name_of(1)}: parameters.data: path, now mnist" in done.stdout
    assert f"removed      {name_of(1)}: parameters.token: secret, now left out" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 run, nothing found, by version 2 of the checks: not refused"
    assert "not checked: copy_of_stored, near_copy" in done.stdout
    assert {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*.json*")} == before


def test_the_preview_has_every_byte_that_would_be_sent_and_no_private_one(losslake: Run, tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve(GOOD), parameters=PARAMETERS)
    shown = losslake("check", tmp_path / "runs", "--preview").stdout
    assert spool.segments[0].data().decode() in shown
    assert '"data": "mnist"' in shown
    assert "ann" not in shown
    assert "hf_" not in shown


def test_an_error_exits_with_1_and_says_what_to_do(losslake: Run, tmp_path: Path) -> None:
    write_run(tmp_path / "runs", 1, curve(GOOD), licence=None)
    done = losslake("check", tmp_path / "runs", "--claim", f"{ERROR}=0.3@40")
    assert done.returncode == 1
    assert f"error claim: {name_of(1)}" in done.stdout
    assert "is at step 50: claim that" in done.stdout
    assert "error licence" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("refused")


def test_the_report_is_json_for_programs(losslake: Run, tmp_path: Path) -> None:
    write_run(tmp_path / "runs", 1, curve(GOOD), parameters=PARAMETERS)
    document = json.loads(losslake("check", tmp_path / "runs", "--format", "json").stdout)
    assert document["report"]["version"] == 2
    assert document["report"]["findings"] == []
    assert {each["kind"] for each in document["removed"][name_of(1)]} == {"path", "secret"}


def test_logs_are_converted_and_what_is_not_sent_is_listed(losslake: Run, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, loss in (("a", 1.0), ("b", 0.5), ("c", 7.0)):
        lines = [json.dumps({"step": step, ERROR: loss / (1 + step)}) for step in range(6)]
        (logs / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    (logs / "losslake.toml").write_text(
        'collection = {name = "mine", licence = "MIT"}\n'
        'run = {dataset = "d", model = "m", optimizer = "o", batch_size = 8}\n'
    )
    shown = losslake("check", logs, "--changes").stdout
    assert "checked      2 runs as they would be sent" in shown
    assert "not sent     out_of_range: c.jsonl" in shown
    assert "new study     mine/d/m/o/8: 2 trials" in shown


def test_folders_without_runs_are_refused_in_one_line(losslake: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = losslake("check", tmp_path / "empty")
    assert done.returncode == 1
    assert "there is no run in" in done.stderr
    assert len(done.stderr.splitlines()) == 1
