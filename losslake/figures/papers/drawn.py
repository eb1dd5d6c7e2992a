"""A paper's figure from a release: its specification, its rows, and in words what the release lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from losslake.figures.figure_formats import Document
from losslake.figures.papers.listing import has_collection
from losslake.figures.papers.paper import Figure, Paper
from losslake.figures.papers.rows import PanelRows, all_rows, figure_rows
from losslake.questions.errors import UnknownName
from losslake.questions.release_view import ReleaseView
from losslake_schema.registry import collections

MOST_NAMED = 4
_WIDTHS = {1: 500, 2: 860, 3: 980}
_EXPLAINED = {
    "steps-to-result": "Fewest steps of any trial to the goal, by batch size.",
    "best-value": "Best value of any trial, by batch size.",
    "effective-learning-rate": (
        "Learning rate / (1 \u2212 momentum) of the trial with the fewest steps to the goal, by batch size. "
        "From the first on, dashed: in proportion to the batch size; dotted: to its square root."
    ),
    "learning-rate-momentum": (
        "A mark for each trial, a ring around the one with the fewest steps. "
        "Lines: equal learning rate / (1 \u2212 momentum)."
    ),
}


@dataclass(frozen=True)
class DrawnFigure:
    """A figure of a paper, with the numbers of one release.

    trials: of each study the first so many, instead of the paper's number.
    """

    paper: Paper
    figure: Figure
    view: ReleaseView
    panels: tuple[PanelRows, ...]
    trials: int | None

    @property
    def rows(self) -> pa.Table:
        """All that is drawn."""
        return all_rows(self.panels)

    @property
    def n_lacking(self) -> int:
        """Panels without any data."""
        return sum(panel.is_lacking for panel in self.panels)

    @property
    def notes(self) -> list[str]:
        """What a reader has to know, each once: what the release lacks, and where it has fewer trials."""
        return list(dict.fromkeys(words for panel in self.panels for words in panel.words))

    def specification(self, query: str) -> Document:
        """The Vega-Lite specification. query: the URL of the rows, for the caption."""
        # What draws takes half a second to import, which those who want the rows need not wait for.
        from losslake.figures.caption import caption
        from losslake.figures.figure import figure
        from losslake.figures.papers.drawing import charts

        lines = caption(list(self._explained()), self.view.number, query)
        made = figure(
            charts(self.figure, self.panels),
            self.figure.columns,
            lines,
            _WIDTHS[self.figure.columns],
            description=lines[0],
        )
        return made | {
            "usermeta": {"losslake": {"paper": self.paper.name, "figure": self.figure.number, "notes": self.notes}}
        }

    def _explained(self) -> Iterator[str]:
        paper = self.paper
        source = f"{paper.authors}: {paper.title}. {paper.published}"
        yield f"Figure {self.figure.number}, {self.figure.title[:1].lower()}{self.figure.title[1:]}; after {source}."
        for kind in dict.fromkeys(panel.panel.kind for panel in self.panels):
            marks = self._marks_of_steps() if kind == "steps-to-result" else ()
            yield " ".join([_EXPLAINED[kind], *marks])
        yield self._trials_taken()
        yield from self._lacking()

    def _marks_of_steps(self) -> Iterator[str]:
        """What else there is to see of steps to result."""
        rows = [row for panel in self.panels for curve in panel.curves for row in curve.rows]
        if any(row.get("perfect_scaling") is not None for row in rows):
            yield "Dashed: perfect scaling, half the steps for twice the batch."
        if any(row.get("n_reached") == 0 for row in rows):
            yield "Open triangles: no trial reached the goal."

    def _trials_taken(self) -> str:
        """Which trials count, in a sentence."""
        curves = [curve.curve for panel in self.panels for curve in panel.curves]
        statuses = " and ".join(dict.fromkeys(status for curve in curves for status in curve.statuses))
        counts = sorted({self.trials or curve.trials for curve in curves} - {None}, key=lambda count: -(count or 0))
        taken = f"the first {' or '.join(map(str, counts))}" if counts else "all"
        short = {curve.curve.workload for panel in self.panels for curve in panel.curves if curve.too_few}
        fewer = f"; {len(short)} of {len({c.workload for c in curves})} workloads have fewer" if short else ""
        return f"Trials: {taken} {statuses} of each study{fewer}."

    def _lacking(self) -> Iterator[str]:
        """What the release lacks, in a sentence."""
        missing = [
            curve.nothing.why.removeprefix("no data for ")
            for panel in self.panels
            for curve in panel.curves
            if curve.nothing is not None and curve.is_lacking
        ]
        named = list(dict.fromkeys(missing))
        if named:
            more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
            yield f"No data for {', '.join(named[:MOST_NAMED])}{more}."
        others = [note for panel in self.panels for curve in panel.curves for note in curve.notes]
        yield from (f"{note[:1].upper()}{note[1:]}." for note in dict.fromkeys(others))


def drawn_figure(view: ReleaseView, paper: Paper, number: str, trials: int | None = None) -> DrawnFigure:
    """The figure of that number with the numbers of a release; raises UnknownName."""
    figure = paper.figure(number)
    check_collection(view, paper)
    return DrawnFigure(paper, figure, view, figure_rows(view, figure, trials), trials)


def check_collection(view: ReleaseView, paper: Paper) -> None:
    """Raise UnknownName where a release has nothing at all of a paper."""
    if not has_collection(view, paper):
        known = list(dict.fromkeys(workload.collection for workload in view.workloads))
        raise MissingCollection(paper.collection, view.number, known)


class MissingCollection(UnknownName):
    """A release has nothing of a collection."""

    def __init__(self, collection: str, release: int, known: Sequence[str]) -> None:
        super().__init__("collection", collection, known, f"release {release}")
        self.args = (f"release {release} has no data of the collection '{collection}': {how_to_get(collection)}",)


def how_to_get(collection: str) -> str:
    """What brings a collection into the lake, in words."""
    path = "'losslake ingest PATH' takes in its archive"
    if any(known.collection == collection and known.archive_url for known in collections()):
        return f"'losslake fetch {collection}' gets it from the web, {path} from a disk"
    return path
