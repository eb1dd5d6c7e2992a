"""The chart of a loss law has the points, lines of the law that say where they extrapolate, and the residuals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from losslake.analysis.loss_law import LossLaw
from losslake.figures.charts.loss_law import draw, loss_chart, residual_chart
from losslake.figures.drawing import ChartPanels, ChartRequest
from losslake.figures.figure import figure
from losslake.figures.panel import Panel
from losslake.questions import loss_law
from losslake.questions.release.view import ReleaseView
from losslake_schema.quantities import abbreviated
from tests.losslake.figures.drawing import marks, svg_of, texts
from tests.losslake.questions.test_loss_law import METRIC, ask, runs, view
from tests.losslake.questions.views import WORKLOAD

LAW = LossLaw(2.0, 400.0, 2000.0, 0.34, 0.36)


def point(n: float, d: float, series: str) -> dict[str, Any]:
    loss = float(LAW.losses(n, d)) * 1.01
    fitted = float(LAW.losses(n, d))
    return {
        "workload": "a/b/c/d", "batch_size": 8, "trial_id": 1, "n": n, "d": d, "loss": loss, "fitted": fitted,
        "residual": float(np.log(1.01)), "series": series,
    }  # fmt: skip


POINTS = [point(1e8, 1e9, "100M"), point(1e8, 1e10, "100M"), point(1e9, 5e9, "1B"), point(1e9, 1e11, "1B")]
SIZES = {"100M": 1e8, "1B": 1e9}


def test_lines_are_the_law_and_dashed_beyond_the_points_of_their_size() -> None:
    drawn = figure([loss_chart(POINTS, SIZES, LAW, Panel())])
    lines = marks(drawn, "line")
    for row in lines:
        assert row["loss"] == pytest.approx(float(LAW.losses(SIZES[row["series"]], row["d"])))
        low, high = {"100M": (1e9, 1e10), "1B": (5e9, 1e11)}[row["series"]]
        is_within = low * 0.999 <= row["d"] <= high * 1.001
        assert is_within or row["is_dashed"]
    assert max(row["d"] for row in lines) == pytest.approx(4e11)
    assert {row["series"] for row in lines if not row["is_dashed"]} == set(SIZES)
    assert len(marks(drawn, "point")) == len(POINTS)
    assert {"100M", "1B", "Tokens", "Loss"} <= set(texts(svg_of(drawn)))


def test_residuals_have_a_line_at_0() -> None:
    drawn = figure([residual_chart(POINTS, [*SIZES], Panel())])
    assert marks(drawn, "rule") == [{"residual": 0.0}]
    assert [row["residual"] for row in marks(drawn, "point")] == pytest.approx([np.log(1.01)] * 4)


def test_without_points_or_a_law_it_says_so() -> None:
    assert "No trial has a size, tokens and a loss." in texts(svg_of(figure([loss_chart([], {}, None, Panel())])))
    unfitted = [row | {"residual": None} for row in POINTS]
    assert "No law is fitted." in texts(svg_of(figure([residual_chart(unfitted, [*SIZES], Panel())])))
    assert not marks(figure([loss_chart(unfitted, SIZES, None, Panel())]), "line")


def drawing(of: ReleaseView, **parameters: Any) -> ChartPanels:
    asked = loss_law.LossLawParameters.model_validate({"workload": [str(WORKLOAD)], "metric": METRIC, **parameters})
    answer = loss_law.QUESTION.answer(of, asked)
    return draw(ChartRequest(answer.table(), answer.facts, of, asked, "/v1/analysis/loss-law", 700, 400))


def test_a_figure_says_the_law_and_its_optimum(tmp_path: Path) -> None:
    of = view(tmp_path, runs(every=1))
    drawn = drawing(of, flops=["1e24"])
    facts = ask(of, flops=["1e24"])[1]
    bounds = {each["name"]: f"{each['lower']:.3g} to {each['upper']:.3g}" for each in facts["estimates"]}
    (best,) = facts["optimum"]
    n, d = (
        "{} {noun} ({} to {})".format(
            *(abbreviated(best[f"{name}{end}"]) for end in ("", "_lower", "_upper")), noun=noun
        )
        for name, noun in (("n", "parameters"), ("d", "tokens"))
    )
    law_, intervals, optimum, *warnings = drawn.results
    assert law_ == f"Fitted to 24 points of 6 model sizes: L = {facts['law']}."
    assert intervals.startswith("90% intervals: E ")
    assert f"alpha {bounds['alpha']}, beta {bounds['beta']}." in intervals
    assert optimum == f"Best for 1e+24 FLOPs: {n} and {d} (extrapolated: compute, n, d)."
    assert [each.lower() for each in warnings] == [f"{each.lower()}." for each in facts["warnings"]] != []
    assert len(drawn.panels) == 2


def test_a_figure_without_a_law_says_why(tmp_path: Path) -> None:
    drawn = drawing(view(tmp_path, runs(n=8, every=1)))
    assert drawn.results == ["No law is reported: 8 settings: a fit needs 10."]
