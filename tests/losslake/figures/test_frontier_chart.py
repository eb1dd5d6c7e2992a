"""The chart of a frontier has a point for each trial and a line along the front."""

from __future__ import annotations

from typing import Any

from losslake.figures.charts.frontier import FrontierColours, _groups, draw, frontier_chart
from losslake.figures.drawing import ChartRequest
from losslake.figures.figure import figure
from losslake.figures.panel import Panel
from losslake.questions import frontier
from tests.losslake.figures.drawing import marks, svg_of, texts
from tests.losslake.questions.views import METRIC, WORKLOAD, view_of
from tests.oracle import Row


def row(trial: int, amount: float, value: float, *, best: bool = True, front: bool = False) -> dict[str, Any]:
    return {
        "workload": "tests/digits/mlp_64/sgd", "batch_size": 8, "trial_id": trial, "step": int(amount),
        "amount": amount, "value": value, "is_best": best, "is_on_front": front, "series": "mlp_64 (2)",
    }  # fmt: skip


ROWS = [row(1, 100, 0.5, best=False, front=True), row(1, 900, 0.2, front=True), row(2, 800, 0.6)]


def test_points_are_bests_and_the_line_is_the_front_in_order() -> None:
    drawn = figure([frontier_chart(ROWS, ["mlp_64 (2)"], Panel(), noun="steps", metric="val/error")])
    assert [mark["amount"] for mark in marks(drawn, "line")] == [100, 900]
    assert sorted(mark["amount"] for mark in marks(drawn, "point")) == [100, 800, 900, 900]
    assert {"mlp_64 (2)", "Steps", "val/error"} <= set(texts(svg_of(drawn)))


def test_trials_whose_best_is_at_the_start_are_counted_and_said() -> None:
    rows = [*(Row(8, trial, "COMPLETE", step, 0.5 * step + 0.1) for trial in (1, 2) for step in (0, 1))]
    rows += [Row(8, 3, "COMPLETE", step, 0.4 - 0.16 * step) for step in (0, 1, 2)]
    view = view_of(rows)
    asked = frontier.FrontierParameters(workload=[str(WORKLOAD)], metric=METRIC)
    answer = frontier.QUESTION.answer(view, asked)
    drawn = draw(ChartRequest(answer.table(), answer.facts, view, FrontierColours(), "/v1/analysis/frontier", 400, 360))
    assert "Not drawn: 2 trials with the best value at 0 steps." in drawn.notes
    assert drawn.summary == [f"The best of 3 trials is 0.08 after 2 steps: trial 3 of {WORKLOAD} at batch size 8."]


def test_without_trials_it_says_so() -> None:
    drawn = figure([frontier_chart([], [], Panel(), noun="steps", metric="val/error")])
    assert "No trial was measured." in texts(svg_of(drawn))


def test_the_rarest_groups_share_a_name() -> None:
    rows = [{**row(1, 1, 1), "workload": f"tests/digits/m{number}/sgd"} for number in range(9)]
    names = _groups([*rows, *rows[:6]], "model")
    assert sorted(set(names.values())) == ["m0", "m1", "m2", "m3", "m4", "m5", "others"]
