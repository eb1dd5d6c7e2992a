"""Chromium: where it is, and how it is started so that nothing but this machine answers it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MISSING = (
    "no Chromium here, so pages are not looked at in a browser: install it (on Debian, "
    "`sudo apt-get install chromium`) and run the tests again"
)
NAME = "http://losslake.example"
"""Where the service over the bundled studies answers, whatever its port: pictures show it."""


def chromium_program() -> str:
    """Where Chromium is; skips the test where there is none."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        pytest.skip(MISSING)
    return found


@contextmanager
def chromium(program: str, port: int) -> Iterator[Browser]:
    """A browser to which the server on that port is `NAME`, 127.0.0.1 is itself, and no other host exists."""
    host = NAME.removeprefix("http://")
    rules = f"MAP {host} 127.0.0.1:{port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    arguments = [
        "--no-sandbox",
        # There is none, and to imitate one costs a quarter of the time.
        "--disable-gpu",
        "--disable-software-rasterizer",
        f"--host-resolver-rules={rules}",
        # As on https:// or on localhost, a page may use the clipboard.
        f"--unsafely-treat-insecure-origin-as-secure={NAME}",
        # The same pixels on every machine, as far as that goes.
        "--force-color-profile=srgb",
        "--font-render-hinting=none",
        "--hide-scrollbars",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()
