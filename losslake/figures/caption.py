"""Captions: what the marks mean, which release the data are of, and the URL that they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from losslake.figures import theme

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
