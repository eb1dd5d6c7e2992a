from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import losslake
from losslake.lake.lake import Lake
from losslake_contributions.review.draft import Draft, make_draft, select
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from tests.conformance.corpora import ROOT
from tests.contributions.made_runs import ERROR, GOALS, curve, lake_of, name_of, write_run

BUNDLES = [ROOT / "published" / name / f"{name}.tar" for name in ("mlperf-reference", "mlperf-rcp")]
RESNET: dict[str, Any] = {
    "collection": "mine",
    "dataset": "imagenet",
    "model": "resnet",
    "optimizer": "lars",
    "batch_size": 4096,
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake.create(tmp_path_factory.mktemp("base") / "lake")
    ingest(lake, list(map(str, BUNDLES)))
    return lake


@pytest.fixture(scope="module")
def draft(base: Lake, tmp_path_factory: pytest.TempPathFactory) -> Draft:
    """A draft of a run beside the base."""
    folder = tmp_path_factory.mktemp("draft")
    return make_draft(folder / "lake", [write_run(folder / "runs", 1, curve([0.9, 0.2]), **RESNET)], base)


TABLES = {
    "trials": "*",
    "goals": "*",
    "flags": "*",
    "measurements": "collection, optimizer, batch_size, metric, trial_id, step, value, elapsed_s",
    "studies": "collection, optimizer, batch_size, batch_unit, n_trials, n_complete, train_steps, content_digest",
}


def answers(folder: Path, release: int) -> dict[str, Any]:
    """Answers about ImageNet and ResNet in a lake."""
    lake = losslake.open(folder, release)
    where = "WHERE dataset = 'imagenet' AND model = 'resnet'"
    rows: dict[str, Any] = {
        name: sorted(map(repr, lake.sql(f"SELECT {columns} FROM {name} {where}").to_dicts()))
        for name, columns in TABLES.items()
    }
    keys = ("collection", "dataset", "model", "optimizer")
    distinct = lake.sql(f"SELECT DISTINCT collection, dataset, model, optimizer FROM trials {where}").to_dicts()
    for workload in sorted("/".join(row[key] for key in keys) for row in distinct):
        for question in ("scaling", "regimes", "rcp"):
            answer = getattr(lake, question)(workload)
            facts = {name: fact for name, fact in answer.facts.items() if name != "release"}
            rows[f"{question} {workload}"] = (answer.to_dicts(), facts)
    return rows


def test_answers_about_stored_workloads_are_those_of_the_base(base: Lake, draft: Draft) -> None:
    assert (draft.before, draft.after, draft.base) == (1, 2, 1)
    stored, copied = answers(base.folder, 1), answers(draft.lake.folder, 1)
    assert len(stored["measurements"]) > 100
    assert copied == stored


def test_the_second_release_adds_the_runs_and_changes_no_stored_trial(draft: Draft) -> None:
    before, after = (losslake.open(draft.lake.folder, number) for number in (1, 2))
    statement = "SELECT * FROM trials WHERE collection != 'mine' ORDER BY ALL"
    assert after.sql(statement).to_dicts() == before.sql(statement).to_dicts()
    assert str(draft.trials[name_of(1)]) == "mine/imagenet/resnet/lars/4096/1"


def test_other_data_sets_and_models_are_not_copied(draft: Draft) -> None:
    rows = losslake.open(draft.lake.folder, 1).sql("SELECT DISTINCT dataset, model FROM trials").to_dicts()
    assert rows == [{"dataset": "imagenet", "model": "resnet"}]


def test_whole_workloads_are_copied_up_to_a_bound_those_of_the_runs_first(tmp_path: Path) -> None:
    for number, (optimizer, batch_size) in enumerate([("adam", 8), ("sgd", 8), ("sgd", 16), ("lamb", 8)]):
        write_run(tmp_path / "stored", number, curve([0.9, 0.2]), optimizer=optimizer, batch_size=batch_size)
    base = lake_of(tmp_path / "base", tmp_path / "stored")
    spool = write_run(tmp_path / "runs", 9, curve([0.9]))
    studies, left_out = select(base, base.release(), [spool], 6)
    assert sorted(map(str, studies)) == [
        "small/mnist/cnn/adam/8",
        "small/mnist/cnn/sgd/16",
        "small/mnist/cnn/sgd/8",
    ]
    assert [line.partition(":")[0] for line in left_out] == ["small/mnist/cnn/lamb"]


def test_without_a_base_there_is_one_release(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve([0.9, 0.2]))
    draft = make_draft(tmp_path / "lake", [spool])
    assert (draft.before, draft.after, draft.base) == (None, 1, None)
    assert list(draft.trials) == [name_of(1)]


def test_a_run_that_is_quarantined_gives_its_reason_and_no_release(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, [{"step": 0, ERROR: 7.0}])
    draft = make_draft(tmp_path / "lake", [spool])
    assert (draft.after, dict(draft.trials)) == (None, {})
    assert [each.rule for each in draft.quarantined] == ["out_of_range"]


def test_a_run_that_is_stored_already_is_the_same_trial(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve([0.9, 0.2]), goals=GOALS)
    base = lake_of(tmp_path / "base", tmp_path / "runs")
    draft = make_draft(tmp_path / "lake", [spool], base)
    assert list(draft.trials) == [name_of(1)]


def test_runs_in_several_folders_are_refused(tmp_path: Path) -> None:
    spools = [write_run(tmp_path / str(number), number, curve([0.9])) for number in (1, 2)]
    with pytest.raises(LossLakeError, match="runs in one folder"):
        make_draft(tmp_path / "lake", spools)
