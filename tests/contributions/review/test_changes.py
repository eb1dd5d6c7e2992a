from __future__ import annotations

from pathlib import Path

import pytest

from losslake_contributions.review.changes import DraftChanges, StepsAt, changes
from losslake_contributions.review.changes_text import as_text
from losslake_contributions.review.draft import make_draft
from tests.contributions.made_runs import ERROR, GOALS, curve, lake_of, name_of, write_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> DraftChanges:
    """A batch size that gets faster, one that is new, and one that stays."""
    tmp_path = tmp_path_factory.mktemp("made")
    for number, (batch_size, values) in enumerate({8: [0.9, 0.8, 0.7, 0.2], 16: [0.9, 0.2], 32: [0.9, 0.25]}.items()):
        write_run(tmp_path / "stored", number, curve(values), batch_size=batch_size, goals=GOALS)
    base = lake_of(tmp_path / "base", tmp_path / "stored")
    runs = tmp_path / "runs"
    spools = [
        write_run(runs, 11, curve([0.9, 0.8, 0.1]), parameters={"lr": 0.1, "warm": True}, goals=GOALS),
        write_run(runs, 12, curve([0.9, 0.5]), batch_size=64, parameters={"lr": 0.2, "warm": True}, goals=GOALS),
        write_run(runs, 13, [{"step": 0, ERROR: 7.0}], goals=GOALS),
    ]
    return changes(make_draft(tmp_path / "lake", spools, base))


def test_steps_by_batch_size_before_and_after(made: DraftChanges) -> None:
    (goal,) = made.goals
    assert goal.points == (
        StepsAt(8, 30, 20, 1, 2, True),
        StepsAt(16, 10, 10, 1, 1, False),
        StepsAt(32, 10, 10, 1, 1, False),
        StepsAt(64, None, None, None, None, False),
    )
    assert [point.is_changed for point in goal.points] == [True, False, False, False]


def test_studies_and_trials_that_are_new(made: DraftChanges) -> None:
    assert [(each.study, each.n_before, each.n_after) for each in made.studies] == [
        ("small/mnist/cnn/sgd/64", None, 1),
        ("small/mnist/cnn/sgd/8", 1, 2),
    ]
    assert [(each.trial, each.run, each.metrics) for each in made.trials] == [
        ("small/mnist/cnn/sgd/8/2", name_of(11), (ERROR,)),
        ("small/mnist/cnn/sgd/64/1", name_of(12), (ERROR,)),
    ]


def test_new_best_trials(made: DraftChanges) -> None:
    assert [(each.batch_size, each.before, each.after, each.run) for each in made.best] == [
        (8, 0.2, 0.1, name_of(11)),
        (64, None, 0.5, name_of(12)),
    ]


def test_quarantined_runs_have_their_reasons(made: DraftChanges) -> None:
    assert [(each.path, each.rule) for each in made.quarantined] == [(name_of(13), "out_of_range")]


def test_the_text_says_all_of_it(made: DraftChanges) -> None:
    text = "\n".join(as_text(made))
    for part in (
        "30 →",
        "20  changed by a new trial",
        "new study",
        "out_of_range",
        "lr=0.1",
        "all runs      warm=true",
    ):
        assert part in text, part


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> DraftChanges:
    """A run of one batch size, without stored ones."""
    tmp_path = tmp_path_factory.mktemp("alone")
    spool = write_run(tmp_path / "runs", 1, curve([0.9, 0.2]), goals=GOALS)
    return changes(make_draft(tmp_path / "lake", [spool]))


def test_a_draft_without_a_base_has_only_what_is_after(alone: DraftChanges) -> None:
    assert [(point.before, point.after) for point in alone.goals[0].points] == [(None, 10)]
    assert alone.goals[0].before.critical_batch_size is None


def test_a_single_batch_size_has_unknown_regimes(alone: DraftChanges) -> None:
    text = list(as_text(alone))
    assert "  batch size         8:       none →         10  changed by a new trial" in text
    assert "  perfect scaling ends: unknown → unknown" in text
    assert "  largest useful batch size: unknown → unknown" in text


def test_a_draft_without_a_stored_run_says_that_nothing_changes(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, [{"step": 0, ERROR: 7.0}])
    text = list(as_text(changes(make_draft(tmp_path / "lake", [spool]))))
    assert text[0] == "no run can be stored: nothing changes"
