from __future__ import annotations

import math

from losslake.figures.charts.scaling import Regimes, scaling_chart
from losslake.figures.figure import figure, to_json
from losslake.figures.frame import legend
from losslake.figures.panel import Panel
from tests.losslake.figures.drawing import marks, series, svg_of, texts, words

PANEL = Panel(title="Steps to 0.05", width=300, height=200)
ONE = series("sgd", batch_size=[1, 4, 16, 64], steps=[1000, 250, 100, None], previous_step=[990, 0, None, None])


def test_results_are_points_and_unreached_ones_open_marks_at_the_top() -> None:
    drawn = marks(figure([scaling_chart([ONE], PANEL)]), "point")
    assert [(row["batch_size"], row["y"]) for row in drawn if "y" in row] == [(1, 1000), (4, 250), (16, 100)]
    assert [row["batch_size"] for row in drawn if "down" in row] == [64]


def test_bars_span_previous_evaluation_to_result() -> None:
    bars = marks(figure([scaling_chart([ONE], PANEL)]), "rule")
    assert [(bar["batch_size"], bar["y"]) for bar in bars] == [(1, 1000), (4, 250)]
    assert bars[0]["lower"] == 990
    # Step 0 has no place on a logarithmic axis: the bar ends at the plot's lower edge.
    assert 0 < bars[1]["lower"] <= 100


def test_perfect_scaling_line_halves_steps() -> None:
    other = series("momentum", batch_size=[2, 8], steps=[80, 20], previous_step=[None, None])
    chart = scaling_chart([ONE, other], PANEL, perfect_scaling_of="momentum")
    line = [row for row in marks(figure([chart]), "line") if "series" not in row]
    assert [row["batch_size"] * row["y"] for row in line] == [160, 160]
    assert [row for row in marks(figure([scaling_chart([ONE], PANEL)]), "line") if "series" not in row] == []


def test_perfect_scaling_line_has_the_fewest_examples_and_dominated_points_are_hollow() -> None:
    rows = series("", batch_size=[2, 4, 8], steps=[100, 90, 20], previous_step=[99, 89, 19], is_dominated=[0, 1, 0])
    drawn = figure([scaling_chart([rows], PANEL, perfect_scaling_of="")])
    line = [row for row in marks(drawn, "line") if "series" not in row]
    assert [row["batch_size"] * row["y"] for row in line] == [160, 160]
    assert [row["batch_size"] for row in marks(drawn, "line") if "series" in row] == [2, 8]
    assert [row["batch_size"] for row in marks(drawn, "point")] == [2, 8, 4]


def test_normalization_scales_bars() -> None:
    rows = series("", batch_size=[2, 4], steps=[100, 60], previous_step=[90, 50], normalized_steps=[1.0, 0.6])
    bars = marks(figure([scaling_chart([rows], PANEL, is_normalized=True)]), "rule")
    assert [bar["lower"] for bar in bars] == [0.9, 0.5]


def test_only_known_regimes_are_shaded() -> None:
    names = {"perfect scaling", "diminishing returns", "maximal parallelism"}
    known = Regimes((0, 4), (4, 16), (16, math.inf))
    drawn = marks(figure([scaling_chart([ONE], PANEL, regimes=known)]), "rect")
    assert names == {" ".join(row["name"]) for row in drawn}
    half = marks(figure([scaling_chart([ONE], PANEL, regimes=Regimes((0, 4)))]), "rect")
    assert [(row["name"], row["to"]) for row in half] == [(["perfect", "scaling"], 4)]
    assert math.isclose(half[0]["from"], 1 / math.sqrt(2))


def test_unreached_target_is_explained() -> None:
    none = series("", batch_size=[1, 2], steps=[None, None], previous_step=[None, None])
    assert "No batch size reached the target." in words(figure([scaling_chart([none], PANEL)]))


def test_target_reached_only_at_step_0_is_not_called_unreached() -> None:
    at_once = series("", batch_size=[1, 2], steps=[0, None], previous_step=[None, None])
    assert "The target is reached at step 0." in words(figure([scaling_chart([at_once], PANEL)]))


def test_figure_without_rows_renders() -> None:
    assert texts(svg_of(figure([scaling_chart([], PANEL)])))


def test_legend_is_omitted_for_one_unnamed_series() -> None:
    nameless = series("", batch_size=[1], steps=[10], previous_step=[None])
    assert legend(["sgd"], PANEL) is not None
    assert legend([""], PANEL) is None
    assert legend(["sgd"], Panel(legend="none")) is None
    assert "sgd" in texts(svg_of(figure([scaling_chart([ONE], PANEL)])))
    assert b'"legend":null' in to_json(figure([scaling_chart([nameless], PANEL)]))


def test_target_reached_at_step_0_is_not_drawn() -> None:
    rows = series("", batch_size=[1, 2], steps=[0, 8], previous_step=[None, 4])
    assert [row["batch_size"] for row in marks(figure([scaling_chart([rows], PANEL)]), "point")] == [2]


def test_resampling_interval_is_a_thinner_bar() -> None:
    rows = series(
        "", batch_size=[1, 2], steps=[100, 50], previous_step=[90, 40], low_steps=[95, None], high_steps=[160, None]
    )
    thin = [bar for bar in marks(figure([scaling_chart([rows], PANEL)]), "rule") if "low" in bar]
    assert [(bar["low"], bar["high"]) for bar in thin[:1]] == [(95, 160)]
