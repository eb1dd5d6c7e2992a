"""Pages from templates: whatever is filled in is escaped, unless it is HTML already."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from html import escape
from importlib import resources
from string import Template


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def fill(name: str, /, **texts: object) -> Html:
    """A template of this package with its $names filled in; raises KeyError for one that is not given."""
    return Html(_template(name).substitute({key: html(text) for key, text in texts.items()}))


def html(text: object) -> Html:
    """Text as HTML."""
    return text if isinstance(text, Html) else Html(escape(str(text)))


def element(tag: str, content: object, /, **attributes: str) -> Html:
    """An element; attributes: by name, `class_` for class."""
    given = "".join(f' {name.rstrip("_")}="{escape(text)}"' for name, text in attributes.items())
    return Html(f"<{tag}{given}>{html(content)}</{tag}>")


def joined(parts: Iterable[object], between: str = "\n") -> Html:
    """One after the other."""
    return Html(between.join(html(part) for part in parts))


def prose(text: str) -> Html:
    """A sentence in which `names` stand between backquotes."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return html(text)
    return joined((element("code", part) if at % 2 else part for at, part in enumerate(parts)), "")


def page(title: str, main: Html, json_ld: str = "") -> str:
    """A whole page. json_ld: a JSON document about what the page shows, for search engines."""
    # In a script element only `</` and `<!--` mean anything, so no `<` may be left.
    data = Html(json_ld.replace("<", "\\u003c"))
    head = Html(f'<script type="application/ld+json">{data}</script>') if json_ld else Html("")
    return fill("page.html", title=title, style=Html(_text("style.css")), head=head, main=main)


@functools.cache
def _template(name: str) -> Template:
    return Template(_text(name))


@functools.cache
def _text(name: str) -> str:
    return resources.files("service.web").joinpath("templates", name).read_text("utf-8")
