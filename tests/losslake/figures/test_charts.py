"""Charts other than scaling."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from losslake.figures.charts.best import best_chart
from losslake.figures.charts.curves import curves_chart
from losslake.figures.charts.learning_rate_momentum import learning_rate_chart, learning_rate_momentum_chart
from losslake.figures.charts.metaparameters import learning_rates_chart
from losslake.figures.figure import figure
from losslake.figures.panel import Panel
from losslake.figures.theme import Document
from tests.losslake.figures.drawing import marks, series, svg_of, texts, words

PANEL = Panel(width=300, height=200)


def test_heuristics_scale_linearly_and_by_square_root_from_the_first_optimum() -> None:
    rows = series("", batch_size=[4, 16], effective_learning_rate=[0.5, 0.9], rank=[1, 1])
    drawn = figure([learning_rates_chart([rows], PANEL, heuristics_of="")])
    ends = [row for row in marks(drawn, "line") if "heuristic" in row]
    linear, root = ([row for row in ends if row["heuristic"].startswith(name)] for name in ("Linear", "Square"))
    for rows_, power in ((linear, 1), (root, 0.5)):
        assert [row["effective_learning_rate"] for row in rows_] == pytest.approx(
            [0.5 * (row["batch_size"] / 4) ** power for row in rows_]
        )
        assert rows_[0]["batch_size"] == 4


def test_only_best_trials_are_connected() -> None:
    rows = series("", batch_size=[4, 4, 16], effective_learning_rate=[0.5, 0.2, 0.9], rank=[1, 2, 1])
    joined = marks(figure([learning_rates_chart([rows], PANEL)]), "line")
    assert [row["effective_learning_rate"] for row in joined] == [0.5, 0.9]


def test_trials_without_a_finite_positive_learning_rate_are_omitted() -> None:
    rates = [None, 0.0, math.inf, math.nan, 0.1]
    rows = series("", batch_size=[1, 2, 4, 8, 16], effective_learning_rate=rates)
    assert [row["batch_size"] for row in marks(figure([learning_rates_chart([rows], PANEL)]), "line")] == [16]


def test_names_at_the_ends_of_lines_are_in_the_order_of_their_last_values() -> None:
    low, high = (series(name, batch_size=[8, 4], best_value=[end, 0.3]) for name, end in (("low", 0.1), ("high", 0.2)))
    drawn = figure([best_chart([low, high], replace(PANEL, legend="ends"))])
    names = [row for row in marks(drawn, "text") if "series" in row]
    assert [row["series"] for row in names] == ["high", "low"]
    assert names[0]["down"] < names[1]["down"]


def test_legend_names_only_present_outcomes_with_distinct_marks() -> None:
    outcomes = ["reached", "not reached", "infeasible"]
    rows = series("", learning_rate=[0.1, 0.01, 1.0], momentum=[0.9, None, 0.99], outcome=outcomes)
    drawn = figure([learning_rate_momentum_chart(rows, PANEL)])
    points = marks(drawn, "point")
    assert [round(row["damping"], 9) for row in points] == [0.01, 1.0, 0.1]
    said = set(texts(svg_of(drawn)))
    assert {"Goal achieved", "Goal not achieved", "Infeasible"} <= said
    assert "Incomplete" not in said


def test_contours_have_equal_learning_rate_over_damping() -> None:
    rows = series("", learning_rate=[0.001, 1.0], momentum=[0.9, 0.0], outcome=["reached", "reached"])
    ends = marks(figure([learning_rate_momentum_chart(rows, PANEL)]), "line")
    assert len(ends) >= 4
    assert [row["rate"] / row["damping"] for row in ends] == pytest.approx([10.0 ** row["power"] for row in ends])


def test_momentum_of_one_is_not_drawn() -> None:
    rows = series("", learning_rate=[0.1, 0.1], momentum=[1.0, 0.5], outcome=["reached", "reached"])
    assert [row["momentum"] for row in marks(figure([learning_rate_momentum_chart(rows, PANEL)]), "point")] == [0.5]


def test_trials_without_steps_to_the_target_lie_above_all_others() -> None:
    outcomes = ["reached", "reached", "not reached", "incomplete"]
    rows = series("", learning_rate=[0.1, 0.2, 0.4, 0.8], steps=[0, 900, None, 400], outcome=outcomes)
    marked = marks(figure([learning_rate_chart(rows, PANEL)]), "point")
    heights = {row["rate"]: row["height"] for row in marked}
    assert (heights[0.1], heights[0.2], heights[0.8]) == (1, 900, 400)
    assert heights[0.4] > 900
    (edge,) = (row["height"] for row in marks(figure([learning_rate_chart(rows, PANEL)]), "rule"))
    assert 900 < edge < heights[0.4]


def test_missing_best_values_are_omitted() -> None:
    rows = series("", batch_size=[1, 2, 4], best_value=[0.5, None, 0.25])
    assert [row["batch_size"] for row in marks(figure([best_chart([rows], PANEL)]), "point")] == [1, 4]


def test_curves_omit_nonfinite_values_and_step_0_on_a_log_axis() -> None:
    rows = series("", step=[0, 1, 2, 3], value=[0.9, math.nan, 0.5, math.inf], line=[1, 1, 1, 1])
    assert [row["step"] for row in marks(figure([curves_chart([rows], PANEL)]), "line")] == [[0, 2]]
    assert [row["step"] for row in marks(figure([curves_chart([rows], PANEL, is_log=True)]), "line")] == [[2]]


@pytest.mark.parametrize(
    "drawn",
    [
        figure([best_chart([], PANEL)]),
        figure([learning_rates_chart([], PANEL, heuristics_of="sgd")]),
        figure([learning_rate_momentum_chart(series("", learning_rate=[], momentum=[], outcome=[]), PANEL)]),
        figure([learning_rate_chart(series("", learning_rate=[], steps=[], outcome=[]), PANEL)]),
        figure([curves_chart([], PANEL)]),
    ],
    ids=["best", "learning rates", "learning rate and momentum", "learning rate", "curves"],
)
def test_empty_chart_explains_itself(drawn: Document) -> None:
    assert [text for text in words(drawn) if text.endswith(".")]
