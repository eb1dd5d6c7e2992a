"""The chart of workloads against a baseline, and its caption."""

from __future__ import annotations

from typing import Any

import pytest

from losslake.figures.charts.ratio import draw, ratio_chart
from losslake.figures.drawing import ChartRequest
from losslake.figures.figure import figure
from losslake.figures.panel import Panel, Series
from losslake.figures.theme import GROUND, Document
from losslake.questions import compare, scaling
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Workload
from tests.losslake.figures.drawing import marks, series, svg_of, texts, words
from tests.losslake.questions.test_compare import reaching
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Row

PANEL = Panel(title="Steps", width=300, height=200)


def against(label: str, **columns: Any) -> Series:
    n = len(columns["batch_size"])
    nothing = {name: [None] * n for name in ("ratio", "lower", "upper", "edge")} | {"is_clear": [False] * n}
    return series(label, **nothing | columns)


def chart_of(*others: Series) -> Document:
    return figure([ratio_chart([series("sgd", batch_size=[]), *others], PANEL, baseline="sgd")])


def y_domain(drawn: Document) -> list[float]:
    """Return the bounds of the axis of ratios."""
    scales = [layer["encoding"]["y"].get("scale") for layer in drawn["concat"][0]["layer"]]
    return next(scale["domain"] for scale in scales if scale)


def test_significant_ratios_are_filled_points() -> None:
    drawn = chart_of(against("adam", batch_size=[8, 16], ratio=[0.5, 0.9], is_clear=[True, False]))
    layers = [layer for layer in drawn["concat"][0]["layer"] if layer["mark"]["type"] == "point"]
    filled = {
        layer["mark"]["filled"]: [(row["batch_size"], row["ratio"]) for row in drawn["datasets"][layer["data"]["name"]]]
        for layer in layers
    }
    assert filled == {True: [(8, 0.5)], False: [(16, 0.9)]}
    # A fill would hide the colour of a filled mark; an open one hides what is below it.
    assert {layer["mark"]["filled"]: layer["mark"].get("fill") for layer in layers} == {True: None, False: GROUND}


def test_rule_at_1_has_the_colour_of_the_baseline() -> None:
    drawn = chart_of(against("adam", batch_size=[8], ratio=[0.5]))
    rule = [row for row in marks(drawn, "line") if row["series"] == "sgd"]
    assert [row["ratio"] for row in rule] == [1, 1]
    assert {"sgd", "adam"} <= set(texts(svg_of(drawn)))


def test_unbounded_intervals_extend_to_the_edge() -> None:
    drawn = chart_of(
        against("adam", batch_size=[8, 16, 32], ratio=[0.5] * 3, lower=[0.4, 0.0, None], upper=[0.7, None, None])
    )
    low, high = y_domain(drawn)
    assert [(bar["from"], bar["to"]) for bar in marks(drawn, "rule")] == [(0.4, 0.7), (low, high)]


def test_axis_spans_at_least_half_to_twice_and_ignores_wide_bars() -> None:
    low, high = y_domain(chart_of(against("adam", batch_size=[8], ratio=[1.1])))
    assert low < 0.5 < 2 < high
    low, high = y_domain(chart_of(against("adam", batch_size=[8], ratio=[1.0], lower=[1e-9], upper=[1e9])))
    assert 0.1 < low < high < 10


def test_arrow_marks_a_target_reached_by_one_workload_only() -> None:
    drawn = chart_of(against("adam", batch_size=[8, 16, 32], ratio=[0.5, None, None], edge=[None, "top", "bottom"]))
    arrows = {row["batch_size"]: row["down"] for row in marks(drawn, "point") if "down" in row}
    assert sorted(arrows) == [16, 32]
    assert arrows[16] < PANEL.height / 2 < arrows[32]


def test_series_and_arrows_are_offset_side_by_side() -> None:
    drawn = chart_of(*(against(name, batch_size=[8, 16], ratio=[0.5, None], edge=[None, "top"]) for name in "ab"))
    points = marks(drawn, "point")
    assert len({row["at"] for row in points if "ratio" in row}) == 2
    assert len({row["down"] for row in points if "down" in row}) == 2
    alone = marks(chart_of(against("adam", batch_size=[8], ratio=[0.5])), "point")
    assert [row["at"] for row in alone] == [8]


def test_ratio_axis_labels_are_plain_numbers() -> None:
    drawn = chart_of(against("adam", batch_size=[8, 16], ratio=[1 / 20, 3.0]))
    assert {"0.0625", "0.125", "0.5", "1", "2"} <= set(texts(svg_of(drawn)))


def test_empty_chart_explains_itself() -> None:
    for drawn in (chart_of(), figure([ratio_chart([], PANEL, baseline="")])):
        assert words(drawn) == ["There is no batch size to compare at."]


def chart_request(
    ours: list[Row], theirs: list[Row], workloads: tuple[Workload, ...] = (WORKLOAD, OTHER)
) -> ChartRequest:
    view = view_of(ours, of_other=theirs)
    answer = answer_to(compare.QUESTION, view, Selection(workloads, METRIC), Goal(0.3))
    return ChartRequest(answer.table(), answer.facts, view, None, "/v1/analysis/compare", 400, 360)


def test_caption_explains_ratios_and_reached_batch_sizes() -> None:
    never = [Row(size, trial, "COMPLETE", 400, 0.9) for size in (16, 64) for trial in range(4)]
    ours = reaching(8, 40, 42, 44, 46) + reaching(16, 40, 42, 44, 46) + reaching(64, None)
    drawn = draw(chart_request(ours, reaching(8, 20, 21, 22, 23) + never))
    said = " ".join(drawn.notes)
    assert said.startswith("Below 1: Adam takes fewer steps than SGD; above 1: more.")
    assert "Arrows at the top: only SGD reaches the target." in said
    assert "At batch size 64 none of them reaches the target." in said
    points = [row for row in marks(figure(drawn.panels), "point") if "batch_size" in row]
    assert [(row["batch_size"], row.get("edge"), row["is_clear"]) for row in points] == [
        (8, None, True),
        (16, "top", True),
    ]


def test_caption_of_the_inverse_names_the_other_workload() -> None:
    never = [Row(8, trial, "COMPLETE", 400, 0.9) for trial in range(3)]
    said = " ".join(draw(chart_request(never, reaching(8, 20, 21, 22))).notes)
    assert "Arrows at the bottom: only Adam reaches the target." in said


def test_single_workload_figure_says_so() -> None:
    drawn = draw(chart_request(reaching(8, 40), [], workloads=(WORKLOAD,)))
    assert drawn.notes == ["There is only one workload."]
    assert words(figure(drawn.panels)) == ["There is no batch size to compare at."]


def test_hostile_names_are_drawn_as_text() -> None:
    names = ["<script>alert(1)</script>", "a&b", "{{x}}", "datum['x']"]
    svg = svg_of(chart_of(*(against(name, batch_size=[8], ratio=[0.5]) for name in names)))
    assert set(names) <= set(texts(svg))
    assert not [each for each in svg.iter() if each.tag.endswith("script")]


def test_ratios_are_of_what_is_counted() -> None:
    others = against("adam", batch_size=[8], ratio=[0.5])
    drawn = figure([ratio_chart([series("sgd", batch_size=[]), others], PANEL, baseline="sgd", noun="seconds")])
    assert "Ratio of seconds" in texts(svg_of(drawn))


@pytest.mark.parametrize(
    ("units", "title"),
    [
        ({WORKLOAD: "tokens", OTHER: "tokens"}, "Batch size, tokens"),
        ({WORKLOAD: "examples", OTHER: "examples"}, "Batch size"),
        ({WORKLOAD: "tokens", OTHER: "examples"}, "Batch size"),
        ({}, "Batch size"),
    ],
)
def test_axis_of_batch_sizes_names_their_unit(units: dict[Workload, str], title: str) -> None:
    view = view_of(reaching(8, 80), of_other=reaching(8, 90), batch_units=units)
    answer = answer_to(scaling.QUESTION, view, Selection((WORKLOAD, OTHER), METRIC), Goal(0.3))
    request = ChartRequest(answer.table(), answer.facts, view, None, "/v1/scaling", 400, 360)
    assert request.grid(2).batch_title == request.panel("", "", [], []).batch_title == title
