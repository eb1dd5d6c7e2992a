from studies.reading import StoredStudy, StoredTrial
from studies.report import Goal, steps_to_result

METRIC = "val/classification_error"


def study(*curves: tuple[str, list[tuple[int, float]]]) -> StoredStudy:
    """Trials 1, 2, … with (status, [(step, value)])."""
    return StoredStudy(
        trials={
            trial_id: StoredTrial(
                {"status": status}, ["step", METRIC], [[str(step), str(value)] for step, value in curve]
            )
            for trial_id, (status, curve) in enumerate(curves, start=1)
        }
    )


def goal(target: float) -> Goal:
    return Goal("bundled", "digits", "softmax", "sgd", METRIC, target, "made up")


def test_a_goal_is_reached_strictly_below_its_target() -> None:
    studies = {1: study(("COMPLETE", [(0, 0.9), (10, 0.3), (20, 0.29)]))}
    assert steps_to_result(studies, goal(0.3)) == {1: 20}
    assert steps_to_result(studies, goal(0.31)) == {1: 10}


def test_a_batch_size_that_never_reaches_the_goal_is_absent() -> None:
    studies = {1: study(("COMPLETE", [(0, 0.9)])), 2: study(("COMPLETE", [(0, 0.9), (3, 0.1)]))}
    assert steps_to_result(studies, goal(0.3)) == {2: 3}


def test_only_complete_trials_count() -> None:
    studies = {1: study(("INFEASIBLE", [(5, 0.1)]), ("COMPLETE", [(0, 0.9), (50, 0.1)]))}
    assert steps_to_result(studies, goal(0.3)) == {1: 50}


def test_nan_never_reaches_a_target() -> None:
    studies = {1: study(("COMPLETE", [(5, float("nan")), (6, 0.1)]))}
    assert steps_to_result(studies, goal(0.3)) == {1: 6}


def test_ties_go_to_the_lower_trial_id_and_the_step_before_is_its_own() -> None:
    tied = study(("COMPLETE", [(9, 0.1)]), ("COMPLETE", [(0, 0.9), (7, 0.2)]), ("COMPLETE", [(6, 0.9), (7, 0.1)]))
    found = tied.best(METRIC, 0.3)
    assert found is not None
    assert found[0] is tied.trials[2]
    assert found[1:] == (0, 7)
