"""A question that names no comparator takes that of the workload's goals in its metric, and the answer names it."""

from __future__ import annotations

import pytest

from losslake.questions import scaling
from losslake.questions.release.errors import BadParameter
from losslake.questions.scaling import ScalingParameters
from losslake_schema.reached import COMPARATORS
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, view_of
from tests.oracle import Row

ROWS = [Row(8, 1, "COMPLETE", 10, 0.3)]


@pytest.mark.parametrize("of_goal", [*COMPARATORS, None])
@pytest.mark.parametrize("given", [*COMPARATORS, None])
def test_the_comparator_is_that_of_the_question_then_of_the_goal_then_strict(
    of_goal: str | None, given: str | None
) -> None:
    goal = {"goal": 0.25, "comparator": of_goal} if of_goal else {}
    parameters = {"workload": [str(WORKLOAD)], "metric": METRIC, "target": 0.3, "comparator": given}
    answer = scaling.QUESTION.answer(view_of(ROWS, **goal), ScalingParameters.model_validate(parameters))  # type: ignore[arg-type]
    expected = given or of_goal or "strict"
    assert answer.facts["comparator"] == expected
    assert answer.table()["steps"].to_pylist() == [10 if expected == "inclusive" else None]


def test_workloads_whose_goals_differ_need_a_comparator() -> None:
    view = view_of(ROWS, goal=0.3, comparator="inclusive")
    parameters = ScalingParameters(workload=[str(WORKLOAD), str(OTHER)], metric=METRIC, target=0.3)
    with pytest.raises(BadParameter, match="give comparator=strict or comparator=inclusive"):
        scaling.QUESTION.answer(view, parameters)
