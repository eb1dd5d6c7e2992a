"""The chart of laws has a panel by variable: points with intervals, the fitted law and published laws beside them."""

from __future__ import annotations

from typing import Any

import pytest

from losslake.figures.charts.critical_batch_law import critical_batch_law_chart, draw
from losslake.figures.drawing import ChartPanels, ChartRequest
from losslake.figures.figure import figure
from losslake.figures.panel import Panel
from losslake.lake.lake import Lake
from losslake.questions import critical_batch_law
from losslake.questions.critical_batch_law import CriticalBatchLawParameters
from losslake.questions.release.view import ReleaseView
from tests.critical_batch_sizes import PATTERN, zhang_lake
from tests.losslake.figures.drawing import marks, svg_of, texts


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return zhang_lake(tmp_path_factory)


def request(lake: Lake, *workloads: str) -> ChartRequest:
    view = ReleaseView.open(lake, lake.release(None))
    parameters = CriticalBatchLawParameters(workload=[*workloads] or [PATTERN])
    answer = critical_batch_law.QUESTION.answer(view, parameters)
    return ChartRequest(
        answer.table(), dict(answer.facts), view, parameters, "/v1/analysis/critical-batch-law", 900, 400
    )


def drawn(lake: Lake, *workloads: str) -> ChartPanels:
    return draw(request(lake, *workloads))


def test_each_variable_has_a_panel_and_all_share_the_legend(lake: Lake) -> None:
    panels = drawn(lake)
    assert [panel.heading[0] for panel in panels.panels] == [
        "Parameters of the model",
        "Fewest tokens to the target",
        "Loss of the target, nats",
    ]
    assert panels.shares_legend
    said = texts(svg_of(figure(panels.panels, caption=panels.notes)))
    assert {"Workloads", "Fitted law", "kaplan2020", "zhang2024-parameters"} <= set(said)


def test_points_and_published_laws_are_those_of_the_answer(lake: Lake) -> None:
    asked = request(lake)
    rows, facts = asked.rows.to_pylist(), asked.facts
    law = next(law for law in facts["laws"] if law["variable"] == "parameters")
    published = [each for each in facts["published"] if each["law"] == "zhang2024-parameters"]
    labels = ["Workloads", "Fitted law", "zhang2024-parameters"]
    chart = figure([critical_batch_law_chart(rows, Panel(), labels, "parameters", law, published)])
    points: list[dict[str, Any]] = marks(chart, "point")
    assert [(each["x"], each["size"]) for each in points] == [
        (row["parameters"], row["critical_batch_size"]) for row in rows
    ]
    assert [(each["lower"], each["upper"]) for each in marks(chart, "rule")] == [
        (row["lower"], row["upper"]) for row in rows
    ]
    lines = marks(chart, "line")
    theirs = [each["size"] for each in lines if each["series"] == "zhang2024-parameters"]
    assert theirs == pytest.approx(
        [row["critical_batch_size"] / ratio for row, ratio in zip(rows, published[0]["ratios"], strict=True)]
    )
    fitted = [each for each in lines if each["series"] == "Fitted law"]
    assert (fitted[0]["x"], fitted[-1]["x"]) == pytest.approx((rows[0]["parameters"], rows[-1]["parameters"]))
    assert fitted[0]["size"] == pytest.approx(law["coefficient"] * (rows[0]["parameters"] / 1e6) ** law["exponent"])
    assert all(each["lower"] < each["size"] < each["upper"] for each in fitted)


def test_law_that_is_refused_is_said_and_not_drawn(lake: Lake) -> None:
    panels = drawn(lake, "critical-batch-size/c4/olmo_85m/adamw")
    assert any(note.startswith("No law in parameters: 1 point has a number") for note in panels.notes)
    assert "Fitted law" not in texts(svg_of(figure(panels.panels)))
    assert panels.summary[0].startswith("No law of 1 workload in the parameters of the model: 1 point has a number")
