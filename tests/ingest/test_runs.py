"""Single runs into a lake: they come beside the stored ones, keep their numbers, and offered again change nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts.report import Summary
from losslake_ingest.pipeline import publish as publishing
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.ingest.offers import Files, TrialOffer, study_files, tar_bytes, unpacked, written
from tests.ingest.stored_rows import stored_rows

MAPPING = b"""
[collection]
name = "mine"
licence = "CC0"
[run]
dataset = "mnist"
model = "cnn"
optimizer = "sgd"
[path]
patterns = ["b{batch_size:int}/{run}/metrics.csv"]
[[goal]]
metric = "val/loss"
target = 0.5
source = "a paper"
"""


def run_files(name: str, *rows: str, batch_size: int = 8, header: str = "step,val/loss") -> Files:
    return {f"b{batch_size}/{name}/metrics.csv": "\n".join([header, *(rows or ("0,2.5", "10,0.25")), ""]).encode()}


def offer(lake: Lake, folder: Path, files: Files, mapping: bytes = MAPPING) -> Summary:
    return ingest(lake, [unpacked(folder, {"losslake.toml": mapping, **files})])


def trials(lake: Lake) -> list[tuple[int, int, str]]:
    rows = stored_rows(lake, "trials")
    return sorted((row["batch_size"], row["trial_id"], row["source"]) for row in rows)


def curve(lake: Lake, batch_size: int, trial_id: int) -> list[tuple[int, float]]:
    rows = stored_rows(lake, "measurements")
    return sorted((r["step"], r["value"]) for r in rows if (r["batch_size"], r["trial_id"]) == (batch_size, trial_id))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


def test_runs_are_numbered_in_the_natural_order_of_their_paths(lake: Lake, tmp_path: Path) -> None:
    summary = offer(
        lake, tmp_path / "logs", run_files("run10") | run_files("run2", "0,1") | run_files("run1", "0,3", batch_size=16)
    )
    assert (summary.trials_ingested, summary.studies_ingested, summary.quarantined) == (3, 2, ())
    assert trials(lake) == [
        (8, 1, "b8/run2/metrics.csv"),
        (8, 2, "b8/run10/metrics.csv"),
        (16, 1, "b16/run1/metrics.csv"),
    ]


def test_ingesting_the_same_runs_again_changes_nothing(lake: Lake, tmp_path: Path) -> None:
    files = run_files("a") | run_files("b", "0,1")
    offer(lake, tmp_path / "logs", files)
    again = offer(lake, tmp_path / "logs", files)
    assert (again.published, again.trials_unchanged) == (False, 2)


def test_new_runs_are_added_with_the_next_numbers(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "one", run_files("m", "0,1"))
    summary = offer(lake, tmp_path / "two", run_files("a", "0,2", "1,nan"))
    assert (summary.trials_ingested, summary.trials_unchanged, summary.evaluations) == (1, 1, 2)
    assert trials(lake) == [(8, 1, "b8/m/metrics.csv"), (8, 2, "b8/a/metrics.csv")]
    assert curve(lake, 8, 1) == [(0, 1.0)]


def test_a_run_that_has_grown_keeps_its_number_and_gets_its_new_curve(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", run_files("a", "0,1") | run_files("b", "0,2"))
    summary = offer(lake, tmp_path / "logs", run_files("b", "0,2", "5,1.5"))
    assert summary.published
    assert trials(lake) == [(8, 1, "b8/a/metrics.csv"), (8, 2, "b8/b/metrics.csv")]
    assert curve(lake, 8, 2) == [(0, 2.0), (5, 1.5)]


def test_the_same_bytes_from_another_place_are_the_same_trial(lake: Lake, tmp_path: Path) -> None:
    files = run_files("a", "0,1") | run_files("b", "0,2")
    offer(lake, tmp_path / "logs", files)
    before = trials(lake)
    moved = unpacked(tmp_path / "moved" / "deeper", files).parent
    (moved / "losslake.toml").write_bytes(MAPPING)
    ingest(lake, [moved])
    assert [(size, trial) for size, trial, _ in trials(lake)] == [(size, trial) for size, trial, _ in before]


def test_equal_curves_of_two_different_logs_are_two_trials(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", run_files("a", "0,1") | run_files("b", "0,1.0"))
    assert len(trials(lake)) == 2


def test_runs_of_two_sources_in_one_ingest_share_a_study(lake: Lake, tmp_path: Path) -> None:
    folders = [
        unpacked(tmp_path / name, {"losslake.toml": MAPPING, **run_files(name, f"0,{value}")})
        for name, value in (("one", 1), ("two", 2))
    ]
    summary = ingest(lake, folders)
    assert (summary.trials_ingested, summary.studies_ingested) == (2, 1)
    assert [trial for _, trial, _ in trials(lake)] == [1, 2]


def test_two_runs_with_the_same_trial_id_are_not_both_stored(lake: Lake, tmp_path: Path) -> None:
    mapping = MAPPING.replace(b"[run]", b"[run]\ntrial_id = 7")
    summary = offer(lake, tmp_path / "logs", run_files("a", "0,1") | run_files("b", "0,2"), mapping)
    (reason,) = summary.quarantined
    assert (reason.rule, reason.path) == ("duplicate_trial", "b8/b/metrics.csv")
    assert trials(lake) == [(8, 7, "b8/a/metrics.csv")]


def test_logs_of_one_trial_with_different_metrics_are_one_trial(lake: Lake, tmp_path: Path) -> None:
    mapping = MAPPING.replace(b"[run]", b'[run]\ntrial_id = "{trial}"').replace(b"{run}/", b"t{trial:int}_{part}/")
    files = run_files("t7_train", "0,3,0", "5,2,5", "10,1,", header="step,train/loss,seconds")
    files |= run_files("t7_val", "0,4,1", "10,2,12", header="step,val/loss,seconds") | run_files("t8_val", "0,9")
    summary = offer(lake, tmp_path / "logs", files, mapping + b'[time]\nelapsed_s = "seconds"\n')
    assert (summary.trials_ingested, summary.quarantined) == (2, ())
    rows = stored_rows(lake, "measurements")
    found = sorted((r["metric"], r["step"], r["value"], r["elapsed_s"]) for r in rows if r["trial_id"] == 7)
    assert found == [
        ("train/loss", 0, 3.0, 1.0),
        ("train/loss", 5, 2.0, 5.0),
        ("train/loss", 10, 1.0, 12.0),
        ("val/loss", 0, 4.0, 1.0),
        ("val/loss", 10, 2.0, 12.0),
    ]
    assert trials(lake) == [(8, 7, "b8/t7_train/metrics.csv"), (8, 8, "b8/t8_val/metrics.csv")]
    (attributes,) = [dict(row["attributes"]) for row in stored_rows(lake, "trials") if row["trial_id"] == 7]
    assert "part" not in attributes
    assert attributes["trial"] == "7"
    assert not offer(lake, tmp_path / "logs", files, mapping + b'[time]\nelapsed_s = "seconds"\n').published


def test_a_study_keeps_one_batch_unit(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", run_files("a", "0,1"))
    tokens = MAPPING.replace(b"[run]", b'[run]\nbatch_unit = "tokens"')
    (reason,) = offer(lake, tmp_path / "more", run_files("b", "0,2"), tokens).quarantined
    assert reason.rule == "facts_disagree"
    assert len(trials(lake)) == 1


def test_run_with_missing_fields_is_quarantined_and_the_others_are_stored(lake: Lake, tmp_path: Path) -> None:
    summary = offer(lake, tmp_path / "logs", run_files("a") | {"c/metrics.csv": b"step,val/loss\n0,1\n"})
    (reason,) = summary.quarantined
    assert (reason.rule, reason.path) == ("missing_fact", "c/metrics.csv")
    assert "batch_size" in reason.message
    assert len(trials(lake)) == 1
    assert lake.ledger("quarantined")[0].format == "csv"


def test_runs_in_an_archive_are_read_with_a_mapping_beside_it(lake: Lake, tmp_path: Path) -> None:
    written(tmp_path / "runs.tar", tar_bytes(run_files("a") | run_files("b", "0,1")))
    (tmp_path / "losslake.toml").write_bytes(MAPPING)
    assert ingest(lake, [tmp_path / "runs.tar"]).trials_ingested == 2


def test_complete_runs_of_a_broken_archive_are_stored(lake: Lake, tmp_path: Path) -> None:
    data = tar_bytes(run_files("a") | run_files("b", "0,1"))
    written(tmp_path / "runs.tar", data[:1100])
    (tmp_path / "losslake.toml").write_bytes(MAPPING)
    summary = ingest(lake, [tmp_path / "runs.tar"])
    assert (summary.trials_ingested, len(summary.broken)) == (1, 1)


def test_the_elapsed_time_is_stored_where_it_is_known(lake: Lake, tmp_path: Path) -> None:
    mapping = MAPPING + b'[time]\nelapsed_s = "seconds"\n'
    files = run_files("a", "0,2,0.5", "10,1,", header="step,val/loss,seconds") | run_files("b", "0,1")
    offer(lake, tmp_path / "logs", files, mapping)
    offer(lake, tmp_path / "more", run_files("c", "0,3"), mapping)
    rows = stored_rows(lake, "measurements")
    found = {(row["trial_id"], row["step"]): row["elapsed_s"] for row in rows}
    assert found == {(1, 0): 0.5, (1, 10): None, (2, 0): None, (3, 0): None}


def test_licence_and_goals_of_the_mapping_are_stored_and_kept(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", run_files("a"))
    bare = MAPPING[: MAPPING.index(b"[[goal]]")].replace(b'licence = "CC0"', b'citation = "Me 2026"')
    offer(lake, tmp_path / "more", run_files("b", "0,1"), bare)
    (collection,) = stored_rows(lake, "collections")
    assert (collection["collection"], collection["licence"], collection["citation"]) == ("mine", "CC0", "Me 2026")
    goals = [row for row in stored_rows(lake, "goals") if row["collection"] == "mine"]
    assert [(goal["metric"], goal["target"], goal["source"]) for goal in goals] == [("val/loss", 0.5, "a paper")]


def test_a_new_licence_alone_makes_a_release(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", run_files("a"))
    summary = offer(lake, tmp_path / "logs", run_files("a"), MAPPING.replace(b"CC0", b"MIT"))
    assert (summary.published, summary.studies_ingested) == (True, 0)
    (collection,) = stored_rows(lake, "collections")
    assert collection["licence"] == "MIT"


def test_a_mapping_can_give_licence_and_goals_to_whole_studies(lake: Lake, tmp_path: Path) -> None:
    files = study_files({1: TrialOffer()})
    mapping = b"""
[collection]
licence = "MIT"
[[goal]]
metric = "val/classification_error"
target = 0.3
source = "{dataset}"
"""
    ingest(lake, [unpacked(tmp_path / "logs", {"losslake.toml": mapping, **files})])
    (collection,) = stored_rows(lake, "collections")
    assert (collection["collection"], collection["licence"]) == ("root", "MIT")
    goals = [row for row in stored_rows(lake, "goals") if row["collection"] == "root"]
    assert [goal["source"] for goal in goals] == ["mnist"]


def test_a_study_that_another_ingest_changes_meanwhile_is_read_again(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(lake, tmp_path / "first", run_files("a", "0,1"))
    real, overtakers = publishing.publish, iter([tmp_path / "second"])

    def overtaken(*arguments: object) -> object:
        other = next(overtakers, None)
        if other is not None:
            offer(lake, other, run_files("b", "0,2"))
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("losslake_ingest.run.publish", overtaken)
    offer(lake, tmp_path / "third", run_files("c", "0,3"))
    assert trials(lake) == [(8, 1, "b8/a/metrics.csv"), (8, 2, "b8/b/metrics.csv"), (8, 3, "b8/c/metrics.csv")]
    data = {path.name for path in (lake.folder / "warehouse").rglob("*.parquet")}
    shutil.rmtree(tmp_path / "third")
    assert len(data) > 0


def test_a_forced_format_reads_what_detection_would_not(lake: Lake, tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "logs", {"losslake.toml": MAPPING, "b8/a/metrics.csv": b"step,val/loss\n"})
    assert ingest(lake, [folder], Request(formats=("csv",))).quarantined[0].rule == "no_measurements"
