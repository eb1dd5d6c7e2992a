"""Rendering a figure's specification: SVG, PNG and PDF. Nothing is fetched: all data are in the specification.

The process that renders figures: one after the other, over the socket that is its standard input.
"""

from __future__ import annotations

import os
import re
import signal
import socket
from functools import lru_cache
from xml.sax.saxutils import escape

import orjson
import vl_convert

from losslake.figures.messages import FAILED, RENDERED, Message, MessageLost, Rendered, receive, send

_LINK_TO_ITS_BASE = '<a xlink:href="https://vega.github.io/vega-datasets//'
"""How the renderer writes a link to /; no text can look like it, since there < is written otherwise."""
_ID = re.compile(r'\bid="((?:clip|gradient_)\d+)"')
_REFERENCE = re.compile(r"""(\bid="|url\(#)([a-z_]+\d+)([")])""")


def rendered(specification: bytes, ending: Rendered, scale: float = 1.0) -> bytes:
    """The bytes of an image; raises ValueError for a specification that Vega-Lite can't compile.

    specification: Vega-Lite as JSON. scale: of a PNG, its pixels per px. Takes about 0.2 s, the first one 0.6 s, in
    which no other thread of this process runs: a service uses losslake.figures.renderer. The same specification gives
    the same bytes, but for PDF, whose writer orders its dictionaries by chance.
    """
    if ending == "pdf":
        return _pdf(specification)
    svg = _svg(specification)
    return svg.encode() if ending == "svg" else vl_convert.svg_to_png(svg, scale=scale)


@lru_cache(maxsize=8)
def _svg(specification: bytes) -> str:
    """Kept, since who takes one format often takes the next."""
    svg = vl_convert.vegalite_to_svg(specification.decode(), allowed_base_urls=[])
    return _described(_numbered_anew(svg.replace(_LINK_TO_ITS_BASE, '<a xlink:href="/')), specification)


def _described(svg: str, specification: bytes) -> str:
    """With the specification's description, which the renderer leaves out."""
    text = orjson.loads(specification).get("description")
    return svg.replace(">", f"><desc>{escape(text)}</desc>", 1) if text else svg


@lru_cache(maxsize=8)
def _pdf(specification: bytes) -> bytes:
    """Kept, so that who asks for a part of it next gets a part of the same bytes."""
    return vl_convert.svg_to_pdf(_svg(specification))


def _numbered_anew(svg: str) -> str:
    """With ids counted from 0: the renderer counts on from figure to figure, and the same figure is the same bytes."""
    names: dict[str, str] = {}
    for name in _ID.findall(svg):
        names.setdefault(name, f"{name.rstrip('0123456789')}{len(names)}")
    return _REFERENCE.sub(lambda found: found[1] + names.get(found[2], found[2]) + found[3], svg)


# Figures wait for answers, never the other way round.
_NICENESS = 10


def main() -> None:
    """Render until the socket is closed."""
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    while True:
        try:
            asked = receive(channel)
        except MessageLost:
            return
        try:
            reply = Message(RENDERED, asked.scale, rendered(asked.body, asked.kind, asked.scale))
        except Exception as error:  # noqa: BLE001  # whatever it is, the service has to say it in its log
            reply = Message(FAILED, asked.scale, f"{type(error).__name__}: {error}"[:1000].encode())
        send(channel, reply)


if __name__ == "__main__":
    main()
