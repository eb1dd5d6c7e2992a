"""The figures of papers that a release can draw, which the document about them shows, one paper after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from losslake.figures.papers import listing
from losslake.figures.papers.drawn import approximate_size
from losslake.figures.papers.paper import paper
from losslake.questions.declaration.parameters import ReleaseParameters
from losslake_service.web.chart import share_lines
from losslake_service.web.code_lines import Line
from losslake_service.web.page import PageRequest
from losslake_service.web.templates import with_query

NAME = "papers"
"""The name of the document."""
PATH = "/docs/papers"
_FRAME_HEIGHT = 640
_ENDINGS = ("svg", "png", "pdf", "vl.json", "csv")


def paper_figures(request: PageRequest) -> dict[str, Any]:
    """Return the figures by paper; those without any data are left out, and counted as missing."""
    rows = listing.QUESTION.answer(request.view, ReleaseParameters()).table().to_pylist()
    drawn = [row for row in rows if row["series_without_data"] < row["series"]]
    return {
        "papers": [
            (paper(name), [_figure(request, row) for row in group])
            for name, group in groupby(drawn, lambda row: str(row["paper"]))
        ],
        "n_missing": len(rows) - len(drawn),
    }


def _figure(request: PageRequest, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a figure with the addresses of its formats."""
    path, release = str(row["path"]).removesuffix(".svg"), ("release", request.view.number)
    light = with_query(f"{path}.svg", [release])
    return {
        **row,
        "light": light,
        "size": approximate_size(paper(str(row["paper"])).figure(str(row["figure"]))),
        "shares": list(_shares(request, row, light)),
        "dark": with_query(f"{path}.svg", [release, ("theme", "dark")]),
        "formats": [(ending, with_query(f"{path}.{ending}", [release])) for ending in _ENDINGS],
    }


def _shares(request: PageRequest, row: Mapping[str, Any], picture: str) -> Iterator[Line]:
    """Return the lines that show a figure elsewhere."""
    name, number, release = str(row["paper"]), row["figure"], [("release", request.view.number)]
    page, frame = with_query(PATH, release), with_query(f"/embed/papers/{name}/{number}", release)
    title = f"Figure {number} of {paper(name).title}"
    return share_lines(request.address, f"{page}#{name}-{number}", picture, frame, title, _FRAME_HEIGHT)
