"""The state of the SQL page."""

from __future__ import annotations

from losslake_service.web.page import PageParameters


class SqlPageParameters(PageParameters):
    """A statement, and how its result is shown."""

    q: str = ""
    """The statement."""
    run: bool = False
    """Whether the server runs it for the page, as it does for browsers without scripts."""
    show: str | None = None
    """`chart` for a chart of the result."""
    x: str | None = None
    """The column along the horizontal axis."""
    y: str | None = None
    """The column along the vertical axis."""
    colour: str | None = None
    """The column that colours tell."""
    mark: str | None = None
    """line, points or bars."""
    log: str | None = None
    """The logarithmic axes: x, y or xy."""
