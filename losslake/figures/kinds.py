"""The kinds of figures: which answer each draws, and by which drawing."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from losslake.figures.curve_colours import CurveColours
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.formats import Document


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    answer: the path of the answer that it draws. drawing: module:function, which is imported by the first figure: what
    draws takes half a second to import. defaults: of the answer's parameters where none of those in `unless` is given.
    most_rows: of the answer; more could not be told apart. parameters: that only this kind has.
    """

    name: str
    doc: str
    answer: str
    drawing: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    unless: tuple[str, ...] = ()
    most_rows: int = 50_000
    parameters: type[BaseModel] | None = None

    def with_defaults(self, parameters: BaseModel) -> BaseModel:
        """The parameters, with this kind's own defaults."""
        if set(self.unless) & parameters.model_fields_set:
            return parameters
        return parameters.model_copy(update=dict(self.defaults))

    def draw(self, drawing: Drawing) -> Document:
        """The figure as a Vega-Lite specification."""
        draw: Callable[[Drawing], Drawn] = pkgutil.resolve_name(f"losslake.figures.charts.{self.drawing}")
        figure = pkgutil.resolve_name("losslake.figures.figure:figure")
        drawn = draw(drawing)
        lines = drawing.caption(drawn.explained)
        if drawing.title and len(drawn.panels) > 1:
            lines.insert(0, drawing.title)
        found: Document = figure(
            drawn.panels, drawn.columns, lines, drawing.width, drawn.shares_legend, drawn.description(drawing.title)
        )
        return found


KINDS = (
    Kind(
        "scaling",
        "Steps to a target by batch size, both in powers of two, with perfect scaling and the regimes.",
        "/v1/scaling",
        "scaling:draw",
    ),
    Kind(
        "curves",
        "The measurements of some trials, or of all trials of some studies: a plot for each metric.",
        "/v1/curves",
        "curves:draw",
        defaults={"points": 50},
        unless=("points", "every"),
        most_rows=300_000,
        parameters=CurveColours,
    ),
    Kind("best", "The best value of a metric by batch size, within a budget.", "/v1/best", "best:draw"),
    Kind(
        "metaparameters",
        "The best effective learning rate by batch size, with the linear and the square-root heuristic.",
        "/v1/metaparameters",
        "metaparameters:draw",
    ),
    Kind(
        "learning-rate-momentum",
        "Learning rate and momentum of every trial and what became of it: a plot for each batch size.",
        "/v1/analysis/metaparameter-map",
        "learning_rate_momentum:draw",
    ),
    Kind(
        "tuning-budget",
        "The steps to a target that the best of n trials takes, by n and batch size.",
        "/v1/analysis/tuning-budget",
        "tuning_budget:draw",
    ),
    Kind(
        "target-sweep",
        "Where the regimes of scaling end, and the critical batch size, by target.",
        "/v1/analysis/target-sweep",
        "target_sweep:draw",
    ),
    Kind(
        "time-cost",
        "Time to a target against its cost in examples, by batch size, with the front of both.",
        "/v1/analysis/time-cost",
        "time_cost:draw",
    ),
    Kind(
        "ratio",
        "The steps to a target over those of a baseline, by batch size, with ranges and a rule at 1.",
        "/v1/analysis/compare",
        "ratio:draw",
    ),
    Kind(
        "profile",
        "In which share of workloads and batch sizes each competitor is within a factor of the best.",
        "/v1/analysis/profiles",
        "profile:draw",
    ),
)
