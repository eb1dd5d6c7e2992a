"""The goal that pages choose where nobody has set one."""

from __future__ import annotations

import pytest

from losslake_service.web.goals import reachable
from tests.losslake.questions.views import METRIC, WORKLOAD, view_of
from tests.oracle import Row


# 0.0024 / 0.0001 is just below 24 in floating point.
@pytest.mark.parametrize("value", [0.0024, 0.041, 0.29, 1.0, 123.4, -0.0024, 0.0])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_every_batch_size_gets_past_it(value: float, direction: str) -> None:
    view = view_of([Row(8, 1, "COMPLETE", 1, value)], direction)
    target = reachable(view, view.workload(WORKLOAD), METRIC, direction)
    assert value < target if direction == "minimize" else value > target
