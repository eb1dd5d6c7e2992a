"""Parser of a page: its ids, links and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urldefrag

LOADS = {"src", "srcset", "action", "formaction", "data", "poster", "ping", "style", "background"}
VOID = {"meta", "base", "link", "br", "hr", "img", "input", "wbr", "source"}


@dataclass
class Page(HTMLParser):
    """The content of a page. loads: URLs that a browser fetches by itself; lines: texts of <pre>."""

    text: str
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        assert not [name for name in given if name.startswith("on")]
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a":
            self.links.append(given["href"])
        elif "href" in given:
            self.loads.append(given["href"])
        self.loads += [value for name, value in given.items() if name in LOADS]
        if tag == "script":
            self.scripts.append(given.get("type", ""))
        if tag == "pre":
            self.lines.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "pre" in self.open:
            self.lines[-1] += data

    def fragments(self) -> set[str]:
        """Return the ids to which links within the page point."""
        return {urldefrag(link).fragment for link in self.links if link.startswith("#")}
