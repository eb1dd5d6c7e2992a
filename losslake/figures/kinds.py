"""The kinds of figures: which answer each draws, and how. Each is declared by a module of losslake.figures.charts."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from losslake.figures import charts
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.figure import figure
from losslake.figures.panel import columns_of
from losslake.figures.theme import Document


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    doc: what it shows, in a sentence. answer: the path of the answer that it draws. draw: draws it.
    defaults: of the answer's parameters where none of those in `unless` is given.
    most_rows: of the answer; more could not be told apart. parameters: that only this kind has.
    """

    name: str
    doc: str
    answer: str
    draw: Callable[[Drawing], Drawn]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    unless: tuple[str, ...] = ()
    most_rows: int = 50_000
    parameters: type[BaseModel] | None = None

    def with_defaults(self, parameters: BaseModel) -> BaseModel:
        """Return the parameters, with the defaults of this kind."""
        if set(self.unless) & parameters.model_fields_set:
            return parameters
        return parameters.model_copy(update=dict(self.defaults))

    def specification(self, drawing: Drawing) -> Document:
        """Return the figure as a Vega-Lite specification."""
        drawn = self.draw(drawing)
        lines = drawing.caption(drawn.explained)
        if drawing.title and len(drawn.panels) > 1:
            lines.insert(0, drawing.title)
        columns = columns_of(drawing.width, len(drawn.panels))
        return figure(
            drawn.panels, columns, lines, drawing.width, drawn.shares_legend, drawn.description(drawing.title)
        )


@cache
def kinds() -> tuple[Kind, ...]:
    """Return every kind of figure, in the order of the modules' names."""
    modules = sorted(module.name for module in pkgutil.iter_modules(charts.__path__))
    return tuple(import_module(f"{charts.__name__}.{name}").KIND for name in modules)
