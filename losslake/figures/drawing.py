"""The kinds of figures, with their inputs and outputs, and helpers that several charts share.

Each module of losslake.figures.charts declares one kind.
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
from losslake.figures.panel import Panel, Series, caption, grid_panels, n_columns_for, single_panel
from losslake.figures.theme import Document
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import workload_labels
from losslake.questions.trials.selection import Goal
from losslake_schema.names import Workload
from losslake_schema.quantities import amount

_MOST_SERIES = 4
UNKNOWN_UNIT = "something unknown"  # as in study_settings.sql


@dataclass(frozen=True, eq=False)
class ChartRequest:
    """An answer to draw, and the size of the figure.

    rows, facts: of the answer. view: its release, for other data that a figure shows. parameters: those of the answer's
    path. query: the URL of the answer, for the caption. width, height: of the figure in px. title: replaces the
    figure's own. links: to the explorer's pages. is_captioned: heading and caption are part of the figure.
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
    is_captioned: bool = True

    @property
    def measure_notes(self) -> list[str]:
        """The sentence of the caption on how FLOPs were counted; nothing for other measures."""
        is_by_rule = self.facts.get("measure") == "flops" and self.facts["flops_per_token"] is None
        return (
            ["FLOPs: as stated, else 6 for each parameter and token, without those of attention."] if is_by_rule else []
        )

    def caption(self, notes: Sequence[str]) -> list[str]:
        """Return the sentences of the caption: the notes on the marks, and the source of the data."""
        return caption(notes, self.view.number, self.query)

    def panel(
        self, title: str, subtitle: str, labels: Sequence[str], notes: Sequence[str], has_ends: bool = False
    ) -> Panel:
        """Return the panel of a single plot. labels: of the legend; notes: for the caption, both of which need room.

        has_ends: each series is a line, at whose end its name can be.
        """
        texts = (self.title or title, subtitle, labels, self.caption(notes))
        if not self.is_captioned:
            texts = ("", "", labels, [])
        panel = single_panel(self.width, self.height, *texts, has_ends)
        return replace(panel, title=self.title or title, subtitle=subtitle, **self._of_answer)

    def grid(self, n_panels: int) -> Panel:
        """Return the panel for each of n_panels plots of equal size."""
        return replace(grid_panels(self.width, n_panels, self.height, self.is_captioned), **self._of_answer)

    @property
    def _of_answer(self) -> dict[str, Any]:
        """The fields of a panel that depend on the answer: its links, and what all of its batch sizes count."""
        names = map(Workload.parse, self.facts.get("workloads", ()))
        all_facts = [facts for name in names for facts in self.view.matching(name)]
        units = {unit for facts in all_facts for unit in self.view.batch_units(facts)}
        is_known = len(units) == 1 and units != {UNKNOWN_UNIT}
        goal = {name: self.facts[name] for name in ("metric", "target") if self.facts.get(name) is not None}
        links = self.links and replace(self.links, goal=goal if len(goal) == 2 else {})
        return {"links": links, "batch_unit": units.pop() if is_known else "examples"}

    def panels(self, title: str, labels: Sequence[str], notes: Sequence[str]) -> dict[str, Panel]:
        """Return a panel for each workload, by its name. title: of a single panel; labels, notes: as for `panel`."""
        names = workload_labels(self.facts["workloads"])
        if len(names.short) == 1:
            return {workload: self.panel(title, names.common, labels, notes) for workload in names.short}
        grid = self.grid(len(names.short))
        return {workload: replace(grid, title=label, subtitle=names.common) for workload, label in names.short.items()}

    def by_batch_size(self) -> tuple[ChartRequest, list[str]]:
        """Return the request without the rows of batch sizes that change, and a note on these."""
        n_changing = self.rows["batch_size"].null_count
        if not n_changing:
            return self, []
        note = "Not drawn: the trials whose batch size changes."
        return replace(self, rows=self.rows.filter(pc.is_valid(self.rows["batch_size"]))), [note]

    def series_by_workload(self) -> tuple[str, list[Series]]:
        """Return the part of the names that all workloads share, and a series for each, labelled with the rest."""
        labels = workload_labels(self.facts["workloads"])
        return labels.common, [
            Series(label, filter_rows(self.rows, workload=name), name) for name, label in labels.short.items()
        ]


@dataclass(frozen=True)
class ChartPanels:
    """The plots of a figure, side by side as far as they fit.

    notes: sentences that explain the marks. results: those about what they show, which a page may have in words of its
    own. shares_legend: all plots have the same series. summary: sentences with the
    main numbers, for readers who don't see the figure.
    """

    panels: Sequence[Plot]
    notes: Sequence[str] = ()
    shares_legend: bool = False
    results: Sequence[str] = ()
    summary: Sequence[str] = ()

    def description(self, title: str | None) -> str:
        """Return the text alternative: the heading, the number of plots, and the summary, or else the notes."""
        first, n = self.panels[0], len(self.panels)
        headings = [title or ("" if n > 1 else " ".join(first.heading)), f"{n} plots" if n > 1 else "", first.subtitle]
        heading = ", ".join(text for text in headings if text)
        return " ".join([f"{heading}.", *(self.summary or self.notes)])


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    answer: the path of the answer that it draws. draw: draws it; the first sentence of its docstring is public.
    defaults: of the answer's parameters, unless the request has one of those in `unless`.
    most_rows: of the answer; more would be indistinguishable. parameters: those that only this kind has.
    """

    name: str
    answer: str
    draw: Callable[[ChartRequest], ChartPanels]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    unless: tuple[str, ...] = ()
    most_rows: int = 50_000
    parameters: type[BaseModel] | None = None

    @property
    def doc(self) -> str:
        """The description of the figure, in a sentence."""
        return (inspect.getdoc(self.draw) or "").partition("\n\n")[0]

    def with_defaults(self, parameters: BaseModel) -> BaseModel:
        """Return the parameters with the defaults of this kind."""
        if set(self.unless) & parameters.model_fields_set:
            return parameters
        return parameters.model_copy(update=dict(self.defaults))

    def specification(self, request: ChartRequest) -> Document:
        """Return the figure as a Vega-Lite specification."""
        drawn = self.draw(request)
        lines = request.caption([*drawn.notes, *drawn.results])
        if request.title and len(drawn.panels) > 1:
            lines.insert(0, request.title)
        columns = n_columns_for(request.width, len(drawn.panels))
        description = drawn.description(request.title)
        if request.is_captioned:
            return figure(drawn.panels, columns, lines, request.width, drawn.shares_legend, description)
        plots, texts = list(drawn.panels), {"heading": request.title or "", "notes": list(drawn.notes)}
        if len(plots) == 1:
            texts["heading"] = " ".join(plots[0].heading)
            plots = [replace(plots[0], heading=())]
        texts["results"] = list(drawn.results)
        bare = figure(plots, columns, (), request.width, drawn.shares_legend, description)
        return bare | {"usermeta": texts}


def filter_rows(rows: pa.Table, **values: object) -> pa.Table:
    """Return the rows whose columns have these values."""
    for name, value in values.items():
        rows = rows.filter(pc.equal(rows[name], value))
    return rows


def legend_labels(series: Sequence[Series]) -> list[str]:
    """Return the labels of the legend; none for a single series without a label."""
    return [one.label for one in series] if any(one.label for one in series) else []


def goal_text(facts: Mapping[str, Any]) -> str:
    """Return the goal in words: val/classification_error < 0.05."""
    return Goal(facts["target"], facts.get("comparator", "strict")).in_words(facts["metric"], facts["direction"])


def summary(series: Sequence[Series], words: Callable[[Series], str]) -> list[str]:
    """Return a sentence for each of the first few series. words: returns the text for a series; empty: no sentence."""
    sentences = [
        f"{one.label}: {text}" if one.label else f"{text[:1].upper()}{text[1:]}"
        for one in series
        if (text := words(one))
    ]
    more = len(sentences) - _MOST_SERIES
    return [f"{text}." for text in sentences[:_MOST_SERIES]] + ([f"And {more} more."] if more > 0 else [])


def ends_in_words(series: Series, field: str, unit: str = "") -> str:
    """Return the values at the smallest and the largest batch size, and the least value, in words.

    Example: from 2,417 steps at batch size 1 to 24 at 512, least 22 at 256.
    """
    rows = sorted((row["batch_size"], row[field]) for row in series.rows.to_pylist() if row[field] is not None)
    if not rows:
        return ""
    first, last, least = rows[0], rows[-1], min(rows, key=lambda row: (row[1], row[0]))
    text = f"{amount(first[1])}{unit} at batch size {first[0]:,}"
    if last != first:
        text = f"from {text} to {amount(last[1])} at {last[0]:,}"
    return text if least in (first, last) else f"{text}, least {amount(least[1])} at {least[0]:,}"
