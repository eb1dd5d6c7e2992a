"""Draws the answer of /v1/metaparameters."""

from __future__ import annotations

from losslake.figures.charts.learning_rates import learning_rates_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.drawings.series import goal_text, names_of, series_by_workload


def draw(drawing: Drawing) -> Drawn:
    """The best effective learning rates by batch size, a series for each workload."""
    facts = drawing.facts
    common, series = series_by_workload(drawing)
    near = f"{facts['within']:.0%}"
    explained = [
        f"Points: learning rate / (1 \u2212 momentum) of the trial with the fewest steps; pale: others within {near}.",
        "Dashed: linear heuristic; dotted: square-root heuristic, both from the first optimum.",
    ]
    panel = drawing.panel(f"Best learning rates for {goal_text(facts)}", common, names_of(series), explained)
    return Drawn(
        [learning_rates_chart(series, panel, heuristics_of=series[0].label if series else None, links=drawing.links)],
        explained,
    )
