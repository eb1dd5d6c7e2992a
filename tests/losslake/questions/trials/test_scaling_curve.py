"""The curve that the mathematics gets: how far never-reached studies ran."""

from __future__ import annotations

from losslake.questions.trials.scaling_curve import scaling_curve
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.questions.views import METRIC, WORKLOAD, view_of
from tests.oracle import Row

ROWS = [Row(size, 1, "COMPLETE", step, 0.9) for size in (8, 64) for step in (0, 50, 100)]


def test_a_study_ran_to_its_last_step_or_to_the_budget() -> None:
    view = view_of(ROWS)

    def ran(selection: Selection) -> list[int]:
        limits: list[int] = scaling_curve(open_search(view, selection, WORKLOAD), Goal(0.1)).censored_at.tolist()
        return limits

    assert ran(Selection((WORKLOAD,), METRIC)) == [100, 100]
    assert ran(Selection((WORKLOAD,), METRIC, example_budget=640)) == [80, 10]
    assert ran(Selection((WORKLOAD,), METRIC, step_budget=500)) == [100, 100]
