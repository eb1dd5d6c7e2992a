"""Draws the answer of /v1/best."""

from __future__ import annotations

from losslake.figures.charts.best import best_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.drawings.in_words import ends_in_words
from losslake.figures.drawings.series import budget_text, names_of, series_by_workload


def draw(drawing: Drawing) -> Drawn:
    """The best value by batch size, a series for each workload."""
    metric = drawing.facts["metric"]
    common, series = series_by_workload(drawing)
    explained = ["Points: the best value of any trial and evaluation."]
    panel = drawing.panel(f"Best {metric}{budget_text(drawing.facts)}", common, names_of(series), explained)
    return Drawn(
        [best_chart(series, panel, y_title=metric, links=drawing.links)],
        explained,
        told=ends_in_words(series, "best_value"),
    )
