"""Chromium: its location, and starting it without access to other hosts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.visit import MILLISECONDS

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MISSING = (
    "no Chromium here, so pages are not looked at in a browser: install it (on Debian, "
    "`sudo apt-get install chromium`) and run the tests again"
)
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
"""A font of Debian's fonts-dejavu-core. If it is installed, Chromium sees the fonts of that package and no others."""
FONTS = Path(__file__).with_name("fonts.conf")
HOST = "losslake.example"
NAME = f"http://{HOST}"
"""The base URL of the service over the bundled studies, without its port: pictures show it."""


def chromium_program() -> str:
    """Return the path of Chromium; skip the test if none is installed."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(MISSING)
    return program


@contextmanager
def chromium(program: str, port: int) -> Iterator[Browser]:
    """Yield a browser that resolves `NAME` to the server on a port, and no other host but this machine."""
    rules = f"MAP {HOST} 127.0.0.1:{port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
    arguments = [
        "--no-sandbox",
        # There is none, and to imitate one costs a quarter of the time.
        "--disable-gpu",
        "--disable-software-rasterizer",
        f"--host-resolver-rules={rules}",
        "--no-proxy-server",
        # As on https:// or on localhost, a page may use the clipboard.
        f"--unsafely-treat-insecure-origin-as-secure={NAME}",
        # The same pixels on every machine, as far as that goes.
        "--force-color-profile=srgb",
        "--font-render-hinting=none",
        "--hide-scrollbars",
    ]
    environment: dict[str, str | float | bool] = {**os.environ}
    if FONT.is_file():
        environment["FONTCONFIG_FILE"] = str(FONTS)
    with sync_playwright() as playwright:
        # By default an expectation gives up after 5 s, which a busy machine may take.
        expect.set_options(timeout=MILLISECONDS)
        browser = playwright.chromium.launch(
            executable_path=program, args=arguments, env=environment, timeout=MILLISECONDS
        )
        yield browser
        browser.close()
