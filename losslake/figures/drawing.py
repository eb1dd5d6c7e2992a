"""What a figure is drawn from, and what comes of it.

The series of an answer, and the words that several drawings say of it.
The main numbers of figures in sentences, for those who don't see them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from losslake.figures import layout
from losslake.figures.layers import Links, Plot
from losslake.figures.layout import caption
from losslake.figures.panel import Panel, Series
from losslake.questions.release_view import ReleaseView
from losslake.questions.selection import Goal
from losslake.questions.workload_facts import workload_labels


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
        """What the marks mean, and where the data are from."""
        return caption(explained, self.view.number, self.query)

    def panel(self, title: str, subtitle: str = "", labels: Sequence[str] = (), explained: Sequence[str] = ()) -> Panel:
        """A panel as large as the figure leaves room for. labels: of the legend. explained: for the caption."""
        lines = self.caption(explained)
        return layout.single_panel(self.width, self.height, self.title or title, subtitle, labels, lines)


@dataclass(frozen=True)
class Drawn:
    """Panels in so many columns.

    explained: what their marks mean, in sentences. shares_legend: all panels have the same series. told: the main
    numbers, in sentences, for those who don't see the figure.
    """

    panels: Sequence[Plot]
    explained: Sequence[str] = ()
    columns: int = 1
    shares_legend: bool = False
    told: Sequence[str] = ()

    def description(self, title: str | None) -> str:
        """What is to be seen, in sentences: the heading, how many plots, and the main numbers or what marks mean."""
        first = self.panels[0]
        n = len(self.panels)
        headings = [title or ("" if n > 1 else " ".join(first.heading)), f"{n} plots" if n > 1 else "", first.subtitle]
        heading = ", ".join(text for text in headings if text)
        return " ".join([f"{heading}.", *(self.told or self.explained)])


def series_by_workload(drawing: Drawing) -> tuple[str, list[Series]]:
    """What all workloads have in common, and a series for each, with what it has besides as its label."""
    rows = drawing.rows
    labels = workload_labels(drawing.facts["workloads"])
    series = [Series(label, rows.filter(pc.equal(rows["workload"], name)), name) for name, label in labels.own.items()]
    return labels.common, series


def names_of(series: Sequence[Series]) -> list[str]:
    """The names that a legend has; none for a single series without a name."""
    return [one.label for one in series] if any(one.label for one in series) else []


def goal_text(facts: Mapping[str, Any]) -> str:
    """The goal in words: val/classification_error < 0.05."""
    goal = Goal(facts["target"], facts.get("comparator", "strict"))
    return goal.in_words(facts["metric"], facts["direction"])


def budget_text(facts: Mapping[str, Any]) -> str:
    """The budgets in words: within 1,000 steps; empty without any."""
    found = [
        f"{facts[name]:,} {unit}"
        for name, unit in (("step_budget", "steps"), ("example_budget", "examples"))
        if facts[name] is not None
    ]
    return f" within {' and '.join(found)}" if found else ""


_MOST_SERIES = 4
_MOST_SIZES = 6


def ends_in_words(series: Sequence[Series], field: str, unit: str = "") -> list[str]:
    """Of each series its values at the smallest and the largest batch size that has one, and its least one.

    series: rows with batch_size and the field.
    """
    return _of_each(series, lambda one: _ends(one, field, unit))


def never_in_words(series: Sequence[Series]) -> list[str]:
    """Of each series the batch sizes at which no trial reached the target. series: rows with batch_size and steps."""
    return _of_each(series, _never)


def _of_each(series: Sequence[Series], words: Callable[[Series], str]) -> list[str]:
    said = [
        f"{one.label}: {text}" if one.label else f"{text[:1].upper()}{text[1:]}"
        for one in series
        if (text := words(one))
    ]
    more = len(said) - _MOST_SERIES
    return [f"{text}." for text in said[:_MOST_SERIES]] + ([f"And {more} more."] if more > 0 else [])


def _ends(series: Series, field: str, unit: str) -> str:
    """From 2,417 steps at batch size 1 to 24 at 512, least 22 at 256."""
    rows = sorted((row["batch_size"], row[field]) for row in series.rows.to_pylist() if row[field] is not None)
    if not rows:
        return ""
    first, last, least = rows[0], rows[-1], min(rows, key=lambda row: (row[1], row[0]))
    found = f"{first[1]:,.6g}{unit} at batch size {first[0]:,}"
    if last != first:
        found = f"from {found} to {last[1]:,.6g} at {last[0]:,}"
    return found if least in (first, last) else f"{found}, least {least[1]:,.6g} at {least[0]:,}"


def _never(series: Series) -> str:
    sizes = [row["batch_size"] for row in series.rows.to_pylist() if row["steps"] is None]
    if not sizes:
        return ""
    named = ", ".join(f"{size:,}" for size in sizes[:_MOST_SIZES])
    return f"no trial reached it at batch size {named}{' and others' if len(sizes) > _MOST_SIZES else ''}"
