"""A chart on a page: a figure of the service as a picture, as an interactive figure, and as downloads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Literal

from losslake.figures.charts import kinds
from losslake_service.web.code_lines import Line, notebook_cell, snippets
from losslake_service.web.templates import Query, subject_page, with_query

_WIDE, _NARROW = 720, 360
# Height in px of what an embedded chart has besides its picture: the source, and lines that a caption adds.
_BESIDE_CHART = 100
# The same of a chart with its controls.
_CONTROLS = 330
# The pages of charts about a data set or a whole release.
_WIDE_PAGES = {
    "atlas": "/batch-size",
    "frontier": "/compare",
    "league": "/optimizers",
    "records": "/optimizers",
}
# The parameter of the page of laws that has the workloads of a chart.
_LAW_WORKLOADS = {"critical-batch-law": "critical_workload", "loss-law": "loss_workload"}
_ANSWERS = {kind.name: kind.answer for kind in kinds()}


@dataclass(frozen=True)
class Chart:
    """A figure of the service.

    kind: of the figure. query: parameters of the answer that it draws. release: its number. title: a description.
    address: of the service, for lines to copy. name: unique on the page. height: px. sql: a statement with the same
    rows, or if is_sql_behind with the rows behind them; empty if there is none. heading: on the page,
    default: the title. options: the parameters of the figure alone, without its size. frame: the path of a page with
    the chart and its controls, for frames of other sites; default: that of the chart alone.
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
    heading: str = ""
    options: Query = ()
    frame: str = ""
    # The width of `picture()` in px.
    width = _WIDE

    @property
    def answer_query(self) -> Query:
        """The parameters of the answer, with the release."""
        return [*self.query, ("release", str(self.release))]

    def figure(self, ending: str, **more: object) -> str:
        """Return the path of the figure as svg, png, pdf, vl.json or csv."""
        return with_query(f"/v1/figures/{self.kind}.{ending}", [*self.answer_query, *self.options, *more.items()])

    def data(self, ending: str) -> str:
        """Return the path of the answer that is drawn, as json, csv, arrow or parquet."""
        return with_query(f"{_ANSWERS[self.kind]}.{ending}", self.answer_query)

    def picture(self, theme: Literal["light", "dark"] = "light", width: int = _WIDE) -> str:
        """Return the path of a picture; by default that for wide, light screens."""
        height = self.height if width == _WIDE else min(self.height, _NARROW)
        return self.figure("svg", width=width, height=height, theme=theme)

    @property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """Media queries and pictures for narrow and for dark screens; the first match is used."""
        narrow, dark = "(max-width: 40rem)", "(prefers-color-scheme: dark)"
        return (
            (f"{narrow} and {dark}", self.picture("dark", _NARROW)),
            (narrow, self.picture("light", _NARROW)),
            (dark, self.picture("dark")),
        )

    @property
    def embedded(self) -> str:
        """The path of the page that other sites can frame."""
        return self.frame or with_query(
            f"/embed/{self.kind}", [*self.answer_query, *self.options, ("height", self.height)]
        )

    @property
    def page(self) -> str:
        """The path of the page about what is drawn, in this release."""
        query, workloads = self.answer_query, [value for name, value in self.answer_query if name == "workload"]
        if self.kind in _WIDE_PAGES:
            # Of a pattern such as */imagenet/*/*, the page takes the data set.
            parts = [("dataset", value.split("/")[-3]) for value in workloads[:1]]
            return with_query(_WIDE_PAGES[self.kind], [*parts, *(pair for pair in query if pair[0] != "workload")])
        if self.kind in _LAW_WORKLOADS:
            return with_query("/laws", [(_LAW_WORKLOADS[self.kind] if k == "workload" else k, v) for k, v in query])
        if self.kind == "advice":
            times = ",".join(value for name, value in query if name == "step_time")
            named = {"price": "price", "accelerators": "trial_accelerators", "budget": "budget"}
            stated = [(named[name], value) for name, value in query if name in named]
            return subject_page(query, [*stated, *([("step_times", times)] if times else [])])
        return subject_page(query)

    @property
    def shares(self) -> list[Line]:
        """The lines that show the chart elsewhere: its address, a picture, a frame, and a cell of a notebook."""
        height = self.height + (_CONTROLS if self.frame else _BESIDE_CHART)
        page, picture = f"{self.page}#{self.name}", self.figure("svg", width=_WIDE, height=self.height)
        cell = Line("Notebook", notebook_cell(self.address, _ANSWERS[self.kind], self.query, self.options))
        return [*share_lines(self.address, page, picture, self.embedded, self.title, height), cell]

    @property
    def queries(self) -> list[Line]:
        """The code that gets the answer: a statement, and requests with several tools."""
        name = "SQL for the underlying data" if self.is_sql_behind else "SQL"
        statements = [Line(name, self.sql)] if self.sql else []
        return [*statements, *snippets(self.address, _ANSWERS[self.kind], self.answer_query)]


def share_lines(address: str, page: str, picture: str, frame: str, title: str, height: int) -> Iterator[Line]:
    """Yield the lines that show a figure elsewhere: its address, a picture, and a frame of a height in px.

    address: of the service; page, picture, frame: paths.
    """
    yield Line("Link", address + page)
    yield Line("Image", f'<img src="{escape(address + picture)}" alt="{escape(title)}">')
    attributes = f'width="100%" height="{height}" loading="lazy" style="border: 0"'
    yield Line("Iframe", f'<iframe src="{escape(address + frame)}" title="{escape(title)}" {attributes}></iframe>')
