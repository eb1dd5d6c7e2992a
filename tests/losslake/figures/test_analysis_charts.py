"""Charts of analyses."""

from __future__ import annotations

import pytest

from losslake.figures.charts.scaling import scaling_chart
from losslake.figures.charts.target_sweep import target_sweep_chart
from losslake.figures.charts.time_cost import draw, time_cost_chart
from losslake.figures.charts.tuning_budget import tuning_budget_chart
from losslake.figures.drawing import ChartRequest
from losslake.figures.figure import figure
from losslake.figures.panel import Panel, Series
from losslake.questions import time_cost
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.figures.drawing import marks, series, words
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Row

PANEL = Panel(width=300, height=200)


def test_pareto_front_is_a_line_labelled_with_batch_sizes() -> None:
    rows = series("", batch_size=[1, 2, 4], cost=[10, 20, 40], time=[9.0, 9.5, 3.0], is_on_front=[True, False, True])
    drawn = figure([time_cost_chart([rows], PANEL)])
    assert [row["batch_size"] for row in marks(drawn, "line")] == [1, 4]
    assert {row["batch_size"] for row in marks(drawn, "text") if "cost" in row} == {1, 2, 4}


def test_batch_size_without_time_or_cost_is_not_drawn() -> None:
    rows = series("", batch_size=[1, 2, 4], cost=[10, 20, None], time=[None, 2.0, 3.0], is_on_front=[True] * 3)
    assert [row["batch_size"] for row in marks(figure([time_cost_chart([rows], PANEL)]), "line")] == [2]


def test_points_on_other_accelerators_are_not_joined() -> None:
    on = ["A100", "A100", "H100", None, None]
    sizes = [1, 2, 4, 8, 16]
    timed = series(
        "", batch_size=sizes, accelerator=on, cost=sizes, time=[9.0, 7.0, 5.0, 3.0, 1.0], is_on_front=[True] * 5
    )
    scaled = series("", batch_size=sizes, accelerator=on, steps=[9, 7, 5, 3, 1])
    for chart in (time_cost_chart([timed], PANEL), scaling_chart([scaled], PANEL)):
        assert [row["part"] for row in marks(figure([chart]), "line")] == ["1", "1", "2", "3", "3"]


@pytest.mark.parametrize("is_timed", [True, False])
def test_steps_replace_time_if_logs_have_no_times_and_that_is_said(is_timed: bool) -> None:
    rows = [Row(8, 1, "COMPLETE", step, value, step / 2 if is_timed else None) for step, value in ((0, 0.9), (80, 0.2))]
    view = view_of(rows)
    answer = answer_to(time_cost.QUESTION, view, Selection((WORKLOAD,), METRIC), Goal(0.3))
    drawn = draw(ChartRequest(answer.table(), answer.facts, view, None, "/v1/analysis/time-cost", 400, 360))
    (point,) = marks(figure(drawn.panels), "point")
    axis = figure(drawn.panels)["concat"][0]["layer"][0]["encoding"]["y"]["axis"]
    assert (point["time"], axis["title"]) == ((40, "Time to target, s") if is_timed else (80, "Steps to target"))
    assert any("Steps replace time" in note for note in drawn.notes) is not is_timed


def budgets(label: str) -> Series:
    low, middle, high = [10, 10, 10], [None, 40, 20], [None, None, 60]
    return series(label, budget=[1, 2, 4], steps_q05=low, steps_q50=middle, steps_q95=high)


def test_search_median_starts_at_the_first_defined_budget() -> None:
    chart = tuning_budget_chart([budgets("B = 8")], PANEL)
    assert [(row["budget"], row["steps_q50"]) for row in marks(figure([chart]), "line")] == [(2, 40), (4, 20)]
    assert [row["budget"] for row in marks(figure([chart]), "area")] == [4]


def test_bands_are_omitted_for_many_batch_sizes() -> None:
    many = [budgets(f"B = {size}") for size in (1, 2, 4, 8)]
    assert marks(figure([tuning_budget_chart(many, PANEL)]), "area") == []


def test_censored_regime_ends_are_open_marks() -> None:
    rows = series(
        "",
        target=[0.1, 0.2],
        perfect_scaling_end=[8, 16],
        perfect_scaling_end_censoring=["remaining", None],
        critical_batch_size=[None, 30.5],
        critical_batch_size_lower=[4.0, 20.0],
        critical_batch_size_upper=[None, 50.0],
    )
    drawn = figure([target_sweep_chart(rows, PANEL, hardest_for_all=0.15)])
    points = marks(drawn, "point")
    assert [(row["size"], row["is_bound"]) for row in points] == [(8, True), (16, False), (30.5, False)]
    assert [(row["lower"], row["upper"]) for row in marks(drawn, "area")] == [(20.0, 50.0)]
    assert [row["target"] for row in marks(drawn, "rule")] == [0.15]


def test_empty_chart_explains_itself() -> None:
    for chart in (
        time_cost_chart([], PANEL),
        tuning_budget_chart([], PANEL),
        target_sweep_chart(series("", target=[]), PANEL),
    ):
        assert [text for text in words(figure([chart])) if text.endswith(".")]
