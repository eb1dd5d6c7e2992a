"""The kinds of figures, what each is drawn from, and what comes of it; the series and sentences that several need.

Each kind is declared by a module of losslake.figures.charts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel

from losslake.figures.figure import figure
from losslake.figures.layers import Plot
from losslake.figures.links import Links
from losslake.figures.panel import Panel, Series, caption, columns_of, grid_panels, single_panel
from losslake.figures.theme import Document
from losslake.questions.release_view import ReleaseView
from losslake.questions.selection import Goal
from losslake.questions.workload_facts import workload_labels

_MOST_SERIES = 4


@dataclass(frozen=True, eq=False)
class Drawing:
    """An answer, and the size it is drawn in.

    rows, facts: of the answer. view: the release that gave it, for what else a figure shows. parameters: those of the
    answer's path. query: the URL of the answer, for the caption. width, height: of the figure in px. title: in place of
    the figure's own. links: to the explorer's pages.
    """

    rows: pa.Table
    facts: Mapping[str, Any]
    view: ReleaseView
    parameters: Any
    query: str
    width: int
    height: int
    title: str | None = None
    links: Links | None = None

    def caption(self, explained: Sequence[str]) -> list[str]:
        """Return what the marks mean, and where the data are from."""
        return caption(explained, self.view.number, self.query)

    def panel(self, title: str, subtitle: str, labels: Sequence[str], explained: Sequence[str]) -> Panel:
        """Return a panel as large as the figure leaves room for. labels: of the legend. explained: for the caption."""
        lines = self.caption(explained)
        panel = single_panel(self.width, self.height, self.title or title, subtitle, labels, lines)
        return replace(panel, links=self.links)

    def grid(self, n_panels: int) -> Panel:
        """Return a panel of several alike."""
        return replace(grid_panels(self.width, n_panels, self.height), links=self.links)

    def panels(self, title: str, labels: Sequence[str], explained: Sequence[str]) -> dict[str, Panel]:
        """Return a panel for each workload, by its name. title: of a single one; labels, explained: as for `panel`."""
        names = workload_labels(self.facts["workloads"])
        if len(names.own) == 1:
            return {workload: self.panel(title, names.common, labels, explained) for workload in names.own}
        grid = self.grid(len(names.own))
        return {workload: replace(grid, title=own, subtitle=names.common) for workload, own in names.own.items()}

    def series_by_workload(self) -> tuple[str, list[Series]]:
        """Return what all workloads have in common, and a series for each, with what it has besides as its label."""
        labels = workload_labels(self.facts["workloads"])
        return labels.common, [Series(own, where(self.rows, workload=name), name) for name, own in labels.own.items()]


@dataclass(frozen=True)
class Drawn:
    """Panels, side by side as far as there is room.

    explained: what their marks mean, in sentences. shares_legend: all panels have the same series. summary: the main
    numbers, in sentences, for those who don't see the figure.
    """

    panels: Sequence[Plot]
    explained: Sequence[str] = ()
    shares_legend: bool = False
    summary: Sequence[str] = ()

    def description(self, title: str | None) -> str:
        """Return what is to be seen: the heading, how many plots, and the main numbers, or else what marks mean."""
        first, n = self.panels[0], len(self.panels)
        headings = [title or ("" if n > 1 else " ".join(first.heading)), f"{n} plots" if n > 1 else "", first.subtitle]
        heading = ", ".join(text for text in headings if text)
        return " ".join([f"{heading}.", *(self.summary or self.explained)])


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    answer: the path of the answer that it draws. draw: draws it; its docstring says what it shows.
    defaults: of the answer's parameters where none of those in `unless` is given.
    most_rows: of the answer; more could not be told apart. parameters: that only this kind has.
    """

    name: str
    answer: str
    draw: Callable[[Drawing], Drawn]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    unless: tuple[str, ...] = ()
    most_rows: int = 50_000
    parameters: type[BaseModel] | None = None

    @property
    def doc(self) -> str:
        """What the figure shows, in a sentence."""
        return (inspect.getdoc(self.draw) or "").partition("\n\n")[0]

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


def where(rows: pa.Table, **values: object) -> pa.Table:
    """Return the rows with those values."""
    for name, value in values.items():
        rows = rows.filter(pc.equal(rows[name], value))
    return rows


def names_of(series: Sequence[Series]) -> list[str]:
    """Return the names that a legend has; none for a single series without a name."""
    return [one.label for one in series] if any(one.label for one in series) else []


def goal_text(facts: Mapping[str, Any]) -> str:
    """Return the goal in words: val/classification_error < 0.05."""
    goal = Goal(facts["target"], facts.get("comparator", "strict"))
    return goal.in_words(facts["metric"], facts["direction"])


def summary(series: Sequence[Series], words: Callable[[Series], str]) -> list[str]:
    """Return a sentence for each of the first few series, with its name. words: of a series; empty: no sentence."""
    said = [
        f"{one.label}: {text}" if one.label else f"{text[:1].upper()}{text[1:]}"
        for one in series
        if (text := words(one))
    ]
    more = len(said) - _MOST_SERIES
    return [f"{text}." for text in said[:_MOST_SERIES]] + ([f"And {more} more."] if more > 0 else [])


def ends_in_words(series: Series, field: str, unit: str = "") -> str:
    """Return the field at the smallest and the largest batch size that has one, and its least value.

    From 2,417 steps at batch size 1 to 24 at 512, least 22 at 256.
    """
    rows = sorted((row["batch_size"], row[field]) for row in series.rows.to_pylist() if row[field] is not None)
    if not rows:
        return ""
    first, last, least = rows[0], rows[-1], min(rows, key=lambda row: (row[1], row[0]))
    text = f"{first[1]:,.6g}{unit} at batch size {first[0]:,}"
    if last != first:
        text = f"from {text} to {last[1]:,.6g} at {last[0]:,}"
    return text if least in (first, last) else f"{text}, least {least[1]:,.6g} at {least[0]:,}"
