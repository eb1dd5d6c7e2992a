"""The list of the papers' figures, with the data that a release has for each."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa

from losslake.figures.papers.paper import Curve, Paper, paper, papers
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import ReleaseSummary
from losslake.questions.release.errors import UnknownName
from losslake.questions.release.view import ReleaseView
from losslake_schema.registry import collections


class PaperFigureRow(Row):
    """A figure of a paper."""

    paper: Annotated[str, shown("shallue2018")]
    """Name of the paper, as in the path of a figure."""
    figure: Annotated[str, shown("9a")]
    """Number of the figure in the paper."""
    title: Annotated[str, shown("Steps to result by optimizer")]
    """Title of the figure."""
    panels: Annotated[int, shown(3, "panels")]
    """Number of panels in the figure."""
    series: Annotated[int, shown(8, "series")]
    """Number of series in all panels."""
    series_without_data: Annotated[int, shown(0, "series")]
    """Number of series whose workload, metric or batch size is missing from the release."""
    collection: Annotated[str, shown("shallue2018")]
    """The collection with the figure's data, directly or in its sub-collections."""
    path: Annotated[str, shown("/v1/papers/shallue2018/figures/4.svg")]
    """Path of the figure as SVG. The endings .png, .pdf, .vl.json and .csv give the other formats."""


def _answer(view: ReleaseView, _: ReleaseParameters) -> Answer:
    """Return every figure of every paper, in the paper's order."""
    rows = []
    for one in map(paper, papers()):
        for figure in one.figures:
            curves = [curve for panel in figure.panels for curve in panel.curves]
            rows.append(
                {
                    "paper": one.name,
                    "figure": figure.number,
                    "title": figure.title,
                    "panels": len(figure.panels),
                    "series": len(curves),
                    "series_without_data": sum(not _has_data(view, curve) for curve in curves),
                    "collection": one.collection,
                    "path": f"{figure_path(one.name, figure.number)}.svg",
                }
            )
    table = pa.Table.from_pylist(rows, QUESTION.rows.schema)
    return Answer({"release": view.number}, QUESTION.rows.schema, iter(table.to_batches()))


QUESTION = Question(
    path="/v1/papers",
    doc="The figures of papers that can be drawn, and how much of their data the release has.",
    parameters=ReleaseParameters,
    row=PaperFigureRow,
    summary=ReleaseSummary,
    compute=_answer,
)


def figure_path(paper_name: str, number: str) -> str:
    """Return the path of a figure, without its ending."""
    return f"/v1/papers/{paper_name}/figures/{number}"


def _has_data(view: ReleaseView, curve: Curve) -> bool:
    facts = view.workloads.get(curve.workload)
    if facts is None or curve.metric not in facts.measured:
        return False
    return curve.batch_sizes is None or not set(curve.batch_sizes).isdisjoint(facts.batch_sizes)


def has_collection(view: ReleaseView, paper: Paper) -> bool:
    """Return True if a release has any data of a paper's collection."""
    names = {workload.collection for workload in view.workloads}
    return any(name == paper.collection or name.startswith(f"{paper.collection}/") for name in names)


def check_collection(view: ReleaseView, paper: Paper) -> None:
    """Raise MissingCollection, an UnknownName, if a release has no data of a paper."""
    if not has_collection(view, paper):
        raise MissingCollection(paper.collection, view)


class MissingCollection(UnknownName):
    """A release has no data of a collection."""

    def __init__(self, collection: str, view: ReleaseView) -> None:
        collections = list(dict.fromkeys(workload.collection for workload in view.workloads))
        super().__init__("collection", collection, collections, f"release {view.number}")
        how = how_to_get(collection)
        self.args = (f"release {view.number} has no data of the collection '{collection}': {how}",)


def how_to_get(collection: str) -> str:
    """Return the commands that add a collection to a lake, in words."""
    path = "'losslake ingest PATH' ingests its archive"
    if any(each.collection == collection and each.archive_url for each in collections()):
        return f"'losslake fetch {collection}' downloads it, {path} from disk"
    return path
