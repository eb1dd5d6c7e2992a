"""The chart of performance profiles."""

from __future__ import annotations

import pytest

from losslake.figures.charts.profile import draw, profile_chart
from losslake.figures.drawing import ChartPanels, ChartRequest
from losslake.figures.figure import figure
from losslake.figures.panel import Panel
from losslake.questions import profiles
from losslake.questions.trials.selection import Selection
from tests.losslake.figures.drawing import marks, series, svg_of, texts, words
from tests.losslake.questions.test_compare import reaching
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of

PANEL = Panel(title="Profile", width=300, height=200)
SGD = series("sgd", factor=[1.0, 2.0], share=[0.5, 1.0])
ADAM = series("adam", factor=[1.0, 3.0], share=[0.0, 0.5])


def test_staircase_extends_to_the_right_edge() -> None:
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


def test_every_step_of_a_profile_has_a_mark() -> None:
    points = marks(figure([profile_chart([SGD, ADAM], PANEL)]), "point")
    assert [(row["factor"], row["share"]) for row in points] == [(1.0, 0.5), (2.0, 1.0), (1.0, 0.0), (3.0, 0.5)]


@pytest.mark.parametrize(
    ("factor", "largest", "end"), [(1.5, 4.0, 4.0), (30.0, 4.0, 30.0), (9e9, 4.0, 64.0), (9e9, 1e3, 1e3)]
)
def test_axis_ends_at_the_last_step_or_64(factor: float, largest: float, end: float) -> None:
    rows = series("sgd", factor=[1.0, factor], share=[0.5, 1.0])
    drawn = figure([profile_chart([rows], PANEL, largest_factor=largest)])
    domain = drawn["concat"][0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert domain[0] < 1
    assert end < domain[1] < 1.1 * end


def test_empty_chart_explains_itself() -> None:
    assert words(figure([profile_chart([], PANEL)])) == ["No batch size was tried by all of them."]


def drawn_by(by: profiles.Part) -> ChartPanels:
    ours, theirs = reaching(8, 10) + reaching(16, 40), reaching(8, 20) + reaching(16, 20)
    view = view_of(ours, of_other=theirs)
    answer = answer_to(profiles.QUESTION, view, Selection((WORKLOAD, OTHER), METRIC), target=0.3, by=by)
    return draw(ChartRequest(answer.table(), answer.facts, view, None, "/v1/analysis/profiles", 400, 360))


def test_caption_explains_shares_and_scores() -> None:
    drawing = drawn_by("workload")
    assert " ".join(drawing.notes) == (
        "Share of 2 batch sizes at which each takes at most τ times the fewest steps, at equal budgets. Mean "
        "share up to a factor of 4: SGD 0.83, Adam 0.83."
    )
    assert {"SGD", "Adam"} <= set(texts(svg_of(figure(drawing.panels))))


def test_competing_name_parts_are_labelled() -> None:
    drawing = drawn_by("optimizer")
    assert {row["series"] for row in marks(figure(drawing.panels), "point")} == {"SGD", "Adam"}
    assert "Share of 2 workloads and batch sizes" in drawing.notes[0]


def test_hostile_profile_name_is_drawn_as_text() -> None:
    name = "<script>alert(1)</script>"
    svg = svg_of(figure([profile_chart([SGD, series(name, factor=[1.0], share=[0.5])], PANEL)]))
    assert name in texts(svg)
    assert not [each for each in svg.iter() if each.tag.endswith("script")]
