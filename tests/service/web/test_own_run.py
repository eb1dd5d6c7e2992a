"""The panel for a reader's own run gets the range of its metric."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from losslake_service.web.goals import PageGoal
from losslake_service.web.own_run import own_run
from tests.losslake.questions.views import WORKLOAD, view_of
from tests.oracle import Row


def range_of(metric: str, values: Sequence[float], direction: str = "maximize") -> dict[str, Any] | None:
    rows = [Row(8, trial, "COMPLETE", 10, value) for trial, value in enumerate(values, start=1)]
    about = own_run(view_of(rows, direction, metric=metric), WORKLOAD, None, metric, PageGoal(metric, 0.5, direction))
    assert about is not None
    found: dict[str, Any] | None = json.loads(about)["range"]
    return found


@pytest.mark.parametrize(
    ("metric", "smallest", "largest", "is_of_best"),
    [("val/accuracy", 0, 1, False), ("val/bleu", 0, 100, False), ("val/word_error_rate", 0, 1, True)],
)
def test_range_of_a_registered_metric_is_that_of_targets(
    metric: str, smallest: float, largest: float, is_of_best: bool
) -> None:
    found = range_of(metric, [0.5])
    assert found is not None
    assert (found["smallest"], found["largest"]) == pytest.approx((smallest, largest), abs=1e-3)
    assert found["isOfBest"] == is_of_best
    assert f"{metric.split('/')[1]}" in found["text"]


def test_metric_whose_stored_values_are_fractions_is_one() -> None:
    found = range_of("val/mean_dice", [0.2, 0.91])
    assert found == {
        "smallest": None,
        "largest": 1,
        "isOfBest": False,
        "text": "stored values of val/mean_dice lie between 0.2 and 0.91",
    }


def test_range_is_unknown_where_neither_registry_nor_values_say_it() -> None:
    assert range_of("val/loss", [0.2], "minimize") is None
    assert range_of("val/mean_dice", [0.2, 1.5]) is None
    assert range_of("val/fid", [0.2], "minimize") is None
