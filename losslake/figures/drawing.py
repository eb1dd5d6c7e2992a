"""What a figure is drawn from, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from losslake.figures import layout
from losslake.figures.caption import caption
from losslake.figures.layers import Plot
from losslake.figures.links import Links
from losslake.figures.panel import Panel
from losslake.questions.release_view import ReleaseView


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
