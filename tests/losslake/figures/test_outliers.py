"""Outliers don't compress a chart, and nothing else is left out of it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.figures.charts.curves import KIND
from losslake.figures.outliers import largest_usual, within_reason
from losslake.figures.requests import answer_to_draw, figure_parameters, specification
from losslake.questions import curves as curves_question
from tests.losslake.questions.views import METRIC, WORKLOAD, view_of
from tests.oracle import Row

LEVELS = st.lists(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8), min_size=1, max_size=8)


def largest(*curves: list[float]) -> float:
    """Return the largest usual loss of curves evaluated at steps 0, 1, 2 and so on."""
    steps = np.concatenate([np.arange(len(curve)) for curve in curves])
    starts = np.cumsum([0, *(len(curve) for curve in curves[:-1])])
    return largest_usual(np.array([loss for curve in curves for loss in curve]), steps, starts.tolist())


def test_values_far_from_the_rest_are_outliers() -> None:
    assert within_reason(np.array([*[0.1 * k for k in range(100)], 1e30])).max() < 10
    assert within_reason(np.array([])).tolist() == []
    assert within_reason(np.array([3.0])).tolist() == [3.0]


def test_losses_of_a_third_of_all_trials_that_diverge_are_beyond_the_axis() -> None:
    usual, diverging = [2.3, 2.0, 1.2, 0.8, 0.6], [2.3, 4e6, 9e6, 2e7, math.nan]
    assert largest(usual, diverging, usual) == 2.3


def test_loss_before_the_first_step_is_beyond_the_axis_if_it_takes_half_of_it() -> None:
    assert largest([10.8, 4.4, 4.0, 3.5, 3.3], [10.8, 4.5, 4.1, 3.6, 3.4]) == 4.5
    assert largest([5.0, 4.4, 4.0, 3.5, 3.3]) == math.inf


def test_curves_that_were_evaluated_before_the_first_step_only_are_shown_whole() -> None:
    assert largest([0.5], [0.7], [30.0]) == math.inf


def test_constant_and_missing_curves_are_shown_whole() -> None:
    assert largest([1.0, 1.0], [1.0, 1.0], [1.0, 5.0]) == math.inf
    assert largest([math.nan, math.inf]) == math.inf
    assert largest_usual(np.zeros(0), np.zeros(0), []) == math.inf


@given(LEVELS)
def test_best_loss_and_the_highest_of_half_of_the_curves_are_within(curves: list[list[float]]) -> None:
    most = largest(*curves)
    assert min(min(curve) for curve in curves) <= most
    highest = [max(curve[1:]) for curve in curves if len(curve) > 1]
    assert sum(high <= most for high in highest) >= len(highest) / 2


@pytest.mark.parametrize(
    ("direction", "most", "beyond"),
    [("minimize", 2.3, "2 values are"), ("maximize", 5e6, ""), (None, 2.3, "2 values are")],
)
def test_figure_says_how_many_values_are_beyond_its_axis(
    direction: str | None, most: float, beyond: str, tmp_path: Path
) -> None:
    curves = {1: [2.3, 1.2, 0.6], 2: [2.3, 4e6, 5e6], 3: [2.3, 1.4, 0.9]}
    rows = [
        Row(8, trial, "COMPLETE", step, loss) for trial, curve in curves.items() for step, loss in enumerate(curve, 1)
    ]
    view = view_of(rows, direction, tmp_path)
    parameters = figure_parameters(KIND, curves_question.QUESTION).model_validate(
        {"study": [f"{WORKLOAD}/8"], "metric": [METRIC]}
    )
    answer = answer_to_draw(KIND, curves_question.QUESTION, view, parameters)
    drawn = json.loads(specification(KIND, view, answer, parameters, ""))
    low, high = drawn["concat"][0]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low < 0.6 < most < high < 1.2 * most
    assert f"{beyond} beyond the axis" in drawn["description"] if beyond else "beyond" not in drawn["description"]
