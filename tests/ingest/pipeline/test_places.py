"""A stored trial gives way only to a run from its own place, or with its own bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts.report import Summary
from losslake_ingest.pipeline.gather import ELSEWHERE
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.ingest.offers import unpacked
from tests.ingest.one_study import MAPPING, curves, log
from tests.ingest.stored_rows import stored_rows


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "map.toml").write_text(MAPPING)
    files = {f"{month}/seed{seed}/m.csv": log(int(month == "jan"), seed) for month in ("jan", "feb") for seed in (1, 2)}
    return unpacked(tmp_path / "logs", files)


def offer(lake: Lake, *places: Path, mapping: str = "map.toml") -> Summary:
    return ingest(lake, places, Request(mapping=lake.folder.parent / mapping))


ALL = {1: [1, 1], 2: [1, 2], 3: [0, 1], 4: [0, 2]}


def test_equal_paths_of_two_sources_are_two_trials(lake: Lake, logs: Path) -> None:
    offer(lake, logs / "jan")
    assert offer(lake, logs / "feb").trials_ingested == 2
    assert curves(lake) == ALL
    assert not offer(lake, logs / "jan").published
    assert not offer(lake, logs / "feb", logs / "jan").published


def test_equal_names_of_two_single_logs_are_two_trials(lake: Lake, logs: Path) -> None:
    for seed in (1, 2):
        offer(lake, logs / f"jan/seed{seed}/m.csv")
    assert curves(lake) == {1: [1, 1], 2: [1, 2]}


@pytest.mark.parametrize(("month", "trial"), [pytest.param("jan", 1, marks=pytest.mark.slow), ("feb", 3)])
def test_a_log_that_grew_replaces_only_the_trial_of_its_place(lake: Lake, logs: Path, month: str, trial: int) -> None:
    offer(lake, logs / "jan")
    offer(lake, logs / "feb")
    (logs / month / "seed1/m.csv").write_bytes(log(int(month == "jan"), 1, 9))
    offer(lake, logs / month)
    assert curves(lake) == ALL | {trial: [*ALL[trial], 9]}


def test_relative_absolute_and_inner_paths_are_one_place(
    lake: Lake, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(logs)
    offer(lake, Path("jan"))
    monkeypatch.chdir(logs / "jan")
    for number, place in enumerate([Path(), logs / "jan", logs, Path("seed1"), Path("seed1/m.csv")]):
        Path("seed1/m.csv").write_bytes(log(1, 1, number))
        offer(lake, place)
        assert curves(lake)[1] == [1, 1, number]
    assert len(curves(lake)) == 4
    monkeypatch.chdir(logs / "feb")
    assert not offer(lake, Path()).published


def test_a_moved_folder_that_grew_later_is_one_place_with_the_former(lake: Lake, logs: Path) -> None:
    offer(lake, logs / "jan")
    offer(lake, logs / "feb")
    (logs / "feb").rename(logs / "moved")
    assert not offer(lake, logs / "moved").published
    (logs / "moved/seed1/m.csv").write_bytes(log(0, 1, 9))
    offer(lake, logs / "moved")
    assert curves(lake) == ALL | {3: [0, 1, 9]}


def test_a_trial_id_that_a_stored_run_of_another_place_has_is_refused(lake: Lake, logs: Path, tmp_path: Path) -> None:
    numbered = MAPPING.replace("batch_size = 8", 'batch_size = 8, trial_id = "{seed}"')
    (tmp_path / "seeds.toml").write_text(numbered + 'path = {patterns = ["seed{seed:int}/m.csv"]}\n')
    offer(lake, logs / "jan", mapping="seeds.toml")
    summary = offer(lake, logs / "feb", mapping="seeds.toml")
    assert [reason.rule for reason in summary.quarantined] == ["duplicate_trial"] * 2
    assert "seed1/m.csv is already trial 1" in summary.quarantined[0].message
    assert curves(lake) == {1: [1, 1], 2: [1, 2]}
    (logs / "jan/seed2/m.csv").write_bytes(log(1, 2, 9))
    offer(lake, logs / "jan", mapping="seeds.toml")
    assert curves(lake) == {1: [1, 1], 2: [1, 2, 9]}


def test_equal_logs_of_two_places_with_other_parameters_are_two_trials(lake: Lake, logs: Path, tmp_path: Path) -> None:
    (logs / "feb/seed1/m.csv").write_bytes(log(1, 1))
    for month, rate in (("jan", 0.1), ("feb", 0.2)):
        (tmp_path / f"{month}.toml").write_text(f"{MAPPING}parameters = {{learning_rate = {rate}}}\n")
        offer(lake, logs / month / "seed1", mapping=f"{month}.toml")
    rows = stored_rows(lake, "trials")
    assert sorted((row["trial_id"], dict(row["parameters"])["learning_rate"]) for row in rows) == [(1, 0.1), (2, 0.2)]
    assert not offer(lake, logs / "jan/seed1", mapping="jan.toml").published


def test_a_log_that_grew_and_is_of_another_study_now_is_named(lake: Lake, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "corrected.toml").write_text(MAPPING.replace("batch_size = 8", "batch_size = 16"))
    offer(lake, logs / "jan")
    (logs / "jan/seed1/m.csv").write_bytes(log(1, 1, 9))
    summary = offer(lake, logs / "jan", mapping="corrected.toml")
    assert (f"{ELSEWHERE} (first in seed1/m.csv)", 1) in summary.sources[0].remarks
    assert [trial.study.batch_size for trial in summary.moved.values()] == [16]
    rows = stored_rows(lake, "trials")
    assert sorted(row["batch_size"] for row in rows) == [8, 16, 16]
