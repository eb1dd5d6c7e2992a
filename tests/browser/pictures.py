"""Reference pictures: how a page looked when someone last looked at it, and whether it still does.

They lie in docs/explorer, where the documentation shows them: NAME.png is 1,400 px wide and light, NAME-narrow.png is
380 px wide and dark. Fonts and their rendering differ between machines: on another one than that which drew them
nothing is compared.
"""

from __future__ import annotations

import io
from enum import Enum
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page
from pydantic import BaseModel, ConfigDict

from tests.browser.visit import NARROW, WIDE, Scheme

FOLDER = Path(__file__).parents[2] / "docs" / "explorer"
DRAWN_BY = FOLDER / "drawn_by.json"
MOST_BYTES = 80_000
UPDATE = "UPDATE_PICTURES"
"""The environment variable with which the tests draw the pictures anew instead of comparing them."""
COLOURS = 64
ALLOWED = 0.005
"""Share of pixels that may differ clearly: a date in the foot of a page, a smoothed edge."""
_CLEARLY = 48
_FONTS = (Path(__file__).parent / "scripts" / "fonts.js").read_text()


class Look(Enum):
    """How pages are looked at: in a window of a width in px, in light or dark colours."""

    WIDE = (WIDE, "light", "")
    NARROW = (NARROW, "dark", "-narrow")

    def __init__(self, width: int, scheme: Scheme, ending: str) -> None:
        self.width = width
        self.scheme = scheme
        self.ending = ending

    def file(self, page: str) -> str:
        """The name of the picture of a page."""
        return f"{page}{self.ending}.png"


class Drawer(BaseModel):
    """What decides how the same page is drawn. widths: of a text in several fonts."""

    model_config = ConfigDict(frozen=True)

    chromium: int
    widths: tuple[float, ...]


def drawer_here(browser: Browser) -> Drawer:
    """What draws here."""
    page = browser.new_page()
    widths = tuple(page.evaluate(_FONTS))
    page.close()
    return Drawer(chromium=int(browser.version.partition(".")[0]), widths=widths)


def why_incomparable(here: Drawer, recorded: Drawer) -> str | None:
    """Why pictures drawn here need not be those of what drew the references; None if they have to be."""
    if here.chromium != recorded.chromium:
        return f"the pictures were drawn by Chromium {recorded.chromium}, and this is {here.chromium}: not compared"
    if here.widths != recorded.widths:
        return "the pictures were drawn with other fonts than those of this machine: not compared"
    return None


def picture(page: Page) -> bytes:
    """What the window shows, as a PNG of few colours."""
    with Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide"))) as shown:
        few = shown.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    written = io.BytesIO()
    few.save(written, "PNG", optimize=True)
    return written.getvalue()


def difference(one: bytes, other: bytes) -> float:
    """The share of pixels that differ clearly, from 0 to 1; 1 for pictures of different sizes."""
    left, right = (np.asarray(Image.open(io.BytesIO(each)).convert("RGB"), dtype=np.int16) for each in (one, other))
    if left.shape != right.shape:
        return 1.0
    return float((np.abs(left - right).max(axis=2) > _CLEARLY).mean())
