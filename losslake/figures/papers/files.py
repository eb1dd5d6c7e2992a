"""A paper's figure as a file of each kind."""

from __future__ import annotations

from losslake.figures.dark import Theme, in_theme
from losslake.figures.figure_formats import IMAGES
from losslake.figures.papers.drawn import DrawnFigure
from losslake.figures.papers.listing import figure_path
from losslake.figures.papers.rows import ROWS
from losslake.output.answer import Answer
from losslake.output.formats import FORMATS

PNG_SCALE = 2.0


def rows_answer(drawn: DrawnFigure) -> Answer:
    """The rows of a figure as an answer."""
    return Answer({"release": drawn.view.number}, ROWS.schema, iter(drawn.rows.to_batches()))


def rows_path(drawn: DrawnFigure) -> str:
    """The path and query of a figure's rows, pinned to the release, as a service has them."""
    chosen = "" if drawn.trials is None else f"&trials={drawn.trials}"
    return f"{figure_path(drawn.paper.name, drawn.figure.number)}.csv?release={drawn.view.number}{chosen}"


def figure_bytes(drawn: DrawnFigure, ending: str) -> bytes:
    """A figure in the format of an ending: vl.json, svg, png, pdf or csv; rendered by this process."""
    if ending == "csv":
        return b"".join(FORMATS["csv"].encode(rows_answer(drawn)))
    specification = specification_bytes(drawn, rows_path(drawn))
    if ending == "vl.json":
        return specification
    from losslake.figures.rendering import rendered

    return rendered(specification, IMAGES[ending], PNG_SCALE)


def specification_bytes(drawn: DrawnFigure, query: str, theme: Theme = "light") -> bytes:
    """The Vega-Lite specification as JSON. query: the URL of the rows, for the caption."""
    from losslake.figures.figure import encoded

    return encoded(in_theme(drawn.specification(query), theme))
