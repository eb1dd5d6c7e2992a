"""How much room the plot of a figure has, once everything around it has its own.

Captions: what the marks mean, which release the data are of, and the URL that they come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from losslake.figures import theme
from losslake.figures.panel import Panel

_WIDTH_OF_LETTERS = 0.5


def caption(explained: Sequence[str], release: int, url: str) -> list[str]:
    """The sentences of a caption. explained: what the marks mean. url: of the query, whole or from the root."""
    paragraph = [" ".join(explained)] if explained else []
    return [*paragraph, f"Data: LossLake, release {release}. Query: {url}"]


def wrapped(sentences: Sequence[str], width: int, size: float = theme.CAPTION) -> list[str]:
    """Lines of type of that size that fit in so many px; a URL may be broken after / ? and &."""
    most = max(12, int(width / (_WIDTH_OF_LETTERS * size)))
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
    """What may stand at the end of a line: words, and parts of URLs."""
    for word in re.findall(r"\S+\s*", sentence):
        for part in re.findall(r"[^/?&]*[/?&]|[^/?&]+", word) if len(word) > most // 2 else [word]:
            yield from (part[start : start + most] for start in range(0, len(part), most))


PADDING = 8
_BESIDE = 56
"""px of an axis with its labels and title, at the left."""
HANGING = 48
"""px that a heading may begin left of its plot."""
_BELOW = 40
_LEGEND, _LEGEND_ROW = 20, 17
_PX_A_LETTER, _PX_A_SYMBOL = 5.6, 30
_LEAST_PANEL = 210
_LEAST_WIDTH, _LEAST_HEIGHT = 100, 90
_LEAST_SHARE = 0.45
"""Of the height asked for, what the plot of a figure of one plot has, however long legend and caption are."""


def plot_width(width: int, columns: int = 1) -> int:
    """Of each plot, in a figure of that width in px with so many plots side by side."""
    room = width - 2 * PADDING - theme.SPACING * (columns - 1) - _BESIDE * columns
    return max(_LEAST_WIDTH, room // columns)


def legend_columns(labels: Sequence[str], width: int) -> int:
    """How many names of series go side by side within that width."""
    widest = max((len(label) for label in labels), default=0) * _PX_A_LETTER + _PX_A_SYMBOL
    return max(1, min(len(labels), int(width // widest)))


def columns_of(width: int, n_panels: int) -> int:
    """How many panels stand side by side in a figure of that width."""
    return max(1, min(n_panels, width // _LEAST_PANEL))


def grid_panels(width: int, n_panels: int, height: int) -> Panel:
    """A panel of several alike: as wide as fits, three quarters as high; of a single one, no higher than the figure."""
    plot = plot_width(width, columns_of(width, n_panels))
    return Panel(width=plot, height=min(int(plot * 0.75), max(_LEAST_HEIGHT, height - 150)))


def single_panel(
    width: int, height: int, title: str, subtitle: str, labels: Sequence[str], caption: Sequence[str]
) -> Panel:
    """The panel of a figure of one plot: its size is what the heading, the legend and the caption leave."""
    plot = plot_width(width)
    heading = len(wrapped([title], plot + HANGING, theme.HEADING)) * (theme.HEADING + 3) + (
        theme.LABEL + 3 if subtitle else 0
    )
    n_rows = -(-len(labels) // legend_columns(labels, plot)) if labels else 0
    legend = _LEGEND + _LEGEND_ROW * n_rows if n_rows else 0
    words = len(wrapped(caption, width - 2 * PADDING)) * theme.CAPTION_LINE + 10
    room = height - 2 * PADDING - heading - 8 - _BELOW - legend - words
    return Panel(
        title=title, subtitle=subtitle, width=plot, height=max(_LEAST_HEIGHT, int(_LEAST_SHARE * height), int(room))
    )
