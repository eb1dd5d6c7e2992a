"""The tables of a page, as texts."""

from __future__ import annotations

from html.parser import HTMLParser


class Tables(HTMLParser):
    """Tables by the class of their element: the text of each cell, headings first."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.by_class: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self._is_in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._rows = self.by_class.setdefault(dict(attrs).get("class") or "", [])
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
            self._is_in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._is_in_cell = False
            self._rows[-1][-1] = " ".join(self._rows[-1][-1].split())

    def handle_data(self, data: str) -> None:
        if self._is_in_cell:
            self._rows[-1][-1] += data
