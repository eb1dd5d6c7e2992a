"""The sentences in the HTML of a page, without those of menus, code and charts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_TEXTS = {"p", "li", "caption", "summary", "dd", "figcaption"}
_UNREAD = {"nav", "form", "pre", "script", "style", "svg", "noscript", "button", "figure", "template"}
_ALONE = {"meta", "link", "br", "hr", "img", "input", "wbr", "source"}
_FEWEST_WORDS = 4
_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")


def sentences_of(page: str) -> list[str]:
    """Return the sentences in the HTML of a page."""
    reader = _Reader()
    reader.feed(page)
    plain = [" ".join(text.split()) for text in reader.texts]
    return [each for text in plain for each in _END.split(text) if each.count(" ") >= _FEWEST_WORDS]


@dataclass
class _Reader(HTMLParser):
    """The texts of a page. open: the tags around what is read."""

    texts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _ALONE:
            return
        classes = dict(attrs).get("class") or ""
        is_sentence = tag in _TEXTS or (tag == "td" and "note" in classes) or "sentence" in classes
        # A hidden paragraph is for a script.
        is_text = is_sentence and "hidden" not in dict(attrs)
        self.open.append("text" if is_text else tag)
        if is_text:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        if self.open:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if "main" in self.open and "text" in self.open and not _UNREAD.intersection(self.open):
            self.texts[-1] += data
