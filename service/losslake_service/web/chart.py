"""A chart on a page: one of the service's figures, as a picture, drawn live, and in every form to take away.

Lines to copy: one question asked with curl, pandas, Polars, DuckDB and R.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from losslake.figures.kinds import KINDS
from losslake_service.web.examples import ExampleQuery
from losslake_service.web.templates import Query, with_query

_SHOWN = ("application/json", "application/ld+json", "application/yaml", "text/")
_TABULAR = {"application/json", "text/csv", "application/vnd.apache.parquet"}


def snippets(address: str, path: str, query: ExampleQuery, media_types: set[str]) -> Iterator[tuple[str, str]]:
    """Tool and line, for a GET. address: of the service; media_types: in which the path answers."""
    url = f"{address}{path}{_text(query)}"
    if not media_types >= _TABULAR:
        save = "-O " if media_types and not any(kind.startswith(_SHOWN) for kind in media_types) else ""
        yield "curl", f"curl {save}{shlex.quote(url)}"
        return
    parquet = f"{address}{path}.parquet{_text(query)}"
    csv = f"{address}{path}.csv{_text(query)}"
    yield "curl", f"curl {shlex.quote(url)}"
    yield "pandas", f"pandas.read_parquet({_quoted(parquet)})"
    yield "Polars", f"polars.read_parquet({_quoted(parquet)})"
    # DuckDB would take metric=val/… for a folder of a partition, so no slash may be left.
    plain = f"{address}{path}.parquet{_text(query, safe='')}"
    yield "DuckDB", "FROM '" + plain.replace("'", "%27") + "';"
    yield "R", f"read.csv({_quoted(csv)})"


def _text(query: ExampleQuery, safe: str = "/") -> str:
    pairs = "&".join(f"{quote(name, safe='')}={quote(str(value), safe=safe)}" for name, value in query)
    return f"?{pairs}" if pairs else ""


def _quoted(url: Any) -> str:
    return '"' + str(url).replace('"', "%22") + '"'


_WIDE, _NARROW = 720, 360
_ANSWERS = {kind.name: kind.answer for kind in KINDS}
Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Line:
    """A line to copy. tool: what understands it."""

    tool: str
    text: str


@dataclass(frozen=True)
class Source:
    """A form in which a picture is needed: for screens of that media query."""

    media: str
    address: str


@dataclass(frozen=True)
class Chart:
    """A figure of the service.

    name: to be told from others of the page. kind: of the figure. query: parameters of the answer that it draws. look:
    those that the figure alone has, without its size. is_large: its picture takes long to make, and is only for
    those without scripts.
    release: which it is of. title: what it shows, in words. address: of the service, for lines to copy. height: px.
    sql: a statement that gives the same rows, or where is_sql_behind those that they are made of; empty without one.
    """

    name: str
    kind: str
    query: Query
    release: int
    title: str
    address: str
    height: int = 420
    sql: str = ""
    is_sql_behind: bool = False
    is_large: bool = False
    look: Query = ()

    def figure(self, ending: str, **more: object) -> str:
        """The address of the figure from the root: in svg, png, pdf, vl.json or csv."""
        return with_query(f"/v1/figures/{self.kind}.{ending}", [*self._asked, *self.look, *more.items()])

    def data(self, ending: str) -> str:
        """The address of the answer that is drawn: in json, csv, arrow or parquet."""
        return with_query(f"{_ANSWERS[self.kind]}.{ending}", self._asked)

    @property
    def live(self) -> str:
        """The specification's address, without its size, which the page adds."""
        return self.figure("vl.json")

    @property
    def picture(self) -> str:
        """For wide light screens, and for whoever knows no others."""
        return self._picture(_WIDE, "light")

    @property
    def sources(self) -> tuple[Source, ...]:
        """For narrow and for dark screens; the first that fits is taken."""
        narrow, dark = "(max-width: 40rem)", "(prefers-color-scheme: dark)"
        return (
            Source(f"{narrow} and {dark}", self._picture(_NARROW, "dark")),
            Source(narrow, self._picture(_NARROW, "light")),
            Source(dark, self._picture(_WIDE, "dark")),
        )

    @property
    def width(self) -> int:
        """px of `picture`."""
        return _WIDE

    @property
    def lines(self) -> tuple[Line, ...]:
        """The same question asked with other tools."""
        kinds = {"application/json", "text/csv", "application/vnd.apache.parquet"}
        return tuple(Line(*found) for found in snippets(self.address, _ANSWERS[self.kind], self._asked, kinds))

    def _picture(self, width: int, theme: Theme) -> str:
        height = self.height if width == _WIDE else min(self.height, _NARROW)
        return self.figure("svg", width=width, height=height, theme=theme)

    @property
    def _asked(self) -> Query:
        return [*self.query, ("release", str(self.release))]
