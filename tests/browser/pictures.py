"""Reference pictures of pages, and their comparison with the current ones.

They lie in docs/explorer, where the documentation shows them: NAME.png is 1,400 px wide and light, NAME-narrow.png is
380 px wide and dark. The pages ship their fonts, except those of formulas and of figures of papers. The pixels depend
on the fonts and on the version of Chromium: pictures are compared only if both are the same.
"""

from __future__ import annotations

import io
from enum import Enum
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.browser.chromium import FONT
from tests.browser.visit import NARROW, WIDE, Scheme

FOLDER = Path(__file__).parents[2] / "docs" / "explorer"
DRAWN_BY = FOLDER / "drawn_by_chromium.txt"
MOST_BYTES = 80_000
UPDATE = "UPDATE_PICTURES"
"""The environment variable with which the tests draw the pictures anew instead of comparing them."""
COLOURS = 32
ALLOWED = 0.005
"""Share of pixels that may differ clearly: smoothed edges."""
_CLEARLY = 48
# A release is published whenever the tests run, and digits differ in width: a line could break elsewhere.
_SAME_TIMES = r"""() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    texts.currentNode.data = texts.currentNode.data.replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, "2026-11-23 09:43 UTC");
}"""


class Window(Enum):
    """A window for pictures: its width in px, and light or dark colours."""

    WIDE = (WIDE, "light", "")
    NARROW = (NARROW, "dark", "-narrow")

    def __init__(self, width: int, scheme: Scheme, ending: str) -> None:
        self.width = width
        self.scheme = scheme
        self.ending = ending

    def file(self, page: str) -> str:
        """Return the file name of the picture of a page."""
        return f"{page}{self.ending}.png"


def why_incomparable(browser: Browser, recorded: str) -> str | None:
    """Return why pictures of this browser can't be compared with the stored ones, or None if they can."""
    version = chromium_version(browser)
    if version != recorded:
        return f"the pictures were drawn by Chromium {recorded}, and this is {version}: not compared"
    if not FONT.is_file():
        return (
            f"the pictures were drawn with the fonts of Debian's fonts-dejavu-core, and {FONT} is missing: not compared"
        )
    return None


def chromium_version(browser: Browser) -> str:
    """Return the major version, on which rendering depends."""
    return browser.version.partition(".")[0]


def picture(page: Page) -> bytes:
    """Return a screenshot of the window as a PNG with a small palette; all times in its text are made the same."""
    page.evaluate(_SAME_TIMES)
    with Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide"))) as shown:
        few = shown.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    written = io.BytesIO()
    few.save(written, "PNG", optimize=True)
    return written.getvalue()


def difference(one: bytes, other: bytes) -> float:
    """Return the share of clearly different pixels, from 0 to 1; 1 if the sizes differ."""
    left, right = (np.asarray(Image.open(io.BytesIO(each)).convert("RGB"), dtype=np.int16) for each in (one, other))
    if left.shape != right.shape:
        return 1.0
    return float((np.abs(left - right).max(axis=2) > _CLEARLY).mean())
