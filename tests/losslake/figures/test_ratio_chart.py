"""What is drawn of workloads against a baseline, and the words that go with it."""

from __future__ import annotations

from typing import Any

from losslake.figures.charts.ratio import draw, ratio_chart
from losslake.figures.drawing import Drawing
from losslake.figures.figure import figure
from losslake.figures.panel import Panel, Series
from losslake.figures.theme import Document
from losslake.questions import compare
from losslake.questions.selection import Goal, Selection
from losslake_schema.names import Workload
from tests.losslake.figures.drawing import marks, series, svg_of, texts, words
from tests.losslake.questions.test_compare import reaching
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, ask, view_of
from tests.oracle import Row

PANEL = Panel(title="Steps", width=300, height=200)


def against(label: str, **columns: Any) -> Series:
    n = len(columns["batch_size"])
    nothing = {name: [None] * n for name in ("ratio", "lower", "upper", "edge")} | {"is_told": [False] * n}
    return series(label, **nothing | columns)


def chart_of(*others: Series) -> Document:
    return figure([ratio_chart([series("sgd", batch_size=[]), *others], PANEL, baseline="sgd")])


def y_domain(drawn: Document) -> list[float]:
    """From where to where the axis of ratios goes."""
    scales = [layer["encoding"]["y"].get("scale") for layer in drawn["concat"][0]["layer"]]
    return next(scale["domain"] for scale in scales if scale)


def test_each_ratio_is_a_point_that_is_filled_where_a_difference_is_told() -> None:
    drawn = chart_of(against("adam", batch_size=[8, 16], ratio=[0.5, 0.9], is_told=[True, False]))
    layers = [layer for layer in drawn["concat"][0]["layer"] if layer["mark"]["type"] == "point"]
    filled = {
        layer["mark"]["filled"]: [(row["batch_size"], row["ratio"]) for row in drawn["datasets"][layer["data"]["name"]]]
        for layer in layers
    }
    assert filled == {True: [(8, 0.5)], False: [(16, 0.9)]}


def test_the_rule_at_1_has_the_colour_of_the_baseline() -> None:
    drawn = chart_of(against("adam", batch_size=[8], ratio=[0.5]))
    rule = [row for row in marks(drawn, "line") if row["series"] == "sgd"]
    assert [row["ratio"] for row in rule] == [1, 1]
    assert {"sgd", "adam"} <= set(texts(svg_of(drawn)))


def test_bars_go_from_end_to_end_and_to_the_edge_where_they_have_none() -> None:
    drawn = chart_of(
        against("adam", batch_size=[8, 16, 32], ratio=[0.5] * 3, lower=[0.4, 0.0, None], upper=[0.7, None, None])
    )
    low, high = y_domain(drawn)
    assert [(bar["from"], bar["to"]) for bar in marks(drawn, "rule")] == [(0.4, 0.7), (low, high)]


def test_the_axis_reaches_from_one_half_to_twice_and_no_farther_than_bars_that_matter() -> None:
    low, high = y_domain(chart_of(against("adam", batch_size=[8], ratio=[1.1])))
    assert low < 0.5 < 2 < high
    low, high = y_domain(chart_of(against("adam", batch_size=[8], ratio=[1.0], lower=[1e-9], upper=[1e9])))
    assert 0.1 < low < high < 10


def test_an_arrow_at_the_edge_stands_where_only_one_reaches_the_target() -> None:
    drawn = chart_of(against("adam", batch_size=[8, 16, 32], ratio=[0.5, None, None], edge=[None, "top", "bottom"]))
    arrows = {row["batch_size"]: row["down"] for row in marks(drawn, "point") if "down" in row}
    assert sorted(arrows) == [16, 32]
    assert arrows[16] < PANEL.height / 2 < arrows[32]


def test_series_and_their_arrows_stand_side_by_side() -> None:
    drawn = chart_of(*(against(name, batch_size=[8, 16], ratio=[0.5, None], edge=[None, "top"]) for name in "ab"))
    points = marks(drawn, "point")
    assert len({row["at"] for row in points if "ratio" in row}) == 2
    assert len({row["down"] for row in points if "down" in row}) == 2
    alone = marks(chart_of(against("adam", batch_size=[8], ratio=[0.5])), "point")
    assert [row["at"] for row in alone] == [8]


def test_ratios_are_written_as_numbers() -> None:
    drawn = chart_of(against("adam", batch_size=[8, 16], ratio=[1 / 20, 3.0]))
    assert {"0.0625", "0.125", "0.5", "1", "2"} <= {row["label"] for row in marks(drawn, "text") if "label" in row}


def test_without_rows_words_stand_in_the_plot() -> None:
    for drawn in (chart_of(), figure([ratio_chart([], PANEL, baseline="")])):
        assert words(drawn) == ["There is no batch size to compare at."]


def drawing_of(ours: list[Row], theirs: list[Row], workloads: tuple[Workload, ...] = (WORKLOAD, OTHER)) -> Drawing:
    view = view_of(ours, of_other=theirs)
    answer = ask(compare.QUESTION, view, Selection(workloads, METRIC), Goal(0.3))
    return Drawing(answer.table(), answer.facts, view, None, "/v1/analysis/compare", 400, 360)


def test_the_caption_says_what_below_1_means_and_where_who_reaches() -> None:
    never = [Row(size, trial, "COMPLETE", 400, 0.9) for size in (16, 64) for trial in range(3)]
    ours = reaching(8, 40, 42, 44) + reaching(16, 40, 42, 44) + reaching(64, None)
    drawn = draw(drawing_of(ours, reaching(8, 20, 21, 22) + never))
    said = " ".join(drawn.explained)
    assert said.startswith("Below 1: adam takes fewer steps than sgd; above 1: more.")
    assert "Arrows at the top: only sgd reaches the target." in said
    assert "At batch size 64 none reaches the target." in said
    points = marks(figure(drawn.panels), "point")
    assert [(row["batch_size"], row.get("edge"), row["is_told"]) for row in points] == [
        (8, None, True),
        (16, "top", True),
    ]


def test_the_caption_of_the_other_direction_names_the_other() -> None:
    never = [Row(8, trial, "COMPLETE", 400, 0.9) for trial in range(3)]
    said = " ".join(draw(drawing_of(never, reaching(8, 20, 21, 22))).explained)
    assert "Arrows at the bottom: only adam reaches the target." in said


def test_a_single_workload_is_a_figure_that_says_so() -> None:
    drawn = draw(drawing_of(reaching(8, 40), [], workloads=(WORKLOAD,)))
    assert drawn.explained == ["There is but one workload."]
    assert words(figure(drawn.panels)) == ["There is no batch size to compare at."]


def test_hostile_names_are_text() -> None:
    names = ["<script>alert(1)</script>", "a&b", "{{x}}", "datum['x']"]
    svg = svg_of(chart_of(*(against(name, batch_size=[8], ratio=[0.5]) for name in names)))
    assert set(names) <= set(texts(svg))
    assert not [each for each in svg.iter() if each.tag.endswith("script")]
