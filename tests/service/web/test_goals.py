"""The default goal of pages."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from losslake_service.web.goals import PageGoal, as_fraction, last_of_held_out, page_goal, reachable
from tests.losslake.questions.views import METRIC, WORKLOAD, view_of
from tests.oracle import Row


# 0.0024 / 0.0001 is just below 24 in floating point.
@pytest.mark.parametrize("value", [0.0024, 0.041, 0.29, 1.0, 123.4, -0.0024, 0.0])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_default_goal_is_better_than_the_worst_best_value(value: float, direction: str) -> None:
    view = view_of([Row(8, 1, "COMPLETE", 1, value)], direction)
    target = reachable(view, view.workload(WORKLOAD), METRIC, direction)
    assert value < target if direction == "minimize" else value > target


@pytest.mark.parametrize(("direction", "value", "target"), [("minimize", 1.0, 1.0), ("maximize", 0.0, 0.0)])
def test_default_goal_is_never_beyond_the_range_of_its_metric(direction: str, value: float, target: float) -> None:
    view = view_of([Row(8, 1, "COMPLETE", 1, value)], direction, metric="val/accuracy")
    assert page_goal(view, view.workload(WORKLOAD), None, None) == PageGoal(
        "val/accuracy", target, direction, is_proposed=True
    )


@pytest.mark.parametrize(
    ("direction", "comparator", "goal", "shown", "instead_of"),
    [
        ("minimize", "strict", 0.31, 0.31, ""),
        ("minimize", "strict", 0.3, 0.41, f"{METRIC} < 0.3"),
        ("minimize", "inclusive", 0.3, 0.3, ""),
        ("maximize", "strict", 0.39, 0.39, ""),
        ("maximize", "strict", 0.5, 0.29, f"{METRIC} > 0.5"),
    ],
)
def test_default_goal_that_no_trial_reaches_moves_to_one_that_all_batch_sizes_reach(
    direction: str, comparator: str, goal: float, shown: float, instead_of: str
) -> None:
    rows = [Row(8, 1, "COMPLETE", 1, 0.4), Row(16, 1, "COMPLETE", 1, 0.3), Row(32, 1, "COMPLETE", 1, 0.35)]
    view = view_of(rows, direction, goal=goal, comparator=comparator)
    default = page_goal(view, view.workload(WORKLOAD), None, None)
    assert (default.target, default.instead_of) == (shown, instead_of)
    assert default.is_proposed == bool(instead_of)
    given = page_goal(view, view.workload(WORKLOAD), METRIC, goal)
    assert (given.instead_of, given.is_proposed) == ("", False)


@pytest.mark.parametrize(
    ("measured", "usual"),
    [
        (("test/accuracy", "train/loss", "val/error_rate", "val/accuracy"), "val/error_rate"),
        (("test/accuracy", "test/loss", "train/loss"), "test/loss"),
        (("lr/loss", "train/accuracy", "train/loss"), "train/loss"),
        ((), None),
    ],
)
def test_usual_metric_is_on_validation_data_else_on_test_data(measured: Sequence[str], usual: str | None) -> None:
    assert last_of_held_out(measured) == usual


def test_default_goal_stays_where_no_trial_counts() -> None:
    view = view_of([Row(8, 1, "INCOMPLETE", 1, 0.25)], goal=0.3)
    default = page_goal(view, view.workload(WORKLOAD), None, None)
    assert (default.target, default.instead_of) == (0.3, "")


@pytest.mark.parametrize(
    ("value", "target", "meant"), [(0.7, 75.9, 0.759), (0.7, 0.759, None), (0.7, 101.0, None), (1.2, 75.9, None)]
)
def test_percentage_is_a_fraction_only_where_all_values_are(value: float, target: float, meant: float | None) -> None:
    view = view_of([Row(8, 1, "COMPLETE", 1, value)], "maximize")
    facts = view.workload(WORKLOAD)
    assert as_fraction(view, facts, page_goal(view, facts, METRIC, target)) == meant
