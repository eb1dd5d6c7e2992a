"""Markdown as HTML of the site: headings with anchors, contents, tables that scroll, and links that lead to pages.

HTML in the source is text. A link to a file that the site doesn't serve is its text alone.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from urllib.parse import urlsplit

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from losslake_service.web.documentation.site_documents import (
    PICTURES,
    Document,
    documents,
    markdown,
    picture,
    picture_address,
)

# Ids of the frame.
_RESERVED_IDS = ("main", "search", "contents", "as-it-is")
_LONGEST_DESCRIPTION = 200
# A service on the reader's machine, as documents write it: on a page, it is the service of the page.
_SERVICE = "http://127.0.0.1:8000"
_SVG_SIZE = re.compile(rb'<svg[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"')
_PNG_HEAD = struct.Struct(">16xII")


@dataclass(frozen=True)
class Heading:
    """A heading of a document. level: 2 or 3. line: of the source, from 0."""

    level: int
    anchor: str
    text: str
    line: int


@dataclass(frozen=True)
class Rendered:
    """A document as HTML. title: its first heading, which the body lacks; description: its first whole sentences."""

    title: str
    description: str
    body: Markup
    contents: Sequence[Heading]


@lru_cache(200)
def rendered(document: Document, release: int | None) -> Rendered:
    """Return a document as HTML. release: which links to other pages name; None for none."""
    tokens = markdown().parse(document.markdown)
    title = _plain(tokens[1])
    anchor = _anchors()
    contents: list[Heading] = []
    section, n_tables = title, 0
    for at, token in enumerate(tokens):
        inline = tokens[at + 1] if at + 1 < len(tokens) else token
        if token.type == "heading_open":
            section = _plain(inline)
            token.attrSet("id", anchor(section))
            if token.tag in ("h2", "h3"):
                line = token.map[0] if token.map else 0
                contents.append(Heading(int(token.tag[1:]), str(token.attrs["id"]), section, line))
            inline.children = _with_anchor(inline.children or [], str(token.attrs["id"]))
        elif token.type == "table_open":
            n_tables += 1
            token.meta["label"] = f"Table {n_tables}: {section}"
        elif token.type in ("th_open", "td_open"):
            token.attrs = _of_cell(token)
        elif token.type == "inline":
            token.children = list(_with_site_links(document, token.children or [], release))
    sentences = (text for text in map(_plain, _paragraphs(tokens)) if text[:1].isupper())
    html = _Renderer().render(tokens[3:], markdown().options, {})
    return Rendered(title, _shortened(next(sentences, title)), Markup(html), contents)


def github_anchor(text: str) -> str:
    """Return the fragment that GitHub gives a heading, by which documents link to it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def _anchors() -> Callable[[str], str]:
    """Return a function that gives headings fragments, none of them twice."""
    counts = dict.fromkeys(_RESERVED_IDS, 1)

    def anchor(text: str) -> str:
        plain = github_anchor(text)
        n = counts[plain] = counts.get(plain, 0) + 1
        return plain if n == 1 else f"{plain}-{n - 1}"

    return anchor


def _with_anchor(children: list[Token], anchor: str) -> list[Token]:
    """Return the inside of a heading as a link to it, unless it has a link of its own."""
    if any(child.type == "link_open" for child in children):
        return children
    return [Token("link_open", "a", 1, {"href": f"#{anchor}"}), *children, Token("link_close", "a", -1)]


def _of_cell(cell: Token) -> dict[str, str | int | float]:
    """Return the attributes of a cell: alignment is a class, since the policy of the site forbids styles in HTML."""
    attributes: dict[str, str | int | float] = {"scope": "col"} if cell.type == "th_open" else {}
    return attributes | ({"class": "number"} if cell.attrs.get("style") == "text-align:right" else {})


def _with_site_links(document: Document, children: Sequence[Token], release: int | None) -> Iterator[Token]:
    """Yield the inside of a paragraph with addresses of the site, without links that lead nowhere here."""
    is_dead = False
    for child in children:
        if child.type == "link_open":
            address = _address(document, str(child.attrs["href"]), release)
            is_dead = address is None
            if is_dead:
                continue
            child.attrSet("href", str(address))
        elif child.type == "link_close" and is_dead:
            is_dead = False
            continue
        elif child.type == "image":
            _place(document, child)
        yield child


def _address(document: Document, link: str, release: int | None) -> str | None:
    """Return where a link leads on the site; None where the site doesn't serve it."""
    if link.startswith(f"{_SERVICE}/"):
        place, hash_sign, fragment = link.removeprefix(_SERVICE).partition("#")
        separator = "&" if "?" in place else "?"
        return f"{place}{f'{separator}release={release}' if release is not None else ''}{hash_sign}{fragment}"
    path, fragment = document.linked_path(link), urlsplit(link).fragment
    if path is None:
        return link
    anchor = f"#{fragment}" if fragment else ""
    if anchor and path == document.path:
        return anchor
    if path in documents():
        query = f"?release={release}" if release is not None else ""
        return f"{documents()[path].address}{query}{anchor}"
    return picture_address(path)


def _place(document: Document, image: Token) -> None:
    """Give an image its address and its size; raises KeyError for a picture that isn't there."""
    address = picture_address(str(document.linked_path(str(image.attrs["src"]))))
    if address is None:
        raise KeyError(f"{document.path} shows {image.attrs['src']}, which isn't below docs/: correct the link")
    content = picture(address.removeprefix(PICTURES)).content
    match = _SVG_SIZE.search(content[:2000])
    width, height = map(round, map(float, match.groups())) if match else _PNG_HEAD.unpack_from(content)
    image.attrs = {**image.attrs, "src": address, "width": width, "height": height, "loading": "lazy"}


class _Renderer(RendererHTML):
    """The parser's renderer, but for tables and code, which the keyboard can scroll. Methods: for types of tokens."""

    def table_open(self, tokens: Sequence[Token], at: int, *_: object) -> str:
        label = tokens[at].meta["label"]
        return Markup('<div class="wide" tabindex="0" role="region" aria-label="{}"><table>\n').format(label)

    def table_close(self, *_: object) -> str:
        return "</table></div>\n"

    def fence(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return Markup('<pre tabindex="0"><code>{}</code></pre>\n').format(tokens[idx].content)

    def code_block(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return self.fence(tokens, idx)


def _paragraphs(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield what is in paragraphs that are no part of a list."""
    for before, token in pairwise(tokens):
        if before.type == "paragraph_open" and before.level == 0:
            yield token


def _plain(inline: Token) -> str:
    """Return the text of a heading or paragraph."""
    texts = {"softbreak": " ", "hardbreak": " "}
    return "".join(texts.get(child.type, child.content) for child in inline.children or ())


def _shortened(text: str) -> str:
    """Return whole sentences of a text, as many as a description has room for; at least a part of the first."""
    if len(text) <= _LONGEST_DESCRIPTION:
        return text
    end = text.rfind(". ", 0, _LONGEST_DESCRIPTION)
    return text[: end + 1] if end > 0 else f"{text[:_LONGEST_DESCRIPTION].rpartition(' ')[0]} …"
