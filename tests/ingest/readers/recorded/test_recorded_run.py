"""Runs that losslake.record really wrote, as the ingest reads them: steps, values and licences as people give them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import losslake.record
from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from losslake_ingest.run import ingest
from losslake_schema.names import CHANGES
from tests.ingest.stored_rows import stored_rows


def statuses(planned: IngestPlan) -> list[dict[str, int]]:
    return [dict(study.statuses) for study in planned.studies.values()]


def recorded(folder: Path, calls: Iterable[tuple[Any, ...]], **facts: Any) -> IngestPlan:
    """Return the plan of a run that is really recorded."""
    start = {"workload": "mine/mnist/cnn/sgd", "batch_size": 64, "licence": "CC0-1.0", **facts}
    with losslake.record.start(folder=folder, **start) as run:
        for call in calls:
            run.log(*call)
    return plan_ingest(None, [folder], Request())


def test_a_step_that_goes_back_to_a_middle_value_unannounced_is_incomplete(tmp_path: Path) -> None:
    steps = [*range(100), *range(50, 100)]
    planned = recorded(tmp_path, [({"val/loss": 1.0 / (step + 1)}, step) for step in steps])
    assert statuses(planned) == [{"INCOMPLETE": 1}]
    (damage,) = planned.quarantined
    assert damage.rule == "damaged_log"
    assert "and run.rewind(step) where training went back" in damage.message


def test_a_metric_logged_by_epoch_is_refused_unless_a_mapping_says_so(tmp_path: Path) -> None:
    calls: list[tuple[Any, ...]] = []
    for epoch in range(3):
        calls += [({"train/loss": 1.0}, 100 * epoch + step) for step in range(100)] + [({"val/loss": 0.5}, epoch)]
    (refused,) = recorded(tmp_path, calls).quarantined
    assert refused.rule == "step_doubtful"
    assert "the step of val/loss rises by one where that of other metrics rises by more" in refused.message
    (tmp_path / "losslake.toml").write_text(
        '[[axis]]\ncolumn = "step"\nmetrics = ["val/loss"]\ncounts = "epochs"\nepoch_size = 6400\noffset = 1\n'
    )
    planned = plan_ingest(None, [tmp_path], Request())
    assert [each for each in planned.quarantined if each.rule != "damaged_log"] == []
    assert statuses(planned) == [{"INCOMPLETE": 1}]


def test_what_is_no_number_is_noted_and_the_run_is_complete(tmp_path: Path) -> None:
    planned = recorded(
        tmp_path,
        [({"val/loss": 1.0 / step, "val/x": None, "note": "a"}, step) for step in range(1, 9)],
    )
    assert statuses(planned) == [{"COMPLETE": 1}]
    assert planned.quarantined == []
    noted = {remark.partition(" (first in")[0]: n for source in planned.sources for remark, n in source.remarks}
    assert noted["value of val/x that is no number (None): left out by the recorder"] == 8
    assert noted["value of note that is no number (text): left out by the recorder"] == 8


def test_steps_counted_in_calls_are_refused_until_something_says_what_they_count(tmp_path: Path) -> None:
    calls = [({"val/loss": 1.0},)] * 10
    (refused,) = recorded(tmp_path / "calls", calls).quarantined
    assert (refused.rule, refused.message.partition(",")[0]) == (
        "step_unknown",
        "_step counts calls of the logger unless the training gives it",
    )
    (tmp_path / "calls" / "losslake.toml").write_text('[[axis]]\ncolumn = "_step"\ncounts = "updates_from_zero"\n')
    assert statuses(plan_ingest(None, [tmp_path / "calls"], Request())) == [{"COMPLETE": 1}]
    stated = recorded(tmp_path / "stated", calls, updates_per_log=5)
    assert (statuses(stated), stated.quarantined) == ([{"COMPLETE": 1}], [])


def test_learning_rates_and_epochs_are_no_metrics(tmp_path: Path) -> None:
    planned = recorded(tmp_path, [({"val/loss": 1.0, "lr": 0.1, "epoch": 1}, step) for step in range(5)])
    assert (statuses(planned), planned.quarantined) == ([{"COMPLETE": 1}], [])


def test_a_run_never_changes_the_licence_of_a_stored_collection(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")

    def ingested(name: str, licence: str | None, mapping: str = "") -> tuple[str, list[str]]:
        """The stored licence after an ingest of a run, and the remarks on licences."""
        folder = tmp_path / name
        recorded(folder, [({"val/loss": 1.0}, 1)], licence=licence, batch_size=len(name))
        if mapping:
            (folder / "losslake.toml").write_text(mapping)
        summary = ingest(lake, [folder])
        (row,) = [each for each in stored_rows(lake, "collections") if each["collection"] == "mine"]
        noted = [remark for source in summary.sources for remark, _ in source.remarks if "licence" in remark]
        return row["licence"], noted

    assert ingested("a", "CC-BY-4.0") == ("CC-BY-4.0", [])
    licence, (noted,) = ingested("bb", "MIT")
    assert licence == "CC-BY-4.0"
    assert noted.startswith(
        "run whose licence 'MIT' isn't that of the collection mine, 'CC-BY-4.0', which a run doesn't change, but"
    )
    assert ingested("ccc", None) == ("CC-BY-4.0", [])
    assert ingested("dddd", "MIT", '[collection]\nlicence = "CC0-1.0"\n')[0] == "CC0-1.0"


def test_a_batch_size_that_changes_is_recorded_by_step(tmp_path: Path) -> None:
    pieces = [(0, 64), (2, 128)]
    for lr, batch_size in enumerate((pieces, [(0, 64), (2, 64)])):
        parameters = {"learning_rate": lr}
        with losslake.record.start(
            workload="mine/mnist/cnn/sgd", batch_size=batch_size, parameters=parameters, folder=tmp_path / "runs"
        ) as run:
            run.log({"val/loss": 0.5}, step=3)
    with losslake.record.start(
        workload="mine/mnist/cnn/sgd",
        batch_size=pieces,
        resume=_of(tmp_path / "runs", "batch_schedule"),
        folder=tmp_path / "runs",
    ) as again:
        again.log({"val/loss": 0.25}, step=4)
    lake = Lake.create(tmp_path / "lake")
    assert not ingest(lake, [tmp_path / "runs"]).quarantined
    rows = read_small_table(lake.store, lake.files(lake.release()), "trials").to_pylist()
    stored = {row["batch_size"]: dict(row["attributes"]) for row in rows}
    assert stored == {64: {}, CHANGES: {"batch_schedule": "[[0, 64], [2, 128]]", "batch_schedule_name": '"64-128"'}}


def _of(folder: Path, key: str) -> str:
    return next(path.parent.name for path in folder.glob("*/run.json") if key in json.loads(path.read_text()))
