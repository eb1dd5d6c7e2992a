"""A chart on a page: one of the service's figures, as a picture, drawn live, and in every form to take away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from losslake.figures.charts import kinds
from losslake_service.web.lines import Line, snippets
from losslake_service.web.templates import Query, with_query

_WIDE, _NARROW = 720, 360
_ANSWERS = {kind.name: kind.answer for kind in kinds()}


@dataclass(frozen=True)
class Chart:
    """A figure of the service.

    kind: of the figure. query: parameters of the answer that it draws. release: which it is of. title: what it shows,
    in words. address: of the service, for lines to copy. name: to be told from others of the page. height: px.
    sql: a statement that gives the same rows, or where is_sql_behind those that they are made of; empty without one.
    is_large: its picture takes long to make, and is only for those without scripts. look: the parameters that the
    figure alone has, without its size.
    """

    kind: str
    query: Query
    release: int
    title: str
    address: str
    name: str
    height: int = 420
    sql: str = ""
    is_sql_behind: bool = False
    is_large: bool = False
    look: Query = ()

    @property
    def answer_query(self) -> Query:
        """The parameters of the answer, with the release."""
        return [*self.query, ("release", str(self.release))]

    def figure(self, ending: str, **more: object) -> str:
        """Return the address of the figure from the root: in svg, png, pdf, vl.json or csv."""
        return with_query(f"/v1/figures/{self.kind}.{ending}", [*self.answer_query, *self.look, *more.items()])

    def data(self, ending: str) -> str:
        """Return the address of the answer that is drawn: in json, csv, arrow or parquet."""
        return with_query(f"{_ANSWERS[self.kind]}.{ending}", self.answer_query)

    def picture(self, theme: Literal["light", "dark"] = "light", width: int = _WIDE) -> str:
        """Return the address of a picture, by default that for wide light screens and whoever knows no others."""
        height = self.height if width == _WIDE else min(self.height, _NARROW)
        return self.figure("svg", width=width, height=height, theme=theme)

    @property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """Media query and picture for narrow and for dark screens; the first that fits is taken."""
        narrow, dark = "(max-width: 40rem)", "(prefers-color-scheme: dark)"
        return (
            (f"{narrow} and {dark}", self.picture("dark", _NARROW)),
            (narrow, self.picture("light", _NARROW)),
            (dark, self.picture("dark")),
        )

    @property
    def width(self) -> int:
        """px of `picture()`."""
        return _WIDE

    @property
    def lines(self) -> list[Line]:
        """The same question asked with other tools."""
        return list(snippets(self.address, _ANSWERS[self.kind], self.answer_query))
