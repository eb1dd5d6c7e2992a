"""Rendering of specifications as SVG, PNG and PDF. Nothing is fetched: all data are in the specification."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal
from xml.sax.saxutils import escape

import orjson
import vl_convert

Rendered = Literal["svg", "png", "pdf"]
# How the renderer writes a link to /. Texts can't contain it, since < is escaped in them.
_LINK_TO_ITS_BASE = '<a xlink:href="https://vega.github.io/vega-datasets//'
_ID = re.compile(r'\bid="((?:clip|gradient_)\d+)"')
_REFERENCE = re.compile(r"""(\bid="|url\(#)([a-z_]+\d+)([")])""")


def render_image(specification: bytes, ending: Rendered, scale: float = 1.0) -> bytes:
    """Return the bytes of an image; raises ValueError for a specification that Vega-Lite can't compile.

    specification: Vega-Lite as JSON. scale: pixels per px of a PNG. Takes about 0.2 s, the first time 0.6 s, and blocks
    all other threads of the process: a service uses losslake.figures.renderer. Equal specifications give equal bytes,
    except for PDF, whose writer orders dictionaries at random.
    """
    if ending == "pdf":
        return _pdf(specification)
    svg = _svg(specification)
    return svg.encode() if ending == "svg" else vl_convert.svg_to_png(svg, scale=scale)


@lru_cache(maxsize=8)
def _svg(specification: bytes) -> str:
    """Return the SVG, cached, since clients that read one format often read the next."""
    svg = vl_convert.vegalite_to_svg(specification.decode(), allowed_base_urls=[])
    svg = _renumbered(svg.replace(_LINK_TO_ITS_BASE, '<a xlink:href="/'))
    # The renderer omits the description.
    description = orjson.loads(specification).get("description")
    return svg.replace(">", f"><desc>{escape(description)}</desc>", 1) if description else svg


@lru_cache(maxsize=8)
def _pdf(specification: bytes) -> bytes:
    """Return the PDF, cached, so that requests for ranges of it get the same bytes."""
    return vl_convert.svg_to_pdf(_svg(specification))


def _renumbered(svg: str) -> str:
    """Renumber ids from 0, so that equal figures have equal bytes: the renderer counts on from figure to figure."""
    names: dict[str, str] = {}
    for name in _ID.findall(svg):
        names.setdefault(name, f"{name.rstrip('0123456789')}{len(names)}")
    return _REFERENCE.sub(lambda match: match[1] + names.get(match[2], match[2]) + match[3], svg)
