"""What every chart takes: the series that it draws, and the panel that they are drawn in, with the room that it has.

Text is measured by its number of letters, since the fonts are those of the reader.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import pyarrow as pa

from losslake.figures import theme
from losslake.figures.links import Links, Transform

Row = dict[str, Any]
Limits = tuple[float, float]
LegendPlace = Literal["bottom", "right", "top-left", "top-right", "bottom-left", "bottom-right", "none"]
PADDING = 8
HANGING = 48
"""px that a heading may begin left of its plot."""
_BESIDE, _BELOW = 56, 40
"""px of an axis with its labels and title, at the left and below."""
_LEGEND, _LEGEND_ROW = 20, 17
_LETTER, _PX_A_LETTER, _PX_A_SYMBOL = 0.5, 5.6, 30
"""Width of a letter by the size of its type; of a letter and of the symbol in a legend, px."""
_LEAST_PANEL = 210
_LEAST_WIDTH, _LEAST_HEIGHT = 100, 90
_LEAST_SHARE = 0.45
"""Of the requested height, what the plot of a figure of one plot has, however long legend and caption are."""


@dataclass(frozen=True, eq=False)
class Series:
    """Rows that are drawn alike.

    label: in the legend. rows: with the columns that the chart names. workload: that they are of, for links.
    """

    label: str
    rows: pa.Table
    workload: str = ""


@dataclass(frozen=True)
class Panel:
    """The frame of a chart.

    width, height: of the plot in px, without axes. x_limits, y_limits: default: what the data need.
    y_title: default: what the chart says. legend: where, if there are several series. links: to the explorer's pages.
    """

    title: str = ""
    subtitle: str = ""
    width: int = 320
    height: int = 240
    x_limits: Limits | None = None
    y_limits: Limits | None = None
    y_title: str | None = None
    legend: LegendPlace = "bottom"
    links: Links | None = None

    def to_trials(self, series: Sequence[Series]) -> Transform | None:
        """Return the links of rows with series, batch_size and trial_id; None without links."""
        return self.links.to_trials({one.label: one.workload for one in series}) if self.links else None

    def to_studies(self, series: Sequence[Series]) -> Transform | None:
        """Return the links of rows with series and batch_size; None without links."""
        return self.links.to_studies({one.label: one.workload for one in series}) if self.links else None


def rows_of(series: Sequence[Series], columns: Collection[str]) -> Iterator[Row]:
    """Yield all rows, their series' label under `series`; without nulls, NaN and infinities, which JSON can't hold.

    columns: those that are drawn; rows may lack some of them.
    """
    for one in series:
        named = [name for name in one.rows.column_names if name in columns]
        for row in one.rows.select(named).to_pylist():
            yield {"series": one.label} | {name: value for name, value in row.items() if _is_drawn(value)}


def _is_drawn(value: object) -> bool:
    return value is not None and not (isinstance(value, float) and not isfinite(value))


def single_panel(
    width: int, height: int, title: str, subtitle: str, labels: Sequence[str], caption: Sequence[str]
) -> Panel:
    """Return the panel of a figure of one plot: its size is what the heading, the legend and the caption leave."""
    plot = _plot_width(width, 1)
    heading = len(wrapped([title], plot + HANGING, theme.HEADING)) * (theme.HEADING + 3)
    if subtitle:
        heading += theme.LABEL + 3
    n_rows = -(-len(labels) // legend_columns(labels, plot)) if labels else 0
    legend = _LEGEND + _LEGEND_ROW * n_rows if n_rows else 0
    words = len(wrapped(caption, width - 2 * PADDING)) * theme.CAPTION_LINE + 10
    room = height - 2 * PADDING - heading - 8 - _BELOW - legend - words
    return Panel(title, subtitle, plot, max(_LEAST_HEIGHT, int(_LEAST_SHARE * height), int(room)))


def grid_panels(width: int, n_panels: int, height: int) -> Panel:
    """Return a panel of several alike: as wide as fits, three quarters as high, no higher than the figure."""
    plot = _plot_width(width, columns_of(width, n_panels))
    return Panel(width=plot, height=min(int(plot * 0.75), max(_LEAST_HEIGHT, height - 150)))


def columns_of(width: int, n_panels: int) -> int:
    """Return how many panels stand side by side in a figure of that width."""
    return max(1, min(n_panels, width // _LEAST_PANEL))


def _plot_width(width: int, columns: int) -> int:
    """Return the width of each plot in a figure of that width in px, with so many plots side by side."""
    room = width - 2 * PADDING - theme.SPACING * (columns - 1) - _BESIDE * columns
    return max(_LEAST_WIDTH, room // columns)


def legend_columns(labels: Sequence[str], width: int) -> int:
    """Return how many names of series go side by side within that width."""
    widest = max((len(label) for label in labels), default=0) * _PX_A_LETTER + _PX_A_SYMBOL
    return max(1, min(len(labels), int(width // widest)))


def wrapped(sentences: Sequence[str], width: int, size: float = theme.CAPTION) -> list[str]:
    """Return lines of type of that size that fit in so many px; a URL may be broken after / ? and &."""
    most = max(12, int(width / (_LETTER * size)))
    lines: list[str] = []
    for sentence in sentences:
        line = ""
        for piece in _pieces(sentence, most):
            if line and len(line) + len(piece.rstrip()) > most:
                lines.append(line.rstrip())
                line = ""
            line += piece
        if line.strip():
            lines.append(line.rstrip())
    return lines


def _pieces(sentence: str, most: int) -> Iterator[str]:
    """Yield what may stand at the end of a line: words, and parts of URLs."""
    for word in re.findall(r"\S+\s*", sentence):
        for part in re.findall(r"[^/?&]*[/?&]|[^/?&]+", word) if len(word) > most // 2 else [word]:
            yield from (part[start : start + most] for start in range(0, len(part), most))


def caption(explained: Sequence[str], release: int, url: str) -> list[str]:
    """Return the sentences of a caption. explained: what the marks mean. url: of the query, whole or from the root."""
    paragraph = [" ".join(explained)] if explained else []
    return [*paragraph, f"Data: LossLake, release {release}. Query: {url}"]
