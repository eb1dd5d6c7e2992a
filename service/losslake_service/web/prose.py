"""Sentences of the program as HTML."""

from __future__ import annotations

from markupsafe import Markup, escape


def prose(text: str) -> Markup:
    """A sentence in which `names` stand between backquotes; everything else in it is text."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))
