"""What is drawn of performance profiles."""

from __future__ import annotations

import pytest

from losslake.figures.charts.profile import draw, profile_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.figure import figure
from losslake.figures.panel import Panel
from losslake.questions import profiles
from losslake.questions.selection import Selection
from tests.losslake.figures.drawing import marks, series, svg_of, texts, words
from tests.losslake.questions.test_compare import reaching
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, ask, view_of

PANEL = Panel(title="Profile", width=300, height=200)
SGD = series("sgd", factor=[1.0, 2.0], share=[0.5, 1.0])
ADAM = series("adam", factor=[1.0, 3.0], share=[0.0, 0.5])


def test_a_staircase_goes_on_to_the_right_edge() -> None:
    drawn = figure([profile_chart([SGD, ADAM], PANEL)])
    stairs = [(row["series"], row["factor"], row["share"]) for row in marks(drawn, "line")]
    edge = max(factor for _, factor, _ in stairs)
    assert edge > 4
    assert stairs == [
        ("sgd", 1.0, 0.5),
        ("sgd", 2.0, 1.0),
        ("sgd", edge, 1.0),
        ("adam", 1.0, 0.0),
        ("adam", 3.0, 0.5),
        ("adam", edge, 0.5),
    ]
    lines = [layer["mark"] for layer in drawn["concat"][0]["layer"] if layer["mark"]["type"] == "line"]
    assert [line["interpolate"] for line in lines] == ["step-after"]


def test_each_rise_has_a_mark() -> None:
    points = marks(figure([profile_chart([SGD, ADAM], PANEL)]), "point")
    assert [(row["factor"], row["share"]) for row in points] == [(1.0, 0.5), (2.0, 1.0), (1.0, 0.0), (3.0, 0.5)]


@pytest.mark.parametrize(
    ("factor", "largest", "end"), [(1.5, 4.0, 4.0), (30.0, 4.0, 30.0), (9e9, 4.0, 64.0), (9e9, 1e3, 1e3)]
)
def test_the_axis_ends_where_the_last_rises_or_at_64(factor: float, largest: float, end: float) -> None:
    rows = series("sgd", factor=[1.0, factor], share=[0.5, 1.0])
    drawn = figure([profile_chart([rows], PANEL, largest_factor=largest)])
    domain = drawn["concat"][0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert domain[0] < 1
    assert end < domain[1] < 1.1 * end


def test_without_rows_words_stand_in_the_plot() -> None:
    assert words(figure([profile_chart([], PANEL)])) == ["Nothing was tried by all of them."]


def drawn_by(by: profiles.Part) -> Drawn:
    ours, theirs = reaching(8, 10) + reaching(16, 40), reaching(8, 20) + reaching(16, 20)
    view = view_of(ours, of_other=theirs)
    answer = ask(profiles.QUESTION, view, Selection((WORKLOAD, OTHER), METRIC), target=0.3, by=by)
    return draw(Drawing(answer.table(), answer.facts, view, None, "/v1/analysis/profiles", 400, 360))


def test_the_caption_says_of_what_the_share_is_and_the_scores() -> None:
    found = drawn_by("workload")
    assert " ".join(found.explained) == (
        "In which share of 2 batch sizes each takes at most so many times the fewest steps, at equal tuning. Mean "
        "share up to a factor of 4: sgd 0.83, adam 0.83."
    )
    assert {"sgd", "adam"} <= set(texts(svg_of(figure(found.panels))))


def test_parts_of_names_that_compete_are_named_as_they_are() -> None:
    found = drawn_by("optimizer")
    assert {row["series"] for row in marks(figure(found.panels), "point")} == {"sgd", "adam"}
    assert "share of 2 workloads and batch sizes" in found.explained[0]


def test_a_hostile_name_is_text() -> None:
    name = "<script>alert(1)</script>"
    svg = svg_of(figure([profile_chart([SGD, series(name, factor=[1.0], share=[0.5])], PANEL)]))
    assert name in texts(svg)
    assert not [each for each in svg.iter() if each.tag.endswith("script")]
