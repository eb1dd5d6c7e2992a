"""Until when each trial was evaluated in a metric, which its other metrics say nothing about."""

from __future__ import annotations

import math
import random
from pathlib import Path

from losslake.index.measurement_files import measurements, scan
from losslake.lake.lake import Lake
from losslake.lake.store.folder import FolderStore
from losslake.questions import scaling, survival
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake_ingest.run import ingest
from losslake_schema.names import Workload
from tests.archives import write_workload
from tests.losslake.index.test_measurement_files import files_of
from tests.losslake.index.test_record_files import written
from tests.losslake.questions.views import answer_to
from tests.oracle import Row

SGD = Workload("shelf", "mnist", "cnn", "sgd")
LOSS, ERROR, NORM = "val/cross_entropy_error", "val/classification_error", "val/norm"


def view_of(archive: Path) -> ReleaseView:
    lake = Lake.create(archive.parent / "lake")
    ingest(lake, [archive])
    return ReleaseView.open(lake, lake.release())


def random_curves(seed: int) -> dict[str, list[Row]]:
    """Curves of three metrics at steps of their own, with NaN among the values; some trials lack some metrics."""
    chance = random.Random(seed)
    curves: dict[str, list[Row]] = {LOSS: [], ERROR: [], NORM: []}
    for batch_size in (8, 16, 32):
        for trial_id in range(1, 7):
            for metric in curves if batch_size < 32 else [ERROR]:
                steps = sorted(chance.sample(range(12), chance.randrange(9)))
                values = [chance.choice([0.5, 0.2, math.nan]) for _ in steps]
                named = zip(steps, values, strict=True)
                curves[metric] += [Row(batch_size, trial_id, "COMPLETE", step, value) for step, value in named]
    return curves


def test_last_steps_are_those_that_brute_force_finds_in_every_metric(tmp_path: Path) -> None:
    of_seed = {f"seed_{seed}": random_curves(seed) for seed in range(4)}
    for optimizer, curves in of_seed.items():
        write_workload(tmp_path / "shelf", f"mnist/cnn/{optimizer}", curves)
    view = view_of(tmp_path / "shelf")
    for optimizer, curves in of_seed.items():
        facts = view.workload(Workload("shelf", "mnist", "cnn", optimizer))
        sizes = [facts.batch_sizes[study] for study in facts.study_of_trial]
        trials = list(zip(sizes, facts.trials.trial_id.tolist(), strict=True))
        for metric, rows in curves.items():
            expected = [
                max((row.step or 0 for row in rows if (row.batch_size, row.trial_id) == trial), default=-1)
                for trial in trials
                if metric in facts.metrics[facts.batch_sizes.index(trial[0])]
            ]
            assert facts.opened.last_steps(metric)[facts.measures(metric)].tolist() == expected


def test_evaluations_are_found_however_metrics_and_trials_lie_in_row_groups(tmp_path: Path) -> None:
    rows = [(metric, trial, step, None) for metric in "abc" for trial in range(1, 5) for step in range(1, 1 + trial)]
    for size in (1, 2, 3, 7, 100):
        file = written(tmp_path / str(size), *rows, row_group_size=size)
        found: dict[tuple[str, int], int] = {}
        for metric, trial_id, step in scan(FolderStore(tmp_path), file).ends:
            for trial, last in zip(trial_id.tolist(), step.tolist(), strict=True):
                found[metric, trial] = max(last, found.get((metric, trial), 0))
        assert found == {(metric, trial): trial for metric in "abc" for trial in range(1, 5)}
        for trials in ([1], [2, 4], [3], None):
            files = files_of(FolderStore(tmp_path), [file])
            parts = measurements(FolderStore(tmp_path), files, "b", trials, ["trial_id", "step"])
            read = [tuple(row.values()) for part in parts for row in part.to_pylist()]
            assert read == [row[1:3] for row in rows if row[0] == "b" and (trials is None or row[1] in trials)]


def test_a_study_claims_nothing_about_steps_at_which_only_another_metric_was_measured(tmp_path: Path) -> None:
    losses = [Row(8, 1, "COMPLETE", step, 0.9) for step in range(0, 1001, 100)]
    errors = [Row(8, 1, "COMPLETE", step, 0.5) for step in (0, 10, 20)]
    view = view_of(write_workload(tmp_path / "shelf", "mnist/cnn/sgd", {LOSS: losses, ERROR: errors}))
    for metric, seen in ((LOSS, 1000), (ERROR, 20)):
        selection, goal = Selection((SGD,), metric), Goal(0.1)
        (row,) = answer_to(scaling.QUESTION, view, selection, goal).table().to_pylist()
        assert row["censored_at"] == seen
        curve = answer_to(survival.QUESTION, view, selection, goal).table().to_pylist()
        assert [row["step"] for row in curve if row["n_censored"]] == [seen]
