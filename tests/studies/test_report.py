from studies.reading import StoredStudy, StoredTrial
from studies.report import Goal, max_useful, perfect_end, steps_to_result

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


def test_break_points_of_a_hyperbola_lie_where_its_formula_puts_them() -> None:
    # S(B) = 100 (1 + 64 / B): examples exceed 1.2 times the least beyond B = 14, and no batch size saves more
    # than a tenth of the steps of the largest beyond B = 379.
    steps = {2**power: round(100 * (1 + 64 / 2**power)) for power in range(11)}
    assert perfect_end(steps) == 8
    assert max_useful(steps) == 512


def test_break_points_of_perfect_scaling_are_the_largest_batch_size() -> None:
    steps = {2**power: 2 ** (12 - power) for power in range(11)}
    assert (perfect_end(steps), max_useful(steps)) == (1024, 1024)


def test_break_points_of_a_flat_curve_are_the_smallest_batch_size() -> None:
    steps = dict.fromkeys([1, 2, 4], 100)
    assert (perfect_end(steps), max_useful(steps)) == (1, 1)


def test_no_batch_sizes_have_no_break_points() -> None:
    assert (perfect_end({}), max_useful({})) == (None, None)
