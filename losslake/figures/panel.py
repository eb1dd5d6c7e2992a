"""The inputs of every chart: its series, and the panel with its size.

Text is measured by its number of letters, since the fonts are the reader's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import pyarrow as pa

from losslake.figures import theme
from losslake.figures.links import Links, Pages, Transform
from losslake.questions.release.pool import is_pattern

ChartRow = dict[str, Any]
Limits = tuple[float, float]
LegendPlace = Literal["bottom", "right", "top-left", "top-right", "bottom-left", "bottom-right", "ends", "none"]
PADDING = 8
# px by which a heading may extend to the left of its plot.
HANGING = 48
# px of the left and of the lower axis, with labels and title.
_BESIDE, _BELOW = 66, 40
# px of a grid's heading, axis, legend and caption; of its axis and legend alone.
_AROUND, _AROUND_BARE = 150, 80
_LEGEND, _LEGEND_ROW = 20, 17
# Width of a letter as a share of the font size, in the URL of a caption and the widest usual font (DejaVu Sans, which
# browsers use where the fonts of the theme are missing); width of a letter and of a symbol in a legend in px.
_LETTER, _PX_A_LETTER, _PX_A_SYMBOL = 0.56, 5.6, 30
_LEAST_PANEL = 210
_LEAST_WIDTH, _LEAST_HEIGHT = 100, 90
# The least share of the requested height for the plot of a figure with one plot.
_LEAST_SHARE = 0.45
# Names at the ends of lines, instead of a legend: at most this many, on at most this share of the width.
_MOST_AT_ENDS, _SHARE_OF_NAMES = 6, 0.3
BEFORE_NAMES, _PX_A_WIDE_LETTER = 18, 6.6


@dataclass(frozen=True, eq=False)
class Series:
    """A series of rows, drawn in one style.

    label: in the legend. rows: with the columns that the chart documents. workload: of the rows, for links.
    """

    label: str
    rows: pa.Table
    workload: str = ""


@dataclass(frozen=True)
class Panel:
    """The frame of a chart.

    width, height: of the plot in px, without axes. x_limits, y_limits: those of the data by default. y_title: the
    chart's by default. legend: its position, if there are several series; ends: names at the ends of the lines. links:
    to the explorer's pages.
    batch_unit: what batch sizes count.
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
    batch_unit: str = "examples"

    @property
    def batch_title(self) -> str:
        """The title of an axis of batch sizes, with their unit unless they count examples."""
        return "Batch size" if self.batch_unit == "examples" else f"Batch size, {self.batch_unit}"

    def link_to(self, pages: Pages, series: Sequence[Series]) -> Transform | None:
        """Return the transform that links rows with the fields of such pages; None for patterns, and without links."""
        workloads = {one.label: one.workload for one in series}
        is_linked = self.links and workloads and not any(map(is_pattern, workloads.values()))
        return self.links.to(pages, workloads) if self.links and is_linked else None


def drawable_rows(series: Sequence[Series], columns: Collection[str]) -> Iterator[ChartRow]:
    """Yield all rows with the label of their series in `series`, without nulls, NaN and infinities.

    columns: those to keep; rows may lack some of them.
    """
    for one in series:
        named = [name for name in one.rows.column_names if name in columns]
        for row in one.rows.select(named).to_pylist():
            yield {"series": one.label} | {name: value for name, value in row.items() if _is_drawn(value)}


def _is_drawn(value: object) -> bool:
    return value is not None and not (isinstance(value, float) and not isfinite(value))


def single_panel(
    width: int,
    height: int,
    title: str,
    subtitle: str,
    labels: Sequence[str],
    caption: Sequence[str],
    has_ends: bool = False,
) -> Panel:
    """Return the panel of a figure with one plot: its size is the rest beside heading, legend and caption.

    has_ends: each series is a line, at whose end its name can be.
    """
    names = names_width(labels) if has_ends and 2 <= len(labels) <= _MOST_AT_ENDS else 0
    if names > _SHARE_OF_NAMES * width:
        names = 0
    plot = _plot_width(width, 1) - names
    heading = len(wrap([title], plot + HANGING, theme.HEADING)) * (theme.HEADING + 3)
    if subtitle:
        heading += theme.LABEL + 3
    n_rows = -(-len(labels) // legend_columns(labels, plot)) if labels and not names else 0
    legend = _LEGEND + _LEGEND_ROW * n_rows if n_rows else 0
    words = len(wrap(caption, width - 2 * PADDING)) * theme.CAPTION_LINE + 10
    room = height - 2 * PADDING - heading - 8 - _BELOW - legend - words
    plot_height = max(_LEAST_HEIGHT, int(_LEAST_SHARE * height), int(room))
    return Panel(title, subtitle, plot, plot_height, legend="ends" if names else "bottom")


def names_width(labels: Sequence[str]) -> int:
    """Return the px that names at the ends of lines need beside the plot, in the widest usual font."""
    return BEFORE_NAMES + int(max(map(len, labels), default=0) * _PX_A_WIDE_LETTER)


def grid_panels(width: int, n_panels: int, height: int, is_captioned: bool = True) -> Panel:
    """Return the panel of one plot in a grid: as wide as fits, three quarters as high, no higher than the figure."""
    plot = _plot_width(width, n_columns_for(width, n_panels))
    room = height - (_AROUND if is_captioned else _AROUND_BARE)
    return Panel(width=plot, height=min(int(plot * 0.75), max(_LEAST_HEIGHT, room)))


def n_columns_for(width: int, n_panels: int) -> int:
    """Return how many panels fit side by side in a figure. width: px."""
    return max(1, min(n_panels, width // _LEAST_PANEL))


def _plot_width(width: int, columns: int) -> int:
    """Return the width of each plot in px. width: of the figure in px; columns: plots side by side."""
    room = width - 2 * PADDING - theme.SPACING * (columns - 1) - _BESIDE * columns
    return max(_LEAST_WIDTH, room // columns)


def legend_columns(labels: Sequence[str], width: int) -> int:
    """Return how many labels of a legend fit side by side. width: px."""
    widest = max((len(label) for label in labels), default=0) * _PX_A_LETTER + _PX_A_SYMBOL
    return max(1, min(len(labels), int(width // widest)))


def wrap(sentences: Sequence[str], width: int, size: float = theme.CAPTION) -> list[str]:
    """Return the sentences as lines that fit into a width in px. A URL may be broken after / ? and &."""
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
    """Yield the pieces between possible line breaks: words, and parts of URLs."""
    for word in re.findall(r"\S+\s*", sentence):
        for part in re.findall(r"[^/?&]*[/?&]|[^/?&]+", word) if len(word) > most // 2 else [word]:
            yield from (part[start : start + most] for start in range(0, len(part), most))


def caption(notes: Sequence[str], release: int, url: str) -> list[str]:
    """Return the sentences of a caption. notes: notes on the marks. url: of the query, absolute or a path."""
    paragraph = [" ".join(notes)] if notes else []
    return [*paragraph, f"Data: LossLake, release {release}. Query: {url}"]
