"""The committed archive keeps what goals.toml and README.md say of it."""

from pathlib import Path

import pytest

from losslake.index.serving import open_release
from studies.reading import StoredStudy, read_archive
from studies.report import ARCHIVE_FILE, GOALS_FILE, Goal, load_goals, report, steps_to_result
from studies.workloads import load_workloads
from tests.bundled import bundled_lake

GOALS = load_goals()
README = Path(GOALS_FILE).with_name("README.md").read_text(encoding="utf-8")
Studies = dict[str, dict[int, StoredStudy]]


@pytest.fixture(scope="module")
def studies() -> Studies:
    return read_archive(ARCHIVE_FILE)


def test_the_archive_has_at_most_10_megabytes() -> None:
    assert ARCHIVE_FILE.stat().st_size <= 10_000_000


def test_archive_has_every_trial_of_workloads_toml_and_as_many_as_the_readme(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    lake = bundled_lake(tmp_path_factory)
    with open_release(lake, lake.release()) as connection:
        query = "SELECT dataset, model, optimizer, batch_size, trial_id FROM trials"
        found = connection.execute(query).fetchall()
    planned = {
        (*workload.path.split("/"), size, trial)
        for workload in load_workloads()
        for size in workload.batch_sizes
        for trial in range(1, workload.trials + 1)
    }
    assert len(found) == len(planned)
    assert set(found) == planned
    assert f"{len(found):,} training runs" in README


@pytest.mark.slow
def test_the_archive_holds_every_workload_batch_size_and_trial_of_workloads_toml(studies: Studies) -> None:
    planned = {
        workload.path: {size: range(1, workload.trials + 1) for size in workload.batch_sizes}
        for workload in load_workloads()
    }
    assert {path: sorted(by_size) for path, by_size in studies.items()} == {
        path: sorted(by_size) for path, by_size in planned.items()
    }
    for path, by_size in studies.items():
        assert all(list(study.trials) == list(planned[path][size]) for size, study in by_size.items())


@pytest.mark.slow
def test_every_study_was_trained_as_workloads_toml_says(studies: Studies) -> None:
    for workload in load_workloads():
        for size, study in studies[workload.path].items():
            assert study.description["train_steps"] == workload.train_steps(size)
            configs = study.description["parameter_configs"]
            assert {name: (row["min_value"], row["max_value"], row["scale"]) for name, row in configs.items()} == {
                name: (row.min_value, row.max_value, row.scale) for name, row in workload.ranges(size).items()
            }


@pytest.mark.slow
def test_complete_trials_ran_to_the_end_and_infeasible_ones_stopped_before(studies: Studies) -> None:
    for by_size in studies.values():
        for study in by_size.values():
            train_steps = study.description["train_steps"]
            for trial in study.trials.values():
                last, steps = int(trial.rows[-1][0]), trial.metadata["steps"]
                if trial.metadata["status"] == "COMPLETE":
                    assert last == steps == train_steps
                else:
                    assert trial.metadata["status"] == "INFEASIBLE"
                    assert last < steps <= train_steps


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: f"{goal.workload} {goal.metric} {goal.target}")
class TestEveryGoal:
    def test_is_reached_at_every_batch_size_except_those_listed(self, goal: Goal, studies: Studies) -> None:
        missing = sorted(set(studies[goal.workload]) - set(steps_to_result(studies[goal.workload], goal)))
        assert missing == sorted(goal.not_reached)

    def test_is_crossed_where_the_best_trial_is_resolved_to_better_than_a_tenth(
        self, goal: Goal, studies: Studies
    ) -> None:
        for study in studies[goal.workload].values():
            found = study.best(goal.metric, goal.target)
            if found:
                _, before, step = found
                assert before is not None
                assert (step - before) / step < 0.1


def test_all_workloads_share_one_goal() -> None:
    targets = {(goal.metric, goal.target) for goal in GOALS}
    assert any(
        {goal.workload for goal in GOALS if (goal.metric, goal.target) == shared}
        == {workload.path for workload in load_workloads()}
        for shared in targets
    )


@pytest.mark.slow
def test_the_readme_counts_trials_and_divergence_as_the_archive_does(studies: Studies) -> None:
    trials = [trial for by_size in studies.values() for study in by_size.values() for trial in study.trials.values()]
    diverged = sum(trial.metadata["status"] == "INFEASIBLE" for trial in trials)
    assert f"{len(trials):,} training runs" in README
    assert f"{diverged} trials are INFEASIBLE" in README


@pytest.mark.slow
def test_the_readme_shows_the_tables_that_the_report_computes(studies: Studies) -> None:
    for table in report(studies, GOALS).split("\n\n"):
        assert table in README


def test_the_readme_gives_the_command_and_the_seeds() -> None:
    assert "python -m studies --output" in README
    assert "20190807" in README
