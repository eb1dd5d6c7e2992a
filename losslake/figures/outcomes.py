"""The outcomes of trials in figures: their labels, colours and marks."""

from __future__ import annotations

from dataclasses import dataclass

from losslake.figures import theme


@dataclass(frozen=True)
class Outcome:
    """An outcome of trials: its value in answers, its label, and its mark."""

    value: str
    words: str
    colour: str
    shape: str


# The outcomes in drawing order; later ones are on top.
OUTCOMES = (
    Outcome("infeasible", "Infeasible", theme.NEUTRAL, "M-0.8,-0.8L0.8,0.8M0.8,-0.8L-0.8,0.8"),
    Outcome("incomplete", "Incomplete", theme.COLOURS[4], "square"),
    Outcome("not reached", "Goal not achieved", theme.COLOURS[1], "triangle-up"),
    Outcome("reached", "Goal achieved", theme.COLOURS[0], "circle"),
)
