"""The choice of the workload and goal on the home page."""

from __future__ import annotations

from losslake_service.web.starting_example import starting_example
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, view_of
from tests.oracle import Row


def study(batch_size: int, value: float, trial_id: int = 1) -> list[Row]:
    return [Row(batch_size, trial_id, "COMPLETE", 0, 0.9), Row(batch_size, trial_id, "COMPLETE", 10, value)]


def test_first_look_prefers_most_batch_sizes_and_a_shared_goal() -> None:
    rows = [row for size in (4, 32, 512) for row in study(size, 0.1)]
    look = starting_example(view_of(rows, of_other=study(8, 0.25)))
    assert look is not None
    assert look.workload == WORKLOAD
    assert look.rivals == (WORKLOAD, OTHER)
    assert (look.goal.metric, look.goal.target) == (METRIC, 0.26)
    assert not look.is_about_momentum


def test_first_look_takes_the_reached_batch_size_nearest_64() -> None:
    rows = [row for size in (4, 32, 512) for row in study(size, 0.1)]
    look = starting_example(view_of(rows))
    assert look is not None
    assert look.batch_size == 32


def test_first_look_needs_a_metric_with_direction() -> None:
    assert starting_example(view_of(study(8, 0.1), direction=None)) is None
