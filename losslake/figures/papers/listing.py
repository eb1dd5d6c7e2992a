"""Which figures of which papers can be drawn, and for how much of each a release has the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from losslake.figures.papers.paper import Curve, Figure, Paper, paper, papers
from losslake.output.answer import Answer, row_shape
from losslake.questions.release_view import ReleaseView

PAPERS = row_shape(
    "papers", "paper", "figure", "title", "panels", "series", "series_without_data", "collection", "path"
)


def paper_figures(view: ReleaseView) -> Answer:
    """Every figure of every paper, in the order of the paper."""
    rows = [row for name in papers() for row in _rows(view, paper(name))]
    table = pa.Table.from_pylist(rows, PAPERS.schema)
    return Answer({"release": view.number}, PAPERS.schema, iter(table.to_batches()))


def has_collection(view: ReleaseView, found: Paper) -> bool:
    """Whether a release has anything of a paper's collection."""
    names = {workload.collection for workload in view.workloads}
    return any(name == found.collection or name.startswith(f"{found.collection}/") for name in names)


def figure_path(paper_name: str, number: str) -> str:
    """The path of a figure, without its ending."""
    return f"/v1/papers/{paper_name}/figures/{number}"


def _rows(view: ReleaseView, found: Paper) -> Iterator[dict[str, Any]]:
    for figure in found.figures:
        curves = _curves(figure)
        yield {
            "paper": found.name,
            "figure": figure.number,
            "title": figure.title,
            "panels": len(figure.panels),
            "series": len(curves),
            "series_without_data": sum(not _has_data(view, curve) for curve in curves),
            "collection": found.collection,
            "path": f"{figure_path(found.name, figure.number)}.svg",
        }


def _curves(figure: Figure) -> list[Curve]:
    return [curve for panel in figure.panels for curve in panel.curves]


def _has_data(view: ReleaseView, curve: Curve) -> bool:
    facts = view.workloads.get(curve.workload)
    if facts is None or curve.metric not in facts.measured:
        return False
    return curve.batch_sizes is None or not set(curve.batch_sizes).isdisjoint(facts.batch_sizes)
