"""A mapping beside or above recorded runs counts in a push, a check and what is accepted, as it does for an ingest."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_contributions.client.conversion import Conversion, prepare
from losslake_contributions.client.local_runs import local_runs
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.contributions.client.stored_trials import directions_of, goals_of, trials_of
from tests.contributions.made_runs import name_of, write_run

MAPPING = """
[collection]
name = "mine"
licence = "CC0-1.0"

[run]
optimizer = "adamw"

[parameters]
lr = "{learning_rate}"

[metrics]
loss = "val/loss"
acc = { metric = "val/accuracy", scale = 0.01 }
private = ""

[[goal]]
metric = "val/accuracy"
target = 0.9
source = "a paper"
comparator = "inclusive"
"""
ATTEMPTS = {
    "0001": [{"step": step, "loss": 2.0 / (step + 1), "acc": 30.1 + step, "private": 1.0} for step in range(0, 50, 10)],
    "0002-from-30": [{"step": step, "loss": 0.1, "acc": 88.3 + step / 10} for step in range(30, 60, 10)],
}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for number in (1, 2):
        rows = [{**row, "loss": row["loss"] + number} for row in ATTEMPTS["0001"]]
        write_run(folder, number, ATTEMPTS | {"0001": rows}, parameters={"learning_rate": 0.1 * number, "seed": number})
    return folder


def check_sent_as_ingested(folder: Path, tmp_path: Path, request: Request) -> Conversion:
    """Compare what the service would store of the runs as they are sent with what an ingest stores of them here."""
    direct, sent = Lake.create(tmp_path / "direct"), Lake.create(tmp_path / "sent")
    ingest(direct, [str(folder)], request)
    conversion = prepare([folder], request, tmp_path / "spools")
    local = local_runs(conversion.runs.values())
    assert not local.faulty
    for run in local.runs:
        run.prepared.write(tmp_path / "received")
    assert not ingest(sent, [str(tmp_path / "received")]).quarantined
    assert trials_of(sent) == trials_of(direct)
    assert goals_of(sent) == goals_of(direct) != set()
    assert directions_of(sent) == directions_of(direct)
    return conversion


def test_runs_with_a_mapping_beside_them_are_sent_as_they_are_ingested(runs: Path, tmp_path: Path) -> None:
    (runs / "losslake.toml").write_text(MAPPING)
    conversion = check_sent_as_ingested(runs, tmp_path, Request())
    for run in conversion.runs.values():
        assert (run.facts["collection"], run.facts["optimizer"], run.facts["licence"]) == ("mine", "adamw", "CC0-1.0")
        lines = b"".join(map(run.segment, run.segments)).decode().splitlines()
        assert '"val/accuracy":0.883' not in lines[2]  # replaced from step 30 on
        assert '"val/accuracy":0.913' in lines[3]
        assert "private" not in "".join(lines)


def test_runs_are_sent_as_the_mapping_of_the_option_says(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text(MAPPING)
    check_sent_as_ingested(runs, tmp_path, Request(mapping=tmp_path / "elsewhere.toml"))


def test_a_mapping_in_a_folder_of_runs_is_only_for_these(runs: Path, tmp_path: Path) -> None:
    (runs / "group").mkdir()
    (runs / name_of(2)).rename(runs / "group" / name_of(2))
    (runs / "group" / "losslake.toml").write_text(MAPPING)
    conversion = prepare([runs], Request(), tmp_path / "spools")
    assert {run.facts["optimizer"] for name, run in conversion.runs.items() if name == name_of(1)} == {"sgd"}
    assert [run.facts["optimizer"] for name, run in conversion.runs.items() if name != name_of(1)] == ["adamw"]


def test_a_single_run_is_sent_by_the_mapping_beside_its_folder(runs: Path, tmp_path: Path) -> None:
    (runs / "losslake.toml").write_text(MAPPING)
    whole = prepare([runs], Request(), tmp_path / "whole").runs
    single = prepare([runs / name_of(1)], Request(), tmp_path / "single").runs
    assert len(single) == 1
    assert single.keys() < whole.keys()


def test_a_mapped_run_without_an_end_is_sent_only_if_asked_for(runs: Path, tmp_path: Path) -> None:
    (runs / "losslake.toml").write_text(MAPPING)
    (runs / name_of(2) / "end.json").unlink()
    conversion = prepare([runs], Request(), tmp_path / "spools")
    local = local_runs(conversion.runs.values())
    assert local.unfinished == [runs / name_of(2)]
    assert [run.end.status for run in local.runs] == ["COMPLETE"]
    every = local_runs(conversion.runs.values(), with_unfinished=True)
    assert sorted(run.end.status for run in every.runs) == ["COMPLETE", "INCOMPLETE"]


def test_what_the_recorder_dropped_leaves_a_mapped_run_incomplete(runs: Path, tmp_path: Path) -> None:
    (runs / "losslake.toml").write_text(MAPPING)
    end = runs / name_of(1) / "end.json"
    end.write_text(end.read_text().replace('"n_dropped": 0', '"n_dropped": 3'))
    sent = prepare([runs], Request(), tmp_path / "spools").runs.values()
    assert sorted(run.end["status"] for run in sent if run.end is not None) == ["COMPLETE", "INCOMPLETE"]
